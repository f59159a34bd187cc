package config

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/spelling"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// fieldsOf returns the fields of a struct, and of one that it embeds, with their values.
func fieldsOf(v reflect.Value) iter.Seq2[reflect.StructField, reflect.Value] {
	return func(yield func(reflect.StructField, reflect.Value) bool) {
		for _, f := range reflect.VisibleFields(v.Type()) {
			if !f.Anonymous && !yield(f, v.FieldByIndex(f.Index)) {
				return
			}
		}
	}
}

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

// setText sets a field to what a ConfigMap or a flag says.
func setText(v reflect.Value, tag reflect.StructTag, text string) error {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%q must be a number from %s to %s", text, tag.Get("min"), tag.Get("max"))
		}
		v.SetInt(int64(n))
	case reflect.Bool:
		on, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q must be \"true\" or \"false\"", text)
		}
		v.SetBool(on)
	case reflect.Interface: // auto, true or false, which the validation checks
		v.Set(reflect.ValueOf(text))
	case reflect.Slice:
		items := []string{}
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				items = append(items, part)
			}
		}
		v.Set(reflect.ValueOf(items))
	}
	return nil
}

// checkStruct reports the values that the tags forbid.
func (p *problems) checkStruct(path field.Path, v reflect.Value) {
	for f, value := range fieldsOf(v) {
		p.checkValue(path.Key(jsonName(f)), value, f.Tag)
	}
}

func (p *problems) checkValue(path field.Path, v reflect.Value, tag reflect.StructTag) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			p.checkValue(path, v.Elem(), tag)
		}
	case reflect.Struct:
		p.checkStruct(path, v)
	case reflect.Slice:
		for i := range v.Len() {
			p.checkValue(path.Index(i), v.Index(i), tag)
		}
	case reflect.String:
		if s := v.String(); s == "" && tag.Get("required") != "" {
			p.add(path, "must be given")
		} else if s != "" || tag.Get("optional") == "" {
			p.checkText(path, s, tag)
		}
	case reflect.Interface: // auto, or a boolean, which YAML may write in quotes
		p.checkText(path, switchText(v), tag)
	case reflect.Int:
		low := number(tag.Get("min"))
		high := number(tag.Get("max"))
		if n := int(v.Int()); n < low || n > high {
			p.add(path, "\"%d\" must be a number from %d to %d", v.Int(), low, high)
		}
	}
}

// switchText returns what a switch says: auto, if an item of a list does not have it.
func switchText(v reflect.Value) string {
	if v.IsNil() {
		return "auto"
	}
	return fmt.Sprint(v.Interface())
}

// checkText reports a text that the tags enum, registry and form forbid.
func (p *problems) checkText(path field.Path, s string, tag reflect.StructTag) {
	if values := allowed(tag); values != nil && !slices.Contains(values, s) {
		p.add(path, "%q must be %s%s", s, field.Enumerate(values, "or"), meant(s, values))
	}
	if check := forms[tag.Get("form")]; check != nil {
		if err := check(s); err != nil {
			p.add(path, "%v", err)
		}
	}
}

// products are meshes that are built on one that the functionConfig knows.
var products = map[string]string{"kong": "kuma", "kong-mesh": "kuma", "flomesh": "fsm", "openservicemesh": "osm"}

// meant returns the end of a message about a value that is none of those allowed.
func meant(s string, values []string) string {
	if p := products[strings.ToLower(s)]; slices.Contains(values, p) {
		return "; did you mean " + p + "?"
	}
	if hint := spelling.DidYouMean(s, values); hint != "" {
		return "; " + hint
	}
	return ""
}

const imageWords = "an image: a name in lower case, :TAG or @sha256: with 64 hexadecimal digits, or both"

// forms has, by the values of the tag form, what says what is wrong with a text.
var forms = map[string]func(string) error{
	"revision":      must(isDNSLabel, "the name of a revision or a tag: lower-case letters, digits and dashes, at most 63"),
	"container":     must(isDNSLabel, "a container name: lower-case letters, digits and dashes, at most 63"),
	"namespace":     must(isDNSLabel, "the name of a namespace: lower-case letters, digits and dashes, at most 63"),
	"image":         must(isImage, imageWords),
	"imageOrAuto":   must(isImage, "auto or "+imageWords),
	"pattern":       must(isPattern, "a name, where * and ? match as in a shell"),
	"labelSelector": must(isLabelSelector, "made of a=b, a!=b, a in (b,c), a notin (b,c), a and !a, joined by commas"),
	"istioVersion":  must(transformer.IsIstioVersion, "a version of Istio in quotes, such as \"1.24\""),
	"registry":      CheckRegistry,
	"path": func(s string) error {
		_, err := field.Parse(s)
		return err
	},
}

// must returns a function that says what a text must be if it is not.
func must(is func(string) bool, what string) func(string) error {
	return func(s string) error {
		if is(s) {
			return nil
		}
		return fmt.Errorf("%q must be %s", s, what)
	}
}

// isDNSLabel follows RFC 1123, the rule of the API server for the names of containers and namespaces.
func isDNSLabel(s string) bool {
	return s != "" &&
		len(s) <= 63 &&
		strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" &&
		strings.Trim(s, "-") == s
}
