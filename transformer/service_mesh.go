package transformer

import (
	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// A serviceMesh is a mesh's profile. Only the files of meshes know a mesh's ports, uids,
// labels and annotations; the options for Istio and [PolicyFacts] are the exception.
type serviceMesh struct {
	meshData
	meshProfile
	findOriginal originalFinder // nil if there is no such form
	injected     []string       // the annotations of which findOriginal needs one
	// serves reports whether the mesh's own rewriter serves a captured probe as it was read; nil if
	// there is none, or worlds say it.
	serves func(*site) bool
}

// A meshProfile says who is in a mesh, what the mesh captures, and which annotations
// make it leave rewritten probes alone.
type meshProfile interface {
	// membership returns what the template and its Namespace say of the mesh's
	// injection.
	membership(v *view) membership
	// inspect reads the mesh's labels and annotations.
	inspect(v *view) inspection
	// answer chooses who answers.
	answer(v *view, m *inspection) choice
	// undo returns the annotations without what a demand added for past answerers. If
	// recorded has the user's value of an annotation, that comes back.
	undo(annotations field.Noted, past []answerer, recorded field.KeyValues) field.Noted
	// demand returns what the mesh must be told so that an answerer gets the rewritten probes.
	demand(user field.Noted, now answerer) demand
}

// A membership says whether a pod is in a mesh, and where that is said.
type membership struct {
	injected certain.Certainty
	at       string // the label, annotation, container or option, for messages; "" if there is none
	byName   bool   // at is a container
	presumed bool   // something that is not among the manifests may revoke it
	// off is the finding about a switch that is off; nil if there is none.
	off *Finding
	// unclear is a warning about a value that switches nothing; nil if there is none.
	unclear *Finding
}

// An inspection is what a mesh found out about one template.
type inspection struct {
	kubelet string // what must hold for the mesh to capture what comes from the kubelet; "" if it does
	// optOut is the reason to leave the whole template alone; nil if there is none.
	optOut *Finding
	// facts are what is known of the mesh's proxy in the pod.
	facts world.Facts
	// learned are these facts with what objects of an installation state. They decide verdicts alone.
	learned world.Facts
	// rewrittenElsewhere is that of a [Verdict].
	rewrittenElsewhere string
	version            string // of Istio, as far as it is known for judging
	// filter is that of a [Verdict].
	filter string
	// inherited has annotations that the rewritten pod needs unless it has its own. An annotation
	// of ours replaces that of the Namespace and the mesh's default, so their values are repeated
	// in it. Where the mesh would listen on a port of the app, an annotation moves the mesh.
	inherited field.KeyValues
	// collisions are containers of ours in the template, as it was read, that
	// cannot run next to the mesh's proxy.
	collisions []Finding
	// captures reports whether the mesh captures connections to a port.
	captures func(port int) bool
	// conflicts are the reasons why nothing can be rewritten. They and the warnings
	// are reported only if there is something to rewrite.
	conflicts []Finding
	warnings  []Finding
	// outcome returns what becomes of a probe as it was read, and, if that is not so in
	// every world, the fact that decides.
	outcome outcomeOf
	// known returns what the mesh's installation states, with its sources; nil of Istio, whose facts have it.
	known func() []string
	// findings are about the labels and annotations themselves.
	findings []Finding
}

// A choice says who is to answer the rewritten probes of a template, and what is against that.
type choice struct {
	answerer
	// because explains why istio-proxy does not answer although it is there. "" if the options decided.
	because string
	// unsure is the reason to leave the template alone since the answerer may not be there; nil if it is.
	unsure *Finding
	// against are the reasons why nothing can be rewritten, besides those of the [inspection].
	against []Finding
}

// byOptions is the choice in a mesh whose own proxy answers nothing.
func (v *view) byOptions() choice {
	if who := v.opts.AnsweredBy; who == AnsweredByApp || who == AnsweredByEnvoy {
		return choice{answerer: answerer{who: who}} // on no port of its own
	}
	return choice{answerer: answerer{AnsweredByProbeProxy, v.answerPort()}}
}

// A demand is what annotations must tell a mesh so that an answerer gets the rewritten probes.
type demand struct {
	off     bool // the mesh's own rewriter, if it has one, must be off
	exclude int  // the port that the mesh must not capture; 0 if there is none
}

// annotate returns the user's annotations with those of a demand. have holds the present annotations, including ours.
func (m *meshData) annotate(user, have field.Noted, d demand) field.Noted {
	if d.off {
		user = m.off.with(user, have)
	}
	if d.exclude != 0 {
		user = m.excluded.with(user, d.exclude)
	}
	return user
}

// An outcomeOf returns what becomes of a probe as it was read, and the facts that decide; "" if it
// is so in every world.
type outcomeOf func(s *site) (f world.Fate, unless string)

func (m *inspection) report(f Finding) {
	m.findings = append(m.findings, f)
}
