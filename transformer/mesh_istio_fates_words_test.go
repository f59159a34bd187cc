package transformer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// sidecarSet adds Istio's sidecar to the pods of the tests.
func sidecarSet(args string) string {
	return "\n---\napiVersion: apps.kruise.io/v1alpha1\nkind: SidecarSet\nmetadata: {name: istio}\nspec:\n" +
		"  initContainers: [{name: istio-init, args: [" + args + "]}]\n  containers: [{name: istio-proxy}]\n"
}

// Nothing changes the istio-proxy that a SidecarSet adds: its env has no originals, and the arguments of its istio-init say
// which ports it captures.
func TestASidecarSetsProxyIsFixed(t *testing.T) {
	for args, c := range map[string]struct {
		by, who string
		reason  reason.Key
		text    string
	}{
		"-b, '*'":              {by: "probe-proxy", reason: reason.ProbePortCaptured, text: "Not rewritten: the mesh captures port 15099, the port of probe-proxy"},
		"-b, '*', -d, '15090'": {by: "auto", reason: reason.ProbePortCaptured, text: "Add 15099 to the ports after `-d` of that istio-init"},
		"-b, '*', -d, '15099'": {by: "auto", who: "probe-proxy"},
		"-b, '8001'":           {by: "probe-proxy", who: "probe-proxy"},
		"-d, '15099'":          {by: "istio-proxy", reason: reason.OptionsUnfit, text: "Not rewritten: istio-proxy does not get the originals of the probes. SidecarSet istio at mesh.yaml:20 adds it, and it has a fixed env. Set `answeredBy: probe-proxy`"},
	} {
		p := planNear(t, inNamespace(podOf("labels: {app: web}\n", app(httpProbe)))+sidecarSet(args), answeredBy(c.by))
		var found []reason.Key
		words := ""
		for _, f := range p.Findings {
			found = append(found, f.Reason)
			words += f.Text.String()
		}
		if c.reason == reason.None {
			const because = "SidecarSet istio at mesh.yaml:20 adds istio-proxy with a fixed env"
			if p.Answer.By != c.who || len(p.Edits) == 0 || len(found) > 0 || c.by == "auto" && p.Answer.Because != because {
				t.Errorf("%s: answered by %+v, findings %v, %d edits", args, p.Answer, p.Findings, len(p.Edits))
			}
			continue
		}
		if len(found) != 1 || found[0] != c.reason || !strings.Contains(words, c.text) || len(p.Edits) > 0 {
			t.Errorf("%s: %v, %q, %d edits", args, found, words, len(p.Edits))
		}
	}
}

// One probe-proxy asks one address, and a pod with two is refused: the probe that is named is at another one than the first.
func TestAnAppAtTwoAddressesIsRefused(t *testing.T) {
	const around = "\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: n, labels: {istio-injection: enabled}}\n" +
		"---\napiVersion: networking.istio.io/v1\nkind: Sidecar\nmetadata: {name: s, namespace: n}\nspec:\n" +
		"  ingress: [{port: {number: 8001}, defaultEndpoint: '127.0.0.1:8001'}, {port: {number: 8002}, defaultEndpoint: '[::1]:8002'}]\n"
	probe := func(kind string, port int) string {
		return fmt.Sprintf("%s: {httpGet: {port: %d}}\n", kind, port)
	}
	for _, c := range []struct {
		probes      string
		first, last string
		left        string // the probe that is not rewritten
	}{
		{probe("readinessProbe", 8001) + probe("livenessProbe", 8002), "127.0.0.1", "::1", "livenessProbe"},
		{probe("readinessProbe", 8002) + probe("livenessProbe", 8001), "::1", "127.0.0.1", "livenessProbe"},
	} {
		p := planNear(t, inNamespace(podOf("", app(c.probes)))+around, answeredBy("probe-proxy"))
		want := fmt.Sprintf("Not rewritten: the app listens on %s, and probe-proxy asks %s. Sidecar n/s at mesh.yaml:20 has two addresses of the pod, and probe-proxy asks one. Write the same address into each `defaultEndpoint`", c.last, c.first)
		if len(p.Findings) != 1 || p.Findings[0].Reason != reason.AppElsewhere ||
			!strings.HasPrefix(p.Findings[0].Text.String(), want) || !strings.Contains(p.Findings[0].Field.String(), c.left) {
			t.Errorf("%s: %+v\nwant %s", c.probes, p.Findings, want)
		}
		if len(p.Edits) > 0 {
			t.Errorf("%s: half of it is rewritten: %v", c.probes, p.Edits)
		}
	}
}

// What Istio does to a probe is said with its ports.
func TestWhatIstioDoesToAProbeIsSaid(t *testing.T) {
	const moved = "annotations: {proxy.istio.io/config: 'statusPort: 15030'}\n"
	const gate = "initContainers:\n- name: db\n  image: db\n  restartPolicy: Always\n  startupProbe: {httpGet: {port: 8001}}\ncontainers: [{name: app, image: app}]\n"
	const listener = "\n---\napiVersion: networking.istio.io/v1\nkind: Sidecar\nmetadata: {name: s, namespace: n}\nspec:\n" +
		"  ingress: [{port: {number: 8001, protocol: HTTP, name: http}, captureMode: NONE, defaultEndpoint: \"127.0.0.1:8001\"}]\n"
	around := "\n---\n" + strings.TrimSuffix(namespace("istio-injection: enabled", ""), "---\n")
	for name, c := range map[string]struct {
		text string
		opts []option
		want string
	}{
		"another status port": {podOf(injected+moved, app(httpProbe)), []option{injectorRewrites}, "Istio's injector sends it to port 15020, and istio-proxy listens on port 15030"},
		"Envoy's port, early": {podOf("", gate) + around + listener, []option{injectorRewritesNothing, nativeSidecars(false)}, "istio-proxy listens there instead of the app, and does not run yet"},
	} {
		p := planNear(t, inNamespace(c.text), c.opts...)
		if v := p.Probes[0]; v.StrictTLS != world.Fails || v.Why != c.want {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
