package pipeline

import (
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// sopsMAC is the checksum that SOPS writes into an object that it encrypts, over all
// values, the readable ones too: after an edit the object can no longer be decrypted.
var sopsMAC = field.NewPath("sops", "mac")

// keepEncrypted takes the edits out of the plans for an object that SOPS has encrypted.
func keepEncrypted(o *manifest.Object, plans []report.PlannedTemplate) {
	for i := range plans {
		p := &plans[i]
		if len(p.Edits) == 0 {
			continue
		}
		if _, encrypted := o.Value(sopsMAC); !encrypted {
			return
		}
		p.Edits, p.Answer = nil, transformer.Answer{Injected: p.Answer.Injected}
		for j := range p.Probes {
			if v := &p.Probes[j]; v.State == transformer.WouldRewrite || v.State == transformer.WouldRestore {
				v.State = transformer.LeftAlone
				v.Reason = reason.Encrypted
				v.After = ""
			}
		}
		p.Findings = append(p.Findings, transformer.NewFinding(reason.Encrypted, sopsMAC,
			"not rewritten: SOPS's checksum covers the whole manifest").
			Why("After an edit, the manifest could not be decrypted"))
	}
}
