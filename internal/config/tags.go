package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// jsonName returns the name of a struct field in the YAML form.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// registries return the values that the tag registry refers to, so that a new
// mesh or handler changes nothing here.
var registries = map[string]func() []string{
	"meshes":     transformer.Meshes,
	"answerers":  transformer.Answerers,
	"rewritable": transformer.Rewritable,
}

// allowed returns the values that a field may have; nil if any.
func allowed(tag reflect.StructTag) []string {
	if name := tag.Get("registry"); name != "" {
		return registries[name]()
	}
	if enum := tag.Get("enum"); enum != "" {
		return strings.Split(enum, ",")
	}
	return nil
}

// defaultOf returns the default of a field, with commas between the items of a
// list; "" if it has none.
func defaultOf(tag reflect.StructTag) string {
	if d := tag.Get("default"); d != "*" {
		return d
	}
	return strings.Join(allowed(tag), ",")
}

// defaultStruct fills every field that has a default tag.
func defaultStruct(v reflect.Value) {
	for i := range v.NumField() {
		f, tag := v.Field(i), defaultOf(v.Type().Field(i).Tag)
		if f.Kind() == reflect.Struct {
			defaultStruct(f)
		}
		if tag == "" {
			continue
		}
		switch f.Kind() {
		case reflect.String:
			f.SetString(tag)
		case reflect.Int:
			n, _ := strconv.Atoi(tag)
			f.SetInt(int64(n))
		case reflect.Bool:
			f.SetBool(tag == "true")
		case reflect.Interface:
			f.Set(reflect.ValueOf(tag))
		case reflect.Slice:
			f.Set(reflect.ValueOf(strings.Split(tag, ",")))
		}
	}
}

// checkTags returns the values that the tags enum, registry, min, max and
// required forbid.
func checkTags(c *RewriteProbes) []problem {
	return checkStruct(nil, reflect.ValueOf(c).Elem(), nil)
}

func checkStruct(path field.Path, v reflect.Value, errs []problem) []problem {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		errs = checkValue(path.Key(jsonName(f)), v.Field(i), f.Tag, errs)
	}
	return errs
}

func checkValue(path field.Path, v reflect.Value, tag reflect.StructTag, errs []problem) []problem {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return checkValue(path, v.Elem(), tag, errs)
		}
	case reflect.Struct:
		return checkStruct(path, v, errs)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[field.Map]() || v.Type() == reflect.TypeFor[field.List]() {
			return errs
		}
		for i := range v.Len() {
			errs = checkValue(path.Index(i), v.Index(i), tag, errs)
		}
	case reflect.String:
		if s := v.String(); s == "" && tag.Get("required") != "" {
			errs = append(errs, problem{path, "must be given"})
		} else if s != "" || tag.Get("default") != "" {
			errs = checkEnum(path, s, tag, errs)
		}
	case reflect.Interface: // auto, or a boolean, which YAML may write in quotes
		errs = checkEnum(path, fmt.Sprint(v.Interface()), tag, errs)
	case reflect.Int:
		errs = checkRange(path, v.Int(), tag, errs)
	}
	return errs
}

func checkEnum(path field.Path, s string, tag reflect.StructTag, errs []problem) []problem {
	if values := allowed(tag); values != nil && !slices.Contains(values, s) {
		errs = append(errs, problem{path, fmt.Sprintf("%q must be %s", s, oneOf(values))})
	}
	return errs
}

func checkRange(path field.Path, n int64, tag reflect.StructTag, errs []problem) []problem {
	if tag.Get("min") == "" {
		return errs
	}
	low, _ := strconv.ParseInt(tag.Get("min"), 10, 64)
	high, _ := strconv.ParseInt(tag.Get("max"), 10, 64)
	if n < low || n > high {
		errs = append(errs, problem{path, fmt.Sprintf("\"%d\" must be a number from %d to %d", n, low, high)})
	}
	return errs
}

// oneOf returns allowed values as they are in a sentence.
func oneOf(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}
