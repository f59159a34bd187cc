package manifest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// laidOut are objects in the layouts that people and tools give them.
var laidOut = []string{
	"# head\nm:\n  # above a\n  a: 1 # at a\n\n  b: 'x'   # at b\n  # above c\n  c: {d: e}\n    # below c\n# foot\nz: \"y\"\n",
	"m:\n  - a # at a\n  -   b: 1\n      c: 2\n  # above d\n  - d:\n    # above e\n    e: f\n    # below e\nz: [y]\n",
	"m:\n- a: 1\n  # above b\n  b:\n  - c\n  g: h\n-\n  d: e\n- - f\n",
	"m: {a: 1, 'b': \"x\", c: [d, e]} # at m\nz:\n  {f: g}\n",
	"m: { # at m\n  a: 1, # at a\n  b: [c,d], # at b\n  # above e\n  e: {}\n  # below e\n  }\n",
	"m: [ a, # at a\n  {b: 1, c: 2}, # at b\n  # above d\n  d, ] # at m\n",
	"{\n  \"m\": {\n    \"a\": 1,\n    \"b\": [\n      \"c\",\n      {\"d\": null}\n    ],\n    \"e\": {},\n    \"f\": []\n  }\n}\n",
	"{\"m\":{\"a\":1,\"b\":[\"c\",{\"d\":null}],\"e\":{},\"f\":[]}}",
	"m:\n  a: |\n    x\n     y\n\n    z\n  b: >- # at b\n    f\n    g\n  c: |+\n    h\n\nz: |2-\n   i\n",
	"m:\r\n  a: 1 # at a\r\n  b:\r\n  - 'x'\r\n  c: |\r\n    y\r\nz: {}\r\n",
	"m: &m # at m\n  a: &a 1\n  b: [*a, c]\nn: *m # at n\no:\n  <<: *m # at <<\n  d: e\nz: *a\n",
	"m:\n  a:\n  b: ~ # at b\n  c: # at c\n    d # at d\n  e:   \"f\n    g\"\n  h: i\n    j\nz: !!str 1\n",
	"a: \"x\n# y\"\n  # above b\nb: |\n  # y\n# above c\nc: {d:\n  e, \"f\": g}\n", " a:\n", "a: {b: [c, d], e: 'f', g: it's}\nh: {\"i\": 1, j: 2}\n",
	"m:\n  ? a\n  : 1\n  &b b: 2\n  c: [d: e]\nz: \u2028\n",
}

// editsOf returns edits of each entry and item of an object, of each collection without some of its
// entries or items, and with others.
func editsOf(t *yaml.Tree) [][]field.Edit {
	var all [][]field.Edit
	values := []field.Value{"new", 2, nil, "two\nlines\n", field.Map{}, field.Map{{Key: "x", Value: "1"}, {Key: "y", Value: field.List{"w", field.Map{{Key: "v", Value: nil}}}}}, field.List{field.List{"u"}, true}}
	var walk func(n int32, p field.Path)
	walk = func(n int32, p field.Path) {
		var children []field.Path
		for c, i := t.Nodes[n].Child, 0; c != 0; c, i = t.Nodes[c].Next, i+1 {
			child := p.Index(i)
			if t.Nodes[n].Kind == yaml.Mapping {
				child = p.Key(t.KeyOf(c))
			}
			children = append(children, child)
		}
		add := []field.Edit{{Op: field.Set, Path: p.Key("n"), Value: "new"}, {Op: field.Set, Path: p.Key("l"), Value: values[5]}}
		if t.Nodes[n].Kind == yaml.Sequence {
			add = []field.Edit{{Op: field.Insert, Path: p.Index(len(children)), Value: "new"}, {Op: field.Insert, Path: p.Index(0), Value: values[5]}}
		}
		all = append(all, add)
		for some := range 1 << min(len(children), 3) {
			var edits []field.Edit
			for i, child := range children {
				if some>>i&1 != 0 {
					edits = append(edits, field.Edit{Op: field.Delete, Path: child})
				}
			}
			if some > 0 && n != 1 {
				all = append(all, edits, append(edits[:len(edits):len(edits)], add[0]))
			}
		}
		for _, child := range children {
			c := t.Child(n, child[len(child)-1])
			for i, v := range values {
				if t.Nodes[c].Kind != yaml.Scalar && i%5 != 0 {
					continue
				}
				all = append(all, []field.Edit{{Op: field.Set, Path: child, Value: v}})
			}
			if t.Nodes[n].Kind == yaml.Mapping {
				before := child[len(child)-1].Key
				if len(p) > 0 && p[0].Key == "m" {
					last := field.NewPath("z")
					all = append(all, []field.Edit{{Op: field.Set, Path: child, Value: 2}, {Op: field.Set, Path: last, Value: "x"}}, []field.Edit{{Op: field.Set, Path: child, Value: 2}, {Op: field.Delete, Path: last}})
				}
				all = append(all, []field.Edit{{Op: field.Rename, Path: child, NewKey: "it's", Value: "new"}},
					[]field.Edit{{Op: field.Set, Path: p.Key("n"), Before: before, Value: "new"}, {Op: field.Delete, Path: child}})
			}
			if v := t.Nodes[c]; v.Kind != yaml.Scalar && v.Marks&yaml.IsAlias == 0 {
				walk(c, child)
			}
		}
	}
	walk(1, nil)
	return all
}

