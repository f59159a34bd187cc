package config

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// SchemaID is the URL of the newest version of the schema.
const SchemaID = "https://raw.githubusercontent.com/rewrite-probes/rewrite-probes/main/docs/functionConfig.schema.json"

// Schema returns the JSON Schema (draft 2020-12) of the typed functionConfig,
// indented, made from the Go types, their tags and the defaults.
func Schema() []byte {
	s := append(object("$schema", "https://json-schema.org/draft/2020-12/schema", "$id", SchemaID, "title", Kind),
		structSchema(reflect.ValueOf(RewriteProbes{Spec: Default().Spec}))...)
	var b bytes.Buffer
	_ = json.Indent(&b, field.AppendJSON(nil, s), "", "  ") // of what is valid JSON
	return append(b.Bytes(), '\n')
}

// object returns a mapping of keys and values, which are given by turns. What is empty is
// left out, but for false.
func object(entries ...any) (m field.Map) {
	for i := 0; i < len(entries); i += 2 {
		key := entries[i].(string)
		value := entries[i+1]
		v := reflect.ValueOf(value)
		if v.IsValid() &&
			(!v.IsZero() || v.Kind() == reflect.Bool) {
			m = append(m, field.Entry{Key: key, Value: value})
		}
	}
	return m
}

// structSchema returns the schema of a struct that holds the defaults.
func structSchema(v reflect.Value) field.Map {
	var properties field.Map
	var required field.List
	for f, value := range fieldsOf(v) {
		s := append(object("description", f.Tag.Get("doc")), valueSchema(value, f.Tag)...)
		properties = append(properties, field.Entry{Key: jsonName(f), Value: s})
		if f.Tag.Get("required") != "" {
			required = append(required, jsonName(f))
		}
	}
	return object("type", "object", "properties", properties, "required", required, "additionalProperties", false)
}

func valueSchema(v reflect.Value, tag reflect.StructTag) field.Map {
	switch t := v.Type(); {
	case t.Kind() == reflect.Pointer:
		return valueSchema(reflect.Zero(t.Elem()), tag)
	case t == reflect.TypeFor[field.Map](), t.Kind() == reflect.Map:
		return object("type", "object")
	case t == reflect.TypeFor[field.List]():
		return object("type", "array", "items", object("type", "object"))
	case t.Kind() == reflect.Struct:
		return structSchema(v)
	case t.Kind() == reflect.Slice:
		return object(
			"type",
			"array",
			"default",
			v.Interface(),
			"items",
			valueSchema(reflect.Zero(t.Elem()), tag),
		)
	case t.Kind() == reflect.Interface:
		return object("enum", []any{"auto", true, false}, "default", v.Interface())
	case t.Kind() == reflect.Bool:
		return object("type", "boolean", "default", v.Interface())
	case t.Kind() == reflect.Int:
		low := number(tag.Get("min"))
		high := number(tag.Get("max"))
		return object("type", "integer", "default", v.Interface(), "minimum", low, "maximum", high)
	}
	return object("type", "string", "enum", allowed(tag), "default", v.Interface())
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
