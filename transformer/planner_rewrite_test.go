package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

func TestPlan_istioLivenessExample(t *testing.T) {
	r := plan(t, podOf("", `
containers:
- name: liveness-http
  image: istio/health:example
  ports:
  - containerPort: 8001
  livenessProbe:
    httpGet:
      path: /foo
      port: 8001
    initialDelaySeconds: 5
    periodSeconds: 5
`))
	const want = `{"/app-health/liveness-http/livez":{"httpGet":{"path":"/foo","port":8001,"scheme":"HTTP"},"timeoutSeconds":1}}`
	if got := r.env(); got != want {
		t.Errorf("env is %s, want %s", got, want)
	}
	wantText(t, r, podOf(besideIstio, `
initContainers:
- name: probe-proxy
  image: example/probe-proxy:v1
  restartPolicy: Always
  env:
  - name: POD_IP
    valueFrom:
      fieldRef:
        fieldPath: status.podIP
  - name: ISTIO_KUBE_APP_PROBERS
    value: '`+want+`'
  lifecycle:
    postStart:
      exec:
        command:
        - /probe-proxy
        - wait
        - "--port=15099"
  securityContext:
    runAsUser: 65532
    runAsGroup: 65532
    runAsNonRoot: true
    readOnlyRootFilesystem: true
    allowPrivilegeEscalation: false
    capabilities:
      drop:
      - ALL
    seccompProfile:
      type: RuntimeDefault
containers:
- name: liveness-http
  image: istio/health:example
  ports:
  - containerPort: 8001
  livenessProbe:
    httpGet:
      path: /app-health/liveness-http/livez
      port: 15099
    initialDelaySeconds: 5
    periodSeconds: 5
`))
}

