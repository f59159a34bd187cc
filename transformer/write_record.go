package transformer

import (
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// needsForm reports whether the env var, and what the rewritten request keeps,
// would give back another handler than the one that was written.
func (s *site) needsForm() bool {
	if s.form == nil {
		return false
	}
	h := s.original.HTTPGet
	if h == nil {
		return !field.Same(s.form, pod.HandlerOf(s.prober(), nil).Value())
	}
	return h.Port.IsString ||
		h.Path == "" ||
		h.Protocol != "" && pod.Following(s.form, "protocol") != ""
}

// shortForm returns the form without the fields of an httpGet that the env var
// and the rewritten request keep. If it has a protocol, all keys stay, because
// they say where the protocol was.
func (s *site) shortForm() field.Map {
	if s.original.HTTPGet == nil || s.original.HTTPGet.Protocol != "" {
		return s.form
	}
	return slices.DeleteFunc(slices.Clone(s.form), func(e field.Entry) bool {
		return e.Key != "path" && e.Key != "port"
	})
}

// recordFor returns what the annotation must carry for the rewritten probes, given
// the user's annotations, and all others that will be written.
func (w *draft) recordFor(toRewrite []*site, user, written field.KeyValues) Record {
	var r Record
	if w.isAnsweredBy(AnsweredByEnvoy) {
		r.Set(recordEnvoy, envoyOriginals(toRewrite))
	}
	sorted := slices.Clone(toRewrite)
	slices.SortFunc(sorted, func(s, t *site) int {
		return strings.Compare(s.key, t.key)
	})
	var handlers, texts field.Map
	ofContainer, around := w.textsByContainer()
	for _, s := range sorted {
		if s.needsForm() {
			handler := field.Map{{Key: s.original.Kind(), Value: s.shortForm()}}
			handlers = append(handlers, field.Entry{Key: s.key, Value: handler})
		}
		if kept := s.textsIn(slices.Concat(around, ofContainer[s.at])); len(kept) > 0 {
			texts = append(texts, field.Entry{Key: s.key, Value: kept.Map()})
		}
	}
	r.Add(recordHandlers, handlers...)
	r.Add(RecordTexts, texts...)
	r.Add(RecordTexts, annotationTexts(w, user, written)...)
	undone := undoAll(written.Note(nil), []answerer{w.answerer}, nil).Unnoted()
	r.Add(recordAnnotations, slices.DeleteFunc(user.Map(), func(e field.Entry) bool {
		v, set := undone.Lookup(e.Key)
		return set && v == e.Value
	})...)
	r.Add(recordInherited, slices.DeleteFunc(undone.Map(), func(e field.Entry) bool {
		_, set := user.Lookup(e.Key)
		return set
	})...)
	if w.native() && w.answeredByUs() {
		w.noteEmpty(&r, w.spec.Key("initContainers"), len(w.in.Template.Spec.InitContainers) == 0)
	}
	if w.isAnsweredBy(AnsweredByIstioProxy) {
		if proxy := w.proxy; proxy != nil {
			at := w.containerPath(w.proxyAt)
			w.noteEmpty(&r, at.Key("env"), len(proxy.Env) == 0)
			hasOthers := len(proxy.Env) > len(proxy.EnvVars(prober.EnvName))
			if !hasOthers && isDeclared(w.sourceMap(at), nil) {
				r.Set(recordDeclared, false)
			}
		} else if w.opts.IstioProxy.Image != autoImage ||
			len(field.Merge(nil, w.opts.IstioProxy.Resources)) > 0 {
			r.Set(recordDeclared, true)
		}
	}
	noteInjected(w, &r)
	if len(written)+len(r) > 0 {
		w.noteEmptyMetadata(&r)
	}
	return r
}

// noteInjected notes what Istio's injector had rewritten, if it had.
func noteInjected(w *draft, r *Record) {
	if m := w.injected(); m != nil {
		r.Set(recordInjected, m)
	}
}

// annotationTexts returns the texts of the user's annotations that get another value, such as a list of ports, if
// restore would write them in another way.
func annotationTexts(w *draft, user, written field.KeyValues) (texts field.Map) {
	if len(w.in.Texts)+len(w.record) == 0 {
		return nil // nearly always
	}
	recorded := w.record.Values(RecordTexts)
	for _, a := range written {
		before, set := user.Lookup(a.Key)
		if !set || before == a.Value {
			continue
		}
		text := recorded.Get(a.Key)
		if now := w.in.Template.Metadata.Annotations.Get(a.Key); now == before {
			text = textAt(w.in.Texts, w.metadata.Key("annotations", a.Key))
		}
		if text != "" {
			texts = append(texts, field.Entry{Key: a.Key, Value: text})
		}
	}
	return texts
}

// textAt returns the text that the edits replace at a path, if undoing them would write another; else "".
func textAt(texts []field.WrittenText, path field.Path) string {
	for _, t := range texts {
		if slices.Equal(t.Path, path) {
			return t.Text
		}
	}
	return ""
}

// envoyOriginals returns the originals of probes as the annotation has them.
func envoyOriginals(sites []*site) field.Value {
	originals, err := field.DecodeJSON(prober.Encode(originalsOf(sites)))
	if err != nil {
		panic(err) // it is what was just encoded
	}
	return originals
}

// textsByContainer returns the texts that the edits replace in each container, and those of what the
// containers are in.
func (w *draft) textsByContainer() (by map[pod.Ref][]field.WrittenText, around []field.WrittenText) {
	by = make(map[pod.Ref][]field.WrittenText)
	list := len(w.spec)
	for _, t := range w.in.Texts {
		switch {
		case len(t.Path) < list+2:
			around = append(around, t)
		case t.Path.HasPrefix(w.spec):
			at := pod.Ref{Index: int(t.Path[list+1].Index)}
			at.Init = t.Path[list].Key != at.List()
			by[at] = append(by[at], t)
		}
	}
	return by, around
}

// textsIn returns, of what is replaced in a container and around it, the texts of a handler's fields that
// restore would write in another way, and of an alias for the handler. A mesh's own tool may have left
// some of the fields as their author wrote them.
func (s *site) textsIn(replaced []field.WrittenText) field.KeyValues {
	texts := slices.Clip(s.texts)
	for _, t := range replaced {
		key := t.Path[len(t.Path)-1].Key
		ofField := t.Path.HasPrefix(s.path)
		ofHandler := s.path.HasPrefix(t.Path)
		isWritten := !s.alreadyRewritten || ofField && s.isOriginal(key)
		if isWritten && (ofField || ofHandler) {
			texts = append(texts, field.KeyValue{Key: key, Value: t.Text})
		}
	}
	return texts
}

// isOriginal reports whether a field of the rewritten request has its original value.
func (s *site) isOriginal(key string) bool {
	now, _ := field.As[field.Map](s.source, s.current.Kind()).Get(key)
	before, had := s.before(key)
	return had && field.Same(now, before)
}

// noteEmpty notes a mapping or list that will be filled, if it is empty or null
// now, or was before an earlier run filled it. mayBe is false if it certainly is not empty now.
func (w *draft) noteEmpty(r *Record, path field.Path, mayBe bool) {
	key := path[len(path)-1].Key
	v, noted := w.record.Section(RecordEmpty).Get(key)
	text := w.record.Values(RecordTexts).Get(key)
	var now field.Value
	found := false
	if mayBe { // to read what is filled takes time
		now, found = w.in.Source(path)
	}
	if found && isEmpty(now) {
		v = now
		noted = true
		text = textAt(w.in.Texts, path)
	}
	if !noted {
		return
	}
	r.Add(RecordEmpty, field.Entry{Key: key, Value: v})
	if text != "" {
		r.Add(RecordTexts, field.Entry{Key: key, Value: text})
	}
}

// noteEmptyMetadata notes, last, the metadata and the annotations, which will be filled.
func (w *draft) noteEmptyMetadata(r *Record) {
	m := &w.in.Template.Metadata
	w.noteEmpty(r, w.metadata, len(m.Labels)+len(m.Annotations) == 0)
	w.noteEmpty(r, w.metadata.Key("annotations"), len(m.Annotations) == 0)
	byKey := func(x, y field.Entry) int {
		return strings.Compare(x.Key, y.Key)
	}
	slices.SortFunc(r.Section(RecordTexts), byKey)
}
