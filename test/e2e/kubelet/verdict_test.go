package kubelet

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/test/e2e/node"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/redirection"
)

// slack is how much later than expected a kubelet may act on a busy machine
// with two cores.
const slack = 4 * time.Second

// A verdict is what is expected of a pod. watch watches the pod and returns what
// it saw; err is set if that is not what was expected.
type verdict struct {
	name  string
	watch func(pod string) (saw string, err error)
}

var (
	// ready: becomes Ready, stays so, and nothing is restarted.
	ready = verdict{"Ready, no restarts", func(pod string) (string, error) {
		s, err := theNode.WaitFor(pod, 90*time.Second, func(s node.State) bool { return s.Ready })
		if err != nil {
			return "", err
		}
		time.Sleep(12 * time.Second) // six periods and more
		after := theNode.State(pod)
		if !after.Ready || restarts(after) > 0 {
			return "", fmt.Errorf("was Ready, then: %s", after)
		}
		return fmt.Sprintf("Ready after %s, 0 restarts in 12 s more%s", since(pod, s.At), probeCounts(pod)), nil
	}}

	// neverReady: runs, is not Ready for a while, and nothing is restarted.
	neverReady = verdict{"never Ready, no restarts", func(pod string) (string, error) {
		if err := appRuns(pod); err != nil {
			return "", err
		}
		time.Sleep(15 * time.Second)
		if err := wasNeverReady(pod); err != nil {
			return "", err
		}
		if s := theNode.State(pod); restarts(s) > 0 {
			return "", fmt.Errorf("restarted: %s", s)
		}
		return "never Ready in 15 s" + firstFailure(pod), nil
	}}

	// neverReadyAndRestarted: as above, and the kubelet restarts the app.
	neverReadyAndRestarted = verdict{"never Ready, restarted", func(pod string) (string, error) {
		if err := appRuns(pod); err != nil {
			return "", err
		}
		time.Sleep(15 * time.Second)
		s, err := theNode.WaitFor(pod, 60*time.Second, func(s node.State) bool { return appRestarts(s) > 0 })
		if err != nil {
			return "", fmt.Errorf("must be restarted: %w", err)
		}
		if err := wasNeverReady(pod); err != nil {
			return "", err
		}
		return fmt.Sprintf("never Ready, %d restarts%s", appRestarts(s), firstFailure(pod)), nil
	}}

	// restarted: the liveness probe has the app restarted, more than once.
	restarted = verdict{"restarted", func(pod string) (string, error) {
		s, err := theNode.WaitFor(pod, 90*time.Second, func(s node.State) bool { return appRestarts(s) > 1 })
		if err != nil {
			return "", fmt.Errorf("must be restarted: %w", err)
		}
		return fmt.Sprintf("restarted %d times%s", appRestarts(s), firstFailure(pod)), nil
	}}

	// hookFails: the kubelet kills the app because its postStart hook failed.
	hookFails = verdict{"PostStartHookError", func(pod string) (string, error) {
		s, err := theNode.WaitFor(pod, 90*time.Second, func(s node.State) bool { return s.Containers["app"].Restarts > 0 })
		if err != nil {
			return "", err
		}
		if err := wasNeverReady(pod); err != nil {
			return "", err
		}
		for line := range strings.Lines(theNode.Log("kubelet")) {
			if strings.Contains(line, "PostStartHookError") && strings.Contains(line, pod+"-"+node.Name) {
				return "never Ready, restarted, PostStartHookError", nil
			}
		}
		return "", fmt.Errorf("restarted, and not for its hook: %s", s)
	}}

	// succeeded: the pod was Ready and has ended well, its sidecars too.
	succeeded = verdict{"Ready, then Succeeded", func(pod string) (string, error) {
		return finishes(pod, true)
	}}

	// succeededUnready: the pod ends well and never was Ready.
	succeededUnready = verdict{"never Ready, then Succeeded", func(pod string) (string, error) {
		return finishes(pod, false)
	}}
)

func finishes(pod string, ready bool) (string, error) {
	s, err := theNode.WaitFor(pod, 120*time.Second, func(s node.State) bool { return s.Phase == "Succeeded" })
	if err != nil {
		return "", err
	}
	was := wasNeverReady(pod) != nil
	if was != ready {
		return "", fmt.Errorf("was Ready: %t, which must be %t", was, ready)
	}
	return fmt.Sprintf("was Ready: %t; Succeeded after %s", was, since(pod, s.At)), nil
}

// appRuns waits until every container of the pod has been started.
func appRuns(pod string) error {
	_, err := theNode.WaitFor(pod, 90*time.Second, func(s node.State) bool {
		return s.Containers["app"].Running || appRestarts(s) > 0
	})
	return err
}

func wasNeverReady(pod string) error {
	for _, s := range theNode.History(pod) {
		if s.Ready {
			return fmt.Errorf("was Ready: %s", s)
		}
	}
	return nil
}

// restarts counts those of all containers, the sidecars' too.
func restarts(s node.State) (n int) {
	for _, c := range s.Containers {
		n += c.Restarts
	}
	return n
}

// appRestarts counts those of the containers that the pod's author wrote.
func appRestarts(s node.State) (n int) {
	for name, c := range s.Containers {
		if !strings.HasPrefix(name, "mesh-") && name != "probe-proxy" {
			n += c.Restarts
		}
	}
	return n
}

// since returns the time from when the kubelet first knew the pod.
func since(pod string, at time.Time) time.Duration {
	return at.Sub(theNode.History(pod)[0].At).Round(time.Second)
}

// failureLine is how the kubelet logs a failed probe, at -v=2.
var failureLine = regexp.MustCompile(`"Probe failed" probeType="(\w+)" pod="default/([a-z0-9-]+)" .*? output="((?:[^"\\]|\\.)*)"`)

// firstFailure returns what the kubelet wrote about a pod's first failed probe,
// without the pod's address.
func firstFailure(pod string) string {
	for _, m := range failureLine.FindAllStringSubmatch(theNode.Log("kubelet"), -1) {
		if m[2] != pod+"-"+node.Name {
			continue
		}
		output := strings.NewReplacer(`\"`, `"`, theNode.State(pod).IP, "POD", "|", "/", `\n`, " ").Replace(m[3])
		return fmt.Sprintf("; %s: `%s`", strings.ToLower(m[1]), strings.TrimSpace(output))
	}
	return ""
}

// probeCounts returns how many probes of the author's containers the kubelet
// counted by result.
func probeCounts(pod string) string {
	counts, err := theNode.ProbeCounts(pod)
	if err != nil {
		return ""
	}
	return fmt.Sprintf(", %.0f probes passed, %.0f failed", counts["successful"], counts["failed"])
}

// runAndCompare runs a pod in Istio's mesh until it is known whether it fares as
// expected, then removes it.
func runAndCompare(t *testing.T, name string, v verdict, p map[string]any) {
	t.Helper()
	runAndCompareIn(t, istio, name, v, p)
}

func runAndCompareIn(t *testing.T, mesh redirection.Mesh, name string, v verdict, p map[string]any) {
	t.Helper()
	startIn(t, mesh, name, p)
	saw, err := v.watch(name)
	if err != nil {
		saw = err.Error() + firstFailure(name)
		t.Errorf("expected: %s; saw: %s", v.name, saw)
	} else {
		t.Log(saw)
	}
	note(t, v.name, saw)
	if err := theNode.Remove(name, 60*time.Second); err != nil {
		t.Error(err)
	}
}
