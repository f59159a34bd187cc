package transformer

import (
	"cmp"

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
	return answering{knowledge: k, choice: c, byMesh: byMesh, off: k.optOut(k.own, byMesh)}
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
