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

// What is created on the way to a list comes last; only the list itself has a place.
func TestOnlyTheListThatIsCreatedHasAPlace(t *testing.T) {
	for in, want := range map[string]string{
		"p:\n  z: 1\n":                 "p:\n  z: 1\n  q:\n    l:\n    - x\n",
		"p:\n  q:\n    z: 1\n  z: 2\n": "p:\n  q:\n    l:\n    - x\n    z: 1\n  z: 2\n",
		"z: 1\n":                       "z: 1\np:\n  q:\n    l:\n    - x\n",
		"z: 1\np:\nl: 2\n":             "z: 1\np:\n  q:\n    l:\n    - x\nl: 2\n",
	} {
		s := mustRead(t, []byte(in))
		e := insert("p.q.l[0]", "x")
		e.Before = "z"
		if err := s.Objects()[0].Apply([]field.Edit{e}); err != nil {
			t.Errorf("%q: %v", in, err)
		} else if got := string(output(t, s)); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

// Whatever other edits do, an edit names what the object has had before, or is an error; then nothing changes.
func TestAnEditOfWhatIsNotThereIsAnError(t *testing.T) {
	const in = "kind: A\nm:\n  a: 1\n  b: ~\nl:\n- x\n- {y: 1}\n"
	for _, c := range []struct {
		edits []field.Edit
		want  string
	}{
		{[]field.Edit{insert("l[3]", 1)}, "`l[3]`: cannot be edited: index 3 is outside of the list"},
		{[]field.Edit{insert("l[2]", 1), insert("l[2]", 2), insert("l[3]", 1)}, "`l[3]`: cannot be edited: index 3 is outside of the list"},
		{[]field.Edit{insert("n[1]", 1)}, "`n[1]`: cannot be edited: index 1 is outside of the list"},
		{[]field.Edit{insert("n[0]", 1), insert("n[1]", 1)}, "`n[1]`: cannot be edited: index 1 is outside of the list"},
		{[]field.Edit{{Op: field.Insert, Path: field.NewPath("m", "new"), Value: 1}}, "`m.new`: cannot be edited: index 0 is outside of the list"},
		{[]field.Edit{set("l[2]", 1)}, "`l[2]`: cannot be edited: it does not exist"}, {[]field.Edit{remove("l[2]")}, "`l[2]`: cannot be edited: it does not exist"}, {[]field.Edit{remove("m.x")}, "`m.x`: cannot be edited: it does not exist"},
		{[]field.Edit{set("l[2].y", 1)}, "`l[2].y`: cannot be edited: `l[2]` does not exist"}, {[]field.Edit{remove("x.y")}, "`x.y`: cannot be edited: `x` does not exist"}, {[]field.Edit{rename("x.y", "z", 1)}, "`x.y`: cannot be edited: `x` does not exist"},
		{[]field.Edit{set("l.x", 1)}, "`l.x`: cannot be edited: must be a mapping, not a list"}, {[]field.Edit{set("m[0]", 1)}, "`m[0]`: cannot be edited: must be a list, not a mapping"}, {[]field.Edit{set("m.a.x", 1)}, "`m.a.x`: cannot be edited: must be a mapping, not the number 1"},
		{[]field.Edit{set("m.b.x", 1), set("m.b[0]", 1)}, "`m.b[0]`: cannot be edited: it is not a list"},
		{[]field.Edit{set("m.n", 1), set("m.n.x", 1)}, "`m.n.x`: cannot be edited: an edit changes what another sets"},
		{[]field.Edit{remove("m.a"), set("m.a", 1)}, "`m.a`: cannot be edited: another edit changes it too"}, {[]field.Edit{remove("m"), set("m.a", 1)}, "`m.a`: cannot be edited: an edit deletes what another changes"}, {[]field.Edit{set("m.a", 1), remove("m")}, "`m`: cannot be edited: another edit changes it too"},
		{[]field.Edit{rename("m.a", "b", 2), set("m.c", 1), set("m.c", 1), rename("m.b", "d", 1)}, ""},
		{[]field.Edit{rename("m.a", "kind", 2), rename("m", "kind", 1)}, "`m`: cannot be edited: another edit changes it too"},
		{[]field.Edit{rename("m", "kind", 1)}, "A: key \"kind\" would be twice in its mapping"},
		{[]field.Edit{rename("l[0]", "x", 1)}, "`l[0]`: cannot be edited: a list item has no key to rename"},
		{[]field.Edit{{Op: field.Set, Value: 1}}, "``: cannot be edited: the whole object cannot be replaced"}, {[]field.Edit{{Op: 9, Path: path("m.a")}}, "`m.a`: cannot be edited: unknown operation 9"},
	} {
		s := mustRead(t, []byte(in))
		o := s.Objects()[0]
		_, previewErr := o.Preview(c.edits)
		err := o.Apply(c.edits)
		if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && !strings.HasSuffix(got, c.want) || fmt.Sprint(previewErr) != got {
			t.Errorf("%v: %v (%v), want %s", c.edits, err, previewErr, c.want)
		}
		if err != nil && (o.Changed() || string(output(t, s)) != in) {
			t.Errorf("%v: after the error the object is\n%s", c.edits, output(t, s))
		}
	}
}
