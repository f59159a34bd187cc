package transformer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// maxEdited is how many fields a message names.
const maxEdited = 3

// editedProxy returns a finding if a probe-proxy differs from what the plan writes, as it does if a patch
// by index that was meant for another container comes later. Another image may be a mirror's. The originals
// have findings of their own, and a functionConfig with another port changes the probes too.
func (w *draft) editedProxy() []Finding {
	h := w.existingProbeProxy(w.opts)
	isMoved := func(edits []field.Edit) bool { return len(edits) > 0 }
	if w.in.OnlyEdits || h == nil || w.isLive() || slices.ContainsFunc(w.rewrittenChanges(), isMoved) {
		return nil
	}
	var fields []string
	at := h.path
	for _, e := range w.proxyEdits {
		if e.Path[len(h.path)].Key == "image" || w.isOriginals(h, e.Path) {
			continue
		}
		if fields == nil {
			at = e.Path
		}
		fields = append(fields, e.Path[len(h.path):].String())
	}
	if len(fields) == 0 {
		return nil
	}
	if n := len(fields); n > maxEdited {
		fields = append(fields[:maxEdited], fmt.Sprintf("%d more", n-maxEdited))
	}
	return []Finding{containerFinding(reason.ProbeProxyEdited, at, h.container.Name,
		"it differs from what rewrite-probes writes: `%s`", strings.Join(fields, "`, `"))}
}

// rewrittenChanges returns the edits of each probe and hook that was rewritten before.
func (w *draft) rewrittenChanges() (all [][]field.Edit) {
	for i, s := range w.rulings {
		if s.alreadyRewritten {
			all = append(all, w.changes[i])
		}
	}
	return all
}

// isOriginals reports whether a path leads to the env var with the originals, or is of the whole list.
func (w *draft) isOriginals(h *holder, path field.Path) bool {
	rest := path[len(h.path):]
	if rest[0].Key != "env" || len(rest) < 2 {
		return false
	}
	return slices.Contains(h.container.EnvVars(prober.EnvName), int(rest[1].Index))
}

// isLive reports whether the template is of a pod that was read from a cluster, where admission adds fields
// to its containers.
func (w *draft) isLive() bool {
	_, has := w.in.Source(field.NewPath("metadata", "uid"))
	return has && w.in.Kind == "Pod"
}
