package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/authz"
	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/beside"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

func nativeSidecars(v bool) option {
	return func(o *transformer.Options) { o.Istio.NativeSidecars = v }
}
func holds(o *transformer.Options) { o.Istio.HoldApplication = true }
func mtls(mode string) option      { return func(o *transformer.Options) { o.Istio.MTLS = mode } }

// among plans with what other manifests say of the object.
func among(t *testing.T, around beside.Source, yaml string, opts ...option) result {
	t.Helper()
	return runAmong(t, around, yaml, (*transformer.Planner).Plan, opts...)
}

// Each way of saying so, on its own, with the answerer of a probe that the app has, one that its native sidecar has, one that does not
// wait, and a postStart hook, whose failure istio-proxy would hide.
func TestIstioProxyAnswersOnlyWhatItCertainlyServes(t *testing.T) {
	annotated := func(lines ...string) string {
		return injected + "annotations:\n  " + strings.Join(lines, "\n  ") + "\n"
	}
	const (
		native    = `sidecar.istio.io/nativeSidecar: "true"`
		ordinary  = `sidecar.istio.io/nativeSidecar: "false"`
		holding   = `proxy.istio.io/config: "holdApplicationUntilProxyStarts: true"`
		notHeld   = `proxy.istio.io/config: "holdApplicationUntilProxyStarts: false"`
		proxyHook = "- name: istio-proxy\n  image: auto\n  lifecycle: {postStart: {exec: {command: [x]}}}\n"
	)
	for _, c := range []struct {
		name, metadata string
		opts           []option
		more           string // containers
		sidecar, hook  bool   // istio-proxy starts before the sidecar, and before the app
		presumed       bool   // it starts before the app, unless Helm's global.proxy.lifecycle is set
	}{
		{name: "nothing is said", metadata: injected},
		{name: "native, by the annotation", metadata: annotated(native), sidecar: true, hook: true},
		{name: "native, by the config", metadata: injected, opts: []option{nativeSidecars(true)}, sidecar: true, hook: true},
		{name: "an ordinary one, by the annotation", metadata: annotated(ordinary)},
		{name: "an ordinary one, by the config", metadata: injected, opts: []option{nativeSidecars(false)}},
		{name: "the annotation wins, and says native", metadata: annotated(native), opts: []option{nativeSidecars(false)}, sidecar: true, hook: true},
		{name: "the annotation wins, and says ordinary", metadata: annotated(ordinary), opts: []option{nativeSidecars(true)}},
		{name: "it is waited for, by the annotation", metadata: annotated(holding), presumed: true},
		{name: "it is waited for, by both", metadata: annotated(holding), opts: []option{holds}, hook: true},
		{name: "it is waited for, by the config", metadata: injected, opts: []option{holds}, hook: true},
		{name: "the annotation cannot undo that", metadata: annotated(notHeld), opts: []option{holds}, hook: true},
		{name: "the annotation says that it is not", metadata: annotated(notHeld)},
		{name: "ordinary and waited for", metadata: annotated(ordinary, holding), presumed: true},
		{name: "a hook of the declared proxy takes the place of Istio's", metadata: annotated(holding), more: proxyHook},
		{name: "a native one needs no such hook", metadata: annotated(native, holding), more: proxyHook, sidecar: true, hook: true},
	} {
		for _, x := range []struct {
			what, spec string
			byIstio    bool
		}{
			{"probe", app(httpProbe) + c.more, true},
			{"native sidecar", "initContainers:\n- name: db\n  image: db\n  restartPolicy: Always\n  startupProbe: {httpGet: {port: 1}}\n" + app(httpProbe) + c.more, c.sidecar},
			{"impatient probe", app("livenessProbe: {httpGet: {port: 80}, periodSeconds: 1, failureThreshold: 1}\n") + c.more, c.hook},
			{"hook", app(httpProbe+"lifecycle: {postStart: {httpGet: {port: 80}}}\n") + c.more, false},
		} {
			t.Run(c.name+", "+x.what, func(t *testing.T) {
				before := podOf(c.metadata, x.spec)
				r := plan(t, before, c.opts...)
				want := "probe-proxy"
				if x.byIstio {
					want = "istio-proxy"
				}
				if r.Answer.By != want || (r.Answer.Because == "") != x.byIstio || !r.Answer.Injected || len(r.Findings) > 0 {
					t.Fatalf("%+v, findings %v", r.Answer, r.Findings)
				}
				for _, v := range r.Probes {
					if v.State != transformer.WouldRewrite && v.Reason.String() != "proxy-container" && v.Reason.String() != "no-network" {
						t.Errorf("%+v", v)
					}
				}
				wantNoEdits(t, plan(t, r.text, c.opts...))
				wantText(t, restore(t, r.text), before)
				if again := plan(t, r.text, c.opts...); again.Probes[0].StrictTLS != world.Unaffected {
					t.Errorf("once rewritten: %+v", again.Probes[0])
				}
				// Who insists on istio-proxy is refused, and told what would do.
				if x.byIstio || x.what == "impatient probe" {
					return
				}
				insists := plan(t, before, append([]option{answeredBy("istio-proxy")}, c.opts...)...)
				if x.what == "hook" && (c.hook || c.presumed) {
					if insists.Answer.By != "istio-proxy" || len(insists.Findings) > 0 {
						t.Errorf("%+v, findings %v", insists.Answer, insists.Findings)
					}
				} else if x.what == "hook" {
					f := wantReason(t, insists, "post-start-order")
					if !strings.Contains(textOf(f), "answeredBy: probe-proxy") {
						t.Errorf("%s", textOf(f))
					}
				} else if f := wantReason(t, insists, "starts-before-answerer"); f.Container != "db" {
					t.Errorf("%+v", f)
				}
				if _, needed := insists.has("rewriter-needed"); x.what == "native sidecar" && needed != (insists.text == before) {
					t.Errorf("rewriter-needed %t and yet\n%s", needed, insists.text)
				}
			})
		}
	}
}

