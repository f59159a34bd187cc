package surroundings

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// Labels of Istio's that choose the revision which injects.
const (
	istioRev       = "istio.io/rev"
	istioInjection = "istio-injection"
	istioInject    = "sidecar.istio.io/inject"
)

// versionLabel has the version of what a chart installs.
const versionLabel = "app.kubernetes.io/version"

// defaultTag is the name of the revision without one, and of the tag that `istio-injection: enabled` stands for.
const defaultTag = "default"

// A plane is what one object states of a control plane of Istio.
type plane struct {
	*Neighbour
	kind     string // for words
	revision string // "" is the default one
	version  string // of Istio; "" is not stated
	// Of the injector: whether it rewrites, whether its values or the mesh's configuration have containers
	// wait for istio-proxy, and whether another hook replaces the one that waits.
	rewrites, native, valuesHold, meshHold certain.Certainty
	hasLifecycle                           bool
	auto                                   bool // native sidecars if all nodes can have them
	runs                                   bool // native is that of istiod itself
	uncaptured                             int  // the port that the redirection leaves; 0 is not stated
	sendsTo                                int  // the port where probes are sent, and where istio-proxy listens
	interception                           string
	root                                   string    // its root namespace; "" is not stated
	config                                 field.Map // of the injector: who gets a sidecar
}

func (p *plane) at() string { return p.words(p.kind) }

// An istioConfig is a ConfigMap of a control plane: that of the injector (istio-sidecar-injector-REV: `values`
// is JSON and `config` YAML), or that of the mesh (istio-REV: `mesh` is YAML).
type istioConfig struct {
	Neighbour
	Values string `json:"values"`
	Config string `json:"config"`
	Mesh   string `json:"mesh"`
	plane  plane
}

const injectorConfig = "istio-sidecar-injector"

func (c *istioConfig) complete() bool {
	c.plane = plane{Neighbour: &c.Neighbour, kind: "ConfigMap"}
	p := &c.plane
	name, isInjector := strings.CutPrefix(c.Name, injectorConfig)
	if !isInjector {
		name = strings.TrimPrefix(c.Name, "istio")
	}
	p.revision = revisionOf(cmp.Or(c.Labels.Get(istioRev), strings.TrimPrefix(name, "-")))
	p.version = c.Labels.Get(versionLabel)
	if !isInjector {
		m, err := yaml.MappingIn(c.Mesh)
		if c.Mesh == "" || err != nil {
			return false
		}
		p.readMesh(m)
		return true
	}
	values, err := yaml.MappingIn(c.Values)
	if c.Values == "" || err != nil {
		return false
	}
	p.readValues(values, certain.Never)
	p.config, _ = yaml.MappingIn(c.Config)
	return true
}

// revisionOf returns "" for the default revision, whose label is "default".
func revisionOf(label string) string {
	if label == defaultTag {
		return ""
	}
	return label
}

// readValues reads the values of Istio's chart, or what the chart makes of them for the injector.
// rewrites is what an absent rewriteAppHTTPProbe means: the charts from 1.24 on say true, and the injector false.
func (p *plane) readValues(values field.Map, rewrites certain.Certainty) {
	p.rewrites = switchOf(dig(values, "sidecarInjectorWebhook", "rewriteAppHTTPProbe"), rewrites)
	proxy, _ := dig(values, "global", "proxy").(field.Map)
	p.valuesHold = switchOf(dig(proxy, "holdApplicationUntilProxyStarts"), certain.Never)
	lifecycle, _ := dig(proxy, "lifecycle").(field.Map)
	p.hasLifecycle = len(lifecycle) > 0
	p.uncaptured = 15020
	if v := dig(proxy, "statusPort"); v != nil {
		p.uncaptured = portOf(v)
	}
	if v := dig(values, "pilot", "env", "ENABLE_NATIVE_SIDECARS"); v != nil {
		p.native, p.auto = nativeOf(v)
	}
}

// readMesh reads the configuration of the mesh.
func (p *plane) readMesh(m field.Map) {
	v, _ := dig(m, "defaultConfig").(field.Map)
	c := proxyConfigOf(v)
	p.meshHold = min(cmp.Or(c.Holds, certain.Never), c.Holds)
	if _, isSet := last(v, "holdApplicationUntilProxyStarts"); !isSet {
		p.meshHold = certain.Never
	}
	p.sendsTo = cmp.Or(c.StatusPort, 15020)
	p.interception = cmp.Or(c.Interception, "REDIRECT")
	p.root = textOf(dig(m, "rootNamespace"))
}

// nativeOf reads the env var ENABLE_NATIVE_SIDECARS of istiod (pilot/pkg/features/experimental.go): a word that
// it does not know is false.
func nativeOf(v field.Value) (native certain.Certainty, auto bool) {
	s := textOf(v)
	if on, isBool := v.(bool); isBool {
		s = strconv.FormatBool(on)
	}
	switch {
	case pod.IsVariable(s):
		return certain.Maybe, false
	case s == "auto":
		return certain.Maybe, true
	}
	on, _ := strconv.ParseBool(s)
	return certain.Of(on), false
}

