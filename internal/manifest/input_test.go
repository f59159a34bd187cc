package manifest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file is read to its end, whatever its size, from where it stands, and so is a pipe. Nobody may append to the input
// in its memory.
func TestFilesAndPipesAreReadToTheirEnds(t *testing.T) {
	defer func(before bool) { ownsProcess = before }(ownsProcess)
	for _, n := range []int{0, 1, usualPipe - 1, usualPipe, usualPipe + 1, 3*usualPipe + 5} {
		text := strings.Repeat("abcdefg\n", n/8+1)[:n]
		name := filepath.Join(t.TempDir(), "in.yaml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, skipped := range []int{0, 1} {
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = f.Seek(int64(min(skipped, n)), 0)
			got, err := ReadInput(f)
			if want := text[min(skipped, n):]; err != nil || string(got) != want || cap(got) != len(got) {
				t.Errorf("a file of %d bytes, %d skipped: %d bytes with room for %d, %v", n, skipped, len(got), cap(got), err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := ReadInput(f); err == nil {
				t.Error("a file that is closed is read")
			}
		}
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = w.WriteString(text)
			_ = w.Close()
		}()
		if got, err := ReadInput(r); err != nil || string(got) != text || cap(got) != len(got) {
			t.Errorf("a pipe of %d bytes: %d bytes with room for %d, %v", n, len(got), cap(got), err)
		}
		_ = r.Close()
	}
}

// What a text is instead of manifests is known by its error.
func TestTheErrorSaysWhatATextIs(t *testing.T) {
	all := []error{ErrEmpty, ErrNotObject, ErrScalar, ErrNotText, ErrNotKey}
	for in, want := range map[string][]error{
		"": {ErrEmpty}, "# a\n---\n": {ErrEmpty}, "---\n~\n": {ErrEmpty}, "- a\n": {ErrNotObject}, "[a]\n": {ErrNotObject}, "../link": {ErrNotObject, ErrScalar}, "a\n---\nkind: A\n": {ErrNotObject, ErrScalar}, "kind: A\n---\n- a\n": {ErrNotObject},
		"a: \x00": {ErrNotText}, "\xff\xfea": {ErrNotText}, "\x1f\x8b": {ErrNotText}, "a: \xff": {ErrNotText}, "a: [b\n": nil, "kind: List\n": nil, "kind: A\na: {{ x }}\n": {ErrNotKey},
	} {
		s, err := Read("in", []byte(in))
		if err == nil {
			_, err = s.Objects()[0].Root()
		}
		if err == nil {
			t.Errorf("%q is read", in)
		}
		var got []error
		for _, known := range all {
			if errors.Is(err, known) {
				got = append(got, known)
			}
		}
		if len(got) != len(want) || len(want) > 0 && got[0] != want[0] || len(want) > 1 && got[1] != want[1] {
			t.Errorf("%q: %v is %v, want %v", in, err, got, want)
		}
	}
}
