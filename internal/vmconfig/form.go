package vmconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// decodeStrictly decodes one JSON object. The json package alone takes `HTTPGET` for
// `httpGet` and the last of two equal keys, and names an unknown field without its
// path.
func decodeStrictly(text []byte, c *Config) error {
	err := json.Unmarshal(text, c)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return fmt.Errorf("`%s`: has a JSON %s where %s must be", wrong.Field, wrong.Value, typeName(wrong.Type))
	}
	if err != nil {
		return fmt.Errorf("the configuration must be a JSON object: %w", err)
	}
	return checkKeys(json.NewDecoder(bytes.NewReader(text)), reflect.TypeFor[Config](), "")
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}

// checkKeys checks the keys in the next value of dec, which is at path and can be a t:
// each must be the name of a field, and be there once.
func checkKeys(dec *json.Decoder, t reflect.Type, path string) error {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	token, _ := dec.Token() // the text was decoded before
	switch token {
	case json.Delim('['):
		for i := 0; dec.More(); i++ {
			if err := checkKeys(dec, t.Elem(), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	case json.Delim('{'):
		seen := make(map[string]bool)
		for dec.More() {
			token, _ := dec.Token()
			key := token.(string)
			below, of := strings.TrimPrefix(path+"."+key, "."), FieldType(t, key)
			switch {
			case seen[key]:
				return fmt.Errorf("`%s`: the field is there twice", below)
			case of == nil:
				return fmt.Errorf("`%s`: unknown field; allowed are %s", below, strings.Join(FieldNames(t), ", "))
			}
			seen[key] = true
			if err := checkKeys(dec, of, below); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	_, _ = dec.Token() // the end of the list or object
	return nil
}

// FieldType returns the type of a key's value in a map or a struct, nil if the
// struct has no such field.
func FieldType(t reflect.Type, key string) reflect.Type {
	if t.Kind() == reflect.Map {
		return t.Elem()
	}
	for f := range t.Fields() {
		if jsonName(f) == key && !slices.Contains(notIstios, key) {
			return f.Type
		}
	}
	return nil
}

// notIstios are the fields of the API's handlers that those of Istio's WorkloadGroup do not have.
var notIstios = []string{"protocol", "mode"}

// FieldNames returns the names of the fields that a WorkloadGroup's probe, or a handler of it,
// has, or another part of a [Config].
func FieldNames(t reflect.Type) []string {
	var names []string
	for f := range t.Fields() {
		if name := jsonName(f); !slices.Contains(notIstios, name) {
			names = append(names, name)
		}
	}
	return names
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
