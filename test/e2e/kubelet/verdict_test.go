package kubelet

import (
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/test/e2e/node"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/redirection"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/verdict"
)

// slack is how much later than expected a kubelet may act on a busy machine
// with two cores.
const slack = 4 * time.Second

// The verdicts of package verdict by short names, for the tables.
var (
	ready                  = verdict.Ready
	neverReady             = verdict.NeverReady
	neverReadyAndRestarted = verdict.NeverReadyAndRestarted
	restarted              = verdict.Restarted
	hookFails              = verdict.HookFails
	succeeded              = verdict.Succeeded
	succeededUnready       = verdict.SucceededUnready
)

func appRuns(pod string) error { return verdict.AppRuns(theNode, pod) }

func firstFailure(pod string) string { return verdict.FirstFailure(theNode, pod) }

func restarts(s node.State) int { return verdict.Restarts(s) }

// runAndCompare runs a pod in Istio's mesh until it is known whether it fares as
// expected, then removes it.
func runAndCompare(t *testing.T, name string, v verdict.Verdict, p map[string]any) {
	t.Helper()
	runAndCompareIn(t, istio, name, v, p)
}

func runAndCompareIn(t *testing.T, mesh redirection.Mesh, name string, v verdict.Verdict, p map[string]any) {
	t.Helper()
	startIn(t, mesh, name, p)
	saw, err := v.Watch(theNode, name)
	if err != nil {
		t.Error(err)
	} else {
		t.Log(saw)
	}
	note(t, v.Name, saw)
	if err := theNode.Remove(name, 60*time.Second); err != nil {
		t.Error(err)
	}
}
