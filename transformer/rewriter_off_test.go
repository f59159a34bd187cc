package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// Istio's rewriter is turned off for a whole pod, so nothing that it may serve is left
// alone in one that is rewritten. Each reason to leave a probe alone, in a template with
// another probe that is rewritten.
func TestRewriter_istioServesProbes(t *testing.T) {
	onlyHTTP := func(o *transformer.Options) { o.Rewrite = []string{"httpGet"} }
	const skip = "annotations: {rewrite-probes.io/skip-containers: s}\n"
	for _, c := range []struct {
		name, metadata, reason string
		left                   string // fields of the container s
		init                   bool   // it is an init container
		opts                   []option
		needed                 bool
	}{
		{name: "skipped", metadata: skip, reason: "skipped-container", left: "livenessProbe: {httpGet: {port: 80}}", needed: true},
		{name: "skipped tcpSocket", metadata: skip, reason: "skipped-container", left: "livenessProbe: {tcpSocket: {port: 80}}", needed: true},
		{name: "skipped hook", metadata: skip, reason: "skipped-container", left: "lifecycle: {preStop: {httpGet: {port: 80}}}", needed: true},
		{name: "skipped exec", metadata: skip, reason: "no-network", left: "livenessProbe: {exec: {command: [x]}}"},
		{name: "skipped, to another host", metadata: skip, reason: "skipped-container", left: "livenessProbe: {httpGet: {port: 80, host: 10.0.0.1}}"},
		{name: "skipped, on a port that is not captured", metadata: "annotations: {rewrite-probes.io/skip-containers: s, traffic.sidecar.istio.io/excludeInboundPorts: \"80\"}\n", reason: "skipped-container", left: "livenessProbe: {httpGet: {port: 80}}"},
		{name: "skipped, without a port", metadata: skip, reason: "skipped-container", left: "livenessProbe: {httpGet: {port: web}}"},
		{name: "not selected", reason: "not-selected", left: "livenessProbe: {grpc: {port: 80}}", opts: []option{onlyHTTP}, needed: true},
		{name: "unknown field", reason: "handler-unknown", left: "livenessProbe: {httpGet: {port: 80, novel: x}}", needed: true},
		{name: "unknown handler", reason: "handler-unknown", left: "livenessProbe: {udpSocket: {port: 80}}"},
		{name: "no handler", reason: "not-one-handler", left: "livenessProbe: {periodSeconds: 1}"},
		{name: "two handlers", reason: "not-one-handler", left: "livenessProbe: {httpGet: {port: 80}, tcpSocket: {port: 80}}"},
		{name: "scheme", reason: "scheme-invalid", left: "livenessProbe: {httpGet: {port: 80, scheme: https}}", needed: true},
		{name: "timeout", reason: "timeout-invalid", left: "livenessProbe: {httpGet: {port: 80}, timeoutSeconds: -1}", needed: true},
		{name: "host", reason: "host-set", left: "livenessProbe: {httpGet: {port: 80, host: 10.0.0.1}}"},
		{name: "port name", reason: "port-unresolved", left: "livenessProbe: {httpGet: {port: web}}"},
		{name: "a port that is to be substituted", reason: "port-unresolved", left: "livenessProbe: {httpGet: {port: \"${PORT}\"}}", needed: true},
		{name: "a path that is to be substituted", reason: "variable", left: "livenessProbe: {httpGet: {port: 80, path: \"${BASE}/live\"}}", needed: true},
		{name: "port number", reason: "port-invalid", left: "livenessProbe: {httpGet: {port: 70000}}"},
		{name: "not captured", metadata: "annotations: {traffic.sidecar.istio.io/excludeInboundPorts: \"80\"}\n", reason: "port-not-captured", left: "livenessProbe: {httpGet: {port: 80}}"},
		{name: "tcpSocket hook", reason: "hook-never-works", left: "lifecycle: {preStop: {tcpSocket: {port: 80}}}", needed: true},
		{name: "tcpSocket hook at the start", reason: "hook-never-works", left: "lifecycle: {postStart: {tcpSocket: {port: 80}}}", needed: true},
		{name: "tcpSocket hook to another host", reason: "hook-never-works", left: "lifecycle: {preStop: {tcpSocket: {port: 80, host: 10.0.0.1}}}", needed: true},
		{name: "tcpSocket hook to a port that is not captured", metadata: "annotations: {traffic.sidecar.istio.io/excludeInboundPorts: \"80\"}\n", reason: "hook-never-works", left: "lifecycle: {preStop: {tcpSocket: {port: 80}}}", needed: true},
		{name: "tcpSocket hook without a port", reason: "hook-never-works", left: "lifecycle: {preStop: {tcpSocket: {port: web}}}"},
		{name: "tcpSocket hook of a native sidecar", init: true, reason: "hook-never-works", left: "restartPolicy: Always\n  lifecycle: {preStop: {tcpSocket: {port: 80}}}", needed: true},
		{name: "tcpSocket hook of an init container", init: true, reason: "hook-never-works", left: "lifecycle: {preStop: {tcpSocket: {port: 80}}}"},
		{name: "tcpSocket probe to another host", reason: "host-set", left: "livenessProbe: {tcpSocket: {port: 80, host: 10.0.0.1}}", needed: true},
		{name: "tcpSocket probe to another host, without a port", reason: "host-set", left: "livenessProbe: {tcpSocket: {port: web, host: 10.0.0.1}}"},
		{name: "dangling", reason: "dangling", left: "livenessProbe: {httpGet: {path: /app-health/s/livez, port: 15020}}"},
		{name: "init container", reason: "init-container", init: true, left: "livenessProbe: {httpGet: {port: 80}}"},
		{name: "native sidecar", reason: "starts-before-answerer", init: true, left: "restartPolicy: Always\n  startupProbe: {httpGet: {port: 80}}", opts: []option{asContainer}, needed: true},
		{name: "native sidecar, to another host", reason: "host-set", init: true, left: "restartPolicy: Always\n  startupProbe: {httpGet: {port: 80, host: h}}", opts: []option{asContainer}},
		{name: "native sidecar that an ordinary istio-proxy would not serve either", reason: "starts-before-answerer", init: true, left: "restartPolicy: Always\n  startupProbe: {httpGet: {port: 80}}", opts: []option{asContainer, nativeSidecars(false)}},
		{name: "what istio-proxy cannot make", metadata: injected, reason: "proxy-cannot-answer", left: "livenessProbe: {grpc: {port: 80, mode: TLS}}", opts: []option{answeredBy("istio-proxy")}, needed: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := "- name: s\n  image: s\n  " + c.left + "\n"
			spec := app(httpProbe) + s
			if c.init {
				spec = "initContainers:\n" + s + app(httpProbe)
			}
			before := podOf(c.metadata, spec)
			r := plan(t, before, c.opts...)
			f, refused := r.has("rewriter-needed")
			if refused != c.needed {
				t.Fatalf("refused: %t, findings %v", refused, r.Findings)
			}
			if refused && (f.Severity != transformer.Error || f.Container != "s" || !strings.Contains(textOf(f), "(`"+c.reason+"`)") || r.text != before) {
				t.Errorf("%+v in\n%s", f, r.text)
			}
			for _, v := range r.Probes {
				if v.Container == "s" && (v.Reason.String() != c.reason || v.State != transformer.LeftAlone) || v.Container == "app" && (v.State == transformer.WouldRewrite) == refused {
					t.Errorf("%+v", v)
				}
			}
			// What the message names as fixes are fixes: the config says that the injector
			// rewrites nothing, or the pod is taken out.
			cured := plan(t, before, append([]option{injectorRewritesNothing}, c.opts...)...)
			if _, still := cured.has("rewriter-needed"); still || !strings.Contains(cured.text, "/app-health/app/livez") || strings.Contains(cured.env(), "/s/") {
				t.Errorf("findings %v in\n%s", cured.Findings, cured.text)
			}
			wantText(t, restore(t, cured.text), before)
			out := plan(t, strings.Replace(before, "  name: web\n", "  name: web\n  annotations: {rewrite-probes.io/rewrite: \"false\"}\n", 1), c.opts...)
			if _, still := out.has("rewriter-needed"); still || len(out.Edits) > 0 {
				t.Errorf("opted out: %v", out.Findings)
			}
		})
	}
	// Alone in its pod, nothing is turned off for it.
	if r := plan(t, podOf(skip, "containers:\n- name: s\n  image: s\n  livenessProbe: {httpGet: {port: 80}}\n")); len(r.Edits) > 0 || len(r.Findings) != 1 {
		t.Errorf("findings %v", r.Findings)
	}
}

