package transformer_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// TestOriginalsAreFoundWhateverThePort: a template was rewritten while one
// port was in force, and is rewritten or restored while another is.
func TestOriginalsAreFoundWhateverThePort(t *testing.T) {
	status := func(n string) string {
		return injected + "annotations:\n  a: b\n  status.sidecar.istio.io/port: \"" + n + "\"\n"
	}
	plain := injected + "annotations:\n  a: b\n"
	for _, c := range []struct {
		name           string
		before, after  string // the metadata of the template
		first, another []option
	}{
		{"the config's port is given up", plain, plain, []option{port(15031)}, nil},
		{"the config's port is another", plain, plain, []option{port(15031)}, []option{port(15032)}},
		{"the status port is moved back", status("15031"), plain, nil, nil},
		{"the status port is moved on", status("15031"), status("15032"), nil, nil},
		{"both", status("15031"), status("15032"), nil, []option{port(15033)}},
		{"to probe-proxy", plain, plain, []option{port(15031)}, []option{answeredBy("probe-proxy"), port(15099)}},
		{"to osm", plain, plain, []option{port(15031)}, []option{inOSM}},
	} {
		t.Run(c.name, func(t *testing.T) {
			first := append([]option{answeredBy("istio-proxy")}, c.first...)
			original := func(metadata string) string { return podOf(metadata, threeProbes) }
			rewritten := plan(t, original(c.before), first...)
			edited := strings.Replace(rewritten.text, `status.sidecar.istio.io/port: "15031"`, `status.sidecar.istio.io/port: "15032"`, 1)
			if !strings.Contains(c.after, "status.sidecar") {
				edited = strings.Replace(rewritten.text, "        status.sidecar.istio.io/port: \"15031\"\n", "", 1)
			} else if c.after == c.before {
				edited = rewritten.text
			}
			wantText(t, restore(t, edited, c.another...), original(c.after))
			again := plan(t, edited, c.another...)
			want := plan(t, original(c.after), c.another...)
			if sortedLines(again.text) != sortedLines(want.text) {
				t.Errorf("planned anew:\n%s\nwant\n%s", again.text, want.text)
			}
		})
	}
}

// TestOriginals_keptWhileAProbeLooksRewritten: the
// template is refused, by restore too.
func TestOriginals_keptWhileAProbeLooksRewritten(t *testing.T) {
	one := plan(t, podOf("", app(httpProbe))).text
	_, sidecar, _ := strings.Cut(one, "initContainers:\n")
	sidecar, _, _ = strings.Cut(sidecar, "      containers:\n")
	other := strings.NewReplacer("name: probe-proxy", "name: other", `"port":8001`, `"port":9`).Replace(sidecar)
	probe := "        livenessProbe:\n          httpGet:\n            path: /app-health/app/livez\n            port: 15020\n"
	copied := "      - name: copy\n        image: app\n" + probe
	for name, yaml := range map[string]string{
		"two containers carry different originals": strings.Replace(one, "initContainers:\n", "initContainers:\n"+other, 1),
		"the container was copied":                 one + copied,
		"the path was edited":                      strings.Replace(one, "path: /app-health/app/livez", "path: /app-health/web/livez", 1),
		"the path was moved to another container":  strings.Replace(one, "name: app\n", "name: new\n", 1) + "      - name: app\n        image: app\n",
		"a second handler was added":               one + "          tcpSocket: {port: 1}\n",
	} {
		for _, do := range []func(testing.TB, string, ...option) result{plan, restore} {
			for _, opts := range [][]option{nil, {inOSM}, {answeredBy("istio-proxy")}} {
				r := do(t, yaml, opts...)
				wantReason(t, r, "originals-ambiguous")
				if r.text != yaml {
					t.Errorf("%s: changed to\n%s", name, r.text)
				}
			}
		}
	}
	// Equal originals are not ambiguous.
	same := strings.Replace(one, "initContainers:\n", "initContainers:\n"+strings.Replace(sidecar, "name: probe-proxy", "name: other", 1), 1)
	wantText(t, restore(t, same), podOf("", app(httpProbe)))
}

