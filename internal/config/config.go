// Package config is the functionConfig of rewrite-probes: the kind
// RewriteProbes and its short form, a ConfigMap. It is decoded strictly,
// defaulted and validated; its JSON Schema and its reference page are made
// from the same Go types.
package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// APIVersion and Kind name the typed functionConfig.
const (
	Group      = "rewrite-probes.io"
	APIVersion = Group + "/v1alpha1"
	Kind       = "RewriteProbes"
)

// RootPath is the path of a pod template that is the object itself.
const RootPath = "."

// RewriteProbes is the typed functionConfig. The tags default, enum, registry,
// min, max, required and doc are the only source of the defaults, the validation,
// the JSON Schema and the reference page. The default * stands for every allowed
// value.
type RewriteProbes struct {
	APIVersion string         `json:"apiVersion" enum:"rewrite-probes.io/v1alpha1" required:"true" doc:"The version of this form."`
	Kind       string         `json:"kind" enum:"RewriteProbes" required:"true" doc:"The kind of this form."`
	Metadata   map[string]any `json:"metadata" doc:"Name and annotations, for the tool that calls the function; not read."`
	Spec       Spec           `json:"spec" doc:"What to do."`
}

// Spec says what is rewritten and who answers.
type Spec struct {
	Mesh         string        `json:"mesh" registry:"meshes" default:"auto" doc:"The mesh that the pods are in. auto: the one whose labels, annotations or proxy the pod template or its Namespace among the manifests has; a template without any is rewritten as for Istio; two of them are an error. Kong Mesh is kuma."`
	Dialect      string        `json:"dialect" registry:"meshes" doc:"The former name of mesh."`
	AnsweredBy   string        `json:"answeredBy" registry:"answerers" default:"auto" doc:"Who answers the rewritten probes: probe-proxy, which is injected; istio-proxy, Istio's own sidecar; envoy (mesh osm), an Envoy whose configuration is in a ConfigMap that is added next to the workload; auto: istio-proxy if Istio injects its sidecar into the pod, else probe-proxy. Only probe-proxy answers in other meshes than istio and osm."`
	Port         int           `json:"port" min:"1" max:"65535" default:"15020" doc:"The port that rewritten probes go to. With mesh osm or fsm the ports are fixed, 15901 to 15904, and this must not be given."`
	Rewrite      []string      `json:"rewrite" registry:"rewritable" default:"*" doc:"What is rewritten: probes by their handler, and httpGet hooks (lifecycle)."`
	ProbeProxy   ProbeProxy    `json:"probeProxy" doc:"The container that is injected."`
	IstioProxy   IstioProxy    `json:"istioProxy" doc:"The container istio-proxy, which is declared if Istio's sidecar answers and the pod template has none."`
	Istio        Istio         `json:"istio" doc:"What the manifests do not say of Istio in the cluster."`
	PodTemplates []PodTemplate `json:"podTemplates" doc:"Where kinds that rewrite-probes does not know have their pod templates."`
	Select       *Selector     `json:"select" doc:"Only objects that match all that is given here are rewritten; all objects if absent."`
	Exclude      *Selector     `json:"exclude" doc:"Objects that match all that is given here, such as kind and namespace, are left alone, even if select matches them."`
	Strict       bool          `json:"strict" default:"false" doc:"Whether warnings make the run fail too."`
}

// ProbeProxy describes the injected container.
type ProbeProxy struct {
	Image           string     `json:"image" doc:"Its image, by tag, digest or both (name:tag@sha256:...); if absent, that of the same version."`
	Name            string     `json:"name" default:"probe-proxy" doc:"Its name."`
	Placement       string     `json:"placement" enum:"native,container" default:"native" doc:"native: first of the init containers with restartPolicy Always (Kubernetes 1.29 or later); container: an ordinary container."`
	ImagePullPolicy string     `json:"imagePullPolicy" enum:"Always,IfNotPresent,Never" doc:"Its imagePullPolicy; if absent, the API server's default."`
	Resources       field.Map  `json:"resources" doc:"Merged over the default resources: limits and requests, each with quantities such as 48Mi; null removes a default."`
	SecurityContext field.Map  `json:"securityContext" doc:"Merged over the default securityContext, which satisfies Pod Security restricted."`
	Env             field.List `json:"env" doc:"More env vars, in the form of the API."`
	LivenessProbe   bool       `json:"livenessProbe" default:"false" doc:"Whether it has a livenessProbe, as some policies demand. It asks probe-proxy itself (/healthz)."`
	ReadinessProbe  bool       `json:"readinessProbe" default:"false" doc:"Whether it has a readinessProbe, as some policies demand. It asks probe-proxy itself (/readyz)."`
}

