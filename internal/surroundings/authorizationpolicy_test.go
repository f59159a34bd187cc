package surroundings

import (
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// The keys are those of Istio's AuthorizationPolicy, of sources, operations and conditions.
func TestTheKubeletHasNoIdentityAndItsPortIsKnown(t *testing.T) {
	any, port, other := field.List{"*"}, field.List{"80", "8080"}, field.List{"80", "8081"}
	for _, key := range []string{"principals", "requestPrincipals", "namespaces", "serviceAccounts", "trustDomains"} {
		negated := "not" + string(key[0]-'a'+'A') + key[1:]
		for got, want := range map[certain.Certainty]certain.Certainty{allMatch(field.Map{{Key: key, Value: any}}, 8080): certain.Never, allMatch(field.Map{{Key: negated, Value: any}}, 8080): certain.Always} {
			if got != want {
				t.Errorf("%s: %v, want %v", key, got, want)
			}
		}
	}
	for _, key := range []string{
		"source.principal", "source.namespace", "source.serviceAccount", "source.trustDomain",
		"request.auth.principal", "request.auth.audiences", "request.auth.presenter", "request.auth.claims[iss]",
	} {
		if got := condition(key, any, 8080, false); got != certain.Never {
			t.Errorf("%s: %v", key, got)
		}
		if got := condition(key, any, 8080, true); got != certain.Always {
			t.Errorf("no %s: %v", key, got)
		}
	}
	for _, c := range []struct {
		name       string
		conditions field.Map
		want       certain.Certainty
	}{
		{"nothing", nil, certain.Always},
		{"its port", field.Map{{Key: "ports", Value: port}}, certain.Always},
		{"another port", field.Map{{Key: "ports", Value: other}}, certain.Never},
		{"not its port", field.Map{{Key: "notPorts", Value: port}}, certain.Never},
		{"not another port", field.Map{{Key: "notPorts", Value: other}}, certain.Always},
		{"a key in upper case is none that is known", field.Map{{Key: "Ports", Value: other}}, certain.Maybe},
		{"the word not alone is none either", field.Map{{Key: "not", Value: other}}, certain.Maybe},
		{"a path", field.Map{{Key: "paths", Value: any}}, certain.Maybe},
		{"not a path", field.Map{{Key: "notPaths", Value: any}}, certain.Maybe},
		{"no values", field.Map{{Key: "ports", Value: field.List{}}}, certain.Always},
		{"null", field.Map{{Key: "notPorts"}}, certain.Always},
		{"no list", field.Map{{Key: "ports", Value: "80"}}, certain.Maybe},
		{"no list, and another port", field.Map{{Key: "notPorts", Value: port}, {Key: "paths", Value: "x"}}, certain.Never},
		{"its port and a path", field.Map{{Key: "ports", Value: port}, {Key: "paths", Value: any}}, certain.Maybe},
		{"a path and another port", field.Map{{Key: "paths", Value: any}, {Key: "ports", Value: other}}, certain.Never},
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
