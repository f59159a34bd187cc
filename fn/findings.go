package fn

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A Severity is that of a [Finding].
type Severity = transformer.Severity

// The severities.
const (
	Error   = transformer.Error
	Warning = transformer.Warning
	Info    = transformer.Info
)

// A Finding is one message about an object.
type Finding struct {
	Severity Severity
	// Reason is a key of docs/reasons.md, which has its cause and its cure.
	Reason string
	// Message is one line that names the field and what is allowed.
	Message string
	// APIVersion, Kind, Namespace and Name are those of the object.
	APIVersion, Kind, Namespace, Name string
	// Field is the path from the object's root, such as
	// spec.template.spec.containers[0].livenessProbe; "" if no field is at
	// fault.
	Field string
}

// String returns the finding in one line, with the object and the reason.
func (f Finding) String() string {
	m := report.Message{
		Severity: f.Severity, Reason: f.Reason, Text: f.Message, Field: f.Field,
		Object: &report.Object{APIVersion: f.APIVersion, Kind: f.Kind, Namespace: f.Namespace, Name: f.Name},
	}
	return m.String()
}

// A State says what becomes of a probe.
type State = transformer.State

// The states. [Mutate] has done what a state says would be done.
const (
	Rewritten    = transformer.Rewritten
	WouldRewrite = transformer.WouldRewrite
	WouldRestore = transformer.WouldRestore
	LeftAlone    = transformer.LeftAlone
	Refused      = transformer.Refused
)

// An Outcome says what a probe, as it was given, does under strict mTLS.
type Outcome = transformer.Outcome

// The outcomes.
const (
	Fails         = transformer.Fails
	FalselyPasses = transformer.FalselyPasses
	Unaffected    = transformer.Unaffected
)

// A Probe is one probe or hook of a pod template, and what becomes of it.
type Probe struct {
	Container string
	Init      bool   // the container is one of the init containers
	Field     string // its path, ending in its name, such as livenessProbe
	// Before is the original in a few words, and After where it goes if it is
	// rewritten; of a probe that is restored, the rewritten one and the
	// original.
	Before, After string
	State         State
	Reason        string // a key of docs/reasons.md; "" if it is rewritten
	StrictTLS     Outcome
	Why           string // what the mesh does to it, if it is not unaffected
}

// A Report says what was found in a pod template.
type Report struct {
	Findings []Finding
	Probes   []Probe
	// Changed is set if the template was changed, or by [Explain], if it would
	// be.
	Changed bool
	// Companion must be in the cluster too if an Envoy answers (mesh osm); nil
	// otherwise.
	Companion *corev1.ConfigMap
}

// A FindingsError is the error of a run with findings of the severity [Error],
// or in a strict run with warnings.
type FindingsError struct {
	Findings []Finding // all of them
}

// Error returns the findings that are errors, or else the warnings.
func (e *FindingsError) Error() string {
	for _, severity := range []Severity{Error, Warning} {
		var lines []string
		for _, f := range e.Findings {
			if f.Severity == severity {
				lines = append(lines, strings.TrimPrefix(f.String(), string(severity)+": "))
			}
		}
		if len(lines) > 0 {
			return strings.Join(lines, "; ")
		}
	}
	return "failed"
}

func findingsOf(r *report.Report) []Finding {
	found := make([]Finding, len(r.Messages))
	for i, m := range r.Messages {
		found[i] = Finding{Severity: m.Severity, Reason: m.Reason, Message: m.Text, Field: m.Field}
		if o := m.Object; o != nil {
			found[i].APIVersion, found[i].Kind, found[i].Namespace, found[i].Name = o.APIVersion, o.Kind, o.Namespace, o.Name
		}
	}
	return found
}
