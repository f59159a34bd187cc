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
func checkTaken(d *decision) (found []Finding) {
	for at, c := range d.containers() {
		if d.answeredByUs() && c.Name == d.opts.ProbeProxy.Name {
			found = append(found, containerFinding("name-taken", d.containerPath(at).Key("name"), c.Name, "%q is the name of the container to be added; one of the two must have another (`probeProxy.name`)", c.Name))
		}
		if !d.answeredByUs() && d.mesh.isProxy(c) {
			continue
		}
		for i, p := range c.Ports {
			if d.listensOn(d.inspection.answerer, int(p.ContainerPort)) && (p.Protocol == "" || p.Protocol == "TCP") {
				found = append(found, containerFinding("port-taken", d.containerPath(at).Key("ports").Index(i).Key("containerPort"), c.Name, "%d is the port where rewritten probes are answered; the app must have another%s", p.ContainerPort, d.portCure()))
			}
		}
	}
	return found
}

// checkPostStart warns of a postStart hook before which the answerer may not run.
func checkPostStart(d *decision) (found []Finding) {
	for _, s := range d.toRewrite {
		if unless := d.lateIn(&d.inspection.facts, s, d.inspection.answerer); unless != "" {
			found = append(found, containerFinding("post-start-order", s.path, s.container.Name,
				"a postStart hook runs before the next container starts, and istio-proxy must run by then; it may not, if %s; probe-proxy runs (`answeredBy: probe-proxy`)", unless))
		}
	}
	return found
}

// checkOwnPort refuses a probe-proxy on a port where the app listens, as one of its own
// probes shows: one of the two could not start.
func checkOwnPort(d *decision) (found []Finding) {
	if !d.answeredByUs() {
		return nil
	}
	for _, s := range d.rulings {
		if s.reason == "aims-at-probe-port" || s.byEnvoy {
			found = append(found, containerFinding("port-taken", s.path.Key(s.original.Kind(), "port"), s.container.Name, "%d is the port where rewritten probes are answered, and this probe says that the app listens there; the app must have another%s", s.port, d.portCure()))
		}
	}
	return found
}

// checkLeftAlone refuses to turn the mesh's own rewriter off while a probe stays as it
// is that the rewriter would have served.
func checkLeftAlone(d *decision) (found []Finding) {
	f := &d.inspection.facts
	off, user := d.mesh.off, d.userAnnotations
	if off.key == "" || off.isOff(user) || f.Rewrites.Is == certain.Never || f.Injected.Is == certain.Never {
		return nil
	}
	serves, cures := "may serve it now", fmt.Sprintf("rewrite this one too, opt the whole pod out (`%s: \"false\"`), or set `istio: {injectorRewrites: false}` in the functionConfig if Istio's injector rewrites no probes", ownRewrite)
	switch {
	case d.mesh.serves != nil:
		cures = fmt.Sprintf("rewrite this one too, or opt the whole pod out (`%s: \"false\"`); if that rewriter is off in the mesh, say so with the annotation `%s: %s`", ownRewrite, off.key, strconv.Quote(off.value))
	case f.Rewrites.Is != certain.Maybe:
		serves, cures = "serves it in an injected pod ("+f.Rewrites.At+")", fmt.Sprintf("rewrite this one too, or opt the whole pod out (`%s: \"false\"`)", ownRewrite)
	}
	for _, s := range d.rulings {
		if s.reason == "" || !d.servedByRewriter(s.site) || !off.isOff(d.mesh.annotate(user, nil, d.inspection.answerer)) {
			continue
		}
		found = append(found, containerFinding("rewriter-needed", s.path, s.container.Name,
			"is left alone (%s), and %s's injector, which %s, must rewrite nothing in this pod if other probes are rewritten here; %s", s.reason, d.mesh.title, serves, cures))
	}
	return found
}

// servedByRewriter reports whether the mesh captures a probe, and the mesh's own
// rewriter serves it in one of the worlds.
func (k *knowledge) servedByRewriter(s *site) bool {
	kind := s.original.Kind()
	port, host := s.original.Endpoint()
	if kind == "" || port == nil || k.mesh.isProxy(s.container) || s.isDangling() || s.neverWorks(kind) {
		return false
	}
	if host != "" || s.port == 0 && !pod.IsVariable(port.Str) || s.port > 0 && !k.inspection.captures(s.port) {
		return false
	}
	if k.mesh.serves != nil {
		return k.mesh.serves(s)
	}
	byProxy := answerer{who: AnsweredByIstioProxy}
	return slices.ContainsFunc(k.inspection.facts.Worlds(), func(w world.World) bool { return w.Rewrites && k.runsBefore(w, s, byProxy) })
}

// checkBareSpec refuses a rewriting that needs annotations if it is not known where
// the pods get theirs from.
func checkBareSpec(d *decision) []Finding {
	if d.metadata != nil || d.inspection.facts.Injected.Is == certain.Never {
		return nil
	}
	needed := d.mesh.annotate(nil, nil, d.inspection.answerer)
	if len(needed) == 0 {
		return nil
	}
	return []Finding{NewFinding("annotations-unknown", d.spec, "is a pod's spec without metadata, so that there is no known place for the annotation `%s: %s`, which the pods need in the mesh; the entry of `podTemplates` must have `metadata`, the path of the mapping with the pods' annotations, or the object must be excluded", needed[0].Key, needed[0].Value)}
}

// checkProxyUID refuses a probe-proxy that would inherit the uid or gid of the mesh's own proxy.
func checkProxyUID(d *decision) (found []Finding) {
	pod := d.in.Template.Spec.SecurityContext
	if !d.answeredByUs() || pod == nil {
		return nil
	}
	context := d.sidecarContext()
	for _, id := range []struct {
		key   string
		value *int64
	}{{"runAsUser", pod.RunAsUser}, {"runAsGroup", pod.RunAsGroup}} {
		if _, set := context.Get(id.key); !set && id.value != nil && *id.value == d.mesh.uid {
			found = append(found, NewFinding("proxy-uid", d.spec.Key("securityContext", id.key),
				"is %d, the mesh's own, and probe-proxy would inherit it; `probeProxy.securityContext.%s` must be another", *id.value, id.key))
		}
	}
	return found
}
