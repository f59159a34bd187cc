// Package findings has the messages that rewrite-probes has for Go programs, whichever library
// they use.
package findings

import (
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/reason"
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
	// Reason is a key of docs/reasons.md, which has its cause and its fix.
	Reason string
	// Message says what happens, Why its cause, if that is not clear, and Fix what to do, if
	// there is anything to do.
	Message, Why, Fix string
	// APIVersion, Kind, Namespace and Name are those of the object.
	APIVersion, Kind, Namespace, Name string
	// Field is the path from the object's root, such as
	// spec.template.spec.containers[0].livenessProbe; "" if no field is at
	// fault.
	Field string
	// Subject has words for the field, such as "readiness probe of web"; "" if none are needed.
	Subject string
}

// String returns the finding in one line, with the object and the reason.
func (f Finding) String() string {
	key, _ := reason.Parse(f.Reason)
	what := f.Message
	if f.Subject != "" {
		what = f.Subject + ": " + what
	}
	m := report.Message{
		Severity: f.Severity, Reason: key,
		Text: reason.Text{What: what, Why: f.Why, Fix: f.Fix},
		Object: &report.ObjectRef{
			APIVersion: f.APIVersion,
			Kind:       f.Kind,
			Namespace:  f.Namespace,
			Name:       f.Name,
		},
	}
	return m.String()
}

// Of returns the findings in the report of a run, errors first. It is for the packages of fn, whose
// functions return findings.
func Of(r *report.Report) []Finding {
	found := make([]Finding, len(r.Messages))
	for i := range r.Messages {
		m := &r.Messages[i]
		f := &found[i]
		f.Severity, f.Reason = m.Severity, m.Reason.String()
		f.Message, f.Why, f.Fix = m.What(), m.Text.Why, m.Fix()
		f.Field, f.Subject = m.Field.String(), report.Subject(m.Field, m.Container)
		if o := m.Object; o != nil {
			f.APIVersion, f.Kind = o.APIVersion, o.Kind
			f.Namespace, f.Name = o.Namespace, o.Name
		}
	}
	return found
}

// A RunError is the error of a run with findings of the severity [Error], or in a
// strict run with warnings.
type RunError struct {
	Findings []Finding // all of them
}

// Error returns the findings that are errors, or else the warnings.
func (e *RunError) Error() string {
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
