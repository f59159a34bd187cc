package transformer

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// checkTaken refuses a rewriting if a container has the name or the port of the answerer.
func checkTaken(b *decision, report func(Finding)) {
	for at, c := range b.containers() {
		if b.answeredByUs() && c.Name == b.opts.ProbeProxy.Name {
			report(containerFinding("name-taken", b.containerPath(at).Key("name"), c.Name, "%q is the name of the container to be added; one of the two must have another (`probeProxy.name`)", c.Name))
		}
		if !b.answeredByUs() && b.mesh.isProxy(c) {
			continue
		}
		for i, p := range c.Ports {
			if int(p.ContainerPort) == b.inspection.answerer.port && (p.Protocol == "" || p.Protocol == "TCP") {
				report(containerFinding("port-taken", b.containerPath(at).Key("ports").Index(i).Key("containerPort"), c.Name, "%d is the port where rewritten probes are answered; the app must have another%s", p.ContainerPort, b.portCure()))
			}
		}
	}
}

// checkPostStart warns of a postStart hook before which the answerer may not run.
func checkPostStart(b *decision, report func(Finding)) {
	for _, s := range b.toRewrite {
		if unless := b.lateIn(&b.inspection.facts, s, b.inspection.answerer); unless != "" {
			report(containerFinding("post-start-order", s.path, s.container.Name,
				"a postStart hook runs before the next container starts, and istio-proxy must run by then; it may not, if %s; probe-proxy runs (`answeredBy: probe-proxy`)", unless))
		}
	}
}

// checkOwnPort refuses a probe-proxy on a port where the app listens, as one of its own
// probes shows: one of the two could not start.
func checkOwnPort(b *decision, report func(Finding)) {
	if !b.answeredByUs() {
		return
	}
	for _, s := range b.rulings {
		if s.reason == "aims-at-probe-port" {
			report(containerFinding("port-taken", s.path.Key(s.original.Kind(), "port"), s.container.Name, "%d is the port where rewritten probes are answered, and this probe says that the app listens there; the app must have another%s", s.port, b.portCure()))
		}
	}
}

// checkLeftAlone refuses to turn the mesh's own rewriter off while a probe stays as it
// is that the rewriter would have served.
func checkLeftAlone(b *decision, report func(Finding)) {
	f := &b.inspection.facts
	off, user := b.mesh.off, b.userAnnotations
	if off.key == "" || off.isOff(user) || f.Rewrites.Is == certain.Never || f.Injected.Is == certain.Never {
		return
	}
	serves, cures := "may serve it now", fmt.Sprintf("rewrite this one too, opt the whole pod out (`%s: \"false\"`), or set `istio: {injectorRewrites: false}` in the functionConfig if Istio's injector rewrites no probes", ownRewrite)
	switch {
	case b.mesh.serves != nil:
		cures = fmt.Sprintf("rewrite this one too, or opt the whole pod out (`%s: \"false\"`); if that rewriter is off in the mesh, say so with the annotation `%s: %s`", ownRewrite, off.key, strconv.Quote(off.value))
	case f.Rewrites.Is != certain.Maybe:
		serves, cures = "serves it in an injected pod ("+f.Rewrites.At+")", fmt.Sprintf("rewrite this one too, or opt the whole pod out (`%s: \"false\"`)", ownRewrite)
	}
	for _, s := range b.rulings {
		if s.reason == "" || !b.servedByRewriter(s.handlerSite) || !off.isOff(b.mesh.annotate(user, nil, b.inspection.answerer)) {
			continue
		}
		report(containerFinding("rewriter-needed", s.path, s.container.Name,
			"is left alone (%s), and %s's injector, which %s, must rewrite nothing in this pod if other probes are rewritten here; %s", s.reason, b.mesh.title, serves, cures))
	}
}

// servedByRewriter reports whether the mesh captures a probe, and the mesh's own
// rewriter serves it in one of the worlds.
func (b *knowledge) servedByRewriter(s *handlerSite) bool {
	kind := s.original.Kind()
	port, host := s.original.Endpoint()
	if kind == "" || port == nil || b.mesh.isProxy(s.container) || s.isDangling() || s.neverWorks(kind) {
		return false
	}
	if host != "" || s.port == 0 && !pod.IsVariable(port.Str) || s.port > 0 && !b.inspection.captures(s.port) {
		return false
	}
	if b.mesh.serves != nil {
		return b.mesh.serves(s)
	}
	byProxy := answerer{who: AnsweredByIstioProxy}
	return slices.ContainsFunc(b.inspection.facts.Worlds(), func(w world.World) bool { return w.Rewrites && b.runsBefore(w, s, byProxy) })
}

// checkBareSpec refuses a rewriting that needs annotations if it is not known where
// the pods get theirs from.
func checkBareSpec(b *decision, report func(Finding)) {
	if !b.in.Shape.BareSpec || b.inspection.facts.Injected.Is == certain.Never {
		return
	}
	needed := b.mesh.annotate(nil, nil, b.inspection.answerer)
	if len(needed) == 0 {
		return
	}
	report(NewFinding("annotations-unknown", b.spec, "is a pod's spec without metadata, so that there is no known place for the annotation `%s: %s`, which the pods need in the mesh; the object must be excluded, or not be in the mesh, such as in a namespace that `istio.injectedNamespaces` does not name", needed[0].Key, needed[0].Value))
}

// checkProxyUID refuses a probe-proxy that would inherit the uid or gid of the mesh's own proxy.
func checkProxyUID(b *decision, report func(Finding)) {
	pod := b.in.Template.Spec.SecurityContext
	if !b.answeredByUs() || pod == nil {
		return
	}
	context := b.sidecarContext()
	for _, id := range []struct {
		key   string
		value *int64
	}{{"runAsUser", pod.RunAsUser}, {"runAsGroup", pod.RunAsGroup}} {
		if _, set := context.Get(id.key); !set && id.value != nil && *id.value == b.mesh.uid {
			report(NewFinding("proxy-uid", b.spec.Key("securityContext", id.key),
				"is %d, the mesh's own, and probe-proxy would inherit it; `probeProxy.securityContext.%s` must be another", *id.value, id.key))
		}
	}
}
