package transformer

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/resources"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// Reads names what a plan was made from, by paths from the object's root: an object that has the
// same values there, or has nothing where this one has nothing, gets the same plan.
type Reads struct {
	Fields []field.Path
	// Names are the lists of containers of which the names matter, and how many there are.
	Names []field.Path
	// Kinds are those of other objects that matter, and Namespace is what matters of Namespaces.
	Kinds     surroundings.Kinds
	Namespace field.MetadataKeys
}

// Reads returns what the plan of an input was made from, which must have [Notes]. A pod template
// without a probe or hook that opens a connection has nothing to rewrite, so that only its
// containers matter, and switches that make an error if they are no booleans. In one that is left alone as a whole
// a probe matters only if it was rewritten before: it would be restored.
func (p *Planner) Reads(in *Input, plan *Plan) Reads {
	r := &reads{in: in, opts: &p.opts, plan: plan, spec: in.SpecPath()}
	r.containers()
	special, names := r.dials, len(r.Fields)
	r.allProbes()
	if !r.dials {
		r.noted(isSwitch)
		return r.Reads
	}
	if r.isOut = in.Notes.isOut && !special; r.isOut {
		r.Fields = r.Fields[:names]
		r.allProbes()
		notes := *in.Notes
		notes.Fields = nil // of probes
		r.asked(&notes)
		return r.Reads
	}
	r.noted(nil)
	r.podSpec()
	if plan.Answer.By != "" {
		r.answerer()
	}
	return r.Reads
}

type reads struct {
	Reads
	in    *Input
	opts  *Options
	plan  *Plan
	spec  field.Path
	dials bool // a container has a probe or hook that opens a connection
	isOut bool // the template is left alone as a whole
}

func (r *reads) add(paths ...field.Path) {
	r.Fields = append(r.Fields, paths...)
}

// containers adds the names of containers, all of a special one, and what is read of a mesh's proxy.
func (r *reads) containers() {
	r.Names = []field.Path{r.spec.Key("initContainers"), r.spec.Key("containers")}
	for at, c := range r.in.Template.Spec.All() {
		path := r.spec.Item(at.List(), at.Index)
		switch {
		case r.isSpecial(c):
			r.add(path)
		case isMeshProxy(c):
			r.add(path.Key("image"))
			r.Names = append(r.Names, path.Key("env"))
		default:
			continue
		}
		r.dials = true
	}
}

// allProbes adds the probes and hooks of all containers that are not special.
func (r *reads) allProbes() {
	for at, c := range r.in.Template.Spec.All() {
		path := r.spec.Item(at.List(), at.Index)
		if at.Init {
			r.add(path.Key("restartPolicy"))
		}
		if !r.isSpecial(c) && (!at.Init || pod.IsSidecar(at, c)) {
			r.probes(path, c)
		}
	}
}

// isSpecial reports whether a container is, or may be, one of which any field may matter: one of ours, one that an
// injector completes, or Istio's for the pod's network.
func (r *reads) isSpecial(c *pod.Container) bool {
	return c.Name == istioInitName ||
		c.Name == r.opts.ProbeProxy.Name ||
		c.Image == autoImage ||
		len(c.EnvVars(prober.EnvName)) > 0
}

// isMeshProxy reports whether a container is a mesh's proxy, such as a gateway's. Its image shows that, and the version. It has
// originals of probes as soon as it has their env var.
func isMeshProxy(c *pod.Container) bool {
	return slices.ContainsFunc(serviceMeshes, func(d *serviceMesh) bool { return d.proxy == c.Name })
}

// probes adds the probes and hooks of a container that is not special.
func (r *reads) probes(path field.Path, c *pod.Container) {
	for _, x := range []struct {
		name  prober.ProbeType
		probe *pod.Probe
	}{{prober.Readiness, c.ReadinessProbe}, {prober.Liveness, c.LivenessProbe}, {prober.Startup, c.StartupProbe}} {
		at := path.Key(x.name.Field())
		if x.probe == nil {
			r.add(at)
		} else if r.handler(at, &x.probe.Handler, pod.KindSleep) && !r.isOut {
			r.add(at.Key("timeoutSeconds"))
		}
	}
	if c.Lifecycle == nil {
		r.add(path.Key("lifecycle"))
		return
	}
	for _, x := range []struct {
		name prober.ProbeType
		hook *pod.Handler
	}{{prober.PostStart, c.Lifecycle.PostStart}, {prober.PreStop, c.Lifecycle.PreStop}} {
		at := path.Key("lifecycle", x.name.Field())
		if x.hook == nil {
			r.add(at)
		} else {
			r.handler(at, x.hook, pod.KindGRPC)
		}
	}
}

// handler adds the handlers of a probe or hook, but the kind that Kubernetes does not have there, and reports whether one
// opens a connection. If none does, it only matters that none comes.
func (r *reads) handler(path field.Path, h *pod.Handler, never string) (dials bool) {
	dials = h.HTTPGet != nil ||
		h.TCPSocket != nil ||
		h.GRPC != nil
	r.dials = r.dials || dials
	if r.isOut {
		r.rewritten(path.Key(pod.KindHTTPGet), h.HTTPGet)
		return dials
	}
	for _, kind := range pod.HandlerKinds() {
		if kind != never && (dials || slices.Contains(pod.DialingHandlers(), kind)) {
			r.add(path.Key(kind))
		}
	}
	return dials
}

// rewritten adds what shows whether an httpGet was rewritten before: its path or its port; all of it if one of them does.
func (r *reads) rewritten(path field.Path, get *pod.HTTPGet) {
	if get == nil || isInjected(get) || slices.Contains(prober.OSMPorts(), int(get.Port.Int)) {
		r.add(path)
		return
	}
	if _, _, isOurs := prober.ParseKey(get.Path); isOurs {
		r.add(path)
		return
	}
	r.add(path.Key("path"), path.Key("port"))
}

