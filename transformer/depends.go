package transformer

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/resources"
)

// Reads names what a plan was made from, by paths from the object's root: an object that has the
// same values there, or has nothing where this one has nothing, gets the same plan.
type Reads struct {
	Fields []field.Path
	// Names are the lists of containers of which the names matter, and how many there are.
	Names []field.Path
	// Services is set if the Services of the namespace matter, LimitRanges and Sidecars if these do.
	Services, LimitRanges, Sidecars bool
	// Metadata is set if labels and annotations matter, also those of the Namespaces.
	Metadata bool
	// Platform is set if it matters whether an object is among the manifests that only OpenShift has.
	Platform bool
}

// Reads returns what the plan of an input was made from. A pod template without a probe or hook
// that opens a connection has nothing to rewrite, so that only its containers matter.
func (p *Planner) Reads(in *Input, plan *Plan) Reads {
	r := &reads{
		in:   in,
		opts: &p.opts,
		plan: plan,
		spec: in.SpecPath(),
	}
	r.containers()
	if !r.dials {
		return r.Reads
	}
	r.metadata()
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
}

func (r *reads) add(paths ...field.Path) {
	r.Fields = append(r.Fields, paths...)
}

func (r *reads) containers() {
	r.Names = []field.Path{r.spec.Key("initContainers"), r.spec.Key("containers")}
	for at, c := range r.in.Template.Spec.All() {
		path := r.spec.Item(at.List(), at.Index)
		if at.Init {
			r.add(path.Key("restartPolicy"))
		}
		switch {
		case r.isSpecial(c):
			r.add(path)
			r.dials = true
		case !at.Init || pod.IsSidecar(at, c):
			r.probes(path, c)
		}
	}
}

// isSpecial reports whether a container is, or may be, a mesh's own or one of ours, of which any
// field may matter.
func (r *reads) isSpecial(c *pod.Container) bool {
	if c.Name == istioInitName ||
		c.Name == r.opts.ProbeProxy.Name ||
		c.Image == autoImage {
		return true
	}
	return slices.ContainsFunc(
		serviceMeshes,
		func(d *serviceMesh) bool { return d.proxy == c.Name },
	) ||
		len(c.EnvVars(prober.EnvName)) > 0
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
		} else if r.handler(at, &x.probe.Handler) {
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
			r.handler(at, x.hook)
		}
	}
}

// handler adds the handlers of a probe or hook, and reports whether one opens a connection. If
// none does, it only matters that none comes.
func (r *reads) handler(path field.Path, h *pod.Handler) (dials bool) {
	dials = h.HTTPGet != nil ||
		h.TCPSocket != nil ||
		h.GRPC != nil
	r.dials = r.dials || dials
	for _, kind := range pod.HandlerKinds() {
		if dials || slices.Contains(pod.DialingHandlers(), kind) {
			r.add(path.Key(kind))
		}
	}
	return dials
}

// metadata adds the labels and annotations by which the mesh is found, and those of the mesh. If
// nothing is rewritten, that may be for any mesh's sake. One that was rewritten before may have been
// in another mesh.
func (r *reads) metadata() {
	r.Metadata = true
	keys := meshKeys
	if len(r.plan.Edits) > 0 && !r.plan.WasRewritten {
		ofOthers := func(k metaKey) bool {
			return k.mesh != "" && k.mesh != r.mesh()
		}
		keys = slices.DeleteFunc(slices.Clone(keys), ofOthers)
	}
	if metadata := r.in.MetadataPath(); metadata != nil {
		for _, k := range keys {
			r.add(metadata.Key(k.kind, k.key))
		}
		for _, m := range marks { // a mark in the wrong place takes the pod out of every mesh
			r.add(metadata.Key(otherThan(m.onPods), m.key))
		}
		if len(metadata) == 1 {
			return
		}
	}
	for _, key := range OptOutKeys() {
		r.add(field.NewPath("metadata", "annotations", key))
	}
}

// mesh returns the name of the mesh for which the template is rewritten.
func (r *reads) mesh() string {
	for _, d := range serviceMeshes {
		if d.title == r.plan.Answer.Mesh {
			return d.name
		}
	}
	return istioData.name
}

// podSpec adds what takes a pod out of every mesh, and where its probes go.
func (r *reads) podSpec() {
	for _, key := range []string{"hostNetwork", "restartPolicy", "os", "runtimeClassName"} {
		r.add(r.spec.Key(key))
	}
	for _, key := range pod.WindowsLabels() {
		r.add(r.spec.Key("nodeSelector", key))
	}
	r.add(r.spec.Key("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"))
	for at, c := range r.in.Template.Spec.All() {
		if !r.isSpecial(c) {
			r.add(r.spec.Item(at.List(), at.Index).Key("ports"))
		}
	}
}

