package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// The tests of this file are named for mistakes that injectors make. They
// cost their users pods that never become ready, or probes that pass although
// the app is dead.

func TestAnUnresolvedPortNameLeavesTheProbeAlone(t *testing.T) {
	r := plan(t, podOf("", app("livenessProbe: {httpGet: {port: web}}\nreadinessProbe: {httpGet: {port: 80}}")))
	wantReason(t, r, "port-unresolved")
	if !strings.Contains(r.text, "livenessProbe: {httpGet: {port: web}}") || strings.Contains(r.env(), "livez") {
		t.Errorf("the probe must keep its port, and have no entry:\n%s", r.text)
	}
	if !strings.Contains(r.env(), "readyz") {
		t.Errorf("its neighbour must be rewritten:\n%s", r.text)
	}
}

func TestAPortNameIsLookedUpInTheSameContainerOnly(t *testing.T) {
	r := plan(t, podOf("", app("livenessProbe: {httpGet: {port: web}}")+"- name: b\n  image: b\n  ports: [{name: web, containerPort: 80}]\n"))
	wantReason(t, r, "port-unresolved")
}

func TestAQuotedNumberIsNoPortAndTheNumberIsProposed(t *testing.T) {
	f := wantReason(t, plan(t, podOf("", app("livenessProbe: {httpGet: {port: \"8080\"}}"))), "port-unresolved")
	if f.Current != "8080" || f.Proposed != 8080 {
		t.Errorf("current %v, proposed %v", f.Current, f.Proposed)
	}
}

func TestAHostIsNeitherLeftInARewrittenProbeNorDropped(t *testing.T) {
	for _, probe := range []string{"{httpGet: {host: example.com, port: 80}}", "{tcpSocket: {host: example.com, port: 80}}"} {
		r := plan(t, podOf("", app("livenessProbe: "+probe)))
		if len(r.Edits) != 0 {
			t.Errorf("%s: %v", probe, r.Edits)
		}
	}
}

func TestAHostThatIstioLeftInARewrittenProbeIsRepaired(t *testing.T) {
	r := plan(t, podOf("", app("livenessProbe: {httpGet: {host: example.com, path: /app-health/app/livez, port: 15020}}")+`- name: istio-proxy
  image: istio/proxyv2:1.27
  env: [{name: ISTIO_KUBE_APP_PROBERS, value: '{"/app-health/app/livez":{"httpGet":{"host":"example.com","path":"/x","port":80}}}'}]
`))
	if !strings.Contains(r.text, "livenessProbe: {httpGet: {host: example.com, path: /x, port: 80}}") || strings.Contains(r.text, "ISTIO_KUBE") {
		t.Errorf("must be given its original back:\n%s", r.text)
	}
	if r.Probes[0].State != transformer.WouldRestore || r.Probes[0].Reason.String() != "host-set" {
		t.Errorf("verdict %+v", r.Probes[0])
	}
}

func TestTheEnvHoldsTheAPIServersDefaults(t *testing.T) {
	r := plan(t, podOf("", app("livenessProbe: {httpGet: {port: 80}}\nreadinessProbe: {tcpSocket: {port: 81}, timeoutSeconds: 0}\nstartupProbe: {grpc: {port: 82}}\nlifecycle: {preStop: {httpGet: {path: '', port: 83}}}")))
	want := `{"/app-health/app/livez":{"httpGet":{"path":"/","port":80,"scheme":"HTTP"},"timeoutSeconds":1},` +
		`"/app-health/app/readyz":{"tcpSocket":{"port":81},"timeoutSeconds":1},` +
		`"/app-health/app/startupz":{"grpc":{"port":82,"service":""},"timeoutSeconds":1},` +
		`"/app-lifecycle/app/prestopz":{"httpGet":{"path":"/","port":83,"scheme":"HTTP"}}}`
	if r.env() != want {
		t.Errorf("got\n%s, want\n%s", r.env(), want)
	}
}

func TestHook_failingTCPSocket(t *testing.T) {
	r := plan(t, podOf("", app("lifecycle: {postStart: {tcpSocket: {port: 80}}}")))
	wantReason(t, r, "hook-never-works")
	if len(r.Edits) != 0 {
		t.Errorf("edits %v", r.Edits)
	}
}

