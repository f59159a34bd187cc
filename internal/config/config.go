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
	"github.com/rewrite-probes/rewrite-probes/internal/spelling"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// APIVersion and Kind name the typed functionConfig.
const (
	group      = "rewrite-probes.io"
	APIVersion = group + "/v1alpha1"
	Kind       = "RewriteProbes"
)

// RewriteProbes is the typed functionConfig. The tags enum, registry, form, min, max, required,
// optional (it may be "" although it has an enum or a form) and doc, here and in
// [transformer.Options], are the only source of the validation, the JSON Schema and the reference page.
type RewriteProbes struct {
	APIVersion string         `json:"apiVersion" enum:"rewrite-probes.io/v1alpha1" required:"true" doc:"The version of this form."`
	Kind       string         `json:"kind" enum:"RewriteProbes" required:"true" doc:"The kind of this form."`
	Metadata   map[string]any `json:"metadata" doc:"Name and annotations for the tool that calls the function. rewrite-probes does not read it."`
	Spec       Spec           `json:"spec" doc:"What rewrite-probes does."`
}

// Spec says what is rewritten and who answers.
type Spec struct {
	transformer.Options
	PodTemplates []PodTemplate `json:"podTemplates" doc:"Where kinds that rewrite-probes does not know have their pod templates."`
	Select       *Selector     `json:"select" doc:"rewrite-probes rewrites only objects that match every field here. The default is all objects."`
	Exclude      *Selector     `json:"exclude" doc:"rewrite-probes skips objects that match every field here, such as kind and namespace, even if select matches them."`
	Strict       bool          `json:"strict" doc:"true: warnings make the run fail too."`
}

// A PodTemplate says where a custom kind holds its pod template.
type PodTemplate struct {
	Group string `json:"group" doc:"The API group of the kind, without version. Empty for core."`
	Kind  string `json:"kind" required:"true" doc:"The kind."`
	Path  string `json:"path" required:"true" form:"path" doc:"The path of the pod template: keys joined by dots, such as spec.worker.podTemplate. [] after a key means every item of its list, such as spec.jobs[].template. . is the object itself, if its labels and annotations are also its pods'. The path must lead to a mapping with metadata and spec, as in a Pod, or to a pod's spec with a list containers. A kind may have several entries."`

	Metadata string `json:"metadata" form:"path" optional:"true" doc:"The path of the mapping with the pods' labels and annotations, such as spec.podMetadata of a Prometheus. It is required if path leads to a pod's spec, which has none. Up to its last [], it must begin like path."`
}

// A Selector matches an object that matches every part of it that is set.
type Selector struct {
	Kinds         []string `json:"kinds" doc:"Kinds, such as Deployment."`
	Names         []string `json:"names" form:"pattern" doc:"Names. * and ? match as in a shell."`
	Namespaces    []string `json:"namespaces" form:"pattern" doc:"Namespaces as the manifest writes them. * and ? match as in a shell."`
	LabelSelector string   `json:"labelSelector" form:"labelSelector" doc:"A label selector in kubectl's form, such as app=web,tier!=batch. It selects by the object's own labels."`
}

// Default returns the config of a run without a functionConfig, whose defaults are the planner's.
func Default() *RewriteProbes {
	return &RewriteProbes{
		APIVersion: APIVersion,
		Kind:       Kind,
		Spec:       Spec{Options: transformer.Defaults()},
	}
}

// Is reports whether an object is a functionConfig of this program, in any
// version. As an item of a package it is no workload.
func Is(apiVersion, kind string) bool {
	return kind == Kind && strings.HasPrefix(apiVersion, group+"/")
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
		return nil, InFunctionConfig(o.Errorf(nil, "%w (v1) or a %s (%s), and is kind %q of apiVersion %q%s",
			ErrNotConfig, Kind, APIVersion, o.Kind(), o.APIVersion(), didYouMean(o)))
	}
	for _, err := range unjoin(err) {
		p.errs = append(p.errs, elsewhere(underSpec(err)))
	}
	p.over = over
	c.set(over, &p)
	if slices.Contains(over, Setting{"image", ""}) { // as of a variable of the shell that is not set
		p.add(specPath.Key("probeProxy", "image"), `"" must be an image; without it, that of the same version is taken`)
	}
	c.validate(&p)
	slices.SortStableFunc(
		p.errs,
		func(a, b error) int {
			return cmp.Compare(lineOf(a), lineOf(b))
		},
	)
	for i, err := range p.errs {
		p.errs[i] = InFunctionConfig(err)
	}
	if err := errors.Join(p.errs...); err != nil {
		return nil, err
	}
	return c, nil
}