// An ordinary istio-proxy ends together with the containers whose preStop hooks it would
// answer.
func TestIstioProxy_preStopHooks(t *testing.T) {
	const hook = "lifecycle: {preStop: {httpGet: {path: /drain, port: 8080}}}\n"
	annotated := func(native string) string {
		return injected + "annotations:\n  sidecar.istio.io/nativeSidecar: \"" + native + "\"\n"
	}
	db := "initContainers:\n- name: db\n  image: db\n  restartPolicy: Always\n  " + hook
	for _, c := range []struct {
		name, metadata, spec string
		opts                 []option
		byIstio              bool
	}{
		{"not known", injected, app(hook), nil, false},
		{"native, by the annotation", annotated("true"), app(hook), nil, true},
		{"native, by the config", injected, app(hook), []option{nativeSidecars(true)}, true},
		{"an ordinary one, by the annotation", annotated("false"), app(hook), []option{nativeSidecars(true)}, false},
		{"an ordinary one, by the config", injected, app(hook), []option{nativeSidecars(false)}, false},
		{"that it is waited for says nothing of its end", injected, app(hook), []option{holds}, false},
		{"of a native sidecar, which ends later still", injected, db + app(httpProbe), nil, false},
		{"the same, beside a native one", annotated("true"), db + app(httpProbe), nil, true},
		{"another hook", injected, app(httpProbe + "lifecycle: {preStop: {exec: {command: [x]}}}\n"), nil, true},
		{"a hook that never works", injected, app(httpProbe + "lifecycle: {preStop: {tcpSocket: {port: 80}}}\n"), []option{injectorRewritesNothing}, true},
		{"as the config says", injected, app(hook), []option{answeredBy("istio-proxy")}, true},
	} {
		before := podOf(c.metadata, c.spec)
		r := plan(t, before, c.opts...)
		want := map[bool]string{true: "istio-proxy", false: "probe-proxy"}[c.byIstio]
		if r.Answer.By != want || strings.Contains(r.Answer.Because, "before the preStop hook") == c.byIstio {
			t.Errorf("%s: %+v, findings %v", c.name, r.Answer, r.Findings)
		}
		wantNoEdits(t, plan(t, r.text, c.opts...))
		wantText(t, restore(t, r.text), before)
		// What another configuration has given to istio-proxy is moved.
		other := append([]option{answeredBy("istio-proxy")}, c.opts...)
		moved := plan(t, plan(t, before, other...).text, c.opts...)
		if moved.Answer.By != want || !strings.Contains(moved.text, "/drain") && strings.Contains(c.spec, "/drain") {
			t.Errorf("%s: moved: %+v in\n%s", c.name, moved.Answer, moved.text)
		}
		wantText(t, restore(t, moved.text), before)
	}
}

// With such a value the injector may leave the declared istio-proxy beside its own, and
// versions differ in whether the sidecar is native.
func TestIstioProxy_injectorMayAddASecond(t *testing.T) {
	for _, opts := range [][]option{nil, {nativeSidecars(true)}, {nativeSidecars(false)}} {
		for _, value := range []string{"yes", "True", "", "true"} {
			byIstio := value == "" || value == "true"
			before := podOf(injected+"annotations: {sidecar.istio.io/nativeSidecar: \""+value+"\"}", app(httpProbe))
			r := plan(t, before, opts...)
			if got := r.Answer.By == "istio-proxy"; got != byIstio || !byIstio && !strings.Contains(r.Answer.Because, "twice") || len(r.Findings) > 0 {
				t.Errorf("%q: %+v, findings %v", value, r.Answer, r.Findings)
			}
			wantNoEdits(t, plan(t, r.text, opts...))
			wantText(t, restore(t, r.text), before)
			insists := plan(t, before, append([]option{answeredBy("istio-proxy")}, opts...)...)
			if _, refused := insists.has("annotation-invalid"); refused == byIstio || refused != (insists.text == before) {
				t.Errorf("%q: %v\n%s", value, insists.Findings, insists.text)
			}
		}
	}
}

// An ordinary probe-proxy starts after native sidecars, whatever is known of Istio's sidecar.
func TestAnOrdinaryProbeProxyIsLateInEveryWorld(t *testing.T) {
	db := "initContainers:\n- name: db\n  image: db\n  restartPolicy: Always\n  startupProbe: {httpGet: {port: 1}}\n"
	for _, metadata := range []string{"", injected, "labels: {sidecar.istio.io/inject: \"false\"}", "annotations: {linkerd.io/inject: enabled}"} {
		before := podOf(metadata, db+app(httpProbe))
		for _, opts := range [][]option{{injectorRewritesNothing}, {injectorRewritesNothing, nativeSidecars(true)}} {
			opts = append(opts, answeredBy("probe-proxy"))
			if r := plan(t, before, opts...); len(r.Findings) > 0 || r.Probes[0].State != transformer.WouldRewrite {
				t.Errorf("%s: a native probe-proxy: %+v, findings %v", metadata, r.Probes[0], r.Findings)
			}
			late := plan(t, before, append(opts, asContainer)...)
			wantReason(t, late, "starts-before-answerer")
			if late.Probes[0].State != transformer.LeftAlone || late.Probes[1].State != transformer.WouldRewrite {
				t.Errorf("%s: an ordinary one: %+v", metadata, late.Probes)
			}
		}
	}
}

