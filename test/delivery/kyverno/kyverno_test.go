// Package kyverno has Kyverno's own command line run the policy that
// `rewrite-probes policy --engine kyverno` prints. It is a module of its own
// because of what Kyverno links.
package kyverno

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestKyvernoFindsWhatCheckFinds(t *testing.T) {
	kyverno := filepath.Join(t.TempDir(), "kyverno")
	if out, err := exec.Command("go", "build", "-trimpath", "-o", kyverno, "github.com/kyverno/kyverno/cmd/cli/kubectl-kyverno").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var out bytes.Buffer
	cmd := exec.Command(kyverno, "apply", "../../../examples/policy/kyverno.yaml", "--resource", "testdata/pods.yaml", "-f", "testdata/values.yaml")
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // it exits with 1 if a pod fails; what it says is judged below
	for _, want := range []string{
		"shop/Pod/bad failed", "other/Pod/labelled failed", "pass: 2, fail: 2, warn: 0, error: 0, skip: 0",
		"web: readinessProbe httpGet :8080/ready fails under strict mTLS [would-fail]; web: livenessProbe tcpSocket :8080 passes under strict mTLS although nothing may listen [would-falsely-pass]",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("must say %q:\n%s", want, &out)
		}
	}
}
