package surroundings

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// A meshControl is a Deployment of a control plane, whose containers have the settings of its mesh:
// kuma-control-plane, linkerd-destination, or Consul's connect-injector, which is behind a release's name.
type meshControl struct {
	Object
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
	Object
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
	Object
	MTLS struct {
		EnabledBackend string `json:"enabledBackend"`
	} `json:"mtls"`
}

// A kumaTLS is a MeshTLS of Kuma's, which can make a mesh accept everybody.
type kumaTLS struct{ Object }

// A consulDefaults is a ServiceDefaults or the ProxyDefaults of Consul's.
type consulDefaults struct {
	Object
	Mode string `json:"mutualTLSMode"`
}

// An osmConfig is the MeshConfig of Open Service Mesh.
type osmConfig struct {
	Object
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
		v := dig(c.read, path...)
		text := textOf(v)
		if n, isNumber := v.(int); isNumber {
			text = strconv.Itoa(n)
		}
		if c.Name == "linkerd-config" && v != nil && len(all) == 0 && !pod.IsVariable(text) {
			all = append(all, Setting{text, c.words("ConfigMap")})
		}
	}
	return settingOf(all)
}

// A Kuma is what the objects of Kuma's installation state.
type Kuma struct {
	Rewrites, Virtual, Native Stated
	// MTLS is about the mesh of the pods.
	MTLS Stated
}

// KumaOf returns what is stated for the pods of a mesh.
func KumaOf(s *Surroundings, mesh string) (k Kuma) {
	const port, virtual = "KUMA_RUNTIME_KUBERNETES_APPLICATION_PROBE_PROXY_PORT", "KUMA_RUNTIME_KUBERNETES_VIRTUAL_PROBES_ENABLED"
	for _, d := range meshControls.near(s) {
		at := d.words("Deployment")
		if v, set := d.env(port); set {
			k.Rewrites.add(certain.Of(strings.Trim(v, "0") != ""), at)
		}
		if v, set := d.env(virtual); set {
			k.Virtual.add(boolOf(v), at)
		}
		if v, set := d.env("KUMA_EXPERIMENTAL_SIDECAR_CONTAINERS"); set {
			k.Native.add(boolOf(v), at)
		}
	}
	for _, c := range meshConfigMaps.near(s) {
		v := dig(c.read, "runtime", "kubernetes", "applicationProbeProxyPort")
		if n, isNumber := v.(int); isNumber && k.Rewrites.At == "" { // the env var wins
			k.Rewrites.add(certain.Of(n != 0), c.words("ConfigMap"))
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
	for _, d := range consulDefaultses.near(s) {
		switch {
		case d.Object.Kind == "ProxyDefaults" && d.Mode != "":
			c.Permissive.add(certain.Of(d.Mode == "permissive"), d.words("ProxyDefaults"))
		case d.Mode != "": // of a service, whose name the pods do not show
			return Consul{Overwrites: c.Overwrites, Transparent: c.Transparent}
		}
	}
	return c
}

// OSMExcludes returns the ports that Open Service Mesh captures in no pod, and who says so.
func OSMExcludes(s *Surroundings, port int) (at string, excludes bool) {
	for _, c := range osmConfigs.near(s) {
		if slices.Contains(c.Traffic.Excluded, port) {
			return c.words("MeshConfig"), true
		}
	}
	return "", false
}
