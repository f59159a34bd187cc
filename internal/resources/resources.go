// Package resources has CPU and memory of pods: quantities, classes of quality of service, what a
// LimitRange or ResourceQuota refuses, and the resources of one more container.
package resources

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
)

// A Class is a pod's class of quality of service:
// https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/
type Class string

// quantities are amounts in the order of computeResources.
type quantities [len(computeResources)]quantity

type Requirements struct{ requests, limits quantities }

// Pod are the requirements of a pod, without those of containers that we add.
type Pod struct {
	own        Requirements // of the pod as a whole
	HasOwn     bool         // the pod as a whole has some, of any resource
	containers []containerResources
	Unreadable field.Path // a value that is no quantity; nil if there is none
}

type containerResources struct {
	Requirements
	init     bool
	restarts bool // it is a native sidecar
}

// filled returns the requirements of a container with requests that default to the limits,
// and with the defaults of LimitRanges, which the API server fills in after its own.
func (r Requirements) filled(ranges []LimitRange) Requirements {
	r.requests = r.requests.each(r.limits, quantity.or)
	for _, l := range ranges {
		for _, item := range l.items {
			r = r.combined(item.defaults, quantity.or)
		}
	}
	return r
}

// Refusal says why the namespace refuses the pod with a container of these requirements;
// "" if it does not, or would refuse the pod without it too.
func (p Pod) Refusal(limits Limits, ours Requirements, native bool) string {
	with := p.With(ours, native)
	for i, name := range computeResources {
		if limit := ours.limits[i]; limit.set && ours.requests[i].milli > limit.milli {
			return fmt.Sprintf("a LimitRange sets a limit of %s %s, below the request of %s", limit, name, ours.requests[i])
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
				return fmt.Sprintf("LimitRange %q: %s", l.Name, why)
			}
		}
	}
	return limits.quotaRefusal(p, ours)
}

// outgrows says how the pod's own resources do not allow those of its containers with one
// more; "" if they do, or did not before.
func (p Pod) outgrows(with Pod) string {
	before := p.podLevel()
	after := with.podLevel()
	need := p.sum().requests
	needWith := with.sum().requests
	for i, name := range computeResources {
		limit := after.limits[i]
		didFit := before.requests[i].milli <= before.limits[i].milli
		if limit.set &&
			didFit &&
			after.requests[i].milli > limit.milli {
			return fmt.Sprintf("with a LimitRange's defaults for probe-proxy, the pod's own request of %s becomes %s, over its limit of %s", name, after.requests[i], limit)
		}
		request := p.own.requests[i]
		wasEnough := need[i].milli <= request.milli
		if request.set && wasEnough && needWith[i].milli > request.milli {
			return fmt.Sprintf("with a LimitRange's defaults for probe-proxy, the containers request more %s than the pod's own %s", name, request)
		}
	}
	return ""
}

// total returns what the pod has as a whole: its own requirements, or the sum of those of
// its containers.
func (p Pod) total() Requirements {
	return p.own.combined(p.sum(), quantity.or)
}

// Fitting returns resources of probe-proxy that the namespace accepts, as they are in the
// functionConfig; "" if there are none.
func (p Pod) Fitting(limits Limits, native bool) string {
	fit := quantities{{100, true}, {32 * 1000 << 20, true}}
	for _, l := range limits.Ranges {
		for _, item := range l.items {
			if !item.ofPod {
				fit = fit.each(item.min, quantity.max).each(item.max, quantity.atMost)
			}
		}
	}
	if p.Refusal(limits, Requirements{fit, fit}, native) != "" {
		return ""
	}
	same := fmt.Sprintf("{cpu: %s, memory: %s}", fit[0], fit[1])
	return "probeProxy: {resources: {requests: " + same + ", limits: " + same + "}}"
}

const (
	Guaranteed Class = "Guaranteed"
	Burstable  Class = "Burstable"
	BestEffort Class = "BestEffort"
)

// computeResources are the resources that decide the class.
var computeResources = [...]string{"cpu", "memory"}

// readQuantities returns the quantities in a mapping. bad names one that is none; "" if all are.
func readQuantities(amounts field.Map) (q quantities, bad string) {
	for i, name := range computeResources {
		v, there := amounts.Get(name)
		switch amount, ok := readQuantity(v); {
		case !there:
		case ok:
			q[i] = amount
		default:
			bad = name
		}
	}
	return q, bad
}

