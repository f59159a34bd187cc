package transformer_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/authz"
	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// pods returns the pods of a Deployment web.
func pods(namespace string, labels field.KeyValues) *surroundings.Pods {
	return &surroundings.Pods{Namespace: namespace, Kind: "Deployment", Name: "web", Labels: labels, Spec: webSpec}
}

// probeOf returns the kubelet's GET /healthz of a port.
func probeOf(port int) *authz.Request {
	return &authz.Request{Method: "GET", Path: authz.Known("/healthz"), Host: authz.HostOf(strconv.Itoa(port)), Port: port}
}

// authorization returns an AuthorizationPolicy "namespace/name" with the lines of its
// spec.
func authorization(name string, spec ...string) string {
	return strings.ReplaceAll(peer(name, spec...), "PeerAuthentication", "AuthorizationPolicy")
}

// Istio's rules: pilot/pkg/security/authz/model. The kubelet has no identity, and its address is
// not known.
func TestAProbeIsRefusedByPoliciesThatApply(t *testing.T) {
	const (
		deny       = "action: DENY"
		ofWeb      = "selector: {matchLabels: {app: web}}"
		ofOther    = "selector: {matchLabels: {app: other}}"
		identified = "rules: [{from: [{source: {principals: ['*']}}]}]"
		anonymous  = "rules: [{from: [{source: {notPrincipals: ['*']}}]}]"
		anybody    = "rules: [{}]"
	)
	for _, c := range []struct {
		name   string
		yaml   string
		denied string // by which policy, after "maybe " if that is not certain
	}{
		{"there is no policy", podOf("", app(httpProbe)), ""},
		{"who has no identity is refused", authorization("shop/deny", deny, anonymous), "shop/deny"},
		{"who has no namespace is refused", authorization("shop/deny", deny, "rules: [{from: [{source: {notNamespaces: [shop]}}]}]"), "shop/deny"},
		{"who has no token is refused", authorization("shop/deny", deny, "rules: [{from: [{source: {notRequestPrincipals: ['*']}}]}]"), "shop/deny"},
		{"who has an identity is refused", authorization("shop/deny", deny, identified), ""},
		{"everybody is refused", authorization("shop/deny", deny, anybody), "shop/deny"},
		{"a rule is null", authorization("shop/deny", deny, "rules: [null]"), ""},
		{"DENY has no rule", authorization("shop/deny", deny), ""},
		{"the port is refused", authorization("shop/deny", deny, "rules: [{to: [{operation: {ports: ['8080', '9090']}}]}]"), "shop/deny"},
		{"another port is refused", authorization("shop/deny", deny, "rules: [{to: [{operation: {ports: ['9090']}}]}]"), ""},
		{"every port but another is refused", authorization("shop/deny", deny, "rules: [{to: [{operation: {notPorts: ['9090']}}]}]"), "shop/deny"},
		{"every port but this is refused", authorization("shop/deny", deny, "rules: [{to: [{operation: {notPorts: ['8080']}}]}]"), ""},
		{"the port is refused by a condition", authorization("shop/deny", deny, "rules: [{when: [{key: destination.port, values: ['8080']}]}]"), "shop/deny"},
		{"only some paths are refused", authorization("shop/deny", deny, "rules: [{to: [{operation: {paths: [/admin*]}}]}]"), ""},
		{"all paths but some are refused", authorization("shop/deny", deny, "rules: [{to: [{operation: {notPaths: [/healthz]}}]}]"), ""},
		{"an address is refused", authorization("shop/deny", deny, "rules: [{from: [{source: {ipBlocks: [10.0.0.0/8]}}]}]"), "maybe shop/deny"},
		{"one of two sources matches", authorization("shop/deny", deny, "rules: [{from: [{source: {ipBlocks: [10.0.0.0/8]}}, {source: {notPrincipals: ['*']}}]}]"), "shop/deny"},
		{"one of two entries of a source may match", authorization("shop/deny", deny, "rules: [{from: [{source: {ipBlocks: [10.0.0.0/8], notPrincipals: ['*']}}]}]"), "maybe shop/deny"},
		{"a condition does not match", authorization("shop/deny", deny, "rules: [{from: [{source: {notPrincipals: ['*']}}], when: [{key: 'request.headers[x]', values: [y]}]}]"), ""},
		{"a field is not known", authorization("shop/deny", deny, "rules: [{from: [{source: {notPrincipals: ['*'], colours: [red]}}]}]"), "maybe shop/deny"},
		{"a field has another type", authorization("shop/deny", deny, "rules: [{from: [{source: {notPrincipals: '*'}}]}]"), "maybe shop/deny"},
		{"an empty list is no condition", authorization("shop/deny", deny, "rules: [{from: [{source: {principals: []}}], when: [{key: source.namespace, notValues: [x]}]}]"), "shop/deny"},
		{"the policy is only audited", authorization("shop/deny", "action: AUDIT", anonymous), ""},
		{"another server decides", authorization("shop/deny", "action: CUSTOM", "provider: {name: x}", anonymous), "maybe shop/deny"},
		{"the policy is tried out", strings.Replace(authorization("shop/deny", deny, anonymous), "metadata:", "metadata:\n  annotations: {istio.io/dry-run: 'true'}", 1), ""},
		{"the policy is for a waypoint", authorization("shop/deny", deny, "targetRefs: [{kind: Service, group: '', name: web}]", anonymous), ""},
		{"the policy is for a gateway", authorization("shop/deny", deny, "targetRef: {kind: Gateway, group: g, name: web}", anonymous), ""},
		{"the policy is invalid", authorization("shop/deny", deny, "rules: {}"), ""},
		{"the policy selects the pod", authorization("shop/deny", deny, ofWeb, anonymous), "shop/deny"},
		{"the policy selects another pod", authorization("shop/deny", deny, ofOther, anonymous), ""},
		{"the policy is in another namespace", authorization("other/deny", deny, anonymous), ""},
		{"the policy is about the mesh", authorization("istio-system/deny", deny, anonymous), "istio-system/deny"},
		{"the mesh's policy selects the pod", authorization("istio-system/deny", deny, ofWeb, anonymous), "istio-system/deny"},
		{"two of one name contradict each other", authorization("shop/deny", deny, anonymous) + authorization("shop/deny", deny, identified), "maybe shop/deny"},

		{"identities are allowed", authorization("shop/allow", identified), "shop/allow"},
		{"ALLOW is the action by default", authorization("shop/allow", "action: ALLOW", identified), "shop/allow"},
		{"namespaces, service accounts and tokens are allowed", authorization("shop/allow", "rules: [{from: [{source: {namespaces: [a]}}, {source: {serviceAccounts: [a/b]}}, {source: {requestPrincipals: ['*']}}]}, {when: [{key: 'request.auth.claims[iss]', values: [a]}]}]"), "shop/allow"},
		{"nothing is allowed", authorization("shop/allow", "{}"), "shop/allow"},
		{"everything is allowed", authorization("shop/allow", anybody), ""},
		{"a path is allowed", authorization("shop/allow", identified[:len(identified)-1]+", {to: [{operation: {paths: [/healthz]}}]}]"), ""},
		{"another port is allowed", authorization("shop/allow", "rules: [{to: [{operation: {ports: ['9090']}}]}]"), "shop/allow"},
		{"another policy allows the port", authorization("shop/allow", identified) + authorization("istio-system/probes", "rules: [{to: [{operation: {ports: ['8080']}}]}]"), ""},
		{"another policy allows another pod", authorization("shop/allow", identified) + authorization("shop/probes", ofOther, anybody), "shop/allow"},
		{"only another pod's policy allows anything", authorization("shop/probes", ofOther, identified), ""},
		{"the mesh refuses what no policy allows", authorization("istio-system/nothing", "{}"), "istio-system/nothing"},
		{"one of two of one name allows it", authorization("shop/allow", identified) + authorization("shop/allow", anybody), "maybe shop/allow"},
		{"who is refused is not allowed", authorization("shop/allow", anybody) + authorization("shop/deny", deny, anonymous), "shop/deny"},
	} {
		yaml := strings.TrimPrefix(c.yaml, "---\n")
		r := near(t, "shop", yaml).Refuses(rootNamespace, pods("shop", webLabels), probeOf(8080))
		by, line, _ := strings.Cut(strings.TrimPrefix(r.By, "AuthorizationPolicy "), " at mesh.yaml:")
		if r.Is == certain.Maybe {
			by = "maybe " + by
		}
		if by != c.denied || (by == "") != (line == "") || (by == "") != (r.Is == certain.Never) {
			t.Errorf("%s: %v, want %q", c.name, r, c.denied)
		}
	}
}

