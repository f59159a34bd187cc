package transformer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// Istio's Sidecar may say that the app listens on 127.0.0.1 alone, where Envoy reaches it and
// istio-proxy's agent does not.
func TestProbeProxy_asksWhereTheAppListens(t *testing.T) {
	const native = "labels: {app: web, sidecar.istio.io/inject: \"true\"}\nannotations: {sidecar.istio.io/nativeSidecar: \"true\"}\n"
	sidecar := func(namespace, selector, port, endpoint string) string {
		return "apiVersion: networking.istio.io/v1\nkind: Sidecar\nmetadata: {name: s, namespace: " + namespace + "}\nspec:\n" + selector +
			"  ingress:\n  - port: {number: " + port + ", protocol: HTTP, name: http}\n    defaultEndpoint: " + endpoint + "\n---\n"
	}
	const web, other = "  workloadSelector: {labels: {app: web}}\n", "  workloadSelector: {labels: {app: other}}\n"
	const eight, six = "127.0.0.1:8001", "'[::1]:8001'"
	for name, c := range map[string]struct {
		sidecar string
		local   string
	}{
		"the probe's port":         {sidecar("n", web, "8001", eight), "127.0.0.1"},
		"of the whole namespace":   {sidecar("n", "", "8001", eight), "127.0.0.1"},
		"labels that are added":    {sidecar("n", "  workloadSelector: {labels: {pod-template-hash: x}}\n", "8001", eight), "127.0.0.1"},
		"IPv6":                     {sidecar("n", web, "8001", six), "::1"},
		"the app behind a port":    {sidecar("n", web, "9", eight), "127.0.0.1"},
		"the root namespace":       {sidecar("istio-system", "", "8001", eight), "127.0.0.1"},
		"root, with a selector":    {sidecar("istio-system", web, "8001", eight), ""},
		"root, and one nearer":     {sidecar("istio-system", "", "8001", eight) + sidecar("n", "", "9", "127.0.0.1:9"), ""},
		"root, and one without":    {sidecar("istio-system", "", "8001", eight) + "apiVersion: networking.istio.io/v1\nkind: Sidecar\nmetadata: {name: s, namespace: n}\nspec: {egress: [{hosts: ['./*']}]}\n---\n", ""},
		"a selector wins":          {sidecar("n", "", "8001", eight) + sidecar("n", web, "9", "127.0.0.1:9"), ""},
		"another pod's selector":   {sidecar("n", "", "8001", eight) + sidecar("n", other, "9", "127.0.0.1:9"), "127.0.0.1"},
		"a selector that may win":  {sidecar("n", "", "8001", eight) + sidecar("n", "  workloadSelector: {labels: {pod-template-hash: x}}\n", "9", "127.0.0.1:9"), "127.0.0.1"},
		"another port":             {sidecar("n", web, "9", "127.0.0.1:9"), ""},
		"other pods":               {sidecar("n", other, "8001", eight), ""},
		"another namespace":        {sidecar("m", web, "8001", eight), ""},
		"the pod's own address":    {sidecar("n", web, "8001", "0.0.0.0:8001"), ""},
		"the pod's own, IPv6":      {sidecar("n", web, "8001", "'[::]:8001'"), ""},
		"no host":                  {sidecar("n", web, "8001", "':9'"), ""},
		"a socket of another port": {sidecar("n", web, "9", "unix:///x"), ""},
		"none":                     {"", ""},
	} {
		around := "\n---\n" + namespace("istio-injection: enabled", "") + strings.TrimSuffix(c.sidecar, "---\n")
		p := planNear(t, inNamespace(podOf(native, app(httpProbe)))+around)
		by := map[bool]string{true: "probe-proxy", false: "istio-proxy"}[c.local != ""]
		if p.Answer.By != by || strings.Contains(p.Answer.Because, "Sidecar ") != (c.local != "") || len(p.Findings) > 0 {
			t.Errorf("%s: %+v, %v", name, p.Answer, p.Findings)
		}
		if edits := fmt.Sprint(p.Edits); c.local != "" && !strings.Contains(edits, "{name POD_IP} {value "+c.local+"}") {
			t.Errorf("%s: %s", name, edits)
		}
	}
}

