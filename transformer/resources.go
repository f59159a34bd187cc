package transformer

import (
	"cmp"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
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

// requirements are the requests and limits of a container or a pod, in the order of
// computeResources.
type requirements struct {
	requests, limits [len(computeResources)]quantity
}

// readRequirements returns the requirements that the field `resources` holds. bad names
// what is no quantity, and its value; it is empty if all are.
func readRequirements(resources field.Map) (r requirements, bad field.Path) {
	for _, side := range []struct {
		key string
		to  *[len(computeResources)]quantity
	}{{"requests", &r.requests}, {"limits", &r.limits}} {
		have := field.As[field.Map](resources, side.key)
		for i, name := range computeResources {
			v, there := have.Get(name)
			if !there {
				continue
			}
			q, ok := readQuantity(v)
			if !ok {
				bad = field.NewPath(side.key, name)
			}
			side.to[i] = q
		}
	}
	return r, bad
}

// withDefaults returns the requirements with requests that default to the limits, as
// the API server fills them in for containers of pods.
func (r requirements) withDefaults() requirements {
	for i, limit := range r.limits {
		if !r.requests[i].set {
			r.requests[i] = limit
		}
	}
	return r
}

// class returns the class that the requirements alone make. Zero is like not given.
func (r requirements) class() qosClass {
	classes := [len(computeResources)]qosClass{}
	for i := range classes {
		switch request, limit := r.requests[i].milli, r.limits[i].milli; {
		case request != limit:
			return burstable
		case request == 0:
			classes[i] = bestEffort
		default:
			classes[i] = guaranteed
		}
	}
	if classes[0] != classes[1] {
		return burstable
	}
	return classes[0]
}

// podResources are the requirements of a pod, without those of containers that we add.
type podResources struct {
	pod        requirements // of the pod as a whole
	hasOwn     bool         // the pod as a whole has some, of any resource
	init, main []containerResources
	unreadable field.Path // a value that is no quantity; nil if there is none
}

// containerResources are the requirements of a container.
type containerResources struct {
	requirements
	restarts bool // it is a native sidecar
}

// resources reads the requirements of the template's own containers. A proxy whose
// resources the mesh's injector fills in is not counted.
func (b *planBuilder) resources() *podResources {
	if b.pod != nil {
		return b.pod
	}
	p := new(podResources)
	b.pod = p
	read := func(path field.Path) requirements {
		r, bad := readRequirements(b.sourceMap(path))
		if bad != nil {
			p.unreadable = path.Join(bad)
		}
		return r
	}
	own := b.sourceMap(b.spec.Key("resources"))
	p.hasOwn = len(field.As[field.Map](own, "requests"))+len(field.As[field.Map](own, "limits")) > 0
	if p.hasOwn {
		p.pod = read(b.spec.Key("resources"))
	}
	eachContainer(&b.in.Template.Spec, func(at containerRef, c *Container) {
		if b.isOurs(at) {
			return
		}
		r := containerResources{read(b.containerPath(at).Key("resources")), isSidecar(at, c)}
		if c.Image == autoImage && b.p.mesh.isProxy(c) && r.requirements == (requirements{}) {
			return
		}
		r.requirements = r.filled(b.in.around().Cluster.LimitRanges)
		if at.init {
			p.init = append(p.init, r)
		} else {
			p.main = append(p.main, r)
		}
	})
	return p
}

// with returns the pod with one more container, first among those of its list.
func (p podResources) with(r requirements, native bool) podResources {
	more := []containerResources{{r.withDefaults(), native}}
	if native {
		p.init = slices.Concat(more, p.init)
	} else {
		p.main = slices.Concat(more, p.main)
	}
	return p
}

// class returns the class of the pod, as the kubelet computes it from all containers,
// init containers included, or from the pod's own requirements if it has some.
func (p podResources) class() qosClass {
	if p.hasOwn {
		return p.podLevel().class()
	}
	var class qosClass
	for _, list := range [...][]containerResources{p.init, p.main} {
		for i := range list {
			of := list[i].class()
			if class != "" && class != of {
				return burstable
			}
			class = of
		}
	}
	return cmp.Or(class, bestEffort)
}

// podLevel returns the pod's own requirements with the defaults of Kubernetes 1.37: a
// request that is missing is the sum of the containers' if one has it, else the limit;
// a limit that is missing, where there is a request and every container has a limit, is
// the greater of the request and the sum of the limits.
func (p podResources) podLevel() requirements {
	r := p.pod
	for i := range computeResources {
		request := p.sum(func(c *requirements) quantity { return c.requests[i] })
		if !r.requests[i].set {
			r.requests[i] = request
		}
		if !r.requests[i].set {
			r.requests[i] = r.limits[i]
		}
		limitless := func(c containerResources) bool { return !c.limits[i].set }
		if r.limits[i].set || !r.requests[i].set || slices.ContainsFunc(p.init, limitless) || slices.ContainsFunc(p.main, limitless) {
			continue
		}
		limit := p.sum(func(c *requirements) quantity { return c.limits[i] })
		r.limits[i] = quantity{max(limit.milli, r.requests[i].milli), true}
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

// sum returns what the containers need of a resource: all that run at the same time, or,
// if that is more, an init container with the native sidecars before it.
func (p podResources) sum(of func(*requirements) quantity) quantity {
	var total, sidecars, peak quantity
	add := func(to *quantity, q quantity) { to.milli, to.set = to.milli+q.milli, to.set || q.set }
	for i := range p.main {
		add(&total, of(&p.main[i].requirements))
	}
	for i := range p.init {
		q := of(&p.init[i].requirements)
		now := sidecars
		add(&now, q)
		if p.init[i].restarts {
			add(&total, q)
			sidecars = now
		}
		peak = quantity{max(peak.milli, now.milli), peak.set || now.set}
	}
	return quantity{max(total.milli, peak.milli), total.set || peak.set}
}

// limitless reports whether a container may use as much CPU as the node has.
func (p podResources) limitless() bool {
	unlimited := func(c containerResources) bool { return !c.limits[0].set }
	return slices.ContainsFunc(p.init, unlimited) || slices.ContainsFunc(p.main, unlimited)
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
		return guaranteedTLSResources
	case class == guaranteed:
		return guaranteedResources
	case !p.limitless(): // the pod as a whole is limited, and a quota may demand that
		return limitedResources
	case tlsProbes > 0:
		return burstableTLSResources
	}
	return burstableResources
}

// The defaults, which are shared and never written.
var (
	guaranteedResources    = resourceValues(cpuAndMemory("50m", "32Mi"), cpuAndMemory("50m", "32Mi"))
	guaranteedTLSResources = resourceValues(cpuAndMemory("100m", "32Mi"), cpuAndMemory("100m", "32Mi"))
	burstableResources     = resourceValues(cpuAndMemory("10m", "16Mi"), field.Map{{Key: "memory", Value: "32Mi"}})
	burstableTLSResources  = resourceValues(cpuAndMemory("20m", "16Mi"), field.Map{{Key: "memory", Value: "32Mi"}})
	limitedResources       = resourceValues(cpuAndMemory("10m", "16Mi"), cpuAndMemory("100m", "32Mi"))
)

func cpuAndMemory(cpu, memory string) field.Map {
	return field.Map{{Key: "cpu", Value: cpu}, {Key: "memory", Value: memory}}
}

func resourceValues(requests, limits field.Map) field.Map {
	return field.Map{{Key: "requests", Value: requests}, {Key: "limits", Value: limits}}
}

// mergeResources merges configured resources over the defaults. Where only the request or
// only the limit of a resource is configured, the default of the other follows if the two
// would not fit: both are equal in a Guaranteed pod, and no request is above its limit.
func mergeResources(defaults, given field.Map, class qosClass) field.Map {
	if len(given) == 0 {
		return defaults
	}
	merged := merge(defaults, given)
	follow := func(side, other string, fits func(configured, byDefault int64) bool) {
		for _, e := range field.As[field.Map](given, side) {
			_, both := field.As[field.Map](given, other).Get(e.Key)
			byDefault, there := field.As[field.Map](merged, other).Get(e.Key)
			if both || !there || e.Value == nil {
				continue
			}
			q, _ := readQuantity(e.Value)
			d, _ := readQuantity(byDefault)
			if class == guaranteed || !fits(q.milli, d.milli) {
				merged = merge(merged, field.Map{{Key: other, Value: field.Map{e}}})
			}
		}
	}
	follow("requests", "limits", func(request, limit int64) bool { return request <= limit })
	follow("limits", "requests", func(limit, request int64) bool { return request <= limit })
	return merged
}

// tlsProbes returns how many of the rewritten probes probe-proxy makes over TLS.
func (b *planBuilder) tlsProbes(toRewrite []*handlerSite) (n int) {
	for _, s := range toRewrite {
		h := s.original
		if b.answeredByUs(s) && (h.HTTPGet != nil && h.HTTPGet.Scheme == "HTTPS" || h.GRPC != nil && h.GRPC.Mode == "TLS") {
			n++
		}
	}
	return n
}

// probeProxyResources returns the resources of probe-proxy.
func (b *planBuilder) probeProxyResources(pod *podResources, toRewrite []*handlerSite) field.Map {
	given := b.p.opts.ProbeProxy.Resources
	defaults := pod.defaultResources(b.tlsProbes(toRewrite), len(merge(nil, given)) > 0)
	return mergeResources(defaults, given, pod.class())
}

// withEmptyResources returns a container that has no resources with the empty ones of
// have, which say the same: the API's types always write the field.
func withEmptyResources(want, have field.Map) field.Map {
	if v, there := have.Get("resources"); there && same(v, field.Map{}) {
		if _, wanted := want.Get("resources"); !wanted {
			return append(want, field.Entry{Key: "resources", Value: v})
		}
	}
	return want
}

// checkResources reports what probe-proxy changes about the pod's class.
func (b *planBuilder) checkResources(toRewrite []*handlerSite) {
	pod := b.resources()
	if pod.unreadable != nil {
		v, _ := b.source(pod.unreadable)
		f := NewFinding("resources-unreadable", pod.unreadable, "\"%v\" must be a quantity that is not negative, such as 500m or 1Gi; the pod's QoS class is not known, and probe-proxy gets a request of 10m CPU and 16Mi memory unless `probeProxy.resources` says otherwise", v)
		f.Current = v
		b.addFinding(f)
		return
	}
	if cluster := &b.in.around().Cluster; len(b.p.opts.ProbeProxy.Resources)+len(cluster.LimitRanges)+len(cluster.Quotas) == 0 && !pod.hasOwn {
		return // the defaults keep the class
	}
	ours, _ := readRequirements(b.probeProxyResources(pod, toRewrite))
	b.checkLimits(pod, ours)
	with := pod.with(ours.filled(b.in.around().Cluster.LimitRanges), b.native())
	before, after := pod.class(), with.class()
	if key, how := pod.changed(with); key != "" {
		b.addFinding(NewFinding("pod-level-resources", b.spec.Key("resources"), "the pod's own `%s`, which Kubernetes 1.37 fills in from its containers, %s: the pod is %s, and %s with it; it must be written here", key, how, before, after))
	} else if before != after {
		b.addFinding(NewFinding("qos-class", b.spec, "the pod is %s, and %s with the resources that `probeProxy.resources` of the functionConfig gives to probe-proxy", before, after))
	}
}
