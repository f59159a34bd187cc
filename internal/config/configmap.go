package config

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/spelling"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A Key is one key of the ConfigMap form.
type Key struct {
	Name  string // the key in `data`
	Field string // the field of the typed form that it sets
}

// Keys are all keys that a ConfigMap may hold, sorted by name.
var Keys = []Key{
	{"answered-by", "spec.answeredBy"},
	{"image", "spec.probeProxy.image"},
	{"image-pull-policy", "spec.probeProxy.imagePullPolicy"},
	{"injected-namespaces", "spec.istio.injectedNamespaces"},
	{"injector-rewrites", "spec.istio.injectorRewrites"},
	{"istio-version", "spec.istio.version"},
	{"mesh", "spec.mesh"},
	{"mtls", "spec.istio.mtls"},
	{"name", "spec.probeProxy.name"},
	{"native-sidecars", "spec.istio.nativeSidecars"},
	{"placement", "spec.probeProxy.placement"},
	{"platform", "spec.platform"},
	{"port", "spec.port"},
	{"registry", "spec.probeProxy.registry"},
	{"rewrite", "spec.rewrite"},
	{"strict", "spec.strict"},
}

func (k *Key) set(c *RewriteProbes, text string) error {
	v := reflect.ValueOf(c).Elem()
	f := reflect.StructField{}
	for name := range strings.SplitSeq(k.Field, ".") {
		f, _ = v.Type().FieldByNameFunc(func(n string) bool {
			return strings.EqualFold(n, name)
		})
		v = v.FieldByIndex(f.Index)
	}
	return setText(v, f.Tag, text)
}

// keyOf returns the key that sets a field of the typed form, or an item of it; nil if none does.
func keyOf(path field.Path) *Key {
	text := path.String()
	return findKey(func(k Key) bool {
		return text == k.Field || strings.HasPrefix(text, k.Field+"[")
	})
}

func keyNamed(name string) *Key {
	return findKey(func(k Key) bool { return k.Name == name })
}

func findKey(is func(Key) bool) *Key {
	if i := slices.IndexFunc(Keys, is); i >= 0 {
		return &Keys[i]
	}
	return nil
}

func keyNames() []string {
	names := make([]string, len(Keys))
	for i, k := range Keys {
		names[i] = k.Name
	}
	return names
}

// A Setting is what a command line says of a field, by the name of its [Key].
type Setting struct{ Key, Value string }

// A SettingError says what is wrong with a setting.
type SettingError struct{ Key, Text string }

func (e *SettingError) Error() string {
	return "--" + e.Key + ": " + e.Text
}

// dataOf returns what a ConfigMap says.
func dataOf(o *manifest.Object) (data []Setting, err error) {
	var cm struct {
		Data map[string]string `json:"data"`
	}
	if _, err := o.Decode(nil, &cm); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(cm.Data)) {
		data = append(data, Setting{name, cm.Data[name]})
	}
	return data, nil
}

// set sets the fields that flags, or the keys of a ConfigMap, name.
func (c *RewriteProbes) set(given []Setting, p *problems) {
	for _, s := range given {
		key := keyNamed(s.Key)
		if key == nil {
			names := keyNames()
			allowed := "allowed are " + strings.Join(names, ", ")
			hint := cmp.Or(spelling.DidYouMean(s.Key, names), allowed)
			p.add(field.NewPath("data", s.Key), "unknown key; %s", hint)
			continue
		}
		if err := key.set(c, s.Value); err != nil {
			path, _ := field.Parse(key.Field)
			p.add(path, "%v", err)
		}
	}
}

// Meshes and Answerers return the values of mesh and answeredBy.
var Meshes, Answerers = transformer.Meshes, transformer.Answerers

// What commands must know of the meshes, without the planner.
var (
	InjectionKeys = transformer.InjectionKeys
	IsMeshProxy   = transformer.IsMeshProxy
	ControlPlanes = transformer.ControlPlanes
)