func TestEveryHandlerIsRewritten(t *testing.T) {
	for _, c := range []struct{ name, before, after, env string }{
		{"named port", "ports:\n- {name: web, containerPort: 80}\nreadinessProbe: {httpGet: {port: web}}",
			"ports:\n- {name: web, containerPort: 80}\nreadinessProbe: {httpGet: {path: /app-health/app/readyz, port: 15099}}",
			`{"/app-health/app/readyz":{"httpGet":{"path":"/","port":80,"scheme":"HTTP"},"timeoutSeconds":1}}`},
		{"https", "startupProbe: {httpGet: {path: '/s?a=b&c', scheme: HTTPS, port: 443}, timeoutSeconds: 7}",
			"startupProbe: {httpGet: {path: '/app-health/app/startupz', scheme: HTTP, port: 15099}, timeoutSeconds: 7}",
			`{"/app-health/app/startupz":{"httpGet":{"path":"/s?a=b\u0026c","port":443,"scheme":"HTTPS"},"timeoutSeconds":7}}`},
		{"explicit http", "livenessProbe: {httpGet: {scheme: HTTP, path: healthz, port: 80}}",
			"livenessProbe: {httpGet: {scheme: HTTP, path: /app-health/app/livez, port: 15099}}",
			`{"/app-health/app/livez":{"httpGet":{"path":"healthz","port":80,"scheme":"HTTP"},"timeoutSeconds":1}}`},
		{"tcpSocket", "livenessProbe: {tcpSocket: {port: 5432}, periodSeconds: 3}",
			"livenessProbe: {httpGet: {path: /app-health/app/livez, port: 15099}, periodSeconds: 3}",
			`{"/app-health/app/livez":{"tcpSocket":{"port":5432},"timeoutSeconds":1}}`},
		{"grpc", "livenessProbe: {grpc: {port: 9000, service: a.B}}",
			"livenessProbe: {httpGet: {path: /app-health/app/livez, port: 15099}}",
			`{"/app-health/app/livez":{"grpc":{"port":9000,"service":"a.B"},"timeoutSeconds":1}}`},
		{"hook", "lifecycle: {preStop: {httpGet: {path: /bye, port: 80}}}",
			"lifecycle: {preStop: {httpGet: {path: /app-lifecycle/app/prestopz, port: 15099}}}",
			`{"/app-lifecycle/app/prestopz":{"httpGet":{"path":"/bye","port":80,"scheme":"HTTP"}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := podOf("", app(c.before))
			r := plan(t, before)
			if got := r.env(); got != c.env {
				t.Errorf("env is\n%s, want\n%s", got, c.env)
			}
			if !strings.Contains(r.text, strings.TrimPrefix(indent("", app(c.after), 4), "    \n")) {
				t.Errorf("%s\nmust have\n%s", r.text, app(c.after))
			}
			wantNoEdits(t, plan(t, r.text))
			wantText(t, restore(t, r.text), before)
		})
	}
}

func TestNativeSidecar_probeProxyStartsFirst(t *testing.T) {
	r := plan(t, podOf("", `
initContainers:
- name: migrate
  image: m
- name: logs
  image: l
  restartPolicy: Always
  startupProbe: {httpGet: {port: 1}}
containers:
- name: app
  image: a
`))
	i, j := strings.Index(r.text, "name: probe-proxy"), strings.Index(r.text, "name: migrate")
	if i < 0 || i > j {
		t.Errorf("probe-proxy must be the first init container:\n%s", r.text)
	}
	if r.Probes[0].State != transformer.WouldRewrite || !r.Probes[0].Init {
		t.Errorf("verdict %+v", r.Probes[0])
	}
}

func TestNativeSidecar_probeProxyMovedBack(t *testing.T) {
	first := plan(t, podOf("", `
initContainers:
- name: logs
  image: l
  restartPolicy: Always
  startupProbe: {httpGet: {port: 1}}
containers:
- name: app
  image: a
`))
	head, tail, _ := strings.Cut(first.text, "      - name: probe-proxy")
	tail, rest, _ := strings.Cut(tail, "      - name: logs")
	logs, end, _ := strings.Cut(rest, "      containers:")
	moved := head + "      - name: logs" + logs + "      - name: probe-proxy" + strings.Replace(tail, "securityContext:", "volumeMounts: [{name: x, mountPath: /x}]\n        securityContext:", 1) + "      containers:" + end
	r := plan(t, moved)
	if strings.Index(r.text, "name: probe-proxy") > strings.Index(r.text, "name: logs") || strings.Count(r.text, "name: probe-proxy") != 1 {
		t.Errorf("probe-proxy must be first:\n%s", r.text)
	}
	if !strings.Contains(r.text, "mountPath: /x") {
		t.Errorf("what others added to probe-proxy must stay:\n%s", r.text)
	}
	wantNoEdits(t, plan(t, r.text))
}

func TestProbeProxy_placeOfAnOrdinaryOne(t *testing.T) {
	last := plan(t, podOf("", app(httpProbe)), asContainer)
	if strings.Index(last.text, "name: probe-proxy") < strings.Index(last.text, "name: app") || strings.Contains(last.text, "restartPolicy") {
		t.Errorf("probe-proxy must be an ordinary container, and last:\n%s", last.text)
	}
	first := plan(t, podOf("", app("lifecycle: {postStart: {httpGet: {port: 80}}}")), asContainer)
	if strings.Index(first.text, "name: probe-proxy") > strings.Index(first.text, "name: app") {
		t.Errorf("probe-proxy must be first:\n%s", first.text)
	}
	// A hook that comes later moves it.
	hooked := strings.Replace(last.text, "        livenessProbe:\n          httpGet:\n            path: /app", "        lifecycle: {postStart: {httpGet: {port: 80}}}\n        livenessProbe:\n          httpGet:\n            path: /app", 1)
	moved := plan(t, hooked, asContainer)
	if strings.Index(moved.text, "name: probe-proxy") > strings.Index(moved.text, "name: app") {
		t.Errorf("probe-proxy must have moved to the front:\n%s", moved.text)
	}
	for _, r := range []result{last, first, moved} {
		wantNoEdits(t, plan(t, r.text, asContainer))
	}
}

func TestTheContainerIsMergedFromTheOptions(t *testing.T) {
	r := plan(t, podOf("", app(httpProbe)), port(15098), func(o *transformer.Options) {
		o.ProbeProxy.Name = "answers"
		o.ProbeProxy.ImagePullPolicy = "Always"
		o.ProbeProxy.Resources = field.Map{{Key: "limits", Value: field.Map{{Key: "memory", Value: nil}, {Key: "cpu", Value: "1"}}}}
		o.ProbeProxy.SecurityContext = field.Map{{Key: "runAsUser", Value: nil}, {Key: "runAsGroup", Value: 7}, {Key: "privileged", Value: false}, {Key: "absent", Value: nil}}
		o.ProbeProxy.Env = field.List{
			field.Map{{Key: "name", Value: "POD_IP"}, {Key: "value", Value: "1.2.3.4"}},
			field.Map{{Key: "name", Value: "X"}, {Key: "value", Value: "y"}},
		}
	})
	_, got, _ := strings.Cut(r.text, "initContainers:\n")
	got, _, _ = strings.Cut(got, "      containers:\n")
	want := indent("", `- name: answers
  image: example/probe-proxy:v1
  imagePullPolicy: Always
  restartPolicy: Always
  args:
  - "--port=15098"
  env:
  - name: POD_IP
    value: "1.2.3.4"
  - name: X
    value: "y"
  - name: ISTIO_KUBE_APP_PROBERS
    value: '{"/app-health/app/livez":{"httpGet":{"path":"/foo","port":8001,"scheme":"HTTP"},"timeoutSeconds":1}}'
  lifecycle:
    postStart:
      exec:
        command:
        - /probe-proxy
        - wait
        - "--port=15098"
  resources:
    requests:
      cpu: 10m
      memory: 16Mi
    limits:
      cpu: "1"
  securityContext:
    runAsGroup: 7
    runAsNonRoot: true
    readOnlyRootFilesystem: true
    allowPrivilegeEscalation: false
    capabilities:
      drop:
      - ALL
    seccompProfile:
      type: RuntimeDefault
    privileged: false`, 4)
	want = strings.TrimPrefix(want, "    \n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestProbeProxy_besideIstiosSidecar(t *testing.T) {
	for _, c := range []struct{ name, metadata, exclude string }{
		{"none", "", `traffic.sidecar.istio.io/excludeInboundPorts: "15099"`},
		{"appended", "annotations:\n  traffic.sidecar.istio.io/excludeInboundPorts: \"9000, 9001\"\n", `traffic.sidecar.istio.io/excludeInboundPorts: "9000, 9001,15099"`},
		{"there", "annotations:\n  traffic.sidecar.istio.io/excludeInboundPorts: 9000, 15099\n", "traffic.sidecar.istio.io/excludeInboundPorts: 9000, 15099"},
		{"all included", "annotations:\n  traffic.sidecar.istio.io/includeInboundPorts: \"*\"\n", `traffic.sidecar.istio.io/excludeInboundPorts: "15099"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			// On the default port, which needs no argument, and on another; whether
			// Istio injects is not known, and is known.
			for _, inject := range []string{"", injected} {
				before := podOf(inject+c.metadata, app(httpProbe))
				r := plan(t, before, answeredBy("probe-proxy"))
				wantParts(t, r.text, "sidecar.istio.io/rewriteAppHTTPProbers: \"false\"\n", c.exclude+"\n", "port: 15099\n")
				if strings.Contains(r.text, "args:") {
					t.Errorf("probe-proxy answers on 15099 without being told:\n%s", r.text)
				}
				wantNoEdits(t, plan(t, r.text, answeredBy("probe-proxy")))
				wantText(t, restore(t, r.text), before)
				other := strings.NewReplacer("15099", "15098")
				before = other.Replace(before)
				r = plan(t, before, port(15098))
				wantParts(t, r.text, "sidecar.istio.io/rewriteAppHTTPProbers: \"false\"\n", other.Replace(c.exclude)+"\n", "port: 15098\n", "\"--port=15098\"\n")
				wantNoEdits(t, plan(t, r.text, port(15098)))
				wantText(t, restore(t, r.text), before)
			}
		})
	}
	listed := plan(t, podOf("annotations:\n  traffic.sidecar.istio.io/includeInboundPorts: \"8001\"\n", app(httpProbe)))
	if strings.Contains(listed.text, "excludeInboundPorts") || len(listed.Edits) == 0 {
		t.Errorf("where ports are listed, Istio does not look at those excluded:\n%s", listed.text)
	}
}