// If istio-proxy is known to be an ordinary container, its rewriter would have hung a
// native sidecar's startup too, so that leaving it alone makes nothing worse.
func TestARewriterThatWouldServeNothingMayBeTurnedOff(t *testing.T) {
	before := podOf(injected, "initContainers:\n- name: db\n  image: db\n  restartPolicy: Always\n  startupProbe: {httpGet: {port: 1}}\n"+app(httpProbe))
	r := plan(t, before, answeredBy("istio-proxy"), nativeSidecars(false))
	if got := r.reasons(); len(got) != 1 || got[0] != "starts-before-answerer" || len(r.Edits) == 0 {
		t.Errorf("%v, edits %v", got, r.Edits)
	}
	for _, opts := range [][]option{{answeredBy("istio-proxy")}, {answeredBy("probe-proxy"), asContainer, nativeSidecars(true)}, {answeredBy("probe-proxy"), asContainer}} {
		r := plan(t, before, opts...)
		if f := wantReason(t, r, "rewriter-needed"); f.Container != "db" || r.text != before {
			t.Errorf("%+v in\n%s", f, r.text)
		}
	}
}

func TestIstioProxy_portWithoutListener(t *testing.T) {
	const config = "annotations:\n  proxy.istio.io/config: '{\"statusPort\": 15030}'\n"
	before := podOf(injected+config, app(httpProbe))
	if r := plan(t, strings.ReplaceAll(before, "15030", "0")); r.Answer.By != "istio-proxy" || r.Answer.Port != 15020 {
		t.Errorf("a port that is not set: %+v", r.Answer)
	}
	r := plan(t, before)
	if r.Answer.By != "probe-proxy" || r.Answer.Port != 15099 || !strings.Contains(r.Answer.Because, "listens on port 15030") || len(r.Findings) > 0 {
		t.Errorf("%+v, findings %v", r.Answer, r.Findings)
	}
	wantParts(t, r.text, "rewriteAppHTTPProbers: \"false\"", "excludeInboundPorts: \"15099\"")
	if v := plan(t, r.text).Probes[0]; v.StrictTLS != world.Unaffected {
		t.Errorf("once rewritten: %+v", v)
	}
	wantText(t, restore(t, r.text), before)
	// A probe-proxy cannot have that port.
	wantReason(t, plan(t, before, port(15030)), "port-collision")
	// What was rewritten for istio-proxy without regard to it fails, and check says so.
	older := strings.Replace(plan(t, podOf(injected+"annotations:\n  a: b\n", app(httpProbe))).text, "        a: b\n", "        "+strings.TrimSpace(strings.TrimPrefix(config, "annotations:\n"))+"\n", 1)
	v := plan(t, older).Probes[0]
	if v.StrictTLS != world.Fails || v.If != "" || !strings.Contains(v.Why, "15030") {
		t.Errorf("%+v", v)
	}
	// The annotation moves all of Istio, and wins.
	r = plan(t, podOf(injected+config+"  status.sidecar.istio.io/port: \"15031\"\n", app(httpProbe)))
	if r.Answer.By != "istio-proxy" || r.Answer.Port != 15031 || len(r.Findings) > 0 {
		t.Errorf("%+v, findings %v", r.Answer, r.Findings)
	}
	if v := plan(t, r.text).Probes[0]; v.StrictTLS != world.Unaffected {
		t.Errorf("once rewritten: %+v", v)
	}
	// Who insists on istio-proxy is refused.
	r = plan(t, before, answeredBy("istio-proxy"))
	if f := wantReason(t, r, "probe-port-captured"); !strings.Contains(textOf(f), "status.sidecar.istio.io/port") || r.text != before {
		t.Errorf("%+v in\n%s", f, r.text)
	}
}

// The status port that is not captured is that of the annotation, and 15020 is captured next
// to any other, even one that moves Istio's agent to no port at all.
func TestAStatusPortThatIsNoneLeavesTheDefaultToTheMesh(t *testing.T) {
	probe := app("livenessProbe: {httpGet: {path: /healthz/ready, port: 15020}}")
	for value, want := range map[string]world.Outcome{
		"0": world.Fails, "00": world.Fails, "15021": world.Fails, "15030": world.Fails, " 15030": world.Fails,
		"15020": world.Unaffected, " 15020": world.Unaffected, "x": world.Unaffected, "-1": world.Unaffected, "65536": world.Unaffected,
	} {
		r := plan(t, podOf(injected+"annotations: {status.sidecar.istio.io/port: \""+value+"\"}", probe), answeredBy("probe-proxy"), injectorRewritesNothing)
		if got := r.Probes[0].StrictTLS; got != want {
			t.Errorf("%q: %v, want %v (%s)", value, got, want, r.Probes[0].Why)
		}
	}
	// What Istio's injector rewrites goes nowhere either, and probe-proxy can answer.
	const zero = injected + "annotations: {status.sidecar.istio.io/port: \"0\"}"
	if v := plan(t, podOf(zero, app(httpProbe)), injectorRewrites).Probes[0]; v.StrictTLS != world.Fails || v.If != "" || !strings.Contains(v.Why, "status.sidecar.istio.io/port") {
		t.Errorf("%+v", v)
	}
	r := plan(t, podOf(zero, app(httpProbe)), answeredBy("probe-proxy"), injectorRewritesNothing)
	if v := plan(t, r.text, answeredBy("probe-proxy")).Probes[0]; r.text == podOf(zero, app(httpProbe)) || v.StrictTLS != world.Unaffected {
		t.Errorf("%+v in\n%s", v, r.text)
	}
}

// Where the whole mesh has another status port, the options say so.
func TestAStatusPortOfTheWholeMeshIsBelieved(t *testing.T) {
	opts := []option{answeredBy("istio-proxy"), port(15030)}
	r := plan(t, plan(t, podOf(injected, app(httpProbe)), opts...).text, opts...)
	if len(r.Edits) > 0 || r.Probes[0].StrictTLS != world.Unaffected || !strings.Contains(r.text, "port: 15030") {
		t.Errorf("%+v, edits %v", r.Probes, r.Edits)
	}
}