func TestADollarIsEscapedInTheEnvAndComesBack(t *testing.T) {
	before := podOf("", app("livenessProbe: {httpGet: {path: '/$(HOME)/$$/a', port: 80}}"))
	r := plan(t, before)
	if !strings.Contains(r.env(), `"path":"/$$(HOME)/$$$$/a"`) {
		t.Errorf("env %s", r.env())
	}
	wantText(t, restore(t, r.text), before)
}

func TestHeadersStayOnTheProbeAndOutOfTheEnv(t *testing.T) {
	r := plan(t, podOf("", app("livenessProbe: {httpGet: {port: 80, httpHeaders: [{name: Authorization, value: hunter2}]}}")))
	if strings.Count(r.text, "hunter2") != 1 || strings.Contains(r.env(), "hunter2") {
		t.Errorf("got\n%s", r.text)
	}
}

func TestASecondPassWithAnotherPortDoesNotPointAtItself(t *testing.T) {
	r := plan(t, plan(t, podOf("", app(httpProbe)), port(15098)).text, port(15099))
	if strings.Contains(r.text, "15098") || !strings.Contains(r.env(), `"port":8001`) {
		t.Errorf("got\n%s", r.text)
	}
}

func TestAStatusPortThatIsNoneIsAnError(t *testing.T) {
	for _, v := range []string{"0", "x", "65536", "-1", ""} {
		r := plan(t, podOf(injected+"annotations: {status.sidecar.istio.io/port: \""+v+"\"}", app(httpProbe)))
		wantReason(t, r, "status-port-invalid")
	}
}

func TestAUsersOwnProbeOfTheProbePortIsLeftAlone(t *testing.T) {
	for path, why := range map[string]string{"/live": "aims-at-probe-port", "/healthz/ready": "port-not-captured"} { // Istio's agent answers the latter
		r := plan(t, podOf(injected, app("livenessProbe: {httpGet: {path: "+path+", port: 15020}}\nreadinessProbe: {httpGet: {port: 80}}")))
		wantReason(t, r, why)
		if !strings.Contains(r.text, "livenessProbe: {httpGet: {path: "+path+", port: 15020}}") || strings.Contains(r.env(), "livez") {
			t.Errorf("got\n%s", r.text)
		}
	}
}

// The message promises the number of the port, which the reader compares with the functionConfig.
func TestAtProbePort_number(t *testing.T) {
	for _, probe := range []string{"httpGet: {port: 15020}", "httpGet: {port: own}", "tcpSocket: {port: own}", "grpc: {port: 15020}"} {
		r := plan(t, podOf(injected, "containers:\n- name: app\n  image: a\n  ports: [{name: own, containerPort: 15020}]\n  livenessProbe: {"+probe+"}\n"), answeredBy("istio-proxy"))
		if f := wantReason(t, r, "aims-at-probe-port"); !strings.Contains(textOf(f), "asks port 15020, ") {
			t.Errorf("%s: %s", probe, textOf(f))
		}
	}
}

// Whoever does what the fix of a dangling probe says has a probe that works: rewritten by a run, or
// by Istio's injector. The annotation of an earlier run would keep both off it.
func TestDangling_fix(t *testing.T) {
	const annotation = "sidecar.istio.io/rewriteAppHTTPProbers"
	before := podOf(injected, app(httpProbe))
	rewritten := plan(t, before, answeredBy("probe-proxy")).text
	first, after, found := strings.Cut(rewritten, "  initContainers:\n")
	if !found || !strings.Contains(first, annotation) {
		t.Fatalf("got\n%s", rewritten)
	}
	_, containers, _ := strings.Cut(after, "  containers:\n")
	lost := first + "  containers:\n" + containers
	for text, named := range map[string]bool{lost: true, strings.Replace(lost, annotation, "a", 1): false} {
		f := wantReason(t, plan(t, text), "dangling")
		if strings.Contains(f.Text.Fix, annotation) != named || !strings.HasPrefix(f.Text.Fix, "Write the original probe back") {
			t.Errorf("the fix is %q for\n%s", f.Text.Fix, text)
		}
	}
	_, probe, _ := strings.Cut(before, "livenessProbe:")
	head, _, _ := strings.Cut(lost, "livenessProbe:")
	restored := head + "livenessProbe:" + probe
	wantReason(t, plan(t, restored), "istio-opt-out")
	if r := plan(t, strings.Replace(restored, annotation, "a", 1)); len(r.Edits) == 0 {
		t.Errorf("not rewritten:\n%s", r.text)
	}
}

