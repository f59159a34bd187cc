package report

import (
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// Line returns in one line what explain shows of the pod templates of an object that its plans
// change: each probe with where it goes, and who answers.
func Line(templates []Template) string {
	var parts []string
	for i := range templates {
		t := &templates[i]
		for _, p := range t.Probes {
			if p.State == transformer.WouldRewrite || p.State == transformer.WouldRestore {
				parts = append(parts, p.Container+" "+p.ProbeType.Name()+" "+p.Before+" -> "+p.After)
			}
		}
		if a := t.answers(); a != "" {
			parts = append(parts, a)
		}
	}
	return field.Printable(strings.Join(parts, "; "))
}
