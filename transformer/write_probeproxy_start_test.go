package transformer_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

var waitHook = regexp.MustCompile(`(?m)^( *)lifecycle:\n +postStart:\n +exec:\n +command:\n +- /probe-proxy\n +- wait\n +- "--port=(\d+)"\n`)

// asEarlier returns a rewritten manifest with the startupProbe that earlier versions gave to
// probe-proxy, in place of its postStart hook.
func asEarlier(t *testing.T, text string) string {
	t.Helper()
	earlier := waitHook.ReplaceAllString(text, `${1}startupProbe:
${1}  httpGet:
${1}    path: /healthz
${1}    port: $2
${1}  periodSeconds: 1
${1}  failureThreshold: 60
`)
	if earlier == text {
		t.Fatalf("probe-proxy has no postStart hook:\n%s", text)
	}
	return earlier
}

func TestAProbeProxyWithAStartupProbeGetsTheHook(t *testing.T) {
	before := podOf("", app(httpProbe))
	renamed := []string{"name: probe-proxy\n", "name: answers\n"} // it is known by its hook, or its startupProbe
	for _, opts := range [][]option{nil, {asContainer}, {port(15098)}, {inMesh("linkerd")}} {
		want := plan(t, before, opts...).text
		for _, text := range []string{want, asEarlier(t, want)} {
			for _, text := range []string{text, strings.Replace(text, renamed[0], renamed[1], 1)} {
				got := plan(t, text, opts...)
				if sortedLines(got.text) != sortedLines(want) {
					t.Errorf("got\n%s\nwant\n%s", got.text, want)
				}
				wantNoEdits(t, plan(t, got.text, opts...))
			}
			wantText(t, restore(t, strings.Replace(text, renamed[0], renamed[1], 1), opts...), before)
		}
	}
}

// What else a user has put into the lifecycle of probe-proxy stays; a postStart of another
// kind does not, because the kubelet takes one.
func TestTheRestOfProbeProxysLifecycleStays(t *testing.T) {
	const sleep = "          preStop:\n            sleep:\n              seconds: 3\n          stopSignal: SIGUSR1\n"
	for _, opts := range [][]option{nil, {asContainer}} {
		bare := plan(t, podOf("", app(httpProbe)), opts...).text
		want := strings.Replace(bare, "        lifecycle:\n", "        lifecycle:\n"+sleep, 1)
		wantNoEdits(t, plan(t, want, opts...))
		edited := regexp.MustCompile(`exec:\n +command:(\n +- .*){3}\n`).ReplaceAllString(want, "httpGet:\n              port: 1\n")
		if got := plan(t, edited, opts...).text; sortedLines(got) != sortedLines(want) {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	// It moves with the container.
	moved := plan(t, strings.Replace(plan(t, podOf("", app(httpProbe))).text, "        lifecycle:\n", "        lifecycle:\n"+sleep, 1), asContainer).text
	if strings.Count(moved, "seconds: 3\n") != 1 || strings.Count(moved, "- wait\n") != 1 {
		t.Errorf("got\n%s", moved)
	}
}

// A Job's template cannot change, and the image that stays may not know the hook's command.
func TestAJobKeepsTheStartupProbe(t *testing.T) {
	for _, kind := range []string{"Job", "JobSet"} {
		before := strings.Replace(podOf("", "restartPolicy: Never\n"+app(httpProbe)), "apiVersion: apps/v1\nkind: Deployment", "apiVersion: batch/v1\nkind: Job", 1)
		if kind == "JobSet" {
			before = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata:\n  name: web\nspec:\n  replicatedJobs:\n  - name: a\n    template:\n" +
				indent("", strings.TrimPrefix(before[strings.Index(before, "spec:"):], ""), 6)
		}
		now := plan(t, before).text
		wantNoEdits(t, plan(t, now))
		earlier := asEarlier(t, now)
		wantNoEdits(t, plan(t, earlier))
		wantText(t, restore(t, earlier), before)
		// Where its port moves, the template changes anyway, and the probe follows.
		if moved := plan(t, earlier, port(15098)).text; strings.Contains(moved, "15099") || !strings.Contains(moved, "startupProbe:") || strings.Contains(moved, "- wait\n") {
			t.Errorf("%s: got\n%s", kind, moved)
		}
	}
}

// The startupProbe went to the pod's port, which the mesh may capture before it runs.
func TestTheHookDoesNotDependOnTheMesh(t *testing.T) {
	text := plan(t, podOf(injected, app(httpProbe)), port(15098)).text
	bare := strings.Replace(text, "        traffic.sidecar.istio.io/excludeInboundPorts: \"15098\"\n", "", 1)
	opts := []option{port(15098), mtls("PERMISSIVE"), nativeSidecars(false)}
	for form, want := range map[string]world.Outcome{bare: world.Unaffected, asEarlier(t, bare): world.Fails} {
		if v := plan(t, form, opts...).Probes[0]; v.StrictTLS != want {
			t.Errorf("%+v, want %v, in\n%s", v, want, form)
		}
	}
}