func TestNativeSidecar_beforeTheAnswerer(t *testing.T) {
	before := podOf(injected, "initContainers:\n- name: db\n  image: db\n  restartPolicy: Always\n  startupProbe: {httpGet: {port: 1}}\n"+app(httpProbe))
	r := plan(t, before, answeredBy("istio-proxy"), injectorRewritesNothing)
	wantReason(t, r, "starts-before-answerer")
	if strings.Contains(r.env(), "/app-health/db/") || !strings.Contains(r.env(), "/app-health/app/") {
		t.Errorf("env %s", r.env())
	}
	// Istio's rewriter, which may serve it if istio-proxy is a native sidecar too, is
	// not turned off.
	r = plan(t, before, answeredBy("istio-proxy"))
	wantReason(t, r, "starts-before-answerer")
	if f := wantReason(t, r, "rewriter-needed"); f.Container != "db" || r.text != before {
		t.Errorf("%+v in\n%s", f, r.text)
	}
	// A probe-proxy is a native sidecar in any case, and comes first.
	r = plan(t, before)
	if r.Answer.By != "probe-proxy" || !strings.Contains(r.Answer.Because, `container "db"`) || !strings.Contains(r.env(), "/app-health/db/") || len(r.Findings) > 0 {
		t.Errorf("%+v, findings %v in\n%s", r.Answer, r.Findings, r.text)
	}
}

func TestAPortThatTheMeshDoesNotCaptureIsNotRewritten(t *testing.T) {
	r := plan(t, podOf("annotations: {traffic.sidecar.istio.io/excludeInboundPorts: \"8001\"}", app(httpProbe+"readinessProbe: {httpGet: {port: 80}}")))
	if !strings.Contains(r.text, "port: 8001\n") || strings.Contains(r.env(), "livez") || !strings.Contains(r.env(), "readyz") {
		t.Errorf("got\n%s", r.text)
	}
}

func TestRewriter_offBesideTheEnv(t *testing.T) {
	const keepsOn = "annotations:\n  sidecar.istio.io/rewriteAppHTTPProbers: \"true\"\n"
	for _, metadata := range []string{injected, "labels: {a: b}\n", ""} {
		r := plan(t, podOf(metadata, app(httpProbe)))
		if !strings.Contains(r.text, "sidecar.istio.io/rewriteAppHTTPProbers: \"false\"") {
			t.Errorf("got\n%s", r.text)
		}
	}
	// A pod that asks for it gets it.
	for _, who := range []string{"auto", "istio-proxy", "probe-proxy"} {
		before := podOf(injected+keepsOn, app(httpProbe))
		r := plan(t, before, answeredBy(who))
		if f := wantReason(t, r, "injector-rewrites"); f.Severity != transformer.Info || r.text != before || r.Probes[0].StrictTLS != world.Unaffected {
			t.Errorf("%s: %+v, %+v", who, f, r.Probes)
		}
	}
	// The same holds if it is only the config that has the pod injected.
	before := podOf("labels: {a: b}\n"+keepsOn, app(httpProbe))
	r := plan(t, before, answeredBy("istio-proxy"))
	if wantReason(t, r, "injector-rewrites"); r.text != before {
		t.Errorf("got\n%s", r.text)
	}
}

func TestProbesOfIstioProxyItselfAreNotTouched(t *testing.T) {
	r := plan(t, podOf("", app(httpProbe)+"- name: istio-proxy\n  image: auto\n  readinessProbe: {httpGet: {path: /healthz/ready, port: 9000}}\n"))
	if !strings.Contains(r.text, "readinessProbe: {httpGet: {path: /healthz/ready, port: 9000}}") || strings.Contains(r.env(), "istio-proxy") {
		t.Errorf("got\n%s", r.text)
	}
	if v := r.Probes[1]; v.Reason.String() != "proxy-container" || v.StrictTLS != world.Unaffected {
		t.Errorf("verdict %+v", v)
	}
}

