package transformer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// configurations are ways to rewrite; each may follow any other.
var configurations = map[string][]option{
	"auto":         nil,
	"container":    {asContainer},
	"own port":     {port(15097)},
	"other":        {port(15098), func(o *transformer.Options) { o.ProbeProxy.Name = "answers"; o.ProbeProxy.Image = "x:2" }},
	"istio-proxy":  {answeredBy("istio-proxy")},
	"unrestricted": {answeredBy("istio-proxy"), unrestricted},
	"signed":       {answeredBy("istio-proxy"), func(o *transformer.Options) { o.IstioProxy.Image = "example/istio@sha256:1" }},
	"watched": {func(o *transformer.Options) {
		o.ProbeProxy.LivenessProbe, o.ProbeProxy.ReadinessProbe = true, true
	}},
	"pulled": {func(o *transformer.Options) {
		o.ProbeProxy.ImagePullPolicy = "Always"
		o.ProbeProxy.Env = field.List{field.Map{{Key: "name", Value: "A"}, {Key: "value", Value: "b"}}}
		o.ProbeProxy.Resources = field.Map{{Key: "limits", Value: nil}}
	}},
	"only http": {func(o *transformer.Options) { o.Rewrite = []string{"httpGet"} }, injectorRewritesNothing},
}

var threeProbes = app(`
livenessProbe:
  httpGet:
    path: /foo
    port: 8001
readinessProbe:
  tcpSocket:
    port: 8002
startupProbe:
  grpc:
    port: 8003
`)

func TestPlan_changedConfiguration(t *testing.T) {
	before := namespace("", "") + podOf("", podContext+threeProbes+strings.TrimPrefix(indent("", dropAll, 0), "\n"))
	for first, opts := range configurations {
		rewritten := plan(t, before, opts...)
		for second, opts := range configurations {
			want := plan(t, before, opts...)
			got := plan(t, rewritten.text, opts...)
			// Keys that are new in a mapping come last in it.
			if d := sortedLines(got.text); d != sortedLines(want.text) {
				t.Errorf("%s after %s gives\n%s\nwant\n%s", second, first, got.text, want.text)
			}
			if again := plan(t, got.text, opts...); len(again.Edits) != 0 {
				t.Errorf("%s after %s: a second run edits %v", second, first, again.Edits)
			}
			wantText(t, restore(t, got.text), before)
		}
	}
}

func TestWhatIsAnsweredOnIstiosPortIsBroughtToAnother(t *testing.T) {
	before := podOf("", podContext+threeProbes)
	onItsPort := onIstiosPort(t, before)
	if !strings.Contains(onItsPort, "port: 15020") || strings.Contains(onItsPort, "annotations:") {
		t.Fatalf("nothing is answered there:\n%s", onItsPort)
	}
	for name, opts := range configurations {
		got := plan(t, onItsPort, opts...)
		if want := plan(t, before, opts...); sortedLines(got.text) != sortedLines(want.text) {
			t.Errorf("%s gives\n%s\nwant\n%s", name, got.text, want.text)
		}
		wantNoEdits(t, plan(t, got.text, opts...))
		wantText(t, restore(t, got.text), before)
	}
	wantText(t, restore(t, onItsPort), before)
}

func TestAnImageIsChangedByOneEdit(t *testing.T) {
	r := plan(t, plan(t, podOf("", threeProbes)).text, func(o *transformer.Options) { o.ProbeProxy.Image = "x:2" })
	if len(r.Edits) != 1 || r.Edits[0].Path.String() != "spec.template.spec.initContainers[0].image" || r.Edits[0].Value != "x:2" {
		t.Errorf("edits %v", r.Edits)
	}
}

func TestAChangedProbeWinsOverTheEntryOfTheOldOne(t *testing.T) {
	r := plan(t, podOf("", app(httpProbe)))
	changed := strings.Replace(r.text, "path: /app-health/app/livez\n            port: 15099", "path: /new\n            port: 9", 1)
	r = plan(t, changed)
	if want := `{"/app-health/app/livez":{"httpGet":{"path":"/new","port":9,"scheme":"HTTP"},"timeoutSeconds":1}}`; r.env() != want {
		t.Errorf("env %s", r.env())
	}
	if len(r.Edits) != 3 {
		t.Errorf("edits %v, want path, port and env", r.Edits)
	}
}

