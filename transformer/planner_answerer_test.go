package transformer_test

import (
	"strings"
	"testing"
)

// TestAListThatLosesItsLastItemAndGetsAnotherStays: to remove the list and to add to
// it are edits that exclude each other.
func TestAListThatLosesItsLastItemAndGetsAnotherStays(t *testing.T) {
	t.Run("containers", func(t *testing.T) {
		original := podOf("", app(httpProbe))
		declared := plan(t, original, answeredBy("istio-proxy")).text
		head, containers, _ := strings.Cut(declared, "      containers:\n")
		first, proxy, ok := strings.Cut(containers, "      - name: istio-proxy\n")
		if !ok {
			t.Fatalf("no istio-proxy is declared:\n%s", declared)
		}
		moved := head + "      initContainers:\n      - name: istio-proxy\n" + proxy + "      containers:\n" + first
		r := plan(t, moved, answeredBy("probe-proxy"))
		wantText(t, r, plan(t, original, answeredBy("probe-proxy")).text)
		wantText(t, restore(t, r.text), original)
	})
}

// The kubelet asks first after the delay, and restarts the container at the last of the failures in a row. Istio's
// sidecar is given ten seconds for its start.
func TestIstioProxyAnswersWhereItStartsInTime(t *testing.T) {
	const startup = "startupProbe: {httpGet: {path: /, port: 8001}}\n"
	live := func(fields string) string { return "livenessProbe: {httpGet: {path: /, port: 8001}" + fields + "}\n" }
	for _, c := range []struct {
		probes string
		inTime bool
	}{
		{live(""), true},
		{live(", failureThreshold: 1"), false},
		{live(", failureThreshold: 2, periodSeconds: 9"), false},
		{live(", failureThreshold: 2, periodSeconds: 10"), true},
		{live(", periodSeconds: 4"), false},
		{live(", periodSeconds: 5"), true},
		{live(", failureThreshold: 1, initialDelaySeconds: 9"), false},
		{live(", failureThreshold: 1, initialDelaySeconds: 10"), true},
		{live(", failureThreshold: 2, periodSeconds: 4, initialDelaySeconds: 5"), false},
		{live(", failureThreshold: 2, periodSeconds: 5, initialDelaySeconds: 5"), true},
		{strings.Replace(live(", failureThreshold: 1"), "liveness", "readiness", 1), true},
		{strings.Replace(live(", failureThreshold: 1"), "liveness", "startup", 1), false},
		{live(", failureThreshold: 1") + startup, true},
		{live(", failureThreshold: 1") + "startupProbe: {exec: {command: [a]}}\n", false},
	} {
		r := plan(t, podOf(injected, app(c.probes)))
		if got := r.Answer.By == "istio-proxy"; got != c.inTime || !got && !strings.Contains(r.Answer.Because, "fails for good within 10 s") {
			t.Errorf("%s: %+v", c.probes, r.Answer)
		}
	}
}

// Istio leaves its status server's port to itself wherever that is, so that none must be excluded.
func TestThePortOfTheStatusServerIsNotExcluded(t *testing.T) {
	const status, excluded = "status.sidecar.istio.io/port", "excludeInboundPorts"
	before := podOf("annotations: {"+status+": \"15030\"}", app(httpProbe))
	for n, want := range map[int]bool{15030: false, 15031: true} {
		r := plan(t, before, answeredBy("probe-proxy"), port(n), injects())
		if got := strings.Contains(r.text, excluded); got != want || r.Answer.Port != n {
			t.Errorf("port %d is excluded: %t\n%s", n, got, r.text)
		}
		wantText(t, restore(t, r.text), before)
	}
}
