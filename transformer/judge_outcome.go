package transformer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// outcome returns what becomes of a probe, as it was read, in the mesh, and if that is
// not so in every world, the fact that decides.
func (a *answering) outcome(s *site) (f world.Fate, unless string) {
	spec := &a.in.Template.Spec
	switch {
	case s.current.Kind() == "" || !s.current.Dials() || a.mesh.isProxy(s.container):
		return world.Spared, ""
	case s.isDangling():
		return world.Failing("nothing in the pod has its original"), ""
	case a.isApart(s):
		return world.Spared, ""
	}
	if why := s.brokenReason(spec); why != "" {
		return world.Failing(why), ""
	}
	hasNoProxy := pod.IsWindows(spec) || pod.IsVirtual(spec)
	switch {
	case hasNoProxy, (a.letsThrough() || spec.HostNetwork) && (s.holder == nil || !s.holder.proxy):
		f = world.Spared
	default:
		f, unless = a.inspection.outcome(s)
	}
	if f == world.Spared {
		return s.timeoutMismatch()
	}
	return f, unless
}

// isApart reports whether the mesh changes nothing for a probe that dials: queue-proxy makes it inside the pod, or it
// fails without a mesh too.
func (k *knowledge) isApart(s *site) bool {
	if k.in.Shape.ProbesMadeBy != "" && s.name == prober.Readiness && s.holder == nil {
		return true
	}
	if k.whyNever(s) != "" {
		return true
	}
	neverWorks := s.neverWorks(s.current.Kind())
	if k.injectorRewrites() && injectorTakes(k.inspection.version, s) {
		return neverWorks && !s.isTCPHook() // of which it makes an httpGet hook
	}
	return neverWorks || s.dialed() == 0
}

// whyWorks says why the mesh does not affect a probe that is rewritten all the same; "" if that is not known.
func (k *knowledge) whyWorks(s *site) string {
	switch {
	case s.holder != nil:
		return "rewritten before"
	case k.injectorRewrites() && injectorTakes(k.inspection.version, s):
		return "Istio's injector rewrites it"
	case !k.inspection.captures(s.dialed()):
		return "the mesh does not capture its port"
	case k.mesh.name != istioData.name:
		return ""
	}
	for _, m := range k.mtls(s.dialed()) {
		if m.Mode != surroundings.MTLSStrict {
			return "mTLS is " + m.Mode + " (" + cmp.Or(m.At, "the default") + ")"
		}
	}
	return ""
}

// cannotRun returns why h, a probe-proxy, cannot answer in a pod, with or without a mesh; ""
// if it can. An API server or a CRD that does not know native sidecars drops the
// restartPolicy, so that the pod waits for the end of probe-proxy.
func (h *holder) cannotRun(spec *pod.Spec) string {
	switch {
	case h.proxy, h.isAnnotation():
		return ""
	case pod.IsWindows(spec):
		return "probe-proxy, which must answer, runs only on Linux"
	case h.at.Init && !pod.IsSidecar(h.at, h.container):
		return "probe-proxy, which must answer, is an init container without `restartPolicy: Always`, and the pod waits for its end"
	}
	return ""
}

// brokenReason returns why a rewritten probe of a pod is not made as its author wants, with or
// without a mesh, such as after an edit; "" if it is.
func (s *site) brokenReason(spec *pod.Spec) string {
	h := s.holder
	if h == nil {
		return ""
	}
	return cmp.Or(h.cannotRun(spec), s.notReached(), s.asksAnother())
}

// notReached returns why the holder of a rewritten probe, which must answer it, does not hear it; "" if it does.
func (s *site) notReached() string {
	h := s.holder
	switch {
	case h.ours &&
		!h.proxy &&
		!s.inForm &&
		!slices.Contains(h.listens, s.dialed()):
		return fmt.Sprintf("%s, which must answer, listens on port %s", h.name(), joinPorts(h.listens))
	case !h.proxy &&
		!h.isAnnotation() &&
		s.gates() &&
		h.at.StartsAfter(s.at):
		return h.name() + ", which must answer, starts later, when the probe or hook has passed"
	case !s.inForm && s.current.HTTPGet.Scheme == "HTTPS":
		return h.name() + ", which must answer, speaks plain HTTP"
	}
	return ""
}

// asksAnother returns why a rewritten probe is no longer its original in the holder; "" if it is.
func (s *site) asksAnother() string {
	h := s.holder
	port, _ := s.original.Endpoint()
	noted, _ := pod.HandlerOf(s.entry, &pod.HTTPGet{}).Endpoint()
	switch {
	case !port.IsString && *port != *noted: // edited since, which the next run takes for the app's
		return fmt.Sprintf("it asks port %s, where %s does not answer", port, h.name())
	case s.port != 0 && int64(s.port) != noted.Int:
		return fmt.Sprintf("its original in %s asks port %s, and `%s` is %d now", h.name(), noted, port, s.port)
	}
	return ""
}

// timeoutMismatch returns what becomes of a rewritten probe whose own timeout is longer than
// that of its original in the holder, by which the app must have answered.
func (s *site) timeoutMismatch() (f world.Fate, unless string) {
	if s.holder == nil ||
		s.entry.TimeoutSeconds == 0 ||
		s.entry.TimeoutSeconds >= s.timeout {
		return world.Spared, ""
	}
	why := fmt.Sprintf(
		"its original in %s has a timeout of %d s, and the probe one of %d s",
		s.holder.name(),
		s.entry.TimeoutSeconds,
		s.timeout,
	)
	return world.Failing(why), fmt.Sprintf("the app takes longer than %d s", s.entry.TimeoutSeconds)
}

// letsThrough reports whether the mesh lets the kubelet's probes through, whatever else is unknown.
func (a *answering) letsThrough() bool {
	return a.passesProbes() && !(a.byMesh.Reason == reason.Ambient && a.mayHaveSidecar())
}

// mayHaveSidecar reports whether a pod in ambient mode may have Istio's sidecar, so that ambient mode steps aside: by a label of
// its Namespace, which is not known.
func (k *knowledge) mayHaveSidecar() bool {
	_, known := k.namespace()
	return !known && k.inspection.learned.Injected.Is == certain.Maybe
}