func TestAChangedTimeoutReachesTheEntry(t *testing.T) {
	r := plan(t, podOf("", app(httpProbe)))
	r = plan(t, strings.Replace(r.text, "        livenessProbe:\n", "        livenessProbe:\n          timeoutSeconds: 9\n", 1))
	if !strings.Contains(r.env(), `"timeoutSeconds":9`) || len(r.Edits) != 1 {
		t.Errorf("env %s, edits %v", r.env(), r.Edits)
	}
}

// A patch of an overlay may change a probe after the rewriting. The sidecar then asks what
// was wanted before, in every mesh and without one, until the next run.
func TestOutcome_probeChangedLater(t *testing.T) {
	before := podOf("", app("ports:\n- name: web\n  containerPort: 80\nlivenessProbe:\n  httpGet:\n    path: /foo\n    port: web\n"))
	for _, opts := range [][]option{
		nil, {injects("*")}, {injects(), answeredBy("probe-proxy")}, {answeredBy("istio-proxy")}, {inMesh("linkerd")}, {inMesh("kuma")}, {inMesh("consul")},
	} {
		rewritten := plan(t, before, opts...)
		at := "            path: /app-health/app/livez\n"
		port := fmt.Sprintf("            port: %d\n", rewritten.Answer.Port)
		for _, c := range []struct {
			old, new string
			certain  bool
		}{
			{"containerPort: 80\n", "containerPort: 81\n", true},
			{at + port, at + "            port: web\n", true},
			{at + port, at + "            port: 80\n", true},
			{at + port, at + port + "            scheme: HTTPS\n", true},
			{"livenessProbe:\n", "livenessProbe:\n          timeoutSeconds: 9\n", false},
		} {
			changed := strings.Replace(rewritten.text, c.old, c.new, 1)
			r := plan(t, changed, opts...)
			if v := r.Probes[0]; changed == rewritten.text || v.StrictTLS != world.Fails || (v.If == "") != c.certain {
				t.Errorf("%q: %+v", c.new, v)
			}
			if v := plan(t, r.text, opts...).Probes[0]; v.StrictTLS != world.Unaffected {
				t.Errorf("%q, rewritten again: %+v", c.new, v)
			}
		}
	}
}

// A merge patch of kustomize moves the containers that it names to the front of their list.
func TestOutcome_probeProxyMovedBack(t *testing.T) {
	sidecar := "initContainers:\n- name: db\n  image: db\n  restartPolicy: Always\n  FIELD\n" + app("")
	const startup, postStart, other = "startupProbe: {httpGet: {port: 1}}", "lifecycle: {postStart: {httpGet: {port: 1}}}", "livenessProbe: {httpGet: {port: 1}}"
	for _, opts := range [][]option{nil, {injects("*"), nativeSidecars(true)}, {injects("*"), nativeSidecars(false)}, {inMesh("linkerd")}, {inMesh("kuma")}} {
		for _, c := range []struct {
			spec, front string
			want        world.Outcome
			opts        []option
		}{
			{strings.Replace(sidecar, "FIELD", startup, 1), "db", world.Fails, nil},
			{strings.Replace(sidecar, "FIELD", postStart, 1), "db", world.Fails, nil},
			{strings.Replace(sidecar, "FIELD", other, 1), "db", world.Unaffected, nil},
			{app(postStart), "app", world.Fails, []option{asContainer}},
			{app(startup), "app", world.Unaffected, []option{asContainer}},
		} {
			all := append(slices.Concat(opts, c.opts), answeredBy("probe-proxy"))
			rewritten := plan(t, podOf("", c.spec), all...)
			head, ours, _ := strings.Cut(rewritten.text, "      - name: probe-proxy\n")
			ours, moved, found := strings.Cut(ours, "      - name: "+c.front+"\n")
			moved, tail, _ := strings.Cut(moved, "      containers:\n")
			if tail != "" {
				tail = "      containers:\n" + tail
			}
			text := rewritten.text
			if found {
				text = head + "      - name: " + c.front + "\n" + moved + "      - name: probe-proxy\n" + ours + tail
			}
			r := plan(t, text, all...)
			if v := r.Probes[0]; v.StrictTLS != c.want || v.If != "" {
				t.Errorf("%s: %+v, want %s", c.spec, v, c.want)
			}
			if v := plan(t, r.text, all...).Probes[0]; v.StrictTLS != world.Unaffected {
				t.Errorf("%s, rewritten again: %+v", c.spec, v)
			}
		}
	}
}

