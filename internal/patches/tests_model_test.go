package patches_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/patches"
)

// drawnValue returns a value of some depth: of mappings, lists of items with and without names, and scalars.
func drawnValue(rnd *rand.Rand, depth int) field.Value {
	kind := rnd.IntN(6)
	if depth == 0 && kind < 3 {
		kind += 3
	}
	switch kind {
	case 0, 1:
		var m field.Map
		for _, key := range []string{"a", "b", "c/d"} {
			if rnd.IntN(3) > 0 {
				m = append(m, field.Entry{Key: key, Value: drawnValue(rnd, depth-1)})
			}
		}
		return m
	case 2:
		return drawnList(rnd)
	case 3:
		return rnd.IntN(2)
	case 4:
		return []string{"x", "y"}[rnd.IntN(2)]
	}
	return rnd.IntN(2) == 0
}

func drawnList(rnd *rand.Rand) field.List {
	list := field.List{}
	for range rnd.IntN(4) {
		item := field.Map{{Key: "v", Value: rnd.IntN(2)}}
		name := []string{"p", "q", "r", "", "no"}[rnd.IntN(5)]
		has := func(v field.Value) bool { return field.As[string](v.(field.Map), "name") == name }
		if name != "no" && (name == "" || !slices.ContainsFunc(list, has)) { // the API server lets no name be there twice
			item = append(item, field.Entry{Key: "name", Value: name})
		}
		list = append(list, item)
	}
	return list
}

// read returns what a reading has read of an object, in words: each field or that there is none, and the names of each list, or all of a
// list of which an item has none.
func readBy(r patches.Reading, object field.Value) string {
	words := ""
	for _, path := range r.Fields {
		v, steps := field.At(object, path)
		words += fmt.Sprintf("%s: %t %s; ", path, steps == len(path), field.AppendJSON(nil, v))
	}
	for _, path := range r.Names {
		v, _ := field.At(object, path)
		list, isList := v.(field.List)
		var names []string
		for _, item := range list {
			m, _ := item.(field.Map)
			names = append(names, field.As[string](m, "name"))
		}
		words += fmt.Sprintf("%s: ", path)
		if !isList || len(list) == 0 || slices.Contains(names, "") {
			words += string(field.AppendJSON(nil, v)) + "; "
			continue
		}
		words += fmt.Sprintf("%q; ", names)
	}
	return words
}

// A reviewer believes that a build with patches fails if what the plan read has changed. Over random objects, readings and changes: the
// tests hold for the object itself, and for no other of which the reading differs. If nothing that was read is absent, they hold for each
// other of which it does not differ.
func TestTheTestsHoldWhereTheReadingIsTheSame(t *testing.T) {
	rnd := rand.New(rand.NewPCG(61, 91))
	seen := map[string]int{}
	for range 30_000 {
		var object, other field.Map
		for _, key := range []string{"a", "b", "list"} {
			draw := func() field.Value {
				if key == "list" {
					return drawnList(rnd)
				}
				return drawnValue(rnd, 2)
			}
			v := draw()
			object = append(object, field.Entry{Key: key, Value: v})
			if rnd.IntN(3) == 0 {
				v = draw()
			}
			other = append(other, field.Entry{Key: key, Value: v})
		}
		var r patches.Reading
		allThere := true
		for range rnd.IntN(3) {
			path := field.NewPath([]string{"a", "b", "list"}[rnd.IntN(3)])
			for range rnd.IntN(3) {
				v, steps := field.At(object, path)
				if _, isMapping := v.(field.Map); steps == len(path) && !isMapping {
					break // the API server lets nothing be below it
				}
				path = path.Key([]string{"a", "b", "c/d"}[rnd.IntN(3)])
			}
			if _, steps := field.At(object, path); steps < len(path) {
				allThere = false
			}
			r.Fields = append(r.Fields, path)
		}
		if rnd.IntN(2) == 0 {
			r.Names = append(r.Names, field.NewPath("list"))
		}
		tests := patches.Merged(r.Tests(object))
		if !applies(tests, object) {
			t.Fatalf("the tests fail on the object itself\n%v\n%v", object, tests)
		}
		isSame, holds := readBy(r, object) == readBy(r, other), applies(tests, other)
		if holds && !isSame || !holds && isSame && allThere {
			t.Fatalf("the tests hold: %t, of\n%v\nnow\n%v\nread\n%s\nnow\n%s\n%v", holds, object, other, readBy(r, object), readBy(r, other), tests)
		}
		seen[fmt.Sprint(isSame, holds)]++
	}
	if seen["true true"] < 1000 || seen["false false"] < 1000 {
		t.Errorf("%v", seen)
	}
}
