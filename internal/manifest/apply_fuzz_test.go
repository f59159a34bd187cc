package manifest

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/yamljudge"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

func randomValue(r *rand.Rand, depth int) field.Value {
	switch n := r.IntN(10); {
	case n < 4:
		return yamljudge.Strings[r.IntN(len(yamljudge.Strings))]
	case n == 4:
		return r.IntN(20000) - 100
	case n == 5:
		return r.IntN(2) == 0
	case n == 6:
		return nil
	case depth > 2:
		return "deep"
	case n < 9:
		m := field.Map{}
		for i := range r.IntN(4) {
			m = append(m, field.Entry{Key: randomKey(r) + strconv.Itoa(i), Value: randomValue(r, depth+1)})
		}
		return m
	}
	l := field.List{}
	for range r.IntN(4) {
		l = append(l, randomValue(r, depth+1))
	}
	return l
}

func randomKey(r *rand.Rand) string {
	return []string{"a", "b", "kindly", "x/y.z", "y", "a b", "k:", "\"q", "1"}[r.IntN(9)]
}

// randomEdit returns an edit somewhere in the tree, but not of what makes the
// object what it is.
func randomEdit(r *rand.Rand, t *yaml.Tree) field.Edit {
	var p field.Path
	n := int32(1)
	for {
		v := &t.Nodes[n]
		var children []int32
		for c := v.Child; c != 0; c = t.Nodes[c].Next {
			children = append(children, c)
		}
		if v.Kind == yaml.Scalar || len(children) == 0 || r.IntN(5) == 0 {
			break
		}
		i := r.IntN(len(children))
		if v.Kind == yaml.Sequence {
			p = p.Index(i)
		} else {
			p = p.Key(t.KeyOf(children[i]))
		}
		n = children[i]
	}
	before := ""
	if c := t.Nodes[n].Child; c != 0 && t.Nodes[n].Kind == yaml.Mapping && r.IntN(2) == 0 {
		before = t.KeyOf(c)
	}
	val := randomValue(r, 0)
	switch r.IntN(6) {
	case 0:
		return field.Edit{Op: field.Delete, Path: p}
	case 1:
		return field.Edit{Op: field.Rename, Path: p, NewKey: "renamed", Value: val}
	case 2:
		return field.Edit{Op: field.Insert, Path: p.Index(r.IntN(3)), Value: val}
	case 3, 4:
		p = p.Key("new" + strconv.Itoa(r.IntN(3)))
	}
	e := field.Edit{Op: field.Set, Path: p, Before: before, Value: val}
	if len(p) > 0 && !p[len(p)-1].IsIndex && r.IntN(3) == 0 {
		key := p[len(p)-1].Key
		e.Texts = field.KeyValues{{Key: key, Value: randomText(r, key, val)}}
	}
	return e
}

// randomText returns what may stand in an annotation as the text of an entry: it may
// read as the entry, as something else, or as nothing at all.
func randomText(r *rand.Rand, key string, val field.Value) string {
	text, _ := val.(string)
	if r.IntN(2) == 0 {
		text = yamljudge.Strings[r.IntN(len(yamljudge.Strings))]
	}
	before := []string{"", "\n", "\n\n", "# c\n", "a: b\n"}[r.IntN(5)]
	behind := []string{"", " # c", " ", "\n", "\n---\n", "\n  a", "\nb: c", "}", ", x: y"}[r.IntN(9)]
	return before + key + ":" + []string{" ", "  ", "", " '", " \"", " *a", " !!str ", " &a ", " |\n  "}[r.IntN(9)] + text + behind
}

// equalParsed compares a value with what the full parser has read.
func equalParsed(v field.Value, n *yamlv3.Node) bool {
	switch v := v.(type) {
	case field.Map:
		if n.Kind != yamlv3.MappingNode || len(n.Content) != 2*len(v) {
			return false
		}
		for i, e := range v {
			if n.Content[2*i].Value != e.Key { // merged entries come elsewhere
				for i = 0; i < len(v)-1 && n.Content[2*i].Value != e.Key; i++ {
				}
			}
			if n.Content[2*i].Value != e.Key || !equalParsed(e.Value, n.Content[2*i+1]) {
				return false
			}
		}
		return true
	case field.List:
		if n.Kind != yamlv3.SequenceNode || len(n.Content) != len(v) {
			return false
		}
		for i, e := range v {
			if !equalParsed(e, n.Content[i]) {
				return false
			}
		}
		return true
	}
	if n.Kind != yamlv3.ScalarNode {
		return false
	}
	switch v := v.(type) {
	case nil:
		return n.ShortTag() == "!!null"
	case bool:
		return n.ShortTag() == "!!bool" && n.Value == strconv.FormatBool(v)
	case int:
		return n.ShortTag() == "!!int" && n.Value == strconv.Itoa(v)
	case yaml.RawScalar:
		_, old := yaml.OldBool(string(v))
		isText := yaml.ReadsAsString(string(v)) && !old && n.ShortTag() == "!!str" // whatever its quotes
		// A tag without a value is null, but for that of a string.
		isNull := n.ShortTag() == "!!null" || n.Value == "" && n.Style&^yamlv3.TaggedStyle == 0 && n.ShortTag() != "!!str"
		return n.Value == string(v) && (n.Style == 0 || isText) || yamljudge.IsNull(string(v)) && isNull
	case string:
		// A date is a text in JSON, and so is the key of a merge as a value.
		return slices.Contains([]string{"!!str", "!!timestamp", "!!merge"}, n.ShortTag()) && n.Value == v
	}
	return false
}

