package report

import (
	"fmt"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// Line returns in one line what explain shows of the pod templates of an object that its plans
// change: each probe with where it goes, and who answers.
func Line(templates []PlannedTemplate) string {
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

// who says who answers the rewritten probes, where, and why it does.
func (t *PlannedTemplate) who() string {
	a := t.Answer
	s := a.By + " answers"
	if a.Port != 0 {
		s += fmt.Sprintf(" on port %d", a.Port)
	}
	if a.Mesh != "" {
		s += " in " + a.Mesh
	}
	if a.Because != "" {
		s += ": " + a.Because
	}
	return s
}

// answers says who answers the rewritten probes, and what is added for it; "" if none is rewritten.
func (t *PlannedTemplate) answers() string {
	a := t.Answer
	if a.By == "" {
		return ""
	}
	s := t.who()
	var adds []string
	if a.AddsContainer != "" {
		adds = append(adds, "container "+a.AddsContainer)
	}
	for _, p := range a.AddsAnnotations {
		adds = append(adds, "annotation "+p.Key)
	}
	if len(adds) > 0 {
		s += "; added: " + field.Enumerate(adds, "and")
	}
	if a.AppWouldDo {
		s += "; " + appWouldDo
	}
	return s
}
