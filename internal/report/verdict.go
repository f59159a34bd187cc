package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A verdictCount counts the probes and hooks that a verdict names.
type verdictCount struct {
	probes, hooks       int
	fail, byInjector    int // today
	may                 int // by another fact that is unknown
	rewritten           int
	stillFail, stillMay int // after the change
}

func countOf(r *Report) (n verdictCount) {
	for i := range r.Templates {
		for j := range r.Templates[i].Probes {
			n.add(&r.Templates[i].Probes[j])
		}
	}
	return n
}

func (n *verdictCount) add(v *transformer.Verdict) {
	if v.ProbeType.IsHook() {
		n.hooks++
	} else {
		n.probes++
	}
	stays := 1
	if v.State == transformer.WouldRewrite {
		n.rewritten++
		stays = 0
	}
	switch c, _, _ := today(v); {
	case c == failsToday:
		n.fail++
		n.stillFail += stays
	case c == mayFail:
		n.stillMay += stays
		if v.If == world.InjectorAlone {
			n.byInjector++
		} else {
			n.may++
		}
	}
}

// verdictOf says in a few sentences what a reviewer decides by: how many probes fail today, how many do after
// the change, and what was not read.
func verdictOf(r *Report) string {
	n := countOf(r)
	all := n.noun()
	var said []string
	of := func(some int, does string) string {
		if len(said) > 0 {
			return fmt.Sprintf("%d more %s.", some, does)
		}
		return fmt.Sprintf("%d of %s %s.", some, all, does)
	}
	if n.fail > 0 {
		said = append(said, of(n.fail, agree(n.fail, "fails", "fail")+" today"))
	}
	if n.byInjector > 0 {
		said = append(said, of(n.byInjector, agree(n.byInjector, "works only if Istio's injector rewrites it", "work only if Istio's injector rewrites them")))
	}
	if n.may > 0 {
		said = append(said, of(n.may, "may fail"))
	}
	switch {
	case n.probes+n.hooks == 0:
		said = append(said, "There is no probe and no hook.")
	case len(said) == 0:
		said = append(said, agree(n.probes+n.hooks, "The probe or hook does not fail today.", "None of "+all+" fails today."))
	case n.rewritten > 0 && n.stillMay > 0:
		said = append(said, fmt.Sprintf("After this change: %d, and %d may.", n.stillFail, n.stillMay))
	case n.rewritten > 0:
		said = append(said, fmt.Sprintf("After this change: %d.", n.stillFail))
	}
	if some := unread(r); some > 0 {
		said = append(said, Plural(some, "object")+agree(some, " was", " were")+" not read.")
	}
	return strings.Join(said, " ")
}

// noun counts probes, and hooks if there are any.
func (n *verdictCount) noun() string {
	if n.hooks == 0 {
		return Plural(n.probes, "probe")
	}
	return fmt.Sprintf("%d probes and hooks", n.probes+n.hooks)
}

func agree(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// unread returns how many errors are about what nobody read: objects, charts, templates.
func unread(r *Report) (n int) {
	for _, m := range r.Messages {
		if m.Severity == transformer.Error && slices.Contains(unreadReasons, m.Reason) {
			n++
		}
	}
	return n
}

var unreadReasons = []reason.Key{reason.Unreadable, reason.NotRendered, reason.NotBuilt, reason.InvalidManifest}
