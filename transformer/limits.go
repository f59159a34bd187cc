package transformer

import (
	"fmt"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A LimitRange is what an object of that kind says about CPU and memory.
type LimitRange struct {
	Name  string
	items []limitItem
}

type limitItem struct {
	ofPod           bool // of the pod as a whole, not of each container
	min, max, ratio quantities
	defaults        requirements
}

// A ResourceQuota has what an object of that kind limits.
type ResourceQuota struct {
	Name string
	Hard field.Map
}

// Limits are what limits the pods of a namespace.
type Limits struct {
	Ranges []LimitRange
	Quotas []ResourceQuota
}

// hasDefaults reports whether the LimitRange fills in what a container does not have.
func (l LimitRange) hasDefaults() bool {
	return slices.ContainsFunc(l.items, func(item limitItem) bool { return item.defaults != requirements{} })
}

// NewLimitRange reads the `spec` of a LimitRange. What is no quantity counts as absent.
func NewLimitRange(name string, spec field.Map) LimitRange {
	l := LimitRange{Name: name}
	for _, v := range field.As[field.List](spec, "limits") {
		m, _ := v.(field.Map)
		of := field.As[string](m, "type")
		if of != "Pod" && of != "Container" {
			continue
		}
		read := func(key string) quantities {
			q, _ := readQuantities(field.As[field.Map](m, key))
			return q
		}
		item := limitItem{ofPod: of == "Pod", min: read("min"), max: read("max"), ratio: read("maxLimitRequestRatio")}
		if !item.ofPod { // as the API server fills them in
			limits := read("default").each(item.max, quantity.or)
			item.defaults = requirements{read("defaultRequest").each(limits, quantity.or).each(item.min, quantity.or), limits}
		}
		l.items = append(l.items, item)
	}
	return l
}

// filled returns the requirements of a container with requests that default to the limits,
// and with the defaults of LimitRanges, which the API server fills in after its own.
func (r requirements) filled(ranges []LimitRange) requirements {
	r.requests = r.requests.each(r.limits, quantity.or)
	for _, l := range ranges {
		for _, item := range l.items {
			r = r.combined(item.defaults, quantity.or)
		}
	}
	return r
}

// refuses says why a limit does not allow requirements; "" if it does.
func (l *limitItem) refuses(r requirements) string {
	of := "container"
	if l.ofPod {
		of = "pod"
	}
	for i, name := range computeResources {
		request, limit := r.requests[i], r.limits[i]
		switch low, high, ratio := l.min[i], l.max[i], l.ratio[i]; {
		case low.set && (!request.set || request.milli < low.milli):
			return fmt.Sprintf("the least %s of a %s is %s, and the request is %s", name, of, low, request)
		case high.set && (!limit.set || limit.milli > high.milli): // none only in a pod that is refused anyway
			return fmt.Sprintf("the most %s of a %s is %s, and the limit is %s", name, of, high, limit)
		case ratio.set && (request.milli == 0 || limit.milli == 0 || float64(limit.milli)*1000 > float64(request.milli)*float64(ratio.milli)):
			return fmt.Sprintf("the limit of %s may be %s times the request of a %s, and they are %s and %s", name, ratio, of, limit, request)
		}
	}
	return ""
}

// refusal says why the namespace refuses the pod with a container of these requirements;
// "" if it does not, or would refuse the pod without it too.
func (p podResources) refusal(limits Limits, ours requirements, native bool) string {
	with := p.with(ours, native)
	for i, name := range computeResources {
		if limit := ours.limits[i]; limit.set && ours.requests[i].milli > limit.milli {
			return fmt.Sprintf("a LimitRange fills in a limit of %s %s, which is below the request of %s", limit, name, ours.requests[i])
		}
	}
	if why := p.outgrows(with); why != "" {
		return why
	}
	for _, l := range limits.Ranges {
		for _, item := range l.items {
			why := item.refuses(ours)
			if item.ofPod {
				if why = item.refuses(with.total()); item.refuses(p.total()) != "" {
					continue
				}
			}
			if why != "" {
				return fmt.Sprintf("LimitRange %q refuses it: %s", l.Name, why)
			}
		}
	}
	return limits.quotaRefusal(p, ours)
}

// outgrows says how the pod's own resources do not allow those of its containers with one
// more; "" if they do, or did not before.
func (p podResources) outgrows(with podResources) string {
	before, after := p.podLevel(), with.podLevel()
	need, needWith := p.sum().requests, with.sum().requests
	for i, name := range computeResources {
		if limit := after.limits[i]; limit.set && before.requests[i].milli <= before.limits[i].milli && after.requests[i].milli > limit.milli {
			return fmt.Sprintf("the pod's own request of %s is filled in as %s with what a LimitRange gives to probe-proxy, and its limit is %s", name, after.requests[i], limit)
		}
		if request := p.pod.requests[i]; request.set && need[i].milli <= request.milli && needWith[i].milli > request.milli {
			return fmt.Sprintf("the pod's own request of %s %s is less than what its containers have with what a LimitRange gives to probe-proxy", request, name)
		}
	}
	return ""
}

// total returns what the pod has as a whole: its own requirements, or the sum of those of
// its containers.
func (p podResources) total() requirements { return p.pod.combined(p.sum(), quantity.or) }

// quotaRefusal says what a ResourceQuota demands of every container, and one with these
// requirements lacks; "" if there is nothing that the others have.
func (l Limits) quotaRefusal(p podResources, ours requirements) string {
	if p.hasOwn { // then the quota counts them
		return ""
	}
	for _, q := range l.Quotas {
		for i, name := range computeResources {
			for _, key := range []string{"limits." + name, "requests." + name, name} {
				lacks := func(r containerResources) bool {
					if key == "limits."+name {
						return !r.limits[i].set
					}
					return !r.requests[i].set
				}
				if _, limited := q.Hard.Get(key); limited && lacks(containerResources{requirements: ours}) && !slices.ContainsFunc(p.containers, lacks) {
					return fmt.Sprintf("ResourceQuota %q has `%s`, so every container must have it", q.Name, key)
				}
			}
		}
	}
	return ""
}

// cure returns resources of probe-proxy that the namespace accepts, as they are in the
// functionConfig; "" if there are none.
func (p podResources) cure(limits Limits, native bool) string {
	fit := quantities{{50, true}, {32 * 1000 << 20, true}}
	for _, l := range limits.Ranges {
		for _, item := range l.items {
			if !item.ofPod {
				fit = fit.each(item.min, quantity.max).each(item.max, quantity.atMost)
			}
		}
	}
	if p.refusal(limits, requirements{fit, fit}, native) != "" {
		return ""
	}
	same := fmt.Sprintf("{cpu: %s, memory: %s}", fit[0], fit[1])
	return "probeProxy: {resources: {requests: " + same + ", limits: " + same + "}}"
}