// A declared istio-proxy does not answer for an app that listens on 127.0.0.1 alone, whose pod gets
// probe-proxy beside it. Without the Sidecar it does.
func TestADeclaredProxyDoesNotAskALocalApp(t *testing.T) {
	const sidecar = "apiVersion: networking.istio.io/v1\nkind: Sidecar\nmetadata: {name: s, namespace: n}\nspec:\n" +
		"  ingress: [{port: {number: 8001, protocol: HTTP, name: http}, defaultEndpoint: \"127.0.0.1:8001\"}]\n"
	const native = "annotations: {sidecar.istio.io/nativeSidecar: \"true\"}\n"
	text := inNamespace(podOf(native, app(httpProbe)+"- name: istio-proxy\n  image: auto\n")) + "\n---\n" + namespace("istio-injection: enabled", "")
	for around, by := range map[string]string{"": "istio-proxy", sidecar: "probe-proxy"} {
		p := planNear(t, text+around, answeredBy("auto"))
		edits := fmt.Sprint(p.Edits)
		asksLocally := strings.Contains(edits, "{name probe-proxy}") && strings.Contains(edits, "{name POD_IP} {value 127.0.0.1}")
		if p.Answer.By != by || len(p.Findings) > 0 || asksLocally != (by == "probe-proxy") {
			t.Errorf("%+v, %v, %s", p.Answer, p.Findings, edits)
		}
	}
}

// Istio's agent, to which the injector sends the probes, asks the pod's IP and the same port: an app that listens on
// 127.0.0.1 alone, on another port or on a socket does not answer. Where it listens is not known.
func TestTheInjectorsAgentDoesNotAskALocalApp(t *testing.T) {
	const sidecar = "\n---\napiVersion: networking.istio.io/v1\nkind: Sidecar\nmetadata: {name: s, namespace: n}\nspec:\n" +
		"  ingress: [{port: {number: 8001, protocol: HTTP, name: http}, defaultEndpoint: \"%s\"}]\n"
	around := "\n---\n" + strings.TrimSuffix(namespace("istio-injection: enabled", ""), "---\n")
	for host, want := range map[string]world.Outcome{"127.0.0.1:8001": world.Fails, "0.0.0.0:8001": world.Unaffected, "127.0.0.1:9090": world.Fails, "0.0.0.0:9090": world.Fails, "unix:///x": world.Fails} {
		p := planNear(t, inNamespace(podOf("", app(httpProbe)))+around+fmt.Sprintf(sidecar, host), injectorRewrites)
		v := p.Probes[0]
		asksApp := v.If == "the app listens only where the Sidecar says (unknown: look at the app)"
		if v.StrictTLS != want || asksApp != (want == world.Fails) {
			t.Errorf("%s: %+v", host, v)
		}
	}
}

// A Sidecar that may be about the pod may have Envoy listen on a port of a pod whose connections are not
// redirected: the probe may fail, and is rewritten. One that certainly is makes it fail.
func TestAListenerOfASidecarThatMayApply(t *testing.T) {
	const text = "\n---\napiVersion: networking.istio.io/v1\nkind: Sidecar\nmetadata: {name: s, namespace: n}\nspec:\n" +
		"  workloadSelector: {labels: {%s}}\n" +
		"  ingress: [{port: {number: 8001, protocol: HTTP, name: http}, bind: 0.0.0.0, defaultEndpoint: \"127.0.0.1:8001\"}]\n"
	const none = "labels: {app: web}\nannotations: {sidecar.istio.io/interceptionMode: NONE}\n"
	around := "\n---\n" + strings.TrimSuffix(namespace("istio-injection: enabled", ""), "---\n")
	for labels, isOpen := range map[string]bool{"app: web": false, "pod-template-hash: x": true} {
		p := planNear(t, inNamespace(podOf(none, app(httpProbe)))+around+fmt.Sprintf(text, labels))
		if v := p.Probes[0]; v.StrictTLS != world.Fails || strings.Contains(v.If, "the Sidecar selects the pod") != isOpen || !strings.Contains(fmt.Sprint(p.Edits), "{name POD_IP} {value 127.0.0.1}") {
			t.Errorf("%s: %+v, %v", labels, v, p.Edits)
		}
	}
	p := planNear(t, inNamespace(podOf(none, app(httpProbe)))+around+fmt.Sprintf(text, "app: other"))
	if v := p.Probes[0]; v.StrictTLS != world.Unaffected || len(p.Edits) > 0 {
		t.Errorf("of another pod: %+v, %v", v, p.Edits)
	}
}

// An interface that the mesh excludes, or a start before istio-proxy's, does not bring the kubelet to the app where Envoy
// listens instead.
func TestAListenerIsThereWhateverIsRedirected(t *testing.T) {
	const sidecar = "\n---\napiVersion: networking.istio.io/v1\nkind: Sidecar\nmetadata: {name: s, namespace: n}\nspec:\n" +
		"  ingress: [{port: {number: 8001, protocol: HTTP, name: http}, captureMode: %s, defaultEndpoint: \"127.0.0.1:8001\"}]\n"
	around := "\n---\n" + strings.TrimSuffix(namespace("istio-injection: enabled", ""), "---\n")
	const excluded = "annotations: {traffic.sidecar.istio.io/excludeInterfaces: eth0}\n"
	gate := "initContainers:\n- name: db\n  image: db\n  restartPolicy: Always\n  startupProbe: {httpGet: {port: 8001}}\ncontainers: [{name: app, image: app}]\n"
	for name, pod := range map[string]string{"an excluded interface": podOf(excluded, app(httpProbe)), "a gate": podOf("", gate)} {
		for captureMode, isCertain := range map[string]bool{"NONE": true, "IPTABLES": false} {
			p := planNear(t, inNamespace(pod)+around+fmt.Sprintf(sidecar, captureMode), injectorRewritesNothing)
			v := p.Probes[0]
			if v.StrictTLS != world.Fails || (v.If == "") != isCertain {
				t.Errorf("%s, %s: %+v", name, captureMode, v)
			}
		}
	}
}

