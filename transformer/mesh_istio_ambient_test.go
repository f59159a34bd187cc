package transformer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// ambientPod is the metadata of a pod in ambient mode.
const ambientPod = "labels: {istio.io/dataplane-mode: ambient, app: web}"

func networkPolicy(spec ...string) string {
	return "---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata:\n  name: web\n  namespace: shop\nspec:\n  " + strings.Join(spec, "\n  ") + "\n"
}

func TestNetworkPolicy_ambientKubeletKeptOut(t *testing.T) {
	const (
		all   = "podSelector: {}"
		ofWeb = "podSelector: {matchLabels: {app: web}}"
		here  = "from: [{ipBlock: {cidr: 169.254.7.127/32}}]"
	)
	for _, c := range []struct {
		name     string
		policies []string
		shut     bool
	}{
		{"there is none", nil, false},
		{"nothing comes in", []string{networkPolicy(all)}, true},
		{"nothing comes in to the pod", []string{networkPolicy(ofWeb, "policyTypes: [Egress, Ingress]")}, true},
		{"it is about what goes out", []string{networkPolicy(all, "policyTypes: [Egress]")}, false},
		{"it is about another pod", []string{networkPolicy("podSelector: {matchLabels: {app: other}}")}, false},
		{"it is about another namespace", []string{strings.Replace(networkPolicy(all), "shop", "other", 1)}, false},
		{"it is of another group", []string{strings.Replace(networkPolicy(all), "networking.k8s.io/v1", "crd.projectcalico.org/v1", 1)}, false},
		{"an expression selects the pod", []string{networkPolicy("podSelector: {matchExpressions: [{key: app, operator: In, values: [a, web]}, {key: x, operator: DoesNotExist}, {key: app, operator: Exists}, {key: x, operator: NotIn, values: [y]}]}")}, true},
		{"an expression does not select the pod", []string{networkPolicy("podSelector: {matchExpressions: [{key: app, operator: NotIn, values: [web]}]}")}, false},
		{"pods come in", []string{networkPolicy(all, "ingress: [{from: [{podSelector: {}}, {namespaceSelector: {}}]}]")}, true},
		{"the kubelet comes in", []string{networkPolicy(all, "ingress: [{from: [{podSelector: {}}]}, {"+here+"}]")}, false},
		{"everybody comes in", []string{networkPolicy(all, "ingress: [{}]")}, false},
		{"everybody comes in by address", []string{networkPolicy(all, "ingress: [{from: [{ipBlock: {cidr: 0.0.0.0/0}}]}]")}, false},
		{"others come in by address", []string{networkPolicy(all, "ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8}}]}]")}, true},
		{"the kubelet is an exception", []string{networkPolicy(all, "ingress: [{from: [{ipBlock: {cidr: 0.0.0.0/0, except: [169.254.0.0/16]}}]}]")}, true},
		{"the kubelet comes in to the port", []string{networkPolicy(all, "ingress: [{"+here+", ports: [{port: 80}, {port: 8001}]}]")}, false},
		{"the kubelet comes in to ports", []string{networkPolicy(all, "ingress: [{"+here+", ports: [{port: 8000, endPort: 8100}]}]")}, false},
		{"the kubelet comes in to the port by name", []string{networkPolicy(all, "ingress: [{"+here+", ports: [{port: web}]}]")}, false},
		{"the kubelet comes in to any port", []string{networkPolicy(all, "ingress: [{"+here+", ports: [{protocol: TCP}]}]")}, false},
		{"the kubelet comes in to another port", []string{networkPolicy(all, "ingress: [{"+here+", ports: [{port: 80}, {port: 8001, protocol: UDP}, {port: 8001, protocol: SCTP}, {port: other}]}]")}, true},
		{"another policy lets it in", []string{networkPolicy(all), strings.Replace(networkPolicy(all, "ingress: [{"+here+"}]"), "name: web", "name: b", 1)}, false},
	} {
		deployment := goesTo("shop", podOf(ambientPod, app("ports: [{name: web, containerPort: 8001}]\nreadinessProbe: {exec: {command: [a]}}\nlivenessProbe: {httpGet: {port: web}}")))
		p := planNear(t, deployment+strings.Join(c.policies, ""))
		f, shut := result{Plan: p}.has("ambient-network-policy")
		if shut != c.shut {
			t.Errorf("%s: findings %v", c.name, p.Findings)
		}
		if shut && (f.Severity != transformer.Warning || f.Field.String() != tmpl+"livenessProbe" || !strings.Contains(textOf(f), "NetworkPolicy shop/web at mesh.yaml:") || !strings.Contains(textOf(f), "cidr: 169.254.7.127/32")) {
			t.Errorf("%s: %+v", c.name, f)
		}
		if _, ambient := (result{Plan: p}).has("ambient"); !ambient || len(p.Edits) > 0 {
			t.Errorf("%s: it is not left alone: %v", c.name, p.Findings)
		}
	}
	// Only there do the kubelet's connections have another source address than the node's.
	shut := networkPolicy("podSelector: {}")
	for _, c := range []struct{ metadata, spec string }{
		{injected, ""}, {"labels: {istio.io/dataplane-mode: none}", ""}, {"", ""}, {ambientPod, "hostNetwork: true\n"},
	} {
		p := planNear(t, goesTo("shop", podOf(c.metadata, c.spec+app(httpProbe)))+shut)
		if _, found := (result{Plan: p}).has("ambient-network-policy"); found {
			t.Errorf("%+v: %v", c, p.Findings)
		}
	}
}

func TestNetworkPolicy_unknownOperator(t *testing.T) {
	for operator, warned := range map[string]bool{"In": true, "Exists": true, "Gt": false, "NotIn": false, "DoesNotExist": false} {
		yaml := strings.Replace(podOf(ambientPod, app(httpProbe)), "  name: web\n", "  name: web\n  namespace: shop\n", 1) +
			networkPolicy("podSelector: {matchExpressions: [{key: app, operator: "+operator+", values: [web]}]}", "ingress: []")
		found := slices.ContainsFunc(planNear(t, yaml).Findings, func(f transformer.Finding) bool { return f.Reason.String() == "ambient-network-policy" })
		if found != warned {
			t.Errorf("%s: warned %t, want %t", operator, found, warned)
		}
	}
}
