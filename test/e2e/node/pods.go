package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// PauseImage is the image of the sandbox containers.
const PauseImage = "localhost/pause:e2e"

// A State is the kubelet's view of a pod at a point in time.
type State struct {
	At         time.Time
	Phase      string
	Ready      bool // the pod's condition
	IP         string
	Containers map[string]Container // init containers too
}

// A Container is the kubelet's status of a container.
type Container struct {
	Ready    bool
	Restarts int
	ID       string // without the runtime's name
	Running  bool
	Reason   string // why it waits or ended, now or the last time
	ExitCode int    // of the last end
}

// podList is the part of a v1 PodList that is read.
type podList struct {
	Items []struct {
		Metadata struct{ Name string }
		Status   struct {
			Phase                                    string
			PodIP                                    string
			Conditions                               []struct{ Type, Status string }
			InitContainerStatuses, ContainerStatuses []struct {
				Name             string
				Ready            bool
				RestartCount     int
				ContainerID      string
				State, LastState struct {
					Running *struct{}
					Waiting *struct{ Reason string }
					// Terminated is nil while the container runs.
					Terminated *struct {
						Reason   string
						ExitCode int
					}
				}
			}
		}
	}
}

// observe reads the kubelet's verdicts until the node is stopped.
func (n *Node) observe() {
	for {
		select {
		case <-n.stop:
			return
		case <-time.After(200 * time.Millisecond):
		}
		body, err := get("/pods")
		if err != nil {
			continue // the next answer tells
		}
		var list podList
		if err := json.Unmarshal(body, &list); err != nil {
			panic(fmt.Sprintf("the kubelet's list of pods: %v", err))
		}
		n.record(list)
	}
}

func (n *Node) record(list podList) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range list.Items {
		name := strings.TrimSuffix(p.Metadata.Name, "-"+Name)
		s := State{At: time.Now(), Phase: p.Status.Phase, IP: p.Status.PodIP, Containers: map[string]Container{}}
		for _, c := range p.Status.Conditions {
			s.Ready = s.Ready || c.Type == "Ready" && c.Status == "True"
		}
		for _, c := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
			seen := Container{Ready: c.Ready, Restarts: c.RestartCount, Running: c.State.Running != nil,
				ID: strings.TrimPrefix(c.ContainerID, "containerd://")}
			if t := c.LastState.Terminated; t != nil {
				seen.Reason, seen.ExitCode = t.Reason, t.ExitCode
			}
			if t := c.State.Terminated; t != nil {
				seen.Reason, seen.ExitCode = t.Reason, t.ExitCode
			}
			if w := c.State.Waiting; w != nil {
				seen.Reason = w.Reason
			}
			s.Containers[c.Name] = seen
		}
		old := n.history[name]
		if len(old) == 0 || !same(old[len(old)-1], s) {
			n.history[name] = append(old, s)
		}
	}
}

func same(a, b State) bool {
	return a.Phase == b.Phase && a.Ready == b.Ready && a.IP == b.IP && maps.Equal(a.Containers, b.Containers)
}

// History returns the changes of a pod's state, oldest first.
func (n *Node) History(pod string) []State {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.history[pod])
}

// State returns the pod's state now; the zero State before the kubelet knows it.
func (n *Node) State(pod string) State {
	h := n.History(pod)
	if len(h) == 0 {
		return State{}
	}
	return h[len(h)-1]
}

// WaitFor waits until the pod's state is as wanted, and returns it. When the limit
// has passed, the error has the last state.
func (n *Node) WaitFor(pod string, limit time.Duration, wanted func(State) bool) (State, error) {
	var s State
	err := testutil.Eventually(limit, func() error {
		if s = n.State(pod); !wanted(s) {
			return fmt.Errorf("pod %s after %s: %s", pod, limit, s)
		}
		return nil
	})
	return s, err
}

// String returns the state in the words of kubectl get pods.
func (s State) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, Ready=%t", s.Phase, s.Ready)
	for _, name := range slices.Sorted(maps.Keys(s.Containers)) {
		c := s.Containers[name]
		fmt.Fprintf(&b, "; %s ready=%t restarts=%d %s", name, c.Ready, c.Restarts, c.Reason)
	}
	return b.String()
}

// Run hands the kubelet a pod. It may not have run under that name before.
func (n *Node) Run(name string, pod any) error {
	text, err := json.MarshalIndent(pod, "", " ") // JSON is YAML
	if err != nil {
		return err
	}
	manifests := filepath.Join(Dir, "manifests")
	unfinished := filepath.Join(manifests, "."+name) // the kubelet passes over dot files
	if err := os.WriteFile(unfinished, text, 0o644); err != nil {
		return err
	}
	return os.Rename(unfinished, filepath.Join(manifests, name+".yaml"))
}

// Remove takes the pod away and waits until its containers have ended.
func (n *Node) Remove(name string, limit time.Duration) error {
	last := n.State(name)
	if err := os.Remove(filepath.Join(Dir, "manifests", name+".yaml")); err != nil {
		return err
	}
	return testutil.Eventually(limit, func() error {
		for container, c := range last.Containers {
			switch _, err := n.pid(c.ID); {
			case err == nil:
				return fmt.Errorf("pod %s: container %s still runs", name, container)
			case !errors.Is(err, errNotRunning):
				return err
			}
		}
		return nil
	})
}

// Kill sends SIGKILL to the first process of a container.
func (n *Node) Kill(pod, container string) error {
	pid, err := n.pid(n.State(pod).Containers[container].ID)
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// pid returns the process of a running container.
func (n *Node) pid(id string) (int, error) {
	out, err := exec.Command("ctr", "-n", "k8s.io", "tasks", "ls").Output()
	if err != nil {
		return 0, fmt.Errorf("ctr tasks ls: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) == 3 && id != "" && f[0] == id && f[2] == "RUNNING" {
			return strconv.Atoi(f[1])
		}
	}
	return 0, fmt.Errorf("container %q: %w", id, errNotRunning)
}

var errNotRunning = errors.New("does not run")

// probeTotal is a line of the kubelet's /metrics/probes.
var probeTotal = regexp.MustCompile(`(?m)^prober_probe_total\{(.*)\} (\S+)$`)

// ProbeCounts returns how many probes of a pod ended with each result
// ("successful", "failed", "unknown"), by the kubelet's own count.
func (n *Node) ProbeCounts(pod string) (map[string]float64, error) {
	body, err := get("/metrics/probes")
	if err != nil {
		return nil, err
	}
	counts := map[string]float64{}
	for _, m := range probeTotal.FindAllStringSubmatch(string(body), -1) {
		if own := `pod="` + pod; !strings.Contains(m[1], own+`"`) && !strings.Contains(m[1], own+"-"+Name+`"`) {
			continue
		}
		labels := resultLabel.FindStringSubmatch(m[1])
		value, err := strconv.ParseFloat(m[2], 64)
		if err != nil || labels == nil {
			return nil, fmt.Errorf("metrics: %q is no count of probes", m[0])
		}
		counts[labels[1]] += value
	}
	return counts, nil
}

var resultLabel = regexp.MustCompile(`result="(\w+)"`)
