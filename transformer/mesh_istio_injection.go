package transformer

import (
	"path"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// An injection says whether Istio's injector puts its sidecar into a pod.
type injection int

const (
	injectionUnknown injection = iota // neither the manifests nor the options say so
	injected
	notInjected
)

// The marks of meshes that let the kubelet's probes through.
const (
	istioDataplaneMode = "istio.io/dataplane-mode"
	linkerdInject      = "linkerd.io/inject"
)

// injection reads the template first, then its Namespace, then what the
// options declare about namespaces.
func (d istio) injection(b *planBuilder) injection {
	declared := false
	eachContainer(&b.in.Template.Spec, func(at containerRef, c *Container) {
		declared = declared || d.isProxy(c) && !b.isOurs(at)
	})
	_, value := istioInjectSwitch(b)
	switch {
	case declared, value == "true":
		return injected
	case value == "false":
		return notInjected
	case b.in.Template.Metadata.Labels.Get(istioRevision) != "":
		return injected
	}
	ns := b.in.Namespace
	if ns != nil {
		switch ns.Labels.Get(istioInjection) {
		case "enabled":
			return injected
		case "disabled":
			return notInjected
		}
		if ns.Labels.Get(istioRevision) != "" {
			return injected
		}
	}
	if known := b.p.opts.Istio.injects(b.in.NamespaceName); known != injectionUnknown {
		return known
	}
	if ns != nil {
		return notInjected
	}
	return injectionUnknown
}

// injects returns what the options declare about a namespace; "" is a namespace
// that is not known yet.
func (i Istio) injects(namespace string) injection {
	matches := func(pattern string) bool {
		ok, _ := path.Match(pattern, namespace)
		return ok
	}
	switch {
	case i.InjectedNamespaces == nil:
		return injectionUnknown
	case slices.ContainsFunc(i.InjectedNamespaces, matches):
		return injected
	case namespace == "" && len(i.InjectedNamespaces) > 0:
		return injectionUnknown
	}
	return notInjected
}

// passesProbes returns a finding if the pod has no sidecar of Istio's and is
// in a mesh that lets the kubelet's probes through: Istio's ambient mode, or
// Linkerd.
func (d istio) passesProbes(b *planBuilder) *Finding {
	if d.injection(b) == injected {
		return nil
	}
	ns := b.in.Namespace
	const what = "which lets the kubelet's probes through"
	if v, set := b.in.Template.Metadata.Labels.Lookup(istioDataplaneMode); set {
		if v != "ambient" && (ns == nil || ns.Labels.Get(istioDataplaneMode) != "ambient") {
			return nil
		}
		text := "puts the pod into ambient mode, " + what
		if v != "ambient" {
			text = "takes the pod out of ambient mode, and no sidecar captures it"
		}
		f := b.metadataFinding("ambient", b.metadata.Key("labels", istioDataplaneMode), v, text)
		return &f
	}
	if ns != nil && ns.Labels.Get(istioDataplaneMode) == "ambient" {
		f := b.finding("ambient", nil, "", "Namespace %q has the label `%s: ambient`, %s", ns.Name, istioDataplaneMode, what)
		return &f
	}
	inLinkerd := func(v string) bool { return v == "enabled" || v == "ingress" }
	if v, set := b.annotations().Lookup(linkerdInject); set {
		if !inLinkerd(v) {
			return nil
		}
		f := b.annotationFinding("linkerd", linkerdInject, "puts the pod into Linkerd, "+what)
		return &f
	}
	if ns != nil && inLinkerd(ns.Annotations.Get(linkerdInject)) {
		f := b.finding("linkerd", nil, "", "Namespace %q has the annotation `%s: %s`: Linkerd %s", ns.Name, linkerdInject, ns.Annotations.Get(linkerdInject), strings.TrimPrefix(what, "which "))
		return &f
	}
	return nil
}

// answerer decides who answers. Istio's agent answers on its status port
// alone: on another port, auto takes probe-proxy, which runs next to it. If it
// is not known whether Istio's sidecar is there, the one that answers now
// stays, and else probe-proxy answers: assumed is set.
func (d istio) answerer(b *planBuilder, in injection, status int, badStatus bool) (a answerer, assumed bool) {
	o := b.p.opts
	who := o.AnsweredBy
	if who == AnsweredByAuto {
		who = AnsweredByProbeProxy
		if o.Port == prober.DefaultPort || o.Port == status {
			assumed = in == injectionUnknown
			answersNow := slices.ContainsFunc(b.holders, func(k *originalsHolder) bool { return k.dialect == b.p.dialect && k.proxy && k.used() })
			if in == injected || assumed && answersNow {
				who = AnsweredByIstioProxy
			}
		}
	}
	if who == AnsweredByIstioProxy && status != 0 && !badStatus {
		return answerer{who, status}, assumed
	}
	return answerer{who, o.Port}, assumed
}

// collisions returns a finding for each probe-proxy of the template, as it was
// read, that listens on the port of Istio's agent.
func (d istio) collisions(b *planBuilder) []Finding {
	var found []Finding
	if d.injection(b) != injected {
		return nil
	}
	status := istioStatusOr(b.annotations())
	for _, k := range b.holders {
		if !k.proxy && k.dialect == b.p.dialect && slices.Contains(k.listens, status) {
			found = append(found, b.finding("port-collision", k.path, k.container.Name,
				"listens on port %d, where istio-proxy answers in this pod: one of the two cannot start", status))
		}
	}
	return found
}