// An istiod is a Deployment istiod-REV. Of its containers `discovery` has the settings.
type istiod struct {
	Neighbour
	Template struct {
		Spec struct {
			Containers []struct {
				Name    string      `json:"name"`
				Image   string      `json:"image"`
				Env     []envVar    `json:"env"`
				EnvFrom []field.Map `json:"envFrom"`
			} `json:"containers"`
		} `json:"spec"`
	} `json:"template"`
	plane plane
}

type envVar struct {
	Name      string    `json:"name"`
	Value     string    `json:"value"`
	ValueFrom field.Map `json:"valueFrom"`
}

func (d *istiod) complete() bool {
	d.plane = plane{Neighbour: &d.Neighbour, kind: "Deployment", runs: true}
	p := &d.plane
	inName := strings.TrimPrefix(strings.TrimPrefix(d.Name, "istiod"), "-")
	p.revision = revisionOf(cmp.Or(d.Labels.Get(istioRev), inName))
	for _, c := range d.Template.Spec.Containers {
		if c.Name != "discovery" {
			continue
		}
		_, tag, _ := strings.Cut(c.Image[strings.LastIndexByte(c.Image, '/')+1:], ":")
		p.version = cmp.Or(d.Labels.Get(versionLabel), tag)
		i := slices.IndexFunc(c.Env, func(e envVar) bool { return e.Name == "ENABLE_NATIVE_SIDECARS" })
		switch {
		case i >= 0 && c.Env[i].ValueFrom == nil:
			p.native, p.auto = nativeOf(c.Env[i].Value)
		case i < 0 && len(c.EnvFrom) == 0:
			p.native, p.auto = nativeByVersion(p.version)
		}
		return true
	}
	return false
}

// nativeByVersion returns the default of ENABLE_NATIVE_SIDECARS: false to 1.26, and then auto.
func nativeByVersion(version string) (native certain.Certainty, auto bool) {
	minor, known := MinorOf(version)
	switch {
	case !known || minor == 0: // a build of developers is 1.0
		return certain.Maybe, false
	case minor < 27:
		return certain.Never, false
	}
	return certain.Maybe, true
}

// MinorOf returns the minor number of a version 1.MINOR, of Kubernetes or Istio, also if more follows as in the tag of an
// image. A build of Istio's developers is 1.0.
func MinorOf(version string) (minor int, known bool) {
	major, minor, known := releaseOf(version)
	return minor, known && major == 1
}

// releaseOf returns the first two numbers of a version, also if more follows.
func releaseOf(version string) (major, minor int, known bool) {
	first, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	major, err := strconv.Atoi(first)
	minor, inMinor := strconv.Atoi(rest[:end])
	return major, minor, err == nil && inMinor == nil
}

// A node says whether native sidecars can run on it.
type node struct {
	Neighbour
	NodeInfo struct {
		KubeletVersion string `json:"kubeletVersion"`
	} `json:"nodeInfo"`
}

// nativeOnNodes returns what auto means: that every node has Kubernetes 1.33 or newer (DetectNativeSidecar
// in pkg/kube/inject/inject.go). It is known only if all nodes are.
func nativeOnNodes(s *Surroundings) certain.Certainty {
	if all := nodes.near(s); s.complete(nodes.Kind) && len(all) > 0 {
		return certain.Of(!slices.ContainsFunc(all, func(n node) bool {
			minor, known := MinorOf(n.NodeInfo.KubeletVersion)
			return !known || minor < 33
		}))
	}
	return certain.Maybe
}

// Installed is what the objects of Istio's installations state for a pod: those that are near, and
// of far ones only whether their injector rewrites. It decides verdicts and no plans: what is
// written must not depend on an installation that happens to lie in the same stream.
type Installed struct {
	Injected Stated // by the webhooks, or as the pod's own controller shows
	// InjectsHere is set if other pods of the namespace have the sidecar without asking for it.
	InjectsHere Stated
	Rewrites    Stated
	Native      Stated
	Holds       func(annotation certain.Certainty) Stated // with what the pod's ProxyConfig says
	// Uncaptured is the port that the redirection leaves to istio-proxy, and SendsTo the one where
	// the injector sends probes, and where istio-proxy listens; 0 is not stated.
	Uncaptured, SendsTo int
	// Version is that of Istio, and VersionAt the object that states it; "" is not stated.
	Version, VersionAt string
	// FarRewrites names the one installation in another folder whose injector rewrites; "" if there
	// is none, or there are several.
	FarRewrites string
}

