package report

import (
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
	failsToday class = "fail"       // or passes although nothing listens
	mayFail    class = "may fail"   // it depends on what is not known
	works      class = "work"       // the mesh does not affect it, or it was rewritten before
	leftAlone  class = "left alone" // the mesh does not affect it, and it stays as it is; or there is none yet
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
	{leftAlone, "–", "\x1b[02m"},  // dim, with as many bytes as the others, which a tabwriter counts
}

// A probeView is a probe or hook as people see it: the columns of every table of explain.
type probeView struct {
	Container, Probe string
	Class            class
	Before           string // the handler
	Today            string // what becomes of it today: fails, may pass falsely, works
	Why              string // or what it depends on; "" if it works
	After            string
	State            transformer.State
}

func viewOf(v *transformer.Verdict) probeView {
	return probeView{
		Container: v.Container, Probe: v.ProbeType.Name(), Class: classOf(v),
		Before: v.Before, Today: today(v), Why: why(v), After: explainAfter(v), State: v.State,
	}
}

func classOf(v *transformer.Verdict) class {
	switch {
	case v.StrictTLS != world.Unaffected && v.If == "":
		return failsToday
	case v.StrictTLS != world.Unaffected:
		return mayFail
	case v.State == transformer.LeftAlone || v.Absent:
		return leftAlone
	}
	return works
}

// today says what becomes of a probe if nothing is rewritten.
func today(v *transformer.Verdict) string {
	switch {
	case v.Absent:
		return "not probed"
	case classOf(v) == leftAlone: // it may fail for a reason of its own
		return "unaffected"
	case v.StrictTLS == world.Unaffected:
		return "works"
	case v.StrictTLS == world.Fails && v.If == "":
		return "fails"
	case v.StrictTLS == world.Fails:
		return "may fail"
	case v.If == "":
		return "passes falsely"
	}
	return "may pass falsely"
}

// why says why a probe fails, or on what it depends whether it does; "" if it works.
func why(v *transformer.Verdict) string {
	if v.Absent {
		return "without a probe, Istio counts every machine of the group as healthy"
	}
	if v.If != "" {
		return "if " + v.If
	}
	return v.Why
}

// sign returns the sign of a class and its colour on a terminal.
func (c class) sign() (sign, color string) {
	for _, row := range classes {
		if row.class == c {
			return row.sign, row.color
		}
	}
	return "", ""
}

// A tally is how many probes and hooks are in each class.
type tally map[class]int

func tallyOf(templates []*Template) tally {
	counts := make(tally)
	for _, t := range templates {
		for i := range t.Probes {
			counts[classOf(&t.Probes[i])]++
		}
	}
	return counts
}

// A space is the pod templates of a namespace.
type space struct {
	Name      string // "" if they name none
	Known     string // of the mesh, if the same is known around all of them; "" if it is said above
	Differs   bool   // it is not the same around all of them
	Templates []*Template
	Tally     tally
}

// spaces returns the templates that have probes or findings by their namespaces, in the order in
// which these come first, and apart from them those that have neither.
func (r *Report) spaces() (all []*space, bare []*Template) {
	byName := make(map[string]*space)
	for i := range r.Templates {
		t := &r.Templates[i]
		if len(t.Probes) == 0 && len(t.Findings) == 0 {
			bare = append(bare, t)
			continue
		}
		s := byName[t.Object.Namespace]
		if s == nil {
			s = &space{Name: t.Object.Namespace}
			byName[s.Name] = s
			all = append(all, s)
		}
		s.Templates = append(s.Templates, t)
	}
	for _, s := range all {
		s.Tally = tallyOf(s.Templates)
		s.Known, s.Differs = commonlyKnown(s.Templates)
	}
	return all, bare
}

// total returns how many probes and hooks of all the namespaces are in each class.
func total(spaces []*space) tally {
	sum := make(tally)
	for _, s := range spaces {
		for c, n := range s.Tally {
			sum[c] += n
		}
	}
	return sum
}

// commonlyKnown returns what is known of the mesh around templates, or that it differs.
func commonlyKnown(templates []*Template) (known string, differs bool) {
	known = templates[0].Known
	for _, t := range templates {
		if t.Known != known {
			return "", true
		}
	}
	return known, false
}

// longWhy is from how many letters on a reason that several rows share stands outside of the table.
const longWhy = 50

// notes returns the long reasons that several probes of the namespace share.
func (s *space) notes() (notes []string) {
	count := make(map[string]int)
	for _, t := range s.Templates {
		for i := range t.Probes {
			why := why(&t.Probes[i])
			if count[why]++; count[why] == 2 && len(why) >= longWhy {
				notes = append(notes, why)
			}
		}
	}
	return notes
}

// noted returns why, or the number of the note that has it.
func noted(why string, notes []string) string {
	at := slices.Index(notes, why)
	if at < 0 {
		return why
	}
	word := "why"
	if strings.HasPrefix(why, "if ") {
		word = "if"
	}
	return fmt.Sprintf("%s (%d)", word, at+1)
}
