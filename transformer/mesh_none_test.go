package transformer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/transformer"
)

func meshNone(o *transformer.Options) { o.Mesh = "none" }

// newerAndOlder is a pod with each kind of probe and a hook. Two of them need a feature gate.
func newerAndOlder(metadata string) string {
	return podOf(metadata, app(`livenessProbe: {httpGet: {path: /live, port: 8080, protocol: HTTP2}}
readinessProbe: {httpGet: {path: /ready, port: 8080}}
startupProbe: {tcpSocket: {port: 8080}}
lifecycle: {preStop: {httpGet: {path: /stop, port: 8080, protocol: HTTP2}}}`)+`
- name: api
  image: api
  livenessProbe: {grpc: {port: 9090, mode: TLS}}
  readinessProbe: {grpc: {port: 9090}}`)
}

// fates returns what becomes of each probe, and what the findings say.
func fates(r result) (probes, findings []string) {
	for _, v := range r.Probes {
		probes = append(probes, strings.TrimSpace(v.After+v.Reason.String()+" "+v.If))
	}
	for _, f := range r.Findings {
		findings = append(findings, f.Reason.String()+": "+f.Text.What+". "+f.Text.Why)
	}
	return probes, findings
}

func TestWithoutAMeshOnlyNewerProbesAreRewritten(t *testing.T) {
	const isOff = " the cluster's feature gate %s is off (unknown: look in the cluster)"
	want := []string{
		"made-by-kubelet", ":15099/app-health/app/livez" + fmt.Sprintf(isOff, "H2CContainerProbe"), "made-by-kubelet", "made-by-kubelet",
		"made-by-kubelet", ":15099/app-health/api/livez" + fmt.Sprintf(isOff, "GRPCContainerProbeTLS"),
	}
	for _, metadata := range []string{"", "annotations: {sidecar.istio.io/inject: \"false\"}", "annotations: {linkerd.io/inject: disabled}"} {
		r := plan(t, newerAndOlder(metadata), meshNone)
		probes, findings := fates(r)
		if d := cmp.Diff(want, probes); d != "" || len(findings) > 0 {
			t.Errorf("%s: findings %q, -want +got\n%s", metadata, findings, d)
		}
		for _, e := range r.Edits {
			if at := e.Path.String(); strings.Contains(at, "annotations") && !strings.Contains(at, "rewrite-probes.io") {
				t.Errorf("%s: the annotation of a mesh is written: %s", metadata, at)
			}
		}
	}
}

func TestAPodOfAMeshIsLeftAloneWhereTheOptionsNameNone(t *testing.T) {
	r := plan(t, newerAndOlder("annotations: {linkerd.io/inject: enabled}"), meshNone)
	wantReason(t, r, "other-mesh")
	if probes, _ := fates(r); strings.Contains(strings.Join(probes, ""), ":15099") {
		t.Errorf("probes %q", probes)
	}
}

func TestANewerProbeThatNoMeshCapturesIsAWarning(t *testing.T) {
	_, findings := fates(plan(t, newerAndOlder("annotations: {sidecar.istio.io/inject: \"false\"}")))
	want := []string{
		"newer-probe: This probe needs the feature gate H2CContainerProbe, which is off by default. " +
			"Kubernetes drops `httpGet.protocol` without that gate, and the kubelet then asks without it",
		"newer-probe: This probe needs the feature gate GRPCContainerProbeTLS, which is off by default. " +
			"Kubernetes drops `grpc.mode` without that gate, and the kubelet then asks without it",
	}
	var newer []string
	for _, f := range findings {
		if strings.HasPrefix(f, "newer-probe") {
			newer = append(newer, f)
		}
	}
	if d := cmp.Diff(want, newer); d != "" {
		t.Errorf("of %q, -want +got\n%s", findings, d)
	}
	if _, findings := fates(plan(t, newerAndOlder(""))); strings.Contains(strings.Join(findings, " "), "newer-probe") {
		t.Errorf("probe-proxy makes them, but the findings are %q", findings)
	}
}
