package pipeline

import (
	"fmt"

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
	world.Fails:         {reason.WouldFail, reason.MayFail, "fails %s"},
	world.FalselyPasses: {reason.WouldFalselyPass, reason.MayFalselyPass, "passes %s although nothing may listen"},
}

// injectorHint ends a message about a pod that Istio's injector may repair.
const injectorHint = "; if Istio's injector is to rewrite the probe, the functionConfig must have `istio: {injectorRewrites: true}`"

// Check returns an error for every probe of an inspected report that behaves
// differently in the mesh than without one, and a warning if it does so in some of the
// cases that manifests and functionConfig leave open, unless somebody has asked to leave
// it alone. It also returns the mistakes in a template that a new run would repair.
func Check(r *report.Report) []report.Message {
	var found []report.Message
	for _, t := range r.Templates {
		for _, f := range t.Repairs {
			m := report.NewMessage(f.Reason, f.Text)
			m.Text.Fix = "Run rewrite-probes again"
			m.Container = f.Container
			m.Object, m.Line, m.Field = t.Object, t.Object.Line, f.Field
			found = append(found, m)
		}
		for i, p := range t.Probes {
			words, wrong := outcomeWords[p.StrictTLS]
			if !wrong || p.State == transformer.LeftAlone && p.Reason.Doc().OnPurpose {
				continue
			}
			text := fmt.Sprintf("%s %s, since %s", p.Before, fmt.Sprintf(words.text, p.Where()), p.Why)
			key := words.certain
			if p.If != "" {
				key, text = words.possible, text+", if "+p.If
			} else if t.Answer.Injected && p.Reason != reason.InjectorRewrites {
				text += injectorHint
			}
			m := report.NewMessage(key, reason.Text{What: text})
			m.Container = p.Container
			m.Object, m.Line, m.Field, m.If = t.Object, t.Line(i), p.Field, p.If
			found = append(found, m)
		}
	}
	return found
}
