package transformer

import (
	"cmp"
	"iter"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
)

// A qosClass is a pod's class of quality of service:
// https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/
type qosClass string

const (
	guaranteed qosClass = "Guaranteed"
	burstable  qosClass = "Burstable"
	bestEffort qosClass = "BestEffort"
)

// computeResources are the resources that decide the class.
var computeResources = [...]string{"cpu", "memory"}

// quantities are amounts in the order of computeResources.
type quantities [len(computeResources)]quantity

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

type requirements struct{ requests, limits quantities }

// readRequirements returns the requirements that the field `resources` holds. bad names
// what is no quantity; it is nil if all are.
func readRequirements(resources field.Map) (r requirements, bad field.Path) {
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
func (r requirements) combined(other requirements, f func(a, b quantity) quantity) requirements {
	return requirements{r.requests.each(other.requests, f), r.limits.each(other.limits, f)}
}

// class returns the class that the requirements alone make. Zero is like not given.
func (r requirements) class() qosClass {
	cpu, memory := r.requests[0].milli, r.requests[1].milli
	switch {
	case cpu != r.limits[0].milli, memory != r.limits[1].milli, (cpu == 0) != (memory == 0):
		return burstable
	case cpu == 0:
		return bestEffort
	}
	return guaranteed
}

// podResources are the requirements of a pod, without those of containers that we add.
type podResources struct {
	pod        requirements // of the pod as a whole
	hasOwn     bool         // the pod as a whole has some, of any resource
	containers []containerResources
	unreadable field.Path // a value that is no quantity; nil if there is none
}

type containerResources struct {
	requirements
	init     bool
	restarts bool // it is a native sidecar
}

// readPod reads the requirements of a pod spec at a path, and of its containers. One that is
// filled in later is not counted if it has none of its own.
func readPod(spec field.Path, containers iter.Seq2[pod.Ref, *pod.Container], ranges []LimitRange, filledLater func(*pod.Container) bool, source func(field.Path) field.Map) *podResources {
	p := new(podResources)
	read := func(path field.Path) requirements {
		r, bad := readRequirements(source(path))
		if bad != nil {
			p.unreadable = path.Join(bad)
		}
		return r
	}
	own := source(spec.Key("resources"))
	p.hasOwn = len(field.As[field.Map](own, "requests"))+len(field.As[field.Map](own, "limits")) > 0
	if p.hasOwn {
		p.pod = read(spec.Key("resources"))
	}
	for at, c := range containers {
		r := read(spec.Item(at.List(), at.Index).Key("resources"))
		if r == (requirements{}) && filledLater(c) {
			continue
		}
		p.containers = append(p.containers, containerResources{r.filled(ranges), at.Init, pod.IsSidecar(at, c)})
	}
	return p
}

// filledRequirements returns the requirements that the field `resources` of a container holds,
// with the defaults of LimitRanges.
func filledRequirements(resources field.Map, ranges []LimitRange) requirements {
	r, _ := readRequirements(resources)
	return r.filled(ranges)
}

// with returns the pod with one more container, first among those of its list.
func (p podResources) with(r requirements, native bool) podResources {
	p.containers = slices.Concat([]containerResources{{r, native, native}}, p.containers)
	return p
}

// class returns the class of the pod, as the kubelet computes it from all containers,
// init containers included, or from the pod's own requirements if it has some.
func (p podResources) class() qosClass {
	if p.hasOwn {
		return p.podLevel().class()
	}
	var class qosClass
	for _, c := range p.containers {
		of := c.class()
		if class != "" && class != of {
			return burstable
		}
		class = of
	}
	return cmp.Or(class, bestEffort)
}

// podLevel returns the pod's own requirements with the defaults of Kubernetes 1.37: a
// request that is missing is the sum of the containers' if one has it, else the limit;
// a limit that is missing, where there is a request and every container has a limit, is
// the greater of the request and the sum of the limits.
func (p podResources) podLevel() requirements {
	r, sum := p.pod, p.sum()
	r.requests = r.requests.each(sum.requests, quantity.or).each(r.limits, quantity.or)
	for i := range computeResources {
		if !r.limits[i].set && r.requests[i].set && !p.limitless(i) {
			r.limits[i] = quantity{max(sum.limits[i].milli, r.requests[i].milli), true}
		}
	}
	return r
}

// changed names the first of the pod's own requests and limits that another container
// changes, and says how; "" if none is changed.
func (p podResources) changed(with podResources) (key, how string) {
	if !p.hasOwn {
		return "", ""
	}
	before, after := p.podLevel(), with.podLevel()
	for i, name := range computeResources {
		for _, side := range []struct {
			key      string
			was, now quantity
		}{{"requests.", before.requests[i], after.requests[i]}, {"limits.", before.limits[i], after.limits[i]}} {
			switch {
			case side.was == side.now:
			case !side.now.set:
				return side.key + name, "is " + side.was.String() + " and would be missing with probe-proxy"
			default:
				return side.key + name, "would be " + side.now.String() + " with probe-proxy"
			}
		}
	}
	return "", ""
}

// sum returns what the containers need: all that run at the same time, or,
// if that is more, an init container with the native sidecars before it.
func (p podResources) sum() requirements {
	var total, sidecars, peak requirements
	for _, c := range p.containers {
		if c.init {
			now := sidecars.combined(c.requirements, quantity.plus)
			peak = peak.combined(now, quantity.max)
			if !c.restarts {
				continue
			}
			sidecars = now
		}
		total = total.combined(c.requirements, quantity.plus)
	}
	return total.combined(peak, quantity.max)
}

// limitless reports whether a container may use as much of a resource as the node has.
func (p podResources) limitless(resource int) bool {
	return slices.ContainsFunc(p.containers, func(c containerResources) bool { return !c.limits[resource].set })
}

// manyTLSProbes is how many probes over TLS a container with little CPU makes in time.
const manyTLSProbes = 3

// defaultResources returns the resources with which probe-proxy leaves a pod's class and
// its own requirements as they are. If others are configured, that is not possible in a
// BestEffort pod. docs/operations.md has the reasons for the numbers.
func (p podResources) defaultResources(tlsProbes int, configured bool) field.Map {
	switch class := p.class(); {
	case p.unreadable != nil:
	case p.hasOwn || class == bestEffort && !configured:
		return nil
	case class == guaranteed && tlsProbes > manyTLSProbes:
		return manyTLSResources
	case class == guaranteed:
		return guaranteedResources
	case !p.limitless(0): // the pod as a whole is limited, and a quota may demand that
		return limitedResources
	case tlsProbes > 0:
		return tlsResources
	}
	return leastResources
}

var (
	manyTLSResources    = resourceValues("100m", "32Mi", "100m", "32Mi")
	guaranteedResources = resourceValues("50m", "32Mi", "50m", "32Mi")
	limitedResources    = resourceValues("10m", "16Mi", "100m", "32Mi")
	tlsResources        = resourceValues("20m", "16Mi", "", "32Mi")
	leastResources      = resourceValues("10m", "16Mi", "", "32Mi")
)

func resourceValues(requestCPU, requestMemory, limitCPU, limitMemory string) field.Map {
	requests := field.Map{{Key: "cpu", Value: requestCPU}, {Key: "memory", Value: requestMemory}}
	limits := field.AppendSet(field.AppendSet(nil, "cpu", limitCPU), "memory", limitMemory)
	return field.Map{{Key: "requests", Value: requests}, {Key: "limits", Value: limits}}
}

// mergeResources merges configured resources over the defaults. Where only the request or
// only the limit of a resource is configured, the default of the other follows if the two
// would not fit: both are equal in a Guaranteed pod, and no request is above its limit.
func mergeResources(defaults, given field.Map, class qosClass) field.Map {
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
			if class == guaranteed || request.milli > limit.milli {
				merged = field.Merge(merged, field.Map{{Key: x.other, Value: field.Map{e}}})
			}
		}
	}
	return merged
}