func TestARewriterThatIsOffOrNotThereIsNotNeeded(t *testing.T) {
	two := app(httpProbe) + "- name: s\n  image: s\n  livenessProbe: {httpGet: {port: 80}}\n"
	const skip = "annotations: {rewrite-probes.io/skip-containers: s"
	for name, c := range map[string]struct {
		metadata string
		opts     []option
	}{
		"another mesh":         {skip + ", linkerd.io/inject: enabled}", nil},
		"not injected":         {skip + "}", []option{injects(), answeredBy("probe-proxy")}},
		"on Istio's own port":  {skip + "}", []option{injects(), answeredBy("probe-proxy"), port(15020)}},
		"the injector is told": {skip + "}", []option{injectorRewritesNothing}},
	} {
		if r := plan(t, podOf(c.metadata, two), c.opts...); !strings.Contains(r.text, "/app-health/app/livez") || len(r.Findings) != 1 {
			t.Errorf("%s: findings %v in\n%s", name, r.Findings, r.text)
		}
	}
	// Where it is certain to be injected, the same holds as where it is not known.
	for _, opts := range [][]option{nil, {injects("*")}, {injects("*"), answeredBy("probe-proxy")}, {injects("*"), port(15098)}, {port(15098)}} {
		if r := plan(t, podOf(skip+"}", two), opts...); len(r.Edits) > 0 {
			t.Errorf("edits of\n%s", r.text)
		} else {
			wantReason(t, r, "rewriter-needed")
		}
	}
}

