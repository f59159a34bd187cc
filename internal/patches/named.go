package patches

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// copyOf returns the path of a copy that only the tests of an object read. The colon keeps it apart from the
// object's own fields.
func copyOf(name string) field.Path {
	return field.NewPath(name + ":")
}

// namedTests returns the tests of a patch so that the message of a failed build names the object. kustomize prints
// nothing but the path of a test that fails. So the tests read a copy of what they have in common, under a key with
// the object's name, and the copy is removed. The edits never see it.
//
// Tests of the object's own metadata, and of its top-level fields, are made in place.
func (p *Patch) namedTests() []field.Operation {
	tests := slices.DeleteFunc(slices.Clone(p.Operations), func(o field.Operation) bool {
		return o.Op != field.OpTest
	})
	from := commonParent(tests)
	if len(from) == 0 {
		return tests
	}
	copied := copyOf(p.Name)
	for i, t := range tests {
		if !isOfMetadata(t) {
			tests[i].Path = copied.Join(t.Path[len(from):])
		}
	}
	first := field.Operation{Op: field.OpCopy, From: from, Path: copied}
	last := field.Operation{Op: field.OpRemove, Path: copied}
	return append(slices.Insert(tests, 0, first), last)
}

// commonParent returns the deepest mapping above the first list that has all that the tests read, apart from the
// object's metadata; nil if that is the object itself.
func commonParent(tests []field.Operation) (parent field.Path) {
	isFirst := true
	for _, t := range tests {
		if isOfMetadata(t) {
			continue
		}
		above := t.Path
		if i := slices.IndexFunc(above, func(s field.Step) bool { return s.IsIndex }); i >= 0 {
			above = above[:i]
		}
		above = above[:len(above)-1]
		if isFirst {
			parent, isFirst = above, false
		}
		parent = parent[:min(len(parent), len(above))]
		for !slices.Equal(parent, above[:len(parent)]) {
			parent = parent[:len(parent)-1]
		}
	}
	return parent
}

func isOfMetadata(test field.Operation) bool {
	return test.Path[0].Key == "metadata"
}
