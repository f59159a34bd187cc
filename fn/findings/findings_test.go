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
		"Deployment shop/web: `x`: is taken. Set another `port` in the functionConfig, or move the app. [port-taken]; Pod: is taken. Rename yours, or set `probeProxy.name`. [name-taken]": {i, a, w, b},
		"Pod web: is in another. Set `mesh: auto`, or exclude the object. [other-mesh]":                                                                                                    {i, w},
		"failed": {i},
	} {
		if got := (&findings.RunError{Findings: all}).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for want, f := range map[string]findings.Finding{
		"error: Deployment shop/web: `x`: is taken. Set another `port` in the functionConfig, or move the app. [port-taken]": a, "warning: Pod web: is in another. Set `mesh: auto`, or exclude the object. [other-mesh]": w, "info: is left alone. Remove the annotation to rewrite the probes. [opt-out]": i,
	} {
		if got := f.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
