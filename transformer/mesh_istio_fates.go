package transformer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/inbound"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// outcomes returns the function that says what becomes of a probe, as it was read, in
// the worlds that are left.
func (d istio) outcomes(v *view, f world.Facts) outcomeOf {
	now := v.annotations()
	_, path := istioInitPorts(v, field.Noted{})
	redirects := istioRedirects(v, now)
	all := istioCases{
		view: v, worlds: f.Worlds(),
		redirects: redirects, captures: istioCaptures(v, redirects),
		hasInit: path != nil, notInjected: v.notInjectedElsewhere(f.Injected),
	}
	return func(s *site) (world.Fate, string) {
		fate := func(c *world.Case) world.Fate { return d.fate(v, s, c) }
		return f.Verdict(all.of(s), fate)
	}
}

// istioCases are the cases of the probes of a pod.
type istioCases struct {
	*view
	worlds              []world.World
	redirects, captures func(port int) bool
	hasInit             bool   // the template has an istio-init, with which Istio's CNI plugin does nothing
	notInjected         string // what may switch off injection in another branch of the folders; "" if nothing does
}

// of returns the cases of one probe.
func (x *istioCases) of(s *site) (all []world.Case) {
	if x.notInjected != "" {
		all = append(all, world.Case{Elsewhere: x.notInjected})
	}
	inVain := askedInVain(x.view, s)
	for _, w := range x.worlds {
		w.Rewrites = w.Rewrites && injectorTakes(istioVersion(x.view), s)
		port := s.dialed()
		if w.Rewrites {
			port = x.sendsTo(x.annotations())
			for i := range inVain {
				all = append(all, world.Case{World: w, Answer: &inVain[i]})
			}
		}
		if !w.Injected || !x.captures(port) {
			all = append(all, world.Case{World: w})
			continue
		}
		all = append(all, x.captured(s, w, port)...)
	}
	return all
}

// captured returns the cases of a probe in a world in which the mesh captures the port that it goes to.
func (x *istioCases) captured(s *site, w world.World, port int) (all []world.Case) {
	binds := x.inbound(port).Binds
	redirects := x.redirects(port)
	mayBeUnbound := binds == certain.Maybe // if the Sidecar is about other pods
	if mayBeUnbound && !redirects {
		all = append(all, world.Case{World: w, Unbound: true})
	}
	mayBeEarly := !w.Native && !x.hasInit && s.needsStart()
	add := func(c world.Case) {
		c.World = w
		all = append(all, c)
		if mayBeUnbound && redirects && s.gates() {
			c.Unbound = true
			all = append(all, c)
		}
	}
	modes := x.mtls(port)
	answers := x.answers(s, port, w.Rewrites, modes)
	for _, m := range modes {
		far := ""
		if m.Far {
			far = m.At
		}
		for i := range answers {
			add(world.Case{MTLS: m, Answer: &answers[i], Elsewhere: cmp.Or(far, answers[i].Elsewhere)})
		}
		if mayBeEarly {
			add(world.Case{MTLS: m, Early: true, Elsewhere: far})
		}
	}
	if x.mayComeAround(port) {
		add(world.Case{Uncaptured: true})
		if mayBeEarly {
			add(world.Case{Uncaptured: true, Early: true})
		}
	}
	return all
}

// mayComeAround reports whether a call of a port may come through an excluded interface, past Envoy.
func (x *istioCases) mayComeAround(port int) bool {
	return x.redirects(port) && x.inbound(port).Binds != certain.Always && x.annotations().Get(istioExcludeInterfaces) != ""
}

// notInjectedElsewhere names a Namespace in another branch of the folders that would switch injection
// off, although the pod's own label is presumed to have switched it on; "" if there is none.
func (v *view) notInjectedElsewhere(injected world.Fact) string {
	if injected.Presumed {
		if n := v.in.Around.NamespaceElsewhere(func(labels field.KeyValues) bool {
			value, set := labels.Lookup(istioInjection)
			return set && value != "enabled"
		}); n != nil {
			return n.Words()
		}
	}
	return ""
}

// fate returns what becomes of a probe, as it was read, in one world; without a mode of mutual
// TLS the mesh does not capture the port.
func (d istio) fate(v *view, s *site, c *world.Case) world.Fate {
	h := s.holder
	switch {
	case h != nil && h.proxy && !c.Injected:
		return world.Failing("istio-proxy, which must answer, is not in the pod")
	case !c.Injected:
		return world.Spared
	}
	running := v.runsBefore(c.World, s, answerer{who: AnsweredByIstioProxy})
	switch _, host := s.current.Endpoint(); {
	case h != nil:
		if f := istioAnsweredFate(v, s, c.World); f != world.Spared {
			return f
		}
	case c.Rewrites:
		return istioInjectorsFate(v, s, c, running)
	case host != "":
		return world.Spared
	}
	f := world.Spared
	if c.MTLS.Mode != "" {
		f = istioCapturedFate(v, s, c, running)
	}
	if f == world.Spared && h == nil && s.dialed() == istioListens(v) {
		return agentsFate(s)
	}
	return f
}

