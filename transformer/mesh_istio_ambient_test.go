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
		{"it is of another group", []string{strings.Replace(networkPolicy(all), "networking.k8s.io/v1", "example.com/v1", 1)}, false},
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

// Rules of Cilium and Calico that are understood decide; what is not, leaves it open.
func TestNetworkPolicy_ofPlugins(t *testing.T) {
	const (
		cilium   = "---\napiVersion: cilium.io/v2\nkind: CiliumNetworkPolicy\nmetadata: {name: web, namespace: shop}\nspec: "
		clusterw = "---\napiVersion: cilium.io/v2\nkind: CiliumClusterwideNetworkPolicy\nmetadata: {name: web}\nspec: "
		calico   = "---\napiVersion: projectcalico.org/v3\nkind: NetworkPolicy\nmetadata: {name: web, namespace: shop}\nspec: "
		global   = "---\napiVersion: crd.projectcalico.org/v1\nkind: GlobalNetworkPolicy\nmetadata: {name: web}\nspec: "
		web      = "endpointSelector: {matchLabels: {app: web}}, "
		here     = "169.254.7.127/32"
		does     = " does not let the kubelet's probes in to port 8001"
		may      = " may not let the kubelet's probes in to port 8001"
	)
	set := "---\napiVersion: projectcalico.org/v3\nkind: GlobalNetworkSet\nmetadata: {name: kubelet, labels: {a: b}}\nspec: {nets: [" + here + "]}\n"
	for _, c := range []struct{ policies, want string }{
		{cilium + "{" + web + "ingress: [{}]}", does},
		{cilium + "{" + web + "ingress: [{fromEndpoints: [{}]}]}", does},
		{cilium + "{endpointSelector: {matchLabels: {'k8s:app': web, 'k8s:io.kubernetes.pod.namespace': shop}}, ingress: [{fromEntities: [host, cluster]}]}", does},
		{cilium + "{" + web + "egress: [{}]}", ""},
		{cilium + "{" + web + "ingress: []}", ""},
		{cilium + "{nodeSelector: {}, ingress: [{}]}", ""},
		{cilium + "{endpointSelector: {matchLabels: {app: other}}, ingress: [{}]}", ""},
		{cilium + "{endpointSelector: {matchLabels: {'reserved:host': ''}}, ingress: [{}]}", ""},
		{cilium + "{endpointSelector: {matchLabels: {'io.cilium.k8s.policy.serviceaccount': a}}, ingress: [{}]}", ""},
		{cilium + "{" + web + "ingress: [{}], enableDefaultDeny: {ingress: false}}", ""},
		{cilium + "{" + web + "ingress: [{fromCIDR: [" + here + "]}]}", ""},
		{cilium + "{" + web + "ingress: [{fromCIDRSet: [{cidr: 0.0.0.0/0}]}]}", ""},
		{cilium + "{" + web + "ingress: [{fromCIDRSet: [{cidr: 0.0.0.0/0, except: [169.254.0.0/16]}]}]}", does},
		{cilium + "{" + web + "ingress: [{fromCIDRSet: [{cidrGroupRef: nodes}]}]}", may},
		{cilium + "{" + web + "ingress: [{fromEntities: [world]}]}", ""},
		{cilium + "{" + web + "ingress: [{toPorts: [{ports: [{port: '8001', protocol: TCP}]}]}]}", ""},
		{cilium + "{" + web + "ingress: [{toPorts: [{ports: [{port: web, protocol: ANY}]}]}]}", ""},
		{cilium + "{" + web + "ingress: [{toPorts: [{ports: [{port: '8000', endPort: 8100}]}]}]}", ""},
		{cilium + "{" + web + "ingress: [{toPorts: [{ports: [{port: '0'}]}]}]}", ""},
		{cilium + "{" + web + "ingress: [{toPorts: [{ports: [{port: '80'}]}]}]}", does},
		{cilium + "{" + web + "ingress: [{toPorts: [{ports: [{port: '8001', protocol: UDP}]}]}]}", does},
		{cilium + "{" + web + "ingress: [{toPorts: [{ports: [{port: '8001'}], rules: {http: [{path: /}]}}]}]}", may},
		{cilium + "{" + web + "ingress: [{fromEntities: [all], authentication: {mode: required}}]}", may},
		{cilium + "{" + web + "ingress: [{fromEndpoints: [{matchLabels: {'reserved:world': ''}}]}]}", may},
		{cilium + "{" + web + "ingress: [{fromEntities: [all]}], ingressDeny: [{fromCIDR: [169.254.0.0/16]}]}", does},
		{cilium + "{" + web + "ingressDeny: [{fromCIDR: [10.0.0.0/8]}]}", does},
		{strings.Replace(cilium, "spec: ", "specs: ", 1) + "[{" + web + "ingress: [{}]}, {" + web + "ingress: [{fromEntities: [all]}]}]", ""},
		{clusterw + "{endpointSelector: {}, ingress: [{}]}", does},
		{clusterw + "{endpointSelector: {}, ingress: [{fromEndpoints: [{}]}]}", may},
		{clusterw + "{endpointSelector: {matchLabels: {'k8s:io.cilium.k8s.namespace.labels.a': b}}, ingress: [{}]}", ""},
		{calico + "{ingress: []}", does},
		{calico + "{types: [Egress]}", ""},
		{calico + "{egress: [{action: Deny}]}", ""},
		{calico + "{selector: app == 'web', types: [Ingress]}", does},
		{calico + "{selector: app == 'other', types: [Ingress]}", ""},
		{calico + "{selector: this is nothing, types: [Ingress]}", ""},
		{calico + "{ingress: [{action: Allow, protocol: TCP, destination: {ports: [8001]}}]}", ""},
		{calico + "{ingress: [{action: Allow, protocol: 6, destination: {ports: ['8000:8100']}}]}", ""},
		{calico + "{ingress: [{action: Allow, protocol: TCP, destination: {ports: [web]}}]}", ""},
		{calico + "{ingress: [{action: Allow, protocol: TCP, destination: {ports: [80]}}]}", does},
		{calico + "{ingress: [{action: Allow, protocol: UDP}]}", does},
		{calico + "{ingress: [{action: Allow, source: {nets: [" + here + "]}}]}", ""},
		{calico + "{ingress: [{action: Allow, source: {nets: [10.0.0.0/8]}}]}", does},
		{calico + "{ingress: [{action: Allow, source: {notNets: [169.254.0.0/16]}}]}", does},
		{calico + "{ingress: [{action: Allow, source: {selector: app == 'a'}}]}", does},
		{calico + "{ingress: [{action: Allow, source: {selector: app == 'a'}}]}\n" + set, may},
		{calico + "{ingress: [{action: Deny, source: {selector: app == 'a'}}, {action: Log}, {action: Allow}]}", ""},
		{calico + "{ingress: [{action: Allow, destination: {nets: [10.0.0.0/8]}}]}", may},
		{calico + "{ingress: [{action: Allow, http: {methods: [GET]}}]}", may},
		{calico + "{ingress: [{action: Deny, destination: {selector: app == 'web'}}, {action: Allow}]}", does},
		{calico + "{ingress: [{action: Pass}]}", ""},
		{calico + "{tier: security, ingress: [{action: Pass}]}", ""},
		{calico + "{tier: security, ingress: [{action: Deny}]}", does},
		{calico + "{tier: security, ingress: [{action: Allow, source: {nets: [10.0.0.0/8]}}]}", may},
		{global + "{selector: all(), namespaceSelector: projectcalico.org/name == 'shop', types: [Ingress]}", does},
		{global + "{namespaceSelector: kubernetes.io/metadata.name != 'shop', types: [Ingress]}", ""},
		{global + "{namespaceSelector: a == 'b', types: [Ingress]}", ""},
		{global + "{serviceAccountSelector: a == 'b', types: [Ingress]}", ""},
		{global + "{selector: projectcalico.org/orchestrator == 'k8s', order: 10, ingress: [{action: Deny}]}\n" + calico + "{ingress: [{action: Allow}]}", does},
		{global + "{order: 2000.5, ingress: [{action: Deny}]}\n" + calico + "{order: 5, ingress: [{action: Allow}]}", ""},
		{global + "{types: [Ingress], doNotTrack: true, applyOnForward: true}", ""},
		{networkPolicy("podSelector: {}") + clusterw + "{endpointSelector: {}, enableDefaultDeny: {ingress: false}, ingress: [{fromCIDR: [" + here + "]}]}", ""},
		{networkPolicy("podSelector: {}") + global + "{order: 5, ingress: [{action: Allow, source: {nets: [" + here + "]}}]}", ""},
		{networkPolicy("podSelector: {}", "ingress: [{}]") + global + "{order: 5, ingress: [{action: Deny}]}", does},
		{"---\napiVersion: vpcresources.k8s.aws/v1beta1\nkind: SecurityGroupPolicy\nmetadata: {name: web, namespace: shop}\nspec: {podSelector: {matchLabels: {app: web}}}", may},
		{"---\napiVersion: vpcresources.k8s.aws/v1beta1\nkind: SecurityGroupPolicy\nmetadata: {name: web, namespace: shop}\nspec: {podSelector: {matchLabels: {app: other}}}", ""},
	} {
		deployment := goesTo("shop", podOf(ambientPod, app("ports: [{name: web, containerPort: 8001}]\nlivenessProbe: {httpGet: {port: web}}")))
		f, found := result{Plan: planNear(t, deployment+c.policies+"\n")}.has("ambient-network-policy")
		if found != (c.want != "") || found && (!strings.Contains(textOf(f), c.want) || !strings.Contains(textOf(f), " at mesh.yaml:")) {
			t.Errorf("%s:\n%q, want %q", c.policies, textOf(f), c.want)
		}
	}
}