// each returns f of every quantity in q and in other.
func (q quantities) each(other quantities, f func(a, b quantity) quantity) quantities {
	for i := range q {
		q[i] = f(q[i], other[i])
	}
	return q
}

// readRequirements returns the requirements that the field `resources` holds. bad names
// what is no quantity; it is nil if all are.
func readRequirements(resources field.Map) (r Requirements, bad field.Path) {
	var name string
	if r.requests, name = readQuantities(field.As[field.Map](resources, "requests")); name != "" {
		bad = field.NewPath("requests", name)
	}
	if r.limits, name = readQuantities(field.As[field.Map](resources, "limits")); name != "" {
		bad = field.NewPath("limits", name)
	}
	return r, bad
}

// combined returns f of every quantity in r and in other.
func (r Requirements) combined(other Requirements, f func(a, b quantity) quantity) Requirements {
	return Requirements{r.requests.each(other.requests, f), r.limits.each(other.limits, f)}
}

// class returns the class that the requirements alone make. Zero is like not given.
func (r Requirements) class() Class {
	cpu := r.requests[0].milli
	memory := r.requests[1].milli
	switch {
	case cpu != r.limits[0].milli, memory != r.limits[1].milli, (cpu == 0) != (memory == 0):
		return Burstable
	case cpu == 0:
		return BestEffort
	}
	return Guaranteed
}

type (
	// Containers are those of a pod, with their places.
	Containers = iter.Seq2[pod.Ref, *pod.Container]
	// A Source returns the mapping at a path as its author wrote it; nil if there is none.
	Source = func(field.Path) field.Map
)

// Read reads the requirements of a pod spec at a path, and of its containers. One that is
// filled in later is not counted if it has none of its own.
func Read(
	spec field.Path, containers Containers, ranges []LimitRange,
	filledLater func(*pod.Container) bool, source Source,
) *Pod {
	p := new(Pod)
	read := func(path field.Path) Requirements {
		r, bad := readRequirements(source(path))
		if bad != nil {
			p.Unreadable = path.Join(bad)
		}
		return r
	}
	own := source(spec.Key("resources"))
	requests := field.As[field.Map](own, "requests")
	limits := field.As[field.Map](own, "limits")
	p.HasOwn = len(requests)+len(limits) > 0
	if p.HasOwn {
		p.own = read(spec.Key("resources"))
	}
	for at, c := range containers {
		r := read(spec.Item(at.List(), at.Index).Key("resources"))
		if r == (Requirements{}) && filledLater(c) {
			continue
		}
		p.containers = append(
			p.containers,
			containerResources{r.filled(ranges), at.Init, pod.IsSidecar(at, c)},
		)
	}
	return p
}

// Filled returns the requirements that the field `resources` of a container holds,
// with the defaults of LimitRanges.
func Filled(resources field.Map, ranges []LimitRange) Requirements {
	r, _ := readRequirements(resources)
	return r.filled(ranges)
}

// With returns the pod with one more container, first among those of its list.
func (p Pod) With(r Requirements, native bool) Pod {
	p.containers = slices.Concat([]containerResources{{r, native, native}}, p.containers)
	return p
}

// Class returns the class of the pod, as the kubelet computes it from all containers,
// init containers included, or from the pod's own requirements if it has some.
func (p Pod) Class() Class {
	if p.HasOwn {
		return p.podLevel().class()
	}
	var class Class
	for _, c := range p.containers {
		of := c.class()
		if class != "" && class != of {
			return Burstable
		}
		class = of
	}
	return cmp.Or(class, BestEffort)
}

// podLevel returns the pod's own requirements with the defaults of Kubernetes 1.37: a
// request that is missing is the sum of the containers' if one has it, else the limit;
// a limit that is missing, where there is a request and every container has a limit, is
// the greater of the request and the sum of the limits.
func (p Pod) podLevel() Requirements {
	r, sum := p.own, p.sum()
	r.requests = r.requests.each(sum.requests, quantity.or).each(r.limits, quantity.or)
	for i := range computeResources {
		if !r.limits[i].set &&
			r.requests[i].set &&
			!p.limitless(i) {
			r.limits[i] = quantity{max(sum.limits[i].milli, r.requests[i].milli), true}
		}
	}
	return r
}

