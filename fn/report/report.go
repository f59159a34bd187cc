package report

import (
	"fmt"

	"github.com/rewrite-probes/rewrite-probes/field"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A Report is what a run found.
type Report struct {
	Messages  []Message
	Templates []Template // every pod template that was looked at, in order
	Changed   int        // objects that were changed, or would be
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
func (r *Report) Results() []field.Map {
	all := make([]field.Map, len(r.Messages))
	for i, m := range r.Messages {
		all[i] = m.Result()
	}
	return all
}

// Summary says in one line what became of the probes: "2 objects with pod
// templates, 1 changed: 3 probes and 1 hook rewritten; 1 left alone; 0 errors, 1 warning".
func (r *Report) Summary() string {
	probes, hooks := map[transformer.State]int{}, map[transformer.State]int{}
	for _, t := range r.Templates {
		for _, p := range t.Probes {
			if p.Slot.IsHook() {
				hooks[p.State]++
			} else {
				probes[p.State]++
			}
		}
	}
	s := plural(len(r.Templates), "pod template") + ", " + plural(r.Changed, "object") + " changed"
	for _, part := range []struct {
		state transformer.State
		verb  string
	}{
		{transformer.WouldRewrite, "rewritten"}, {transformer.WouldRestore, "restored"},
		{transformer.Rewritten, "rewritten before"}, {transformer.LeftAlone, "left alone"}, {transformer.Refused, "refused"},
	} {
		if n, h := probes[part.state], hooks[part.state]; n+h > 0 {
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
	for _, t := range r.Templates {
		for _, p := range t.Probes {
			if p.Slot.IsHook() {
				hooks++
			} else {
				probes++
			}
		}
	}
	e, w := Count(r.Messages, transformer.Error), Count(r.Messages, transformer.Warning)
	return fmt.Sprintf("%s, %s, %s; %s, %s", plural(len(r.Templates), "pod template"),
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