// Each kind of policy has the fix in its own words.
func TestNetworkPolicy_theFixIsInThePolicysWords(t *testing.T) {
	for policy, want := range map[string]string{
		"networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {}":                                                   "Add `from: [{ipBlock: {cidr: 169.254.7.127/32}}]` to a rule.",
		"cilium.io/v2, kind: CiliumNetworkPolicy, spec: {endpointSelector: {}, ingress: [{}]":                                 "Add `{fromCIDR: [169.254.7.127/32]}` to its `ingress`.",
		"cilium.io/v2, kind: CiliumNetworkPolicy, spec: {endpointSelector: {}, ingressDeny: [{fromEntities: [all]}]":          "Take 169.254.7.127 out of its `ingressDeny`.",
		"projectcalico.org/v3, kind: NetworkPolicy, spec: {types: [Ingress]":                                                  "Put `{action: Allow, source: {nets: [169.254.7.127/32]}}` first in its `ingress`.",
		"vpcresources.k8s.aws/v1beta1, kind: SecurityGroupPolicy, spec: {securityGroups: {groupIds: [sg-1]}, podSelector: {}": "Set `POD_SECURITY_GROUP_ENFORCING_MODE` of the VPC CNI to `standard`.",
	} {
		near := "---\n{metadata: {name: web, namespace: shop}, apiVersion: " + policy + "}}\n"
		f, _ := result{Plan: planNear(t, goesTo("shop", podOf(ambientPod, app(httpProbe)))+near)}.has("ambient-network-policy")
		if !strings.HasSuffix(textOf(f), want) {
			t.Errorf("%s: %q, want %q", policy, textOf(f), want)
		}
	}
}

