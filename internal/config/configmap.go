package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
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
	v, f := reflect.ValueOf(c).Elem(), reflect.StructField{}
	for name := range strings.SplitSeq(k.Field, ".") {
		f, _ = v.Type().FieldByNameFunc(func(n string) bool { return strings.EqualFold(n, name) })
		v = v.FieldByIndex(f.Index)
	}
	return setText(v, f.Tag, text)
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
func (c *RewriteProbes) fromConfigMap(o *manifest.Object, p *problems) error {
	var cm struct {
		Data map[string]string `json:"data"`
	}
	if _, err := o.Decode(nil, &cm); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(cm.Data)) {
		key := keyNamed(name)
		if key == nil {
			p.add(field.NewPath("data", name), "unknown key; allowed are %s", keyNames())
		} else if err := key.set(c, cm.Data[name]); err != nil {
			p.add(field.NewPath("data", name), "%v", err)
		}
	}
	return nil
}

func keyNamed(name string) *Key {
	i, known := slices.BinarySearchFunc(Keys, name, func(k Key, n string) int { return strings.Compare(k.Name, n) })
	if !known {
		return nil
	}
	return &Keys[i]
}

func keyNames() string {
	names := make([]string, len(Keys))
	for i, k := range Keys {
		names[i] = k.Name
	}
	return strings.Join(names, ", ")
}

// A Setting is what a command line says of a field, by the name of its [Key].
type Setting struct{ Key, Value string }

// A SettingError says what is wrong with a setting.
type SettingError struct{ Key, Text string }

func (e *SettingError) Error() string { return "--" + e.Key + ": " + e.Text }

func (c *RewriteProbes) set(over []Setting, p *problems) {
	for _, s := range over {
		key := keyNamed(s.Key)
		path, _ := field.Parse(key.Field)
		if s.Value == "" && key.Name == "image" { // as of a variable of the shell that is not set
			p.add(path, `"" must be an image; without it, that of the same version is taken`)
		} else if err := key.set(c, s.Value); err != nil {
			p.add(path, "%v", err)
		}
	}
}

// Overridden returns the value that a functionConfig has for the field of a setting, if it
// has another.
func (s Setting) Overridden(o *manifest.Object) (value string, differs bool) {
	if o == nil {
		return "", false
	}
	key := keyNamed(s.Key)
	path, _ := field.Parse(key.Field)
	if isConfigMap(o) {
		path = field.NewPath("data", key.Name)
	}
	if v, given := o.Value(path); given && fmt.Sprint(v) != s.Value {
		return fmt.Sprint(v), true
	}
	return "", false
}

// Meshes and Answerers return the values of mesh and answeredBy.
var Meshes, Answerers = transformer.Meshes, transformer.Answerers
