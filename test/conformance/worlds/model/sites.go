package model

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A Site is one probe or hook of a pod: readyz, livez, startupz, prestopz, poststartz.
type Site struct{ Container, Type string }

func (s Site) key() string {
	if s.isHook() {
		return "/app-lifecycle/" + s.Container + "/" + s.Type
	}
	return "/app-health/" + s.Container + "/" + s.Type
}

func (s Site) isHook() bool { return s.Type == "prestopz" || s.Type == "poststartz" }

// Compare orders sites.
func Compare(a, b Site) int {
	return cmp.Or(cmp.Compare(a.Container, b.Container), cmp.Compare(a.Type, b.Type))
}

// Sites returns what the kubelet asks, with the ports' names resolved. A name that
// the container does not have stays.
func Sites(pod *corev1.Pod) map[Site]corev1.ProbeHandler {
	all := make(map[Site]corev1.ProbeHandler)
	for i, c := range containers(pod) {
		if c.Name == IstioProxy || i < len(pod.Spec.InitContainers) && c.RestartPolicy == nil {
			continue
		}
		for t, p := range map[string]*corev1.Probe{"readyz": c.ReadinessProbe, "livez": c.LivenessProbe, "startupz": c.StartupProbe} {
			if p != nil {
				all[Site{c.Name, t}] = resolved(c, p.ProbeHandler)
			}
		}
		if c.Lifecycle == nil {
			continue
		}
		for t, h := range map[string]*corev1.LifecycleHandler{"prestopz": c.Lifecycle.PreStop, "poststartz": c.Lifecycle.PostStart} {
			if h != nil {
				all[Site{c.Name, t}] = resolved(c, corev1.ProbeHandler{HTTPGet: h.HTTPGet, TCPSocket: h.TCPSocket, Exec: h.Exec})
			}
		}
	}
	return all
}

// handler returns that of a site as the pod has it, with its headers.
func handler(pod *corev1.Pod, at Site) (h corev1.ProbeHandler) {
	for _, c := range containers(pod) {
		if c.Name != at.Container {
			continue
		}
		for t, p := range map[string]*corev1.Probe{"readyz": c.ReadinessProbe, "livez": c.LivenessProbe, "startupz": c.StartupProbe} {
			if t == at.Type && p != nil {
				h = p.ProbeHandler
			}
		}
		if c.Lifecycle == nil {
			continue
		}
		for t, p := range map[string]*corev1.LifecycleHandler{"prestopz": c.Lifecycle.PreStop, "poststartz": c.Lifecycle.PostStart} {
			if t == at.Type && p != nil {
				h.HTTPGet = p.HTTPGet
			}
		}
	}
	return h
}

// containers returns all of a pod's in the order in which the kubelet starts them.
func containers(pod *corev1.Pod) []*corev1.Container {
	var all []*corev1.Container
	for i := range pod.Spec.InitContainers {
		all = append(all, &pod.Spec.InitContainers[i])
	}
	for i := range pod.Spec.Containers {
		all = append(all, &pod.Spec.Containers[i])
	}
	return all
}

// resolved returns a copy of a handler with its defaults and the number of its port.
func resolved(c *corev1.Container, h corev1.ProbeHandler) corev1.ProbeHandler {
	h = *h.DeepCopy()
	number := func(p *intstr.IntOrString) {
		for _, declared := range c.Ports {
			if p.Type == intstr.String && declared.Name == p.StrVal {
				*p = intstr.FromInt32(declared.ContainerPort)
			}
		}
	}
	switch {
	case h.HTTPGet != nil:
		number(&h.HTTPGet.Port)
		h.HTTPGet.HTTPHeaders, h.HTTPGet.Protocol = nil, nil
		if h.HTTPGet.Scheme == "" {
			h.HTTPGet.Scheme = corev1.URISchemeHTTP
		}
		if !strings.HasPrefix(h.HTTPGet.Path, "/") {
			h.HTTPGet.Path = "/" + h.HTTPGet.Path
		}
	case h.TCPSocket != nil:
		number(&h.TCPSocket.Port)
	case h.GRPC != nil && h.GRPC.Service == nil:
		h.GRPC.Service = new(string)
	}
	return h
}

// Target returns what a handler dials; ok is false if it dials nothing.
func Target(h corev1.ProbeHandler) (port intstr.IntOrString, host string, ok bool) {
	switch {
	case h.HTTPGet != nil:
		return h.HTTPGet.Port, h.HTTPGet.Host, true
	case h.TCPSocket != nil:
		return h.TCPSocket.Port, h.TCPSocket.Host, true
	case h.GRPC != nil:
		return intstr.FromInt32(h.GRPC.Port), "", true
	}
	return intstr.IntOrString{}, "", false
}
