// Package kyverno has Kyverno's own command line run the policies that
// `rewrite-probes policy --engine kyverno` prints. It is a module of its own
// because of what Kyverno links.
package kyverno

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

func TestKyvernoFindsWhatCheckFinds(t *testing.T) {
	const root = "../../.."
	if out, err := exec.Command("make", "-C", root, "bin/kyverno").CombinedOutput(); err != nil {
		t.Fatalf("make: %v\n%s", err, out)
	}
	var out bytes.Buffer
	cmd := exec.Command(root+"/bin/kyverno", "apply", root+"/examples/policy/kyverno.yaml", "--resource", "testdata/pods.yaml", "--resource", "testdata/groups.yaml", "-f", "testdata/values.yaml")
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // it exits with 1 if an object fails; what it says is judged below
	for _, want := range []string{
		"shop/Pod/bad failed", "other/Pod/labelled failed", "shop/WorkloadGroup/bad failed", "other/WorkloadGroup/grpc failed", "pass: 4, fail: 4, warn: 0, error: 0, skip: 0",
		"web: readinessProbe httpGet :8080/ready fails under strict mTLS [would-fail]; web: livenessProbe tcpSocket :8080 passes under strict mTLS although nothing may listen [would-falsely-pass]",
		"spec.probe.httpGet.host: must be the machine itself: Istio's agent reaches no other host [vm-host-remote]; " +
			"spec.probe.httpGet.httpHeaders: must be written Host: Istio's agent sends two Host headers otherwise [vm-header-case]; " +
			"spec.probe.httpGet.scheme: Istio's agent verifies the certificate of an HTTPS probe, which the kubelet does not [vm-https-verified]",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("must say %q:\n%s", want, &out)
		}
	}
}