func TestDeclared_envAndRewriterOff(t *testing.T) {
	before := podOf(injected, app(httpProbe))
	r := plan(t, before)
	wantText(t, r, podOf(injected+"annotations:\n  sidecar.istio.io/rewriteAppHTTPProbers: \"false\"\n", app(`
livenessProbe:
  httpGet:
    path: /app-health/app/livez
    port: 15020
`)+`- name: istio-proxy
  image: auto
  imagePullPolicy: IfNotPresent
  env:
  - name: ISTIO_KUBE_APP_PROBERS
    value: '{"/app-health/app/livez":{"httpGet":{"path":"/foo","port":8001,"scheme":"HTTP"},"timeoutSeconds":1}}'
`))
	wantNoEdits(t, plan(t, r.text))
	wantText(t, restore(t, r.text), before)
}

func TestAutoTakesIstioProxyWhereThePodHasItOrAsksForIt(t *testing.T) {
	proxy := app(httpProbe) + "- name: istio-proxy\n  image: auto\n"
	for _, c := range []struct {
		name, yaml string
		port       int
		who        string
	}{
		{"plain", podOf("", app(httpProbe)), 15099, "probe-proxy"},
		{"label", podOf(injected, app(httpProbe)), 15099, "istio-proxy"},
		{"label and Istio's own port", podOf(injected, app(httpProbe)), 15020, "istio-proxy"},
		{"annotation", podOf("annotations:\n  sidecar.istio.io/inject: \"true\"\n", app(httpProbe)), 15099, "probe-proxy"},
		{"revision", podOf("labels:\n  istio.io/rev: stable\n", app(httpProbe)), 15099, "istio-proxy"},
		{"container", podOf("", proxy), 15099, "istio-proxy"},
		{"another port", podOf(injected, app(httpProbe)), 15098, "probe-proxy"},
		{"the status port", podOf(injected+"annotations:\n  status.sidecar.istio.io/port: \"15099\"\n", app(httpProbe)), 15099, "istio-proxy"},
		{"namespace", namespace("istio-injection: enabled", "") + podOf("", app(httpProbe)), 15099, "istio-proxy"},
		{"namespace revision", namespace("istio.io/rev: x", "") + podOf("", app(httpProbe)), 15099, "istio-proxy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := plan(t, c.yaml, port(c.port))
			if got := strings.Contains(r.text, "name: probe-proxy"); got != (c.who == "probe-proxy") || len(r.Edits) == 0 {
				t.Errorf("must be answered by %s:\n%s", c.who, r.text)
			}
			wantNoEdits(t, plan(t, r.text, port(c.port)))
		})
	}
}