// underSpec words the error about a field of the spec that is beside it.
func underSpec(err error) error {
	e, ok := errors.AsType[*manifest.Error](err)
	if !ok || len(e.Path) != 1 {
		return err
	}
	var known []string
	for f := range fieldsOf(reflect.ValueOf(Spec{})) {
		known = append(known, jsonName(f))
	}
	key := e.Path[0].Key
	top := []string{"apiVersion", "kind", "metadata", "spec"}
	switch near := spelling.Near(key, known); {
	case slices.Contains(top, key) || len(spelling.Near(key, top)) > 0:
		return err
	case slices.Contains(known, key):
		e.Err = fmt.Errorf("unknown field %q: write it under `spec`", key)
	case len(near) == 1:
		e.Err = fmt.Errorf("unknown field %q: write `%s` under `spec`", key, near[0])
	}
	return err
}

// elsewhere words the error about a field that has one other place, and is like none beside it. Of a label selector in
// the form of the API it says the form to write.
func elsewhere(err error) error {
	e, ok := errors.AsType[*manifest.Error](err)
	if !ok || len(e.Path) == 0 {
		return err
	}
	key := e.Path[len(e.Path)-1].Key
	if key == "labelSelector" && strings.HasPrefix(e.Err.Error(), "must be a string") { // in the API it is a mapping
		e.Err = fmt.Errorf("%w; write app=web,tier!=batch", e.Err)
		return err
	}
	if !strings.Contains(e.Err.Error(), ": allowed are ") {
		return err
	}
	if parents := parentsOf(specPath, reflect.TypeFor[Spec](), key); len(parents) == 1 {
		e.Err = fmt.Errorf("unknown field %q: write it under `%s`", key, parents[0])
	}
	return err
}

// parentsOf returns the mappings at or below a type's place that have a field.
func parentsOf(at field.Path, t reflect.Type, key string) (parents []field.Path) {
	for f := range fieldsOf(reflect.New(t).Elem()) {
		if jsonName(f) == key {
			parents = append(parents, at)
		}
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			parents = append(parents, parentsOf(at.Key(jsonName(f)), inner, key)...)
		}
	}
	return parents
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

// didYouMean returns the question that ends the error about an object that is no functionConfig:
// the kind that its own is near to, or if that is right, the apiVersion. It is "" if no kind is near.
func didYouMean(o *manifest.Object) string {
	near := spelling.Near(o.Kind(), kinds)
	switch {
	case len(near) == 0:
		return ""
	case near[0] != o.Kind():
		return "; did you mean `kind: " + near[0] + "`?"
	case near[0] == Kind:
		return "; did you mean `apiVersion: " + APIVersion + "`?"
	}
	return "; did you mean `apiVersion: v1`?"
}

// MayBe reports whether an object is meant to be a functionConfig: it says nothing else, or its
// kind is near to that of one, or its group is ours.
func MayBe(apiVersion, kind string) bool {
	return kind == "" ||
		strings.HasPrefix(apiVersion, group+"/") ||
		slices.ContainsFunc(kinds, func(known string) bool {
			return spelling.Within(2, kind, known)
		})
}

// kinds are the kinds of functionConfigs.
var kinds = []string{Kind, "ConfigMap"}

func isTyped(o *manifest.Object) bool {
	return o.APIVersion() == APIVersion && o.Kind() == Kind
}
func isConfigMap(o *manifest.Object) bool {
	return o.APIVersion() == "v1" && o.Kind() == "ConfigMap"
}

