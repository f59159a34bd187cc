package report

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A Report is what a run found.
type Report struct {
	Messages   []Message
	Templates  []PlannedTemplate // the pod templates in order, as far as Add kept them
	Changed    int               // objects that were changed, or would be
	Unselected int               // objects with pods that select and exclude leave out
	Patched    int               // releases of charts that have our patches, so that they need not be rendered here
	Strict     bool              // whether warnings make the run fail
	// AskedCluster is set if a cluster was asked what the input does not say.
	AskedCluster bool
	Unwritten    int    // files, or stdout, that could not be written
	Config       string // which functionConfig the run has; "" if none

	first    *ObjectRef // the first with a pod template; nil if none has one
	counts   map[counted]int
	withheld map[string]bool // the sources whose changes are not written
}

// counted is what is counted together.
type counted struct {
	source string
	noun   string            // pod template, WorkloadGroup, object (that is changed), probe or hook
	state  transformer.State // of probes and hooks
}

func (r *Report) count(what counted) {
	if r.counts == nil {
		r.counts = make(map[counted]int)
	}
	r.counts[what]++
}

// number returns how many there are of a noun, in a state or, if that is "", in any. Changes
// that are withheld do not count.
func (r *Report) number(noun string, state transformer.State) (sum int) {
	isChange := noun == "object" || state == transformer.WouldRewrite || state == transformer.WouldRestore
	for what, n := range r.counts {
		if what.noun == noun &&
			(what.state == state || state == "") &&
			!(isChange && r.withheld[what.source]) {
			sum += n
		}
	}
	return sum
}

// Add counts a pod template of a source, and keeps it if the report is to show it.
func (r *Report) Add(source string, t PlannedTemplate, keep bool) {
	noun := "pod template"
	if t.IsWorkloadGroup {
		noun = "WorkloadGroup"
	}
	r.count(counted{source: source, noun: noun})
	for i := range t.Probes {
		noun = "probe"
		if t.Probes[i].ProbeType.IsHook() {
			noun = "hook"
		}
		r.count(counted{source, noun, t.Probes[i].State})
	}
	r.first = cmp.Or(r.first, t.Object)
	if keep {
		r.Templates = append(r.Templates, t)
	}
}

// Subjects returns how many pod templates and groups of virtual machines there are.
func (r *Report) Subjects() int {
	return r.number("pod template", "") + r.number("WorkloadGroup", "")
}

// AddChange counts an object of a source that is changed.
func (r *Report) AddChange(source string) {
	r.Changed++
	r.count(counted{source: source, noun: "object"})
}

// Withhold notes that the changes to a source are not written.
func (r *Report) Withhold(source string) {
	if r.withheld == nil {
		r.withheld = make(map[string]bool)
	}
	r.withheld[source] = true
}

// A PlannedTemplate is one pod template with the plan for it.
type PlannedTemplate struct {
	Object *ObjectRef
	Path   field.Path
	transformer.Plan
	Lines           []int // of the probes in the file; nil if unknown
	IsWorkloadGroup bool  // it is a group of virtual machines, not a pod template
	// Text returns the text of the object, and what the plan makes of it; nil if it changes nothing.
	Text func() (before, after []byte, err error)
}

// Line returns the line of a probe in the file; 0 if unknown.
func (t *PlannedTemplate) Line(probe int) int {
	if t.Lines == nil {
		return 0
	}
	return t.Lines[probe]
}

// Failed reports whether the run has failed: with an error, or in a strict run
// with a warning.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Messages, r.fails)
}

// fails reports whether a message makes the run fail.
func (r *Report) fails(m Message) bool {
	return m.Severity == transformer.Error || r.Strict && m.Severity == transformer.Warning
}

// FailedSources returns the sources with a message that makes the run fail; ""
// stands for the whole run.
func (r *Report) FailedSources() map[string]bool {
	failed := make(map[string]bool)
	for _, m := range r.Messages {
		if r.fails(m) {
			failed[m.about().Source] = true
		}
	}
	return failed
}

