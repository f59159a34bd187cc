package transformer

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
)

// captures: on a port where a Sidecar has Envoy listen, or may have, everything comes to Envoy. If
// includeInboundPorts lists ports, Istio captures those and ignores
// exclusions. If the status server has moved away from 15020, istio-init captures
// that port like any other; Istio's CNI plugin does not.
func (istio) captures(v *view, annotations field.Noted) func(int) bool {
	return istioCaptures(v, istioRedirects(v, annotations))
}

// istioCaptures adds the ports where Envoy listens, or may, to those that are redirected.
func istioCaptures(v *view, redirects func(port int) bool) func(port int) bool {
	return func(port int) bool {
		return v.inbound(port).Binds != certain.Never || redirects(port)
	}
}

// istioRedirects reports whether the connections to a port are redirected to Envoy.
func istioRedirects(v *view, annotations field.Noted) func(int) bool {
	ports, _ := istioInitPorts(v, annotations)
	listed := listsPorts(ports)
	status := istioStatusIn(v, annotations)
	mode, _ := istioMode(annotations)
	return func(port int) bool {
		if mode == "NONE" || port == istioTunnel {
			return false
		}
		if listed {
			return istioIncluded.has(ports, port)
		}
		return port != status &&
			!slices.Contains(istioNeverCaptured, port) &&
			!istioData.excluded.has(ports, port)
	}
}

// istioInitPorts returns the annotations with the lists of ports that a container istio-init has
// as its arguments: one of the template, such as that of `istioctl kube-inject`, with the path of
// the arguments, or one that a SidecarSet adds; the path is nil then, and if there is none. The annotations are
// without effect.
func istioInitPorts(v *view, annotations field.Noted) (field.Noted, field.Path) {
	var path field.Path
	if set, _ := v.in.Around.SidecarSet(v.pods()); set != nil {
		annotations, _ = withInitPorts(annotations, set.InitArgs())
	}
	for i, c := range v.in.Template.Spec.InitContainers {
		if c.Name != istioInitName {
			continue
		}
		isThere := false
		if annotations, isThere = withInitPorts(annotations, c.Args); isThere {
			path = v.containerPath(pod.Ref{Init: true, Index: i}).Key("args")
		}
	}
	return annotations, path
}

// withInitPorts returns annotations with the lists of ports among the arguments of an istio-init.
func withInitPorts(annotations field.Noted, args []string) (with field.Noted, isThere bool) {
	for j := 0; j+1 < len(args); j++ {
		if key := map[string]string{
			"-b": istioIncludePorts,
			"-d": istioExcludePorts,
		}[args[j]]; key != "" {
			annotations, isThere = annotations.With(key, args[j+1]), true
		}
	}
	return annotations, isThere
}

// initCaptures returns the path of the arguments that have the mesh capture a port; nil if
// there are none.
func (d istio) initCaptures(v *view, port int) field.Path {
	_, path := istioInitPorts(v, field.Noted{})
	if path != nil && d.captures(v, v.userAnnotations)(port) {
		return path
	}
	return nil
}
