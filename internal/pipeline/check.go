package pipeline

import (
	"fmt"

	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// outcomeWords has a reason and words for what goes wrong under strict mTLS.
var outcomeWords = map[transformer.Outcome]struct{ reason, text string }{
	transformer.Fails:         {ReasonWouldFail, "fails under strict mTLS"},
	transformer.FalselyPasses: {ReasonWouldFalselyPass, "passes under strict mTLS although nothing may listen"},
}

// injectorHint ends a message about a pod that Istio's injector may repair.
const injectorHint = "; if Istio's injector is to rewrite the probe, the functionConfig must have `istio: {injectorRewrites: true}`"

// Check returns an error for every probe of an inspected report that behaves
// differently under strict mTLS than without a mesh, unless it was left alone
// on purpose: by an opt-out, or because the mesh does not capture it. It also
// returns the mistakes in a template that a new run would repair.
func Check(r *report.Report) []report.Message {
	var found []report.Message
	for _, t := range r.Templates {
		for _, f := range t.Repairs {
			m := report.NewMessage(f.Reason, f.Message+"; a new run of rewrite-probes puts it right")
			m.Object, m.Line, m.Field = t.Object, t.Object.Line, f.Field.String()
			found = append(found, m)
		}
		hint := ""
		if t.Answer.Injected {
			hint = injectorHint
		}
		for _, p := range t.Probes {
			words, wrong := outcomeWords[p.StrictTLS]
			if !wrong || p.State == transformer.LeftAlone && reason.SeverityOf(p.Reason) == transformer.Info {
				continue
			}
			m := report.NewMessage(words.reason, fmt.Sprintf("`%s`: %s %s, since %s%s", p.Field, p.Before, words.text, p.Why, hint))
			m.Object, m.Line, m.Field = t.Object, p.Line, p.Field.String()
			found = append(found, m)
		}
	}
	return found
}