// What the warning says to do, done, ends it: of a policy that keeps all out, of each kind.
func TestNetworkPolicy_theFixEndsTheWarning(t *testing.T) {
	for _, c := range []struct{ group, kind, spec, fix string }{
		{"networking.k8s.io/v1", "NetworkPolicy", "podSelector: {}, ingress: [%s]", "{%s}"},
		{"cilium.io/v2", "CiliumNetworkPolicy", "endpointSelector: {}, ingress: [%s]", "%s"},
		{"cilium.io/v2", "CiliumClusterwideNetworkPolicy", "endpointSelector: {}, ingress: [%s]", "%s"},
		{"projectcalico.org/v3", "NetworkPolicy", "types: [Ingress], ingress: [%s]", "%s"},
		{"projectcalico.org/v3", "GlobalNetworkPolicy", "types: [Ingress], ingress: [%s]", "%s"},
	} {
		with := func(rule string) (transformer.Finding, bool) {
			policy := "---\napiVersion: " + c.group + "\nkind: " + c.kind + "\nmetadata: {name: web, namespace: shop}\nspec: {" + strings.Replace(c.spec, "%s", rule, 1) + "}\n"
			return result{Plan: planNear(t, goesTo("shop", podOf(ambientPod, app(httpProbe)))+policy)}.has("ambient-network-policy")
		}
		none := ""
		if strings.HasPrefix(c.kind, "Cilium") {
			none = "{}" // an empty list is no policy
		}
		f, found := with(none)
		parts := strings.Split(textOf(f), "`")
		if !found || len(parts) < 5 {
			t.Errorf("%s: %q", c.kind, textOf(f))
			continue
		}
		if f, found := with(strings.Replace(c.fix, "%s", parts[3], 1)); found {
			t.Errorf("%s: %s does not end it: %q", c.kind, parts[3], textOf(f))
		}
	}
}
