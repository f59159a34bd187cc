package transformer

import (
	"fmt"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A LimitRange is what an object of that kind says about CPU and memory.
type LimitRange struct {
	Name     string
	min, max quantities   // of each container
	defaults requirements // of each container
	podMax   quantities   // of a pod as a whole
}

// A ResourceQuota has what an object of that kind limits.
type ResourceQuota struct {
	Name string
	Hard field.Map
}

// NewLimitRange reads the `spec` of a LimitRange. What is no quantity counts as absent.
func NewLimitRange(name string, spec field.Map) LimitRange {
	l := LimitRange{Name: name}
	for _, v := range field.As[field.List](spec, "limits") {
		m, _ := v.(field.Map)
		read := func(key string) quantities {
			q, _ := readQuantities(field.As[field.Map](m, key))
			return q
		}
		switch field.As[string](m, "type") {
		case "Container":
			l.min, l.max = read("min"), read("max")
			limits := read("default").each(l.max, quantity.or) // as the API server fills them in
			l.defaults = requirements{read("defaultRequest").each(limits, quantity.or).each(l.min, quantity.or), limits}
		case "Pod":
			l.podMax = read("max")
		}
	}
	return l
}

// filled returns the requirements of a container with requests that default to the limits,
// and with the defaults of LimitRanges, which the API server fills in after its own.
func (r requirements) filled(ranges []LimitRange) requirements {
	r.requests = r.requests.each(r.limits, quantity.or)
	for _, l := range ranges {
		r = r.combined(l.defaults, quantity.or)
	}
	return r
}

// refusal says why the API server refuses the pod with a container of these requirements, and
// what cures that; "" if it does not, or would refuse the pod without it too.
func (p podResources) refusal(s *Surroundings, ours requirements, native bool) string {
	before, after := p.sum(), p.with(ours, native).sum()
	for i, name := range computeResources {
		request, limit := ours.requests[i], ours.limits[i]
		if limit.set && request.milli > limit.milli {
			return fmt.Sprintf("its request of %s is %s and its limit %s; `probeProxy.resources` must have a `requests.%[1]s` that is not above its `limits.%[1]s`", name, request, limit)
		}
		// A request of the pod itself that is missing is the sum of those of its containers.
		if most := p.pod.requests[i].or(p.pod.limits[i]); most.set && before.requests[i].milli <= most.milli && after.requests[i].milli > most.milli {
			return fmt.Sprintf("the containers then request %s %s, and the pod's own `resources` must not have less, but have %s", after.requests[i], name, most)
		}
	}
	before, after = p.pod.combined(before, quantity.or), p.pod.combined(after, quantity.or)
	for _, l := range s.LimitRanges {
		if why := l.refusal(ours, before, after); why != "" {
			return fmt.Sprintf("LimitRange %q: %s", l.Name, why)
		}
	}
	return s.quotaRefusal(p, ours)
}

// refusal says what a LimitRange demands that a container of ours does not have, or the pod with
// it although it had it before; "" if there is nothing.
func (l *LimitRange) refusal(ours, before, after requirements) string {
	for i, name := range computeResources {
		fields := fmt.Sprintf("`requests.%s` and `limits.%s` of `probeProxy.resources` must be", name, name)
		switch low, high, ofPod := l.min[i], l.max[i], l.podMax[i]; {
		case ours.requests[i].milli < low.milli:
			return fmt.Sprintf("the least %s of a container is %s, and the request is %s; %s at least %[2]s", name, low, ours.requests[i], fields)
		case high.set && ours.limits[i].milli > high.milli:
			return fmt.Sprintf("the most %s of a container is %s, and the limit is %s; %s at most %[2]s", name, high, ours.limits[i], fields)
		case ofPod.set && before.limits[i].set && before.limits[i].milli <= ofPod.milli && after.limits[i].milli > ofPod.milli:
			return fmt.Sprintf("the most %s of a pod is %s, and the limit is %s; the LimitRange or the pod has to leave room for it", name, ofPod, after.limits[i])
		}
	}
	return ""
}

// quotaRefusal says what a ResourceQuota demands of every container, and one with these
// requirements lacks; "" if there is nothing that the others have.
func (s *Surroundings) quotaRefusal(p podResources, ours requirements) string {
	if p.hasOwn { // then the quota counts them
		return ""
	}
	for _, q := range s.Quotas {
		for i, name := range computeResources {
			for _, key := range []string{"limits." + name, "requests." + name, name} {
				lacks := func(r requirements) bool {
					if key == "limits."+name {
						return !r.limits[i].set
					}
					return !r.requests[i].set
				}
				if _, limited := q.Hard.Get(key); limited && lacks(ours) && !slices.ContainsFunc(p.containers, func(c containerResources) bool { return lacks(c.requirements) }) {
					return fmt.Sprintf("ResourceQuota %q has `%s`, so every container must have it; `probeProxy.resources` must have it too", q.Name, key)
				}
			}
		}
	}
	return ""
}

// checkProxyLimits warns if a LimitRange fills in the resources of a mesh's proxy that is
// declared without any: they then replace those of the mesh's injector.
func (b *planBuilder) checkProxyLimits() {
	ranges := b.in.Around.LimitRanges
	i := slices.IndexFunc(ranges, func(l LimitRange) bool { return l.defaults != requirements{} })
	if _, proxy := b.proxyOf(b.p.mesh.isProxy); i >= 0 && proxy == nil && len(b.p.opts.IstioProxy.Resources) == 0 {
		b.addFinding(NewFinding("proxy-limits", b.spec, "LimitRange %q gives its defaults to the declared istio-proxy, and they replace what Istio's injector would give it; the functionConfig should have Istio's own, by default `istioProxy: {resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {cpu: 2, memory: 1Gi}}}`", ranges[i].Name))
	}
}
