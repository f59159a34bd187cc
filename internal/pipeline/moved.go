package pipeline

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

// followEdits lets messages about an object name their fields as they are after
// the edits. The results of a ResourceList name fields of the items beside them,
// and a second run must produce the same results.
func followEdits(messages []report.Message, edits []field.Edit) {
	if !slices.ContainsFunc(edits, moves) {
		return
	}
	for i := range messages {
		m := &messages[i]
		if moved := movedField(m.Field, edits); !slices.Equal(moved, m.Field) {
			m.Field = moved
		}
	}
}

// moves reports whether an edit inserts or deletes an item of a list.
func moves(e field.Edit) bool {
	n := len(e.Path)
	return n > 0 &&
		e.Path[n-1].IsIndex &&
		(e.Op == field.Insert || e.Op == field.Delete)
}

// movedField returns the path of a field after the edits, which insert items of lists
// and delete others.
func movedField(path field.Path, edits []field.Edit) field.Path {
	moved := slices.Clone(path)
	for _, e := range edits {
		n := len(e.Path) - 1
		if !moves(e) ||
			n >= len(path) ||
			!path.HasPrefix(e.Path[:n]) {
			continue
		}
		switch at := e.Path[n].Index; {
		case e.Op == field.Insert && path[n].Index >= at:
			moved[n].Index++
		case e.Op == field.Delete && path[n].Index > at:
			moved[n].Index--
		}
	}
	return moved
}
