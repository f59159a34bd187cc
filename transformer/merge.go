package transformer

import (
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// merge returns base with the entries of changes, mappings merged deeply. A nil
// value removes a key.
func merge(base, changes field.Map) field.Map {
	out := slices.Clone(base)
	for _, e := range changes {
		i := slices.IndexFunc(out, func(o field.Entry) bool { return o.Key == e.Key })
		switch {
		case e.Value == nil && i < 0:
		case e.Value == nil:
			out = slices.Delete(out, i, i+1)
		case i < 0:
			if change, isMap := e.Value.(field.Map); isMap && len(change) > 0 {
				if e.Value = merge(nil, change); len(e.Value.(field.Map)) == 0 {
					continue // it removes what is not there
				}
			}
			out = append(out, e)
		default:
			have, isMap := out[i].Value.(field.Map)
			if change, both := e.Value.(field.Map); isMap && both {
				out[i].Value = merge(have, change)
			} else {
				out[i].Value = e.Value
			}
		}
	}
	return out
}

// mergeEnv returns the env vars of base with those of changes, by name.
func mergeEnv(base, changes field.List) field.List {
	out := slices.Clone(base)
	nameOf := func(env field.Value) string { return field.As[string](env.(field.Map), "name") }
	for _, v := range changes {
		i := slices.IndexFunc(out, func(o field.Value) bool { return nameOf(o) == nameOf(v) })
		if i < 0 {
			out = append(out, v)
		} else {
			out[i] = v
		}
	}
	return out
}

// diff returns the edits that change the value at path from have to want. owned
// reports whether a key of have is deleted if want lacks it; if owned is nil, every
// such key is.
func diff(path field.Path, have, want field.Value, owned func(key string) bool) []field.Edit {
	switch w := want.(type) {
	case field.Map:
		if h, ok := have.(field.Map); ok {
			return diffMaps(path, h, w, owned)
		}
	case field.List:
		if h, ok := have.(field.List); ok && len(h) == len(w) {
			var edits []field.Edit
			for i := range w {
				if same(h[i], w[i]) {
					continue // most are, and a path costs memory
				}
				edits = append(edits, diff(path.Index(i), h[i], w[i], nil)...)
			}
			return edits
		}
	}
	if same(have, want) {
		return nil
	}
	return []field.Edit{{Op: field.Set, Path: path, Value: want}}
}

func diffMaps(path field.Path, have, want field.Map, owned func(key string) bool) []field.Edit {
	var edits []field.Edit
	for _, e := range want {
		if h, ok := have.Get(e.Key); ok && same(h, e.Value) {
			continue
		} else if ok {
			edits = append(edits, diff(path.Key(e.Key), h, e.Value, nil)...)
		} else {
			edits = append(edits, field.Edit{Op: field.Set, Path: path.Key(e.Key), Value: e.Value})
		}
	}
	for _, e := range have {
		if _, wanted := want.Get(e.Key); !wanted && (owned == nil || owned(e.Key)) {
			edits = append(edits, field.Edit{Op: field.Delete, Path: path.Key(e.Key)})
		}
	}
	return edits
}

// apiDefaults are values that the API server fills in below a container that we add.
var apiDefaults = field.Map{
	{Key: "apiVersion", Value: "v1"}, // of a fieldRef
	{Key: "divisor", Value: "0"},     // of a resourceFieldRef
	{Key: "failureThreshold", Value: 3},
	{Key: "periodSeconds", Value: 10},
	{Key: "scheme", Value: "HTTP"},
	{Key: "successThreshold", Value: 1},
	{Key: "timeoutSeconds", Value: 1},
}

// withFilledIn returns a container with what the API server has filled in where it is there
// already, so that one that was read from the cluster needs no edit.
func withFilledIn(want, have field.Map) field.Map {
	want = withDefaultsOf(want, have).(field.Map)
	policy, filled := have.Get("imagePullPolicy")
	if _, wanted := want.Get("imagePullPolicy"); filled && !wanted && policy == defaultPullPolicy(field.As[string](want, "image")) {
		want = append(want, field.Entry{Key: "imagePullPolicy", Value: policy})
	}
	return want
}

// withDefaultsOf returns a value with the API server's defaults that have has at the same
// places.
func withDefaultsOf(want, have field.Value) field.Value {
	switch w := want.(type) {
	case field.Map:
		h, _ := have.(field.Map)
		out := make(field.Map, len(w), len(w)+2)
		for i, e := range w {
			v, _ := h.Get(e.Key)
			out[i] = field.Entry{Key: e.Key, Value: withDefaultsOf(e.Value, v)}
		}
		for _, e := range h {
			v, isDefault := apiDefaults.Get(e.Key)
			if _, wanted := w.Get(e.Key); isDefault && !wanted && same(v, e.Value) {
				out = append(out, e)
			}
		}
		return out
	case field.List:
		h, _ := have.(field.List)
		if len(h) != len(w) {
			return w
		}
		out := make(field.List, len(w))
		for i := range w {
			out[i] = withDefaultsOf(w[i], h[i])
		}
		return out
	}
	return want
}

// defaultPullPolicy returns the imagePullPolicy that the API server gives to an image: a tag
// that is missing or latest is pulled anew.
func defaultPullPolicy(image string) string {
	name, _, digested := strings.Cut(image, "@")
	_, tag, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ":")
	if tag == "latest" || tag == "" && !digested {
		return "Always"
	}
	return "IfNotPresent"
}

// same reports whether two values are equal, mappings in their order too.
func same(a, b field.Value) bool {
	switch a := a.(type) {
	case field.Map:
		b, ok := b.(field.Map)
		return ok && slices.EqualFunc(a, b, func(x, y field.Entry) bool { return x.Key == y.Key && same(x.Value, y.Value) })
	case field.List:
		b, ok := b.(field.List)
		return ok && slices.EqualFunc(a, b, same)
	}
	switch b.(type) {
	case field.Map, field.List:
		return false
	}
	return a == b
}
