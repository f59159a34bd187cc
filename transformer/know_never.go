package transformer

import "github.com/rewrite-probes/rewrite-probes/internal/pod"

// whyNever says why a probe or hook fails with and without a mesh; "" if it does not, or if somebody completes the
// container. A port that does not exist is asked for if Istio's injector rewrites the probe.
func (k *knowledge) whyNever(s *site) string {
	kind := s.original.Kind()
	port, _ := s.original.Endpoint()
	unknown, named := s.portErr.(pod.UnknownPort)
	isCompleted := k.mesh.isProxy(s.container) || k.in.Shape.ProbesMadeBy != "" || k.in.Shape.IsPatch
	switch {
	case kind == "", !s.original.Dials(), s.holder != nil, s.isDangling(), isCompleted:
		return ""
	case s.isTCPHook() && k.mayBeRewritten():
		return ""
	case s.neverWorks(kind) && s.name.IsHook():
		return "the kubelet has no " + kind + " hooks"
	case s.neverWorks(kind):
		return "an init container that ends has no probes"
	case s.portErr == nil, pod.IsVariable(port.Str), pod.IsPortPlaceholder(port.Str):
		return ""
	case named && !unknown.Refused && k.injectorRewrites():
		return ""
	case named && !unknown.Refused:
		return "the port name does not exist"
	}
	return s.portErr.Error()
}