func TestIstioProxy_ofTheUser(t *testing.T) {
	for _, proxy := range []string{
		"- name: istio-proxy\n  image: auto\n  resources:\n    limits:\n      cpu: 1\n",
		"- name: istio-proxy\n  image: auto\n  env:\n  - name: A\n    value: b\n",
		"- name: istio-proxy\n  image: auto\n",
		"- name: istio-proxy\n  image: istio/proxyv2:1.27\n  readinessProbe:\n    httpGet: {path: /healthz/ready, port: 15021}\n",
	} {
		before := podOf("", app(httpProbe)+proxy)
		r := plan(t, before)
		if strings.Count(r.text, "istio-proxy") != 1 || r.env() == "" {
			t.Errorf("the env var must be on the one istio-proxy:\n%s", r.text)
		}
		wantNoEdits(t, plan(t, r.text))
		wantText(t, restore(t, r.text), before)
	}
}

func TestIstioProxy_nativeInTheTemplate(t *testing.T) {
	before := podOf("", `
initContainers:
- name: before
  image: b
  restartPolicy: Always
  startupProbe: {httpGet: {port: 1}}
- name: istio-proxy
  image: istio/proxyv2:1.27
  restartPolicy: Always
- name: after
  image: a
  restartPolicy: Always
  startupProbe: {httpGet: {port: 2}}
containers:
- name: app
  image: app
  lifecycle: {postStart: {httpGet: {port: 3}}}
`)
	r := plan(t, before, answeredBy("istio-proxy"))
	states := []transformer.State{transformer.LeftAlone, transformer.WouldRewrite, transformer.WouldRewrite}
	for i, v := range r.Probes {
		if v.State != states[i] {
			t.Errorf("%s is %s, want %s", v.Container, v.State, states[i])
		}
	}
	if got := r.reasons(); len(got) != 1 || got[0] != "starts-before-answerer" {
		t.Errorf("reasons %v", got)
	}
	if strings.Count(r.text, "name: istio-proxy") != 1 {
		t.Errorf("istio-proxy must not be declared again:\n%s", r.text)
	}
	// A probe-proxy is first, and answers for all.
	r = plan(t, before)
	if r.Answer.By != "probe-proxy" || !strings.Contains(r.Answer.Because, `container "before"`) || len(r.Findings) > 0 {
		t.Errorf("%+v, findings %v", r.Answer, r.Findings)
	}
	for _, v := range r.Probes {
		if v.State != transformer.WouldRewrite {
			t.Errorf("%s is %s", v.Container, v.State)
		}
	}
}

