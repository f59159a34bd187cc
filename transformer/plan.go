package transformer

import (
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// An Input is one pod template and what is known of its surroundings.
type Input struct {
	Kind, APIVersion string
	// Workload is the object's own metadata; a Pod's is its template's.
	Workload field.Metadata
	// NamespaceName is the namespace the object goes to, "" if unknown.
	NamespaceName string
	Around        surroundings.Surroundings // what other manifests say about the object
	// Path leads from the object's root to the template; empty for a Pod.
	Path     field.Path
	Template pod.Template
	// Metadata is the path of the pods' metadata if the template is a pod's spec; nil if
	// that is not known.
	Metadata field.Path
	// Shape says how the template differs from a Pod.
	Shape pod.Shape
	// JobLike is set if the pod must finish for the object to be done.
	JobLike bool
	// OnlyEdits is set if nobody asks what becomes of the probes as they were read, or what
	// else could be done about them: the plan then does not say it.
	OnlyEdits bool
	// Unrecorded is set if nobody will restore the object from what is written: the plan then
	// writes no [OriginalsAnnotation], and keeps one that is there.
	Unrecorded bool
	Source     Source // the object as it was read
	// Notes get what the plan was made from, for [Planner.Reads]; nil notes nothing.
	Notes *Notes
	// Texts are the texts that the plan's own edits replace, as far as undoing them would
	// give others: see [WithTexts].
	Texts []field.WrittenText
}

// WithTexts returns the plan that keeps for restore the texts that its own edits replace,
// which textsOf returns. What is kept may need an annotation, whose edits replace a text too.
func WithTexts(plan func([]field.WrittenText) Plan, textsOf func([]field.Edit) []field.WrittenText) Plan {
	p := plan(nil)
	for kept := 0; ; {
		texts := textsOf(p.Edits)
		if len(texts) <= kept {
			return p
		}
		p = plan(texts)
		kept = len(texts)
	}
}

// A Source returns the value of any field of the object as it was read, also of one
// that [PodTemplate] lacks, and reports whether the field is there.
type Source func(path field.Path) (v field.Value, found bool)

// MetadataPath returns the path of the metadata from which the pods get their
// labels and annotations; nil if that is not known.
func (in *Input) MetadataPath() field.Path {
	switch {
	case in.Shape.WorkloadMetadata:
		return field.NewPath("metadata")
	case in.Shape.BareSpec:
		return in.Metadata
	}
	return in.Path.Key("metadata")
}

// SpecPath returns the path of the pod spec.
func (in *Input) SpecPath() field.Path {
	if in.Shape.BareSpec {
		return in.Path
	}
	return in.Path.Key("spec")
}

// A Plan says what to change in one object. If a finding is an error, there are
// no edits. The plans of equal inputs are equal.
type Plan struct {
	Edits    []field.Edit
	Findings []Finding
	Probes   []Verdict // of every probe and hook of the template, in its order
	Answer   Answer
	// Known says in one line what is known of the mesh around the pod, and from where;
	// "" for a WorkloadGroup, and where there is no probe.
	Known string
	// WasRewritten is set if an earlier run has rewritten the template.
	WasRewritten bool
	// Repairs are the mistakes in the template as it was read that the edits repair.
	Repairs []Finding
}

// An Answer says who answers the rewritten probes of a template.
type Answer struct {
	By         string // one of the AnsweredBy constants but auto; "" if no probe is rewritten
	Mesh       string // the name of the mesh that the pod is in, such as "Linkerd"; "" if it is not known
	Port       int    // where they go; 0 if the app answers
	AppWouldDo bool   // the app itself could answer, on ports that no Service among the manifests leads to
	Because    string // why By is not Istio's sidecar although the pod has it; "" if the options say so
	Injected   bool   // the pod has Istio's sidecar, or will have it
	// AddsContainer names the container that the plan adds, "" for none, and
	// AddsAnnotations the annotations that it sets on the pods.
	AddsContainer   string
	AddsAnnotations field.KeyValues
}

// Severity of a [Finding].
type Severity = reason.Severity

// The severities.
const (
	Error   = reason.Error
	Warning = reason.Warning
	Info    = reason.Info
)

// A Finding is one message about the object.
type Finding struct {
	Severity Severity
	Reason   reason.Key
	// Text says what, why and what to do. The report adds the object and words for the field.
	Text reason.Text
	// Field is the path from the object's root, nil if no field is at fault.
	Field field.Path
	// Current and Proposed are the field's value and a better one; nil if unknown.
	Current, Proposed field.Value
	// Container is the name of the container at fault, "" if it is the pod.
	Container string
}

// A State is what becomes of a probe.
type State string

// The states.
const (
	Rewritten    State = "rewritten"     // it is already as it must be
	WouldRewrite State = "would rewrite" // the plan rewrites it, or changes how it is rewritten
	WouldRestore State = "would restore" // the plan restores the original
	LeftAlone    State = "left alone"
	Refused      State = "refused" // an error keeps the object as it is
)

// A Verdict says what becomes of one probe or hook, and why.
type Verdict struct {
	Container string
	Init      bool // under initContainers
	ProbeType prober.ProbeType
	Field     field.Path // of the probe: spec.template.spec.containers[0].livenessProbe
	// Before and After are a few words for people. Before is the original, such as
	// "httpGet https :8443/healthz", and After is where the rewritten probe goes, such
	// as ":15020/app-health/web/livez"; "" if the probe is left alone or refused. If
	// the probe is restored, Before is the rewritten probe and After the original.
	Before, After string
	State         State
	// Absent is set if nothing is probed today: the plan adds the probe of another object.
	Absent bool
	// Reason is why it is left alone or refused; zero if the probe is rewritten, or
	// restored by [Planner.Restore].
	Reason    reason.Key
	StrictTLS world.Outcome
	// Why says what the mesh does to the probe, in words that complete "fails, since ...";
	// "" if it is unaffected.
	Why string
	// Works says why a probe works today that is rewritten all the same; "" if that is not known.
	Works string
	// NeverWorks says why it fails with and without a mesh, as it is written; "" if it does not.
	NeverWorks string
	// MayBeServed is set if the probe is left alone, and the mesh's own rewriter may serve it.
	MayBeServed bool
	// If is set if StrictTLS depends on something that is not known, in words that
	// complete "fails if ...".
	If string
	// Filter names an object of Istio's that nobody evaluates, and that may have Envoy refuse the probe, if
	// nothing else does; "" if there is none.
	Filter string
	// RewrittenElsewhere names the installation of Istio in another folder that rewrites probes, if that
	// alone decides (If is [world.InjectorAlone]); "" if there is none, or not one.
	RewrittenElsewhere string
	// RewritesDisputed names installations that contradict each other about it; "" if none do.
	RewritesDisputed string
}

// Where completes "fails ...": not everything that fails in the mesh needs strict mTLS for it.
func (v *Verdict) Where() string {
	if v.StrictTLS == world.Fails && strings.HasPrefix(v.Why, whyNoCertificate) {
		return "under strict mTLS"
	}
	return "in the mesh"
}

// Why the kubelet's connection to a proxy that only accepts mTLS does not do its work.
const (
	whyNoCertificate = "the kubelet has no client certificate"
	whyAccepted      = "the mesh proxy accepts the connection"
)