func TestOriginals_removedAndRenamedContainers(t *testing.T) {
	r := plan(t, podOf("", app(httpProbe)+"- name: b\n  image: b\n  livenessProbe: {httpGet: {port: 7}}\n"))
	head, _, _ := strings.Cut(r.text, "      - name: b\n")
	gone := plan(t, head)
	if strings.Contains(gone.text, "/app-health/b/") || len(gone.Edits) != 2 {
		t.Errorf("env %s, edits %v", gone.env(), gone.Edits)
	}
	renamed := plan(t, strings.Replace(r.text, "- name: b\n", "- name: c\n", 1))
	if !strings.Contains(renamed.env(), `"/app-health/c/livez":{"httpGet":{"path":"/","port":7`) || !strings.Contains(renamed.text, "path: /app-health/c/livez") {
		t.Errorf("renamed:\n%s", renamed.text)
	}
}

func TestASidecarWithNothingLeftToAnswerGoes(t *testing.T) {
	for _, opts := range configurations {
		r := plan(t, podOf("", app(httpProbe)), opts...)
		const name = "        image: app\n"
		_, probe, _ := strings.Cut(r.text, name)
		probe, _, _ = strings.Cut(probe, "      - name")
		bare := strings.Replace(r.text, name+probe, name, 1)
		wantText(t, plan(t, bare, opts...), podOf("", "containers:\n- name: app\n  image: app"))
	}
}

func TestOptingOutAfterwardsRestores(t *testing.T) {
	for name, opts := range configurations {
		r := plan(t, podOf("labels: {a: b}", threeProbes), opts...)
		off := strings.Replace(r.text, "  name: web\n", "  name: web\n  annotations: {rewrite-probes.io/rewrite: \"false\"}\n", 1)
		got := plan(t, off, opts...)
		want := strings.Replace(podOf("labels: {a: b}", threeProbes), "  name: web\n", "  name: web\n  annotations: {rewrite-probes.io/rewrite: \"false\"}\n", 1)
		wantText(t, got, want)
		if f := wantReason(t, got, "opt-out"); !strings.Contains(textOf(f), "restored") {
			t.Errorf("%s: %q", name, textOf(f))
		}
	}
	const hostNetwork = "hostNetwork: true\n"
	r := plan(t, podOf("", threeProbes))
	wantText(t, plan(t, strings.Replace(r.text, "    spec:\n", "    spec:\n      "+hostNetwork, 1)), podOf("", hostNetwork+threeProbes))
	r = plan(t, podOf("annotations: {a: b}", threeProbes))
	got := plan(t, strings.Replace(r.text, "{a: b", "{rewrite-probes.io/skip-containers: app", 1))
	wantText(t, got, podOf("annotations: {rewrite-probes.io/skip-containers: app}", threeProbes))
}

func TestOurOwnAnnotationIsNoOptOut(t *testing.T) {
	r := plan(t, podOf(injected, threeProbes))
	again := plan(t, r.text)
	if len(again.Edits) != 0 || len(again.Findings) != 0 {
		t.Errorf("%v %v", again.Edits, again.Findings)
	}
}

func TestWhatIstioctlInjectedIsUnderstood(t *testing.T) {
	// Istio copies headers into the env, leaves host in the probe, and does
	// not fill in defaults.
	injectedByIstio := podOf("annotations:\n  sidecar.istio.io/status: '{}'\n", app(`
livenessProbe:
  httpGet:
    path: /app-health/app/livez
    port: 15020
    httpHeaders: [{name: A, value: b}]
readinessProbe:
  httpGet:
    path: /app-health/app/readyz
    port: 15020
`)+`- name: istio-proxy
  image: istio/proxyv2:1.27
  env:
  - name: A
    value: b
  - name: ISTIO_KUBE_APP_PROBERS
    value: '{"/app-health/app/livez":{"httpGet":{"path":"/foo","port":8001,"httpHeaders":[{"name":"A","value":"b"}]}},"/app-health/app/readyz":{"grpc":{"port":8003,"service":null}}}'
`)
	r := plan(t, injectedByIstio)
	wantNoEdits(t, r)
	for i, want := range []string{"grpc :8003", "httpGet :8001/foo"} {
		if v := r.Probes[i]; v.State != transformer.Rewritten || !strings.HasPrefix(v.Before, want) {
			t.Errorf("%+v, want %s", v, want)
		}
	}
	// Without Istio's container the originals would be right, but nothing says that it goes.
	back := restore(t, r.text)
	wantNoEdits(t, back)
	f, found := back.has("not-rewritten")
	if !found || f.Severity != transformer.Info || !strings.Contains(textOf(f), "Not restored: Istio's injector rewrote it, whose container stays. Under mTLS the original would fail. Use the manifest from before the injection, since istioctl cannot undo it.") {
		t.Errorf("%+v", back.Findings)
	}
	// An opt-out keeps it too: without the injector's rewriting it would fail.
	out := strings.Replace(injectedByIstio, "sidecar.istio.io/status", "rewrite-probes.io/rewrite: 'false'\n        sidecar.istio.io/status", 1)
	wantNoEdits(t, plan(t, out))
	wantParts(t, plan(t, injectedByIstio, answeredBy("probe-proxy")).text, "name: probe-proxy", "port: 15099")
	// What we decided in it before is ours to undo.
	ours := strings.Replace(injectedByIstio, "sidecar.istio.io/status", "sidecar.istio.io/rewriteAppHTTPProbers: 'false'\n        sidecar.istio.io/status", 1)
	wantParts(t, restore(t, ours).text, "path: /foo", "port: 8001", "grpc:\n            port: 8003", "name: istio-proxy")
}

