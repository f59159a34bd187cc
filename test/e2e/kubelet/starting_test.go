package kubelet

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/test/e2e/node"
)

// starts are the ways in which a probe-proxy starts: the functionConfig, what its
// container is without, and whether it has so little CPU that it starts slowly.
var starts = []struct {
	name, config, without string
	slow, may             bool // may: probes may fail, which is why it is not done so
}{
	{"native", "default", "", false, false},
	{"native, slow", "default", "", true, false},
	{"native without the hook", "default", "lifecycle", false, true},
	{"native without the hook, slow", "default", "lifecycle", true, true},
	{"container", "container", "", false, false},
	{"container without the hook", "container", "lifecycle", false, true},
}

// podsAtOnce is how many pods of each way are started at the same time.
const podsAtOnce = 4

// TestNoProbeOrHookComesBeforeProbeProxyListens counts the app's probes and hooks that
// found nobody at probe-proxy's port, with and without its own postStart hook, which
// keeps the next container from being started.
func TestNoProbeOrHookComesBeforeProbeProxyListens(t *testing.T) {
	for i, c := range starts {
		t.Run(c.name, func(t *testing.T) {
			var names []string
			for n := range podsAtOnce {
				p := pod(t, "first-hook", c.config)
				ours := containerOf(t, p, "probe-proxy")
				delete(ours, c.without)
				if c.slow {
					ours["resources"] = map[string]any{"limits": map[string]any{"cpu": "10m", "memory": "32Mi"}}
				}
				names = append(names, fmt.Sprintf("start-%d-%d", i, n))
				start(t, names[n], p)
			}
			probes, hooks, took := 0, 0, []time.Duration(nil)
			for _, name := range names {
				s, err := theNode.WaitFor(name, 90*time.Second, func(s node.State) bool { return s.Ready })
				if err != nil {
					t.Fatal(err, firstFailure(name))
				}
				took = append(took, s.At.Sub(theNode.History(name)[0].At))
				p, h := tooEarly(name)
				probes, hooks = probes+p, hooks+h
				if err := theNode.Remove(name, 60*time.Second); err != nil {
					t.Error(err)
				}
			}
			if probes+hooks > 0 && !c.may {
				t.Errorf("%d probes and %d hooks found nobody at probe-proxy's port", probes, hooks)
			}
			expected := "0 probes and 0 hooks before probe-proxy listens"
			if c.may {
				expected = "counted only"
			}
			slices.Sort(took)
			saw := fmt.Sprintf("%d probes and %d hooks in %d pods; Ready after %.1f to %.1f s", probes, hooks, len(names), took[0].Seconds(), took[len(took)-1].Seconds())
			t.Log(saw)
			note(t, expected, saw)
		})
	}
}

// containerOf returns a container of a pod.
func containerOf(t *testing.T, p map[string]any, name string) map[string]any {
	t.Helper()
	spec := p["spec"].(map[string]any)
	for _, list := range []string{"initContainers", "containers"} {
		of, _ := spec[list].([]any)
		for _, c := range of {
			if c := c.(map[string]any); c["name"] == name {
				return c
			}
		}
	}
	t.Fatalf("no container %s", name)
	return nil
}

// tooEarly counts the probes and hooks of a pod's apps that were refused at the port of
// probe-proxy.
func tooEarly(pod string) (probes, hooks int) {
	for line := range strings.Lines(theNode.Log("kubelet")) {
		if !strings.Contains(line, pod+"-"+node.Name) || !strings.Contains(line, ":15099: connect: connection refused") || strings.Contains(line, `containerName="probe-proxy"`) {
			continue
		}
		switch {
		case strings.Contains(line, `"Probe failed"`):
			probes++
		case strings.Contains(line, "Failed to execute PostStartHook"):
			hooks++
		}
	}
	return probes, hooks
}
