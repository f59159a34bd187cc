package surroundings

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// A meshControl is a Deployment of a control plane, whose containers have the settings of its mesh:
// kuma-control-plane, linkerd-destination, or Consul's connect-injector, which is behind a release's name.
type meshControl struct {
	Neighbour
	Template struct {
		Spec struct {
			Containers []struct {
				Name    string   `json:"name"`
				Command []string `json:"command"`
				Args    []string `json:"args"`
				Env     []envVar `json:"env"`
			} `json:"containers"`
		} `json:"spec"`
	} `json:"template"`
}

const consulInjector = "connect-injector"

func (d *meshControl) complete() bool {
	return d.Name == "linkerd-destination" || d.Name == "kuma-control-plane" || strings.HasSuffix(d.Name, consulInjector)
}

// flag returns the value of a flag of one of the containers, in its arguments or in the script of a shell.
func (d *meshControl) flag(name string) (value string, set bool) {
	for _, c := range d.Template.Spec.Containers {
		for _, text := range append(slices.Clone(c.Command), c.Args...) {
			for word := range strings.FieldsSeq(text) {
				if v, has := strings.CutPrefix(strings.TrimLeft(word, "-"), name+"="); has {
					value, set = strings.Trim(v, `"'`), true
				}
			}
		}
	}
	return value, set && !pod.IsVariable(value)
}

// env returns the value of an env var of one of the containers; a variable's is not known.
func (d *meshControl) env(name string) (value string, set bool) {
	for _, c := range d.Template.Spec.Containers {
		for _, e := range c.Env {
			if e.Name == name && e.ValueFrom == nil {
				value, set = e.Value, true
			}
		}
	}
	return value, set && !pod.IsVariable(value)
}

// A meshConfigMap has the settings of a mesh: linkerd-config (`values`) or kuma-control-plane-config (`config.yaml`).
type meshConfigMap struct {
	Neighbour
	Values string `json:"values"`
	Config string `json:"config.yaml"`
	read   field.Map
}

func (c *meshConfigMap) complete() bool {
	var err error
	c.read, err = yaml.MappingIn(cmp.Or(c.Values, c.Config))
	return err == nil
}

// A kumaMesh is a Mesh of Kuma's. Without a backend in `mtls` its proxies accept everybody.
type kumaMesh struct {
	Neighbour
	MTLS struct {
		EnabledBackend string `json:"enabledBackend"`
	} `json:"mtls"`
}

// A kumaTLS is a MeshTLS of Kuma's, which can make a mesh accept everybody.
type kumaTLS struct{ Neighbour }

// A consulDefaults is a ServiceDefaults or the ProxyDefaults of Consul's.
type consulDefaults struct {
	Neighbour
	Mode string `json:"mutualTLSMode"`
}

// An osmConfig is the MeshConfig of Open Service Mesh.
type osmConfig struct {
	Neighbour
	Traffic struct {
		Excluded []int `json:"inboundPortExclusionList"`
	} `json:"traffic"`
}

// A Setting is a text that an object of a mesh's installation states, and where; At is "" if none does, or if two
// objects contradict each other.
type Setting struct{ Value, At string }

func settingOf(all []Setting) (x Setting) {
	for _, s := range all {
		if x.At != "" && x.Value != s.Value {
			return Setting{}
		}
		x = s
	}
	return x
}

// Linkerd returns a setting of Linkerd by the annotation that a pod can have instead of it.
func Linkerd(s *Surroundings, annotation string) Setting {
	paths := map[string][]string{
		"config.linkerd.io/default-inbound-policy":               {"proxy", "defaultInboundPolicy"},
		"config.linkerd.io/opaque-ports":                         {"proxy", "opaquePorts"},
		"config.linkerd.io/proxy-require-identity-inbound-ports": {"proxy", "requireIdentityOnInboundPorts"},
		"config.linkerd.io/skip-inbound-ports":                   {"proxyInit", "ignoreInboundPorts"},
	}
	var all []Setting
	if annotation == "config.linkerd.io/default-inbound-policy" {
		for _, d := range meshControls.near(s) {
			if v, set := d.flag("default-policy"); set && d.Name == "linkerd-destination" {
				all = append(all, Setting{v, d.words("Deployment")})
			}
		}
	}
	path := paths[annotation]
	for _, c := range meshConfigMaps.near(s) {
		if text, known := scalarOf(dig(c.read, path...)); c.Name == "linkerd-config" && known && len(all) == 0 {
			all = append(all, Setting{text, c.words("ConfigMap")})
		}
	}
	if isInstalled(s, "linkerd-destination", "linkerd-config") {
		return settingOf(all)
	}
	for u, at := range chartsOf(s, linkerdChart) {
		if text, known := scalarOf(dig(u.values, path...)); known {
			all = append(all, Setting{text, at})
		}
	}
	return settingOf(all)
}

