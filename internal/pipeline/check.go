package pipeline

import (
	"slices"

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
	runFix      = "Run rewrite-probes"
	injectorFix = runFix + ". If Istio's injector rewrites probes in your cluster, set `istio: {injectorRewrites: true}`"
	patchedFix  = runFix + " again. If something patches the pod template after rewrite-probes, run rewrite-probes last"
)

// Check returns an error for every probe of an inspected report that behaves
// differently in the mesh than without one, and a warning if it does so in some of the
// cases that manifests and functionConfig leave open, unless somebody has asked to leave
// it alone. It also returns the mistakes in a template that a new run would repair.
func Check(r *report.Report) []report.Message {
	var found []report.Message
	known := make(texts)
	for _, t := range r.Templates {
		for _, f := range t.Repairs {
			m := report.NewMessage(f.Reason, f.Text)
			m.Text.Fix = runFix
			m.Container = f.Container
			m.Object, m.Line, m.Field = t.Object, t.Object.Line, f.Field
			found = append(found, m)
		}
		for i, p := range t.Probes {
			words, wrong := outcomeWords[p.StrictTLS]
			onPurpose := p.State == transformer.LeftAlone && p.Reason.Doc().OnPurpose
			if !wrong || onPurpose && !isHarmfulOptOut(&p) {
				continue
			}
			key, text := words.certain, certainText(&t, &p, words.text)
			switch {
			case onPurpose:
				key = reason.OptedOut
				text.Fix = ""
				text.What += ", and an opt-out leaves it alone"
			case p.If != "":
				key, text = words.possible, possibleText(&t, &p, words.text)
			}
			text.What, text.Why = known.once(text.What), known.once(text.Why)
			m := report.NewMessage(key, text)
			m.Container = p.Container
			m.Object, m.Line, m.Field, m.If = t.Object, t.Line(i), p.Field, p.If
			found = append(found, m)
		}
	}
	return found
}

// texts are the parts of messages. Very many probes have the same, and it is kept once.
type texts map[string]string

func (t texts) once(s string) string {
	if known, found := t[s]; found {
		return known
	}
	t[s] = s
	return s
}

// isHarmfulOptOut reports whether somebody has taken a probe out of the rewriting that certainly
// fails or passes falsely.
func isHarmfulOptOut(p *transformer.Verdict) bool {
	optOuts := []reason.Key{reason.OptOut, reason.IstioOptOut, reason.SkippedContainer}
	return slices.Contains(optOuts, p.Reason) &&
		p.If == "" &&
		!p.MayBeServed
}

// certainText says what happens to a probe in every case.
func certainText(t *report.Template, p *transformer.Verdict, happens string) reason.Text {
	text := reason.NewText("%s %s", p.Before, happens)
	if p.StrictTLS == world.Fails {
		text.What += " " + p.Where()
	}
	text.Why, text.Fix = reason.Capital(p.Why), runFix
	switch {
	case t.WasRewritten:
		text.Fix = patchedFix
	case t.Answer.Injected && p.Reason != reason.InjectorRewrites:
		text.Fix = injectorFix
	}
	return text
}

// possibleText says what happens to a probe if something holds that is unknown.
func possibleText(t *report.Template, p *transformer.Verdict, happens string) reason.Text {
	text := reason.NewText("%s %s, if %s", p.Before, happens, p.If)
	text.Why = reason.Capital(p.Why)
	if t.WasRewritten {
		text.Fix = patchedFix
	}
	return text
}
