package transformer

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/resources"
)

// checkResources reports what probe-proxy changes about the pod's class.
func checkResources(d *decision) (found []Finding) {
	if !d.answeredByUs() {
		return nil
	}
	pod := d.resources
	if pod.Unreadable != nil {
		v, _ := d.in.Source(pod.Unreadable)
		f := NewFinding(reason.ResourcesUnreadable, pod.Unreadable,
			"\"%v\" must be a quantity that is not negative, such as 500m or 1Gi; the pod's QoS class is not known, and probe-proxy gets a request of 10m CPU and 16Mi memory unless `probeProxy.resources` says otherwise", v)
		f.Current = v
		return []Finding{f}
	}
	ruled := len(d.in.Around.LimitRanges)+len(d.in.Around.Quotas) > 0
	if !ruled && !pod.HasOwn && len(d.opts.ProbeProxy.Resources) == 0 {
		return nil // the defaults keep the class
	}
	ours := resources.Filled(d.probeProxyResources(pod, d.toRewrite), d.in.Around.LimitRanges)
	found = append(found, checkLimits(d, pod, ours)...)
	with := pod.With(ours, d.native())
	before, after := pod.Class(), with.Class()
	if key, how := pod.Changed(with); key != "" {
		found = append(found, NewFinding(reason.PodLevelResources, d.spec.Key("resources"), "the pod's own `%s`, which Kubernetes 1.37 fills in from its containers, %s: the pod is %s, and %s with it; it must be written here", key, how, before, after))
	} else if before != after {
		found = append(found, NewFinding(reason.QoSClass, d.spec, "the pod is %s, and %s with the resources that `probeProxy.resources` of the functionConfig gives to probe-proxy", before, after))
	}
	return found
}

// checkLimits warns if a LimitRange or ResourceQuota among the manifests does not accept
// the pod with probe-proxy.
func checkLimits(d *decision, pod *resources.Pod, ours resources.Requirements) []Finding {
	why := pod.Refusal(d.in.Around.Limits(), ours, d.native())
	if why == "" {
		return nil
	}
	cure := "the LimitRange or the pod has to leave room for it"
	if lines := pod.Cure(d.in.Around.Limits(), d.native()); lines != "" {
		cure = "the functionConfig can have `" + lines + "`"
	}
	return []Finding{NewFinding(reason.NamespaceLimits, d.spec, "the namespace would not accept the pod with probe-proxy: %s; %s", why, cure)}
}

// checkProxyLimits warns if a LimitRange fills in the resources of a mesh's proxy that is
// declared without any: they then replace those of the mesh's injector.
func checkProxyLimits(d *decision) []Finding {
	if !d.isAnsweredBy(AnsweredByIstioProxy) {
		return nil
	}
	ranges := d.in.Around.LimitRanges
	i := slices.IndexFunc(ranges, resources.LimitRange.HasDefaults)
	_, proxy := d.proxyOf(d.mesh.isProxy)
	if i < 0 || proxy != nil || len(d.opts.IstioProxy.Resources) > 0 {
		return nil
	}
	return []Finding{NewFinding(reason.ProxyLimits, d.spec,
		"LimitRange %q gives its defaults to the declared istio-proxy, and they replace what Istio's injector would give it; the functionConfig should have Istio's own, by default `istioProxy: {resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {cpu: 2, memory: 1Gi}}}`",
		ranges[i].Name)}
}