// opposite returns the opposite of an edit that sets or deletes one entry; nil of others.
func opposite(o *Object, edits []field.Edit, texts []field.WrittenText) []field.Edit {
	e := edits[0]
	last := len(e.Path) - 1
	before, found := o.Value(e.Path)
	if !found || len(edits) > 1 || e.Op != field.Set && e.Op != field.Delete || e.Path[last].IsIndex {
		return nil
	}
	back := field.Edit{Op: field.Set, Path: e.Path, Value: before}
	if siblings, _ := o.Value(e.Path[:last]); e.Op == field.Delete {
		entries := siblings.(field.Map)
		if i := slices.IndexFunc(entries, func(x field.Entry) bool { return x.Key == e.Path[last].Key }); i+1 < len(entries) {
			back.Before = entries[i+1].Key
		}
	}
	for _, text := range texts {
		back.Texts = back.Texts.With(text.Path[len(text.Path)-1].Key, text.Text)
	}
	return []field.Edit{back}
}

// changed returns which bytes of a text have become others, and what those are.
func changed(before, after string) string {
	start := 0
	for start < min(len(before), len(after)) && before[start] == after[start] {
		start++
	}
	end := 0
	for end < min(len(before), len(after))-start && before[len(before)-1-end] == after[len(after)-1-end] {
		end++
	}
	return fmt.Sprintf("%d-%d %q", start, len(before)-end, after[start:len(after)-end])
}

// What each edit does to each layout, with its notices and the texts that it would have to keep, is in
// testdata/layouts.txt.
func TestEachEditOfEachLayoutIsMadeAsWrittenDown(t *testing.T) {
	var out strings.Builder
	for _, in := range laidOut {
		fmt.Fprintf(&out, "%q\n", in)
		tree, err := mustRead(t, []byte(in)).Objects()[0].load()
		if err != nil {
			t.Fatal(err)
		}
		for _, edits := range editsOf(tree) {
			s := mustRead(t, []byte(in))
			o := s.Objects()[0]
			for _, e := range edits {
				fmt.Fprintf(&out, "  %s", []string{"set", "rename", "insert", "delete"}[e.Op])
				fmt.Fprintf(&out, " %s", e.Path)
				if e.Op != field.Delete {
					fmt.Fprintf(&out, " %s", field.AppendJSON(nil, e.Value))
				}
			}
			texts := o.Texts(edits)
			if err := o.Apply(edits); err != nil {
				fmt.Fprintf(&out, ": %v\n", err)
				continue
			}
			fmt.Fprintf(&out, ": %s", changed(in, string(output(t, s))))
			for _, n := range o.Notices() {
				fmt.Fprintf(&out, ", %d-%d %s", n.Line, n.End, n.Text)
			}
			for _, text := range texts {
				fmt.Fprintf(&out, ", text of %s %q", text.Path, text.Text)
			}
			if back := opposite(mustRead(t, []byte(in)).Objects()[0], edits, texts); back != nil {
				if err := o.Apply(back); err != nil {
					fmt.Fprintf(&out, "; back: %v", err)
				} else if got := string(output(t, s)); got != in {
					fmt.Fprintf(&out, "; back: %s", changed(in, got))
				}
			}
			out.WriteString("\n")
		}
	}
	golden.Compare(t, "testdata/layouts.txt", []byte(out.String()))
}

