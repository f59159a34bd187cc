package vmconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// checkForm checks that text is one JSON object with the fields of a [Config],
// each at most once and of its type. The json package alone takes `HTTPGET`
// for `httpGet`, takes the last of two equal keys, and names an unknown field
// without its path.
func checkForm(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := walk(dec, reflect.TypeFor[Config](), ""); err != nil {
		return err
	}
	if dec.More() {
		return errors.New("the configuration must be one JSON object: more text follows it")
	}
	return nil
}

// walk checks the next value of dec, which is at path, against type t.
func walk(dec *json.Decoder, t reflect.Type, path string) error {
	token, err := dec.Token()
	if err != nil {
		return notJSON(err)
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if token == nil && path != "" {
		return nil // null is the same as unset
	}
	if err := checkType(token, t, path); err != nil {
		return err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	seen := make(map[string]bool)
	for i := 0; dec.More(); i++ {
		below, of := fmt.Sprintf("%s[%d]", path, i), t
		if delim == '{' {
			token, err := dec.Token()
			if err != nil {
				return notJSON(err)
			}
			key, _ := token.(string)
			below = strings.TrimPrefix(path+"."+key, ".")
			if seen[key] {
				return fmt.Errorf("`%s`: the field is there twice", below)
			}
			seen[key] = true
			if of = fieldType(t, key); of == nil {
				return fmt.Errorf("`%s`: unknown field; allowed are %s", below, strings.Join(FieldNames(t), ", "))
			}
		} else {
			of = t.Elem()
		}
		if err := walk(dec, of, below); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil { // the closing one
		return notJSON(err)
	}
	return nil
}

func notJSON(err error) error {
	return fmt.Errorf("the configuration must be a JSON object: %w", err)
}

// checkType checks that a value that begins with the token can be a t.
func checkType(token json.Token, t reflect.Type, path string) error {
	ok, want := false, ""
	switch t.Kind() {
	case reflect.String:
		_, ok = token.(string)
		want = "a string"
	case reflect.Slice:
		ok, want = token == json.Delim('['), "a list"
	case reflect.Int:
		number, _ := token.(json.Number)
		_, err := strconv.Atoi(string(number))
		ok, want = err == nil, "a whole number"
	default:
		ok, want = token == json.Delim('{'), "an object"
	}
	switch {
	case ok:
		return nil
	case path == "":
		return errors.New("the configuration must be a JSON object")
	}
	return fmt.Errorf("`%s`: must be %s, not %s", path, want, describe(token))
}

func describe(token json.Token) string {
	switch v := token.(type) {
	case json.Delim:
		if v == '[' {
			return "a list"
		}
		return "an object"
	case string:
		return fmt.Sprintf("the string %q", v)
	}
	return fmt.Sprint(token)
}

// fieldType returns the type of a key's value in a map or a struct, nil if the
// struct has no such field.
func fieldType(t reflect.Type, key string) reflect.Type {
	if t.Kind() == reflect.Map {
		return t.Elem()
	}
	for f := range t.Fields() {
		if jsonName(f) == key {
			return f.Type
		}
	}
	return nil
}

// FieldNames returns the names of the fields of one of this package's types.
func FieldNames(t reflect.Type) []string {
	var names []string
	for f := range t.Fields() {
		names = append(names, jsonName(f))
	}
	return names
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