// What `istioctl kube-inject` has rewritten stays so: no injector will do it again.
func TestRestore_istioctlAndRewritingInjector(t *testing.T) {
	for _, c := range []struct {
		annotation string
		opts       []option
	}{{"", []option{injectorRewrites}}, {"  sidecar.istio.io/rewriteAppHTTPProbers: \"true\"\n", nil}} {
		before := podOf("annotations:\n  sidecar.istio.io/status: '{}'\n"+c.annotation, app("livenessProbe: {httpGet: {path: /app-health/app/livez, port: 15020}}")+`- name: istio-proxy
  image: istio/proxyv2
  env: [{name: ISTIO_KUBE_APP_PROBERS, value: '{"/app-health/app/livez":{"httpGet":{"path":"/foo","port":8001,"scheme":"HTTP"},"timeoutSeconds":1}}'}]
`)
		r := plan(t, before, c.opts...)
		if r.Probes[0].State != transformer.Rewritten || !strings.Contains(r.text, `"path":"/foo"`) {
			t.Errorf("%+v in\n%s", r.Probes[0], r.text)
		}
		wantNoEdits(t, plan(t, r.text, c.opts...))
		if back := restore(t, r.text); c.annotation != "" && !strings.Contains(back.text, c.annotation) {
			t.Errorf("restored:\n%s", back.text)
		}
	}
}

func TestOfSeveralEnvVarsTheLastCountsAndOneIsKept(t *testing.T) {
	r := plan(t, podOf("", app("livenessProbe: {httpGet: {path: /app-health/app/livez, port: 15020}}")+`- name: istio-proxy
  image: auto
  env:
  - name: ISTIO_KUBE_APP_PROBERS
    value: '{}'
  - name: ISTIO_KUBE_APP_PROBERS
    value: '{"/app-health/app/livez":{"httpGet":{"port":8001}}}'
`))
	if strings.Count(r.text, "ISTIO_KUBE_APP_PROBERS") != 1 || !strings.Contains(r.env(), "8001") {
		t.Errorf("got\n%s", r.text)
	}
	back := restore(t, r.text)
	if strings.Contains(back.text, "env:") || !strings.Contains(back.text, "port: 8001") {
		t.Errorf("restored:\n%s", back.text)
	}
}

func TestAnEnvVarThatNoProbePointsToIsNotOursToTake(t *testing.T) {
	yaml := podOf("", "containers:\n- name: agent\n  image: a\n  env: [{name: ISTIO_KUBE_APP_PROBERS, value: '{\"/app-health/x/livez\":{\"tcpSocket\":{\"port\":1}}}'}]\n")
	if r := plan(t, yaml); len(r.Edits) != 0 {
		t.Errorf("edits %v", r.Edits)
	}
	if r := restore(t, yaml); len(r.Edits) != 0 {
		t.Errorf("edits %v", r.Edits)
	}
}

func TestRestore_dangling(t *testing.T) {
	yaml := podOf("", app("livenessProbe: {httpGet: {path: /app-health/app/livez, port: 15020}}"))
	r := restore(t, yaml)
	wantReason(t, r, "dangling")
	if r.Probes[0].State != transformer.LeftAlone || r.text != yaml {
		t.Errorf("%+v", r.Probes[0])
	}
}

