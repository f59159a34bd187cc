package transformer

import (
	"fmt"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// outcome returns what becomes of a probe, as it was read, in the mesh, and if that is
// not so in every world, the fact that decides.
func (b *knowledge) outcome(s *handlerSite) (f world.Fate, unless string) {
	kind := s.current.Kind()
	spec := &b.in.Template.Spec
	switch {
	case kind == "" || !s.current.Dials() || b.mesh.isProxy(s.container):
		return world.Spared, ""
	case s.isDangling():
		return world.Failing("nothing in the pod has its original"), ""
	case s.neverWorks(kind), s.dialed() == 0: // it fails without a mesh too
		return world.Spared, ""
	}
	if why := s.astray(spec); why != "" {
		return world.Failing(why), ""
	}
	switch {
	case pod.IsWindows(spec), (b.passesProbes() || spec.HostNetwork) && (s.holder == nil || !s.holder.proxy):
		f = world.Spared
	default:
		f, unless = b.inspection.outcome(s)
	}
	if f == world.Spared {
		return s.hurriedFate()
	}
	return f, unless
}

// cannotRun returns why k, a probe-proxy, cannot answer in a pod, with or without a mesh; ""
// if it can. An API server or a CRD that does not know native sidecars drops the
// restartPolicy, so that the pod waits for the end of probe-proxy.
func (k *originalsHolder) cannotRun(spec *pod.Spec) string {
	switch {
	case k.proxy:
		return ""
	case pod.IsWindows(spec):
		return "probe-proxy, which is to answer, runs on Linux alone"
	case k.at.Init && !pod.IsSidecar(k.at, k.container):
		return "probe-proxy, which is to answer, is an init container without `restartPolicy: Always`, and the pod waits for its end"
	}
	return ""
}

// astray returns why a rewritten probe of a pod is not made as its author wants, with or
// without a mesh, such as after an edit; "" if it is.
func (s *handlerSite) astray(spec *pod.Spec) string {
	k := s.holder
	if k == nil {
		return ""
	}
	port, _ := s.original.Endpoint()
	noted, _ := pod.HandlerOf(s.entry, &pod.HTTPGet{}).Endpoint()
	switch why := k.cannotRun(spec); {
	case why != "":
		return why
	case k.ours && !k.proxy && !k.answersOn(s.dialed()):
		return fmt.Sprintf("%s, which is to answer, listens on port %s", k.name(), joinPorts(k.listens))
	case !k.proxy && s.gates() && k.at.StartsAfter(s.at):
		return k.name() + ", which is to answer, starts later, when the probe or hook has passed"
	case s.current.HTTPGet.Scheme == "HTTPS":
		return k.name() + ", which is to answer, speaks plain HTTP"
	case s.port != 0 && int64(s.port) != noted.Int:
		return fmt.Sprintf("its original in %s goes to port %s, and `%s` is %d now", k.name(), noted, port, s.port)
	}
	return ""
}

// hurriedFate returns what becomes of a rewritten probe whose own timeout is longer than
// that of its original in the holder, by which the app must have answered.
func (s *handlerSite) hurriedFate() (f world.Fate, unless string) {
	if s.holder == nil || s.entry.TimeoutSeconds == 0 || s.entry.TimeoutSeconds >= s.timeout {
		return world.Spared, ""
	}
	why := fmt.Sprintf("its original in %s has a timeout of %d s, and the probe one of %d s", s.holder.name(), s.entry.TimeoutSeconds, s.timeout)
	return world.Failing(why), fmt.Sprintf("the app takes longer than %d s", s.entry.TimeoutSeconds)
}

// uncaptured are the reasons to leave a whole template alone for which the kubelet's probes
// reach the pod as they are.
var uncaptured = []string{"ambient", "injection-off", "namespace-not-injected", "not-sidecar-template", "port-not-captured"}

// passesProbes reports whether the mesh lets the kubelet's probes through to the pod.
func (b *knowledge) passesProbes() bool {
	off := b.byMesh
	return off != nil && slices.Contains(uncaptured, off.Reason)
}