func TestIstioProxy_maybeNoNativeInjector(t *testing.T) {
	r := plan(t, podOf("", "initContainers:\n- name: istio-proxy\n  image: auto\n  restartPolicy: Always\n"+app(httpProbe)))
	wantReason(t, r, "proxy-in-init-containers")
	if len(r.Edits) == 0 {
		t.Error("the probe must be rewritten")
	}
}

func TestIstioProxy_postStartHooks(t *testing.T) {
	hook := app("lifecycle: {postStart: {httpGet: {port: 80}}}")
	r := plan(t, podOf(injected, hook), answeredBy("istio-proxy"))
	if f := wantReason(t, r, "post-start-order"); f.Severity != transformer.Error || !strings.Contains(textOf(f), "answeredBy: probe-proxy") {
		t.Errorf("%+v", f)
	}
	if r.Probes[0].State != transformer.Refused || r.text != podOf(injected, hook) {
		t.Errorf("verdict %+v in\n%s", r.Probes[0], r.text)
	}
	r = plan(t, podOf(injected, hook))
	if r.Answer.By != "probe-proxy" || !strings.Contains(r.Answer.Because, "postStart") || r.Probes[0].State != transformer.WouldRewrite || len(r.Findings) > 0 {
		t.Errorf("%+v, findings %v", r.Answer, r.Findings)
	}
	for _, config := range []string{"holdApplicationUntilProxyStarts: true", `{"holdApplicationUntilProxyStarts": true}`} {
		held := podOf(injected+"annotations:\n  proxy.istio.io/config: |\n    "+config+"\n", hook)
		if r := plan(t, held, answeredBy("istio-proxy")); len(r.Findings) != 0 || r.Answer.By != "istio-proxy" {
			t.Errorf("%s: %v, answer %+v", config, r.Findings, r.Answer)
		}
		// Helm's global.proxy.lifecycle would replace the hook that makes the app wait.
		if r := plan(t, held); len(r.Findings) != 0 || r.Answer.By != "probe-proxy" {
			t.Errorf("%s: %v, answer %+v", config, r.Findings, r.Answer)
		}
	}
}

func TestTheAnnotationNativeSidecarPutsIstioProxyFirst(t *testing.T) {
	r := plan(t, podOf(injected+"annotations:\n  sidecar.istio.io/nativeSidecar: \"true\"\n", `
initContainers:
- name: early
  image: e
  restartPolicy: Always
  startupProbe: {httpGet: {port: 1}}
containers:
- name: app
  image: app
  lifecycle: {postStart: {httpGet: {port: 3}}}
`), answeredBy("istio-proxy"))
	if len(r.Findings) != 0 || r.Answer.By != "istio-proxy" {
		t.Errorf("findings %v, answer %+v", r.Findings, r.Answer)
	}
	for _, v := range r.Probes {
		if v.State != transformer.WouldRewrite {
			t.Errorf("%s of %s is %s", v.ProbeType, v.Container, v.State)
		}
	}
}