// IstioProxy describes the declared container.
type IstioProxy struct {
	Image      string `json:"image" default:"auto" doc:"Its image. The injector replaces auto; where a policy refuses that before the injector is asked, such as one that verifies signatures, write the image that the injector would put in, by tag or digest."`
	Restricted bool   `json:"restricted" default:"true" doc:"Whether it gets the securityContext that Pod Security restricted requires, if every other container of the pod template has it. Set false if the mesh gives every sidecar privileges, such as global.proxy.privileged or TPROXY."`
}

// Istio says what is known of Istio in the cluster.
type Istio struct {
	InjectorRewrites   bool     `json:"injectorRewrites" default:"false" doc:"Whether Istio's injector rewrites the probes of the pods that it injects, as it does unless the mesh config says otherwise: such pods are left alone, and check takes them to be in order."`
	InjectedNamespaces []string `json:"injectedNamespaces" doc:"The namespaces into which Istio injects its sidecar; * and ? match as in a shell. Other namespaces are then taken not to be injected. The labels of pod templates and of Namespaces among the manifests come first; if the field is absent, only they say it."`
}

// A PodTemplate says where a custom kind holds its pod template.
type PodTemplate struct {
	Group string `json:"group" doc:"The API group of the kind, without version; empty for core."`
	Kind  string `json:"kind" required:"true" doc:"The kind."`
	Path  string `json:"path" required:"true" doc:"The path of the pod template, keys joined by dots, such as spec.worker.podTemplate; [] after a key stands for every item of its list, such as spec.jobs[].template; . is the object itself. It must lead to a mapping with metadata and spec, as in a Pod, or to one that is itself a pod's spec, with a list containers. A kind may have several entries."`
}

// A Selector matches an object that matches every part of it that is set.
type Selector struct {
	Kinds         []string `json:"kinds" doc:"Kinds, such as Deployment."`
	Names         []string `json:"names" doc:"Names; * and ? match as in a shell."`
	Namespaces    []string `json:"namespaces" doc:"Namespaces as the manifest writes them; * and ? match as in a shell."`
	LabelSelector string   `json:"labelSelector" doc:"A label selector as kubectl takes it, over the object's own labels, such as app=web,tier!=batch."`
}

// Default returns the config of a run without a functionConfig.
func Default() *RewriteProbes {
	c := &RewriteProbes{APIVersion: APIVersion, Kind: Kind}
	defaultStruct(reflect.ValueOf(c).Elem())
	return c
}

// Is reports whether an object is a functionConfig of this program, in any
// version. As an item of a package it is no workload.
func Is(apiVersion, kind string) bool {
	return kind == Kind && strings.HasPrefix(apiVersion, Group+"/")
}

// Decode reads a functionConfig, fills in the defaults and validates it; for
// nil it returns the defaults. The error has a line for each problem, which
// names the file, the field and what is allowed.
func Decode(o *manifest.Object) (*RewriteProbes, error) {
	if o == nil {
		return Default(), nil
	}
	c := Default() // what the functionConfig says is decoded over the defaults
	var problems []problem
	var err error
	switch {
	case o.APIVersion() == APIVersion && o.Kind() == Kind:
		_, err = o.DecodeStrict(nil, c)
		problems = append(c.nameMesh(o, "spec"), c.validate()...)
	case o.APIVersion() == "v1" && o.Kind() == "ConfigMap":
		problems, err = c.fromConfigMap(o)
		for _, p := range append(c.nameMesh(o, "data"), c.validate()...) {
			problems = append(problems, p.inConfigMap())
		}
	default:
		return nil, inFunctionConfig(o.Errorf(nil, "must be a ConfigMap (v1) or a %s (%s), and is kind %q of apiVersion %q",
			Kind, APIVersion, o.Kind(), o.APIVersion()))
	}
	all := []error{}
	for _, e := range unjoin(err) {
		all = append(all, inFunctionConfig(e))
	}
	for _, p := range problems {
		all = append(all, inFunctionConfig(o.Errorf(p.path, "%s", p.text)))
	}
	if err := errors.Join(all...); err != nil {
		return nil, err
	}
	return c, nil
}

