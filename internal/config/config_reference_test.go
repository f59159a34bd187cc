package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// Reference returns the tables of docs/functionConfig.md: every field of the
// typed form, then every key of the ConfigMap form.
func Reference() string {
	var b strings.Builder
	b.WriteString("| field | type | allowed | default | meaning |\n|---|---|---|---|---|\n")
	referenceRows(&b, "", reflect.ValueOf(RewriteProbes{Spec: Default().Spec}))
	b.WriteString("\n| ConfigMap key | sets |\n|---|---|\n")
	for _, k := range Keys {
		fmt.Fprintf(&b, "| `%s` | `%s` |\n", k.Name, k.Field)
	}
	return b.String()
}

// referenceRows writes the fields of a struct that holds the defaults.
func referenceRows(b *strings.Builder, prefix string, v reflect.Value) {
	for f, value := range fieldsOf(v) {
		inner, name, word := value, prefix+jsonName(f), typeWord(f.Type)
		if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct && f.Type.Elem() != reflect.TypeFor[field.Entry]() {
			inner, name = reflect.Zero(f.Type.Elem()), name+"[]"
		}
		if f.Type.Kind() == reflect.Pointer {
			inner = reflect.Zero(f.Type.Elem())
		}
		values := code(allowed(f.Tag)...)
		if low := f.Tag.Get("min"); low != "" {
			values = low + " to " + f.Tag.Get("max")
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", name, word, values, defaultCell(value, f.Tag), f.Tag.Get("doc"))
		if inner.Kind() == reflect.Struct {
			referenceRows(b, name+".", inner)
		}
	}
}

func defaultCell(v reflect.Value, tag reflect.StructTag) string {
	list, isList := v.Interface().([]string)
	switch {
	case v.Kind() == reflect.Interface && v.IsNil(): // of an item of a list
		return code("auto")
	case tag.Get("required") != "":
		return "required"
	case isList:
		return code(strings.Join(list, ","))
	case v.Kind() == reflect.Bool || v.CanInt() || v.Kind() == reflect.String || v.Kind() == reflect.Interface:
		return code(fmt.Sprint(v.Interface()))
	}
	return ""
}

func code(words ...string) string {
	if len(words) == 0 || words[0] == "" {
		return ""
	}
	return "`" + strings.Join(words, "`, `") + "`"
}

func typeWord(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[field.Map](), t.Kind() == reflect.Map, t.Kind() == reflect.Struct:
		return "mapping"
	case t == reflect.TypeFor[field.List]():
		return "list of mappings"
	case t.Kind() == reflect.Pointer:
		return typeWord(t.Elem())
	case t.Kind() == reflect.Slice:
		return "list of " + typeWord(t.Elem()) + "s"
	case t.Kind() == reflect.Int:
		return "number"
	case t.Kind() == reflect.Interface:
		return "auto or boolean"
	case t.Kind() == reflect.Bool:
		return "boolean"
	default:
		return "string"
	}
}