func TestAListOfIncludedPortsCapturesThoseAndNoOthers(t *testing.T) {
	listed := func(ports string) string {
		return injected + "annotations:\n  traffic.sidecar.istio.io/includeInboundPorts: \"" + ports + "\"\n  traffic.sidecar.istio.io/excludeInboundPorts: \"8001,15020\"\n"
	}
	// Exclusions are ignored, that of the status port too.
	r := plan(t, podOf(listed("8001"), app(httpProbe)))
	if r.Answer.By != "istio-proxy" || r.Probes[0].State != transformer.WouldRewrite || r.Probes[0].StrictTLS != world.Fails {
		t.Errorf("%+v, %+v, findings %v", r.Answer, r.Probes, r.Findings)
	}
	before := podOf(listed("8001,15020"), app(httpProbe))
	r = plan(t, before)
	if r.Answer.By != "probe-proxy" || !strings.Contains(r.Answer.Because, "15020") || !strings.Contains(r.text, "excludeInboundPorts: \"8001,15020\"") || len(r.Findings) > 0 {
		t.Errorf("%+v, findings %v in\n%s", r.Answer, r.Findings, r.text)
	}
	if r := plan(t, before, answeredBy("istio-proxy")); r.text != before {
		t.Errorf("findings %v in\n%s", r.Findings, r.text)
	} else {
		wantReason(t, r, "probe-port-captured")
	}
	wantReason(t, plan(t, podOf(listed("8001,15099"), app(httpProbe)), answeredBy("probe-proxy")), "probe-port-captured")
	if r := plan(t, podOf(strings.TrimPrefix(listed("8001,15099"), injected), app(httpProbe)), answeredBy("probe-proxy"), injects()); len(r.Findings) > 0 || len(r.Edits) == 0 {
		t.Errorf("what Istio does not inject it does not capture: findings %v", r.Findings)
	}
	// An exclusion would be in vain for the app too.
	if r := plan(t, podOf(listed("8001"), app(httpProbe)), answeredBy("app")); r.text != podOf(listed("8001"), app(httpProbe)) {
		t.Errorf("findings %v in\n%s", r.Findings, r.text)
	} else {
		wantReason(t, r, "probe-port-captured")
	}
	// What is not listed is not captured.
	if r := plan(t, podOf(listed("80"), app(httpProbe))); r.Probes[0].Reason.String() != "port-not-captured" || r.Probes[0].StrictTLS != world.Unaffected {
		t.Errorf("%+v", r.Probes)
	}
}

func TestWithoutRedirectionNothingIsCaptured(t *testing.T) {
	for name, c := range map[string]struct{ annotations, field string }{
		"annotation":                             {"  sidecar.istio.io/interceptionMode: NONE\n", "sidecar.istio.io/interceptionMode"},
		"config":                                 {"  proxy.istio.io/config: \"interceptionMode: NONE\"\n", "proxy.istio.io/config"},
		"config in JSON":                         {"  proxy.istio.io/config: '{\"concurrency\": 1, \"interceptionMode\": \"NONE\"}'\n", "proxy.istio.io/config"},
		"annotation, which wins over the config": {"  proxy.istio.io/config: \"interceptionMode: REDIRECT\"\n  sidecar.istio.io/interceptionMode: NONE\n", "sidecar.istio.io/interceptionMode"},
	} {
		for _, in := range []string{injected, ""} {
			c := leftAlone{reason: "interception-none", outcome: world.Unaffected, yaml: podOf(in+"annotations:\n"+c.annotations, app("livenessProbe: {tcpSocket: {port: 80}}")), field: "spec.template.metadata.annotations[" + c.field + "]"}
			t.Run(name, func(t *testing.T) { c.check(t, transformer.Info) })
		}
	}
	for _, annotations := range []string{
		"  sidecar.istio.io/interceptionMode: TPROXY\n",
		"  proxy.istio.io/config: \"interceptionMode: REDIRECT\"\n",
		"  proxy.istio.io/config: \"interceptionMode: NONE\"\n  sidecar.istio.io/interceptionMode: REDIRECT\n",
	} {
		r := plan(t, podOf(injected+"annotations:\n"+annotations, app(httpProbe)), injectorRewritesNothing)
		if r.Probes[0].State != transformer.WouldRewrite || r.Probes[0].StrictTLS != world.Fails || r.Probes[0].If != "" {
			t.Errorf("%s: %+v", annotations, r.Probes[0])
		}
	}
}

// An excluded interface may be the one on which the kubelet's connections come, so that
// it only decides what becomes of a probe, and not what is written.
func TestAnExcludedInterfaceLeavesOpenWhatIsCaptured(t *testing.T) {
	r := plan(t, podOf(injected+"annotations: {traffic.sidecar.istio.io/excludeInterfaces: net1}", app(httpProbe)))
	if v := r.Probes[0]; v.State != transformer.WouldRewrite || v.StrictTLS != world.Fails || !strings.Contains(v.If, "interface") || strings.Contains(v.If, "PeerAuthentication") {
		t.Errorf("%+v", v)
	}
	if v := plan(t, r.text).Probes[0]; v.StrictTLS != world.Unaffected || v.If != "" {
		t.Errorf("once rewritten: %+v", v)
	}
}

// Mutual TLS decides what becomes of probes, and not what is written.
func TestTheModeOfMutualTLSDecidesWhatBecomesOfProbes(t *testing.T) {
	const fails, falsely, works = world.Fails, world.FalselyPasses, world.Unaffected
	handlers := []string{"{httpGet: {port: 80}}", "{httpGet: {port: 80, scheme: HTTPS}}", "{grpc: {port: 80}}", "{tcpSocket: {port: 80}}"}
	for mode, want := range map[string][]world.Outcome{
		"STRICT":     {fails, fails, fails, falsely},
		"PERMISSIVE": {works, works, works, falsely},
		"DISABLE":    {works, works, works, falsely},
	} {
		for i, h := range handlers {
			r := plan(t, podOf(injected, app("livenessProbe: "+h)), mtls(mode), injectorRewritesNothing)
			if v := r.Probes[0]; v.StrictTLS != want[i] || v.If != "" || v.State != transformer.WouldRewrite {
				t.Errorf("%s, %s: %+v, want %s", mode, h, v, want[i])
			}
			wantText(t, r, plan(t, podOf(injected, app("livenessProbe: "+h))).text)
			if v := plan(t, r.text, mtls(mode)).Probes[0]; v.StrictTLS != works {
				t.Errorf("%s, %s, once rewritten: %+v", mode, h, v)
			}
		}
	}
}