func TestInjection_unreadableSwitch(t *testing.T) {
	for _, m := range []string{"labels: {sidecar.istio.io/inject: \"no\"}", "annotations: {sidecar.istio.io/inject: \"yes\"}"} {
		r := plan(t, podOf(m, app(httpProbe)))
		wantReason(t, r, "inject-unclear")
		if len(r.Probes) != 1 || r.Probes[0].State != transformer.WouldRewrite || strings.Contains(r.text, "istio-proxy") {
			t.Errorf("%s: must be rewritten as if it were not there:\n%s", m, r.text)
		}
	}
	// An empty label counts before an annotation.
	r := plan(t, podOf("labels: {sidecar.istio.io/inject: \"\"}\nannotations: {sidecar.istio.io/inject: \"false\"}", app(httpProbe)))
	if r.Probes[0].State != transformer.WouldRewrite {
		t.Errorf("verdict %+v", r.Probes[0])
	}
}

func TestTheStatusPortOfIstioProxyIsWhereItsProbesGo(t *testing.T) {
	r := plan(t, podOf(injected+"annotations:\n  status.sidecar.istio.io/port: \"15030\"\n", app(httpProbe)))
	if r.Probes[0].After != ":15030/app-health/app/livez" {
		t.Errorf("goes to %s", r.Probes[0].After)
	}
	wantNoEdits(t, plan(t, r.text))
	// Moved away, the probes follow.
	back := plan(t, strings.Replace(r.text, "    status.sidecar.istio.io/port: \"15030\"\n", "    x: z\n", 1), port(15030), answeredBy("istio-proxy"))
	if len(back.Edits) != 0 {
		t.Errorf("mesh-wide status port: %v", back.Edits)
	}
	moved := plan(t, strings.Replace(plan(t, podOf(injected, app(httpProbe))).text, "annotations:\n", "annotations:\n        status.sidecar.istio.io/port: \"15031\"\n", 1))
	if !strings.Contains(moved.text, "port: 15031") || strings.Contains(moved.text, "15020") {
		t.Errorf("the probes must follow the status port:\n%s", moved.text)
	}
}

func TestProbeProxy_onIstiosPort(t *testing.T) {
	before := podOf(injected+"annotations:\n  status.sidecar.istio.io/port: \"15030\"\n", app(httpProbe))
	r := plan(t, before, answeredBy("probe-proxy"), port(15020))
	if !strings.Contains(r.text, "rewriteAppHTTPProbers: \"false\"") || !strings.Contains(r.text, "excludeInboundPorts: \"15020\"") {
		t.Errorf("Istio's rewriter must be off, and istio-init captures 15020 now:\n%s", r.text)
	}
	wantNoEdits(t, plan(t, r.text, answeredBy("probe-proxy"), port(15020)))
	wantText(t, restore(t, r.text), before)
}