// Where Envoy has the port of a probe to itself, no answerer can ask the app there.
func TestAProbeOfAPortThatIsEnvoysAloneIsRefused(t *testing.T) {
	sidecar := func(port, ingress string) string {
		return "\n---\n" + namespace("istio-injection: enabled", "") + "apiVersion: networking.istio.io/v1\nkind: Sidecar\nmetadata: {name: s, namespace: n}\nspec:\n" +
			"  ingress:\n  - {port: {number: " + port + ", protocol: HTTP, name: http}, " + ingress + "}\n"
	}
	const none = "annotations: {sidecar.istio.io/interceptionMode: NONE}\n"
	for name, c := range map[string]struct {
		marks, sidecar string
		by             string
		reason         reason.Key
		words          string // of the finding, or of the edits
	}{
		"another port":                             {"", sidecar("8001", "defaultEndpoint: 127.0.0.1:9"), "auto", reason.AppElsewhere, "Set the port of the probe to 9"},
		"another port, and the app":                {"", sidecar("8001", "defaultEndpoint: '[::1]:9'"), "app", reason.AppElsewhere, "to [::1]:9"},
		"the pod's, another port":                  {"", sidecar("8001", "defaultEndpoint: 0.0.0.0:9"), "istio-proxy", reason.AppElsewhere, "to 0.0.0.0:9"},
		"a socket":                                 {"", sidecar("8001", "defaultEndpoint: unix:///run/app.sock"), "auto", reason.AppElsewhere, "Write an exec probe"},
		"the app is local":                         {"", sidecar("8001", "defaultEndpoint: 127.0.0.1:8001"), "app", reason.AppElsewhere, "The app listens on 127.0.0.1"},
		"istio-proxy, and local":                   {"", sidecar("8001", "defaultEndpoint: 127.0.0.1:8001"), "istio-proxy", reason.ProxyCannotAnswer, "the app listens on 127.0.0.1"},
		"Envoy listens, and the app":               {"", sidecar("8001", "captureMode: NONE"), "app", reason.AppElsewhere, "has Envoy listen there"},
		"nothing is redirected, and the app":       {none, sidecar("8001", "bind: 0.0.0.0"), "app", reason.AppElsewhere, "has Envoy listen there"},
		"nothing is redirected, and Envoy listens": {none, sidecar("8001", "bind: 0.0.0.0, defaultEndpoint: 127.0.0.1:8001"), "auto", reason.None, "{name POD_IP} {value 127.0.0.1}"},
		"nothing is redirected, and it does not":   {none, sidecar("9", "bind: 0.0.0.0, defaultEndpoint: 127.0.0.1:9"), "auto", reason.InterceptionNone, "turns off Istio's redirection"},
		"it listens on the loopback interface":     {none, sidecar("8001", "bind: 127.0.0.1, defaultEndpoint: 127.0.0.1:8001"), "auto", reason.InterceptionNone, "turns off Istio's redirection"},
		"an excluded port where Envoy listens":     {"annotations: {traffic.sidecar.istio.io/excludeInboundPorts: \"8001\"}\n", sidecar("8001", "captureMode: NONE, defaultEndpoint: 127.0.0.1:8001"), "auto", reason.None, "{name POD_IP} {value 127.0.0.1}"},
		"an excluded port":                         {"annotations: {traffic.sidecar.istio.io/excludeInboundPorts: \"8001\"}\n", sidecar("8001", "defaultEndpoint: 127.0.0.1:8001"), "auto", reason.PortNotCaptured, "does not capture port 8001"},
	} {
		p := planNear(t, inNamespace(podOf("labels: {app: web}\n"+c.marks, app(httpProbe)))+c.sidecar, answeredBy(c.by))
		var found []reason.Key
		words := fmt.Sprint(p.Edits)
		for _, f := range p.Findings {
			found = append(found, f.Reason)
			words += f.Text.String()
		}
		isAsExpected := c.reason == reason.None && len(found) == 0 || len(found) == 1 && found[0] == c.reason
		if !isAsExpected || !strings.Contains(words, c.words) {
			t.Errorf("%s: %v, %s", name, found, words)
		}
		if c.reason == reason.None {
			if v := p.Probes[0]; v.StrictTLS != world.Fails {
				t.Errorf("%s: before it, %+v", name, v)
			}
		}
	}
}
