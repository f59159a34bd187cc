// Package verdict says what a kubelet must make of a pod, and watches the pod until
// that is known.
package verdict

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/rewrite-probes/rewrite-probes/test/e2e/node"
)

// How long a pod may take for what it must do; a machine with two cores that
// starts ten pods at once is slow.
const limit = 3 * time.Minute

// How long a pod that is ready must stay so, and one that is not must not become so:
// six periods of the probes and more.
const (
	holds = 12 * time.Second
	never = 15 * time.Second
)

// A Verdict is what is expected of a pod. Its name is for people.
type Verdict struct {
	Name  string
	watch func(*node.Node, string) (saw string, err error)
}

// Watch watches a pod and returns what it saw. The error says how that is not what was
// expected.
func (v Verdict) Watch(n *node.Node, pod string) (saw string, err error) {
	saw, err = v.watch(n, pod)
	if err != nil {
		return err.Error() + FirstFailure(n, pod), fmt.Errorf("expected: %s; saw: %w%s", v.Name, err, FirstFailure(n, pod))
	}
	return saw, nil
}

// The verdicts.
var (
	// Ready: becomes Ready, stays so, and nothing is restarted.
	Ready = Verdict{"Ready, no restarts", func(n *node.Node, pod string) (string, error) {
		saw, err := staysReady(n, pod)
		if s := n.State(pod); err == nil && Restarts(s) > 0 {
			return "", fmt.Errorf("restarted: %s", s)
		}
		return saw, err
	}}

	// ReadyInTheEnd: becomes Ready and stays so, with restarts before or without.
	ReadyInTheEnd = Verdict{"Ready in the end", staysReady}

	// NeverReady: runs, is not Ready for a while, and nothing is restarted.
	NeverReady = Verdict{"never Ready, no restarts", func(n *node.Node, pod string) (string, error) {
		if err := isNotReady(n, pod); err != nil {
			return "", err
		}
		if s := n.State(pod); Restarts(s) > 0 {
			return "", fmt.Errorf("restarted: %s", s)
		}
		return fmt.Sprintf("never Ready in %.0f s", never.Seconds()) + FirstFailure(n, pod), nil
	}}

	// NeverReadyAndRestarted: as above, and the kubelet restarts the app.
	NeverReadyAndRestarted = Verdict{"never Ready, restarted", func(n *node.Node, pod string) (string, error) {
		if err := isNotReady(n, pod); err != nil {
			return "", err
		}
		s, err := n.WaitFor(pod, limit, func(s node.State) bool { return AppRestarts(s) > 0 })
		if err != nil {
			return "", fmt.Errorf("must be restarted: %w", err)
		}
		if err := wasNeverReady(n, pod); err != nil {
			return "", err
		}
		return fmt.Sprintf("never Ready, %d restarts%s", AppRestarts(s), FirstFailure(n, pod)), nil
	}}

	// Restarted: the liveness probe has the app restarted, more than once.
	Restarted = Verdict{"restarted", func(n *node.Node, pod string) (string, error) {
		s, err := n.WaitFor(pod, limit, func(s node.State) bool { return AppRestarts(s) > 1 })
		if err != nil {
			return "", fmt.Errorf("must be restarted: %w", err)
		}
		return fmt.Sprintf("restarted %d times%s", AppRestarts(s), FirstFailure(n, pod)), nil
	}}

	// HookFails: the kubelet kills the app because its postStart hook failed.
	HookFails = Verdict{"PostStartHookError", func(n *node.Node, pod string) (string, error) {
		s, err := n.WaitFor(pod, limit, func(s node.State) bool { return s.Containers["app"].Restarts > 0 })
		if err != nil {
			return "", err
		}
		if err := wasNeverReady(n, pod); err != nil {
			return "", err
		}
		for line := range strings.Lines(n.Log("kubelet")) {
			if strings.Contains(line, "PostStartHookError") && strings.Contains(line, "/"+pod) {
				return "never Ready, restarted, PostStartHookError", nil
			}
		}
		return "", fmt.Errorf("restarted, and not for its hook: %s", s)
	}}

	// Succeeded: the pod was Ready and has ended well, its sidecars too.
	Succeeded = Verdict{"Ready, then Succeeded", func(n *node.Node, pod string) (string, error) {
		return finishes(n, pod, true)
	}}

	// SucceededUnready: the pod ends well and never was Ready.
	SucceededUnready = Verdict{"never Ready, then Succeeded", func(n *node.Node, pod string) (string, error) {
		return finishes(n, pod, false)
	}}

	// NeverEnds: the app has ended well, and a sidecar keeps the pod.
	NeverEnds = Verdict{"never ends", func(n *node.Node, pod string) (string, error) {
		s, err := n.WaitFor(pod, limit, func(s node.State) bool { return s.Containers["app"].Reason == "Completed" })
		if err != nil {
			return "", err
		}
		time.Sleep(never)
		if s = n.State(pod); s.Phase != "Running" {
			return "", fmt.Errorf("ended: %s", s)
		}
		return fmt.Sprintf("still runs %.0f s after the app has ended", never.Seconds()), nil
	}}
)

