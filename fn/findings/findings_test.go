package findings_test

import (
	"testing"

	"github.com/rewrite-probes/rewrite-probes/fn/findings"
)

func TestARunErrorNamesTheErrorsOrElseTheWarnings(t *testing.T) {
	a := findings.Finding{Severity: findings.Error, Reason: "port-taken", Message: "`x`: is taken", APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web", Field: "x"}
	b := findings.Finding{Severity: findings.Error, Reason: "name-taken", Message: "is taken", Kind: "Pod"}
	w := findings.Finding{Severity: findings.Warning, Reason: "other-mesh", Message: "is in another", Kind: "Pod", Name: "web"}
	i := findings.Finding{Severity: findings.Info, Reason: "opt-out", Message: "is left alone"}
	for want, all := range map[string][]findings.Finding{
		"Deployment shop/web: `x`: is taken [port-taken]; Pod: is taken [name-taken]": {i, a, w, b},
		"Pod web: is in another [other-mesh]":                                         {i, w},
		"failed":                                                                      {i},
	} {
		if got := (&findings.RunError{Findings: all}).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for want, f := range map[string]findings.Finding{
		"error: Deployment shop/web: `x`: is taken [port-taken]": a, "warning: Pod web: is in another [other-mesh]": w, "info: is left alone [opt-out]": i,
	} {
		if got := f.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