func TestTwoProbeProxiesBecomeOne(t *testing.T) {
	one := plan(t, podOf("", app(httpProbe)))
	_, c, _ := strings.Cut(one.text, "initContainers:\n")
	c, _, _ = strings.Cut(c, "      containers:\n")
	two := strings.Replace(one.text, "initContainers:\n", "initContainers:\n"+strings.Replace(c, "name: probe-proxy", "name: old-proxy", 1), 1)
	r := plan(t, two)
	if r.text != one.text {
		t.Errorf("got\n%s", r.text)
	}
	wantText(t, restore(t, two), podOf("", app(httpProbe)))
}

func TestThePortOfAnExistingProbeProxyIsReadAsItReadsIt(t *testing.T) {
	r := plan(t, podOf("", app(httpProbe)), port(15098))
	for _, form := range []string{"- --port\n        - \"15098\"", "- x\n        - \"1\"\n        - --port"} { // the second has no port
		text := strings.Replace(r.text, "- \"--port=15098\"", form, 1)
		got := plan(t, text, port(15098))
		if len(got.Edits) == 0 || len(got.Findings) != 0 || got.Probes[0].State != transformer.Rewritten {
			t.Errorf("%s: %v %+v", form, got.Findings, got.Probes[0])
		}
		wantText(t, got, r.text)
	}
}

// What is edited by hand after a rewriting stays, and what was the user's before it.
func TestPortList_editedLater(t *testing.T) {
	const key = "traffic.sidecar.istio.io/excludeInboundPorts: "
	listed := func(value string) string { return podOf("annotations:\n  "+key+value+"\n", app(httpProbe)) }
	for _, c := range []struct{ name, user, written, edited, restored string }{
		{"spaces are put in", `"9"`, `"9,15099"`, `"9, 15099"`, `"9"`},
		{"a port is added to an empty list", `""`, `"15099"`, `"15099,80"`, `"80"`},
		{"a port is added behind the user's own 15099", `"15099, 9"`, `"15099, 9"`, `"15099, 9, 10"`, `"15099, 9, 10"`},
		{"the user's own 15099 is not touched", `"15099, 9"`, `"15099, 9"`, `"15099, 9"`, `"15099, 9"`},
	} {
		r := plan(t, listed(c.user))
		if strings.Count(r.text, key+c.written+"\n") != 1 {
			t.Errorf("%s: written\n%s", c.name, r.text)
		}
		edited := strings.Replace(r.text, key+c.written+"\n", key+c.edited+"\n", 1)
		wantText(t, restore(t, edited), listed(c.restored))
		if again := plan(t, edited); len(again.Findings) > 0 || again.Probes[0].State != transformer.Rewritten {
			t.Errorf("%s: %+v, findings %v", c.name, again.Probes[0], again.Findings)
		}
	}
	// Istio comes back to the port that it had been moved away from.
	moved := plan(t, podOf("annotations:\n  a: b\n  status.sidecar.istio.io/port: \"15030\"\n", app(httpProbe)), answeredBy("probe-proxy"), port(15020))
	wantParts(t, moved.text, key+`"15020"`)
	back := strings.Replace(moved.text, "        status.sidecar.istio.io/port: \"15030\"\n", "", 1)
	wantText(t, restore(t, back), podOf("annotations:\n  a: b\n", app(httpProbe)))
}

// A restored object says nothing of the mesh, which has no say in it.
func TestRestoreDoesNotMindWhatTheMeshIsTold(t *testing.T) {
	r := plan(t, podOf("annotations: {a: b}", app(httpProbe)))
	if got := restore(t, strings.Replace(r.text, "{a: b", "{traffic.sidecar.istio.io/includeInboundPorts: \"80,x\"", 1)); len(got.Findings) > 0 || len(got.Edits) == 0 {
		t.Errorf("findings %v, edits %v", got.Findings, got.Edits)
	}
}

func TestAUsersIstioProxyThatLooksLikeOursKeepsItsEnv(t *testing.T) {
	before := podOf("", app(httpProbe)+"- name: istio-proxy\n  image: auto\n  imagePullPolicy: IfNotPresent\n  env:\n  - name: A\n    value: b\n")
	r := plan(t, before)
	if r.env() == "" || r.Answer.By != "istio-proxy" {
		t.Errorf("%+v in\n%s", r.Answer, r.text)
	}
	wantText(t, restore(t, r.text), before)
}