// isSwitch reports whether a key is that of a [optOutSource].switchedOff.
func isSwitch(key string) bool { return key == ownRewrite || key == istioRewrite }

// noted adds what was asked of labels and annotations, and of other objects; with counts, only of
// these keys.
func (r *reads) noted(counts func(key string) bool) {
	n := *r.in.Notes
	if counts != nil {
		n = Notes{
			Pods: n.Pods.Of(counts), Workload: n.Workload.Of(counts),
			Asked: surroundings.Asked{Kinds: n.Kinds & surroundings.Namespaces.Set(), Namespace: n.Namespace.Of(counts)},
		}
	}
	r.asked(&n)
}

func (r *reads) asked(n *Notes) {
	r.Kinds, r.Namespace = n.Kinds, n.Namespace
	r.add(n.Fields...)
	metadata := r.in.MetadataPath()
	if metadata != nil {
		r.add(n.Pods.Paths(metadata)...)
	}
	if len(metadata) != 1 {
		r.add(n.Workload.Paths(field.NewPath("metadata"))...)
	}
}

// podSpec adds what takes a pod out of every mesh, and where its probes go.
func (r *reads) podSpec() {
	for _, key := range []string{"hostNetwork", "os", "runtimeClassName"} {
		r.add(r.spec.Key(key))
	}
	isNative := r.opts.ProbeProxy.Placement == PlacementNative && !r.in.Shape.NoNativeSidecars
	if r.in.JobLike || !isNative { // only these pods may not wait for probe-proxy
		r.add(r.spec.Key("restartPolicy"))
	}
	for _, key := range pod.PlaceLabels() {
		r.add(r.spec.Key("nodeSelector", key))
	}
	r.add(r.spec.Key("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"))
	for at, c := range r.in.Template.Spec.All() {
		if !r.isSpecial(c) {
			r.ports(r.spec.Item(at.List(), at.Index).Key("ports"), c)
		}
		if r.in.Shape.Declared { // without an image it may be a patch
			r.add(r.spec.Item(at.List(), at.Index).Key("image"))
		}
	}
}

// portNamers are the kinds of which an object may lead to a port by its name.
var portNamers = surroundings.Services.Set() | surroundings.LinkerdServers.Set() | surroundings.NetworkPolicies.Set() |
	surroundings.CalicoPolicies.Set() | surroundings.CalicoGlobalPolicies.Set()

// ports adds the numbers of a container's ports, of which another one may be the answerer's, and the names that its own probes
// use. No container has a name twice, so the last name, which is added from both ends, shows that there are no more. Any other list
// is added as a whole.
func (r *reads) ports(path field.Path, c *pod.Container) {
	used := c.PortNames()
	isUsed := func(p pod.ContainerPort) bool { return slices.Contains(used, p.Name) }
	isUnknown := func(name string) bool {
		return !slices.ContainsFunc(c.Ports, func(p pod.ContainerPort) bool { return p.Name == name })
	}
	isOther := func(p pod.ContainerPort) bool {
		return p.Protocol != "" && p.Protocol != "TCP"
	}
	n := len(c.Ports)
	isOpen := r.Kinds&portNamers != 0 || r.in.Shape.ProbesMadeBy != "" || slices.ContainsFunc(used, isUnknown)
	if isOpen || n == 0 || c.Ports[n-1].Name == "" || slices.ContainsFunc(c.Ports, isOther) {
		r.add(path)
		return
	}
	for i, p := range c.Ports {
		r.add(path.Index(i).Key("containerPort"))
		if isUsed(p) || i == n-1 {
			r.add(path.Index(i).Key("name"))
		}
	}
	r.add(path.Join(field.Path{field.LastItem, {Key: "name"}}))
}

// answerer adds what decides how the container looks that answers, and whether one may.
func (r *reads) answerer() {
	switch r.plan.Answer.By {
	case AnsweredByProbeProxy:
		r.add(r.spec.Key("securityContext", appArmorField))
		containers := r.in.Template.Spec.All()
		r.add(resources.Deciding(r.spec, containers, r.in.Around.Ranges(), r.source)...)
	case AnsweredByIstioProxy:
		if r.opts.IstioProxy.Restricted {
			r.restricted()
		}
	}
}

// restricted adds what [draft.restrictedContext] reads: of a container that does not comply a field suffices.
func (r *reads) restricted() {
	var all []field.Path
	for at := range r.in.Template.Spec.All() {
		path := r.spec.Item(at.List(), at.Index).Key("securityContext")
		context := r.source(path)
		capabilities := field.As[field.Map](context, "capabilities")
		escalation := path.Key("allowPrivilegeEscalation")
		drop := path.Key("capabilities", "drop")
		if v, _ := context.Get("allowPrivilegeEscalation"); v != false {
			r.add(escalation)
			return
		}
		if i := slices.Index(field.As[field.List](capabilities, "drop"), field.Value("ALL")); i >= 0 {
			drop = drop.Index(i)
		}
		all = append(all, escalation, drop, path.Key("capabilities", "add"), path.Key("seccompProfile", "type"), path.Key("runAsNonRoot"))
	}
	context := r.spec.Key("securityContext")
	r.add(append(all, context.Key("runAsNonRoot"), context.Key("seccompProfile", "type"), r.spec.Key("hostUsers"))...)
}

func (r *reads) source(path field.Path) field.Map {
	v, _ := r.in.Source(path)
	m, _ := v.(field.Map)
	return m
}