func staysReady(n *node.Node, pod string) (string, error) {
	s, err := n.WaitFor(pod, limit, func(s node.State) bool { return s.Ready })
	if err != nil {
		return "", err
	}
	time.Sleep(holds)
	after := n.State(pod)
	if !after.Ready {
		return "", fmt.Errorf("was Ready, then: %s", after)
	}
	return fmt.Sprintf("Ready after %s, %d restarts in %.0f s more%s", since(n, pod, s.At), Restarts(after), holds.Seconds(), probeCounts(n, pod)), nil
}

// isNotReady returns an error if the pod becomes Ready within a while after its
// app was started.
func isNotReady(n *node.Node, pod string) error {
	if err := AppRuns(n, pod); err != nil {
		return err
	}
	time.Sleep(never)
	return wasNeverReady(n, pod)
}

func finishes(n *node.Node, pod string, ready bool) (string, error) {
	s, err := n.WaitFor(pod, limit, func(s node.State) bool { return s.Phase == "Succeeded" })
	if err != nil {
		return "", err
	}
	was := wasNeverReady(n, pod) != nil
	if was != ready {
		return "", fmt.Errorf("was Ready: %t, which must be %t", was, ready)
	}
	return fmt.Sprintf("was Ready: %t; Succeeded after %s", was, since(n, pod, s.At)), nil
}

// AppRuns waits until the container app of the pod has been started.
func AppRuns(n *node.Node, pod string) error {
	_, err := n.WaitFor(pod, limit, func(s node.State) bool {
		return s.Containers["app"].Running || AppRestarts(s) > 0
	})
	return err
}

func wasNeverReady(n *node.Node, pod string) error {
	for _, s := range n.History(pod) {
		if s.Ready {
			return fmt.Errorf("was Ready: %s", s)
		}
	}
	return nil
}

// Restarts counts those of all containers, the sidecars' too.
func Restarts(s node.State) (n int) {
	for _, c := range s.Containers {
		n += c.Restarts
	}
	return n
}

// AppRestarts counts those of the containers that the pod's author wrote.
func AppRestarts(s node.State) (n int) {
	for name, c := range s.Containers {
		if authors(name) {
			n += c.Restarts
		}
	}
	return n
}

// authors reports whether the pod's author wrote a container of this name: it is none of
// the mesh's or of rewrite-probes.
func authors(name string) bool {
	return !strings.HasPrefix(name, "mesh-") && !strings.HasPrefix(name, "istio-") && name != "probe-proxy"
}

// since returns the time from when the kubelet first knew the pod.
func since(n *node.Node, pod string, at time.Time) time.Duration {
	return at.Sub(n.History(pod)[0].At).Round(time.Second)
}

// failureLine is how the kubelet logs a failed probe, at -v=2.
var failureLine = regexp.MustCompile(`"Probe failed" probeType="(\w+)" pod="[a-z0-9-]+/([a-z0-9-]+)" .*? containerName="([a-z0-9-]+)" .*? output="((?:[^"\\]|\\.)*)"`)

// FirstFailure returns what the kubelet wrote about the first failed probe of a container
// that the pod's author wrote, without the pod's address; "" if none has failed.
func FirstFailure(n *node.Node, pod string) string {
	for _, m := range failureLine.FindAllStringSubmatch(n.Log("kubelet"), -1) {
		if strings.TrimSuffix(m[2], "-"+node.Name) != pod || !authors(m[3]) {
			continue
		}
		output := strings.NewReplacer(`\"`, `"`, n.State(pod).IP, "POD", "|", "/", `\n`, " ").Replace(m[4])
		return fmt.Sprintf("; %s: `%s`", strings.ToLower(m[1]), strings.TrimSpace(output))
	}
	return ""
}

// probeCounts returns how many probes of the author's containers the kubelet
// counted by result.
func probeCounts(n *node.Node, pod string) string {
	counts, err := n.ProbeCounts(pod)
	if err != nil {
		return ""
	}
	return fmt.Sprintf(", %.0f probes passed, %.0f failed", counts["successful"], counts["failed"])
}