// A hook that runs before the proxy cannot reach the app, whatever mutual TLS demands; after
// it, it is like a probe.
func TestAHookBeforeTheProxyFails(t *testing.T) {
	yaml := podOf(injected, app("lifecycle: {postStart: {httpGet: {port: 80}}}"))
	for mode, want := range map[string]world.Outcome{"STRICT": world.Fails, "PERMISSIVE": world.Unaffected, "DISABLE": world.Unaffected} {
		if v := plan(t, yaml, mtls(mode), nativeSidecars(true)).Probes[0]; v.StrictTLS != want || strings.Contains(v.Why, "does not run yet") {
			t.Errorf("%s, after it: %+v", mode, v)
		}
		if v := plan(t, yaml, mtls(mode), nativeSidecars(false)).Probes[0]; v.StrictTLS != world.Fails || !strings.Contains(v.Why, "does not run yet") {
			t.Errorf("%s, before it: %+v", mode, v)
		}
	}
}

// A native sidecar's liveness is asked before the proxy too, and then for as long as the pod runs.
func TestOutcome_probeAfterTheStart(t *testing.T) {
	const sidecar = "initContainers:\n- {name: s, image: s, restartPolicy: Always, livenessProbe: {tcpSocket: {port: 80}}}\n"
	for _, native := range []bool{true, false} {
		v := plan(t, podOf(injected+"annotations: {sidecar.istio.io/rewriteAppHTTPProbers: \"false\"}\n", sidecar+app("")), mtls("STRICT"), nativeSidecars(native)).Probes[0]
		if v.StrictTLS != world.FalselyPasses {
			t.Errorf("native %t: %+v", native, v)
		}
	}
}

// Where istio-proxy accepts plain requests, it expects HTTP on a port that a Service declares so.
func TestAProbeOverTLSFailsOnAPortThatIsDeclaredHTTP(t *testing.T) {
	for port, fails := range map[surroundings.ServicePort]bool{
		{Name: "http", Port: 80}: true, {Name: "http2", Port: 80}: true, {Name: "grpc-web", Port: 80}: true, {Name: "https", Port: 80}: false, {Name: "http", Port: 81}: false,
	} {
		around := beside.With(&surroundings.Service{Selector: field.KeyValues{{Key: "app", Value: "web"}}, Ports: []surroundings.ServicePort{port}})
		for _, scheme := range []string{"HTTP", "HTTPS"} {
			want := world.Unaffected
			asksByHTTP2 := scheme == "HTTP" && (port.Name == "http2" || port.Name == "grpc-web")
			if fails && scheme == "HTTPS" || asksByHTTP2 {
				want = world.Fails
			}
			yaml := podOf("labels: {app: web, sidecar.istio.io/inject: \"true\"}", app("livenessProbe: {httpGet: {port: 80, scheme: "+scheme+"}}"))
			if v := among(t, around, yaml, mtls("PERMISSIVE")).Probes[0]; v.StrictTLS != want || want == world.Fails && !strings.Contains(v.Why, "a Service declares its port as ") || strings.Contains(v.If, "the app does not speak HTTP/2 there") != asksByHTTP2 {
				t.Errorf("%s, %+v: %+v, want %s", scheme, port, v, want)
			}
		}
	}
}

// It keeps the host of an httpGet probe, and asks its own port there.
func TestIstiosInjectorDropsTheHostOfATCPProbe(t *testing.T) {
	for probe, want := range map[string]world.Outcome{
		"tcpSocket: {port: 80}": world.Unaffected, "tcpSocket: {port: 80, host: 10.0.0.1}": world.Unaffected,
		"httpGet: {port: 80}": world.Unaffected, "httpGet: {port: 80, host: 10.0.0.1}": world.Fails,
	} {
		r := plan(t, podOf(injected, app("livenessProbe: {"+probe+"}")), injectorRewrites)
		if v := r.Probes[0]; v.StrictTLS != want || v.If != "" || want == world.Fails && !strings.Contains(v.Why, "its own port of that host") {
			t.Errorf("%s: %+v", probe, v)
		}
	}
}

// Envoy asks the app in HTTP/1.1 if the oldest Service that declares the port says so, which may be any.
func TestAGRPCProbeFailsOnAPortThatIsHTTP1(t *testing.T) {
	of := func(name string) string {
		return "---\n" + strings.Replace(service("selector: {app: web}", "ports: [{name: "+name+", port: 80}]"), "name: web", "name: of-"+name, 1)
	}
	yaml := goesTo("shop", podOf("labels: {app: web, sidecar.istio.io/inject: \"true\"}", app("livenessProbe: {grpc: {port: 80}}")))
	const never, maybe, always = certain.Never, certain.Maybe, certain.Always
	for services, fails := range map[string]certain.Certainty{
		"": never, of("http"): always, of("grpc"): never, of("http2"): never, of("tcp"): never, of("any"): never,
		of("http") + of("http-web"): always, of("http") + of("grpc"): maybe, of("grpc") + of("http"): maybe, of("http") + of("any"): maybe,
	} {
		v := planNear(t, yaml+services, mtls("PERMISSIVE"), injectorRewritesNothing).Probes[0]
		got := certain.Of(v.StrictTLS == world.Fails)
		if v.If != "" {
			got = maybe
		}
		if got != fails || fails != never && !strings.Contains(v.Why, "HTTP/1.1, which is not gRPC") ||
			fails == maybe && !strings.HasPrefix(v.If, "Service shop/of-http at mesh.yaml:") {
			t.Errorf("%s: %+v", services, v)
		}
	}
}

