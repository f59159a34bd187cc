package transformer

import (
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// mergeEnv returns the env vars of base with those of changes, by name.
func mergeEnv(base, changes field.List) field.List {
	out := slices.Clone(base)
	nameOf := func(env field.Value) string {
		return field.As[string](env.(field.Map), "name")
	}
	for _, v := range changes {
		i := slices.IndexFunc(out, func(o field.Value) bool {
			return nameOf(o) == nameOf(v)
		})
		if i < 0 {
			out = append(out, v)
		} else {
			out[i] = v
		}
	}
	return out
}

// diff returns the edits that change the value at path from have to want, which differ or
// are mappings. owned reports whether a key of have is deleted if want lacks it, unless the
// API server has filled it in; if owned is nil, every such key is.
func diff(path field.Path, have, want field.Value, owned func(key string) bool) (edits []field.Edit) {
	h, wasMap := have.(field.Map)
	w, isMap := want.(field.Map)
	if wasMap && isMap {
		return diffMaps(path, h, w, owned)
	}
	items, wasList := have.(field.List)
	if list, isList := want.(field.List); wasList && isList && len(items) == len(list) {
		for i := range list {
			if !field.Same(items[i], list[i]) {
				edits = append(edits, diff(path.Index(i), items[i], list[i], nil)...)
			}
		}
		return edits
	}
	return []field.Edit{{Op: field.Set, Path: path, Value: want}}
}

func diffMaps(path field.Path, have, want field.Map, owned func(key string) bool) (edits []field.Edit) {
	for _, e := range want {
		if v, ok := have.Get(e.Key); !ok {
			edits = append(edits, field.Edit{Op: field.Set, Path: path.Key(e.Key), Value: e.Value})
		} else if !field.Same(v, e.Value) { // a path costs memory
			edits = append(edits, diff(path.Key(e.Key), v, e.Value, nil)...)
		}
	}
	for _, e := range have {
		_, wanted := want.Get(e.Key)
		isOwned := owned == nil || owned(e.Key)
		if !wanted && isOwned && !isFilledIn(e, want) {
			edits = append(edits, field.Edit{Op: field.Delete, Path: path.Key(e.Key)})
		}
	}
	return edits
}

// apiDefaults are values that the API server fills in in a container or below it.
var apiDefaults = field.Map{
	{Key: "apiVersion", Value: "v1"}, // of a fieldRef
	{Key: "divisor", Value: "0"},     // of a resourceFieldRef
	{Key: "failureThreshold", Value: 3},
	{Key: "periodSeconds", Value: 10},
	{Key: "resources", Value: field.Map{}}, // by the API's types in Go
	{Key: "scheme", Value: "HTTP"},
	{Key: "successThreshold", Value: 1},
	{Key: "terminationMessagePath", Value: "/dev/termination-log"},
	{Key: "terminationMessagePolicy", Value: "File"},
	{Key: "timeoutSeconds", Value: 1},
}

// isFilledIn reports whether an entry that we did not write into a mapping is one that the
// API server fills in there, as in a manifest that was read from the cluster.
func isFilledIn(e field.Entry, written field.Map) bool {
	if e.Key == "imagePullPolicy" {
		return e.Value == defaultPullPolicy(field.As[string](written, "image"))
	}
	v, hasDefault := apiDefaults.Get(e.Key)
	return hasDefault && field.Same(v, e.Value)
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
