package transformer_test

import (
	"strings"
	"testing"
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
			original := func(metadata string) string { return pod(metadata, threeProbes) }
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

// TestNoOriginalIsRemovedWhileAProbeThatItMayBelongToLooksRewritten: the
// template is refused, by restore too.
func TestNoOriginalIsRemovedWhileAProbeThatItMayBelongToLooksRewritten(t *testing.T) {
	one := plan(t, pod("", app(httpProbe))).text
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
	// Equal originals are not ambiguous, and neither is a port by name.
	same := strings.Replace(one, "initContainers:\n", "initContainers:\n"+strings.Replace(sidecar, "name: probe-proxy", "name: other", 1), 1)
	wantText(t, restore(t, same), pod("", app(httpProbe)))
	named := strings.Replace(one, "livez\n            port: 15020", "livez\n            port: web", 1)
	wantText(t, restore(t, named), pod("", app(httpProbe)))
}

// TestAProbeThatHasThePathOfAnotherIsRefusedAtOnce: else the second run could
// not know whose original the path has.
func TestAProbeThatHasThePathOfAnotherIsRefusedAtOnce(t *testing.T) {
	yaml := pod("", app(httpProbe+"startupProbe: {httpGet: {path: /app-health/app/livez, port: 15020}}\n"))
	f := wantReason(t, plan(t, yaml), "originals-ambiguous")
	if !strings.Contains(f.Message, "`spec.template.spec.containers[0].livenessProbe`") {
		t.Errorf("%q", f.Message)
	}
}

// TestEnvVarsOfTwoDialectsInOneContainer: each is read, and neither is lost.
func TestEnvVarsOfTwoDialectsInOneContainer(t *testing.T) {
	original := pod("", app(httpProbe+"readinessProbe:\n  tcpSocket:\n    port: 8002\n"))
	text := plan(t, pod("", app(httpProbe))).text
	text = strings.Replace(text, "        startupProbe:\n", "        - name: OSM_KUBE_APP_PROBERS\n          value: '{\"/osm-readiness-probe/app\":{\"tcpSocket\":{\"port\":8002}}}'\n        startupProbe:\n", 1) +
		"        readinessProbe:\n          httpGet:\n            path: /osm-healthcheck\n            port: 15904\n            scheme: HTTP\n            httpHeaders:\n            - name: Original-Tcp-Port\n              value: \"8002\"\n"
	for _, opts := range [][]option{nil, {inOSM}} {
		wantText(t, restore(t, text, opts...), original)
		r := plan(t, text, opts...)
		if want := plan(t, original, opts...); sortedLines(r.text) != sortedLines(want.text) {
			t.Errorf("got\n%s\nwant\n%s", r.text, want.text)
		}
	}
}

// TestTheProbesOfAnAppNamedLikeTheOtherMeshsProxyComeBack: to the dialect osm a
// container istio-proxy is an app, and to the dialect istio envoy is.
func TestTheProbesOfAnAppNamedLikeTheOtherMeshsProxyComeBack(t *testing.T) {
	for name, first := range map[string][]option{"istio-proxy": {inOSM}, "envoy": nil} {
		original := pod("", app(httpProbe)+"- name: "+name+"\n  image: x\n"+strings.TrimPrefix(indent("", httpProbe, 0), "\n"))
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

// TestOriginalsOfTheOtherDialectAreFoundBehindOwnOnes: the container with both
// env vars does not answer for the app istio-proxy in the dialect istio, and
// does in the other.
func TestOriginalsOfTheOtherDialectAreFoundBehindOwnOnes(t *testing.T) {
	original := pod("", app(httpProbe+"startupProbe:\n  tcpSocket:\n    port: 8002\n")+"- name: istio-proxy\n  image: x\n"+strings.TrimPrefix(indent("", httpProbe, 0), "\n"))
	text := plan(t, strings.Replace(original, "startupProbe:\n          tcpSocket:\n            port: 8002\n", "startupProbe:\n          httpGet:\n            path: /app-health/app/startupz\n            port: 15020\n", 1), inOSM).text
	both := strings.Replace(text, "        - name: OSM_KUBE_APP_PROBERS\n", "        - name: ISTIO_KUBE_APP_PROBERS\n          value: '{\"/app-health/app/startupz\":{\"tcpSocket\":{\"port\":8002}}}'\n        - name: OSM_KUBE_APP_PROBERS\n", 1)
	wantText(t, restore(t, both), original)
}

// TestAMessageNamesNoContainerOfOurs: a name that is not there is answered with
// those that are the app's.
func TestAMessageNamesNoContainerOfOurs(t *testing.T) {
	yaml := pod("annotations:\n  rewrite-probes.io/skip-containers: ap\n", app(httpProbe))
	for _, opts := range [][]option{nil, {answeredBy("istio-proxy")}} {
		r := plan(t, yaml, opts...)
		for _, r := range []result{r, plan(t, r.text, opts...)} {
			if f := wantReason(t, r, "unknown-container"); !strings.HasSuffix(f.Message, "but the pod has only app") {
				t.Errorf("%q", f.Message)
			}
		}
	}
}

// TestAContainerNamedAsAnotherMeshsProxyGetsItsOriginalsBack: which mesh they were
// rewritten for is not known to restore.
func TestAContainerNamedAsAnotherMeshsProxyGetsItsOriginalsBack(t *testing.T) {
	for _, name := range []string{"istio-proxy", "kuma-sidecar", "consul-dataplane"} {
		yaml := pod("", strings.Replace(app(httpProbe), "name: app", "name: "+name, 1))
		r := plan(t, yaml, inMesh("linkerd"))
		if len(r.Edits) == 0 {
			t.Fatalf("%s: nothing was rewritten: %v", name, r.Findings)
		}
		wantText(t, restore(t, r.text), yaml)
	}
}
