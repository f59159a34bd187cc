package transformer

import (
	"cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// runsBefore reports whether, in a world in which the mesh's proxy is in the pod, an
// answerer runs when the kubelet makes a rewritten probe for the first time. This
// matters for native sidecars, since the pod waits for their startup probes and postStart
// hooks and would wait for ever, and liveness probes restart them, and for postStart
// hooks of any container.
func (v *view) runsBefore(w world.World, s *site, a answerer) bool {
	switch {
	case a.who == AnsweredByApp || !s.atStart():
		return true
	case a.who == AnsweredByProbeProxy: // an ordinary probe-proxy would have to be first
		return v.native() || !s.at.Init && !v.firstIsApp()
	case v.proxy != nil && v.proxy.Image != autoImage: // the injector neither replaces nor moves it
		return s.at.StartsAfter(v.proxyAt)
	}
	return w.Native || !s.at.Init && w.Holds
}

// lateIn returns the fact that decides whether an answerer runs when the kubelet makes
// the rewritten probe; "" if it does in every world.
func (v *view) lateIn(f *world.Facts, s *site, a answerer) string {
	if !s.atStart() {
		return "" // nearly always
	}
	var cases []world.Case
	for _, w := range f.Worlds() {
		cases = append(cases, world.Case{World: w})
	}
	worst, unless := f.Verdict(cases, func(c *world.Case) world.Fate {
		if (c.Injected || a.who != AnsweredByIstioProxy) && !v.runsBefore(c.World, s, a) {
			return world.Failing("")
		}
		return world.Spared
	})
	if worst == world.Spared {
		return ""
	}
	return cmp.Or(unless, "other containers do not wait for it")
}
