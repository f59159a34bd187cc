package resources

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
	defaults        Requirements
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

// HasDefaults reports whether the LimitRange fills in what a container does not have.
func (l LimitRange) HasDefaults() bool {
	return slices.ContainsFunc(
		l.items,
		func(item limitItem) bool { return item.defaults != Requirements{} },
	)
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
		item := limitItem{
			ofPod: of == "Pod",
			min:   read("min"),
			max:   read("max"),
			ratio: read("maxLimitRequestRatio"),
		}
		if !item.ofPod { // as the API server fills them in
			limits := read("default").each(item.max, quantity.or)
			item.defaults = Requirements{read("defaultRequest").each(limits, quantity.or).each(
				item.min,
				quantity.or,
			), limits}
		}
		l.items = append(l.items, item)
	}
	return l
}

// refuses says why a limit does not allow requirements; "" if it does.
func (l *limitItem) refuses(r Requirements) string {
	for i := range computeResources {
		if why := l.refusesLittle(i, r.requests[i], r.limits[i]); why != "" {
			return why
		}
		if why := l.refusesMuch(i, r.requests[i], r.limits[i]); why != "" {
			return why
		}
	}
	return ""
}

// of says of what the limit is.
func (l *limitItem) of() string {
	if l.ofPod {
		return "pod"
	}
	return "container"
}

// refusesLittle says why a limit does not allow so little of a resource; "" if it does.
func (l *limitItem) refusesLittle(i int, request, limit quantity) string {
	name, low := computeResources[i], l.min[i]
	switch {
	case low.set && (!request.set || request.milli < low.milli):
		return fmt.Sprintf("the least %s of a %s is %s, and the request is %s", name, l.of(), low, request)
	case low.set && limit.set && limit.milli < low.milli: // of a pod in which only some containers have one
		return fmt.Sprintf("the least %s of a %s is %s, and the limit is %s", name, l.of(), low, limit)
	}
	return ""
}

// refusesMuch says why a limit does not allow so much of a resource; "" if it does.
func (l *limitItem) refusesMuch(i int, request, limit quantity) string {
	name, high, ratio := computeResources[i], l.max[i], l.ratio[i]
	switch {
	case high.set && (!limit.set || limit.milli > high.milli): // none only in a pod that is refused anyway
		return fmt.Sprintf("the most %s of a %s is %s, and the limit is %s", name, l.of(), high, limit)
	case high.set && request.milli > high.milli:
		return fmt.Sprintf("the most %s of a %s is %s, and the request is %s", name, l.of(), high, request)
	case ratio.set && exceeds(limit, request, ratio):
		return fmt.Sprintf("the limit of %s may be %s times the request of a %s, and they are %s and %s", name, ratio, l.of(), limit, request)
	}
	return ""
}

// exceeds reports whether a limit is more than a ratio times the request, or one of them is not set.
func exceeds(limit, request, ratio quantity) bool {
	if request.milli == 0 || limit.milli == 0 {
		return true
	}
	return float64(limit.milli)*1000 > float64(request.milli)*float64(ratio.milli)
}

// quotaRefusal says what a ResourceQuota demands of every container, and one with these
// requirements lacks; "" if there is nothing that the others have.
func (l Limits) quotaRefusal(p Pod, ours Requirements) string {
	if p.HasOwn { // then the quota counts them
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
				_, limited := q.Hard.Get(key)
				oursLacks := lacks(containerResources{Requirements: ours})
				if limited && oursLacks && !slices.ContainsFunc(p.containers, lacks) {
					return fmt.Sprintf("ResourceQuota %q has `%s`, so every container must have it", q.Name, key)
				}
			}
		}
	}
	return ""
}
