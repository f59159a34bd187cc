package transformer

import (
	"fmt"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/pod"
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
			"\"%v\" is not a quantity such as 500m or 1Gi, so the pod's QoS class is unknown", v).
			Why("probe-proxy gets a request of 10m CPU and 16Mi memory, or `probeProxy.resources`")
		f.Current = v
		return []Finding{f}
	}
	limits := d.in.Around.Limits()
	ruled := len(limits.Ranges)+len(limits.Quotas) > 0
	if !ruled &&
		!pod.HasOwn &&
		len(d.opts.ProbeProxy.Resources) == 0 {
		return nil // the defaults keep the class
	}
	ours := resources.Filled(d.probeProxyResources(pod, d.toRewrite), limits.Ranges)
	found = append(found, checkLimits(d, pod, ours)...)
	with := pod.With(ours, d.native())
	before := pod.Class()
	after := with.Class()
	if key, how := pod.Changed(with); key != "" {
		why := "Kubernetes 1.37 computes it from the containers"
		if before != after {
			why += fmt.Sprintf(". The pod is %s, and %s with it", before, after)
		}
		f := NewFinding(reason.PodLevelResources, d.spec.Key("resources"), "with probe-proxy, the pod's own `%s` %s", key, how)
		found = append(found, f.Why("%s", why).Fix("Write it here"))
	} else if before != after {
		found = append(found, NewFinding(reason.QoSClass, d.spec, "`probeProxy.resources` changes the pod's QoS class from %s to %s", before, after))
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
	fix := "Make room in that limit, or in the pod's resources"
	if lines := pod.Fitting(d.in.Around.Limits(), d.native()); lines != "" {
		fix = "Set `" + lines + "`"
	}
	f := NewFinding(reason.NamespaceLimits, d.spec, "the namespace refuses the pod with probe-proxy")
	return []Finding{f.Why("%s", reason.Capital(why)).Fix("%s", fix)}
}

// checkProxyLimits warns if a LimitRange fills in the resources of a mesh's proxy that is
// declared without any: they then replace those of the mesh's injector.
func checkProxyLimits(d *decision) []Finding {
	if !d.isAnsweredBy(AnsweredByIstioProxy) {
		return nil
	}
	ranges := d.in.Around.Ranges()
	i := slices.IndexFunc(ranges, resources.LimitRange.HasDefaults)
	if i < 0 ||
		d.proxy != nil ||
		len(d.opts.IstioProxy.Resources) > 0 {
		return nil
	}
	f := NewFinding(reason.ProxyLimits, d.spec, "LimitRange %q gives its defaults to the declared istio-proxy", ranges[i].Name).
		Why("They replace the values of Istio's injector").
		Fix("Set your mesh's values, by default `istioProxy: {resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {cpu: 2, memory: 1Gi}}}`")
	return []Finding{f}
}

// readResources returns the requirements of the template's own containers. A proxy whose
// resources the mesh's injector fills in is not counted.
func (v *view) readResources() *resources.Pod {
	filledLater := func(c *pod.Container) bool {
		return c.Image == autoImage && v.mesh.isProxy(c)
	}
	return resources.Read(v.spec, v.containers(), v.in.Around.Ranges(), filledLater, v.sourceMap)
}