// TestAPortWithoutANameIsNotThatOfAProbeWithoutAPort: most ports of containers have none.
func TestAPortWithoutANameIsNotThatOfAProbeWithoutAPort(t *testing.T) {
	yaml := podOf("", app("ports: [{containerPort: 80}]\nlivenessProbe: {httpGet: {path: /, port: \"\"}}"))
	r := plan(t, yaml)
	wantReason(t, r, "port-unresolved")
	wantText(t, r, yaml)
}

// Flux makes ${PATH} of $${PATH}, which is how the env var would have it.
func TestAProbeWithAVariableIsLeftAlone(t *testing.T) {
	for _, c := range []struct{ spec, field, says string }{
		{app("livenessProbe: {httpGet: {path: \"${BASE}/live\", port: 80}}"), tmpl + "livenessProbe.httpGet.path", `"${BASE}/live" looks`},
		{app("livenessProbe: {grpc: {port: 80, service: \"shop.${NAME}\"}}"), tmpl + "livenessProbe.grpc.service", `"shop.${NAME}" looks`},
		{app("lifecycle: {preStop: {httpGet: {path: \"${BASE}/stop\", port: 80}}}"), tmpl + "lifecycle.preStop.httpGet.path", `"${BASE}/stop" looks`},
		{strings.Replace(app(httpProbe), "name: app", "name: ${APP}", 1), tmpl + "name", `"${APP}" looks`},
	} {
		before := podOf("", c.spec)
		r := plan(t, before)
		if f := wantReason(t, r, "variable"); f.Field.String() != c.field || !strings.Contains(textOf(f), c.says) || r.text != before {
			t.Errorf("%+v in\n%s", f, r.text)
		}
	}
	// What was rewritten before the variable came is restored.
	before := podOf("", app("livenessProbe: {httpGet: {path: \"/live/${BASE}\", port: 80}}"))
	wrong := strings.Replace(plan(t, strings.Replace(before, "${", "{", 1)).text, "/live/{BASE", "/live/$${BASE", 1)
	wantText(t, plan(t, wrong), before)
	// Headers stay in the probe, and what is no variable is carried over.
	r := plan(t, podOf("", app("livenessProbe: {httpGet: {path: \"/a$(B)$C\", port: 80, httpHeaders: [{name: Host, value: \"${HOST}\"}]}}")))
	wantParts(t, r.text, `"path":"/a$$(B)$$C"`, `value: "${HOST}"`)
}

// In a header, $(NAME) is a text for Kubernetes, in probes and hooks, rewritten or not; the value stays.
func TestAVariableInAHeaderIsNamed(t *testing.T) {
	for value, name := range map[string]string{"Bearer $(TOKEN)": "TOKEN", "$(a_1)": "a_1", "$(": "", "$()": "", "$(not a name)": "", "${TOKEN}": "", "$TOKEN": "", "plain": ""} {
		for _, metadata := range []string{"", "annotations: {rewrite-probes.io/rewrite: 'false'}"} {
			r := plan(t, podOf(metadata, app(`
livenessProbe: {httpGet: {port: 8001, httpHeaders: [{name: A, value: x}, {name: Authorization, value: '`+value+`'}]}}
lifecycle: {preStop: {httpGet: {port: 8001, httpHeaders: [{name: Authorization, value: '`+value+`'}]}}}`)))
			named := 0
			for _, f := range r.Findings {
				if f.Reason.String() == "variable" && strings.Contains(textOf(f), "Kubernetes replaces no `$("+name+")` in the header \"Authorization\". It sends the text as it is. Write the value, or read it in an `exec` probe.") {
					named++
				}
			}
			if want := map[bool]int{true: 2, false: 0}[name != ""]; named != want || !strings.Contains(r.text, value) {
				t.Errorf("%q: %d, %v", value, named, r.Findings)
			}
		}
	}
}
