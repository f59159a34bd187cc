package transformer

import "github.com/rewrite-probes/rewrite-probes/internal/field"

// A draft is the plan of a decision, as its edits are written.
type draft struct {
	*decision
	edits            []field.Edit
	changes          [][]field.Edit  // of each ruling, from what it is to its target
	addedAnnotations field.KeyValues // those that the edits set
	proxyEdits       []field.Edit    // of a probe-proxy that stays where it is
}

func (w *draft) edit(edits ...field.Edit) {
	w.edits = append(w.edits, edits...)
}