// nameMesh sets mesh to the value of dialect, its former name. root is the key
// below which the object has both.
func (c *RewriteProbes) nameMesh(o *manifest.Object, root string) []problem {
	s := &c.Spec
	if !slices.Contains(transformer.Meshes(), s.Dialect) {
		return nil
	}
	_, given := o.Value(at(root, "mesh"))
	if given && s.Mesh != s.Dialect {
		return []problem{{at("spec", "dialect"), fmt.Sprintf("%q must be %q, as `mesh` says, whose former name it is", s.Dialect, s.Mesh)}}
	}
	s.Mesh = s.Dialect
	return nil
}

// A problem is what is wrong with one field.
type problem struct {
	path field.Path
	text string
}

// inConfigMap returns the problem of a field as that of the key which sets it.
func (p problem) inConfigMap() problem {
	path := p.path.String()
	for _, k := range Keys {
		if path == k.Field || strings.HasPrefix(path, k.Field+"[") {
			p.path = field.NewPath("data", k.Name)
		}
	}
	return p
}

// inFunctionConfig makes an error name the functionConfig as its object.
func inFunctionConfig(err error) error {
	if e, ok := errors.AsType[*manifest.Error](err); ok {
		in := *e
		in.Object = "functionConfig"
		return &in
	}
	return err
}

// unjoin returns the errors that errors.Join has joined.
func unjoin(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// at returns a path of keys and indices.
func at(steps ...any) field.Path {
	var p field.Path
	for _, s := range steps {
		if i, ok := s.(int); ok {
			p = p.Index(i)
		} else {
			p = p.Key(s.(string))
		}
	}
	return p
}

// validate returns everything that is wrong with the config.
func (c *RewriteProbes) validate() []problem {
	problems := checkTags(c)
	bad := func(path field.Path, format string, args ...any) {
		problems = append(problems, problem{path, fmt.Sprintf(format, args...)})
	}
	s := &c.Spec
	if len(s.Rewrite) == 0 {
		bad(at("spec", "rewrite"), "must name at least one of %s", strings.Join(transformer.Rewritable(), ", "))
	}
	for i, t := range s.PodTemplates {
		if t.Path == "" || t.Path == RootPath {
			continue // an empty path is reported as missing
		}
		if _, err := field.Parse(t.Path); err != nil {
			bad(at("spec", "podTemplates", i, "path"), "%v", err)
		}
	}
	if !isDNSLabel(s.ProbeProxy.Name) {
		bad(at("spec", "probeProxy", "name"), "%q must be a container name: lower-case letters, digits and dashes, at most 63", s.ProbeProxy.Name)
	}
	problems = append(problems, checkResources(s.ProbeProxy.Resources)...)
	if len(problems) == 0 {
		for _, p := range s.Options().Problems() {
			bad(at("spec").Join(p.Path), "%s", p.Text)
		}
	}
	for _, image := range []struct{ container, value string }{{"probeProxy", s.ProbeProxy.Image}, {"istioProxy", s.IstioProxy.Image}} {
		if image.value != "" && !isImage(image.value) {
			bad(at("spec", image.container, "image"), "%q must be an image: a name in lower case, :TAG or @sha256: with 64 hexadecimal digits, or both", image.value)
		}
	}
	if s.IstioProxy.Image == "" {
		bad(at("spec", "istioProxy", "image"), "%q must be auto or an image", "")
	}
	for i, e := range s.ProbeProxy.Env {
		m, ok := e.(field.Map)
		name, _ := m.Get("name")
		if n, isString := name.(string); !ok || !isString || n == "" {
			bad(at("spec", "probeProxy", "env", i), "must be a mapping with a name")
		}
	}
	for i, p := range s.Istio.InjectedNamespaces {
		if !isPattern(p) {
			bad(at("spec", "istio", "injectedNamespaces", i), "%q must be a name in which * and ? match as in a shell", p)
		}
	}
	for _, sel := range []struct {
		key string
		*Selector
	}{{"exclude", s.Exclude}, {"select", s.Select}} {
		if sel.Selector == nil {
			continue
		}
		if err := sel.validate(); err != nil {
			bad(at("spec", sel.key), "%v", err)
		}
	}
	return problems
}

// isDNSLabel follows RFC 1123, the rule of the API server for container names.
func isDNSLabel(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' {
			return false
		}
	}
	return true
}