// A setter, an overlay or an update of a package may give a rewritten probe a port or a scheme: those
// of the app.
func TestAnEditedPortOrSchemeBecomesThatOfTheOriginal(t *testing.T) {
	const ports = "ports: [{containerPort: 8001, name: http}, {containerPort: 9001, name: web}]\n"
	moved := func(o *transformer.Options) { o.Port = 15031 }
	for name, c := range map[string]struct {
		probe      string // a livenessProbe
		from, port string // what is edited in its rewritten form
		want       string // the livenessProbe then; "" if the edit is none
		opts, next []option
		metadata   string // more of the template's
	}{
		"a number":                   {probe: "{httpGet: {path: /x, port: 8001}}", port: "9001", want: "{httpGet: {path: /x, port: 9001}}"},
		"a name":                     {probe: "{httpGet: {path: /x, port: 8001}}", port: "web", want: "{httpGet: {path: /x, port: web}}"},
		"a number for a name":        {probe: "{httpGet: {path: /x, port: http}}", port: "9001", want: "{httpGet: {path: /x, port: 9001}}"},
		"another name":               {probe: "{httpGet: {path: /x, port: http}}", port: "web", want: "{httpGet: {path: /x, port: web}}"},
		"a number for a quoted name": {probe: "{httpGet: {path: /x, port: \"http\"}}", port: "9001", want: "{httpGet: {path: /x, port: 9001}}"},
		"a name in other quotes":     {probe: "{httpGet: {path: /x, port: \"http\"}}", port: "'web'", want: "{httpGet: {path: /x, port: 'web'}}"},
		"of a tcpSocket":             {probe: "{tcpSocket: {port: http}}", port: "9001", want: "{tcpSocket: {port: 9001}}"},
		"of gRPC":                    {probe: "{grpc: {port: 8001, service: a}}", port: "9001", want: "{grpc: {port: 9001, service: a}}"},
		"of HTTPS":                   {probe: "{httpGet: {path: /x, port: 8001, scheme: HTTPS}}", port: "9001", want: "{httpGet: {path: /x, port: 9001, scheme: HTTPS}}"},
		"with a scheme":              {probe: "{httpGet: {path: /x, port: 8001}}", port: "9001, scheme: HTTPS", want: "{httpGet: {path: /x, port: 9001, scheme: HTTPS}}"},
		"a scheme alone":             {probe: "{httpGet: {path: /x, port: http}}", port: "15099, scheme: HTTPS", want: "{httpGet: {path: /x, port: http, scheme: HTTPS}}"},
		"a port that none declares":  {probe: "{httpGet: {path: /x, port: 8001}}", port: "7000", want: "{httpGet: {path: /x, port: 7000}}"},
		"of istio-proxy":             {probe: "{httpGet: {path: /x, port: 8001}}", port: "9001", want: "{httpGet: {path: /x, port: 9001}}", opts: []option{answeredBy("istio-proxy")}},
		"of istio-proxy, by name":    {probe: "{httpGet: {path: /x, port: 8001}}", port: "web", want: "{httpGet: {path: /x, port: web}}", opts: []option{answeredBy("istio-proxy")}},
		"in another mesh":            {probe: "{httpGet: {path: /x, port: 8001}}", port: "9001", want: "{httpGet: {path: /x, port: 9001}}", opts: []option{inMesh("linkerd")}},

		"the port of the original":         {probe: "{httpGet: {path: /x, port: 8001}}", port: "8001"},
		"the number of the original's":     {probe: "{httpGet: {path: /x, port: http}}", port: "8001"},
		"the name of the original's":       {probe: "{httpGet: {path: /x, port: http}}", port: "http"},
		"Istio's port":                     {probe: "{httpGet: {path: /x, port: 8001}}", port: "15020"},
		"the config's port":                {probe: "{httpGet: {path: /x, port: 8001}}", port: "15031", next: []option{moved}},
		"the default port":                 {probe: "{httpGet: {path: /x, port: 8001}}", port: "15099", opts: []option{moved}},
		"the port of Istio's annotation":   {probe: "{httpGet: {path: /x, port: 8001}}", port: "15025", metadata: "annotations: {status.sidecar.istio.io/port: \"15025\"}\n"},
		"an earlier port of istio-proxy's": {probe: "{httpGet: {path: /x, port: 8001}}", port: "15031", opts: []option{answeredBy("istio-proxy")}},
	} {
		t.Run(name, func(t *testing.T) {
			next := append(c.opts, c.next...)
			before := podOf("labels: {a: b}\n"+c.metadata, app("livenessProbe: "+c.probe+"\n"+ports))
			after := strings.Replace(before, c.probe, cmp.Or(c.want, c.probe), 1)
			rewritten := plan(t, before, c.opts...).text
			head, tail, _ := strings.Cut(rewritten, "path: /app-health/app/livez, port: ")
			end := strings.IndexAny(tail, ",}")
			edited := head + "path: /app-health/app/livez, port: " + c.port + tail[end:]
			if strings.Count(edited, "scheme: ") > 1 {
				edited = strings.Replace(edited, ", scheme: HTTP}", "}", 1)
			}
			r := plan(t, edited, next...)
			if _, said := r.has("probe-edited"); said != (c.want != "") || transformer.FirstError(r.Findings) != nil {
				t.Errorf("findings %v", r.Findings)
			}
			if want := plan(t, after, next...).text; sortedLines(r.text) != sortedLines(want) {
				t.Errorf("got\n%s\nwant\n%s", r.text, want)
			}
			wantNoEdits(t, plan(t, r.text, next...))
			wantText(t, restore(t, edited, next...), after)
			wantText(t, restore(t, r.text, next...), after)
		})
	}
}