// streamsLaidOut are inputs with objects of all kinds of places.
var streamsLaidOut = []string{
	"kind: A\na: b\n", "kind: A\na: b", "---\nkind: A\n---\nkind: B # c\n\n# foot\n", "# head\nkind: A\n---\n# B\nkind: B\n...\n---\nkind: C\n", "%YAML 1.2\n---\nkind: A\n", "\ufeffkind: A\n",
	"kind: A\r\n---\r\nkind: B\r\na: b", "{kind: A}", "{\"kind\":\"A\"}\n{\"kind\":\"B\"}\n", "--- {kind: A} # c\n--- # d\nkind: B\n", "{kind: A} # c\n\n# d\n---\nkind: B\n", "  kind: A\n  a: b\n", "--- &x\nkind: A\n", "kind: A\na: |\n  b", "kind: A\na: |\n  b\n",
	"kind: A\na: |\n  b\n\n", "kind: A\na: |+\n  b\n\n", "kind: A\na: \u2028\n", "kind: A\n---\n~\n---\nkind: B\n", "kind: A\n--- # only\n", "!!map\nkind: A\n",
	"kind: List\nitems:\n- kind: A\n  a: b\n# c\n-   kind: B\nz: y\n", "kind: List\nitems:\n  - kind: A\n  - {kind: B} # b\n  -\n    kind: C", "kind: List\nitems: [{kind: A}, {kind: B} ,{kind: C}]\n", "{kind: List, items: [{kind: A}]}", "{\n  \"kind\": \"List\",\n  \"items\": [\n    {\n      \"kind\": \"A\"\n    },\n    {\n      \"kind\": \"B\"\n    }\n  ]\n}\n",
	"kind: List\nitems: [kind: A, {kind: B}]\n", "kind: List\nitems:\n- &a {kind: A}\n- &b\n  kind: B\n- *a\n", "kind: List\nitems:\n- !!map {kind: A}\n- !!map\n  kind: B\n", "kind: List\nitems:\n- kind: A\n  a: &a b\n- kind: B\n  a: *a\n", "kind: List\nitems:\n- kind: A\n  a: |\n    b", "kind: List\nitems: []\n", "kind: List\n", "kind: List\nitems: {}\n", "kind: List\nitems: &a []\nz: *a\n", "x: &a []\nkind: List\nitems: *a\n", "kind: List\nitems: [a]\n",
	"kind: List\nitems:\n- kind: List\n  items:\n  - kind: A\n- apiVersion: v1\n  kind: PodList\n  items:\n  - a: b\n  - kind: C\n", "kind: List\nkind: A\n", "kind: [A]\n", "apiVersion: {a: b}\n", "kind: AList\nitems: [a]\n",
	"kind: ResourceList\nitems:\n- kind: A\n", "kind: ResourceList\nitems:\n  - kind: A\n  - kind: B", "kind: ResourceList\r\nitems:\r\n- kind: A\r\n", "kind: ResourceList\nitems: []\nfunctionConfig:\n  kind: F\n# foot\n", "kind: ResourceList\nresults:\n- message: l # at l\nitems:\n- kind: A\n", "kind: ResourceList\nitems:\n- kind: A\nresults:\n  - message: l", "kind: ResourceList\nitems: []\nresults: []\n", "kind: ResourceList\nitems: []\nresults: # none\n", "kind: ResourceList\nitems: []\nresults: {}\n", "kind: ResourceList\nresults: a\nitems: []\n",
	"{\"kind\":\"ResourceList\",\"items\":[{\"kind\":\"A\"}]}", "{kind: ResourceList, items: [{kind: A}]} # c\n", "{ kind: ResourceList, items: [] }\n", "{\n  \"kind\": \"ResourceList\",\n  \"items\": [],\n  \"results\": [\n    {\n      \"message\": \"l\"\n    }\n  ]\n}\n", "{kind: ResourceList, results: [{message: l}], items: []}\n", "{kind: ResourceList, results: , items: []}\n", "kind: ResourceList\nitems:\n- kind: A\n  a: |\n    b", "kind: ResourceList\nitems: []\nresults:\n- message: |\n    l",
	"kind: ResourceList\nitems: []\n---\nkind: A\n", "kind: A\n---\nkind: ResourceList\nitems: []\n", "kind: ResourceList\n", "kind: ResourceList\nitems: []\nfunctionConfig: a\n", "kind: ResourceList\nitems: []\nfunctionConfig: {kind: [a]}\n", "kind: ResourceList\nitems: []\nfunctionConfig: ~\n", "apiVersion: other\nkind: ResourceList\nitems: []\n", "", "# c\n", "- a\n", "a\n",
}

