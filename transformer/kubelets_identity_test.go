package transformer

import (
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// The keys are those of Istio's AuthorizationPolicy, of sources, operations and conditions.
func TestTheKubeletHasNoIdentityAndItsPortIsKnown(t *testing.T) {
	any, port, other := field.List{"*"}, field.List{"80", "8080"}, field.List{"80", "8081"}
	for _, key := range []string{"principals", "requestPrincipals", "namespaces", "serviceAccounts", "trustDomains"} {
		negated := "not" + string(key[0]-'a'+'A') + key[1:]
		for got, want := range map[certainty]certainty{allMatch(field.Map{{Key: key, Value: any}}, 8080): never, allMatch(field.Map{{Key: negated, Value: any}}, 8080): always} {
			if got != want {
				t.Errorf("%s: %v, want %v", key, got, want)
			}
		}
	}
	for _, key := range []string{
		"source.principal", "source.namespace", "source.serviceAccount", "source.trustDomain",
		"request.auth.principal", "request.auth.audiences", "request.auth.presenter", "request.auth.claims[iss]",
	} {
		if got := condition(key, any, 8080, false); got != never {
			t.Errorf("%s: %v", key, got)
		}
		if got := condition(key, any, 8080, true); got != always {
			t.Errorf("no %s: %v", key, got)
		}
	}
	for _, c := range []struct {
		name       string
		conditions field.Map
		want       certainty
	}{
		{"nothing", nil, always},
		{"its port", field.Map{{Key: "ports", Value: port}}, always},
		{"another port", field.Map{{Key: "ports", Value: other}}, never},
		{"not its port", field.Map{{Key: "notPorts", Value: port}}, never},
		{"not another port", field.Map{{Key: "notPorts", Value: other}}, always},
		{"a key in upper case is none that is known", field.Map{{Key: "Ports", Value: other}}, maybe},
		{"the word not alone is none either", field.Map{{Key: "not", Value: other}}, maybe},
		{"a path", field.Map{{Key: "paths", Value: any}}, maybe},
		{"not a path", field.Map{{Key: "notPaths", Value: any}}, maybe},
		{"no values", field.Map{{Key: "ports", Value: field.List{}}}, always},
		{"null", field.Map{{Key: "notPorts"}}, always},
		{"no list", field.Map{{Key: "ports", Value: "80"}}, maybe},
		{"no list, and another port", field.Map{{Key: "notPorts", Value: port}, {Key: "paths", Value: "x"}}, never},
		{"its port and a path", field.Map{{Key: "ports", Value: port}, {Key: "paths", Value: any}}, maybe},
		{"a path and another port", field.Map{{Key: "paths", Value: any}, {Key: "ports", Value: other}}, never},
	} {
		if got := allMatch(c.conditions, 8080); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestAPolicyOfAnotherNamespaceDecidesNothing(t *testing.T) {
	deny := func(namespace, name string) AuthorizationPolicy {
		return AuthorizationPolicy{Name: name, Namespace: namespace, Action: "DENY", Rules: []*AuthorizationRule{nil, {}}}
	}
	for want, policies := range map[string][]AuthorizationPolicy{
		"AuthorizationPolicy shop/b":         {deny("other", "a"), deny("shop", "b"), deny("shop", "c")},
		"AuthorizationPolicy istio-system/a": {deny("istio-system", "a"), deny("shop", "b")},
		"":                                   {deny("other", "a"), {Name: "b", Namespace: "shop", Action: "DENY", Rules: []*AuthorizationRule{nil}}},
	} {
		s := Surroundings{AuthorizationPolicies: policies}
		if got := s.Denied("istio-system", "shop", field.KeyValues{{Key: "app", Value: "web"}}, 8080); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
