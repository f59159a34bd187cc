package transformer

import (
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// runsBefore reports whether, in a world in which the mesh's proxy is in the pod, an
// answerer runs when the kubelet makes a rewritten probe for the first time. This
// matters for native sidecars, since the pod waits for their startup probes and postStart
// hooks and would wait for ever, and liveness probes restart them, and for postStart
// hooks of any container.
func (b *view) runsBefore(w world.World, s *handlerSite, a answerer) bool {
	at, proxy := b.proxyOf(b.p.mesh.isProxy)
	switch {
	case a.who == AnsweredByApp || !s.atStart():
		return true
	case a.who == AnsweredByProbeProxy: // an ordinary probe-proxy would have to be first
		return b.native() || !s.at.Init && !b.firstIsApp()
	case proxy != nil && proxy.Image != autoImage: // the injector neither replaces nor moves it
		return s.at.StartsAfter(at)
	}
	return w.Native || !s.at.Init && w.Holds
}

// outcome returns what becomes of a probe, as it was read, in the mesh, and if that is
// not so in every world, the fact that decides.
func (b *knowledge) outcome(s *handlerSite) (f world.Fate, unless string) {
	kind := s.current.Kind()
	spec := &b.in.Template.Spec
	switch {
	case kind == "" || !s.current.Dials() || b.p.mesh.isProxy(s.container):
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

// Why the kubelet's connection to a proxy that only accepts mTLS does not do its work.
const (
	whyNoCertificate = "the kubelet has no client certificate"
	whyAccepted      = "the mesh's own proxy accepts the connection"
)
