package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/transformer"
)

var inFSM = inMesh("fsm")

const fsmProbes = "containers:\n- name: a\n  image: a\n  ports: [{name: web, containerPort: 8080}]\n  livenessProbe:\n    httpGet:\n      path: /live?full=1\n      port: web\n      httpHeaders:\n      - name: X-Probe\n        value: \"1\"\n" +
	"  readinessProbe:\n    tcpSocket:\n      port: 9090\n- name: b\n  image: b\n  livenessProbe:\n    httpGet:\n      port: 8443\n      scheme: HTTPS\n  startupProbe:\n    httpGet:\n      path: /start\n      port: 8443\n      scheme: HTTPS\n"

func TestFlomeshsFormSaysInHeadersWhereAProbeGoes(t *testing.T) {
	before := pod("", fsmProbes)
	r := plan(t, before, inFSM)
	if len(r.Findings) > 0 || r.Answer.Mesh != "Flomesh Service Mesh" {
		t.Errorf("findings %v, answer %+v", r.Findings, r.Answer)
	}
	wantParts(t, r.text,
		"path: /fsm-healthcheck\n            port: 15901\n            httpHeaders:\n            - name: X-Probe\n              value: \"1\"\n            - name: Original-Http-Port\n              value: \"8080\"\n            - name: Original-Http-Path\n              value: /live?full=1\n",
		"path: /fsm-healthcheck\n            port: 15904\n            scheme: HTTP\n            httpHeaders:\n            - name: Original-Tcp-Port\n              value: \"9090\"\n",
		"path: /fsm-healthcheck\n            port: 15901\n            scheme: HTTP\n            httpHeaders:\n            - name: Original-Tcp-Port\n              value: \"8443\"\n            - name: Original-Http-Path\n              value: /\n",
		`{"/fsm-liveness-probe/a":{"httpGet":{"path":"/live?full=1","port":8080,"scheme":"HTTP"},"timeoutSeconds":1},"/fsm-liveness-probe/b":{"httpGet":{"path":"/","port":8443,"scheme":"HTTPS"},"timeoutSeconds":1},"/fsm-readiness-probe/a":{"tcpSocket":{"port":9090},"timeoutSeconds":1},"/fsm-startup-probe/b":{"httpGet":{"path":"/start","port":8443,"scheme":"HTTPS"},"timeoutSeconds":1}}`,
		"- name: FSM_KUBE_APP_PROBERS\n",
	)
	wantNoEdits(t, plan(t, r.text, inFSM))
	wantText(t, restore(t, r.text), before)
	// A header that is changed by hand wins over the entry.
	changed := plan(t, strings.Replace(r.text, "value: \"9090\"", "value: \"9091\"", 1), inFSM)
	if len(changed.Edits) != 1 || !strings.Contains(changed.text, `"tcpSocket":{"port":9091}`) {
		t.Errorf("edits %v of\n%s", changed.Edits, changed.text)
	}
}

func TestWhatFlomeshHasNoFormForStays(t *testing.T) {
	before := pod("", app("livenessProbe: {grpc: {port: 9000}}\nlifecycle: {preStop: {httpGet: {path: /stop, port: 80}}}"))
	r := plan(t, before, inFSM)
	wantText(t, r, before)
	if got := strings.Join(r.reasons(), " "); got != "osm-no-form osm-no-form" || !strings.Contains(r.Findings[0].Message, "flomesh.io/inbound-port-exclusion-list") {
		t.Errorf("findings %v", r.Findings)
	}
	if r := plan(t, pod("annotations: {flomesh.io/inbound-port-exclusion-list: \"80\"}", app("livenessProbe: {httpGet: {port: 80}}")), inFSM); r.Probes[0].Reason != "port-not-captured" {
		t.Errorf("%+v", r.Probes)
	}
}

// A pod that Flomesh's injector gets to see is left to it.
func TestTheInjectorOfFlomeshIsLeftItsPods(t *testing.T) {
	before := pod("annotations: {flomesh.io/sidecar-injection: enabled}", app(httpProbe+"readinessProbe: {grpc: {port: 9000}}"))
	for _, opts := range [][]option{nil, {inFSM}} {
		r := plan(t, before, opts...)
		wantReason(t, r, "fsm-injector")
		wantText(t, r, before)
		if r.Probes[1].StrictTLS != transformer.Unaffected || r.Probes[0].StrictTLS != transformer.Fails {
			t.Errorf("%+v", r.Probes)
		}
	}
	wantReason(t, plan(t, pod("annotations: {flomesh.io/sidecar-injection: \"no\"}", app(httpProbe)), inFSM), "injection-off")
	// Its proxy is known by its image, since its name is common.
	r := plan(t, pod("", app(httpProbe)+"- name: sidecar\n  image: flomesh/pipy:1.5\n  livenessProbe: {httpGet: {port: 80}}\n- name: other\n  image: o\n"), inFSM)
	if r.Probes[1].Reason != "proxy-container" {
		t.Errorf("%+v", r.Probes)
	}
	r = plan(t, pod("", app("")+"- name: sidecar\n  image: o\n  livenessProbe: {httpGet: {port: 80}}\n"), inFSM)
	if r.Probes[0].State != transformer.WouldRewrite {
		t.Errorf("%+v", r.Probes)
	}
}

