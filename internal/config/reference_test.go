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
	referenceRows(&b, "", reflect.TypeFor[RewriteProbes]())
	b.WriteString("\n| ConfigMap key | sets |\n|---|---|\n")
	for _, k := range Keys {
		fmt.Fprintf(&b, "| `%s` | `%s` |\n", k.Name, k.Field)
	}
	return b.String()
}

func referenceRows(b *strings.Builder, prefix string, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, word, inner := prefix+jsonName(f), typeWord(f.Type), f.Type
		if inner.Kind() == reflect.Slice && inner.Elem().Kind() == reflect.Struct && inner.Elem() != reflect.TypeFor[field.Entry]() {
			inner, name = inner.Elem(), name+"[]"
		}
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		values := code(allowed(f.Tag)...)
		if low := f.Tag.Get("min"); low != "" {
			values = low + " to " + f.Tag.Get("max")
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", name, word, values, defaultCell(f.Tag), f.Tag.Get("doc"))
		if inner.Kind() == reflect.Struct {
			referenceRows(b, name+".", inner)
		}
	}
}

func defaultCell(tag reflect.StructTag) string {
	if tag.Get("required") != "" {
		return "required"
	}
	return code(defaultOf(tag))
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
