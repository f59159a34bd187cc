package config

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// SchemaID is the URL of the newest version of the schema.
const SchemaID = "https://raw.githubusercontent.com/rewrite-probes/rewrite-probes/main/docs/functionConfig.schema.json"

// Schema returns the JSON Schema (draft 2020-12) of the typed functionConfig,
// indented, made from the Go types and their tags.
func Schema() []byte {
	s := structSchema(reflect.TypeFor[RewriteProbes]())
	s.ID = SchemaID
	s.Version = "https://json-schema.org/draft/2020-12/schema"
	s.Title = Kind
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err) // the types hold nothing that JSON cannot
	}
	return append(b, '\n')
}

// schema is the part of JSON Schema that the types need. Its properties keep
// the order of the fields.
type schema struct {
	Version     string      `json:"$schema,omitempty"`
	ID          string      `json:"$id,omitempty"`
	Title       string      `json:"title,omitempty"`
	Description string      `json:"description,omitempty"`
	Type        string      `json:"type,omitempty"`
	Enum        []any       `json:"enum,omitempty"`
	Default     any         `json:"default,omitempty"`
	Minimum     *int        `json:"minimum,omitempty"`
	Maximum     *int        `json:"maximum,omitempty"`
	Items       *schema     `json:"items,omitempty"`
	Properties  *properties `json:"properties,omitempty"`
	Required    []string    `json:"required,omitempty"`
	Closed      *bool       `json:"additionalProperties,omitempty"`
}

type properties []property

type property struct {
	name string
	*schema
}

// MarshalJSON writes the properties as an object in the order of the fields.
func (p *properties) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	for i, f := range *p {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(f.schema)
		if err != nil {
			return nil, err
		}
		b.WriteString(strconv.Quote(f.name) + ":")
		b.Write(value)
	}
	return []byte("{" + b.String() + "}"), nil
}

func structSchema(t reflect.Type) *schema {
	s := &schema{Type: "object", Properties: new(properties), Closed: new(bool)}
	for i := range t.NumField() {
		f := t.Field(i)
		fs := typeSchema(f.Type, f.Tag)
		fs.Description = f.Tag.Get("doc")
		*s.Properties = append(*s.Properties, property{jsonName(f), fs})
		if f.Tag.Get("required") != "" {
			s.Required = append(s.Required, jsonName(f))
		}
	}
	return s
}

func typeSchema(t reflect.Type, tag reflect.StructTag) *schema {
	switch {
	case t.Kind() == reflect.Pointer:
		return typeSchema(t.Elem(), tag)
	case t == reflect.TypeFor[field.Map](), t.Kind() == reflect.Map:
		return &schema{Type: "object"}
	case t == reflect.TypeFor[field.List]():
		return &schema{Type: "array", Items: &schema{Type: "object"}}
	case t.Kind() == reflect.Struct:
		return structSchema(t)
	case t.Kind() == reflect.Slice:
		s := &schema{Type: "array", Items: typeSchema(t.Elem(), tag)}
		s.Items.Default = nil // the tag's is that of the list
		if d := defaultOf(tag); d != "" {
			s.Default = strings.Split(d, ",")
		}
		return s
	case t.Kind() == reflect.Interface:
		return &schema{Enum: []any{"auto", true, false}, Default: tag.Get("default")}
	case t.Kind() == reflect.Bool:
		return &schema{Type: "boolean", Default: tag.Get("default") == "true"}
	case t.Kind() == reflect.Int:
		s := &schema{Type: "integer", Minimum: number(tag.Get("min")), Maximum: number(tag.Get("max"))}
		if d := number(tag.Get("default")); d != nil {
			s.Default = *d
		}
		return s
	default:
		s := &schema{Type: "string"}
		for _, v := range allowed(tag) {
			s.Enum = append(s.Enum, v)
		}
		if d := tag.Get("default"); d != "" {
			s.Default = d
		}
		return s
	}
}

func number(s string) *int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return nil
	}
	return &n
}