// isInstalled reports whether an object is near that a mesh's chart makes, by the end of its name: it shows what the
// values of a release have become.
func isInstalled(s *Surroundings, names ...string) bool {
	isOne := func(o *Neighbour) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(o.Name, name) })
	}
	return slices.ContainsFunc(meshControls.near(s), func(d meshControl) bool { return isOne(&d.Neighbour) }) ||
		slices.ContainsFunc(meshConfigMaps.near(s), func(c meshConfigMap) bool { return isOne(&c.Neighbour) })
}

// A Kuma is what the objects of Kuma's installation state.
type Kuma struct {
	Rewrites, Virtual, Native Stated
	// MTLS is about the mesh of the pods.
	MTLS Stated
}

// Env vars of Kuma's control plane.
const (
	kumaPort    = "KUMA_RUNTIME_KUBERNETES_APPLICATION_PROBE_PROXY_PORT"
	kumaVirtual = "KUMA_RUNTIME_KUBERNETES_VIRTUAL_PROBES_ENABLED"
	kumaNative  = "KUMA_EXPERIMENTAL_SIDECAR_CONTAINERS"
)

// isPort reports whether a text is a port, and not the 0 that turns something off.
func isPort(s string) certain.Certainty { return certain.Of(strings.Trim(s, "0") != "") }

// A kumaValues has the values of Kuma's chart (deployments/charts/kuma).
type kumaValues struct {
	values, control field.Map // all, and those of the control plane
	config          field.Map // its file
	isOpen          bool      // other values may set an env var of the control plane
}

func kumaValuesOf(u *chartUse) (x kumaValues) {
	x.values, x.isOpen = u.values, u.isOpen
	if u.chart == kongChart {
		x.values, x.isOpen = lastOf[field.Map](u.values, kumaChart), true
	}
	x.control = lastOf[field.Map](x.values, "controlPlane")
	known := false
	x.config, known = mappingOf(dig(x.control, "config"))
	x.isOpen = x.isOpen || !known || dig(x.control, "envVarEntries") != nil || dig(x.control, "secrets") != nil
	return x
}

// fact returns what an env var says, which wins, else what the other values do.
func (x *kumaValues) fact(env string, of func(string) certain.Certainty, other certain.Certainty) certain.Certainty {
	v, set := last(lastOf[field.Map](x.control, "envVars"), env)
	text, known := scalarOf(v)
	switch {
	case known:
		return of(text)
	case set, x.isOpen:
		return certain.Maybe
	}
	return other
}

// readChart reads what a release of Kuma's chart states. A control plane for other zones or for virtual machines injects
// no pods.
func (k *Kuma) readChart(u *chartUse, at string) {
	x := kumaValuesOf(u)
	if textOf(dig(x.control, "mode")) == "global" || textOf(dig(x.control, "environment")) == "universal" {
		return
	}
	byDefault := kumaDefaults(u.version)
	if port, isSet := dig(x.config, "runtime", "kubernetes", "applicationProbeProxyPort").(int); isSet {
		byDefault.Rewrites.Is = certain.Of(port != 0)
	}
	sidecars := dig(x.values, "experimental", "sidecarContainers")
	if len(x.config) > 0 || sidecars != nil {
		byDefault.Virtual.Is, byDefault.Native.Is = certain.Maybe, certain.Maybe
	}
	if sidecars == true || sidecars == "true" {
		byDefault.Native.Is = certain.Always
	}
	k.Rewrites.add(x.fact(kumaPort, isPort, byDefault.Rewrites.Is), at)
	k.Virtual.add(x.fact(kumaVirtual, switchIn, byDefault.Virtual.Is), at)
	k.Native.add(x.fact(kumaNative, switchIn, byDefault.Native.Is), at)
}

func switchIn(text string) certain.Certainty { return boolOf(text) }

