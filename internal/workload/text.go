package workload

import (
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
)

// MayHaveTexts reports, without parsing, whether [Texts] may find something.
func MayHaveTexts(o *manifest.Object) bool {
	return o.Kind() != "CustomResourceDefinition" && o.MayMention(dialing...)
}

// Texts yields the path of every string of an object that holds YAML or JSON with what looks
// like probes: the values of a chart, a patch, a manifest. Metadata is left out, since
// `kubectl apply` notes the whole object there, and so is a CustomResourceDefinition, which
// has schemas.
func Texts(o *manifest.Object) iter.Seq[field.Path] {
	return func(yield func(field.Path) bool) {
		if !MayHaveTexts(o) {
			return
		}
		all, _ := o.Value(nil)
		root, _ := all.(field.Map)
		for _, e := range root {
			if e.Key != "metadata" &&
				!eachText(e.Value, field.NewPath(e.Key), yield) {
				return
			}
		}
	}
}

// eachText is Texts for the value at a path. It returns false once yield did.
func eachText(v field.Value, at field.Path, yield func(field.Path) bool) bool {
	switch v := v.(type) {
	case string:
		return !TextHasProbe(v) || yield(at)
	case field.Map:
		for _, e := range v {
			if !eachText(e.Value, at.Key(e.Key), yield) {
				return false
			}
		}
	case field.List:
		for i, item := range v {
			if !eachText(item, at.Index(i), yield) {
				return false
			}
		}
	}
	return true
}

// TextHasProbe reports whether a text is YAML or JSON with something that looks like a probe
// or hook over the network. The documents of the text may be lists, as JSON patches are.
func TextHasProbe(text string) bool {
	mentions := func(word string) bool { return strings.Contains(text, word) }
	if !slices.ContainsFunc(dialing, mentions) {
		return false
	}
	s, err := ReadText(text)
	return err == nil && slices.ContainsFunc(s.Objects(), HasProbe)
}

// IsPartOfPods reports whether a text with probes is no object, and has all of them in lists of containers: the values of a chart
// have others, and a patch has a kind.
func IsPartOfPods(text string) bool {
	s, err := ReadText(text)
	if err != nil {
		return false
	}
	for _, o := range s.Objects() {
		isOther := o.Kind() != ""
		EachProbe(o, func(at field.Path) {
			inList := slices.ContainsFunc(at, func(s field.Step) bool { return s.Key == "containers" || s.Key == "initContainers" })
			isOther = isOther || !inList
		})
		if isOther {
			return false
		}
	}
	return true
}

// ReadText reads a text that stands in a manifest or is a patch. One that is a list, as a JSON
// patch is, becomes the only field of a mapping.
func ReadText(text string) (*manifest.Stream, error) {
	s, err := manifest.Read("text", []byte(text))
	if errors.Is(err, manifest.ErrNotObject) {
		return manifest.Read("list", []byte("list:\n "+strings.ReplaceAll(text, "\n", "\n ")))
	}
	return s, err
}

// HasProbe reports whether anything in a mapping, which need not be an object of the
// API, looks like a probe.
func HasProbe(o *manifest.Object) bool {
	found := false
	EachProbe(o, func(field.Path) { found = true })
	return found
}

// ChangesProbe reports whether a patch, or a part of one, sets what the rewriting of a probe or
// hook depends on: a handler that opens a connection, or the timeout, which probe-proxy keeps
// too. An exec probe, or another period, changes nothing of it.
func ChangesProbe(patch field.Value) bool {
	switch v := patch.(type) {
	case field.Map:
		op := field.As[string](v, "op")
		path := field.As[string](v, "path")
		if op != "" &&
			op != "remove" &&
			aimsAtProbe(strings.Split(path, "/")) {
			return true
		}
		return slices.ContainsFunc(v, func(e field.Entry) bool {
			isProbe := slices.Contains(probeFields, e.Key) || slices.Contains(hookFields, e.Key)
			isHandler := e.Key != "grpc" && slices.Contains(dialing, e.Key)
			switch {
			case isProbe && setsHandler(e.Value), isHandler && e.Value != nil:
				return true
			}
			return ChangesProbe(e.Value)
		})
	case field.List:
		return slices.ContainsFunc(v, ChangesProbe)
	}
	return false
}

// setsHandler reports whether a part of a probe or hook has a handler that opens a connection,
// or the timeout of any.
func setsHandler(v field.Value) bool {
	m, _ := v.(field.Map)
	return slices.ContainsFunc(m, func(e field.Entry) bool {
		return e.Value != nil &&
			(e.Key == "timeoutSeconds" || slices.Contains(dialing, e.Key))
	})
}

// aimsAtProbe reports whether the path of a JSON patch leads into such a handler, or to the timeout.
func aimsAtProbe(keys []string) bool {
	return slices.ContainsFunc(keys, func(key string) bool {
		return key == "timeoutSeconds" || slices.Contains(dialing, key)
	})
}
