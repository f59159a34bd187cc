package manifest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// TestAnEditedTextIsComparedByItsValue breaks an edited text in every line, whatever the
// splicer does: each break that another reader of YAML reads as another value is found.
func TestAnEditedTextIsComparedByItsValue(t *testing.T) {
	const before = "kind: B\nspec:\n  a: 1\n  list:\n  - x: yes\n    y: \"1\"\n  - z\nlast: text\n"
	const after = "kind: B\nspec:\n  a: 2\n  b:\n  - new\n  list:\n  - x: yes\n    y: \"1\"\nlast: text\n"
	o := mustRead(t, []byte(before)).Objects()[0]
	was, err := o.load()
	if err != nil {
		t.Fatal(err)
	}
	edits := []field.Edit{set("spec.a", 2), setBefore("spec.b", "list", field.List{"new"}), remove("spec.list[1]")}
	root, err := new(original).overlay(was, edits)
	if err != nil {
		t.Fatal(err)
	}
	equal := func(text []byte) bool {
		var is yaml.Parser
		return is.Parse(text, 0) && root.isIn(&is.Tree, 1, was)
	}
	if !equal([]byte(after)) {
		t.Fatalf("not equal:\n%s", after)
	}
	want, found := parsed(t, []byte(after)), 0
	broken := brokenTexts([]byte(after))
	broken["another entry"] = []byte(after + "more: x\n")
	broken["a mapping"] = []byte(strings.Replace(after, "  - x: yes\n    y:", "    k:\n      x: yes\n      y:", 1))
	for what, text := range broken {
		all, err := testutil.NonEmptyDocuments(text)
		if err != nil || reflect.DeepEqual(all, want) {
			continue
		}
		if found++; equal(text) {
			t.Errorf("%s is not found:\n%s", what, text)
		}
	}
	if found < 50 {
		t.Errorf("only %d breaks have another value", found)
	}
}

// The memory of an edited tree grows while it is made, and is that of the next one.
func TestLargeMappingsAreEditedOneAfterAnother(t *testing.T) {
	entries := func(n int) (text string) {
		for i := range n {
			text += fmt.Sprintf("  k%d: x\n", i)
		}
		return text
	}
	in := "kind: A\na:\n" + entries(100) + "b:\n" + entries(500)
	s := mustRead(t, []byte(in))
	for _, v := range []string{"one", "two"} {
		if err := s.Objects()[0].Apply([]field.Edit{set("a.k50", v), set("b.k499", v)}); err != nil {
			t.Fatal(err)
		}
	}
	want := strings.Replace(strings.Replace(in, "k50: x", "k50: two", 1), "k499: x", "k499: two", 1)
	if got := string(output(t, s)); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// What an edit mends of the metadata is read, and each edit adds its notices.
func TestWhatIsKnownOfAnObjectFollowsItsEdits(t *testing.T) {
	o := mustRead(t, []byte("kind: A\nmetadata: {name: x, labels: 1}\na: &a {b: 1}\nc: *a\nd: *a\n")).Objects()[0]
	if _, err := o.Metadata(); err == nil || o.Name() != "x" {
		t.Fatal(o.Name(), err)
	}
	for i, e := range []field.Edit{set("metadata.labels", field.Map{{Key: "l", Value: "v"}}), set("c.b", 2), set("d.b", 3)} {
		if err := o.Apply([]field.Edit{e}); err != nil {
			t.Fatal(err)
		}
		if m, err := o.Metadata(); err != nil || m.Labels.Get("l") != "v" || len(o.Notices()) != i {
			t.Errorf("after edit %d: %v, %v, %v", i, m, err, o.Notices())
		}
	}
}