// A field that was given its original value by hand gets its text back, and once.
func TestAFieldThatWasGivenBackByHandGetsItsText(t *testing.T) {
	before := podOf("", app("livenessProbe:\n  httpGet:\n    path: >-\n      /foo\n    port: !!int \"8001\"\n"))
	r := plan(t, before)
	wantText(t, restore(t, r.text), before)
	byHand := strings.Replace(r.text, "path: /app-health/app/livez\n", "path: /foo\n", 1)
	got := restore(t, byHand)
	if !strings.Contains(got.text, "path: /foo\n") {
		t.Errorf("restored\n%s", got.text)
	}
	byHand = strings.Replace(r.text, "/livez\n            port: 15099\n", "/livez\n            port: 8001\n", 1)
	wantText(t, restore(t, byHand), before)
}

// A controller that reads its objects back, or a check of exported manifests, must find
// nothing to change.
func TestWhatTheAPIServerFillsInIsNoChange(t *testing.T) {
	before := podOf("", app(httpProbe))
	withProbe := func(o *transformer.Options) { o.ProbeProxy.LivenessProbe = true }
	text := plan(t, before, withProbe).text
	for _, c := range []struct {
		after, added string
		image        string // of probe-proxy; "" for the default
		stays        bool
	}{
		{after: "fieldRef:\n", added: "              apiVersion: v1\n", stays: true},
		{after: "fieldRef:\n", added: "              apiVersion: v2\n"},
		{after: "port: 15099\n", added: "            scheme: HTTP\n", stays: true},
		{after: "port: 15099\n", added: "            scheme: HTTPS\n"},
		{after: "timeoutSeconds: 10\n", added: "          periodSeconds: 10\n          failureThreshold: 3\n", stays: true},
		{after: "timeoutSeconds: 10\n", added: "          periodSeconds: 1\n"},
		{after: "restartPolicy: Always\n", added: "        imagePullPolicy: IfNotPresent\n", stays: true},
		{after: "restartPolicy: Always\n", added: "        imagePullPolicy: Always\n"},
		{after: "restartPolicy: Always\n", added: "        imagePullPolicy: Never\n"},
		{after: "restartPolicy: Always\n", added: "        imagePullPolicy: Always\n", image: "localhost:5000/probe-proxy", stays: true},
		{after: "restartPolicy: Always\n", added: "        imagePullPolicy: Always\n", image: "probe-proxy:latest", stays: true},
		{after: "restartPolicy: Always\n", added: "        imagePullPolicy: IfNotPresent\n", image: "probe-proxy@sha256:0123", stays: true},
		{after: "restartPolicy: Always\n", added: "        imagePullPolicy: IfNotPresent\n", image: "localhost:5000/probe-proxy"},
		{after: "restartPolicy: Always\n", added: "        resources: {}\n        terminationMessagePath: /dev/termination-log\n", stays: true},
	} {
		opts := []option{withProbe}
		text := text
		if c.image != "" {
			opts = append(opts, func(o *transformer.Options) { o.ProbeProxy.Image = c.image })
			text = plan(t, before, opts...).text
		}
		read := strings.Replace(text, c.after, c.after+c.added, 1)
		if read == text {
			t.Fatalf("%q is not in\n%s", c.after, text)
		}
		again := plan(t, read, opts...)
		if c.stays != (len(again.Edits) == 0) || !c.stays && again.text != text {
			t.Errorf("%+v: a second run edits %v", c, again.Edits)
		}
		wantText(t, restore(t, again.text), before)
	}
}

func TestImageOfProbeProxy_thatWasMovedStays(t *testing.T) {
	byDefault := func(o *transformer.Options) { o.ProbeProxy.Image = "" }
	first := plan(t, podOf("", app(httpProbe)), byDefault, answeredBy("probe-proxy"))
	moved := strings.Replace(first.text, "probe-proxy:v", "probe-proxy:v9", 1)
	if moved == first.text {
		t.Fatalf("no image in\n%s", first.text)
	}
	again := plan(t, moved, byDefault, answeredBy("probe-proxy"))
	wantReason(t, again, "image-kept")
	wantNoEdits(t, again)
	wantText(t, plan(t, moved, answeredBy("probe-proxy")), plan(t, podOf("", app(httpProbe)), answeredBy("probe-proxy")).text)
}
