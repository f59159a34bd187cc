package pod

import (
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/spelling"
)

// headersField is the list of headers in an httpGet.
const HeadersField = "httpHeaders"

// A handler with a field that is not known is never rewritten: the answerer
// would not make the request that the kubelet would have made. The fields of
// each type of handler are in handlerTypes.
var (
	probeFields = slices.Concat(fieldsOf[Handler](), []string{
		"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold", "terminationGracePeriodSeconds",
	})
	headerFields = fieldsOf[HTTPHeader]()
)

// UnknownField returns the path of the first field of a probe or hook that is
// not known, and the fields that are known there; nil if all are known.
func UnknownField(probe field.Map) (path field.Path, fields []string) {
	if key := keyNotIn(probe, probeFields); key != "" {
		return field.NewPath(key), probeFields
	}
	for i := range handlerTypes {
		t := &handlerTypes[i]
		handler := field.As[field.Map](probe, t.name)
		if t.fields == nil {
			continue
		}
		if key := keyNotIn(handler, t.fields); key != "" {
			return field.NewPath(t.name, key), t.fields
		}
		for i, v := range field.As[field.List](handler, HeadersField) {
			header, _ := v.(field.Map)
			if key := keyNotIn(header, headerFields); key != "" {
				return field.NewPath(t.name).Item(HeadersField, i).Key(key), headerFields
			}
		}
	}
	return nil, nil
}

// AboutField says what is known in place of an unknown field, or what to write if its name is
// nearly a known one.
func AboutField(key string, known []string) (why, fix string) {
	near := spelling.Near(key, known)
	if len(near) == 0 && len(key) > 2 { // a word of three letters may lack one
		far := func(k string) bool { return !spelling.Within(1, key, k) }
		near = slices.DeleteFunc(slices.Clone(known), far)
	}
	if len(near) == 1 {
		return "", "Write `" + near[0] + "`. If the field is newer than this version, use a newer one"
	}
	return "It knows " + strings.Join(known, ", "), ""
}

// keyNotIn returns the first key of m that is none of the fields; "" if
// all are. A null field counts as absent.
func keyNotIn(m field.Map, fields []string) string {
	for _, e := range m {
		if e.Value != nil && !slices.Contains(fields, e.Key) {
			return e.Key
		}
	}
	return ""
}