func TestVerdictsSayWhatHappensInAFewWords(t *testing.T) {
	r := plan(t, podOf("", app(`
readinessProbe: {httpGet: {scheme: HTTPS, path: /healthz, port: 8443}}
livenessProbe: {tcpSocket: {port: 5}}
startupProbe: {grpc: {port: 6, service: s}}
lifecycle: {preStop: {sleep: {seconds: 1}}, postStart: {exec: {command: [x]}}}
`)), injectorRewritesNothing)
	want := []transformer.Verdict{
		{ProbeType: prober.Readiness, Before: "httpGet https :8443/healthz", After: ":15099/app-health/app/readyz", State: transformer.WouldRewrite, StrictTLS: world.Fails},
		{ProbeType: prober.Liveness, Before: "tcpSocket :5", After: ":15099/app-health/app/livez", State: transformer.WouldRewrite, StrictTLS: world.FalselyPasses},
		{ProbeType: prober.Startup, Before: "grpc :6 s", After: ":15099/app-health/app/startupz", State: transformer.WouldRewrite, StrictTLS: world.Fails},
		{ProbeType: prober.PostStart, Before: "exec", State: transformer.LeftAlone, Reason: reason.NoNetwork, StrictTLS: world.Unaffected},
		{ProbeType: prober.PreStop, Before: "sleep", State: transformer.LeftAlone, Reason: reason.NoNetwork, StrictTLS: world.Unaffected},
	}
	check := func(r result, want []transformer.Verdict) {
		t.Helper()
		for i, v := range r.Probes {
			if v.Field.String() == "" || v.Container != "app" {
				t.Errorf("%+v has no field or no container", v)
			}
			v.Field, v.Container = nil, ""
			if v.ProbeType != want[i].ProbeType || v.Before != want[i].Before || v.After != want[i].After || v.State != want[i].State || v.Reason.String() != want[i].Reason.String() || v.StrictTLS != want[i].StrictTLS ||
				strings.HasPrefix(v.If, "Istio injects its sidecar (unknown: ") != (v.StrictTLS != world.Unaffected) {
				t.Errorf("got %+v\nwant %+v", v, want[i])
			}
		}
	}
	check(r, want)
	for i := range want[:3] {
		want[i].State, want[i].StrictTLS = transformer.Rewritten, world.Unaffected
	}
	check(plan(t, r.text), want)
	for i := range want {
		want[i].Reason = reason.NotRewritten
		if i < 3 {
			want[i].Before, want[i].After = "httpGet "+want[i].After, want[i].Before
			want[i].State, want[i].Reason = transformer.WouldRestore, reason.None
		}
	}
	check(restore(t, r.text), want)
}

func TestRewriteChoosesTheHandlers(t *testing.T) {
	yaml := podOf("", app(`
readinessProbe: {httpGet: {port: 1}}
livenessProbe: {tcpSocket: {port: 2}}
startupProbe: {grpc: {port: 3}}
lifecycle: {preStop: {httpGet: {port: 4}}}
`))
	sites := []prober.ProbeType{prober.Readiness, prober.Liveness, prober.Startup, prober.PreStop}
	all := plan(t, yaml)
	for i, only := range transformer.Rewritable() {
		for _, from := range []string{yaml, all.text} {
			choose := func(o *transformer.Options) { o.Rewrite = []string{only} }
			refused := plan(t, from, choose)
			for j, v := range refused.Probes {
				if v.State != transformer.Refused && (i == j || from == all.text) || v.State == transformer.Refused && v.Reason.String() != "rewriter-needed" {
					t.Errorf("%+v: %+v", only, v)
				}
			}
			if f := wantReason(t, refused, "rewriter-needed"); f.Severity != transformer.Error || !strings.Contains(textOf(f), "injectorRewrites: false") || refused.text != from {
				t.Errorf("%+v: %+v in\n%s", only, f, refused.text)
			}
			r := plan(t, from, choose, injectorRewritesNothing)
			if len(r.Findings) != 0 {
				t.Errorf("%+v: %v", only, r.Findings)
			}
			for j, v := range r.Probes {
				if rewritten := v.State == transformer.WouldRewrite || v.State == transformer.Rewritten; rewritten != (i == j) || v.ProbeType != sites[j] {
					t.Errorf("%+v: %+v", only, v)
				}
			}
			if strings.Count(r.env(), "{\"") < 2 || strings.Count(r.env(), "/app-") != 1 {
				t.Errorf("%+v: env %s", only, r.env())
			}
		}
	}
}

func TestOptionsThatCannotBeAreRefused(t *testing.T) {
	for name, change := range map[string]option{
		"answeredBy": answeredBy("nobody"),
		"Istio's":    port(15021),
		"proxy name": func(o *transformer.Options) { o.ProbeProxy.Name = "istio-proxy" },
		"our env": func(o *transformer.Options) {
			o.ProbeProxy.Env = field.List{field.Map{{Key: "name", Value: prober.EnvName}}}
		},
		"uid": func(o *transformer.Options) {
			o.ProbeProxy.SecurityContext = field.Map{{Key: "runAsUser", Value: 1337}}
		},
		"gid": func(o *transformer.Options) {
			o.ProbeProxy.SecurityContext = field.Map{{Key: "runAsGroup", Value: 1337}}
		},
	} {
		if _, err := transformer.New(options(change)); err == nil {
			t.Errorf("%s: must be refused", name)
		} else {
			said.Say("options", err.Error())
		}
	}
}