// Changed names the first of the pod's own requests and limits that another container
// changes, and says how; "" if none is changed.
func (p Pod) Changed(with Pod) (key, how string) {
	if !p.HasOwn {
		return "", ""
	}
	before := p.podLevel()
	after := with.podLevel()
	for i, name := range computeResources {
		for _, side := range []struct {
			key      string
			was, now quantity
		}{
			{"requests.", before.requests[i], after.requests[i]},
			{"limits.", before.limits[i], after.limits[i]},
		} {
			switch {
			case side.was == side.now:
			case !side.now.set:
				return side.key + name, "would no longer be " + side.was.String() + ", but missing"
			default:
				return side.key + name, "would be " + side.now.String()
			}
		}
	}
	return "", ""
}

// sum returns what the containers need: all that run at the same time, or,
// if that is more, an init container with the native sidecars before it.
func (p Pod) sum() Requirements {
	var total, sidecars, peak Requirements
	for _, c := range p.containers {
		if c.init {
			now := sidecars.combined(c.Requirements, quantity.plus)
			peak = peak.combined(now, quantity.max)
			if !c.restarts {
				continue
			}
			sidecars = now
		}
		total = total.combined(c.Requirements, quantity.plus)
	}
	return total.combined(peak, quantity.max)
}

// limitless reports whether a container may use as much of a resource as the node has.
func (p Pod) limitless(resource int) bool {
	return slices.ContainsFunc(
		p.containers,
		func(c containerResources) bool { return !c.limits[resource].set },
	)
}

// Defaults returns the resources with which probe-proxy leaves a pod's class and
// its own requirements as they are. If others are configured, that is not possible in a
// BestEffort pod. docs/harm.md has the reasons for the numbers.
func (p Pod) Defaults(tlsProbes int, configured bool) field.Map {
	switch class := p.Class(); {
	case p.Unreadable != nil:
	case p.HasOwn || class == BestEffort && !configured:
		return nil
	case class == Guaranteed:
		return guaranteedResources
	case !p.limitless(0): // the pod as a whole is limited, and a quota may demand that
		return limitedResources
	case tlsProbes > 0:
		return tlsResources
	}
	return leastResources
}

var (
	guaranteedResources = resourceValues("100m", "32Mi", "100m", "32Mi")
	limitedResources    = resourceValues("10m", "16Mi", "100m", "32Mi")
	tlsResources        = resourceValues("20m", "16Mi", "", "32Mi")
	leastResources      = resourceValues("10m", "16Mi", "", "32Mi")
)

func resourceValues(requestCPU, requestMemory, limitCPU, limitMemory string) field.Map {
	requests := field.Map{{Key: "cpu", Value: requestCPU}, {Key: "memory", Value: requestMemory}}
	limits := field.AppendSet(field.AppendSet(nil, "cpu", limitCPU), "memory", limitMemory)
	return field.Map{{Key: "requests", Value: requests}, {Key: "limits", Value: limits}}
}

// Merge merges configured resources over the defaults. Where only the request or
// only the limit of a resource is configured, the default of the other follows if the two
// would not fit: both are equal in a Guaranteed pod, and no request is above its limit.
func Merge(defaults, given field.Map, class Class) field.Map {
	if len(given) == 0 {
		return defaults
	}
	merged := field.Merge(defaults, given)
	for _, x := range [...]struct{ side, other string }{{"requests", "limits"}, {"limits", "requests"}} {
		for _, e := range field.As[field.Map](given, x.side) {
			_, both := field.As[field.Map](given, x.other).Get(e.Key)
			byDefault, there := field.As[field.Map](merged, x.other).Get(e.Key)
			if both || !there || e.Value == nil {
				continue
			}
			request, _ := readQuantity(e.Value)
			limit, _ := readQuantity(byDefault)
			if x.side == "limits" {
				request, limit = limit, request
			}
			if class == Guaranteed || request.milli > limit.milli {
				merged = field.Merge(merged, field.Map{{Key: x.other, Value: field.Map{e}}})
			}
		}
	}
	return merged
}
