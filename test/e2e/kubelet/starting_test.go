package kubelet

import (
	"fmt"
	"os"
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

// firstFails makes the first start of a pod's probe-proxy fail.
func firstFails(t *testing.T, p map[string]any) {
	t.Helper()
	ours := containerOf(t, p, "probe-proxy")
	ours["image"] = onceImage
	ours["volumeMounts"] = []any{map[string]any{"name": "state", "mountPath": "/state"}}
	spec := p["spec"].(map[string]any)
	volumes, _ := spec["volumes"].([]any)
	spec["volumes"] = append(volumes, map[string]any{"name": "state", "emptyDir": map[string]any{}})
}

// asEarlier puts into probe-proxy the startupProbe that could replace its postStart hook.
func asEarlier(t *testing.T, p map[string]any) {
	t.Helper()
	ours := containerOf(t, p, "probe-proxy")
	delete(ours, "lifecycle")
	ours["startupProbe"] = map[string]any{
		"httpGet": map[string]any{"path": "/healthz", "port": 15099}, "periodSeconds": 1, "failureThreshold": 60,
	}
}

// A form is one in which probe-proxy makes the app wait.
type form struct {
	name string
	make func(*testing.T, map[string]any)
}

var (
	hookForm    = form{"hook", func(*testing.T, map[string]any) {}}
	earlierForm = form{"startupProbe", asEarlier}
)

// A bug is one that some kubelets have with the startupProbe of a sidecar.
type bug struct {
	name    string
	kubelet string // that is tested, and has it
	happens func(t *testing.T, name string, f form) (well bool)
}

// bugs are those because of which probe-proxy has a postStart hook.
var bugs = []bug{
	// kubernetes#132826: the worker of the startupProbe ends for good.
	{"Never, and the first start fails", "v1.34.0", jobSucceeds},
	// kubernetes#136910: nothing of a pod is restarted that is older than the kubelet.
	{"the kubelet was restarted", "v1.35.0", appComesBack},
}

// jobSucceeds reports whether the pod of a Job ends well although the first start of its sidecar fails.
func jobSucceeds(t *testing.T, name string, f form) bool {
	t.Helper()
	p := pod(t, "job", "default")
	firstFails(t, p)
	f.make(t, p)
	start(t, name, p)
	s, err := theNode.WaitFor(name, 45*time.Second, func(s node.State) bool { return s.Phase == "Succeeded" })
	t.Log(s)
	if err == nil && s.Containers["probe-proxy"].Restarts == 0 {
		t.Error("its first start did not fail")
	}
	if err := theNode.Remove(name, 90*time.Second); err != nil {
		t.Error(err)
	}
	return err == nil
}

// appComesBack reports whether an app that is killed after a restart of the kubelet is started again.
func appComesBack(t *testing.T, name string, f form) bool {
	t.Helper()
	p := pod(t, "http", "default")
	f.make(t, p)
	start(t, name, p)
	isReady := func(s node.State) bool { return s.Ready }
	if _, err := theNode.WaitFor(name, 90*time.Second, isReady); err != nil {
		t.Fatal(err, firstFailure(name))
	}
	if os.Getenv(node.EarlierKubelet) != "" {
		// A container that is younger than 10 s is new to the kubelet (prober_manager.go, kubeletRestartGracePeriod).
		time.Sleep(12 * time.Second)
	}
	if err := theNode.RestartKubelet(); err != nil {
		t.Fatal(err)
	}
	if _, err := theNode.WaitFor(name, 60*time.Second, isReady); err != nil {
		t.Fatal(err)
	}
	if err := theNode.Kill(name, "app"); err != nil {
		t.Fatal(err)
	}
	s, err := theNode.WaitFor(name, 45*time.Second, func(s node.State) bool { return s.Ready && s.Containers["app"].Restarts > 0 })
	t.Log(s)
	if err := theNode.Remove(name, 90*time.Second); err != nil {
		t.Error(err)
	}
	return err == nil
}

// TestNoStartOfTheSidecarKeepsThePod runs what kubelets get wrong with a startupProbe: with the hook it ends well.
// With an earlier kubelet (make kubelets) the startupProbe shows the bug that it has.
func TestNoStartOfTheSidecarKeepsThePod(t *testing.T) {
	for i, b := range bugs {
		t.Run(b.name, func(t *testing.T) {
			if !b.happens(t, fmt.Sprintf("start-bug-%d", i), hookForm) {
				t.Error("with the hook it does not end well")
			}
			if os.Getenv(node.EarlierKubelet) == "" {
				return
			}
			well := b.happens(t, fmt.Sprintf("start-bug-%d-earlier", i), earlierForm)
			if has := kubernetes == b.kubelet; well == has {
				t.Errorf("kubelet %s: with the startupProbe it ends well: %t", kubernetes, well)
			}
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