// Istio returns what the installations state for pods in a Namespace with these labels, if they are known. inject is
// the value of the pods' switch for injection, a label or else an annotation.
func (s *Surroundings) Istio(pods *Pods, inject string, namespace field.KeyValues, known bool) (x Installed) {
	x.Holds = func(certain.Certainty) Stated { return Stated{} }
	if s.facts == nil {
		return x
	}
	ask := asked{pods: pods, inject: inject, namespace: namespace.Note(nil), known: known}
	chosen := s.injecting(&ask, &x.Injected)
	own := chosen.of(planes(s, near))
	x.combine(s, own)
	if x.Injected.Is == certain.Always {
		x.require(own, &ask)
	}
	x.hear(s, &ask, chosen)
	if x.Rewrites.At == "" && len(own) == 0 {
		far := slices.DeleteFunc(planes(s, far), func(p *plane) bool { return p.rewrites == certain.Maybe })
		if far = chosen.of(far); len(far) == 1 && far[0].rewrites == certain.Always {
			x.FarRewrites = far[0].at()
		}
	}
	return x
}

// A Revision is a control plane of Istio, and what its objects state for pods that it injects.
type Revision struct {
	Name string // "" is the default one
	Installed
	// Root is the root namespace of its mesh, and RootAt who says so; "" is not stated.
	Root, RootAt string
}

// Revisions returns the revisions of which an object states something, by name, wherever it lies, and whether the
// cluster certainly has no webhook that injects Istio's sidecar.
func (s *Surroundings) Revisions() (all []Revision, noWebhook bool) {
	byName := make(map[string][]*plane)
	for _, p := range planes(s, anyhow) {
		byName[p.revision] = append(byName[p.revision], p)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		r := Revision{Name: name}
		r.combine(s, byName[name])
		for _, p := range byName[name] {
			if p.root != "" {
				r.Root, r.RootAt = p.root, p.at()
			}
		}
		all = append(all, r)
	}
	return all, s.complete(istioHooks.Kind) && len(istioHooks.near(s)) == 0
}

// planes returns what the objects state that lie in one way.
func planes(s *Surroundings, where lie) (all []*plane) {
	for _, c := range istioConfigs.in(s, where) {
		c.plane.Neighbour = &c.Neighbour
		all = append(all, &c.plane)
	}
	for _, d := range istiods.in(s, where) {
		d.plane.Neighbour = &d.Neighbour
		all = append(all, &d.plane)
	}
	for _, d := range istioDesireds.in(s, where) {
		d.plane.Neighbour, d.plane.kind = &d.Neighbour, d.Neighbour.Kind
		all = append(all, &d.plane)
	}
	for _, d := range releases.in(s, where) {
		for _, p := range d.planes {
			p.Neighbour, p.kind = &d.Neighbour, d.Neighbour.Kind
			all = append(all, &p)
		}
	}
	return all
}

// combine joins what objects state of the revisions that may inject: a fact holds if it holds in each.
func (x *Installed) combine(s *Surroundings, all []*plane) {
	var valuesHold, meshHold Stated
	ports := [2]map[int]bool{{}, {}}
	hasLifecycle := false
	x.Version, x.VersionAt = versionOf(all)
	isRunning := func(p *plane) bool { return p.runs }
	for _, p := range all {
		x.Rewrites.add(p.rewrites, p.at())
		valuesHold.add(p.valuesHold, p.at())
		meshHold.add(p.meshHold, p.at())
		hasLifecycle = hasLifecycle || p.hasLifecycle
		ports[0][p.uncaptured], ports[1][p.sendsTo] = true, true
		if native := p.native; p.runs || !slices.ContainsFunc(all, isRunning) {
			if p.auto {
				native = nativeOnNodes(s)
			}
			x.Native.add(native, p.at())
		}
	}
	x.Uncaptured, x.SendsTo = onlyOf(ports[0]), onlyOf(ports[1])
	x.Holds = func(annotation certain.Certainty) Stated {
		mesh := meshHold
		if annotation != certain.Maybe {
			mesh = Stated{annotation, "the annotation `proxy.istio.io/config`"}
		}
		switch {
		case hasLifecycle:
			return Stated{certain.Never, valuesHold.At}
		case valuesHold.Is == certain.Always:
			return valuesHold
		case mesh.Is == certain.Always && valuesHold.Is == certain.Never:
			return mesh
		case mesh.Is == certain.Never && valuesHold.Is == certain.Never:
			return valuesHold
		}
		return Stated{}
	}
}

// versionOf returns the version of control planes, and which states it; "" if none is stated, or they differ in more than the patch.
func versionOf(all []*plane) (version, at string) {
	for _, p := range all {
		minor, known := MinorOf(p.version)
		old, _ := MinorOf(version)
		switch {
		case !known || minor == 0: // a build of developers is 1.0
		case version != "" && minor != old:
			return "", ""
		default:
			version, at = p.version, p.at()
		}
	}
	return version, at
}

// onlyOf returns the one port besides 0; 0 if there is none, or there are several.
func onlyOf(ports map[int]bool) (port int) {
	for p := range ports {
		switch {
		case p == 0:
		case port != 0:
			return 0
		default:
			port = p
		}
	}
	return port
}
