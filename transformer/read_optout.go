package transformer

import (
	"strconv"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// An optOutSource is metadata that may hold an annotation of ours.
type optOutSource struct {
	*field.NotedMetadata
	path field.Path // of the metadata; nil of the Namespace's
	what string     // what it takes out of the rewriting
}

// switchedOff returns a finding if a boolean annotation is false. A value that
// is no boolean is an error, since its author wanted something other than the
// default.
func (s optOutSource) switchedOff(key string, why reason.Key) (off, invalid *Finding) {
	v, set := s.Annotations.Lookup(key)
	if !set {
		return nil, nil
	}
	var f Finding
	switch on, err := strconv.ParseBool(v); {
	case err != nil:
		if s.path == nil {
			f = NewFinding(reason.AnnotationInvalid, nil, "annotation `%s` of Namespace %q is %q, neither true nor false", key, s.Name, v)
		} else {
			f = metadataFinding(reason.AnnotationInvalid, s.path.Key("annotations", key), v, "is neither true nor false")
		}
		return nil, &f
	case on:
		return nil, nil
	case s.path == nil:
		f = NewFinding(why, nil, "Namespace %q has the annotation `%s: %s`", s.Name, key, v)
	default:
		f = metadataFinding(why, s.path.Key("annotations", key), v, "opts %s out", s.what)
	}
	return &f, nil
}