func FuzzApply(f *testing.F) {
	f.Add([]byte(" 0:"), uint64(66)) // cannot be spliced
	for i, s := range yamljudge.Forms {
		f.Add([]byte(s), uint64(i))
		f.Add([]byte("apiVersion: v1\nkind: List\nitems:\n- "+strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n  ")+"\n"), uint64(i)*7)
	}
	for i, s := range yamljudge.Numbered {
		f.Add([]byte(s), uint64(i))
	}
	for i, s := range yamljudge.StyledSeeds() {
		f.Add(s, uint64(i))
	}
	for i, tt := range editTests {
		f.Add([]byte(tt.in), uint64(i))
		f.Add([]byte(tt.in+"---\n"+tt.want), uint64(i)*3)
	}
	f.Fuzz(applyRandomly)
}

// TestRandomEdits makes the edits that chance would find in a minute.
func TestRandomEdits(t *testing.T) {
	for i, s := range slices.Concat(yamljudge.Forms, yamljudge.Numbered) {
		for seed := range uint64(150) {
			applyRandomly(t, []byte(s), uint64(i)<<8|seed)
			applyRandomly(t, testutil.Mutated([]byte(s), yamljudge.Pieces, seed), seed)
		}
	}
	for i, tt := range editTests {
		for seed := range uint64(150) {
			applyRandomly(t, []byte(tt.in), uint64(i)<<8|seed)
		}
	}
}

// applyRandomly makes edits, which the seed chooses, of an object of a text, and judges the result.
func applyRandomly(t *testing.T, in []byte, seed uint64) {
	s, err := Read("<stdin>", in)
	if err != nil || yamljudge.Surrogate.Match(in) || len(s.Objects()) == 0 {
		return
	}
	r := rand.New(rand.NewPCG(seed, 1))
	i := r.IntN(len(s.Objects()))
	o := s.Objects()[i]
	tr, err := o.load()
	if err != nil || o.stream.shared[o] != "" {
		return
	}
	var edits []field.Edit
	for range 1 + r.IntN(4) {
		e := randomEdit(r, tr)
		switch e.Path.String() {
		case "":
			continue
		case "kind", "apiVersion", "items":
			continue
		}
		if e.Path[0].Key == "items" || e.Path[0].Key == "kind" || e.Path[0].Key == "apiVersion" {
			continue
		}
		edits = append(edits, e)
	}
	root, err := new(original).overlay(tr, edits)
	if err != nil {
		return
	}
	want := root.value(tr)
	if !root.differs() || len(want.(field.Map)) == 0 {
		return
	}
	if err := o.Apply(edits); err != nil {
		if msg := err.Error(); !strings.Contains(msg, "must be edited, and has ") && !strings.Contains(msg, "cannot be edited: ") {
			t.Fatalf("%q\nedits %+v: %v", in, edits, err)
		}
		if o.Changed() || !bytes.Equal(output(t, s), in) {
			t.Fatalf("%q\nafter an error the object is different: %v", in, err)
		}
		return
	}
	out := output(t, s)
	again, err := Read("<stdin>", out)
	if err != nil {
		t.Fatalf("%q\nedits %+v give\n%q\n%v", in, edits, out, err)
	}
	if len(again.Objects()) != len(s.Objects()) {
		t.Fatalf("%q\nedits %+v give\n%q\nwhich has %d objects", in, edits, out, len(again.Objects()))
	}
	for j, a := range again.Objects() {
		if j != i {
			if !bytes.Equal(a.source(), s.Objects()[j].source()) {
				t.Fatalf("%q\nedits %+v change another object:\n%q", in, edits, out)
			}
			continue
		}
		root, err := yamljudge.Value(a.source(), int(a.col))
		if err != nil || root == nil || !equalParsed(want, root) {
			t.Fatalf("%q\nedits %+v give\n%s\n(%v), want %#v", in, edits, a.source(), err, want)
		}
	}
}
