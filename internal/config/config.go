// Package config is the functionConfig of rewrite-probes: the kind
// RewriteProbes and its short form, a ConfigMap. It is decoded strictly,
// defaulted and validated; its JSON Schema and its reference page are made
// from the same Go types.
package config

import (
	"bytes"
	"cmp"
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

// RewriteProbes is the typed functionConfig. The tags enum, registry, min, max, required,
// optional (it may be "" although it has an enum) and doc are the only source of the
// validation, the JSON Schema and the reference page.
type RewriteProbes struct {
	APIVersion string         `json:"apiVersion" enum:"rewrite-probes.io/v1alpha1" required:"true" doc:"The version of this form."`
	Kind       string         `json:"kind" enum:"RewriteProbes" required:"true" doc:"The kind of this form."`
	Metadata   map[string]any `json:"metadata" doc:"Name and annotations, for the tool that calls the function; not read."`
	Spec       Spec           `json:"spec" doc:"What to do."`
}

// Spec says what is rewritten and who answers.
type Spec struct {
	Mesh         string        `json:"mesh" registry:"meshes" doc:"The mesh that the pods are in. auto: the one whose labels, annotations or proxy the pod template or its Namespace among the manifests has; a template without any is rewritten as for Istio; two of them are an error. Kong Mesh is kuma."`
	AnsweredBy   string        `json:"answeredBy" registry:"answerers" doc:"Who answers the rewritten probes: probe-proxy, which is injected; istio-proxy, Istio's own sidecar; app, the app itself: the mesh is told not to capture the ports of the probes, which stay as they are, and which no Service may lead to, since everything goes in there without mTLS; auto: istio-proxy if it is certain that Istio injects its sidecar into the pod and that the sidecar answers every probe in time, else probe-proxy, which is right whether Istio injects or not. Of the two proxies, only probe-proxy answers in other meshes than istio."`
	Port         int           `json:"port" min:"1" max:"65535" doc:"The port on which probe-proxy answers. Istio's own sidecar answers on its status port, 15020 unless the pod's annotation status.sidecar.istio.io/port moves it, or this says so together with answeredBy: istio-proxy. With mesh osm or fsm the port is always 15904, which neither captures, and this must not be given."`
	Rewrite      []string      `json:"rewrite" registry:"rewritable" doc:"What is rewritten: probes by their handler, and httpGet hooks (lifecycle)."`
	ProbeProxy   ProbeProxy    `json:"probeProxy" doc:"The container that is injected."`
	IstioProxy   IstioProxy    `json:"istioProxy" doc:"The container istio-proxy, which is declared if Istio's sidecar answers and the pod template has none."`
	Istio        Istio         `json:"istio" doc:"What the manifests do not say of Istio in the cluster."`
	Platform     string        `json:"platform" enum:"auto,kubernetes,openshift" doc:"Where the pods go. On OpenShift probe-proxy has no uid of its own, since restricted-v2 admits only those of the namespace's range, and no seccompProfile, which anyuid refuses. auto: OpenShift if the object is a DeploymentConfig, or a DeploymentConfig, Route, ImageStream, BuildConfig, Project or SecurityContextConstraints is among the manifests."`
	PodTemplates []PodTemplate `json:"podTemplates" doc:"Where kinds that rewrite-probes does not know have their pod templates."`
	Select       *Selector     `json:"select" doc:"Only objects that match all that is given here are rewritten; all objects if absent."`
	Exclude      *Selector     `json:"exclude" doc:"Objects that match all that is given here, such as kind and namespace, are left alone, even if select matches them."`
	Strict       bool          `json:"strict" doc:"Whether warnings make the run fail too."`
}

// ProbeProxy describes the injected container.
type ProbeProxy struct {
	Image           string     `json:"image" doc:"Its image, by tag, digest or both (name:tag@sha256:...); if absent, that of the same version."`
	Registry        string     `json:"registry" doc:"The registry of the image if image is absent, with the path before the name: registry.example.com/mesh for registry.example.com/mesh/probe-proxy. If absent, what the environment variable REWRITE_PROBES_REGISTRY of the command says, or else ghcr.io/rewrite-probes."`
	Name            string     `json:"name" doc:"Its name."`
	Placement       string     `json:"placement" enum:"native,container" doc:"native: first of the init containers with restartPolicy Always (Kubernetes 1.29 or later); container: an ordinary container."`
	ImagePullPolicy string     `json:"imagePullPolicy" enum:"Always,IfNotPresent,Never" optional:"true" doc:"Its imagePullPolicy; if absent, the API server's default."`
	Resources       field.Map  `json:"resources" doc:"Merged over the default resources: limits and requests, each with quantities such as 48Mi; null removes a default."`
	SecurityContext field.Map  `json:"securityContext" doc:"Merged over the default securityContext, which satisfies Pod Security restricted."`
	Env             field.List `json:"env" doc:"More env vars, in the form of the API."`
	Body            string     `json:"body" enum:"none,failures,all" doc:"Which bodies of the app's answers whoever calls the probe port gets: none, those of failures (status 400 and above), or all. The kubelet needs none."`
	LivenessProbe   bool       `json:"livenessProbe" doc:"Whether it has a livenessProbe, as some policies demand. It asks probe-proxy itself (/healthz)."`
	ReadinessProbe  bool       `json:"readinessProbe" doc:"Whether it has a readinessProbe, as some policies demand. It asks probe-proxy itself (/readyz)."`
}

// IstioProxy describes the declared container.
type IstioProxy struct {
	Image      string    `json:"image" doc:"Its image. The injector replaces auto; where a policy refuses that before the injector is asked, such as one that verifies signatures, write the image that the injector would put in, by tag or digest."`
	Restricted bool      `json:"restricted" doc:"Whether it gets the securityContext that Pod Security restricted requires, if every other container of the pod template has it. Set false if the mesh gives every sidecar privileges, such as global.proxy.privileged or TPROXY."`
	Resources  field.Map `json:"resources" doc:"Its resources, for namespaces with a LimitRange that has defaults: these would replace what the injector gives it. If absent, it is declared without any."`
}

// Istio says what is known of Istio in the cluster.
type Istio struct {
	InjectorRewrites   any      `json:"injectorRewrites" enum:"auto,true,false" doc:"Whether Istio's injector rewrites the probes of the pods that it injects, as it does unless the mesh config says otherwise. true: such pods are left alone, and check takes them to be in order. auto: not known; what is written is right in either case, and check counts on no rewriting."`
	InjectedNamespaces []string `json:"injectedNamespaces" doc:"The namespaces into which Istio injects its sidecar; * and ? match as in a shell. Other namespaces are then taken not to be injected. The labels of pod templates and of Namespaces among the manifests come first; if the field is absent, only they say it."`
	NativeSidecars     any      `json:"nativeSidecars" enum:"auto,true,false" doc:"Whether Istio injects its sidecar as a native one, unless a pod's annotation says otherwise. auto: not known, since it depends on Istio's version and settings and on every node."`
	HoldApplication    bool     `json:"holdApplicationUntilProxyStarts" doc:"Whether the containers of every injected pod wait for Istio's sidecar. false: not known."`
	RootNamespace      string   `json:"rootNamespace" doc:"Istio's root namespace, whose PeerAuthentication without a selector counts for the whole mesh."`
	MTLS               string   `json:"mtls" enum:"STRICT,PERMISSIVE,DISABLE" doc:"The mode of mutual TLS where no PeerAuthentication among the manifests says one. It decides what check and explain say, not what is written."`
}

// A PodTemplate says where a custom kind holds its pod template.
type PodTemplate struct {
	Group string `json:"group" doc:"The API group of the kind, without version; empty for core."`
	Kind  string `json:"kind" required:"true" doc:"The kind."`
	Path  string `json:"path" required:"true" doc:"The path of the pod template, keys joined by dots, such as spec.worker.podTemplate; [] after a key stands for every item of its list, such as spec.jobs[].template; . is the object itself, if its labels and annotations are those of its pods. It must lead to a mapping with metadata and spec, as in a Pod, or to one that is itself a pod's spec, with a list containers. A kind may have several entries."`
}

// A Selector matches an object that matches every part of it that is set.
type Selector struct {
	Kinds         []string `json:"kinds" doc:"Kinds, such as Deployment."`
	Names         []string `json:"names" doc:"Names; * and ? match as in a shell."`
	Namespaces    []string `json:"namespaces" doc:"Namespaces as the manifest writes them; * and ? match as in a shell."`
	LabelSelector string   `json:"labelSelector" doc:"A label selector as kubectl takes it, over the object's own labels, such as app=web,tier!=batch."`
}

// Default returns the config of a run without a functionConfig, whose defaults are the planner's.
func Default() *RewriteProbes {
	d := transformer.Defaults()
	return &RewriteProbes{APIVersion: APIVersion, Kind: Kind, Spec: Spec{
		Mesh: d.Mesh, AnsweredBy: d.AnsweredBy, Port: d.Port, Rewrite: d.Rewrite, Platform: d.Platform,
		ProbeProxy: ProbeProxy{Name: d.ProbeProxy.Name, Placement: d.ProbeProxy.Placement, Body: d.ProbeProxy.Body},
		IstioProxy: IstioProxy(d.IstioProxy),
		Istio:      Istio{InjectorRewrites: "auto", NativeSidecars: "auto", RootNamespace: d.Istio.RootNamespace, MTLS: d.Istio.MTLS},
	}}
}

// Is reports whether an object is a functionConfig of this program, in any
// version. As an item of a package it is no workload.
func Is(apiVersion, kind string) bool {
	return kind == Kind && strings.HasPrefix(apiVersion, Group+"/")
}

// Decode reads a functionConfig, fills in the defaults, sets over both what a command
// line says, and validates the whole; nil is a functionConfig that says nothing. The error
// has a line for each problem, which names the file and the field, or the flag, and what is
// allowed.
func Decode(o *manifest.Object, over ...Setting) (*RewriteProbes, error) {
	c := Default() // what the functionConfig says is decoded over the defaults
	p := problems{config: o}
	var err error
	switch {
	case o == nil:
	case isTyped(o):
		_, err = o.DecodeStrict(nil, c)
	case isConfigMap(o):
		var data []Setting
		data, err = dataOf(o)
		c.set(data, &p)
	default:
		return nil, InFunctionConfig(o.Errorf(nil, "%w (v1) or a %s (%s), and is kind %q of apiVersion %q",
			ErrNotConfig, Kind, APIVersion, o.Kind(), o.APIVersion()))
	}
	p.errs = append(p.errs, unjoin(err)...)
	p.over = over
	c.set(over, &p)
	if slices.Contains(over, Setting{"image", ""}) { // as of a variable of the shell that is not set
		p.add(specPath.Key("probeProxy", "image"), `"" must be an image; without it, that of the same version is taken`)
	}
	c.validate(&p)
	slices.SortStableFunc(p.errs, func(a, b error) int { return cmp.Compare(lineOf(a), lineOf(b)) })
	for i, err := range p.errs {
		p.errs[i] = InFunctionConfig(err)
	}
	if err := errors.Join(p.errs...); err != nil {
		return nil, err
	}
	return c, nil
}

// DecodeText decodes a functionConfig in YAML or JSON that is in no file, so that its
// errors name neither file nor line. An empty text and null stand for the defaults.
func DecodeText(text []byte) (*RewriteProbes, error) {
	if text = bytes.TrimSpace(text); len(text) == 0 || string(text) == "null" {
		return Default(), nil
	}
	s, err := manifest.Read("", text)
	if err != nil {
		return nil, InFunctionConfig(err)
	}
	return Decode(s.Objects()[0])
}

// lineOf returns the line that an error names; 0 if it names none.
func lineOf(err error) int {
	if e, ok := errors.AsType[*manifest.Error](err); ok {
		return e.Line
	}
	return 0
}

// ErrNotConfig begins the error about an object that is no functionConfig.
var ErrNotConfig = errors.New("must be a ConfigMap")

func isTyped(o *manifest.Object) bool     { return o.APIVersion() == APIVersion && o.Kind() == Kind }
func isConfigMap(o *manifest.Object) bool { return o.APIVersion() == "v1" && o.Kind() == "ConfigMap" }

// problems are what is wrong with a functionConfig, which may be nil, and with the settings
// that go over it.
type problems struct {
	config *manifest.Object
	over   []Setting
	errs   []error
}

// add adds an error about the flag that has set the field, or else about the functionConfig.
func (p *problems) add(path field.Path, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	key := keyOf(path)
	switch {
	case key != nil && slices.ContainsFunc(p.over, func(s Setting) bool { return s.Key == key.Name }):
		p.errs = append(p.errs, &SettingError{Key: key.Name, Text: text})
	case p.config == nil:
		p.errs = append(p.errs, fmt.Errorf("functionConfig: `%s`: %s", path, text))
	case key != nil && isConfigMap(p.config):
		p.errs = append(p.errs, p.config.Errorf(field.NewPath("data", key.Name), "%s", text))
	default:
		p.errs = append(p.errs, p.config.Errorf(path, "%s", text))
	}
}

// InFunctionConfig makes an error name the functionConfig as its object. The lines of a text
// that is in no file are nobody's, and not named.
func InFunctionConfig(err error) error {
	e, ok := errors.AsType[*manifest.Error](err)
	if !ok {
		return err
	}
	in := *e
	in.Object = "functionConfig"
	if in.File == "" {
		in.Line = 0
	}
	return &in
}

// unjoin returns the errors that errors.Join has joined, or the one that it was given, which
// may be nil.
func unjoin(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

var specPath = field.NewPath("spec")

func (c *RewriteProbes) validate(p *problems) {
	before := len(p.errs)
	p.checkStruct(nil, reflect.ValueOf(c).Elem())
	s := &c.Spec
	if len(s.Rewrite) == 0 {
		p.add(specPath.Key("rewrite"), "must name at least one of %s", strings.Join(transformer.Rewritable(), ", "))
	}
	for i, t := range s.PodTemplates {
		if t.Path == "" || t.Path == RootPath {
			continue // an empty path is reported as missing
		}
		if _, err := field.Parse(t.Path); err != nil {
			p.add(specPath.Item("podTemplates", i).Key("path"), "%v", err)
		}
	}
	if !isDNSLabel(s.ProbeProxy.Name) {
		p.add(specPath.Key("probeProxy", "name"), "%q must be a container name: lower-case letters, digits and dashes, at most 63", s.ProbeProxy.Name)
	}
	p.checkResources("probeProxy", s.ProbeProxy.Resources)
	p.checkResources("istioProxy", s.IstioProxy.Resources)
	if err := CheckRegistry(s.ProbeProxy.Registry); err != nil {
		p.add(specPath.Key("probeProxy", "registry"), "%v", err)
	}
	if len(p.errs) == before {
		for _, wrong := range s.Options().Problems() {
			p.add(specPath.Join(wrong.Path), "%s", wrong.Text)
		}
	}
	p.checkContainers(s)
	for i, pattern := range s.Istio.InjectedNamespaces {
		if !isPattern(pattern) {
			p.add(specPath.Key("istio").Item("injectedNamespaces", i), "%q must be a name in which * and ? match as in a shell", pattern)
		}
	}
	if !isDNSLabel(s.Istio.RootNamespace) {
		p.add(specPath.Key("istio", "rootNamespace"), "%q must be the name of a namespace: lower-case letters, digits and dashes, at most 63", s.Istio.RootNamespace)
	}
	p.checkSelector("exclude", s.Exclude)
	p.checkSelector("select", s.Select)
}

// checkContainers reports what is wrong with the images and the environment of the
// containers that are added.
func (p *problems) checkContainers(s *Spec) {
	for _, image := range []struct{ container, value string }{{"probeProxy", s.ProbeProxy.Image}, {"istioProxy", s.IstioProxy.Image}} {
		if image.value != "" && !isImage(image.value) {
			p.add(specPath.Key(image.container, "image"), "%q must be an image: a name in lower case, :TAG or @sha256: with 64 hexadecimal digits, or both", image.value)
		}
	}
	if s.IstioProxy.Image == "" {
		p.add(specPath.Key("istioProxy", "image"), "%q must be auto or an image", "")
	}
	for i, e := range s.ProbeProxy.Env {
		m, _ := e.(field.Map)
		if field.As[string](m, "name") == "" {
			p.add(specPath.Key("probeProxy").Item("env", i), "must be a mapping with a name")
		}
	}
}

// isDNSLabel follows RFC 1123, the rule of the API server for the names of containers and namespaces.
func isDNSLabel(s string) bool {
	return s != "" && len(s) <= 63 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" && strings.Trim(s, "-") == s
}
