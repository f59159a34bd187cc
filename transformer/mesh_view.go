package transformer

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/resources"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// A setting is the options next to one mesh: what is the same for all templates.
type setting struct {
	opts *Options
	mesh *serviceMesh
	// The container probe-proxy without what a template adds to it, made when it is needed.
	sidecar, ordinary onceMap
}

// An onceMap is a mapping that is made once.
type onceMap struct {
	sync.Once
	m field.Map
}

// answersOn returns the port on which probe-proxy answers.
func (s *setting) answersOn() int {
	return cmp.Or(s.mesh.port, s.opts.Port)
}

// listensOn reports whether an answerer listens on a port.
func (s *setting) listensOn(a answerer, port int) bool {
	switch {
	case a.port == port:
		return true
	case !s.mesh.osmForm:
		return false
	case a.who == AnsweredByEnvoy:
		return port != prober.OSMHealthcheckPort && slices.Contains(prober.OSMPorts(), port)
	}
	return a.who == AnsweredByProbeProxy && slices.Contains(prober.OSMPorts(), port)
}

// A view is a template in a setting: all that a mesh's profile sees.
type view struct {
	*template
	*setting
	userAnnotations field.Noted // without what was added for past answerers in any mesh
}

func newView(s *setting, t *template, user field.Noted) *view {
	return &view{template: t, setting: s, userAnnotations: user}
}

// native reports whether probe-proxy must be a native sidecar: as the options
// say, unless the kind's API has none.
func (v *view) native() bool {
	return v.opts.ProbeProxy.Placement == PlacementNative && !v.in.Shape.NoNativeSidecars
}

// firstIsApp reports whether the first container is taken for the app.
func (v *view) firstIsApp() bool {
	return v.in.Shape.FirstIsApp || v.mesh.firstIsApp
}

func (v *view) onOpenShift() bool {
	if p := v.opts.Platform; p == PlatformOpenShift || p == PlatformKubernetes {
		return p == PlatformOpenShift
	}
	return surroundings.IsOpenShift(v.in.APIVersion, v.in.Kind) || v.in.Around.IsOpenShift()
}

// sidecarContext returns the securityContext of probe-proxy, without what OpenShift has to
// choose. Its constraint restricted-v2 refuses an uid outside of the namespace's range; the
// image's user is numeric, so runAsNonRoot holds wherever nothing is chosen. anyuid refuses
// every seccompProfile, and restricted-v2 gives one to the pod. Our uid stays if the pod has
// ids under which probe-proxy cannot run; whatever constraint admits those admits ours. An
// AppArmor profile that the pod has from its node is made for the app and may let no other
// program run.
func (v *view) sidecarContext() field.Map {
	context := sidecarDefaults(cmp.Or(v.mesh.sidecarUser, nobody))
	if v.onOpenShift() {
		unfit := func(id *int64) bool {
			return id != nil && (*id == 0 || *id == v.mesh.uid)
		}
		pod := v.in.Template.Spec.SecurityContext
		chooses := pod == nil || !unfit(pod.RunAsUser) && !unfit(pod.RunAsGroup)
		context = slices.DeleteFunc(context, func(e field.Entry) bool {
			return chooses && (e.Key == "runAsUser" || e.Key == "runAsGroup") || e.Key == "seccompProfile"
		})
	}
	if profile := v.sourceMap(v.spec.Key("securityContext", appArmorField)); field.As[string](profile, "type") == "Localhost" {
		context = append(
			context,
			field.Entry{
				Key:   appArmorField,
				Value: field.Map{{Key: "type", Value: "RuntimeDefault"}},
			},
		)
	}
	return field.Merge(context, v.opts.ProbeProxy.SecurityContext)
}

// readResources returns the requirements of the template's own containers. A proxy whose
// resources the mesh's injector fills in is not counted.
func (v *view) readResources() *resources.Pod {
	filledLater := func(c *pod.Container) bool {
		return c.Image == autoImage && v.mesh.isProxy(c)
	}
	return resources.Read(v.spec, v.containers(), v.in.Around.Ranges(), filledLater, v.sourceMap)
}

const appArmorField = "appArmorProfile"