func TestADenialOfAPodThatIsNotKnownIsNotCertain(t *testing.T) {
	all := authorization("istio-system/all", "action: DENY", "rules: [{from: [{source: {notNamespaces: ['*']}}], to: [{operation: {ports: ['1']}}]}]")
	for _, c := range []struct {
		name, namespace string
		labels          field.KeyValues
		port            int
		denied          bool
	}{
		{"all is known", "shop", webLabels, 8080, true},
		{"its labels are not", "shop", nil, 8080, false},
		{"it has none", "shop", field.KeyValues{}, 8080, false},
		{"its namespace is not", "", webLabels, 8080, false},
		{"its namespace is not, but the mesh refuses it", "", nil, 1, true},
	} {
		yaml := strings.TrimPrefix(all+authorization("shop/web", "selector: {matchLabels: {app: web}}")+authorization("/web", "{}"), "---\n")
		r := near(t, c.namespace, yaml).Refuses(rootNamespace, pods(c.namespace, c.labels), probeOf(c.port))
		if (r.Is == certain.Always) != c.denied {
			t.Errorf("%s: %v", c.name, r)
		}
	}
	yaml := strings.TrimPrefix(authorization("istio-system/all", "rules: [{from: [{source: {principals: ['*']}}]}]")+authorization("/probes", "rules: [{}]"), "---\n")
	if r := near(t, "", yaml).Refuses(rootNamespace, pods("", webLabels), probeOf(8080)); r.Is != certain.Maybe {
		t.Errorf("what a policy without a namespace may let in: %v", r)
	}
	shop := near(t, "shop", strings.TrimPrefix(authorization("shop/nothing", "{}"), "---\n"))
	if r := shop.Refuses(rootNamespace, pods("other", webLabels), probeOf(8080)); r.Is != certain.Never {
		t.Errorf("a pod of another namespace: %v", r)
	}
}

