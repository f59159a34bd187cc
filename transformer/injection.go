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
func (d istio) injection(w *work) injection {
	declared := false
	containers(&w.in.Template.Spec, func(at place, c *Container) {
		declared = declared || d.isProxy(c) && !w.isOurs(at)
	})
	_, value := istioInjectSwitch(w)
	switch {
	case declared, value == "true":
		return injected
	case value == "false":
		return notInjected
	case w.in.Template.Metadata.Labels.Get(istioRevision) != "":
		return injected
	}
	ns := w.in.Namespace
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
	if known := w.p.opts.Istio.injects(w.in.NamespaceName); known != injectionUnknown {
		return known
	}
	if ns != nil {
		return notInjected
	}
	return injectionUnknown
}

// injects reports what is declared about a namespace; "" stands for one that
// is not known yet.
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
func (d istio) passesProbes(w *work) *Finding {
	if d.injection(w) == injected {
		return nil
	}
	ns := w.in.Namespace
	const what = "which lets the kubelet's probes through"
	if v, set := w.in.Template.Metadata.Labels.Lookup(istioDataplaneMode); set {
		if v != "ambient" && (ns == nil || ns.Labels.Get(istioDataplaneMode) != "ambient") {
			return nil
		}
		text := "puts the pod into ambient mode, " + what
		if v != "ambient" {
			text = "takes the pod out of ambient mode, and no sidecar captures it"
		}
		f := w.metadataFinding("ambient", w.metadata.Key("labels", istioDataplaneMode), v, text)
		return &f
	}
	if ns != nil && ns.Labels.Get(istioDataplaneMode) == "ambient" {
		f := w.finding("ambient", nil, "", "Namespace %q has the label `%s: ambient`, %s", ns.Name, istioDataplaneMode, what)
		return &f
	}
	inLinkerd := func(v string) bool { return v == "enabled" || v == "ingress" }
	if v, set := w.annotations().Lookup(linkerdInject); set {
		if !inLinkerd(v) {
			return nil
		}
		f := w.annotationFinding("linkerd", linkerdInject, "puts the pod into Linkerd, "+what)
		return &f
	}
	if ns != nil && inLinkerd(ns.Annotations.Get(linkerdInject)) {
		f := w.finding("linkerd", nil, "", "Namespace %q has the annotation `%s: %s`: Linkerd %s", ns.Name, linkerdInject, ns.Annotations.Get(linkerdInject), strings.TrimPrefix(what, "which "))
		return &f
	}
	return nil
}

// answerer decides who answers. Istio's agent answers on its status port
// alone: on another port, auto takes probe-proxy, which runs beside it. If it
// is not known whether Istio's sidecar is there, the one that answers now
// stays, and probe-proxy answers where nobody does: assumed is set.
func (d istio) answerer(w *work, in injection, status int, badStatus bool) (a answerer, assumed bool) {
	o := w.p.opts
	who := o.AnsweredBy
	if who == AnsweredByAuto {
		who = AnsweredByProbeProxy
		if o.Port == prober.DefaultPort || o.Port == status {
			assumed = in == injectionUnknown
			answersNow := slices.ContainsFunc(w.holders, func(k *originalsHolder) bool { return k.dialect == d && k.proxy && k.used() })
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
func (d istio) collisions(w *work) []Finding {
	var found []Finding
	if d.injection(w) != injected {
		return nil
	}
	status := istioStatusOr(w.annotations())
	for _, k := range w.holders {
		if !k.proxy && k.dialect == dialect(d) && slices.Contains(k.listens, status) {
			found = append(found, w.finding("port-collision", k.path, k.container.Name,
				"listens on port %d, where istio-proxy answers in this pod: one of the two cannot start", status))
		}
	}
	return found
}