// switchIn returns the membership that a switch of injection makes: an annotation or a
// label, by kind, of the template or else of its Namespace. read returns what a
// value switches; ok and on are false for one that the mesh does not know.
func (t *template) switchIn(kind, key, allowed string, read func(value string) (on, ok bool)) membership {
	values := func(m *field.NotedMetadata) field.Noted {
		if kind == "labels" {
			return m.Labels
		}
		return m.Annotations
	}
	ns, _ := t.namespace()
	v, own := values(&t.ofPods).Lookup(key)
	if !own {
		if v = values(ns).Get(key); v == "" {
			return membership{}
		}
	}
	on, ok := read(v)
	m := membership{injected: certain.Of(on), at: entryWords(kind, key, v)}
	switch {
	case own && !ok:
		m.unclear = new(metadataFinding(
			reason.InjectUnclear,
			t.metadata.Key(kind, key),
			v,
			"must be %s",
			allowed,
		).
			Why("With another value, the mesh injects nothing or refuses the pod"))
	case own && !on:
		m.off = new(metadataFinding(
			reason.InjectionOff,
			t.metadata.Key(kind, key),
			v,
			"turns off injection, so the mesh does not capture this pod",
		))
	case !own && !ok:
		return membership{}
	case !own && !on:
		m.off = new(NewFinding(reason.NamespaceNotInjected, nil, "Namespace %q has %s, so the mesh does not capture this pod", ns.Name, m.at))
	}
	if !own {
		m.at += " of Namespace \"" + ns.Name + "\""
	}
	return m
}

// isEnabled reads the value of a switch; ok is false if it is none.
func isEnabled(v string) (on, ok bool) {
	on = slices.Contains([]string{"enabled", "true", "yes"}, v)
	return on, on || slices.Contains([]string{"disabled", "false", "no"}, v)
}

// entryWords words an entry of labels or annotations, by kind.
func entryWords(kind, key, value string) string {
	return "the " + strings.TrimSuffix(kind, "s") + " `" + key + ": " + value + "`"
}

// memberBy returns the membership that a mesh's proxy in the template makes.
func memberBy(proxy *pod.Container) membership {
	return membership{
		injected: certain.Always,
		byName:   true,
		at:       "the container `" + proxy.Name + "`",
	}
}

// An optOutSource is metadata that may hold an annotation of ours.
type optOutSource struct {
	*field.NotedMetadata
	path field.Path // of the metadata; nil of the Namespace's
	what string     // what it takes out of the rewriting
}

// switchedOff returns a finding if a boolean annotation is false. A value that
// is no boolean is an error, since its author wanted something other than the
// default.
func (s optOutSource) switchedOff(key string, why reason.Key) (off, invalid *Finding) {
	v, set := s.Annotations.Lookup(key)
	if !set {
		return nil, nil
	}
	var f Finding
	switch on, err := strconv.ParseBool(v); {
	case err != nil:
		if s.path == nil {
			f = NewFinding(reason.AnnotationInvalid, nil, "annotation `%s` of Namespace %q is %q, neither true nor false", key, s.Name, v)
		} else {
			f = metadataFinding(reason.AnnotationInvalid, s.path.Key("annotations", key), v, "is neither true nor false")
		}
		return nil, &f
	case on:
		return nil, nil
	case s.path == nil:
		f = NewFinding(why, nil, "Namespace %q has the annotation `%s: %s`", s.Name, key, v)
	default:
		f = metadataFinding(why, s.path.Key("annotations", key), v, "opts %s out", s.what)
	}
	return &f, nil
}

// runsBefore reports whether, in a world in which the mesh's proxy is in the pod, an
// answerer runs when the kubelet makes a rewritten probe for the first time. This
// matters for native sidecars, since the pod waits for their startup probes and postStart
// hooks and would wait for ever, and liveness probes restart them, and for postStart
// hooks of any container.
func (v *view) runsBefore(w world.World, s *site, a answerer) bool {
	at, proxy := v.proxyOf(v.mesh.isProxy)
	switch {
	case a.who == AnsweredByApp || !s.atStart():
		return true
	case a.who == AnsweredByProbeProxy: // an ordinary probe-proxy would have to be first
		return v.native() || !s.at.Init && !v.firstIsApp()
	case proxy != nil && proxy.Image != autoImage: // the injector neither replaces nor moves it
		return s.at.StartsAfter(at)
	}
	return w.Native || !s.at.Init && w.Holds
}

// lateIn returns the fact that decides whether an answerer runs when the kubelet makes
// the rewritten probe; "" if it does in every world.
func (v *view) lateIn(f *world.Facts, s *site, a answerer) string {
	if !s.atStart() {
		return "" // nearly always
	}
	var fates []world.WorldFate
	for _, w := range f.Worlds() {
		x := world.WorldFate{World: w, Fate: world.Spared}
		if (w.Injected || a.who != AnsweredByIstioProxy) &&
			!v.runsBefore(w, s, a) {
			x.Outcome = world.Fails
		}
		fates = append(fates, x)
	}
	worst, unless := f.VerdictOn(fates)
	if worst == world.Spared {
		return ""
	}
	return cmp.Or(unless, "other containers do not wait for it")
}

