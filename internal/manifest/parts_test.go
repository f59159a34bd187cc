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
