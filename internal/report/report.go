package report

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A Report is what a run found.
type Report struct {
	Messages  []Message
	Templates []Template // the pod templates in order, as far as Add kept them
	Changed   int        // objects that were changed, or would be
	Strict    bool       // whether warnings make the run fail
	Config    string     // which functionConfig the run has; "" if none

	Unreadable bool // whether a file could not be read as manifests
	Patches    int  // kustomize patches that concern probes and were passed over

	tallies map[string]*tally // by source
}

// A tally counts what was found in one source.
type tally struct {
	templates, groups, changed int
	probes                     map[counted]int
	withheld                   bool // the changes are not written
}

// counted is what a tally counts together.
type counted struct {
	state  transformer.State
	isHook bool
}

// subjects words how many pod templates there are, and how many groups of virtual
// machines if there are any.
func (t *tally) subjects() string {
	if t.groups == 0 {
		return Plural(t.templates, "pod template")
	}
	s := Plural(t.groups, "WorkloadGroup")
	if t.templates > 0 {
		s = Plural(t.templates, "pod template") + ", " + s
	}
	return s
}

func (r *Report) tally(source string) *tally {
	t := r.tallies[source]
	if t == nil {
		if r.tallies == nil {
			r.tallies = make(map[string]*tally)
		}
		t = &tally{probes: make(map[counted]int)}
		r.tallies[source] = t
	}
	return t
}

// Add counts a pod template of a source, and keeps it if the report is to
// show it.
func (r *Report) Add(source string, t Template, keep bool) {
	n := r.tally(source)
	if t.Machines {
		n.groups++
	} else {
		n.templates++
	}
	for i := range t.Probes {
		n.probes[counted{t.Probes[i].State, t.Probes[i].ProbeType.IsHook()}]++
	}
	if keep {
		r.Templates = append(r.Templates, t)
	}
}

// Subjects returns how many pod templates and groups of virtual machines there are.
func (r *Report) Subjects() int {
	sum, _ := r.total()
	return sum.templates + sum.groups
}

// AddChange counts an object of a source that is changed.
func (r *Report) AddChange(source string) {
	r.Changed++
	r.tally(source).changed++
}

// Withhold notes that the changes to a source are not written.
func (r *Report) Withhold(source string) { r.tally(source).withheld = true }

// A Template is one pod template with the plan for it.
type Template struct {
	Object *Object
	Path   field.Path
	transformer.Plan
	Lines    []int // of the probes in the file; nil if unknown
	Machines bool  // it is a group of virtual machines, not a pod template
}

// Line returns the line of a probe in the file; 0 if unknown.
func (t *Template) Line(probe int) int {
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
		if !r.fails(m) {
			continue
		}
		source := ""
		if m.Object != nil {
			source = m.Object.Source
		}
		failed[source] = true
	}
	return failed
}

// Results returns all messages as results of a ResourceList. A large list has
// many infos, which nothing else shows if the run is not verbose: they are then
// dropped, each after its result has been taken.
func (r *Report) Results(verbose bool) iter.Seq[field.Map] {
	return func(yield func(field.Map) bool) {
		made := results{reasons: make(map[string]field.Value)}
		var kept []Message
		for i := range r.Messages {
			m := &r.Messages[i]
			if !yield(made.of(m)) {
				return
			}
			if m.Severity == transformer.Info && !verbose {
				*m = Message{Severity: transformer.Info}
			} else {
				kept = append(kept, *m)
			}
		}
		r.Messages = kept
	}
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
	sum, kept := r.total()
	change, wouldBe := " would change", "would be "
	if written {
		change, wouldBe = " changed", ""
	}
	s := sum.subjects() + ", " + Plural(sum.changed, "object") + change
	if kept > 0 {
		s += ", " + strconv.Itoa(kept) + " not written"
	}
	for _, in := range summaryStates {
		probes, hooks := sum.probes[counted{in.state, false}], sum.probes[counted{in.state, true}]
		if probes+hooks == 0 {
			continue
		}
		s += "; " + countOf(probes, hooks) + " "
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

// total returns the sum of all sources, without changes that are withheld, and how many
// objects have these.
func (r *Report) total() (sum tally, withheld int) {
	sum.probes = make(map[counted]int)
	for _, t := range r.tallies {
		sum.templates += t.templates
		sum.groups += t.groups
		if t.withheld {
			withheld += t.changed
		} else {
			sum.changed += t.changed
		}
		for what, n := range t.probes {
			if !t.withheld || what.state != transformer.WouldRewrite && what.state != transformer.WouldRestore {
				sum.probes[what] += n
			}
		}
	}
	return sum, withheld
}

// CheckSummary returns one line about what check found.
func (r *Report) CheckSummary() string {
	sum, _ := r.total()
	probes, hooks := 0, 0
	for _, t := range r.tallies {
		for what, n := range t.probes {
			if what.isHook {
				hooks += n
			} else {
				probes += n
			}
		}
	}
	found := cmp.Or(r.problems(), "0 errors, 0 warnings")
	s := fmt.Sprintf("%s, %s, %s; %s", sum.subjects(), Plural(probes, "probe"), Plural(hooks, "hook"), found)
	switch r.Patches {
	case 0:
		return s
	case 1:
		return s + "; 1 patch was not checked: check what kustomize builds"
	}
	return s + fmt.Sprintf("; %d patches were not checked: check what kustomize builds", r.Patches)
}

// problems words how many errors and warnings there are; "" if there are none.
func (r *Report) problems() string {
	e, w := Count(r.Messages, transformer.Error), Count(r.Messages, transformer.Warning)
	if e+w == 0 {
		return ""
	}
	s := Plural(e, "error") + ", " + Plural(w, "warning")
	if r.Strict && w > 0 {
		s += " (strict: warnings fail too)"
	}
	return s
}

func countOf(probes, hooks int) string {
	var parts []string
	if probes > 0 {
		parts = append(parts, Plural(probes, "probe"))
	}
	if hooks > 0 {
		parts = append(parts, Plural(hooks, "hook"))
	}
	return strings.Join(parts, " and ")
}
