package surroundings

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/authz"
	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

func TestLabelsThatPodsGetLaterAreComputedOrOpen(t *testing.T) {
	app := field.KeyValues{{Key: "app", Value: "web"}}
	for _, c := range []struct {
		kind, name string
		labels     field.KeyValues
		label      string
		want       certain.Certainty
	}{
		{"Deployment", "shop", app, "app=web", certain.Always},
		{"Deployment", "shop", app, "app=other", certain.Never},
		{"Deployment", "shop", app, "tier=front", certain.Never},
		{"Deployment", "shop", nil, "tier=front", certain.Maybe},

		{"Deployment", "shop", app, "service.istio.io/canonical-name=web", certain.Always},
		{"Deployment", "shop", app, "service.istio.io/canonical-name=shop", certain.Never},
		{"Deployment", "shop", append(app, field.KeyValue{Key: "app.kubernetes.io/name", Value: "x"}), "service.istio.io/canonical-name=x", certain.Always},
		{"Deployment", "shop", append(app, field.KeyValue{Key: "service.istio.io/canonical-name", Value: "x"}), "service.istio.io/canonical-name=x", certain.Always},
		{"Deployment", "shop", append(app, field.KeyValue{Key: "service.istio.io/canonical-name"}), "service.istio.io/canonical-name=web", certain.Always},
		{"Deployment", "shop", field.KeyValues{}, "service.istio.io/canonical-name=shop", certain.Always},
		{"Deployment", strings.Repeat("x", 62) + "-y", field.KeyValues{}, "service.istio.io/canonical-name=" + strings.Repeat("x", 62), certain.Always},
		{"Job", "shop", field.KeyValues{}, "service.istio.io/canonical-name=shop", certain.Maybe},
		{"Deployment", "shop", app, "service.istio.io/canonical-revision=latest", certain.Always},
		{"Deployment", "shop", append(app, field.KeyValue{Key: "version", Value: "v1"}), "service.istio.io/canonical-revision=v1", certain.Always},
		{"Deployment", "shop", append(app, field.KeyValue{Key: "version", Value: "v1"}), "service.istio.io/canonical-revision=latest", certain.Never},
		{"Deployment", "shop", app, "security.istio.io/tlsMode=istio", certain.Always},
		{"Deployment", "shop", app, "security.istio.io/tlsMode=disabled", certain.Never},
		{"Deployment", "shop", app, "istio.io/rev=canary", certain.Maybe},
		{"Deployment", "shop", app, "topology.kubernetes.io/zone=a", certain.Maybe},
		{"Deployment", "shop", app, "topology.kubernetes.io/region=a", certain.Maybe},
		{"Deployment", "shop", app, "topology.istio.io/network=a", certain.Maybe},
		{"Deployment", "shop", app, "lifecycle.apps.kruise.io/state=Normal", certain.Maybe},
		{"Deployment", "shop", app, "networking.istio.io/tunnel=http", certain.Maybe},
		{"DaemonSet", "web", app, "pod-template-generation=1", certain.Maybe},
		{"StatefulSet", "web", app, "pod-template-generation=1", certain.Never},
		{"CronJob", "web", app, "batch.kubernetes.io/controller-uid=x", certain.Maybe},
		{"Deployment", "web", app, "controller-uid=x", certain.Never},
		{"DeploymentConfig", "web", app, "deploymentconfig=web", certain.Maybe},

		{"StatefulSet", "web", app, "statefulset.kubernetes.io/pod-name=web-0", certain.Maybe},
		{"StatefulSet", "web", app, "statefulset.kubernetes.io/pod-name=other-0", certain.Never},
		{"StatefulSet", "web", app, "statefulset.kubernetes.io/pod-name=web-a", certain.Never},
		{"StatefulSet", "", app, "statefulset.kubernetes.io/pod-name=web-0", certain.Maybe},
		{"StatefulSet", "web", app, "apps.kubernetes.io/pod-index=0", certain.Maybe},
		{"StatefulSet", "web", app, "controller-revision-hash=x", certain.Maybe},
		{"Deployment", "web", app, "statefulset.kubernetes.io/pod-name=web-0", certain.Never},
		{"Deployment", "web", app, "pod-template-hash=x", certain.Maybe},
		{"StatefulSet", "web", app, "pod-template-hash=x", certain.Never},
		{"Rollout", "web", app, "rollouts-pod-template-hash=x", certain.Maybe},
		{"Job", "web", app, "batch.kubernetes.io/job-name=web", certain.Maybe},
		{"Job", "web", app, "job-name=web", certain.Maybe},
		{"CloneSet", "web", app, "apps.kruise.io/cloneset-instance-id=x", certain.Maybe},
		{"JobSet", "web", app, "jobset.sigs.k8s.io/jobset-name=web", certain.Maybe},
		{"JobSet", "web", app, "tier=front", certain.Never},
		{"Pod", "web", app, "pod-template-hash=x", certain.Never},

		{"Deployment", "shop", append(app, field.KeyValue{Key: "app.kubernetes.io/version", Value: "v2"}, field.KeyValue{Key: "version", Value: "v1"}), "service.istio.io/canonical-revision=v2", certain.Always},
		{"Deployment", "shop", append(app, field.KeyValue{Key: "app.kubernetes.io/name", Value: "x"}, field.KeyValue{Key: "app", Value: "y"}), "service.istio.io/canonical-name=x", certain.Always},
		{"DaemonSet", "shop", field.KeyValues{}, "service.istio.io/canonical-name=shop", certain.Always},
		{"StatefulSet", "shop", field.KeyValues{}, "service.istio.io/canonical-name=shop", certain.Always},
		{"ReplicaSet", "shop", field.KeyValues{}, "service.istio.io/canonical-name=shop", certain.Maybe},
		{"StatefulSet", "web", app, "statefulset.kubernetes.io/pod-name=web-", certain.Never},
		{"CloneSet", "web", app, "controller-revision-hash=x", certain.Maybe}, // nobody knows which controller it has
		{"Job", "web", app, "job-name-too=x", certain.Never},
		{"Deployment", "web", app, "istio.io/revision=x", certain.Never},
		{"Deployment", "web", app, "example.com/later=x", certain.Never},
	} {
		key, value, _ := strings.Cut(c.label, "=")
		p := &Pods{Kind: c.kind, Name: c.name, Labels: c.labels}
		if got := p.selects(field.KeyValues{{Key: key, Value: value}}); got != c.want {
			t.Errorf("%s %s with %v and %s: %v, want %v", c.kind, c.name, c.labels, c.label, got, c.want)
		}
	}
}

