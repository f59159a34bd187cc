package transformer

import (
	"path"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// istioDataplaneMode is the label that puts a pod into ambient mode, or takes it
// out.
const istioDataplaneMode = "istio.io/dataplane-mode"

// injection returns what the template, or else its Namespace, or else the options say
// of the sidecar's injection.
func (d istio) injection(b *planBuilder) injection { return d.sidecarMark(b).injection }

// mark: a pod in ambient mode is in the mesh too.
func (d istio) mark(b *planBuilder) mark {
	m := d.sidecarMark(b)
	if m.injection == injected {
		return m
	}
	if at, on := d.ambient(b); on {
		return mark{injection: injected, at: at}
	}
	return m
}

// sidecarMark returns the mark of a pod that gets a sidecar.
func (d istio) sidecarMark(b *planBuilder) mark {
	if m, found := b.proxyIn(d); found {
		return m
	}
	kind, value := istioInjectSwitch(b)
	switch {
	case value == "true" || value == "false":
		return mark{injection: switched(value == "true"), at: entryWords(kind, istioInject, value, nil)}
	case b.in.Template.Metadata.Labels.Get(istioRevision) != "":
		return mark{injection: injected, at: entryWords("labels", istioRevision, b.in.Template.Metadata.Labels.Get(istioRevision), nil)}
	}
	ns := b.in.Namespace
	if ns != nil {
		if v := ns.Labels.Get(istioInjection); v == "enabled" || v == "disabled" {
			return mark{injection: switched(v == "enabled"), at: entryWords("labels", istioInjection, v, ns)}
		}
		if v := ns.Labels.Get(istioRevision); v != "" {
			return mark{injection: injected, at: entryWords("labels", istioRevision, v, ns)}
		}
	}
	if known := b.p.opts.Istio.injects(b.in.NamespaceName); known != injectionUnknown {
		return mark{injection: known, at: "`istio.injectedNamespaces` of the functionConfig"}
	}
	if ns != nil {
		return mark{injection: notInjected}
	}
	return mark{}
}

// ambient reports whether the pod is in ambient mode, and where that is said.
func (istio) ambient(b *planBuilder) (at string, on bool) {
	ns := b.in.Namespace
	switch v, set := b.in.Template.Metadata.Labels.Lookup(istioDataplaneMode); {
	case set:
		return entryWords("labels", istioDataplaneMode, v, nil), v == "ambient"
	case ns != nil && ns.Labels.Get(istioDataplaneMode) == "ambient":
		return entryWords("labels", istioDataplaneMode, "ambient", ns), true
	}
	return "", false
}

// injects returns what the options declare about a namespace; "" stands for one that
// is not known.
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
// in ambient mode, which lets the kubelet's probes through.
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
		f := metadataFinding("ambient", b.metadata.Key("labels", istioDataplaneMode), v, text)
		return &f
	}
	if ns != nil && ns.Labels.Get(istioDataplaneMode) == "ambient" {
		f := NewFinding("ambient", nil, "Namespace %q has the label `%s: ambient`, %s", ns.Name, istioDataplaneMode, what)
		return &f
	}
	return nil
}

// answerer decides who answers. Istio's agent answers only on its status port: for
// another port, auto takes probe-proxy, which runs next to it. If it is not known
// whether Istio's sidecar is there, the present answerer stays; without one,
// probe-proxy answers. Then assumed is set.
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
			found = append(found, containerFinding("port-collision", k.path, k.container.Name,
				"listens on port %d, where istio-proxy answers in this pod: one of the two cannot start", status))
		}
	}
	return found
}
