package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A class is what a reviewer sorts probes by: what each does today, before anything is rewritten.
type class string

// The classes. A probe is in one.
const (
	failsToday class = "fail" // or passes although nothing listens, or never works
	mayFail    class = "may fail"
	works      class = "work"         // the mesh does not affect it, or it was rewritten before
	leftAlone  class = "not affected" // by the mesh, and not rewritten; or there is no probe yet
)

// classes are all classes, the worst first, each with a sign that is read without colour.
var classes = []struct {
	class
	sign  string
	color string
}{
	{failsToday, "✗", "\x1b[31m"}, // red
	{mayFail, "?", "\x1b[33m"},    // yellow
	{works, "✓", "\x1b[32m"},      // green
	{leftAlone, "–", dim},
}

// rank is the place of a class, the worst first.
func (c class) rank() int {
	for i, row := range classes {
		if row.class == c {
			return i
		}
	}
	return len(classes)
}

func (c class) Sign() string { return classes[c.rank()].sign }

// A row is a probe or hook as people see it: the columns of every table of explain.
type row struct {
	Container, Probe string
	Class            class
	Before           string // the handler
	Today            string // fails, may pass falsely, works
	Why              string // it does so, with what comes before it: ": " or " if "; "" if that is in the list of causes
	Ref              string // " (2)" if Why is the second of several causes
	isListed         bool   // whether Why is in the list
	After            string // who answers where, or why it is not rewritten
	State            transformer.State
}

func rowOf(t *PlannedTemplate, v *transformer.Verdict) row {
	r := row{Container: v.Container, Probe: v.ProbeType.Name(), Before: v.Before, State: v.State}
	r.Class, r.Today, r.Why = today(v)
	kept := v.Reason.Doc().InWords() + " [" + v.Reason.String() + "]"
	switch v.State {
	case transformer.WouldRewrite:
		r.After = "-> " + strings.TrimSpace(t.Answer.By+" "+v.After)
	case transformer.WouldRestore:
		r.After = "-> " + v.After
	case transformer.Rewritten:
		r.After = "=  " + strings.TrimSpace(t.Answer.By+" "+v.After)
	case transformer.Refused:
		r.After = "refused [" + v.Reason.String() + "]"
	default:
		r.After = "not rewritten: " + kept
		switch {
		case v.NeverWorks != "":
			r.After = "not rewritten"
		case r.Class == leftAlone && r.Why == "":
			r.Why, r.After = ": "+kept, ""
		}
	}
	return r
}

// today says what happens to a probe if nothing is rewritten, and why.
func today(v *transformer.Verdict) (c class, does, why string) {
	fails := v.StrictTLS == world.Fails
	switch {
	case v.Absent:
		return leftAlone, "not probed", ": without a probe, Istio counts every machine of the group as healthy"
	case v.NeverWorks != "":
		return failsToday, "never works", ": " + v.NeverWorks
	case v.If != "" && fails:
		return mayFail, "may fail", " if " + v.If
	case v.If != "":
		return mayFail, "may pass falsely", " if " + v.If
	case v.StrictTLS != world.Unaffected:
		does = "passes falsely"
		if fails {
			does = "fails"
		}
		if v.Why != "" {
			why = ": " + v.Why
		}
		return failsToday, does, why
	case v.State == transformer.LeftAlone:
		return leftAlone, "not affected", ""
	case v.Works != "":
		why = ": " + v.Works
	}
	return works, "works", why
}

// A tally is how many probes and hooks are in each class.
type tally map[class]int

func (t tally) Sum() (n int) {
	for _, of := range t {
		n += of
	}
	return n
}

// A workload is a pod template with what explain shows of it.
type workload struct {
	*PlannedTemplate
	Rows  []row
	Notes []string  // what is known around it, as far as no group or section has it
	Found []Message // errors and warnings of its plan
	rank  int       // of the worst of its rows and findings
}

func workloadOf(t *PlannedTemplate, all bool) *workload {
	w := &workload{PlannedTemplate: t, rank: leftAlone.rank(), Notes: t.notes(all)}
	for i := range t.Probes {
		w.Rows = append(w.Rows, rowOf(t, &t.Probes[i]))
		w.rank = min(w.rank, w.Rows[i].Class.rank())
	}
	for _, f := range t.Findings {
		if f.Severity == transformer.Info {
			continue
		}
		w.Found = append(w.Found, messageOf(f))
		w.rank = min(w.rank, f.Severity.Rank()) // an error is as bad as what fails, a warning as what may
	}
	return w
}

// A cause is why several probes of a section do the same.
type cause struct {
	Count int
	Class class
	Today string // of several: fail, not: fails
	Why   string
}

// A group is the workloads of a section that are of one namespace and equally bad.
type group struct {
	Name      string // of the namespace; "" if they name none
	Notes     []string
	Workloads []*workload
	Left      int // how many more it has, which the page leaves out
}

// A section is what needs attention, or the rest.
type section struct {
	Tally  tally
	Causes []cause
	Notes  []string
	Groups []*group
}