// What is done to each input as a whole, and to its objects, is in testdata/streams.txt.
func TestEachStreamIsChangedAsWrittenDown(t *testing.T) {
	var out strings.Builder
	for _, in := range streamsLaidOut {
		fmt.Fprintf(&out, "%q\n", in)
		s, err := Read("in", []byte(in))
		if err != nil {
			fmt.Fprintf(&out, "  %v\n", err)
			continue
		}
		is := fmt.Sprintf("%d objects", len(s.Objects()))
		if s.IsResourceList() {
			is += " of a ResourceList"
		}
		if c := s.FunctionConfig(); c != nil {
			is += fmt.Sprintf(" with %s in line %d", c, c.Line())
		}
		fmt.Fprintf(&out, "  %s\n", is)
		do := func(what string, change func(*Stream) error) {
			s := mustRead(t, []byte(in))
			err := change(s)
			if err != nil {
				fmt.Fprintf(&out, "  %s: %v\n", what, err)
			}
			text, outErr := s.Text()
			if outErr != nil {
				fmt.Fprintf(&out, "  %s: %v\n", what, outErr)
			} else if err == nil {
				fmt.Fprintf(&out, "  %s: %s\n", what, changed(in, string(text)))
			} else if string(text) != in {
				t.Errorf("%q: after an error it is %q", in, text)
			}
			if joined, err := Join([]*Stream{s, s}); err == nil && len(mustRead(t, joined).Objects()) != 2*len(mustRead(t, text).Objects()) {
				t.Errorf("%q: twice it is %q", in, joined)
			}
		}
		for i, o := range s.Objects() {
			name := fmt.Sprintf("%d (%s %q, line %d)", i, o, o.APIVersion(), o.Line())
			do("edit "+name, func(s *Stream) error { return s.Objects()[i].Apply([]field.Edit{set("n", "new")}) })
			do("a list in "+name, func(s *Stream) error { return s.Objects()[i].Apply([]field.Edit{set("n", field.List{"new"})}) })
		}
		var joined []byte
		if joined, err = Join([]*Stream{mustRead(t, []byte("kind: J\n")), mustRead(t, []byte(in))}); err != nil {
			fmt.Fprintf(&out, "  behind another: %v\n", err)
		} else {
			fmt.Fprintf(&out, "  behind another: %s\n", changed(in, string(joined)))
		}
		if !s.IsResourceList() {
			do("add results", func(s *Stream) error { return s.AddResults(nil) })
			continue
		}
		for _, results := range [][]field.Map{nil, {{{Key: "message", Value: "l"}}}, {{{Key: "message", Value: "m"}, {Key: "tags", Value: field.Map{{Key: "a", Value: nil}}}}, {{Key: "message", Value: "two\nlines\n"}}}} {
			do(fmt.Sprintf("add %d results", len(results)), func(s *Stream) error { return s.AddResults(slices.Values(results)) })
		}
	}
	golden.Compare(t, "testdata/streams.txt", []byte(out.String()))
}