// TestWhatFlomeshInjectedIsUnderstood: its headers say where a probe goes, but
// not the path of an HTTPS probe.
func TestWhatFlomeshInjectedIsUnderstood(t *testing.T) {
	const headers = "httpHeaders: [{name: Original-Http-Port, value: \"8001\"}, {name: Original-Http-Path, value: /foo}]"
	injected := pod("", app("livenessProbe: {httpGet: {path: /fsm-healthcheck, port: 15901, scheme: HTTP, "+headers+"}}\n"+
		"readinessProbe: {httpGet: {path: /fsm-healthcheck, port: 15904, httpHeaders: [{name: Original-Tcp-Port, value: \"8002\"}]}}\n"+
		"startupProbe: {httpGet: {path: /fsm-healthcheck, port: 15903, scheme: HTTP, httpHeaders: [{name: Original-Tcp-Port, value: \"8443\"}]}}"))
	for _, mesh := range []string{"fsm", "auto", "linkerd"} {
		r := plan(t, injected, inMesh(mesh))
		if f := wantReason(t, r, "dangling"); !strings.Contains(f.Message, "startupProbe") {
			t.Errorf("%s: %s", mesh, f.Message)
		}
		if !strings.Contains(r.text, `"path":"/foo","port":8001`) || !strings.Contains(r.text, `"tcpSocket":{"port":8002}`) {
			t.Errorf("%s:\n%s", mesh, r.text)
		}
		if mesh != "fsm" && strings.Contains(r.text, "Original-Http") {
			t.Errorf("%s: a header is left in\n%s", mesh, r.text)
		}
	}
	back := restore(t, injected)
	if !strings.Contains(back.text, "httpGet: {path: /foo, port: 8001, scheme: HTTP}") || !strings.Contains(back.text, "tcpSocket: {port: 8002}") {
		t.Errorf("got\n%s", back.text)
	}
}

// The headers that the mesh needs are added to the user's, which are not
// touched, and restore leaves a list as it was, even an empty one.
func TestFlomeshsHeadersComeAndGoBesideTheUsers(t *testing.T) {
	for _, headers := range []string{
		"    httpHeaders: # which\n    # the first\n    - name: X-A # why\n      value: \"v\"\n    # the second\n    - {name: X-B, value: ''}\n",
		"    httpHeaders: []\n",
		"    httpHeaders: null\n",
		"",
	} {
		for _, scheme := range []string{"", "    scheme: HTTPS\n"} {
			before := pod("", app("readinessProbe:\n  httpGet:\n    path: /a\n    port: 80\n"+headers+scheme))
			r := plan(t, before, inFSM)
			for _, line := range strings.Split(headers, "\n") {
				if strings.Contains(headers, "- ") && !strings.Contains(r.text, line+"\n") {
					t.Errorf("%q is gone:\n%s", line, r.text)
				}
			}
			if !strings.Contains(r.text, "Original-Tcp-Port") && !strings.Contains(r.text, "Original-Http-Port") {
				t.Errorf("not rewritten:\n%s", r.text)
			}
			if again := plan(t, r.text, inFSM); len(again.Edits) > 0 {
				t.Errorf("a second run edits %v", again.Edits)
			}
			wantText(t, restore(t, r.text, inFSM), before)
			wantText(t, restore(t, r.text), before)
		}
	}
}

// A probe is Flomesh's only by its path and its headers together.
func TestAPathOrAHeaderOfFlomeshsAloneIsTheUsers(t *testing.T) {
	for _, probe := range []string{
		"{path: /fsm-healthcheck, port: 80}", "{path: /fsm-healthcheck, port: 80, httpHeaders: [{name: X, value: y}]}",
		"{path: /x, port: 80, httpHeaders: [{name: Original-Http-Port, value: \"81\"}]}",
	} {
		if r := plan(t, pod("", app("livenessProbe: {httpGet: "+probe+"}")), inFSM); r.Probes[0].State != transformer.WouldRewrite {
			t.Errorf("%s: %+v", probe, r.Probes[0])
		}
	}
}

// The headers have all but the protocol, which only the entry has.
func TestFlomeshsHeadersAreEnoughWithoutAnEntry(t *testing.T) {
	before := pod("", app("livenessProbe: {httpGet: {path: /x, port: 80}}\nreadinessProbe: {tcpSocket: {port: 81}}"))
	r := plan(t, before, inFSM)
	for _, entry := range []string{"/fsm-liveness-probe/app", "/fsm-readiness-probe/app"} {
		lost := strings.Replace(r.text, entry, "/fsm-startup-probe/app", 1)
		wantText(t, plan(t, lost, inFSM), r.text)
		wantText(t, restore(t, lost), before)
	}
}

func TestEveryValueOfTheSwitchOfOSMAndFlomeshIsRead(t *testing.T) {
	for _, mesh := range []string{"openservicemesh.io", "flomesh.io"} {
		for value, reason := range map[string]string{
			"enabled": "-injector", "yes": "-injector", "True": "-injector", "disabled": "injection-off", "no": "injection-off", "FALSE": "injection-off",
		} {
			r := plan(t, pod("annotations: {"+mesh+"/sidecar-injection: \""+value+"\"}", app(httpProbe)))
			if !strings.HasSuffix(r.Probes[0].Reason, reason) {
				t.Errorf("%s: %s is left alone for %q", mesh, value, r.Probes[0].Reason)
			}
		}
	}
}
