package manifest

import (
	"reflect"
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
		var is yaml.Tree
		return is.Parse(text, 0) && root.isIn(&is, 1, was)
	}
	if !equal([]byte(after)) {
		t.Fatalf("not equal:\n%s", after)
	}
	want, found := parsed(t, []byte(after)), 0
	broken := brokenTexts([]byte(after))
	broken["another entry"] = []byte(after + "more: x\n")
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