// inbound returns what the Sidecars of Istio's say of a port.
func (v *view) inbound(port int) surroundings.Inbound {
	if v.mesh.name != istioData.name || port == 0 {
		return surroundings.Inbound{Binds: certain.Never}
	}
	mode, _ := istioMode(v.annotations())
	return v.in.Around.Inbound(v.opts.Istio.RootNamespace, v.pods(), port, mode != "NONE")
}

// localAddress returns the first address of the loopback interface where, by a Sidecar, an app listens for a probe
// or hook; "" if all listen on the pod's own. It is what the one probe-proxy of the pod asks.
func (v *view) localAddress(sites []*site) string {
	for _, s := range sites {
		if local := v.inbound(s.port).Local; local != "" && s.original.Dials() {
			return local
		}
	}
	return ""
}

// mtls returns the modes of mutual TLS that may hold for a port.
func (v *view) mtls(port int) []surroundings.MTLSMode {
	o := &v.opts.Istio
	return v.in.Around.MTLS(o.RootNamespace, v.pods(), port, o.MTLS)
}

// knownMTLS says which mode of mutual TLS the manifests demand for the probes' ports.
func (v *view) knownMTLS() (words []string) {
	for _, s := range v.sites {
		if !s.current.Dials() {
			continue
		}
		var modes []string
		said := false
		for _, m := range v.mtls(s.dialed()) {
			said = said || m.At != ""
			modes = append(modes, m.Mode+": "+cmp.Or(m.At, "by default"))
		}
		if w := "mTLS " + strings.Join(modes, ", or "); said && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return words
}

// checkMisplaced warns of a pod's annotation that the workload has instead of its template.
func (v *view) checkMisplaced(key string, report func(Finding)) {
	if value, set := v.in.Workload.Annotations.Lookup(key); set && v.hasOwnMetadata() && v.metadata != nil { // it only warns
		report(metadataFinding(reason.AnnotationMisplaced, field.NewPath("metadata", "annotations").Key(key), value,
			"has no effect here: Istio reads this annotation only on the pod template").
			Fix("Move it to `%s`", v.metadata.Key("annotations")))
	}
}

// injectionCure words how to declare whether Istio injects, where nothing does.
func (v *view) injectionCure() string {
	if set, _ := v.in.Around.SidecarSet(v.pods()); set != nil {
		return "see which pods " + set.Words() + " selects"
	}
	ns, known := v.namespace()
	inNamespace := ns.Labels.Get(istioInjection)
	switch _, value := istioInjectSwitch(v); {
	case pod.IsVariable(value), pod.IsPlaceholder(v.in.NamespaceName), pod.IsVariable(inNamespace):
		return "substitute the variables first"
	case v.in.NamespaceName == "":
		return "set `istio.injectedNamespaces: [\"*\"]`, or `metadata.namespace` and its Namespace"
	case known && v.asksByAnnotation():
		return "OpenShift Service Mesh 2 injects by the pod's annotation `" + istioInject + "`; if this is one, set `istio.injectedNamespaces`"
	case known:
		return "set the label `" + istioInjection + "` of its Namespace, or `istio.injectedNamespaces`"
	}
	return "add its Namespace to the input, or set `istio.injectedNamespaces`"
}

// portFix returns what to do about a port that is taken. The port
// on which istio-proxy answers is a fact of the mesh, which another `port` would only deny.
func (v *view) portFix() string {
	const move = "Move the app to another port"
	switch {
	case v.opts.AnsweredBy == AnsweredByEnvoy:
		return move + ". If this is the Envoy that answers, name it `" + envoyName + "`"
	case v.mesh.port != 0:
		return move
	case v.opts.AnsweredBy == AnsweredByIstioProxy:
		return move + ", or set `answeredBy: probe-proxy`"
	}
	return move + ", or set another `port` in the functionConfig"
}

// nobody is the uid and gid of probe-proxy, as in distroless images.
const nobody = 65532

// sidecarDefaults returns the default securityContext of the container for a uid, which
// complies with "restricted". The options are merged over it.
func sidecarDefaults(user int) field.Map {
	return append(
		field.Map{{Key: "runAsUser", Value: user}, {Key: "runAsGroup", Value: nobody}},
		sidecarRestricted...,
	)
}

var sidecarRestricted = slices.Insert(
	slices.Clone(restrictedFields),
	1,
	field.Entry{Key: "readOnlyRootFilesystem", Value: true},
)