// answerer adds what decides how the container looks that answers, and whether one may.
func (r *reads) answerer() {
	context := r.spec.Key("securityContext")
	switch r.plan.Answer.By {
	case AnsweredByProbeProxy:
		for _, key := range []string{"runAsUser", "runAsGroup", appArmorField} {
			r.add(context.Key(key))
		}
		containers := r.in.Template.Spec.All()
		r.add(resources.Deciding(r.spec, containers, r.in.Around.LimitRanges, r.source)...)
		r.LimitRanges = true
		r.Platform = r.opts.Platform == PlatformAuto
		r.Services = r.mesh() == kuma.name
	case AnsweredByIstioProxy:
		r.add(context, r.spec.Key("hostUsers"))
		for at := range r.in.Template.Spec.All() {
			r.add(r.spec.Item(at.List(), at.Index).Key("securityContext"))
		}
	}
	r.Services = r.Services || r.opts.AnsweredBy == AnsweredByApp
	r.Sidecars = r.mesh() == istioData.name
	if r.Services || r.Sidecars && r.in.Around.HasSidecars() {
		if metadata := r.in.MetadataPath(); metadata != nil {
			r.add(metadata.Key("labels"))
		}
	}
}

func (r *reads) source(path field.Path) field.Map {
	v, _ := r.in.Source(path)
	m, _ := v.(field.Map)
	return m
}

// OptOutKeys returns the annotations by which an object, its pods or its Namespace opt out.
func OptOutKeys() []string { return []string{ownRewrite, ownSkipContainers} }

// A metaKey is a label or an annotation of a pod template that some plan depends on.
type metaKey struct {
	mesh string // to which it matters; "" if to all, since it may say which mesh it is
	kind string // labels or annotations
	key  string
}

// meshKeys are those of pod templates.
var meshKeys = slices.Concat(
	metaKeys("", "labels", istioInject, istioRevision, istioDataplaneMode, kumaInject),
	metaKeys("", "annotations",
		ownRewrite, ownSkipContainers, OriginalsAnnotation,
		istioInject, linkerdInject, consulInject, osmDomain+osmInject, fsmDomain+osmInject,
		kumaProbeProxyPort, kumaVirtualProbePort, consulOriginalPod, consulInjected),
	metaKeys(istioData.name, "annotations",
		istioRewrite, istioStatusPort, istioNative, istioIncludePorts, istioExcludePorts, istioProxyConfig,
		istioInterception, istioNetBind, istioTemplates, istioInjected),
	metaKeys(linkerd.name, "annotations", linkerd.excluded.key),
	metaKeys(kuma.name, "annotations", kuma.excluded.key, kumaGateway, "kuma.io/virtual-probes"),
	metaKeys(consul.name, "annotations", consul.excluded.key, consul.off.key, consulTransparent),
	metaKeys(openServiceMesh.name, "annotations", openServiceMesh.excluded.key),
	metaKeys(flomesh.name, "annotations", flomesh.excluded.key),
)

func metaKeys(mesh, kind string, keys ...string) (all []metaKey) {
	for _, key := range keys {
		all = append(all, metaKey{mesh, kind, key})
	}
	return all
}

// NamespaceReads are the fields of a Namespace that plans depend on.
func NamespaceReads() []field.Path {
	labels := field.NewPath("metadata", "labels")
	annotations := field.NewPath("metadata", "annotations")
	all := []field.Path{
		labels.Key(istioInjection),
		labels.Key(istioRevision),
		labels.Key(istioDataplaneMode),
		labels.Key(consulTransparent),
	}
	for _, p := range []passiveProxy{linkerd, kuma, consul, openServiceMesh, flomesh} {
		for _, l := range p.excludedNamespaceLabels {
			all = append(all, labels.Key(l.Key))
		}
		all = append(all, annotations.Key(p.excluded.key))
	}
	for _, k := range meshKeys {
		if k.mesh == "" && k.kind == "annotations" {
			all = append(all, annotations.Key(k.key))
		}
	}
	for _, m := range marks {
		all = append(all, field.NewPath("metadata", otherThan(m.onSpaces), m.key))
	}
	return append(all, labels.Key(kumaInject))
}

// WatchedKeys returns the labels and annotations that [Planner.Reads] and [NamespaceReads] name.
func WatchedKeys() []string {
	var keys []string
	for _, k := range meshKeys {
		keys = append(keys, k.key)
	}
	for _, path := range NamespaceReads() {
		keys = append(keys, path[len(path)-1].Key)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