// istioCapturedFate returns what becomes of a probe that the mesh captures.
func istioCapturedFate(v *view, s *site, c *world.Case, running bool) world.Fate {
	kind := s.current.Kind()
	port := s.dialed()
	switch {
	case s.gates() &&
		!running &&
		v.inbound(port).Binds != certain.Never &&
		!c.Unbound:
		return world.Failing("istio-proxy listens there instead of the app, and does not run yet")
	case s.at.Init &&
		s.gates() &&
		!c.Native &&
		!c.Early:
		return world.Spared // istio-init, the last init container, has not run yet
	case s.gates() && !running:
		return world.Failing("the mesh captures it, and istio-proxy does not run yet")
	case kind == pod.KindTCPSocket:
		return world.FalselyPassing(whyAccepted)
	case c.MTLS.Mode == surroundings.MTLSStrict:
		return world.Failing(s.whyStrict(c.MTLS.At))
	}
	if why := c.Refusal(); why != "" {
		return world.Failing(why)
	}
	return world.Spared
}

// answers returns the answers of the inbound listener to a probe that comes to a port in plain text: as it was
// read or, with rewritten, as Istio's injector rewrites it. A connection is always accepted, and one in plain
// text comes no further under strict mTLS.
func (v *view) answers(s *site, port int, rewritten bool, modes []surroundings.MTLSMode) []inbound.Reply {
	isStrict := func(m surroundings.MTLSMode) bool { return m.Mode == surroundings.MTLSStrict }
	l := inbound.Listener{Around: &v.in.Around, RootNamespace: v.opts.Istio.RootNamespace, Pods: v.pods()}
	switch {
	case len(modes) == 1 && isStrict(modes[0]):
	case rewritten:
		return l.Answers(inbound.Rewritten(s.key, port))
	case s.current.Kind() != pod.KindTCPSocket:
		return l.Answers(inbound.Of(s.current, s.name.IsHook(), port))
	}
	return inbound.Passes
}

// istioInjectorsFate returns what becomes of a probe that Istio's injector rewrites, in a world with
// the mode of istio-proxy's own port.
func istioInjectorsFate(v *view, s *site, c *world.Case, running bool) world.Fate {
	status := v.sendsTo(v.annotations())
	listens := istioListens(v)
	_, host := s.current.Endpoint()
	why := unrecordedReason(s, v.sendsTo(field.Noted{}))
	switch {
	case host != "" && s.current.HTTPGet != nil: // of a tcpSocket it drops the host
		return world.Failing("Istio's injector sends it to its own port of that host")
	case why != "":
		return world.Failing("Istio's injector sends it to istio-proxy without its original, since " + why + ", and istio-proxy answers 400")
	case s.current.Newer(s.name.IsHook()) != "":
		return world.Failing("Istio's injector sends it to istio-proxy, which does not support `" + s.current.Newer(s.name.IsHook()) + "`")
	case badIstioStatus(v.annotations()):
		return world.Failing("Istio's injector sends it to no port of istio-proxy's status server (annotation `" + istioStatusPort + "`)")
	case listens != status:
		return world.Failing(fmt.Sprintf("Istio's injector sends it to port %d, and istio-proxy listens on port %d", status, listens))
	case !running:
		return world.Failing("Istio's injector rewrites it, and istio-proxy starts later")
	case c.MTLS.Mode == surroundings.MTLSStrict:
		return world.Failing(fmt.Sprintf("the mesh captures port %d, where Istio's injector sends it", status))
	case c.Refusal() != "":
		return world.Failing(c.Refusal())
	case s.dialed() == listens: // by the port's name, and the agent asks itself
		return agentsFate(s)
	}
	return world.Spared
}

// unrecordedReason returns why Istio's injector does not record the original of a probe that it
// sends to istio-proxy; "" if it does. status is the port of the mesh's configuration, which alone
// counts here (DumpAppProbers in pkg/kube/inject/app_probe.go).
func unrecordedReason(s *site, status int) string {
	port, _ := s.current.Endpoint()
	switch {
	case port.IsString && s.dialed() == 0:
		return fmt.Sprintf("no port of the container has the name %q", port.Str)
	case !port.IsString && int(port.Int) == status:
		return fmt.Sprintf("it asks port %d already", status)
	}
	return ""
}

// istioAnsweredFate returns what becomes of a rewritten probe next to istio-proxy, as far as it
// does not matter whether the mesh captures it.
func istioAnsweredFate(v *view, s *site, w world.World) world.Fate {
	listens := istioListens(v)
	switch h := s.holder; {
	case h.proxy && endsAtHooks(v, h):
		why := "istio-proxy of Istio " + agentVersion(v) + " ends, since it knows no hooks"
		if v.opts.Istio.Version == "" { // rewriting knows it only if it is set
			why += ": set `istio.version`"
		}
		return world.Failing(why)
	case h.proxy && s.dialed() != listens:
		return world.Failing(fmt.Sprintf("istio-proxy answers on port %d", listens))
	case h.proxy && !v.runsBefore(w, s, h.answerer()):
		return world.Failing("istio-proxy, which must answer, starts later")
	case !h.proxy && slices.Contains(h.listens, listens):
		return world.Failing(fmt.Sprintf("probe-proxy and istio-proxy both listen on port %d", listens))
	}
	return world.Spared
}

// whyStrict returns why a captured probe fails under strict mTLS, which at says.
func (s *site) whyStrict(at string) string {
	switch {
	case s.holder != nil:
		return fmt.Sprintf("the mesh captures port %d, which answers it", s.dialed())
	case at != "":
		return whyNoCertificate + " (" + at + ")"
	}
	return whyNoCertificate
}
