package transformer

import (
	"fmt"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// checkTaken refuses a rewriting if a container has the name or the port of the answerer.
func checkTaken(d *decision) (found []Finding) {
	for at, c := range d.containers() {
		if d.answeredByUs() && c.Name == d.opts.ProbeProxy.Name {
			found = append(found, containerFinding(reason.NameTaken, d.containerPath(at).Key("name"), c.Name,
				"%q is also the name of the container that rewrite-probes adds", c.Name))
		}
		if !d.answeredByUs() && d.mesh.isProxy(c) {
			continue
		}
		for i, p := range c.Ports {
			isTCP := p.Protocol == "" || p.Protocol == "TCP"
			if isTCP && d.listensOn(d.answerer, int(p.ContainerPort)) {
				path := d.containerPath(at).Key("ports").Index(i).Key("containerPort")
				found = append(found, containerFinding(reason.PortTaken, path, c.Name,
					"it declares port %d, where %s answers rewritten probes", p.ContainerPort, d.who).
					Fix("%s", d.portFix()))
			}
		}
	}
	return found
}

// checkPostStart warns of a postStart hook before which the answerer may not run.
func checkPostStart(d *decision) (found []Finding) {
	for _, s := range d.toRewrite {
		if unless := d.lateIn(&d.inspection.facts, s, d.answerer); unless != "" {
			found = append(found, containerFinding(reason.PostStartOrder, s.path, s.container.Name,
				"this postStart hook needs istio-proxy, which may start after it").
				Why("That is so if %s", unless).
				Fix("Set `answeredBy: probe-proxy`"))
		}
	}
	return found
}

// checkOwnPort refuses a probe-proxy on a port where the app listens, as one of its own
// probes shows: one of the two could not start. Nor may the user's Envoy have a listener there
// already, of which nothing is known.
func checkOwnPort(d *decision) (found []Finding) {
	if d.isAnsweredBy(AnsweredByEnvoy) {
		return checkListeners(d)
	}
	if !d.answeredByUs() {
		return nil
	}
	for _, s := range d.rulings {
		if d.isAimed(s) && !d.declares(s.port) || s.byEnvoy { // checkTaken names who declares it
			path := s.path.Key(s.original.Kind(), "port")
			found = append(found, containerFinding(reason.PortTaken, path, s.container.Name,
				"it asks the app on port %d, where %s answers rewritten probes", s.port, d.who).
				Fix("%s", d.portFix()))
		}
	}
	return found
}

// isAimed reports whether a probe was left alone since it asks the answerer's port.
func (d *decision) isAimed(r ruling) bool {
	return r.reason == reason.AimsAtProbePort && d.listensOn(d.answerer, r.port)
}

// refuseOwnPort refuses a template if probe-proxy's port is the app's, also if only probes of that
// port are left: a container declares it, or it is one that the functionConfig chose. A probe of the
// default port that nobody declares is rather what an earlier rewriting left. One message is enough.
func (d *decision) refuseOwnPort() {
	isAimed := func(r ruling) bool {
		return d.isAimed(r) && !r.byEnvoy && r.container.Name != d.opts.ProbeProxy.Name
	}
	if !d.answeredByUs() || !slices.ContainsFunc(d.rulings, isAimed) {
		return
	}
	if len(d.toRewrite) == 0 && !d.failed() {
		d.ask(checkTaken)
		if d.opts.Port != prober.DefaultPort {
			d.ask(checkOwnPort)
		}
	}
	if slices.ContainsFunc(d.findings, func(f Finding) bool { return f.Reason == reason.PortTaken }) {
		d.findings = slices.DeleteFunc(d.findings, func(f Finding) bool { return f.Reason == reason.AimsAtProbePort })
	}
}

// checkListeners refuses probes for a listener of the user's Envoy to which another probe goes
// that was written by hand: whether Envoy or the app answers there, and what, is not known.
func checkListeners(d *decision) (found []Finding) {
	for _, other := range d.rulings {
		if !other.byEnvoy && !d.isAimed(other) {
			continue
		}
		for _, r := range d.rulings {
			if r.target == nil || int(r.target.HTTPGet.Port.Int) != other.port {
				continue
			}
			f := containerFinding(reason.PortTaken, r.path, r.container.Name,
				"it would share port %d with the %s of container %q, which is not rewritten", other.port, other.name.Field(), other.container.Name)
			found = append(found, f.Fix("Write the other probe as the app itself answers it, or move the app to another port"))
		}
	}
	return found
}

// turnsRewriterOff reports whether the rewriting turns off the mesh's own rewriter, which may
// serve probes of the pod.
func (a *answering) turnsRewriterOff() bool {
	f := &a.inspection.facts
	off := a.mesh.off
	if off.key == "" || off.isOff(a.userAnnotations) {
		return false
	}
	return f.Rewrites.Is != certain.Never && f.Injected.Is != certain.Never && a.demand().off
}

// rewriterWords say what the mesh's own rewriter does with a probe that is left alone, and what
// to do about that.
func (k *knowledge) rewriterWords(s *ruling) (serves, fix string) {
	rewrites, off := k.inspection.facts.Rewrites, k.mesh.off
	fix = "Rewrite this " + s.noun() + " too, or " + optOutFix
	if s.reason.Doc().Severity == reason.Warning { // which says what is wrong with the probe
		fix = "Correct this " + s.noun() + ", or " + optOutFix
	}
	if _, host := s.original.Endpoint(); host != "" {
		fix = "Remove its `host`, or " + optOutFix
	}
	if port, _ := s.original.Endpoint(); port != nil && pod.IsPortPlaceholder(port.Str) {
		fix = "Run rewrite-probes after the substitution, or " + optOutFix
	}
	if s.isTCPHook() {
		fix = "Make it httpGet or exec, or " + optOutFix
	}
	if s.reason == reason.ProxyCannotAnswer {
		fix = "Set `answeredBy: " + AnsweredByProbeProxy + "`, or " + optOutFix
	}
	mayServe := "may serve this " + s.noun()
	switch {
	case k.mesh.serves != nil:
		return mayServe, fmt.Sprintf("%s. If that rewriter is off, set the annotation `%s: %q`", fix, off.key, off.value)
	case rewrites.Is != certain.Maybe:
		return "serves this " + s.noun() + " in an injected pod (" + rewrites.At + ")", fix
	}
	return mayServe, fix + ". " + rewriterOffFix
}

const (
	optOutFix      = "opt out the pod (`" + ownRewrite + ": \"false\"`)"
	rewriterOffFix = "If that rewriter is off, set `istio: {injectorRewrites: false}`"
)

// checkLeftAlone refuses to turn the mesh's own rewriter off while a probe stays as it
// is that the rewriter would have served.
func checkLeftAlone(d *decision) (found []Finding) {
	if !d.turnsRewriterOff() {
		return nil
	}
	for _, s := range d.rulings {
		isOwnPort := d.isAimed(s) && d.answeredByUs() // see checkOwnPort
		if s.reason == reason.None || isOwnPort || !d.servedByRewriter(s.site) {
			continue
		}
		serves, fix := d.rewriterWords(&s)
		found = append(found, containerFinding(reason.RewriterNeeded, s.path, s.container.Name,
			"the pod is not rewritten: this %s stays as it is (`%s`)", s.noun(), s.reason).
			Why("Rewriting turns off %s's rewriter, which %s", d.mesh.title, serves).
			Fix("%s", fix))
	}
	return found
}

// servedByRewriter reports whether a probe needs the mesh's own rewriter, and that serves it in
// one of the worlds.
func (k *knowledge) servedByRewriter(s *site) bool {
	if s.original.Kind() == "" ||
		k.mesh.isProxy(s.container) ||
		s.isDangling() {
		return false
	}
	if k.mesh.serves != nil {
		return !s.neverWorks(s.original.Kind()) &&
			k.isCaptured(s) &&
			k.mesh.serves(s)
	}
	if !k.needsIstiosRewriter(s) {
		return false
	}
	byProxy := answerer{who: AnsweredByIstioProxy}
	serves := func(w world.World) bool {
		// A liveness probe may come too early, and its container is then restarted; istio-proxy runs some seconds later.
		return w.Rewrites && (s.name == prober.Liveness || k.runsBefore(w, s, byProxy))
	}
	return slices.ContainsFunc(k.inspection.facts.Worlds(), serves)
}

// needsIstiosRewriter reports whether a probe or hook does not do what its author wants as it is,
// and does if Istio's injector rewrites it.
func (k *knowledge) needsIstiosRewriter(s *site) bool {
	switch port, _ := s.original.Endpoint(); {
	case port == nil || s.port == 0 && !pod.IsPortPlaceholder(port.Str): // Istio records no original
		return false
	case s.name.IsHook() && HasNoHooks(k.opts.Istio.Version):
		return false
	case s.isTCPHook():
		return true
	case s.neverWorks(s.original.Kind()):
		return false
	}
	return s.dropsHost() || k.isCaptured(s)
}

// isCaptured reports whether a probe goes to a port of the pod that the mesh captures, or may.
func (k *knowledge) isCaptured(s *site) bool {
	port, host := s.original.Endpoint()
	if port == nil || host != "" {
		return false
	}
	if s.port == 0 {
		return pod.IsPortPlaceholder(port.Str)
	}
	return k.inspection.captures(s.port)
}

// dropsHost reports whether a probe goes to another host, and Istio's injector makes one of it
// that goes to the pod. It keeps the host of an httpGet.
func (s *site) dropsHost() bool {
	t := s.original.TCPSocket
	return t != nil && t.Host != ""
}

// checkBareSpec refuses a rewriting that needs annotations if it is not known where
// the pods get theirs from.
func checkBareSpec(d *decision) []Finding {
	if d.metadata != nil || d.inspection.facts.Injected.Is == certain.Never {
		return nil
	}
	needed := d.mesh.annotate(field.Noted{}, field.Noted{}, d.demand()).Unnoted()
	if d.isAnsweredBy(AnsweredByEnvoy) {
		needed = needed.With(OriginalsAnnotation, "{...}")
	}
	if len(needed) == 0 {
		return nil
	}
	return []Finding{NewFinding(
		reason.AnnotationsUnknown,
		d.spec,
		"this pod spec has no metadata, so the annotation `%s: %s` has no place",
		needed[0].Key,
		needed[0].Value,
	)}
}

// checkProxyUID refuses a probe-proxy that would inherit the uid or gid of the mesh's own proxy.
func checkProxyUID(d *decision) (found []Finding) {
	if !d.answeredByUs() {
		return nil
	}
	_, hasUser := d.context.Get("runAsUser")
	_, hasGroup := d.context.Get("runAsGroup")
	if hasUser && hasGroup {
		return nil
	}
	pod := inherited(d.view)
	if pod == nil {
		return nil
	}
	for _, id := range []struct {
		key   string
		value *int64
	}{{"runAsUser", pod.RunAsUser}, {"runAsGroup", pod.RunAsGroup}} {
		_, set := d.context.Get(id.key)
		if !set && id.value != nil && *id.value == d.mesh.uid {
			found = append(found, NewFinding(reason.ProxyUID, d.spec.Key("securityContext", id.key),
				"probe-proxy would inherit %d, the id of the mesh proxy", *id.value).
				Fix("Set another `probeProxy.securityContext.%s`", id.key))
		}
	}
	return found
}

// portFix returns what to do about a port that is taken. The port
// on which istio-proxy answers is a fact of the mesh, which another `port` would only deny.
func (v *view) portFix() string {
	const move = "Move the app to another port"
	switch {
	case v.opts.AnsweredBy == AnsweredByEnvoy:
		return move + ". If this is the Envoy that answers, name it `" + envoyName + "`"
	case v.mesh.port != 0:
		return move
	case v.opts.AnsweredBy == AnsweredByIstioProxy:
		return move + ", or set `answeredBy: probe-proxy`"
	}
	return move + ", or set another `port` in the functionConfig"
}
