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
			below := strings.TrimPrefix(path+"."+key, ".")
			of, known := FieldType(t, key)
			switch {
			case seen[key]:
				return fmt.Errorf("`%s`: the field is there twice", below)
			case of == nil:
				return fmt.Errorf("`%s`: unknown field; allowed are %s", below, strings.Join(known, ", "))
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

// FieldType returns the type of a key's value in a map or a struct, nil if the struct has
// no such field, and the names of the fields that a struct has: a [Config] or a part of it.
func FieldType(t reflect.Type, key string) (of reflect.Type, known []string) {
	if t.Kind() == reflect.Map {
		return t.Elem(), nil
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if slices.Contains(notIstios, name) {
			continue
		}
		if known = append(known, name); name == key {
			of = f.Type
		}
	}
	return of, known
}

// notIstios are the fields of the API's handlers that those of Istio's WorkloadGroup do not have.
var notIstios = []string{"protocol", "mode"}
