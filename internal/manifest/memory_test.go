package manifest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// TestTextsOfManyEditsAreGivenBack edits so many objects that the texts do not
// stay in the Go heap, and writes them twice: the second time they come from
// the first output.
func TestTextsOfManyEditsAreGivenBack(t *testing.T) {
	defer func(before bool) { ownsProcess = before }(ownsProcess)
	for _, ownsProcess = range []bool{false, true} {
		t.Run(fmt.Sprintf("ownsProcess=%t", ownsProcess), writeManyEdits)
	}
}

func writeManyEdits(t *testing.T) {
	const objects = 3000
	in := []byte("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n")
	for i := range objects {
		in = fmt.Appendf(in, "- kind: A\n  metadata:\n    name: a%d\n  v: old\n", i)
	}
	want := string(in)
	s := mustRead(t, in)
	value := func(i int) string { return fmt.Sprintf("%d-%s", i, strings.Repeat("x", i%3000)) }
	for i, o := range s.Objects() {
		if err := o.Apply([]field.Edit{set("v", value(i))}); err != nil {
			t.Fatal(err)
		}
		want = strings.Replace(want, "v: old\n", "v: "+"\x00"+"\n", 1)
	}
	for i := range objects {
		if i%7 == 0 { // an edit of an edited object
			if err := s.Objects()[i].Apply([]field.Edit{set("v", value(i)+"-again")}); err != nil {
				t.Fatal(err)
			}
		}
	}
	var b strings.Builder
	for i, part := range strings.Split(want, "\x00") {
		b.WriteString(part)
		if i == objects {
			break
		}
		written := value(i)
		if i%7 == 0 {
			written += "-again"
		}
		b.WriteString(`"` + written + `"`)
	}
	want = b.String()
	for range 2 {
		text, err := s.Text()
		if err != nil || string(text) != want {
			t.Fatalf("%d bytes, want %d: %v", len(text), len(want), err)
		}
	}
	if err := s.AddResults(slices.Values([]field.Map{{{Key: "message", Value: "m"}}})); err != nil {
		t.Fatal(err)
	}
	text, err := s.Text()
	if err != nil || !bytes.Equal(text, []byte(want+"results:\n- message: m\n")) {
		t.Fatalf("with results: %d bytes, want some more than %d: %v", len(text), len(want), err)
	}
}

// A text is in the chunk that has room for it, and a chunk is given back when the last of its texts is released.
func TestTextsAreKeptInChunks(t *testing.T) {
	var m textMemory
	var texts []string
	for _, n := range []int{0, 10, 64<<10 - 10, 1, 64 << 10, 64<<10 + 1, 0, 5} {
		text := strings.Repeat("x", n)
		if got := m.keep(text); got != text {
			t.Errorf("%d bytes are kept as %d", n, len(got))
		} else {
			texts = append(texts, got)
		}
	}
	state := func() (left []int) {
		for _, c := range m.chunks {
			left = append(left, c.left)
		}
		return left
	}
	if got, want := state(), []int{64 << 10, 1, 64 << 10, 64<<10 + 1, 5}; !slices.Equal(got, want) {
		t.Fatalf("chunks %v, want %v", got, want)
	}
	for _, tt := range []struct {
		text int
		want []int
	}{
		{1, []int{64<<10 - 10, 1, 64 << 10, 64<<10 + 1, 5}}, {7, []int{64<<10 - 10, 1, 64 << 10, 64<<10 + 1, 0}}, {4, []int{64<<10 - 10, 1, 0, 64<<10 + 1, 0}},
		{2, []int{0, 1, 0, 64<<10 + 1, 0}}, {0, []int{0, 1, 0, 64<<10 + 1, 0}}, {5, []int{0, 1, 0, 0, 0}}, {3, []int{0, 0, 0, 0, 0}},
	} {
		m.release(texts[tt.text])
		if got := state(); !slices.Equal(got, tt.want) {
			t.Errorf("after text %d chunks have %v, want %v", tt.text, got, tt.want)
		}
	}
	m.release("another text")
	if got := state(); slices.ContainsFunc(got, func(n int) bool { return n != 0 }) {
		t.Errorf("another text is released: %v", got)
	}
}

// A text is one with the text before it only where that is the last of its chunk, and has room behind it: texts of two
// chunks may be neighbours by chance.
func TestTextsAreExtendedInAChunk(t *testing.T) {
	var m textMemory
	if _, ok := m.extend("", "x"); ok {
		t.Error("nothing is extended")
	}
	first := m.keep("first")
	both, ok := m.extend(first, "-second")
	if !ok || both != "first-second" || first != "first" || m.chunks[0].left != len(both) {
		t.Fatalf("%q, %t, %d bytes left", both, ok, m.chunks[0].left)
	}
	if _, ok := m.extend(first, "x"); ok {
		t.Error("a text is extended that has another behind it")
	}
	if _, ok := m.extend(strings.Clone("d"), "x"); ok {
		t.Error("another text is extended")
	}
	if _, ok := m.extend(both, strings.Repeat("x", 64<<10)); ok {
		t.Error("a text is extended beyond its chunk")
	}
	full := m.keep(strings.Repeat("y", m.chunks[0].room()))
	last := m.keep("z")
	if _, ok := m.extend(full, "x"); ok {
		t.Error("a text of a full chunk is extended")
	}
	if both, ok = m.extend(last, "x"); !ok || both != "zx" {
		t.Errorf("%q, %t", both, ok)
	}
	m.release(both)
	if m.chunks[1].left != 0 {
		t.Errorf("%d bytes left", m.chunks[1].left)
	}
}
