package transformer_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// A probe-proxy is known by its hook, whatever its name and image, and by its image without the hook.
func TestAProbeProxyThatWasEditedIsKnown(t *testing.T) {
	before := podOf("", app(httpProbe))
	hook := regexp.MustCompile(`(?m)^ *lifecycle:\n +postStart:\n +exec:\n +command:(\n +- .*){3}\n`)
	for _, opts := range [][]option{nil, {asContainer}, {port(15098)}, {inMesh("linkerd")}} {
		want := plan(t, before, opts...).text
		for name, text := range map[string]string{
			"as it is":     want,
			"another name": strings.Replace(want, "name: probe-proxy\n", "name: answers\n", 1),
			"another tag":  strings.Replace(want, "example/probe-proxy:v1\n", "example/probe-proxy:v0\n", 1),
			"no hook":      hook.ReplaceAllString(want, ""),
		} {
			if (text == want) != (name == "as it is") {
				t.Fatalf("%s: nothing was edited in\n%s", name, want)
			}
			got := plan(t, text, opts...)
			if sortedLines(got.text) != sortedLines(want) {
				t.Errorf("%s: got\n%s\nwant\n%s", name, got.text, want)
			}
			wantNoEdits(t, plan(t, got.text, opts...))
			if name != "no hook" || !strings.Contains(want, "15098") { // of whose port the hook tells
				wantText(t, restore(t, text, opts...), before)
			}
		}
		moved := strings.Replace(want, "example/probe-proxy:v1\n", "mirror.example/p:v1\n", 1)
		wantText(t, restore(t, moved, opts...), before)
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

// The mesh may capture the pod's port of probe-proxy before it runs; the hook dials 127.0.0.1.
func TestTheHookDoesNotDependOnTheMesh(t *testing.T) {
	text := plan(t, podOf(injected, app(httpProbe)), port(15098)).text
	bare := strings.Replace(text, "        traffic.sidecar.istio.io/excludeInboundPorts: \"15098\"\n", "", 1)
	opts := []option{port(15098), mtls("PERMISSIVE"), nativeSidecars(false)}
	if v := plan(t, bare, opts...).Probes[0]; v.StrictTLS != world.Unaffected {
		t.Errorf("%+v in\n%s", v, bare)
	}
}