// Where some probes go to istio-proxy, a port of another is no earlier port of istio-proxy.
func TestAnEditedPortOfOneOfSeveralProbesIsAnEdit(t *testing.T) {
	before := podOf("labels: {a: b}\n", threeProbes)
	rewritten := plan(t, before, answeredBy("istio-proxy")).text
	edited := strings.Replace(rewritten, "port: 15020", "port: 7000", 1)
	f := wantReason(t, plan(t, edited, answeredBy("istio-proxy")), "probe-edited")
	if f.Severity != transformer.Info || !strings.Contains(textOf(f), "Its port 7000 becomes the app's port, which was 8001.") {
		t.Errorf("%+v", f)
	}
	if back := restore(t, edited); strings.Count(back.text, "7000") != 1 {
		t.Errorf("restored:\n%s", back.text)
	}
}

// TestAProbeThatHasThePathOfAnotherIsRefusedAtOnce: else the second run could
// not know whose original the path has.
func TestAProbeThatHasThePathOfAnotherIsRefusedAtOnce(t *testing.T) {
	yaml := podOf("", app(httpProbe+"startupProbe: {httpGet: {path: /app-health/app/livez, port: 15020}}\n"))
	f := wantReason(t, plan(t, yaml), "originals-ambiguous")
	if !strings.Contains(textOf(f), "the path of the livenessProbe of container \"app\"") {
		t.Errorf("%q", textOf(f))
	}
}

// TestRestore_appNamedLikeAProxy: to the mesh osm a
// container istio-proxy is an app, and to the mesh istio envoy is.
func TestRestore_appNamedLikeAProxy(t *testing.T) {
	for name, first := range map[string][]option{"istio-proxy": {inOSM}, "envoy": nil} {
		original := podOf("", app(httpProbe)+"- name: "+name+"\n  image: x\n"+strings.TrimPrefix(indent("", httpProbe, 0), "\n"))
		second := []option{inOSM}
		if name == "istio-proxy" {
			second = []option{port(15099)}
		}
		r := plan(t, original, first...)
		if strings.Count(r.text, "/foo") != 2 || strings.Count(r.text, "path: /foo") != 0 {
			t.Errorf("%s must be rewritten:\n%s", name, r.text)
		}
		wantText(t, restore(t, r.text, second...), original)
		if again := plan(t, r.text, second...); strings.Count(again.text, "path: /foo") != 1 {
			t.Errorf("the probe of %s must have come back:\n%s", name, again.text)
		}
	}
}

// TestAMessageNamesNoContainerOfOurs: a name that is not there is answered with
// those that are the app's.
func TestAMessageNamesNoContainerOfOurs(t *testing.T) {
	yaml := podOf("annotations:\n  rewrite-probes.io/skip-containers: ap\n", app(httpProbe))
	for _, opts := range [][]option{nil, {answeredBy("istio-proxy")}} {
		r := plan(t, yaml, opts...)
		for _, r := range []result{r, plan(t, r.text, opts...)} {
			if f := wantReason(t, r, "unknown-container"); !strings.HasSuffix(textOf(f), "but the pod has only app. Correct the name.") {
				t.Errorf("%q", textOf(f))
			}
		}
	}
}