// A view is what explain shows: the worst first, what is common said once.
type view struct {
	Verdict   string
	Bad, Rest section
	Bare      []*PlannedTemplate // pod templates without probes
	First     []Message          // errors that are about no pod template
	Then      []Message          // warnings
	Infos     []Message          // infos, those about pod templates too
}

// viewOf sorts what was found for people. With all, it has what is known of the mesh.
func viewOf(r *Report, all bool) *view {
	v := &view{}
	var bad, rest []*workload
	for i := range r.Templates {
		t := &r.Templates[i]
		w := workloadOf(t, all)
		switch {
		case w.rank <= mayFail.rank():
			bad = append(bad, w)
		case len(w.Rows) > 0:
			rest = append(rest, w)
		default:
			v.Bare = append(v.Bare, t)
		}
	}
	v.Bad, v.Rest = sectionOf(bad, failsToday, mayFail), sectionOf(rest, works, leftAlone)
	for _, m := range r.Messages {
		switch {
		case m.Severity == transformer.Info:
			v.Infos = append(v.Infos, m)
		case m.InPlan:
		case m.Severity == transformer.Error:
			v.First = append(v.First, m)
		default:
			v.Then = append(v.Then, m)
		}
	}
	v.Verdict = verdictOf(r)
	return v
}

// sectionOf sorts workloads, the worst first, and takes from their rows the causes of some classes, and
// from all what is common.
func sectionOf(all []*workload, classes ...class) section {
	s := section{Tally: make(tally)}
	slices.SortStableFunc(all, func(a, b *workload) int { return a.rank - b.rank })
	for _, w := range all {
		s.add(w, classes)
	}
	s.number(all)
	s.Notes = hoisted(all)
	for _, g := range s.Groups {
		g.Notes = hoisted(g.Workloads)
	}
	return s
}

// add puts a workload into its group, and counts its rows and their causes.
func (s *section) add(w *workload, of []class) {
	name := w.Object.Namespace
	isSame := func(g *group) bool {
		return g.Name == name && g.Workloads[0].rank == w.rank
	}
	at := slices.IndexFunc(s.Groups, isSame)
	if at < 0 {
		at = len(s.Groups)
		s.Groups = append(s.Groups, &group{Name: name})
	}
	s.Groups[at].Workloads = append(s.Groups[at].Workloads, w)
	for _, row := range w.Rows {
		s.Tally[row.Class]++
		if row.Why == "" || !slices.Contains(of, row.Class) {
			continue
		}
		if i := s.cause(row); i >= 0 {
			s.Causes[i].Count++
			if s.Causes[i].Today != row.Today {
				s.Causes[i].Today = string(row.Class)
			}
		} else {
			s.Causes = append(s.Causes, cause{Count: 1, Class: row.Class, Today: row.Today, Why: row.Why})
		}
	}
}

// cause returns the index of the cause of a row; -1 if it is not among them.
func (s *section) cause(of row) int {
	return slices.IndexFunc(s.Causes, func(c cause) bool { return c.Class == of.Class && c.Why == of.Why })
}

// number sorts the causes, and has the rows refer to them.
func (s *section) number(all []*workload) {
	slices.SortStableFunc(s.Causes, func(a, b cause) int {
		return cmp.Or(a.Class.rank()-b.Class.rank(), b.Count-a.Count)
	})
	for _, w := range all {
		for i := range w.Rows {
			row := &w.Rows[i]
			at := s.cause(*row)
			if at < 0 {
				continue
			}
			if row.Why, row.isListed = "", true; len(s.Causes) > 1 {
				row.Ref = fmt.Sprintf(" (%d)", at+1)
			}
		}
	}
	for i := range s.Causes {
		if c := &s.Causes[i]; c.Count > 1 {
			c.Today = severalDo.Replace(c.Today)
		}
	}
}

// severalDo turns what one probe does into what several do.
var severalDo = strings.NewReplacer("fails", "fail", "passes", "pass", "works", "work")

// hoisted takes from workloads the notes that most of them have, and returns these. Each of the others has a note
// of its own about the same.
func hoisted(all []*workload) (common []string) {
	count := make(map[string]int)
	for _, w := range all {
		for _, note := range w.Notes {
			count[note]++
		}
	}
	for _, w := range all {
		for _, note := range w.Notes {
			if 2*count[note] > len(all) && !slices.Contains(common, note) && allTell(all, note) {
				common = append(common, note)
			}
		}
	}
	for _, w := range all {
		w.Notes = slices.DeleteFunc(w.Notes, func(note string) bool { return slices.Contains(common, note) })
	}
	return common
}

// allTell reports whether all workloads have a note about what a note is about, which is what it begins with.
func allTell(all []*workload, note string) bool {
	topic := topicOf(note)
	lacks := func(w *workload) bool {
		return !slices.ContainsFunc(w.Notes, func(other string) bool { return topicOf(other) == topic })
	}
	return !slices.ContainsFunc(all, lacks)
}

func topicOf(note string) string {
	topic, _, _ := strings.Cut(note, ": ")
	return strings.TrimPrefix(topic, "not ")
}
