// Package found makes the findings of a run, for every entry point.
package found

import (
	"github.com/rewrite-probes/rewrite-probes/fn/findings"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

// In returns the findings in a report, errors first.
func In(r *report.Report) []findings.Finding {
	found := make([]findings.Finding, len(r.Messages))
	for i := range r.Messages {
		m := &r.Messages[i]
		found[i] = findings.Finding{
			Severity: m.Severity, Reason: m.Reason.String(),
			Message: m.What(), Why: m.Text.Why, Fix: m.Text.Fix,
			Field: m.Field.String(), Subject: report.Subject(m.Field, m.Container),
		}
		if o := m.Object; o != nil {
			found[i].APIVersion, found[i].Kind, found[i].Namespace, found[i].Name = o.APIVersion, o.Kind, o.Namespace, o.Name
		}
	}
	return found
}