// Results yields all messages as results of a ResourceList.
func (r *Report) Results() iter.Seq[field.Map] {
	return func(yield func(field.Map) bool) {
		made := results{reasons: make(map[reason.Key]field.Value)}
		for i := range r.Messages {
			if !yield(made.of(&r.Messages[i])) {
				return
			}
		}
	}
}

// DropInfos forgets the infos. A large ResourceList has many, which nothing shows but its results.
func (r *Report) DropInfos() {
	var kept []Message
	for _, m := range r.Messages {
		if m.Severity != transformer.Info {
			kept = append(kept, m)
		}
	}
	r.Messages = kept
}

// summaryStates are the states of probes in the order of a summary.
var summaryStates = []struct {
	state  transformer.State
	words  string
	change bool // a run that only looks says "would be"
}{
	{transformer.WouldRewrite, "rewritten", true},
	{transformer.WouldRestore, "restored", true},
	{transformer.Rewritten, "rewritten before", false},
	{transformer.LeftAlone, "left alone", false},
	{transformer.Refused, "refused", false},
}

// Summary returns one line about the probes, such as "2 pod templates, 1
// object changed; 3 probes and 1 hook rewritten; 1 probe left alone; 0 errors,
// 1 warning". written says that all changes were written that are not withheld.
func (r *Report) Summary(written bool) string {
	change := " would change"
	wouldBe := "would be "
	if written {
		change = " changed"
		wouldBe = ""
	}
	changed := r.number("object", "")
	s := r.subjects() + ", " + Plural(changed, "object") + change
	if withheld := r.Changed - changed; withheld > 0 {
		s += ", " + strconv.Itoa(withheld) + " not written" + r.whyWithheld()
	}
	for _, in := range summaryStates {
		var parts []string
		for _, noun := range []string{"probe", "hook"} {
			if n := r.number(noun, in.state); n > 0 {
				parts = append(parts, Plural(n, noun))
			}
		}
		if len(parts) == 0 {
			continue
		}
		s += "; " + strings.Join(parts, " and ") + " "
		if in.change {
			s += wouldBe
		}
		s += in.words
	}
	if found := r.problems(); found != "" {
		s += "; " + found
	}
	return s
}

// whyWithheld words why changes are not written; "" if no message says it.
func (r *Report) whyWithheld() string {
	switch {
	case Count(r.Messages, transformer.Error)+r.Unwritten > 0:
		return " because of the errors"
	case r.Strict && Count(r.Messages, transformer.Warning) > 0:
		return " because of the warnings"
	}
	return ""
}

// subjects words how many pod templates there are, and how many groups of virtual
// machines if there are any.
func (r *Report) subjects() string {
	templates := r.number("pod template", "")
	groups := r.number("WorkloadGroup", "")
	switch {
	case groups == 0:
		return Plural(templates, "pod template")
	case templates == 0:
		return Plural(groups, "WorkloadGroup")
	}
	return Plural(templates, "pod template") + ", " + Plural(groups, "WorkloadGroup")
}

// CheckSummary returns one line about what check found.
func (r *Report) CheckSummary() string {
	found := cmp.Or(r.problems(), "0 errors, 0 warnings")
	probes := Plural(r.number("probe", ""), "probe")
	hooks := Plural(r.number("hook", ""), "hook")
	return fmt.Sprintf("%s, %s, %s; %s", r.subjects(), probes, hooks, found)
}

// problems words how many errors and warnings there are; "" if there are none.
func (r *Report) problems() string {
	e := Count(r.Messages, transformer.Error) + r.Unwritten
	w := Count(r.Messages, transformer.Warning)
	if e+w == 0 {
		return ""
	}
	s := Plural(e, "error") + ", " + Plural(w, "warning")
	if r.Strict && w > 0 {
		s += " (strict: warnings fail too)"
	}
	return s
}