// An error says that a probe fails in every world, a condition that it does in some.
func TestAVerdictSaysOnWhatItDepends(t *testing.T) {
	sidecar := "initContainers:\n- name: db\n  image: db\n  restartPolicy: Always\n  startupProbe: {httpGet: {port: 1}}\n" + app("")
	for _, c := range []struct {
		name, yaml string
		opts       []option
		want       world.Outcome
		unless     string // begins If
	}{
		{"injected", podOf(injected, app(httpProbe)), nil, world.Fails, ""},
		{"not known", podOf("", app(httpProbe)), nil, world.Fails, "Istio injects its sidecar (unknown: set `istio.injectedNamespaces: [\"*\"]`, or `metadata.namespace` and its Namespace)"},
		{"not injected", podOf("", app(httpProbe)), []option{injects()}, world.Unaffected, ""},
		{"istio-init captures nothing while init containers start", podOf(injected, strings.Replace(sidecar, "\ncontainers:", "\n- name: istio-init\n  args: [-b, '*', -d, '15020']\ncontainers:", 1)), []option{nativeSidecars(false)}, world.Unaffected, ""},
		{"Istio's CNI plugin does, before an ordinary container", podOf(injected, sidecar), []option{nativeSidecars(false)}, world.Fails, "Istio's CNI plugin redirects the pod's connections (unknown: look in the cluster)"},
		{"it does for every kind of probe and mode", podOf(injected, strings.Replace(sidecar, "httpGet", "tcpSocket", 1)), []option{nativeSidecars(false), mtls("PERMISSIVE")}, world.Fails, "Istio's CNI plugin redirects the pod's connections (unknown: look in the cluster)"},
		{"it captures what comes later", podOf(injected, strings.Replace(sidecar, "startupProbe", "livenessProbe", 1)), []option{nativeSidecars(false)}, world.Fails, ""},
		{"it does, but for an excluded interface", podOf(injected+"annotations: {traffic.sidecar.istio.io/excludeInterfaces: net1}", sidecar), []option{nativeSidecars(false)}, world.Fails, "Istio's CNI plugin redirects the pod's connections, and the kubelet's connections come through no excluded interface (unknown: look in the cluster)"},
		{"a native sidecar does", podOf(injected, sidecar), []option{nativeSidecars(true)}, world.Fails, ""},
		{"it may be either", podOf(injected, sidecar), nil, world.Fails, "Istio's sidecar is native, or its CNI plugin redirects the pod's connections (unknown: look in the cluster)"},
		{"the injector rewrites", podOf(injected, app(httpProbe)), []option{injectorRewrites}, world.Unaffected, ""},
		{"the injector rewrites what starts before its agent", podOf(injected, sidecar), []option{injectorRewrites, nativeSidecars(false)}, world.Fails, ""},
		{"the injector does so where nothing is redirected too", podOf(injected+"annotations: {sidecar.istio.io/interceptionMode: NONE}", sidecar), []option{injectorRewrites, nativeSidecars(false)}, world.Fails, ""},
		{"the injector rewrites what may start before its agent", podOf(injected, sidecar), []option{injectorRewrites}, world.Fails, "Istio's sidecar is not native (unknown: set `istio.nativeSidecars`)"},
		{"the injector's agent asks gRPC without TLS", podOf(injected, app("livenessProbe: {grpc: {port: 80, mode: TLS}}\n")), []option{injectorRewrites}, world.Fails, ""},
		{"the injector's agent speaks no HTTP/2", podOf(injected, app("livenessProbe: {httpGet: {port: 80, protocol: HTTP2}}\n")), []option{injectorRewrites}, world.Fails, ""},
		{"nor does the kubelet in a hook", podOf(injected, app("lifecycle: {preStop: {httpGet: {port: 80, protocol: HTTP2}}}\n")), []option{injectorRewrites, nativeSidecars(true)}, world.Unaffected, ""},
		{"the injector keeps a host", podOf(injected, app("livenessProbe: {httpGet: {port: 80, host: example.com}}")), []option{injectorRewrites}, world.Fails, ""},
		{"unknown", podOf(injected, app(httpProbe)), []option{injectorUnknown}, world.Fails, world.InjectorAlone},
		{"unknown, and the injection too", podOf("", app(httpProbe)), []option{injectorUnknown}, world.Fails, "Istio injects its sidecar but rewrites no probes (unknown: set `istio.injectedNamespaces: [\"*\"]`, or `metadata.namespace` and its Namespace; set `istio.injectorRewrites`)"},
		{"unknown, and it would break the probe", podOf(injected, app("livenessProbe: {httpGet: {port: 80, host: example.com}}")), []option{injectorUnknown}, world.Fails, "Istio's injector rewrites the probes (unknown: set `istio.injectorRewrites`)"},
		{"unknown, and it cannot help", podOf(injected, app("livenessProbe: {grpc: {port: 80, mode: TLS}}\n")), []option{injectorUnknown}, world.Fails, ""},
		{"unknown, before an ordinary sidecar", podOf(injected, sidecar), []option{injectorUnknown, nativeSidecars(false)}, world.Fails, "Istio's injector rewrites the probes, or its CNI plugin redirects the pod's connections (unknown: set `istio.injectorRewrites`; look in the cluster)"},
		{"unknown, before a sidecar of either kind", podOf(injected, sidecar), []option{injectorUnknown}, world.Fails, "Istio's injector rewrites no probes, or istio-proxy starts too late (unknown: set `istio.injectorRewrites` and `istio.nativeSidecars`)"},
		{"a host without it", podOf(injected, app("livenessProbe: {httpGet: {port: 80, host: example.com}}")), nil, world.Unaffected, ""},
	} {
		r := plan(t, c.yaml, append([]option{injectorRewritesNothing}, c.opts...)...)
		if v := r.Probes[0]; v.StrictTLS != c.want || v.If != c.unless || (v.Why == "") != (c.want == world.Unaffected) {
			t.Errorf("%s: %+v, want %s %q", c.name, v, c.want, c.unless)
		}
	}
}

