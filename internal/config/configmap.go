package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
)

// A Key is one key of the ConfigMap form.
type Key struct {
	Name  string // the key in `data`
	Field string // the field of the typed form that it sets
	set   func(*Spec, string) error
}

func list(target func(*Spec) *[]string) func(*Spec, string) error {
	return func(s *Spec, v string) error {
		items := []string{}
		for part := range strings.SplitSeq(v, ",") {
			if part = strings.TrimSpace(part); part != "" {
				items = append(items, part)
			}
		}
		*target(s) = items
		return nil
	}
}

func truth(target func(*Spec) *bool) func(*Spec, string) error {
	return func(s *Spec, v string) (err error) {
		if *target(s), err = strconv.ParseBool(v); err != nil {
			return fmt.Errorf("%q must be \"true\" or \"false\"", v)
		}
		return nil
	}
}

// autoOr sets a field that is auto, true or false, which the validation checks.
func autoOr(target func(*Spec) *any) func(*Spec, string) error {
	return func(s *Spec, v string) error { *target(s) = v; return nil }
}

func text(target func(*Spec) *string) func(*Spec, string) error {
	return func(s *Spec, v string) error { *target(s) = v; return nil }
}

// Keys are all keys that a ConfigMap may hold, sorted by name.
var Keys = []Key{
	{"answered-by", "spec.answeredBy", text(func(s *Spec) *string { return &s.AnsweredBy })},
	{"image", "spec.probeProxy.image", text(func(s *Spec) *string { return &s.ProbeProxy.Image })},
	{"image-pull-policy", "spec.probeProxy.imagePullPolicy", text(func(s *Spec) *string { return &s.ProbeProxy.ImagePullPolicy })},
	{"injected-namespaces", "spec.istio.injectedNamespaces", list(func(s *Spec) *[]string { return &s.Istio.InjectedNamespaces })},
	{"injector-rewrites", "spec.istio.injectorRewrites", autoOr(func(s *Spec) *any { return &s.Istio.InjectorRewrites })},
	{"mesh", "spec.mesh", text(func(s *Spec) *string { return &s.Mesh })},
	{"mtls", "spec.istio.mtls", text(func(s *Spec) *string { return &s.Istio.MTLS })},
	{"name", "spec.probeProxy.name", text(func(s *Spec) *string { return &s.ProbeProxy.Name })},
	{"native-sidecars", "spec.istio.nativeSidecars", autoOr(func(s *Spec) *any { return &s.Istio.NativeSidecars })},
	{"placement", "spec.probeProxy.placement", text(func(s *Spec) *string { return &s.ProbeProxy.Placement })},
	{"platform", "spec.platform", text(func(s *Spec) *string { return &s.Platform })},
	{"port", "spec.port", func(s *Spec, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil {
			return fmt.Errorf("%q must be a number from 1 to 65535", v)
		}
		s.Port = n
		return nil
	}},
	{"registry", "spec.probeProxy.registry", text(func(s *Spec) *string { return &s.ProbeProxy.Registry })},
	{"rewrite", "spec.rewrite", list(func(s *Spec) *[]string { return &s.Rewrite })},
	{"strict", "spec.strict", truth(func(s *Spec) *bool { return &s.Strict })},
}

// keyOf returns the key that sets a field of the typed form, or an item of it; nil if none does.
func keyOf(path field.Path) *Key {
	text := path.String()
	i := slices.IndexFunc(Keys, func(k Key) bool { return text == k.Field || strings.HasPrefix(text, k.Field+"[") })
	if i < 0 {
		return nil
	}
	return &Keys[i]
}

// fromConfigMap sets the fields that a ConfigMap has keys for.
func (c *RewriteProbes) fromConfigMap(o *manifest.Object) (problems []problem, err error) {
	var cm struct {
		Data map[string]string `json:"data"`
	}
	if _, err := o.Decode(nil, &cm); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(cm.Data)) {
		i, known := slices.BinarySearchFunc(Keys, name, func(k Key, n string) int { return strings.Compare(k.Name, n) })
		if !known {
			problems = append(problems, problem{at("data", name), "unknown key; allowed are " + keyNames()})
			continue
		}
		if err := Keys[i].set(&c.Spec, cm.Data[name]); err != nil {
			problems = append(problems, problem{at("data", name), err.Error()})
		}
	}
	return problems, nil
}

func keyNames() string {
	names := make([]string, len(Keys))
	for i, k := range Keys {
		names[i] = k.Name
	}
	return strings.Join(names, ", ")
}
