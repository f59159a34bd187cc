package inbound_test

import (
	"encoding/base64"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/authz"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// A token is refused if it is none, and else may be valid. One that no rule looks for is none of Envoy's business.
func TestATokenMustBeValidWherePoliciesLookForIt(t *testing.T) {
	part := base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"a"}`))
	valid := part + "." + part + ".c2ln"
	of := func(rules ...surroundings.JWTRule) *surroundings.RequestAuthentication {
		return &surroundings.RequestAuthentication{Neighbour: object("r"), JWTRules: rules}
	}
	var byHeader, byParam, byCookie, byDefault surroundings.JWTRule
	byHeader.FromHeaders = append(byHeader.FromHeaders, struct {
		Name   string `json:"name"`
		Prefix string `json:"prefix"`
	}{"X-Token", "t "})
	byParam.FromParams = []string{"token"}
	byCookie.FromCookies = []string{"id"}
	others := of(byDefault)
	others.Selector.MatchLabels = field.KeyValues{{Key: "app", Value: "other"}}
	some := of(byDefault)
	some.Selector.MatchLabels = field.KeyValues{{Key: "kubernetes.io/hostname", Value: "a"}}
	root := of(byDefault)
	root.Namespace = "istio-system"
	elsewhere := of(byDefault)
	elsewhere.Namespace = "other"
	principal := policy(authz.Allow)
	principal.Rules[0].To = nil
	principal.Rules[0].From = append(principal.Rules[0].From, struct {
		Source field.Map `json:"source"`
	}{field.Map{{Key: "requestPrincipals", Value: field.List{"*"}}}})
	const (
		malformed = "RequestAuthentication shop/r refuses its token, which is not a JSON Web Token"
		may       = "RequestAuthentication shop/r demands a valid token of a probe that has one if its token is not valid (ask who issued it)"
		mayPass   = may + "; or passes"
		mayRefuse = may + "; or " + refused + " if the policy and its rule are about it (look in the cluster); or passes"
	)
	for _, c := range []struct {
		name    string
		call    []string
		objects []any
		want    string
	}{
		{"it has none", nil, []any{of(byDefault)}, "passes"},
		{"it has another kind", []string{"Authorization: Basic YTpi"}, []any{of(byDefault)}, "passes"},
		{"it is garbage", []string{"authorization: Bearer garbage"}, []any{of(byDefault)}, malformed},
		{"a part is no object", []string{"authorization: Bearer a.b.c"}, []any{of(byDefault)}, malformed},
		{"it may be valid", []string{"Authorization: Bearer " + valid}, []any{of(byDefault)}, mayPass},
		{"it is not known yet", []string{"Authorization: Bearer ${TOKEN}"}, []any{of(byDefault)}, mayPass},
		{"it is a parameter", []string{"/healthz?access_token=garbage"}, []any{of(byDefault)}, malformed},
		{"it is another parameter", []string{"/healthz?token=garbage"}, []any{of(byDefault)}, "passes"},
		{"it is that parameter", []string{"/healthz?token=garbage"}, []any{of(byParam)}, malformed},
		{"it is not where it is looked for", []string{"Authorization: Bearer garbage"}, []any{of(byParam)}, "passes"},
		{"it is in a header", []string{"X-Token: t garbage"}, []any{of(byHeader)}, malformed},
		{"it has another prefix", []string{"X-Token: garbage"}, []any{of(byHeader)}, "passes"},
		{"it is a cookie", []string{"Cookie: a=b; id=" + valid}, []any{of(byCookie)}, mayPass},
		{"another one may be valid", []string{"X-Token: t garbage", "/healthz?token=" + valid}, []any{of(byHeader, byParam)}, mayPass},
		{"both are garbage", []string{"X-Token: t garbage", "/healthz?token=garbage"}, []any{of(byHeader, byParam)}, malformed},
		{"the policy is about other pods", []string{"Authorization: Bearer garbage"}, []any{others}, "passes"},
		{"the policy may be about the pods", []string{"Authorization: Bearer garbage"}, []any{some}, malformed + about + "; or passes"},
		{"the policy may be about the pods, and the token valid", []string{"Authorization: Bearer " + valid}, []any{some}, mayPass},
		{"the policy is another namespace's", []string{"Authorization: Bearer garbage"}, []any{elsewhere}, "passes"},
		{"TCP has no token", []string{"Authorization: Bearer garbage"}, []any{of(byDefault), service("a", "tcp")}, "passes"},
		{"TLS has none", []string{"Authorization: Bearer garbage", "HTTPS"}, []any{of(byDefault)}, "passes"},
		{"a policy demands one", nil, []any{of(byDefault), principal}, refused},
		{"a policy demands one, and it may be that", []string{"Authorization: Bearer " + valid}, []any{of(byDefault), principal}, mayRefuse},
		{"a policy demands one that nothing checks", []string{"Authorization: Bearer " + valid}, []any{principal}, refused},
	} {
		if got := answers(get(c.call...), c.objects...); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	if got := answers(get("Authorization: Bearer garbage"), root); got != "RequestAuthentication istio-system/r refuses its token, which is not a JSON Web Token" {
		t.Errorf("the policy is that of the root namespace: %s", got)
	}
}
