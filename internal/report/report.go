package report

import (
	"fmt"
	"iter"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A Report is what a run found.
type Report struct {
	Messages  []Message
	Templates []Template // every pod template that was looked at, in order, where they were kept
	Changed   int        // objects that were changed, or would be

	templates     int
	probes, hooks map[transformer.State]int
}

// Add counts a pod template, and keeps it where the report is to show it.
func (r *Report) Add(t Template, keep bool) {
	if r.probes == nil {
		r.probes, r.hooks = make(map[transformer.State]int), make(map[transformer.State]int)
	}
	r.templates++
	for _, p := range t.Probes {
		if p.Slot.IsHook() {
			r.hooks[p.State]++
		} else {
			r.probes[p.State]++
		}
	}
	if keep {
		r.Templates = append(r.Templates, t)
	}
}

// A Template is one pod template with its probes.
type Template struct {
	Object   Object
	Path     field.Path
	Probes   []Probe
	Findings []transformer.Finding
}

// A Probe is one probe with the line where it stands; 0 where unknown.
type Probe struct {
	transformer.Verdict
	Line int
}

// Failed tells whether the run has failed: an error, or with strict a warning.
func (r *Report) Failed(strict bool) bool {
	return Count(r.Messages, transformer.Error) > 0 || strict && Count(r.Messages, transformer.Warning) > 0
}

// Results gives all messages as results of a ResourceList.
func (r *Report) Results() iter.Seq[field.Map] {
	return func(yield func(field.Map) bool) {
		var made results
		for i := range r.Messages {
			if !yield(made.of(&r.Messages[i])) {
				return
			}
		}
	}
}

// Summary says in one line what became of the probes: "2 objects with pod
// templates, 1 changed: 3 probes and 1 hook rewritten; 1 left alone; 0 errors, 1 warning".
func (r *Report) Summary() string {
	s := plural(r.templates, "pod template") + ", " + plural(r.Changed, "object") + " changed"
	for _, part := range []struct {
		state transformer.State
		verb  string
	}{
		{transformer.WouldRewrite, "rewritten"}, {transformer.WouldRestore, "restored"},
		{transformer.Rewritten, "rewritten before"}, {transformer.LeftAlone, "left alone"}, {transformer.Refused, "refused"},
	} {
		if n, h := r.probes[part.state], r.hooks[part.state]; n+h > 0 {
			s += "; " + countOf(n, h) + " " + part.verb
		}
	}
	e, w := Count(r.Messages, transformer.Error), Count(r.Messages, transformer.Warning)
	if e+w > 0 {
		s += fmt.Sprintf("; %s, %s", plural(e, "error"), plural(w, "warning"))
	}
	return s
}

// CheckSummary says in one line what check found.
func (r *Report) CheckSummary() string {
	probes, hooks := 0, 0
	for _, n := range r.probes {
		probes += n
	}
	for _, n := range r.hooks {
		hooks += n
	}
	e, w := Count(r.Messages, transformer.Error), Count(r.Messages, transformer.Warning)
	return fmt.Sprintf("%s, %s, %s; %s, %s", plural(r.templates, "pod template"),
		plural(probes, "probe"), plural(hooks, "hook"), plural(e, "error"), plural(w, "warning"))
}

func countOf(probes, hooks int) string {
	p, h := "", ""
	if probes > 0 {
		p = plural(probes, "probe")
	}
	if hooks > 0 {
		h = plural(hooks, "hook")
	}
	return join(p, h)
}
