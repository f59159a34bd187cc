package transformer_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// check reports every field of probe-proxy that differs from what is written, but for another image.
func TestAnEditedProbeProxyIsReported(t *testing.T) {
	for _, opts := range [][]option{nil, {asContainer}, {port(15098)}, {inMesh("linkerd")}, {inMesh("osm")}} {
		want := plan(t, podOf("", app(httpProbe)), opts...).text
		for _, same := range []string{want, strings.Replace(want, "example/probe-proxy:v1\n", "mirror.example/p@sha256:"+strings.Repeat("a", 64)+"\n", 1)} {
			if found := plan(t, same, opts...).Repairs; len(found) > 0 {
				t.Errorf("%v in\n%s", found, same)
			}
		}
		values := 0
		start := strings.Index(want, "image: example/probe-proxy")
		for _, at := range regexp.MustCompile(`(?m): (true|false|\d+|RuntimeDefault|status.podIP)$`).FindAllStringSubmatchIndex(want[start:], -1) {
			if strings.Contains(want[start:][:at[0]], "- env:") || strings.Contains(want[start:][:at[0]], "containers:") {
				break // the next container
			}
			values++
			edited := want[:start+at[2]] + "4000" + want[start+at[3]:]
			found := plan(t, edited, opts...).Repairs
			if len(found) != 1 || found[0].Reason != reason.ProbeProxyEdited {
				t.Errorf("%v in\n%s", found, edited)
			}
		}
		if values < 4 {
			t.Errorf("only %d fields were edited in\n%s", values, want)
		}
	}
}

// Admission adds fields to the containers of a pod in a cluster.
func TestALivePodMayHaveMore(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  containers:\n  - name: web\n    image: web\n    livenessProbe: {httpGet: {path: /, port: 8080}}\n"
	text := strings.Replace(plan(t, pod).text, "runAsUser: 65532", "runAsUser: 1000", 1)
	if found := plan(t, text).Repairs; len(found) != 1 {
		t.Errorf("%v in\n%s", found, text)
	}
	live := strings.Replace(text, "  name: web\n", "  name: web\n  uid: 5f1c\n", 1)
	if found := plan(t, live).Repairs; len(found) > 0 {
		t.Errorf("%v in\n%s", found, live)
	}
}

// The API server gives every object a uid: of what it has, only a Pod has more in its containers.
func TestAWorkloadOfAClusterIsReportedAsOneInAFile(t *testing.T) {
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		before := strings.Replace(podOf("", app(httpProbe)), "kind: Deployment", "kind: "+kind, 1)
		edited := strings.Replace(plan(t, before).text, "runAsUser: 65532", "runAsUser: 1000", 1)
		for _, text := range []string{edited, strings.Replace(edited, "  name: web\n", "  name: web\n  uid: 5f1c\n", 1)} {
			if found := plan(t, text).Repairs; len(found) != 1 || found[0].Reason != reason.ProbeProxyEdited {
				t.Errorf("%v in\n%s", found, text)
			}
		}
	}
}
