package config

import (
	"fmt"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A Setting is what a command line says of a field, by the name of its [Key].
type Setting struct{ Key, Value string }

// A SettingError says what is wrong with a setting.
type SettingError struct{ Key, Text string }

func (e *SettingError) Error() string { return "--" + e.Key + ": " + e.Text }

// set sets the fields of the settings.
func (c *RewriteProbes) set(over []Setting, p *problems) {
	for _, s := range over {
		key := keyNamed(s.Key)
		if err := key.set(c, s.Value); err != nil {
			path, _ := field.Parse(key.Field)
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

// Meshes returns the values of mesh.
func Meshes() []string { return transformer.Meshes() }

// Answerers returns the values of answeredBy.
func Answerers() []string { return transformer.Answerers() }
