package why

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// Evidence is what there is about a pod.
type Evidence struct {
	Pod           Pod
	Events        []Event
	Log, Previous string // of probe-proxy, and of its run before the last restart
	Metrics       string
	Unseen        []string // what could not be read, with the reason
	// IsMeshProxy reports whether a container of that name and image is a mesh's proxy.
	IsMeshProxy func(name, image string) bool
}

// A Pod has the fields of a pod that say something about its probes.
type Pod struct {
	Metadata struct{ Name, Namespace string }
	Spec     struct {
		InitContainers, Containers []Container
		NodeName                   string
	}
	Status struct {
		Phase, Reason, Message                   string
		Conditions                               []Condition
		InitContainerStatuses, ContainerStatuses []Status
	}
}

// A Condition is one of a pod's.
type Condition struct{ Type, Status, Reason, Message string }

// A Container is one of a pod's, with its probes.
type Container struct {
	Name, Image, RestartPolicy string
	Env                        []struct{ Name string }
	Command, Args              []string
	LivenessProbe              *Probe
	ReadinessProbe             *Probe
	StartupProbe               *Probe
	Lifecycle                  struct{ PostStart, PreStop *Probe }
}

// A Probe is a probe or a hook.
type Probe struct {
	TimeoutSeconds int
	HTTPGet        *struct {
		Path string
		Port any
	}
	TCPSocket, GRPC *struct{ Port any }
	Exec            *struct{ Command []string }
}

// A Status is that of a container.
type Status struct {
	Name             string
	Ready            bool
	Started          *bool
	RestartCount     int
	State, LastState State
}

// A State is what a container does now, or did before its restart.
type State struct {
	Waiting    *struct{ Reason, Message string }
	Running    *struct{}
	Terminated *struct {
		ExitCode        int
		Reason, Message string
	}
}

// An Event is one of the kubelet's.
type Event struct {
	Reason, Message, LastTimestamp string
	Count                          int
	InvolvedObject                 struct{ FieldPath string }
}

// container returns the container that an event is about; "" if it is about the pod.
func (e *Event) container() string {
	_, rest, _ := strings.Cut(e.InvolvedObject.FieldPath, "{")
	return strings.TrimSuffix(rest, "}")
}

func (p *Pod) containers() []Container {
	return slices.Concat(p.Spec.InitContainers, p.Spec.Containers)
}

func (p *Pod) container(name string) *Container {
	all := p.containers()
	i := slices.IndexFunc(all, func(c Container) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

func (p *Pod) status(name string) *Status {
	for _, list := range [][]Status{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		i := slices.IndexFunc(list, func(s Status) bool { return s.Name == name })
		if i >= 0 {
			return &list[i]
		}
	}
	return nil
}

// mesh returns the name of the mesh's proxy in the pod; "" if there is none.
func (e *Evidence) mesh() string {
	for _, c := range e.Pod.containers() {
		if e.IsMeshProxy(c.Name, c.Image) {
			return c.Name
		}
	}
	return ""
}

// proxy returns the container with the originals that is no mesh's; nil if there is none.
func (e *Evidence) proxy() *Container {
	for _, c := range e.Pod.containers() {
		for _, v := range c.Env {
			if v.Name == prober.EnvName && !e.IsMeshProxy(c.Name, c.Image) {
				return &c
			}
		}
	}
	return nil
}

// port returns the port of probe-proxy: that of its flag or hook, or the default.
func (c *Container) port() int {
	words := slices.Concat(c.Command, c.Args)
	if h := c.Lifecycle.PostStart; h != nil && h.Exec != nil {
		words = append(words, h.Exec.Command...)
	}
	for _, w := range words {
		if text, is := strings.CutPrefix(w, "--port="); is {
			if n, err := strconv.Atoi(text); err == nil {
				return n
			}
		}
	}
	return prober.DefaultPort
}

// health orders pods: the fewer of their containers are ready, the lower.
func (p *Pod) health() int {
	ready := 0
	for _, s := range p.Status.ContainerStatuses {
		if s.Ready {
			ready++
		}
		ready -= min(s.RestartCount, 1)
	}
	return ready
}

// isOurs reports whether a probe of a container asks probe-proxy or Istio's agent, and for which key.
func (p *Probe) isOurs() (key string, ours bool) {
	if p == nil || p.HTTPGet == nil {
		return "", false
	}
	_, _, ours = prober.ParseKey(p.HTTPGet.Path)
	return p.HTTPGet.Path, ours
}

// String returns the name of a pod for messages.
func (p *Pod) String() string {
	return fmt.Sprintf("Pod %s/%s", p.Metadata.Namespace, p.Metadata.Name)
}