// A rule about paths allows a request, and no connection. Which of the two Envoy sees, Services say; if they
// contradict each other, either may be so.
func TestServicesDecideWhatAPolicySees(t *testing.T) {
	pod := goesTo("shop", podOf("labels: {app: web, sidecar.istio.io/inject: \"true\"}", app("livenessProbe: {httpGet: {path: /foo, port: 8001}}")))
	of := func(name string) string {
		return "---\n" + strings.Replace(service("selector: {app: web}", "ports: [{name: "+name+", port: 8001}]"), "name: web", "name: of-"+name, 1)
	}
	allow, deny := authorization("shop/a", "rules: [{to: [{operation: {paths: [/foo]}}]}]"), authorization("shop/a", "action: DENY", "rules: [{to: [{operation: {paths: [/bar]}}]}]")
	for _, c := range []struct {
		name, yaml string
		is         certain.Certainty // whether it fails
	}{
		{"a request is allowed", allow, certain.Never},
		{"a request is allowed, which a Service declares", of("http") + allow, certain.Never},
		{"what is sniffed is a request", of("web") + allow, certain.Never},
		{"a connection is not allowed", of("tcp") + allow, certain.Always},
		{"a request is allowed, or a connection is not", of("tcp") + of("http") + allow, certain.Maybe},
		{"a request is allowed, or a connection is not, in another order", of("web") + of("tcp") + allow, certain.Maybe},
		{"another path is denied", deny, certain.Never},
		{"a connection is denied", of("tcp") + deny, certain.Always},
		{"another path is denied, or a connection", of("http") + of("tcp") + deny, certain.Maybe},
	} {
		v := planNear(t, pod+c.yaml, mtls("PERMISSIVE"), injectorRewritesNothing).Probes[0]
		is := certain.Of(v.StrictTLS == world.Fails)
		if v.If != "" {
			is = certain.Maybe
		}
		if is != c.is || is != certain.Never && !strings.Contains(v.Why, "AuthorizationPolicy shop/a") {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
}

// Of several Host headers the kubelet sends the first, and of others all, which Envoy compares one by one.
func TestAPolicySeesTheHeadersThatTheKubeletSends(t *testing.T) {
	const headers = "[{name: Host, value: a.example}, {name: X-A, value: b}, {name: host, value: other.example}, {name: x-a, value: c}]"
	pod := goesTo("shop", podOf("labels: {app: web, sidecar.istio.io/inject: \"true\"}", app("livenessProbe: {httpGet: {path: /foo, port: 8001, httpHeaders: "+headers+"}}")))
	for rule, allowed := range map[string]bool{
		"to: [{operation: {hosts: [A.example]}}]":                             true,
		"to: [{operation: {hosts: [other.example]}}]":                         false,
		"when: [{key: 'request.headers[host]', values: [a.example]}]":         true,
		"when: [{key: 'request.headers[X-A]', values: ['b,c']}]":              false,
		"when: [{key: 'request.headers[x-a]', values: [c]}]":                  true,
		"when: [{key: 'request.headers[x-a]', notValues: [b]}]":               false,
		"when: [{key: 'request.headers[accept]', values: ['*/*']}]":           true,
		"when: [{key: 'request.headers[user-agent]', values: [kube*]}]":       true,
		"when: [{key: 'request.headers[user-agent]', values: [curl*]}]":       false,
		"to: [{operation: {methods: [GET], paths: [/foo], ports: ['8001']}}]": true,
	} {
		v := planNear(t, pod+authorization("shop/a", "rules: [{"+rule+"}]"), mtls("PERMISSIVE"), injectorRewritesNothing).Probes[0]
		if (v.StrictTLS == world.Unaffected) != allowed || v.If != "" {
			t.Errorf("%s: %+v", rule, v)
		}
	}
}