// kumaDefaults returns the defaults of a version of Kuma.
func kumaDefaults(version string) (k Kuma) {
	major, minor, known := releaseOf(version)
	if !known || major != 2 || !isVersion(version) {
		return k
	}
	if minor >= 9 {
		k.Rewrites.Is = certain.Always
	}
	if minor < 13 {
		k.Virtual.Is = certain.Always
	}
	k.Native.Is = certain.Of(minor >= 14)
	return k
}

// KumaOf returns what is stated for the pods of a mesh.
func KumaOf(s *Surroundings, mesh string) (k Kuma) {
	for _, d := range meshControls.near(s) {
		at := d.words("Deployment")
		if v, set := d.env(kumaPort); set {
			k.Rewrites.add(isPort(v), at)
		}
		if v, set := d.env(kumaVirtual); set {
			k.Virtual.add(boolOf(v), at)
		}
		if v, set := d.env(kumaNative); set {
			k.Native.add(boolOf(v), at)
		}
	}
	for _, c := range meshConfigMaps.near(s) {
		v := dig(c.read, "runtime", "kubernetes", "applicationProbeProxyPort")
		if n, isNumber := v.(int); isNumber && k.Rewrites.At == "" { // the env var wins
			k.Rewrites.add(certain.Of(n != 0), c.words("ConfigMap"))
		}
	}
	if !isInstalled(s, "kuma-control-plane", "kuma-control-plane-config") {
		for u, at := range chartsOf(s, kumaChart, kongChart) {
			k.readChart(u, at)
		}
	}
	for _, m := range kumaMeshes.near(s) {
		if m.Name == mesh {
			k.MTLS.add(certain.Of(m.MTLS.EnabledBackend != ""), m.words("Mesh"))
		}
	}
	if len(kumaTLSs.near(s)) > 0 {
		k.MTLS = Stated{}
	}
	return k
}

// A Consul is what the objects of Consul's installation state.
type Consul struct {
	Overwrites, Transparent Stated
	// Permissive is set by the ProxyDefaults, if no ServiceDefaults has another mode.
	Permissive Stated
}

// readChart reads the values of Consul's chart (charts/consul), whose defaults are true.
func (c *Consul) readChart(u *chartUse, at string) {
	inject := lastOf[field.Map](u.values, "connectInject")
	if on, isBool := dig(inject, "enabled").(bool); isBool && !on {
		return
	}
	byDefault := certain.Always
	if u.isOpen {
		byDefault = certain.Maybe
	}
	c.Transparent.add(switchOf(dig(inject, "transparentProxy", "defaultEnabled"), byDefault), at)
	c.Overwrites.add(switchOf(dig(inject, "transparentProxy", "defaultOverwriteProbes"), byDefault), at)
}

// ConsulOf returns what is stated for all pods.
func ConsulOf(s *Surroundings) (c Consul) {
	for _, d := range meshControls.near(s) {
		at := d.words("Deployment")
		if v, set := d.flag("transparent-proxy-default-overwrite-probes"); set {
			c.Overwrites.add(boolOf(v), at)
		}
		if v, set := d.flag("default-enable-transparent-proxy"); set {
			c.Transparent.add(boolOf(v), at)
		}
	}
	if !isInstalled(s, consulInjector) {
		for u, at := range chartsOf(s, consulChart) {
			c.readChart(u, at)
		}
	}
	for _, d := range consulDefaultses.near(s) {
		switch {
		case d.Neighbour.Kind == "ProxyDefaults" && d.Mode != "":
			c.Permissive.add(certain.Of(d.Mode == "permissive"), d.words("ProxyDefaults"))
		case d.Mode != "": // of a service, whose name the pods do not show
			return Consul{Overwrites: c.Overwrites, Transparent: c.Transparent}
		}
	}
	return c
}

// OSMExcludes returns the ports that Open Service Mesh captures in no pod, and who says so. The values of its chart make
// the MeshConfig once, so they count only where that is not known.
func OSMExcludes(s *Surroundings, port int) (at string, excludes bool) {
	configs := osmConfigs.near(s)
	for _, c := range configs {
		if slices.Contains(c.Traffic.Excluded, port) {
			return c.words("MeshConfig"), true
		}
	}
	if len(configs) > 0 {
		return "", false
	}
	for u, at := range chartsOf(s, osmChart) {
		list, _ := dig(u.values, "osm", "inboundPortExclusionList").(field.List)
		if slices.Contains(list, field.Value(port)) {
			return at, true
		}
	}
	return "", false
}