// problems are what is wrong with a functionConfig, which may be nil, and with the settings
// that go over it.
type problems struct {
	config *manifest.Object
	over   []Setting
	fields []string // the paths of those that have a problem
	errs   []error
}

// add adds an error about the flag that has set the field, or else about the functionConfig,
// unless the field has one.
func (p *problems) add(path field.Path, format string, args ...any) {
	if slices.Contains(p.fields, path.String()) {
		return
	}
	p.fields = append(p.fields, path.String())
	text := fmt.Sprintf(format, args...)
	key := keyOf(path)
	switch {
	case key != nil &&
		slices.ContainsFunc(p.over, func(s Setting) bool {
			return s.Key == key.Name
		}):
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
	p.checkStruct(nil, reflect.ValueOf(c).Elem())
	s := &c.Spec
	if len(s.Rewrite) == 0 {
		p.add(
			specPath.Key("rewrite"),
			"must name at least one of %s",
			strings.Join(transformer.Rewritable(), ", "),
		)
	}
	p.checkResources("probeProxy", s.ProbeProxy.Resources)
	p.checkResources("istioProxy", s.IstioProxy.Resources)
	p.checkEnv(s.ProbeProxy.Env)
	p.checkPodTemplates(s.PodTemplates)
	p.checkRevisions(&s.Istio)
	if slices.Contains(transformer.Meshes(), s.Mesh) {
		for _, wrong := range transformer.Problems(&s.Options) {
			p.add(specPath.Join(wrong.Path), "%s", wrong.Text)
		}
	}
	p.checkSelector("exclude", s.Exclude)
	p.checkSelector("select", s.Select)
}

// checkEnv reports the items that are no env vars.
func (p *problems) checkEnv(env field.List) {
	for i, e := range env {
		m, _ := e.(field.Map)
		if field.As[string](m, "name") == "" {
			p.add(specPath.Key("probeProxy").Item("env", i), "must be a mapping with a name")
		}
	}
}

// checkPodTemplates reports the metadata of items of another list than that of the template.
func (p *problems) checkPodTemplates(templates []PodTemplate) {
	for i, t := range templates {
		at := specPath.Item("podTemplates", i).Key("metadata")
		if group, _, hasVersion := strings.Cut(t.Group, "/"); hasVersion {
			p.add(specPath.Item("podTemplates", i).Key("group"), "%q must be the group alone, %s", t.Group, group)
		}
		if t.Metadata == field.Root {
			p.add(at, "must be the path of a mapping in the object, such as metadata")
		}
		path, err := field.Parse(t.Path)
		if metadata, wrong := field.Parse(cmp.Or(t.Metadata, field.Root)); err == nil && wrong == nil {
			lists := metadata
			for len(lists) > 0 && lists[len(lists)-1] != field.EveryItem {
				lists = lists[:len(lists)-1]
			}
			if !path.HasPrefix(lists) {
				p.add(at, "%q must begin like `path`, up to its last []", t.Metadata)
			}
		}
	}
}

// checkRevisions reports the revisions and tags that are there twice.
func (p *problems) checkRevisions(istio *transformer.Istio) {
	at := specPath.Key("istio")
	seen := make(map[string]bool)
	for i, r := range istio.Revisions {
		if seen[r.Name] {
			p.add(at.Item("revisions", i).Key("name"), "%q is here twice", r.Name)
		}
		seen[r.Name] = true
	}
	tags := make(map[string]bool)
	for i, t := range istio.Tags {
		if tags[t.Name] {
			p.add(at.Item("tags", i).Key("name"), "%q is here twice", t.Name)
		}
		tags[t.Name] = true
	}
}

// checkSelector reports a selector that says nothing.
func (p *problems) checkSelector(key string, s *Selector) {
	if s != nil &&
		len(s.Kinds)+len(s.Names)+len(s.Namespaces) == 0 &&
		s.LabelSelector == "" {
		p.add(specPath.Key(key), "must have kinds, names, namespaces or labelSelector")
	}
}
