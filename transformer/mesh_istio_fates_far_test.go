package transformer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// planIn plans the workload of a scene.
func planIn(t *testing.T, at scene, opts ...option) transformer.Plan {
	t.Helper()
	p, err := transformer.New(options(opts...))
	if err != nil {
		t.Fatal(err)
	}
	in, _, err := at.input()
	if err != nil {
		t.Fatal(err)
	}
	return p.Plan(in)
}

// What another branch of the folders says makes a certain failure open, decides nothing else, and is named.
func TestWhatIsInAnotherBranchLeavesAFailureOpen(t *testing.T) {
	peer := func(mode string) string { return peerAuthentication("p", "{mtls: {mode: "+mode+"}}") }
	policy := func(name, spec string) string {
		return "---\napiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata: {name: " + name + ", namespace: shop}\nspec: " + spec + "\n"
	}
	off := "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: disabled}}\n"
	on := strings.Replace(off, "disabled", "enabled", 1)
	const other, open = "{rules: [{to: [{operation: {paths: [/other]}}]}]}", "{rules: [{}]}"
	own := goesTo("shop", podOf("labels: {app: web, sidecar.istio.io/inject: \"true\"}", app(httpProbe)))
	for _, c := range []struct {
		name            string
		own, above, far string
		opts            []option
		fails           bool
		unless          string // what the failure depends on
	}{
		{"nothing", "", "", "", nil, true, ""},
		{"mTLS is not strict there", "", "", peer("PERMISSIVE"), nil, true, "PeerAuthentication shop/p at c/other.yaml:2 is about another cluster"},
		{"mTLS is strict there too", "", "", peer("STRICT"), nil, true, ""},
		{"mTLS is not strict here", "", peer("PERMISSIVE"), peer("STRICT"), nil, false, ""},
		{"a policy lets it in there", policy("a", other), "", policy("b", open), []option{mtls("PERMISSIVE")}, true, "AuthorizationPolicy shop/b at c/other.yaml:2 is about another cluster"},
		{"a policy lets another in there", policy("a", other), "", policy("b", other), []option{mtls("PERMISSIVE")}, true, ""},
		{"a policy above lets it in", policy("a", other), policy("b", open), "", []option{mtls("PERMISSIVE")}, false, ""},
		{"a policy refuses it there", "", "", policy("b", other), []option{mtls("PERMISSIVE")}, false, ""},
		{"injection is off there", "", "", off, nil, true, "Namespace shop at c/other.yaml:2 is about another cluster"},
		{"injection is on there", "", "", on, nil, true, ""},
		{"injection is on here", "", on, off, nil, true, ""},
		{"injection is off here", "", off, on, nil, false, ""},
	} {
		p := planIn(t, scene{own: own + c.own, above: c.above, elsewhere: c.far}, append(c.opts, injectorRewritesNothing)...)
		v := p.Probes[0]
		if (v.StrictTLS == world.Fails) != c.fails || (v.If == "") != (c.unless == "") || !strings.HasPrefix(v.If, c.unless) {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
}

// The port where Istio's agent listens need not be the one to which its injector sends probes, on either side of it.
func TestAnAgentThatListensElsewhereFailsTheInjectorsProbes(t *testing.T) {
	for port, fails := range map[string]bool{"15020": false, "15019": true, "15099": true, "80": true, "x": false} {
		r := plan(t, podOf("labels: {sidecar.istio.io/inject: \"true\"}\nannotations: {proxy.istio.io/config: 'statusPort: "+port+"'}", app(httpProbe)), injectorRewrites)
		if v := r.Probes[0]; (v.StrictTLS == world.Fails) != fails || v.If != "" || fails && !strings.Contains(v.Why, "sends it to port 15020, and istio-proxy listens on port "+port) {
			t.Errorf("%s: %+v", port, v)
		}
	}
}

// Where the mesh redirects a port, it does not matter whether a Sidecar has Envoy listen there too.
func TestARedirectedPortNeedsNoListener(t *testing.T) {
	const sidecar = "---\napiVersion: networking.istio.io/v1\nkind: Sidecar\nmetadata: {name: s, namespace: shop}\nspec:\n  workloadSelector: {labels: {pod-template-hash: x}}\n  ingress: [{port: {number: 8001}, captureMode: NONE, defaultEndpoint: '0.0.0.0:8001'}]\n"
	for annotation, isOpen := range map[string]bool{"a: b": false, "traffic.sidecar.istio.io/excludeInboundPorts: \"8001\"": true} {
		own := goesTo("shop", podOf("labels: {app: web, sidecar.istio.io/inject: \"true\"}\nannotations: {"+annotation+"}", app(httpProbe)))
		if v := planIn(t, scene{own: own + sidecar}, injectorRewritesNothing).Probes[0]; v.StrictTLS != world.Fails || strings.Contains(v.If, "the Sidecar selects the pod") != isOpen || (v.If != "") != isOpen {
			t.Errorf("%s: %+v", annotation, v)
		}
	}
}

// A Sidecar that may be about the pod may have Envoy listen before it runs, where without it the app answers. That is open
// although istio-init redirects nothing yet.
func TestAListenerThatMayBeThereLeavesAGateOpen(t *testing.T) {
	const gate = "initContainers:\n- name: db\n  image: db\n  restartPolicy: Always\n  startupProbe: {httpGet: {port: 8001}}\ncontainers: [{name: app, image: app}]\n"
	const sidecar = "---\napiVersion: networking.istio.io/v1\nkind: Sidecar\nmetadata: {name: s, namespace: shop}\nspec:\n" +
		"  workloadSelector: {labels: {kubernetes.io/hostname: x}}\n  ingress: [{port: {number: 8001}, captureMode: %s, defaultEndpoint: '0.0.0.0:8001'}]\n"
	hasInit := strings.Replace(gate, "containers: [{name: app", "- {name: istio-init, image: i, args: [istio-iptables, -b, '*']}\ncontainers: [{name: app", 1)
	for _, spec := range []string{gate, hasInit} {
		for captureMode, unless := range map[string]string{"NONE": "the Sidecar selects the pod (unknown: look in the cluster)", "IPTABLES": ""} {
			own := goesTo("shop", podOf("labels: {app: web, sidecar.istio.io/inject: \"true\"}\n", spec))
			v := planIn(t, scene{own: own + fmt.Sprintf(sidecar, captureMode)}, injectorRewritesNothing, nativeSidecars(false)).Probes[0]
			if spec == hasInit && v.If != unless || spec == gate && captureMode == "NONE" && v.StrictTLS != world.Fails {
				t.Errorf("%s: %+v\n%s", captureMode, v, spec)
			}
		}
	}
}

// An excluded interface matters only to what is redirected, and not where Envoy itself listens.
func TestAnExcludedInterfaceMattersToWhatIsRedirected(t *testing.T) {
	const sidecar = "---\napiVersion: networking.istio.io/v1\nkind: Sidecar\nmetadata: {name: s, namespace: shop}\nspec:\n" +
		"  workloadSelector: {labels: {kubernetes.io/hostname: x}}\n  ingress: [{port: {number: 8001}, captureMode: NONE, defaultEndpoint: '0.0.0.0:8001'}]\n"
	const excludes = "traffic.sidecar.istio.io/excludeInterfaces: eth0"
	for annotations, unless := range map[string]string{
		excludes: "the kubelet's connections come through no excluded interface (unknown: look in the cluster)",
		excludes + ", sidecar.istio.io/interceptionMode: NONE": "the Sidecar selects the pod (unknown: look in the cluster)",
	} {
		own := goesTo("shop", podOf("labels: {app: web, sidecar.istio.io/inject: \"true\"}\nannotations: {"+annotations+"}", app(httpProbe)))
		if v := planIn(t, scene{own: own + sidecar}, injectorRewritesNothing, nativeSidecars(true)).Probes[0]; v.StrictTLS != world.Fails || v.If != unless {
			t.Errorf("%s: %+v", annotations, v)
		}
	}
}

// The injector of Istio makes an httpGet of a tcpSocket probe, which a policy sees where the agent's own port is captured.
func TestAPolicySeesWhatTheInjectorMakesOfATCPProbe(t *testing.T) {
	const policy = "---\napiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata: {name: a, namespace: shop}\nspec: {action: DENY, rules: [{to: [{operation: {paths: ['/app-health/*']}}]}]}\n"
	for annotation, refused := range map[string]bool{"a: b": false, "traffic.sidecar.istio.io/includeInboundPorts: \"15020\"": true} {
		own := goesTo("shop", podOf("labels: {app: web, sidecar.istio.io/inject: \"true\"}\nannotations: {"+annotation+"}", app("livenessProbe: {tcpSocket: {port: 8001}}")))
		v := planIn(t, scene{own: own + policy}, injectorRewrites, mtls("PERMISSIVE")).Probes[0]
		if (v.StrictTLS == world.Fails) != refused || v.If != "" || refused && !strings.Contains(v.Why, "AuthorizationPolicy shop/a") {
			t.Errorf("%s: %+v", annotation, v)
		}
	}
}

// A pod on the network of its node is in no mesh, whatever its marks say.
func TestAProbeOnTheNodesNetworkIsUnaffected(t *testing.T) {
	for mesh, f := range meshFacts {
		r := plan(t, podOf(f.mark, "hostNetwork: true\n"+app(httpProbe+"readinessProbe: {tcpSocket: {port: 80}}\nstartupProbe: {grpc: {port: 80}}\n")), inMesh(mesh))
		for _, v := range r.Probes {
			if v.StrictTLS != world.Unaffected || v.If != "" || v.State != transformer.LeftAlone {
				t.Errorf("%s: %+v", mesh, v)
			}
		}
	}
}

// A switch that is off does not count in a pod that has the mesh's proxy.
func TestAPodThatHasTheProxyNeedsNoSwitch(t *testing.T) {
	const off = "annotations: {openservicemesh.io/sidecar-injection: disabled}"
	if r := plan(t, podOf(off, app(httpProbe)+"- name: envoy\n  image: e\n")); r.Probes[0].State != transformer.WouldRewrite {
		t.Errorf("%+v, %v", r.Probes[0], r.Findings)
	}
	wantReason(t, plan(t, podOf(off, app(httpProbe)+"- name: other\n  image: e\n")), "injection-off")
}

// The app has the time of the entry, and the kubelet that of the probe.
func TestAnEntryMustHaveTheTimeOfItsProbe(t *testing.T) {
	text := plan(t, podOf("", app("livenessProbe: {httpGet: {path: /foo, port: 8001}, timeoutSeconds: 5}"))).text
	for entry, fails := range map[string]bool{`"timeoutSeconds":5`: false, `"timeoutSeconds":9`: false, `"timeoutSeconds":4`: true} {
		v := plan(t, strings.Replace(text, `"timeoutSeconds":5`, entry, 1)).Probes[0]
		if (v.StrictTLS == world.Fails) != fails || (v.If != "") != fails {
			t.Errorf("%s: %+v", entry, v)
		}
	}
}
