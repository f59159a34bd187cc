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
// indented, made from the Go types and their tags.
func Schema() []byte {
	s := append(object("$schema", "https://json-schema.org/draft/2020-12/schema", "$id", SchemaID, "title", Kind),
		structSchema(reflect.TypeFor[RewriteProbes]())...)
	var b bytes.Buffer
	_ = json.Indent(&b, field.AppendJSON(nil, s), "", "  ") // of what is valid JSON
	return append(b.Bytes(), '\n')
}

// object returns a mapping of keys and values, which are given by turns. Nil and empty lists
// are left out.
func object(entries ...any) (m field.Map) {
	for i := 0; i < len(entries); i += 2 {
		v := reflect.ValueOf(entries[i+1])
		if v.IsValid() && (v.Kind() != reflect.Slice || v.Len() > 0) {
			m = append(m, field.Entry{Key: entries[i].(string), Value: v.Interface()})
		}
	}
	return m
}

func structSchema(t reflect.Type) field.Map {
	var properties field.Map
	var required field.List
	for i := range t.NumField() {
		f := t.Field(i)
		s := append(object("description", f.Tag.Get("doc")), typeSchema(f.Type, f.Tag, defaultValue(f))...)
		properties = append(properties, field.Entry{Key: jsonName(f), Value: s})
		if f.Tag.Get("required") != "" {
			required = append(required, jsonName(f))
		}
	}
	return object("type", "object", "properties", properties, "required", required, "additionalProperties", false)
}

func typeSchema(t reflect.Type, tag reflect.StructTag, byDefault any) field.Map {
	switch {
	case t.Kind() == reflect.Pointer:
		return typeSchema(t.Elem(), tag, byDefault)
	case t == reflect.TypeFor[field.Map](), t.Kind() == reflect.Map:
		return object("type", "object")
	case t == reflect.TypeFor[field.List]():
		return object("type", "array", "items", object("type", "object"))
	case t.Kind() == reflect.Struct:
		return structSchema(t)
	case t.Kind() == reflect.Slice:
		return object("type", "array", "default", byDefault, "items", typeSchema(t.Elem(), tag, nil))
	case t.Kind() == reflect.Interface:
		return object("enum", []any{"auto", true, false}, "default", byDefault)
	case t.Kind() == reflect.Bool:
		return object("type", "boolean", "default", byDefault)
	case t.Kind() == reflect.Int:
		return object("type", "integer", "default", byDefault, "minimum", number(tag.Get("min")), "maximum", number(tag.Get("max")))
	}
	return object("type", "string", "enum", allowed(tag), "default", byDefault)
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
