package transformer

import (
	"cmp"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// An answering is a knowledge, and who is to answer the rewritten probes. The rules about a probe or
// hook get it.
type answering struct {
	*knowledge
	choice
	byMesh *Finding // why the whole template is left alone, as far as meshes say it; nil if they do not
	off    *Finding // why the whole template is left alone, for any reason; nil if it is not
}

// answer decides who is to answer, and whether the template is left alone.
func answer(k *knowledge) answering {
	c := k.mesh.answer(k.view, &k.inspection)
	byMesh := cmp.Or(k.inspection.optOut, c.unsure, k.detected.optOut)
	if k.detected.isInTwo {
		byMesh = k.detected.optOut
	}
	if k.in.Notes != nil {
		k.in.Notes.isOut = k.isOut()
	}
	return answering{knowledge: k, choice: c, byMesh: byMesh, off: k.optOut(k.own, byMesh)}
}

// isOut reports whether metadata, other objects or the options have the whole template left alone. Its ports and nodes then do not
// matter, nor do its probes unless something shows that they were rewritten before. That a mesh redirects nothing may depend on ports.
func (k *knowledge) isOut() bool {
	byMesh := k.inspection.optOut
	isOut := k.own != nil ||
		k.detected.optOut != nil ||
		!k.detected.isInTwo && byMesh != nil && byMesh.Reason != reason.InterceptionNone
	return isOut && !slices.ContainsFunc(serviceMeshes, k.isInjectedBy)
}

// isInjectedBy reports whether the pods have an annotation by which the mesh's findOriginal may know a probe.
func (k *knowledge) isInjectedBy(d *serviceMesh) bool {
	found := false
	for _, key := range d.injected { // each is asked, so that patches test all
		_, is := k.annotations().Lookup(key)
		found = found || is
	}
	return found
}

// answersItself reports whether the app itself is to answer: the probes stay as they
// are, and the mesh is told not to capture their ports.
func (a *answering) answersItself() bool { return a.isAnsweredBy(AnsweredByApp) }

// isAnsweredBy reports whether somebody is to answer rewritten probes: one of the AnsweredBy
// constants but auto.
func (a *answering) isAnsweredBy(who string) bool {
	return a.who == who
}

// answeredByUs reports whether a probe-proxy is to make rewritten probes.
func (a *answering) answeredByUs() bool { return a.isAnsweredBy(AnsweredByProbeProxy) }

// passesProbes reports whether the mesh lets the kubelet's probes through to the pod. One that
// redirects nothing may rewrite probes all the same, which its worlds tell.
func (a *answering) passesProbes() bool {
	off := a.byMesh
	return off != nil &&
		off.Reason.Doc().LetThrough &&
		off.Reason != reason.InterceptionNone
}

// demand returns what the mesh must be told.
func (a *answering) demand() demand { return a.mesh.demand(a.userAnnotations, a.answerer) }