// A probe rewritten for istio-proxy fails where nothing answers in its place.
func TestARewrittenProbeThatIsNotAnsweredFails(t *testing.T) {
	rewritten := plan(t, podOf("annotations: {a: b}\nlabels: {c: d}", app(httpProbe)), answeredBy("istio-proxy")).text
	off := strings.Replace(rewritten, "{c: d", "{sidecar.istio.io/inject: \"false\"", 1)
	if v := plan(t, off).Probes[0]; v.StrictTLS != world.Fails || v.State != transformer.WouldRestore {
		t.Errorf("not injected: %+v", v)
	}
	// The mesh captures the port where a probe-proxy answers.
	ours := plan(t, podOf(injected, app(httpProbe)), port(15098)).text
	bare := strings.Replace(ours, "        traffic.sidecar.istio.io/excludeInboundPorts: \"15098\"\n", "", 1)
	if v := plan(t, bare, port(15098)).Probes[0]; v.StrictTLS != world.Fails || !strings.Contains(v.Why, "15098") {
		t.Errorf("captured: %+v", v)
	}
	if v := plan(t, bare, port(15098), mtls("PERMISSIVE"), nativeSidecars(true)).Probes[0]; v.StrictTLS != world.Unaffected {
		t.Errorf("captured without mTLS: %+v", v)
	}
	// Istio's CNI plugin captures it before istio-proxy starts. The hook goes to 127.0.0.1.
	if v := plan(t, bare, port(15098), mtls("PERMISSIVE"), nativeSidecars(false)).Probes[0]; v.StrictTLS != world.Unaffected {
		t.Errorf("captured without mTLS, and nothing but the app is probed: %+v", v)
	}
	last := plan(t, podOf(injected, app(httpProbe)), answeredBy("probe-proxy"), asContainer).text
	bare = strings.Replace(last, "        traffic.sidecar.istio.io/excludeInboundPorts: \"15099\"\n", "", 1)
	if v := plan(t, bare, answeredBy("probe-proxy"), asContainer, mtls("PERMISSIVE"), nativeSidecars(false)).Probes[0]; v.StrictTLS != world.Unaffected {
		t.Errorf("captured without mTLS, an ordinary container: %+v", v)
	}
	// istio-init does not capture a hook that is answered before.
	gate := plan(t, podOf(injected, "initContainers:\n- name: db\n  image: db\n  restartPolicy: Always\n  startupProbe: {httpGet: {port: 1}}\n"+app("")), answeredBy("probe-proxy")).text
	bare = strings.Replace(gate, "        traffic.sidecar.istio.io/excludeInboundPorts: \"15099\"\n", "", 1)
	if v := plan(t, bare, answeredBy("probe-proxy"), nativeSidecars(false)).Probes[0]; v.StrictTLS != world.Fails || !strings.HasPrefix(v.If, "Istio's CNI plugin") {
		t.Errorf("captured while init containers start: %+v", v)
	}
	// A hook that istio-proxy may be too late for.
	hooked := strings.Replace(plan(t, podOf(injected+"annotations: {proxy.istio.io/config: \"holdApplicationUntilProxyStarts: true\"}", app("lifecycle: {postStart: {httpGet: {port: 80}}}")), answeredBy("istio-proxy")).text, "Starts: true", "Starts: false", 1)
	if v := plan(t, hooked).Probes[0]; v.StrictTLS != world.Fails || !strings.HasPrefix(v.If, "Istio's sidecar is not native") && !strings.Contains(v.If, "do not wait") {
		t.Errorf("not held: %+v", v)
	}
}

// A hook that no kubelet can make is no reason against istio-proxy.
func TestAHookThatNeverWorksDoesNotDecideWhoAnswers(t *testing.T) {
	for hook, by := range map[string]string{"tcpSocket": "istio-proxy", "httpGet": "probe-proxy"} {
		r := plan(t, podOf(injected, app("livenessProbe: {httpGet: {port: 80}}\nlifecycle: {postStart: {"+hook+": {port: 80}}}")), injectorRewritesNothing)
		if r.Answer.By != by {
			t.Errorf("%s: %+v, want %s", hook, r.Answer, by)
		}
	}
}

// Two on one port are two only where the pod is injected.
func TestProbeProxyOnIstiosPortFailsOnlyIfIstioInjects(t *testing.T) {
	opts := []option{answeredBy("probe-proxy"), port(15020)}
	ours := plan(t, podOf("", app(httpProbe)), append(opts, injects())...).text
	for _, c := range []struct {
		name string
		opts []option
		want world.Outcome
		when string
	}{
		{"not known", nil, world.Fails, "Istio injects"},
		{"injected", []option{injects("*")}, world.Fails, ""},
		{"not injected", []option{injects()}, world.Unaffected, ""},
	} {
		v := plan(t, ours, append(opts, c.opts...)...).Probes[0]
		if v.StrictTLS != c.want || !strings.Contains(v.If, c.when) || (v.If == "") != (c.when == "") {
			t.Errorf("%s: %+v in\n%s", c.name, v, ours)
		}
	}
}

