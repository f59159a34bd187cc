package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

var inOSM = inMesh("osm")

func init() {
	configurations["osm"] = []option{inOSM}
}

// Neither mesh captures the port, so that the pods need no annotation for it.
func TestInOSMAndFSMEverythingIsRewrittenToOnePort(t *testing.T) {
	before := podOf("", app("ports: [{name: web, containerPort: 14001}]\nreadinessProbe: {httpGet: {path: /r, port: 14443, scheme: HTTPS}}\nlivenessProbe: {httpGet: {path: /l, port: 14001}, timeoutSeconds: 7}\nstartupProbe: {tcpSocket: {port: 14001}}\nlifecycle: {preStop: {httpGet: {path: /stop, port: 14001}}}")+
		"- name: b\n  image: b\n  readinessProbe: {httpGet: {path: /b, port: 8443, scheme: HTTPS}}\n  livenessProbe: {grpc: {port: 9000}}\n")
	for mesh, title := range map[string]string{"osm": "Open Service Mesh", "fsm": "Flomesh Service Mesh"} {
		r := plan(t, before, inMesh(mesh))
		wantParts(t, r.text,
			"readinessProbe: {httpGet: {path: /app-health/app/readyz, port: 15904, scheme: HTTP}}",
			"livenessProbe: {httpGet: {path: /app-health/app/livez, port: 15904}, timeoutSeconds: 7}",
			"startupProbe: {httpGet: {path: /app-health/app/startupz, port: 15904}}",
			"preStop: {httpGet: {path: /app-lifecycle/app/prestopz, port: 15904}}",
			"readinessProbe: {httpGet: {path: /app-health/b/readyz, port: 15904, scheme: HTTP}}",
			"livenessProbe: {httpGet: {path: /app-health/b/livez, port: 15904}}",
			"args:\n        - \"--port=15904\"\n", "- wait\n              - \"--port=15904\"\n",
		)
		if r.env() != plan(t, before).env() || strings.Contains(r.text, "annotations:") || len(r.Findings) > 0 || r.Answer.Port != 15904 || r.Answer.Mesh != title {
			t.Errorf("%s: findings %v, answer %+v in\n%s", mesh, r.Findings, r.Answer, r.text)
		}
		wantNoEdits(t, plan(t, r.text, inMesh(mesh)))
		wantText(t, restore(t, r.text), before)
	}
}

func TestWhatOSMDoesNotCaptureIsLeftAlone(t *testing.T) {
	for name, yaml := range map[string]string{
		"excluded":  podOf("annotations: {openservicemesh.io/inbound-port-exclusion-list: \"70, 80\"}", app("livenessProbe: {httpGet: {port: 80}}")),
		"metrics":   podOf("", app("livenessProbe: {httpGet: {port: 15010}}")),
		"disabled":  podOf("annotations: {openservicemesh.io/sidecar-injection: disabled}", app("livenessProbe: {httpGet: {port: 80}}")),
		"namespace": namespace("", "openservicemesh.io/sidecar-injection: \"no\"") + inNamespace(podOf("", app("livenessProbe: {httpGet: {port: 80}}"))),
	} {
		if r := plan(t, yaml, inOSM); r.text != yaml || r.Probes[0].StrictTLS != world.Unaffected {
			t.Errorf("%s: %+v in\n%s", name, r.Probes[0], r.text)
		}
	}
}

func TestTheInjectorOfOSMIsWarnedOf(t *testing.T) {
	const on = "openservicemesh.io/sidecar-injection: enabled"
	wantReason(t, plan(t, podOf("annotations: {"+on+"}", app(httpProbe)), inOSM), "osm-injector")
	wantReason(t, plan(t, namespace("", on)+inNamespace(podOf("", app(httpProbe))), inOSM), "osm-injector")
	if r := plan(t, podOf("annotations: {"+on+"}", app("")), inOSM); len(r.Findings) != 0 {
		t.Errorf("nothing to rewrite, and %v", r.Findings)
	}
	// A container of ours is not OSM's proxy, whatever its name.
	ours := plan(t, podOf("annotations: {x: y}", app(httpProbe)), func(o *transformer.Options) { o.ProbeProxy.Name = "envoy" })
	marked := strings.Replace(ours.text, "{x: y", "{"+on, 1)
	wantText(t, plan(t, marked, inOSM), podOf("annotations: {"+on+"}", app(httpProbe)))
	wantReason(t, plan(t, podOf("annotations: {openservicemesh.io/inbound-port-exclusion-list: x}", app(httpProbe)), inOSM), "port-list-invalid")
}