// TestRestore_containerNamedLikeAProxy: which mesh they were
// rewritten for is not known to restore.
func TestRestore_containerNamedLikeAProxy(t *testing.T) {
	for _, name := range []string{"istio-proxy", "kuma-sidecar", "consul-dataplane"} {
		yaml := podOf("", strings.Replace(app(httpProbe), "name: app", "name: "+name, 1))
		r := plan(t, yaml, inMesh("linkerd"))
		if len(r.Edits) == 0 {
			t.Fatalf("%s: nothing was rewritten: %v", name, r.Findings)
		}
		wantText(t, restore(t, r.text), yaml)
	}
}

// TestNoOriginalIsLostWhateverItsProbeLooksLike: the probe is edited by hand, and
// then the template is rewritten again or restored.
func TestNoOriginalIsLostWhateverItsProbeLooksLike(t *testing.T) {
	original := podOf("", app(httpProbe)+"- name: b\n  image: b\n  readinessProbe: {tcpSocket: {port: 7}}\n")
	rewritten := plan(t, original, port(15097)).text
	const handler = "          httpGet:\n            path: /app-health/app/livez\n            port: 15097\n"
	if !strings.Contains(rewritten, handler) {
		t.Fatalf("not rewritten as expected:\n%s", rewritten)
	}
	httpGet := func(path, port string) string {
		return "          httpGet:\n            path: " + path + "\n            port: " + port + "\n"
	}
	for edited, reason := range map[string]string{
		httpGet("/app-health/app/livezx", "15097"):                 "originals-ambiguous",
		httpGet("/app-health/app", "15097"):                        "originals-ambiguous",
		httpGet("/app-health/app/livez/", "15097"):                 "originals-ambiguous",
		httpGet("/app-health/app/livez?x=1", "15097"):              "originals-ambiguous",
		httpGet("/app-healthz/app/livez", "15097"):                 "originals-ambiguous",
		httpGet("/app-health/app/livez/", "15096"):                 "originals-ambiguous",
		httpGet("/app-health/pap/livez", "15097"):                  "originals-ambiguous",
		httpGet("''", "15097"):                                     "originals-ambiguous",
		httpGet("/foo", "15097"):                                   "originals-ambiguous",
		"          tcpSocket:\n            port: 15097\n":          "originals-ambiguous",
		handler + "          exec: {command: [x]}\n":               "originals-ambiguous",
		"          exec: {command: [x]}\n":                         "original-replaced",
		"          httpGet: {host: example.com, port: 80}\n":       "original-replaced",
		"          httpGet: {path: /foo, port: web}\n":             "original-replaced",
		"          httpGet: {path: /foo, port: 8001, host: x.y}\n": "original-replaced",
	} {
		yaml := strings.Replace(rewritten, handler, edited, 1)
		for name, do := range map[string]func(testing.TB, string, ...option) result{"plan": plan, "restore": restore} {
			for _, opts := range [][]option{nil, {inOSM}, {answeredBy("istio-proxy")}} {
				r := do(t, yaml, opts...)
				if f, ok := r.has(reason); !ok || f.Field.String() != "spec.template.spec.containers[0].livenessProbe" {
					t.Errorf("%s of\n%s\nfindings %v, want %s", name, edited, r.Findings, reason)
				}
				if r.text != yaml || slices.ContainsFunc(r.reasons(), func(key string) bool { return key != reason && strings.HasPrefix(key, "original") }) {
					t.Errorf("%s: %v, changed to\n%s", name, r.reasons(), r.text)
				}
			}
		}
	}
	// So is one under another name, with a mistake in its path.
	moved := strings.Replace(rewritten, "        livenessProbe:\n"+handler, "        startupProbe:\n"+httpGet("/app-healt/app/x", "15097"), 1)
	wantReason(t, restore(t, moved), "originals-ambiguous")
	// A probe of the app's own over the network takes the place of the original when it
	// is rewritten in its turn, but is no original to restore.
	yaml := strings.Replace(rewritten, handler, httpGet("/bar", "8002"), 1)
	wantReason(t, restore(t, yaml), "original-replaced")
	wantText(t, restore(t, plan(t, yaml).text), strings.NewReplacer("/foo", "/bar", "8001", "8002").Replace(original))
	// What is back, or gone, needs no entry.
	wantText(t, restore(t, strings.Replace(rewritten, handler, httpGet("/foo", "8001"), 1)), original)
	wantText(t, restore(t, strings.Replace(rewritten, "        livenessProbe:\n"+handler, "", 1)), strings.Replace(original, "        livenessProbe:\n"+httpGet("/foo", "8001"), "", 1))
}