// Where the mesh captures the port of rewritten probes too, an AuthorizationPolicy may
// refuse them there, whoever has rewritten them.
func TestARewrittenProbeThatAPolicyRefusesFails(t *testing.T) {
	denies := beside.With(&surroundings.AuthorizationPolicy{
		Neighbour: surroundings.Neighbour{Name: "deny", Namespace: "istio-system"}, Action: "DENY", Rules: []*authz.Rule{{}},
	})
	const status = "annotations: {traffic.sidecar.istio.io/includeInboundPorts: \"80,15020\"}\n"
	ours := plan(t, podOf(injected, app(httpProbe)), answeredBy("probe-proxy")).text
	bare := strings.Replace(ours, "        traffic.sidecar.istio.io/excludeInboundPorts: \"15099\"\n", "", 1)
	for name, c := range map[string]struct {
		yaml string
		opts []option
	}{
		"by the injector": {podOf(injected+status, app(httpProbe)), []option{injectorRewrites}},
		"by us":           {bare, []option{answeredBy("probe-proxy")}},
	} {
		for mode, want := range map[string]world.Outcome{"PERMISSIVE": world.Fails, "DISABLE": world.Fails, "STRICT": world.Fails} {
			if v := among(t, denies, c.yaml, append(c.opts, mtls(mode))...).Probes[0]; v.StrictTLS != want || (mode != "STRICT") != strings.Contains(v.Why, "AuthorizationPolicy") {
				t.Errorf("%s, %s: %+v", name, mode, v)
			}
			if v := plan(t, c.yaml, append(c.opts, mtls(mode), nativeSidecars(true))...).Probes[0]; mode != "STRICT" && v.StrictTLS != world.Unaffected {
				t.Errorf("%s, %s, without the policy: %+v", name, mode, v)
			}
		}
	}
	for name, yaml := range map[string]string{"by the injector": podOf(injected, app(httpProbe)), "by us": ours} {
		if v := among(t, denies, yaml, injectorRewrites, answeredBy("probe-proxy"), mtls("PERMISSIVE")).Probes[0]; v.StrictTLS != world.Unaffected {
			t.Errorf("%s, not captured: %+v", name, v)
		}
	}
}

// What `istioctl kube-inject` prints has istio-init with its arguments, which no annotation changes.
func TestTheArgumentsOfIstioInitDecideWhatIsCaptured(t *testing.T) {
	podOf := func(args string) string {
		return podOf("annotations: {traffic.sidecar.istio.io/excludeInboundPorts: \"8001\"}", "initContainers:\n- name: istio-init\n  image: istio/proxyv2\n  args: ["+args+"]\n"+
			app(httpProbe+"lifecycle: {preStop: {httpGet: {port: 80}}}")+"- name: istio-proxy\n  image: istio/proxyv2\n")
	}
	for _, c := range []struct {
		name, args string
		captured   bool
	}{
		{"all but some", `istio-iptables, "-b", "*", "-d", "15090,15021,15020"`, true},
		{"all but the port of probe-proxy too", `istio-iptables, "-b", "*", "-d", "15090,15021,15020,15099"`, false},
		{"only some", `istio-iptables, "-d", "15020", "-b", "80,8001"`, false},
		{"only some, the port of probe-proxy too", `istio-iptables, "-b", "80,8001,15099"`, true},
	} {
		auto, own := plan(t, podOf(c.args)), plan(t, podOf(c.args), answeredBy("probe-proxy"))
		if by := auto.Answer.By; (by == "istio-proxy") != c.captured || len(auto.Edits) == 0 {
			t.Errorf("%s: %s answers, findings %v", c.name, by, auto.Findings)
		}
		if f, refused := own.has("probe-port-captured"); refused != c.captured || refused && f.Field.String() != "spec.template.spec.initContainers[0].args" {
			t.Errorf("%s: refused %t, %v", c.name, refused, own.Findings)
		}
		if v := own.Probes[0]; v.StrictTLS != world.Fails { // 8001 is captured, whatever the annotation says
			t.Errorf("%s: %+v", c.name, v)
		}
		// What was rewritten with another port is found, and istio-proxy answers again.
		again := plan(t, strings.Replace(plan(t, podOf(`"-d", "15099"`), answeredBy("probe-proxy")).text, `["-d", "15099"]`, "["+c.args+"]", 1))
		if v := again.Probes[0]; (v.StrictTLS == world.Fails) != c.captured || strings.Contains(again.text, "probe-proxy") == c.captured {
			t.Errorf("%s: %+v, and\n%s", c.name, v, again.text)
		}
	}
}

// Where the annotation is missing that turns off Istio's rewriter, nothing of probe-proxy's is rewritten.
func TestOutcome_rewriterOffMissing(t *testing.T) {
	const off = "        sidecar.istio.io/rewriteAppHTTPProbers: \"false\"\n"
	now := plan(t, podOf("", app(httpProbe))).text
	if !strings.Contains(now, off) {
		t.Fatal(now)
	}
	for _, instead := range []string{off, "", strings.Replace(off, "false", "true", 1)} {
		for _, opts := range [][]option{
			nil, {injects()}, {injects("*")}, {injects("*"), nativeSidecars(false)}, {injects("*"), nativeSidecars(true)}, {injects("*"), injectorRewritesNothing},
		} {
			if v := plan(t, strings.Replace(now, off, instead, 1), opts...).Probes[0]; v.StrictTLS != world.Unaffected {
				t.Errorf("%q: %+v", instead, v)
			}
		}
	}
}

func TestAStatusPortThatIsNoneMovesNoRewrittenProbes(t *testing.T) {
	const spaced = "annotations: {status.sidecar.istio.io/port: \" 80\"}\n"
	for port, want := range map[string]string{"80": "port-not-captured", "15020": "aims-at-probe-port"} {
		r := plan(t, podOf(spaced, app(httpProbe+"readinessProbe: {httpGet: {port: "+port+"}}")), answeredBy("istio-proxy"))
		wantReason(t, r, "status-port-invalid")
		wantReason(t, r, want)
	}
}
