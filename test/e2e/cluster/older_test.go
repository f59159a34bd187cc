package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/verdict"
)

// olderIstio is the folder of an older Istio, which runs instead of the one of test/go.mod; "": none.
// build/older-istio.sh makes it: it has the version's name.
var olderIstio = os.Getenv("OLDER_ISTIO")

// istioVersion returns the version of an older Istio, such as 1.24.0.
func istioVersion() string { return filepath.Base(olderIstio) }

// hasHooks reports whether Istio rewrites hooks, which it does since 1.25.
func hasHooks() bool { return olderIstio == "" || !isBefore(25) }

// leavesHooks reports whether nobody rewrites the hooks of a variant in a mesh.
func (v variant) leavesHooks() bool {
	return v.noRewriting || v == istioRewrites && !hasHooks()
}

// hasNftables reports whether Istio can redirect by nftables, which it does since 1.28.
func hasNftables() bool { return olderIstio == "" || !isBefore(28) }

func isBefore(minor int) bool {
	var is int
	if _, err := fmt.Sscanf(istioVersion(), "1.%d.", &is); err != nil {
		panic(err) // the folder's name
	}
	return is < minor
}

// istioPrograms returns the folder with pilot-discovery and pilot-agent.
func istioPrograms() string {
	if olderIstio != "" {
		return olderIstio
	}
	return bin
}

// renderOlder asks the charts of the older Istio, by its own program.
func renderOlder(settings []string) ([]*unstructured.Unstructured, error) {
	// Before 1.27 native sidecars are made where this env var says so.
	settings = append(slices.Clone(settings), "values.pilot.env.ENABLE_NATIVE_SIDECARS=true")
	question, err := json.Marshal([]map[string][]string{{"Settings": settings}})
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(filepath.Join(olderIstio, "injector"))
	cmd.Stdin = bytes.NewReader(question)
	out, err := testutil.Output(cmd)
	if err != nil {
		return nil, err
	}
	var answers []struct{ Objects []*unstructured.Unstructured }
	if err := json.Unmarshal(out, &answers); err != nil {
		return nil, err
	}
	if len(answers) != 1 || len(answers[0].Objects) == 0 {
		return nil, fmt.Errorf("no objects: %s", out)
	}
	return answers[0].Objects, nil
}

// expectOlder has the rows and the functionConfig be what they are with an older Istio.
func expectOlder() error {
	if !hasHooks() {
		for _, r := range rows {
			if _, runs := r.fates[istioRewrites.name]; runs && r.pod == "hooks" {
				r.fates[istioRewrites.name] = fate{is: verdict.HookFails, said: fails}
			}
		}
	}
	text, err := os.ReadFile(configFile)
	if err != nil {
		return err
	}
	configFile = filepath.Join(dir, "older.yaml")
	spec := fmt.Sprintf("  istio: {version: %q}\n", istioVersion())
	return os.WriteFile(configFile, append(text, spec...), 0o644)
}

// versionSetting says in the istio of a functionConfig which Istio runs; the newest needs no word.
func versionSetting() string {
	if olderIstio == "" {
		return ""
	}
	return fmt.Sprintf(", version: %q", istioVersion())
}
