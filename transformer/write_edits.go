package transformer

import (
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// editAll plans the edits: annotations, containers, probes.
func (w *draft) editAll() {
	if w.kept {
		return
	}
	w.editAnnotations()
	w.editContainers(w.originals())
	for i, s := range w.rulings {
		switch {
		case s.target != nil:
			w.changes[i] = s.edits(s.target)
			w.edit(w.changes[i]...)
		case s.alreadyRewritten && !s.stays:
			w.edit(s.edits(s.original)...)
		}
	}
}

// edits returns the edits that make the handler want. If another form added a
// scheme, that is removed.
func (s *site) edits(want *pod.Handler) []field.Edit {
	var form field.Map
	if s.original.Kind() == want.Kind() {
		form = s.form
	}
	edits := pod.HandlerEdits(s.path, s.current, want, form)
	if want == s.original {
		edits = s.withTexts(edits)
		for i := range edits {
			edits[i].Texts = s.texts
		}
	}
	if (s.foreign || s.inForm) && dropsScheme(s.current, want) {
		edits = append(edits, field.Edit{Op: field.Delete, Path: s.path.Key(pod.KindHTTPGet, "scheme")})
	}
	return edits
}

// dropsScheme reports whether of two httpGet handlers only the first has a scheme.
func dropsScheme(from, to *pod.Handler) bool {
	if from.HTTPGet == nil || to.HTTPGet == nil {
		return false
	}
	return from.HTTPGet.Scheme != "" && to.HTTPGet.Scheme == ""
}

// withTexts returns the edits that restore the original, with one for each field that has
// been given its original value by hand, and whose text is known.
func (s *site) withTexts(edits []field.Edit) []field.Edit {
	kind := s.current.Kind()
	now := field.As[field.Map](s.source, kind)
	for _, text := range s.texts {
		named := slices.ContainsFunc(edits, func(e field.Edit) bool {
			last := e.Path[len(e.Path)-1]
			return e.Op == field.Rename || last.Key == text.Key
		})
		_, has := now.Get(text.Key)
		if value, had := s.before(text.Key); has && had && !named {
			path := s.path.Key(kind, text.Key)
			edits = append(edits, field.Edit{Op: field.Set, Path: path, Value: value})
		}
	}
	return edits
}

// originals returns the env var's value for what is rewritten and for what stays: as the injector wrote it, if it is all that it
// wrote.
func (w *draft) originals() string {
	if len(w.staying) == 0 {
		return encode(w.toRewrite)
	}
	all := slices.Concat(w.staying, w.toRewrite)
	m := w.injected()
	if prober.Encode(originalsOf(all)) == prober.Encode(injectedOriginals(m)) {
		return field.As[string](m, injectedEnv)
	}
	return encode(all)
}

// encode returns the env var's value for the originals of probes; "" if there are none. The
// kubelet expands $(NAME) in env values and makes one $ of $$.
func encode(sites []*site) string {
	return strings.ReplaceAll(prober.Encode(originalsOf(sites)), "$", "$$")
}