func TestAPolicyOfAnotherNamespaceDecidesNothing(t *testing.T) {
	deny := func(namespace, name string) AuthorizationPolicy {
		return AuthorizationPolicy{Neighbour: named(namespace, name), Action: "DENY", Rules: []*authz.Rule{nil, {}}}
	}
	for want, policies := range map[string][]AuthorizationPolicy{
		"AuthorizationPolicy shop/b":         {deny("other", "a"), deny("shop", "b"), deny("shop", "c")},
		"AuthorizationPolicy istio-system/a": {deny("istio-system", "a"), deny("shop", "b")},
		"":                                   {deny("other", "a"), deny("", "c"), {Neighbour: named("shop", "b"), Action: "DENY", Rules: []*authz.Rule{nil}}},
	} {
		s := around(policies...)
		web := &Pods{Namespace: "shop", Labels: field.KeyValues{{Key: "app", Value: "web"}}}
		if got := s.Refuses("istio-system", web, &authz.Request{Port: 8080}); got.By != want || (got.Is == certain.Always) != (want != "") {
			t.Errorf("%v, want %q", got, want)
		}
	}
}

// A policy of another branch refuses nothing; it may let in what is refused.
func TestAPolicyOfAnotherBranchOnlyMakesARefusalOpen(t *testing.T) {
	all := []*authz.Rule{{}}
	far := func(action authz.Action, rules []*authz.Rule) AuthorizationPolicy {
		return AuthorizationPolicy{Neighbour: Neighbour{Namespace: "shop", Name: "far", Far: true}, Action: action, Rules: rules}
	}
	nothing := AuthorizationPolicy{Neighbour: named("shop", "nothing"), Action: authz.Allow}
	everything := AuthorizationPolicy{Neighbour: named("shop", "everything"), Action: authz.Deny, Rules: all}
	for name, c := range map[string]struct {
		policies []AuthorizationPolicy
		want     Refusal
	}{
		"it denies":                       {[]AuthorizationPolicy{far(authz.Deny, all)}, Refusal{Is: certain.Never}},
		"it allows nothing":               {[]AuthorizationPolicy{far(authz.Allow, nil)}, Refusal{Is: certain.Never}},
		"it allows what is refused":       {[]AuthorizationPolicy{nothing, far(authz.Allow, all)}, Refusal{certain.Always, "AuthorizationPolicy shop/nothing", "AuthorizationPolicy shop/far"}},
		"it allows nothing more":          {[]AuthorizationPolicy{nothing, far(authz.Allow, nil)}, Refusal{certain.Always, "AuthorizationPolicy shop/nothing", ""}},
		"it allows what is denied anyway": {[]AuthorizationPolicy{everything, far(authz.Allow, all)}, Refusal{certain.Always, "AuthorizationPolicy shop/everything", ""}},
	} {
		s := around(c.policies...)
		if got := s.Refuses("istio-system", &Pods{Namespace: "shop"}, &authz.Request{Port: 8080}); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
