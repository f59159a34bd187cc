package manifest

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/jsonpatch"
)

// A patch has the edits as operations, one after the other. They make the value that the editor makes, and so says
// the preview, which changes nothing.
func TestEditsAndTheirOperationsMakeTheSame(t *testing.T) {
	compared := make(map[field.Op]int)
	several, failed := 0, 0
	for seed := range uint64(12000) {
		r := rand.New(rand.NewPCG(seed, 11))
		object := field.Map{{Key: "kind", Value: "A"}}
		for _, key := range []string{"a", "b", "new0", "renamed"}[:1+r.IntN(4)] {
			object = append(object, field.Entry{Key: key, Value: randomValue(r, 0)})
		}
		in := Documents(object)
		s := mustRead(t, in)
		o := s.Objects()[0]
		tr, err := o.load()
		if err != nil {
			t.Fatal(err)
		}
		var edits []field.Edit
		for range 1 + r.IntN(4) {
			e := randomEdit(r, tr)
			if len(e.Path) == 0 || e.Path[0].Key == "kind" {
				continue
			}
			for i := range e.Path {
				e.Path[i].Key = strings.Clone(e.Path[i].Key)
			}
			// Whether the renamed entry is meant then, or what will be there, is open.
			isRenamed := func(other field.Edit) bool {
				for _, p := range [][2]field.Edit{{e, other}, {other, e}} {
					of, by := p[0], p[1]
					if by.Op == field.Rename && (of.Path.HasPrefix(by.Path) || of.Path.HasPrefix(by.Path[:len(by.Path)-1].Key(by.NewKey))) {
						return true
					}
				}
				return false
			}
			if !slices.ContainsFunc(edits, isRenamed) {
				edits = append(edits, e)
			}
		}
		want, err := o.Preview(edits)
		if err != nil {
			continue
		}
		if again, _ := o.Value(nil); !field.Same(again, object) || o.Changed() || !bytes.Equal(o.source(), in) {
			t.Fatalf("seed %d: %v of\n%s has become %v", seed, edits, in, again)
		}
		after, err := jsonpatch.Edited(object, edits)
		if err != nil {
			failed++
			continue
		}
		if !field.Equal(after, want) {
			t.Fatalf("seed %d: on values %v make of\n%s\n%s\nwant\n%s", seed, edits, in, field.AppendJSON(nil, after), field.AppendJSON(nil, want))
		}
		tests, changes := field.Difference(object, want)
		if v, err := jsonpatch.Apply(object, append(tests, changes...)...); err != nil || !field.Equal(v, want) {
			t.Fatalf("seed %d: %v of\n%s\n%v give %s, and %v", seed, edits, in, changes, field.AppendJSON(nil, v), err)
		}
		if err := o.Apply(edits); err != nil {
			t.Fatalf("seed %d: %v of\n%s: %v", seed, edits, in, err)
		}
		if got, _ := o.Value(nil); !field.Equal(got, want) {
			t.Fatalf("seed %d: %v of\n%s\n%s in the text, want %s", seed, edits, in, field.AppendJSON(nil, got), field.AppendJSON(nil, want))
		}
		for _, e := range edits {
			compared[e.Op]++
		}
		if len(edits) > 2 {
			several++
		}
	}
	if compared[field.Set] < 600 || compared[field.Rename] < 150 || compared[field.Insert] < 60 || compared[field.Delete] < 150 || several < 150 || failed > 120 {
		t.Errorf("%v, several %d, %d have no operations", compared, several, failed)
	}
}
