package pipeline

import (
	"fmt"

	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// outcomeWords say why a probe goes wrong under strict mTLS.
var outcomeWords = map[transformer.Outcome]struct{ reason, text string }{
	transformer.Fails:         {ReasonWouldFail, "fails under strict mTLS, since the kubelet has no client certificate"},
	transformer.FalselyPasses: {ReasonWouldFalselyPass, "passes under strict mTLS although nothing may listen, since the mesh's own proxy accepts the connection"},
}

// Check gives an error for every probe of an inspected report that does
// something else under strict mTLS than without a mesh, unless it was left
// alone on purpose: by an opt-out, or because the mesh does not capture it.
func Check(r *report.Report) []report.Message {
	onPurpose := make(map[string]bool)
	for _, doc := range Reasons() {
		onPurpose[doc.Key] = doc.Severity == transformer.Info
	}
	var found []report.Message
	for _, t := range r.Templates {
		for _, p := range t.Probes {
			words, wrong := outcomeWords[p.StrictTLS]
			if !wrong || p.State == transformer.LeftAlone && onPurpose[p.Reason] {
				continue
			}
			found = append(found, report.Message{
				Severity: transformer.Error, Reason: words.reason, Object: t.Object, Source: t.Source, Line: p.Line, Field: p.Field.String(),
				Text: fmt.Sprintf("`%s`: %s %s", p.Field, p.Before, words.text),
			})
		}
	}
	return found
}