// TestTheAnnotationIsKeptIfItAloneHasAnOriginal: somebody has removed probe-proxy by
// hand.
func TestTheAnnotationIsKeptIfItAloneHasAnOriginal(t *testing.T) {
	original := podOf("labels: {a: b}", app("ports: [{name: web, containerPort: 80}]\nlivenessProbe:\n  httpGet: {path: /foo, port: web}\n"))
	head, rest, _ := strings.Cut(plan(t, original).text, "      initContainers:\n")
	_, containers, _ := strings.Cut(rest, "      containers:\n")
	yaml := head + "      containers:\n" + containers
	for _, do := range []func(testing.TB, string, ...option) result{plan, restore} {
		r := do(t, yaml)
		wantReason(t, r, "original-replaced")
		if r.text != yaml {
			t.Errorf("changed to\n%s", r.text)
		}
	}
}

// sidecarOf returns the container that answers in a rewritten template, and what is
// before and after it.
func sidecarOf(t *testing.T, text string) (before, sidecar, after string) {
	t.Helper()
	before, rest, ok := strings.Cut(text, "initContainers:\n")
	sidecar, after, found := strings.Cut(rest, "      containers:\n")
	if !ok || !found {
		t.Fatalf("no sidecar in\n%s", text)
	}
	return before + "initContainers:\n", sidecar, "      containers:\n" + after
}

// TestTheProbeProxyWithTheConfiguredNameStays: it may have fields of the user's.
func TestTheProbeProxyWithTheConfiguredNameStays(t *testing.T) {
	before, sidecar, after := sidecarOf(t, plan(t, podOf("", app(httpProbe))).text)
	own := sidecar + "        volumeMounts: [{name: own, mountPath: /own}]\n"
	other := strings.Replace(sidecar, "name: probe-proxy", "name: other", 1)
	want := before + own + after
	for _, both := range []string{other + own, own + other} {
		wantText(t, plan(t, before+both+after), want)
	}
}

// TestOfTwoOriginalsTheOneOnTheProbesPortCounts: the containers answer on different ports.
func TestOfTwoOriginalsTheOneOnTheProbesPortCounts(t *testing.T) {
	text := plan(t, podOf("", app(httpProbe)), port(15097)).text
	before, sidecar, after := sidecarOf(t, text)
	other := strings.NewReplacer("name: probe-proxy", "name: other", "15097", "15098", `"port":8001`, `"port":9`, "/foo", "/bar").Replace(sidecar)
	for to, want := range map[string]string{"15097": httpProbe, "15098": strings.NewReplacer("8001", "9", "/foo", "/bar").Replace(httpProbe)} {
		wantText(t, restore(t, before+sidecar+other+strings.Replace(after, "port: 15097", "port: "+to, 1)), podOf("", app(want)))
	}
}

// TestADeclaredProxyThatGotASecondEnvVarIsTheUsers: only the env var with the originals goes.
func TestADeclaredProxyThatGotASecondEnvVarIsTheUsers(t *testing.T) {
	text := plan(t, podOf(injected, app(httpProbe)), answeredBy("istio-proxy")).text
	own := strings.Replace(text, "        - name: ISTIO_KUBE_APP_PROBERS\n", "        - name: OWN\n          value: x\n        - name: ISTIO_KUBE_APP_PROBERS\n", 1)
	if own == text {
		t.Fatalf("no env var in\n%s", text)
	}
	r := restore(t, own)
	wantParts(t, r.text, "- name: istio-proxy\n        image: auto\n", "env:\n        - name: OWN\n          value: x\n", "path: /foo\n")
	if strings.Contains(r.text, "APP_PROBERS") {
		t.Errorf("the originals are still in\n%s", r.text)
	}
}

