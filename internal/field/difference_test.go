package field_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/jsonpatch"
)

// drawn returns a value whose mappings and lists are at most some levels deep. Its keys, names and texts are few, so that
// two values have much in common.
func drawn(random *rand.Rand, depth int) field.Value {
	n := random.IntN(8)
	if depth == 0 {
		n %= 4
	}
	switch n {
	case 0:
		return nil
	case 1, 2, 3:
		return []field.Value{1, true, "x"}[n-1]
	case 4, 5:
		l := field.List{}
		for range random.IntN(4) {
			l = append(l, drawn(random, depth-1))
		}
		return l
	}
	m := field.Map{}
	for _, key := range []string{"name", "a", "b", "c/~d"} {
		switch {
		case random.IntN(2) == 0:
		case key == "name":
			m = append(m, field.Entry{Key: key, Value: string(rune('p' + random.IntN(3)))})
		default:
			m = append(m, field.Entry{Key: key, Value: drawn(random, depth-1)})
		}
	}
	return m
}

// The difference of two values makes one of the other, whatever they are.
func TestADifferenceMakesTheOtherValue(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 30000 {
		before := field.Map{{Key: "l", Value: drawn(random, 4)}, {Key: "m", Value: drawn(random, 3)}}
		after := field.Map{{Key: "l", Value: drawn(random, 4)}, {Key: "n", Value: drawn(random, 3)}}
		tests, changes := field.Difference(before, after)
		text := func(v field.Value) []byte { return field.AppendJSON(nil, v) }
		was := string(text(before))
		got, err := jsonpatch.Apply(before, append(tests, changes...)...)
		if err != nil || !field.Equal(got, after) {
			t.Fatalf("%s\nbecomes %s (%v),\nwant %s\nwith %v", text(before), text(got), err, text(after), changes)
		}
		if string(text(before)) != was {
			t.Fatalf("%s has become %s", was, text(before))
		}
		if _, again := field.Difference(after, after); len(again) > 0 {
			t.Fatalf("%s differs from itself: %v", text(after), again)
		}
	}
}

// Where a value that is replaced or removed has another value, or what is added is there, a test fails.
func TestADifferenceTestsWhatItChanges(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	seen := 0
	for range 10000 {
		before := field.Map{{Key: "l", Value: drawn(random, 4)}}
		tests, changes := field.Difference(before, field.Map{{Key: "l", Value: drawn(random, 4)}})
		for _, c := range changes {
			old, steps := field.At(before, c.Path)
			if steps < len(c.Path) && (c.Op != field.OpAdd || slices.ContainsFunc(c.Path, func(s field.Step) bool { return s.IsIndex || s == field.End })) {
				continue // an item, or a null
			}
			changed, err := jsonpatch.Apply(before, field.Operation{Op: field.OpAdd, Path: c.Path, Value: fmt.Sprint("not ", old)})
			if err != nil || c.Path[len(c.Path)-1].IsIndex {
				continue
			}
			seen++
			if _, err := jsonpatch.Apply(changed, tests...); err == nil {
				t.Fatalf("no test of %v notices %s", changes, field.AppendJSON(nil, changed))
			}
		}
	}
	if seen < 5000 {
		t.Errorf("only %d changes are tested", seen)
	}
}

// What a difference says is as small as a reader would write it.
func TestADifferenceIsSmall(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{`{"a":1}`, `{"a":1}`, ``},
		{`{"a":1,"b":2}`, `{"b":3}`, `remove /a, replace /b`},
		{`{}`, `{"a":{"b":{"c":1}}}`, `add /a`},
		{`{"a":null}`, `{"a":1}`, `add /a`},
		{`{"a":{}}`, `{"a":null}`, `replace /a`},
		{`{"l":["x","y"]}`, `{"l":["y"]}`, `remove /l/0`},
		{`{"l":["x","y","z"]}`, `{"l":["y"]}`, `remove /l/2, remove /l/0`},
		{`{"l":["x","y"]}`, `{"l":["n","x","m","y","o"]}`, `add /l/0, add /l/2, add /l/-`},
		{`{"l":[]}`, `{"l":["x","y"]}`, `add /l/-, add /l/-`},
		{`{"l":["x","y"]}`, `{"l":["x","z"]}`, `replace /l/1`},
		{`{"l":[{"name":"a","v":1},{"name":"b"}]}`, `{"l":[{"name":"n"},{"name":"a","v":2},{"name":"b"}]}`, `replace /l/0/v, add /l/0`},
		{`{"l":[{"name":"a","v":1}]}`, `{"l":[{"name":"b","v":1}]}`, `remove /l/0, add /l/-`},
		{`{"l":[{"n":1},{"n":2}]}`, `{"l":[{"n":3},{"n":2}]}`, `replace /l/0/n`},
		{`{"l":[null]}`, `{"l":[{}]}`, `replace /l/0`},
		{`{"l":{"x":1}}`, `{"l":[1]}`, `replace /l`},
	} {
		_, changes := field.Difference(value(t, c.before), value(t, c.after))
		got := ""
		for i, o := range changes {
			if i > 0 {
				got += ", "
			}
			got += o.Op + " " + o.Path.Pointer()
		}
		if got != c.want {
			t.Errorf("%s to %s: %s, want %s", c.before, c.after, got, c.want)
		}
	}
}