// A fix that does nothing is none: the functionConfig may itself say that Istio's injector rewrites.
func TestRewriter_messageNamesWhoSaysSo(t *testing.T) {
	two := app(httpProbe) + "- name: s\n  image: s\n  livenessProbe: {httpGet: {port: 80}}\n"
	const skip = "annotations: {rewrite-probes.io/skip-containers: s"
	for _, c := range []struct {
		metadata string
		opts     []option
		said     string // "" if it is not known
	}{
		{metadata: skip + "}"},
		{skip + "}", []option{injectorRewrites}, "`istio.injectorRewrites`"},
	} {
		f := wantReason(t, plan(t, podOf(c.metadata, two), c.opts...), "rewriter-needed")
		cure, says := strings.Contains(textOf(f), "injectorRewrites: false"), strings.Contains(textOf(f), "serves this probe in an injected pod ("+c.said+")")
		if cure != (c.said == "") || says != (c.said != "") || !strings.Contains(textOf(f), "opt out the pod (`rewrite-probes.io/rewrite: \"false\"`)") {
			t.Errorf("%s: %s", c.metadata, textOf(f))
		}
	}
}

// Kuma and Consul, too, are told to rewrite nothing in a pod that is rewritten, so that
// what stays as it is there would begin to fail.
func TestRewriter_anotherMeshServesProbes(t *testing.T) {
	for _, m := range meshes {
		const left = "rewrite-probes.io/skip-containers"
		serves := map[string]bool{
			"livenessProbe: {httpGet: {port: 80}}":                          m.rewriter != "",
			"livenessProbe: {httpGet: {port: 80, scheme: HTTPS}}":           m.name == "kuma",
			"readinessProbe: {tcpSocket: {port: 80}}":                       m.name == "kuma",
			"startupProbe: {grpc: {port: 80}}":                              m.name == "kuma",
			"livenessProbe: {httpGet: {port: 80, host: 10.0.0.1}}":          false,
			"livenessProbe: {exec: {command: [x]}}":                         false,
			"lifecycle: {preStop: {httpGet: {port: 80}}}":                   false,
			"livenessProbe: {httpGet: {port: 80}}\n  restartPolicy: Always": m.name == "kuma",
		}
		for fields, needed := range serves {
			s := "- name: s\n  image: s\n  " + fields + "\n"
			spec := app(httpProbe) + s
			if strings.Contains(fields, "restartPolicy") {
				spec = "initContainers:\n" + s + app(httpProbe)
			}
			before := podOf(withNote(m.on, left, "s"), spec)
			r := plan(t, before)
			f, refused := r.has("rewriter-needed")
			if refused != needed || refused != (r.text == before) {
				t.Fatalf("%s, %s: refused: %t, findings %v", m.name, fields, refused, r.Findings)
			}
			if !refused {
				continue
			}
			if f.Container != "s" || !strings.Contains(textOf(f), m.title+"'s rewriter, which may serve this probe") || !strings.Contains(textOf(f), "`"+m.rewriter+": \""+m.turnsOff+"\"`") || strings.Contains(textOf(f), "Istio") {
				t.Errorf("%s, %s: %s", m.name, fields, textOf(f))
			}
			// The fixes: the annotation, another port for the mesh to leave alone, or an opt-out.
			cured := plan(t, podOf(withNote(withNote(m.on, left, "s"), m.rewriter, m.turnsOff), spec))
			if _, still := cured.has("rewriter-needed"); still || !strings.Contains(cured.text, "/app-health/app/livez") {
				t.Errorf("%s, %s: findings %v in\n%s", m.name, fields, cured.Findings, cured.text)
			}
			for _, v := range cured.Probes {
				if v.Container == "s" && (v.StrictTLS == world.Unaffected || v.State != transformer.LeftAlone) {
					t.Errorf("%s, %s: check says %+v of a probe that nobody serves", m.name, fields, v)
				}
			}
			if r := plan(t, podOf(withNote(withNote(m.on, left, "s"), m.excluded, "80"), spec)); !strings.Contains(r.text, "/app-health/app/livez") {
				t.Errorf("%s, %s: findings %v", m.name, fields, r.Findings)
			}
			if r := plan(t, podOf(withNote(withNote(m.on, left, "s"), "rewrite-probes.io/rewrite", "false"), spec)); len(r.Edits) > 0 {
				t.Errorf("%s, %s: edits %v", m.name, fields, r.Edits)
			}
		}
	}
}