// TestAnOriginalThatIsBackIsNobodyElses: another probe that goes to the probe port is the
// app's own.
func TestAnOriginalThatIsBackIsNobodyElses(t *testing.T) {
	const other = "- name: b\n  image: b\n  livenessProbe: {tcpSocket: {port: 15097}}\n"
	original := podOf("", app(httpProbe)+other)
	back := strings.Replace(plan(t, original, port(15097)).text, "path: /app-health/app/livez\n            port: 15097", "path: /foo\n            port: 8001", 1)
	wantText(t, restore(t, back), original)
	// Nor is one that was recognised: a container of the same name has no claim to it.
	twice := plan(t, podOf("", app(httpProbe))).text + "      - name: app\n        image: app\n        livenessProbe: {exec: {command: [x]}}\n"
	wantParts(t, restore(t, twice).text, "path: /foo\n", "livenessProbe: {exec: {command: [x]}}")
}

// The port is that of the argument, or of the hook.
func TestThePortOfAProbeProxyIsReadWhereItMayBe(t *testing.T) {
	before := podOf("", app(httpProbe))
	r := plan(t, before, port(15098))
	for _, args := range []string{
		"        - \"--port=15098\"\n",
		"        - --port\n        - \"15098\"\n",
		"        - --other=1\n",
		"        - --port=x\n",
	} {
		text := strings.Replace(r.text, "        - \"--port=15098\"\n        env:\n", args+"        env:\n", 1)
		wantText(t, restore(t, text), before) // with another port, the annotation for it would stay
	}
}

func TestOriginals_twoHolders(t *testing.T) {
	r := plan(t, podOf("", app(httpProbe)))
	other := strings.Replace(r.text, "      containers:\n", "      - name: other\n        image: o\n        env:\n        - name: ISTIO_KUBE_APP_PROBERS\n          value: '{\"/app-health/app/livez\":{\"httpGet\":{\"port\":81}}}'\n      containers:\n", 1)
	want := "`spec.template.spec.containers[0].livenessProbe`: It looks rewritten, but container `probe-proxy` and container `other` store different originals for its path. Delete one of the two."
	if f := wantReason(t, plan(t, other), "originals-ambiguous"); textOf(f) != want {
		t.Errorf("got  %s\nwant %s", textOf(f), want)
	}
}

func TestAProbeProxyThatCannotRunIsFound(t *testing.T) {
	text := plan(t, podOf("", app(httpProbe))).text
	for _, c := range []struct{ old, new, why string }{
		{"", "", ""},
		{"        restartPolicy: Always\n", "", "without `restartPolicy: Always`"},
		{"      initContainers:\n", "      nodeSelector: {kubernetes.io/os: windows}\n      initContainers:\n", "only on Linux"},
	} {
		for _, opts := range [][]option{nil, {injects()}} {
			v := plan(t, strings.Replace(text, c.old, c.new, 1), opts...).Probes[0]
			if (v.StrictTLS == world.Fails) != (c.why != "") || !strings.Contains(v.Why, c.why) || v.If != "" {
				t.Errorf("%q: %+v", c.old, v)
			}
		}
	}
	// A container needs no restartPolicy.
	if v := plan(t, plan(t, podOf("", app(httpProbe)), asContainer).text, asContainer).Probes[0]; v.StrictTLS != world.Unaffected {
		t.Errorf("%+v", v)
	}
}

// What the injectors of these meshes have rewritten themselves is left alone.
func TestWhatOSMAndFlomeshInjectedDangles(t *testing.T) {
	injected := podOf("", app("livenessProbe: {httpGet: {path: /osm-liveness-probe, port: 15901, scheme: HTTP}}\nreadinessProbe: {httpGet: {path: /fsm-healthcheck, port: 15904, httpHeaders: [{name: Original-Tcp-Port, value: \"8002\"}]}}"))
	for _, mesh := range []string{"osm", "fsm", "auto", "linkerd"} {
		r := plan(t, injected, inMesh(mesh))
		wantText(t, r, injected)
		if got := strings.Join(r.reasons(), " "); got != "dangling dangling" || r.Probes[0].StrictTLS != world.Fails {
			t.Errorf("%s: %s, %+v", mesh, got, r.Probes)
		}
	}
}