func TestAPortOfOSMThatTheAppHasIsAnError(t *testing.T) {
	f := wantReason(t, plan(t, podOf("", app(httpProbe+"ports: [{containerPort: 15904}]")), inOSM), "port-taken")
	if strings.Contains(textOf(f), "functionConfig") {
		t.Errorf("%s, but the port cannot be configured", textOf(f))
	}
	if r := plan(t, podOf("", app(httpProbe+"ports: [{containerPort: 15902}]")), inOSM); len(r.Findings) > 0 || len(r.Edits) == 0 {
		t.Errorf("findings %v", r.Findings)
	}
}

func TestOptionsThatOSMCannotHaveAreRefused(t *testing.T) {
	for want, opt := range map[string]option{
		"in this mesh it is always 15904":                                port(15098),
		"must be auto, probe-proxy or app with `mesh: osm`":              answeredBy("istio-proxy"),
		"\"1500\" must not be that of Open Service Mesh's own proxy":     func(o *transformer.Options) { o.ProbeProxy.SecurityContext = mapOf("runAsUser", 1500) },
		"\"ISTIO_KUBE_APP_PROBERS\" is written by rewrite-probes itself": func(o *transformer.Options) { o.ProbeProxy.Env = listOf(mapOf("name", "ISTIO_KUBE_APP_PROBERS")) },
		"\"envoy\" is the name of Open Service Mesh's own sidecar":       func(o *transformer.Options) { o.ProbeProxy.Name = "envoy" },
	} {
		if _, err := transformer.New(options(inOSM, opt)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v must have %q", err, want)
		}
	}
}

// The tests below are named for mistakes of Open Service Mesh's own injector.

func TestAnUnresolvedPortNameDoesNotBecomePortZero(t *testing.T) {
	before := podOf("", app("livenessProbe: {httpGet: {port: web}}\nreadinessProbe: {tcpSocket: {port: web}}"))
	r := plan(t, before, inOSM)
	wantReason(t, r, "port-unresolved")
	wantText(t, r, before)
}

func TestTimeoutsAreNotClampedToASecond(t *testing.T) {
	r := plan(t, podOf("", app("livenessProbe: {httpGet: {port: 80}, timeoutSeconds: 30}\nreadinessProbe: {tcpSocket: {port: 80}, timeoutSeconds: 20}")), inOSM)
	if env := r.env(); !strings.Contains(env, `"timeoutSeconds":30`) || !strings.Contains(env, `"timeoutSeconds":20`) || strings.Count(r.text, "timeoutSeconds: ") != 2 {
		t.Errorf("env %s in\n%s", env, r.text)
	}
}

func TestAHostIsNotLeftInAProbeThatOSMRewrites(t *testing.T) {
	before := podOf("", app("livenessProbe: {httpGet: {host: example.com, port: 80}}\nreadinessProbe: {tcpSocket: {host: example.com, port: 80}}"))
	wantText(t, plan(t, before, inOSM), before)
}

func mapOf(key string, value field.Value) field.Map { return field.Map{{Key: key, Value: value}} }

func listOf(values ...field.Value) field.List { return values }

// The proxy in the template shows that its injection is over: the switch is only named.
func TestATemplateWithTheProxyOfOSMIsRewrittenWhateverItsSwitch(t *testing.T) {
	for _, on := range []string{"enabled", "disabled", "maybe"} {
		r := plan(t, podOf("annotations: {openservicemesh.io/sidecar-injection: "+on+"}", app(httpProbe)+"- name: envoy\n  image: e\n"), inOSM)
		if _, named := r.has("osm-injector"); r.Probes[0].State != transformer.WouldRewrite || named != (on == "enabled") {
			t.Errorf("%s: %+v, %v", on, r.Probes[0], r.Findings)
		}
	}
}