// TestTheProbesFollowTheStatusPort from the lowest port to the highest.
func TestTheProbesFollowTheStatusPort(t *testing.T) {
	for _, port := range []string{"1", "65535"} {
		r := plan(t, podOf(injected+"annotations:\n  status.sidecar.istio.io/port: \""+port+"\"\n", app(httpProbe)))
		if !strings.Contains(r.text, "path: /app-health/app/livez\n            port: "+port+"\n") {
			t.Errorf("port %s: %v\n%s", port, r.Findings, r.text)
		}
	}
}

// The states and outcomes are part of what explain prints in JSON.
func TestStatesAndOutcomesHaveTheirWords(t *testing.T) {
	for got, want := range map[string]string{
		string(transformer.Rewritten): "rewritten", string(transformer.WouldRewrite): "would rewrite",
		string(transformer.WouldRestore): "would restore", string(transformer.LeftAlone): "left alone", string(transformer.Refused): "refused",
		string(world.Fails): "fails", string(world.FalselyPasses): "falsely passes", string(world.Unaffected): "unaffected",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestALongestTimeoutIsOne(t *testing.T) {
	r := plan(t, podOf("", app("livenessProbe: {httpGet: {port: 80}, timeoutSeconds: 2147483647}")))
	if r.Probes[0].State != transformer.WouldRewrite || !strings.Contains(r.env(), `"timeoutSeconds":2147483647`) {
		t.Errorf("%+v, env %s", r.Probes[0], r.env())
	}
}

func TestAContainerMayHaveTheNameOfOneThatIsNotAdded(t *testing.T) {
	spec := app(httpProbe) + "- name: probe-proxy\n  image: mine\n"
	if r := plan(t, podOf(injected, spec)); r.Answer.By != "istio-proxy" || len(r.Findings) > 0 {
		t.Errorf("%+v, findings %v", r.Answer, r.Findings)
	}
	wantReason(t, plan(t, podOf("", spec)), "name-taken")
}

// A real istio-proxy starts where the template has it.
func TestIstioProxy_hooksOfLaterContainers(t *testing.T) {
	const proxy = "- name: istio-proxy\n  image: istio/proxyv2:1.27\n"
	hooked := "- name: app\n  image: app\n  lifecycle: {postStart: {httpGet: {port: 80}}}\n"
	r := plan(t, podOf("", "containers:\n"+proxy+hooked), answeredBy("istio-proxy"))
	if r.Answer.By != "istio-proxy" || len(r.Findings) > 0 {
		t.Errorf("%+v, findings %v", r.Answer, r.Findings)
	}
	before := podOf("", "containers:\n"+hooked+proxy)
	because := `istio-proxy reports the postStart hook of container "app" as passed, even if the app never got it`
	if r := plan(t, before); r.Answer.By != "probe-proxy" || r.Answer.Because != because || len(r.Findings) > 0 {
		t.Errorf("%+v, findings %v", r.Answer, r.Findings)
	}
	wantReason(t, plan(t, before, answeredBy("istio-proxy")), "post-start-order")
	// The placeholder is moved to where the injector wants it.
	held := "annotations: {proxy.istio.io/config: \"holdApplicationUntilProxyStarts: true\"}"
	if r := plan(t, podOf(held, "containers:\n"+hooked+"- name: istio-proxy\n  image: auto\n"), holds, answeredBy("istio-proxy")); r.Answer.By != "istio-proxy" || len(r.Findings) > 0 {
		t.Errorf("%+v, findings %v", r.Answer, r.Findings)
	}
}

// The verdict has the reason of the error, whatever is warned of before it.
func TestARefusedProbeHasTheErrorsReason(t *testing.T) {
	r := plan(t, podOf("annotations: {traffic.sidecar.istio.io/excludeInboundPorts: \"x\"}", app(httpProbe+"ports: [{containerPort: 15099}]")))
	wantReason(t, r, "port-list-invalid")
	if v := r.Probes[0]; v.State != transformer.Refused || v.Reason.String() != "port-taken" {
		t.Errorf("%+v", v)
	}
}
