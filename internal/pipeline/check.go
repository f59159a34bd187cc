package pipeline

import (
	"cmp"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// outcomeWords has the reasons and words for what goes wrong in the mesh: certainly, or
// if something holds that is not known.
var outcomeWords = map[world.Outcome]struct {
	certain, possible reason.Key
	text              string
}{
	world.Fails:         {reason.WouldFail, reason.MayFail, "fails"},
	world.FalselyPasses: {reason.WouldFalselyPass, reason.MayFalselyPass, "passes even if the app is down"},
}

// What to do about a probe that fails or passes falsely.
const (
	runFix     = "Run rewrite-probes"
	declareFix = "Declare that fact: a run does not change this probe"
	execFix    = "Make it exec: a run does not change this probe"
	patchedFix = runFix + " again, and last"
)

// judge reports every probe of a template that behaves differently in the mesh than without one: as
// an error, or as a warning if it does so in some of the cases that manifests and functionConfig leave
// open, unless somebody has asked to leave it alone. If only Istio's injector decides, the report of the
// run folds all such messages ([report.Report.FoldInjector]). It also reports the mistakes in the template
// that a new run would repair.
func (r *run) judge(t *report.PlannedTemplate) {
	for _, f := range t.Repairs {
		m := report.NewMessage(f.Reason, f.Text)
		m.Text.Fix = runFix
		if f.Reason == reason.ProbeProxyEdited {
			m.Text.Fix = patchedFix
		}
		m.Container = f.Container
		m.Object, m.Line, m.Field = t.Object, t.Object.Line, f.Field
		r.judged = append(r.judged, m)
	}
	for i := range t.Probes {
		p := &t.Probes[i]
		if p.Filter != "" {
			doubt := r.doubt(report.Doubt{If: p.Filter})
			r.filtered = append(r.filtered, report.Message{Object: t.Object, Field: p.Field, Doubt: doubt})
		}
		words, wrong := outcomeWords[p.StrictTLS]
		onPurpose := p.State == transformer.LeftAlone && p.Reason.Doc().OnPurpose
		if !wrong || p.NeverWorks != "" { // of what never works the plan has a finding
			continue
		}
		key, text := words.certain, certainText(t, p, words.text)
		switch {
		case onPurpose:
			key, text = reason.OptedOut, optedOutText(t, p, words.text)
		case p.If == world.InjectorAlone:
			key, text = reason.InjectorUnknown, possibleText(t, p, words.text)
		case p.If != "":
			key, text = words.possible, possibleText(t, p, words.text)
		}
		text.What, text.Why = r.shares.text(text.What), r.shares.text(text.Why)
		m := report.NewMessage(key, text)
		m.Object, m.Line = t.Object, t.Line(i)
		m.Container = p.Container
		m.Doubt = r.doubt(report.Doubt{If: p.If, Elsewhere: p.RewrittenElsewhere, Disputed: p.RewritesDisputed})
		m.Field = share(r.shares, p.Field.String(), p.Field)
		if onPurpose && !isHarmfulOptOut(p) {
			m.Severity = transformer.Info
		}
		r.judged = append(r.judged, m)
	}
}

// doubt returns what decides whether messages hold, the same for equal ones; nil if nothing does.
func (r *run) doubt(d report.Doubt) *report.Doubt {
	if d == (report.Doubt{}) {
		return nil
	}
	if r.doubts[d] == nil {
		r.doubts[d] = &d
	}
	return r.doubts[d]
}

// isHarmfulOptOut reports whether somebody has taken a probe out of the rewriting that certainly
// fails or passes falsely.
func isHarmfulOptOut(p *transformer.Verdict) bool {
	optOuts := []reason.Key{reason.OptOut, reason.IstioOptOut, reason.SkippedContainer, reason.NotSelected}
	return slices.Contains(optOuts, p.Reason) &&
		p.If == ""
}

// certainText says what happens to a probe in every case.
func certainText(t *report.PlannedTemplate, p *transformer.Verdict, happens string) reason.Text {
	text := reason.NewText("%s %s", p.Before, happens)
	if p.StrictTLS == world.Fails {
		text.What += " " + p.Where()
	}
	text.Why, text.Fix = reason.Capital(p.Why), fixOf(t, p)
	if lost := findingAt(t, p.Field); lost != nil && slices.Contains(ofLost, lost.Reason) { // a run changes nothing
		text.Fix = lost.Reason.Complete(lost.Text).Fix
		if lost.Reason == reason.OriginalsAmbiguous {
			text.Why = reason.Capital(cmp.Or(lost.Text.Why, lost.Text.What))
		}
	}
	for i := range t.Findings {
		if f := &t.Findings[i]; f.Reason == reason.EnvUnreadable && p.Reason == reason.Dangling {
			text.Why, text.Fix = "Its original cannot be read", f.Reason.Complete(f.Text).Fix
		}
	}
	return text
}

// fixOf says what to do about a probe that fails or passes falsely: a run, or if that leaves the probe as it is, what is said of
// the reason.
func fixOf(t *report.PlannedTemplate, p *transformer.Verdict) string {
	stays := p.State == transformer.LeftAlone && p.Reason != reason.ExcludedPort
	switch {
	case stays || p.State == transformer.Refused:
		return fixOfReason(t, p)
	case t.WasRewritten:
		return patchedFix
	case p.If == "":
		return runFix
	}
	return "" // that of the reason of check
}

// fixOfReason returns the fix for the reason why a probe is not rewritten: that of the finding about it, if there is one.
func fixOfReason(t *report.PlannedTemplate, p *transformer.Verdict) string {
	for i := range t.Findings {
		f := &t.Findings[i]
		isAbout := len(f.Field) == 0 || f.Field.HasPrefix(p.Field) || p.State == transformer.Refused
		if fix := p.Reason.Complete(f.Text).Fix; isAbout && f.Reason == p.Reason && fix != "" {
			return fix
		}
	}
	if p.If != "" && p.Reason.Doc().LetThrough {
		return declareFix
	}
	return cmp.Or(p.Reason.Doc().Fix, execFix)
}

// optedOutText says what happens to a probe that somebody has taken out of the rewriting.
func optedOutText(t *report.PlannedTemplate, p *transformer.Verdict, happens string) reason.Text {
	text := certainText(t, p, happens)
	if p.If != "" {
		text = possibleText(t, p, happens)
	}
	text.What = "Opted out: " + text.What
	text.Fix = ""
	if p.Reason == reason.NotSelected {
		text.Fix = "Add its handler to `rewrite`, or `exclude` the object"
	}
	return text
}

// ofLost are the reasons of findings that say only that the original of a probe is lost.
var ofLost = []reason.Key{reason.Dangling, reason.OriginalReplaced, reason.OriginalsAmbiguous}

// isLost reports whether a finding says only that the original of a probe is lost, of which check says that it fails.
func isLost(t report.PlannedTemplate, f *transformer.Finding) bool {
	return slices.Contains(ofLost, f.Reason) && slices.ContainsFunc(t.Probes, func(p transformer.Verdict) bool {
		return p.StrictTLS == world.Fails && p.If == "" && p.Reason == reason.Dangling && slices.Equal(p.Field, f.Field)
	})
}

// findingAt returns the worst finding at a field; nil if there is none.
func findingAt(t *report.PlannedTemplate, at field.Path) *transformer.Finding {
	for i := range t.Findings { // sorted by severity
		if slices.Equal(t.Findings[i].Field, at) {
			return &t.Findings[i]
		}
	}
	return nil
}

// possibleText says what happens to a probe if something holds that is unknown.
func possibleText(t *report.PlannedTemplate, p *transformer.Verdict, happens string) reason.Text {
	text := reason.NewText("%s %s, if %s", p.Before, happens, p.If)
	text.Why, text.Fix = reason.Capital(p.Why), fixOf(t, p)
	return text
}
