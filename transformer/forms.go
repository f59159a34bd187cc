package transformer

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// ownOriginals is the annotation that carries, for an exact restore, what the
// env var has no room for. It is written only if there is something to carry.
const ownOriginals = "rewrite-probes.io/originals"

// forms are the contents of the annotation [ownOriginals], in JSON.
type forms struct {
	// handlers are handlers as they were written, except for their headers, by
	// prober.Key: a port by name, a path that was absent.
	handlers field.Map
	// annotations are the user's values that undo would not restore.
	annotations field.KeyValues
	// inherited are annotations that undo would leave although the user has none:
	// their values are the Namespace's.
	inherited field.KeyValues
	// declared is set if we declared the mesh's proxy with an image of the user's, by
	// which we could not recognise it.
	declared bool
	// empty are mappings and lists that were empty or null before we filled them,
	// by the last key of their path.
	empty field.Map
	// texts are the texts of entries that restore would write in another way, with
	// other quotes for example: in mappings for handlers, by prober.Key, and by
	// themselves for what is in empty, by its key there.
	texts field.Map
}

const (
	formHandlers    = "handlers"
	formAnnotations = "annotations"
	formInherited   = "inherited"
	formDeclared    = "declared"
	formEmpty       = "empty"
	formTexts       = "texts"
)

// readForms reads the annotation; an absent one is empty.
func readForms(annotations field.KeyValues) (forms, error) {
	var f forms
	text, set := annotations.Lookup(ownOriginals)
	if !set {
		return f, nil
	}
	m, err := field.DecodeJSON(text)
	if err != nil {
		return f, fmt.Errorf("%s must be a JSON object as rewrite-probes writes it", ownOriginals)
	}
	f.handlers, f.empty = field.As[field.Map](m, formHandlers), field.As[field.Map](m, formEmpty)
	f.texts = field.As[field.Map](m, formTexts)
	f.declared = field.As[bool](m, formDeclared)
	f.annotations = field.As[field.Map](m, formAnnotations).KeyValues()
	f.inherited = field.As[field.Map](m, formInherited).KeyValues()
	return f, nil
}

// encode returns the value of the annotation; "" if there is nothing to carry.
func (f *forms) encode() string {
	var m field.Map
	add := func(key string, value field.Map) {
		if len(value) > 0 {
			m = append(m, field.Entry{Key: key, Value: value})
		}
	}
	byKey := func(a, b field.Entry) int { return strings.Compare(a.Key, b.Key) }
	slices.SortFunc(f.handlers, byKey)
	slices.SortFunc(f.texts, byKey)
	add(formHandlers, f.handlers)
	add(formAnnotations, f.annotations.Map())
	add(formInherited, f.inherited.Map())
	if f.declared {
		m = append(m, field.Entry{Key: formDeclared, Value: true})
	}
	add(formEmpty, f.empty)
	add(formTexts, f.texts)
	if len(m) == 0 {
		return ""
	}
	return string(field.AppendJSON(nil, m))
}

// handler returns the fields of the original handler as they were written; nil
// if they are not known, or no longer mean what the env var says, which is in
// original. It completes original by what the env var has no room for.
func (f *forms) handler(key string, original *Handler) field.Map {
	m := field.As[field.Map](f.handlers, key)
	if kind, _ := original.kind(); len(m) != 1 || m[0].Key != kind {
		return nil
	}
	form, _ := m[0].Value.(field.Map)
	d := original.dialer()
	port, _ := d.endpoint()
	name := field.As[string](form, "port")
	if number, _ := form.Get("port"); name == "" && number != port.Value() || !d.adopt(form) {
		return nil
	}
	if name != "" {
		*port = field.IntOrString{Str: name, IsString: true}
	}
	return form
}

// readForm returns the fields of the handler as they were read, without its
// headers; nil if that is not known.
func (s *handlerSite) readForm() field.Map {
	kind, _ := s.current.kind()
	form := slices.Clone(field.As[field.Map](s.source, kind))
	for i := range form {
		if form[i].Key == headersField && form[i].Value != nil {
			form[i].Value = field.List{}
		}
	}
	return form
}

// withEmptyHeaders returns the form of the original httpGet with the list of headers
// that is empty in the rewritten request, and must be so again.
func (s *handlerSite) withEmptyHeaders(form field.Map) field.Map {
	headers, found := field.As[field.Map](s.source, kindHTTPGet).Get(headersField)
	if _, known := form.Get(headersField); known || !found || !isEmpty(headers) {
		return form
	}
	if form == nil {
		form = s.original.HTTPGet.value()
	}
	return append(field.Map{{Key: headersField, Value: headers}}, form...)
}

// needsForm reports whether the env var, and what the rewritten request keeps,
// would give back another handler than the one that was written.
func (s *handlerSite) needsForm() bool {
	if s.form == nil {
		return false
	}
	if s.original.HTTPGet == nil {
		return !reflect.DeepEqual(s.form, handlerOf(s.prober(), nil).dialer().value())
	}
	port, _ := s.form.Get("port")
	_, number := port.(int)
	path, _ := s.form.Get("path")
	protocol := slices.IndexFunc(s.form, func(e field.Entry) bool { return e.Key == "protocol" && e.Value != nil })
	return !number || path == nil || path == "" || protocol >= 0 && protocol < len(s.form)-1 || s.fillsHeaders()
}

// fillsHeaders reports whether the original has a list of headers that is empty
// or null, and the rewritten request has headers.
func (s *handlerSite) fillsHeaders() bool {
	_, has := s.form.Get(headersField)
	return has && len(s.original.HTTPGet.HTTPHeaders) == 0 && len(s.target.HTTPGet.HTTPHeaders) > 0
}

// shortForm returns the form without the fields of an httpGet that the env var
// and the rewritten request keep. If it has a protocol, all keys stay, because
// they say where the protocol was.
func (s *handlerSite) shortForm() field.Map {
	if s.original.HTTPGet == nil || s.original.HTTPGet.Protocol != "" {
		return s.form
	}
	return slices.DeleteFunc(slices.Clone(s.form), func(e field.Entry) bool {
		return e.Key != "path" && e.Key != "port" && !(e.Key == headersField && s.fillsHeaders())
	})
}

// formsFor returns what the annotation must carry for the rewritten probes, given
// the value of the env var, the user's annotations, and all others that will be
// written.
func (b *planBuilder) formsFor(toRewrite []*handlerSite, env string, user, written field.KeyValues) *forms {
	f := &forms{}
	for _, s := range toRewrite {
		key := prober.Key(s.container.Name, s.name)
		if s.needsForm() {
			kind, _ := s.original.kind()
			f.handlers = append(f.handlers, field.Entry{Key: key, Value: field.Map{{Key: kind, Value: s.shortForm()}}})
		}
		if texts := b.textsOf(s); len(texts) > 0 {
			f.texts = append(f.texts, field.Entry{Key: key, Value: texts.Map()})
		}
	}
	undone := b.undo(written, func(d *dialect) []answerer {
		if d.convention != b.p.dialect.convention {
			return nil
		}
		return []answerer{b.mesh.answerer}
	}, nil)
	for _, p := range user {
		if v, set := undone.Lookup(p.Key); !set || v != p.Value {
			f.annotations = append(f.annotations, p)
		}
	}
	for _, p := range undone {
		if _, set := user.Lookup(p.Key); !set {
			f.inherited = append(f.inherited, p)
		}
	}
	if b.native() && b.adds(toRewrite) {
		b.noteEmpty(f, b.spec.Key("initContainers"), len(b.in.Template.Spec.InitContainers) > 0)
	}
	if env != "" && !b.adds(toRewrite) {
		if at, ok := b.proxyPlace(); ok {
			b.noteEmpty(f, b.containerPath(at).Key("env"), false)
		} else {
			f.declared = b.p.opts.IstioProxy.Image != autoImage
		}
	}
	if len(written) > 0 || f.encode() != "" {
		b.noteEmpty(f, b.metadata, b.hasMetadata())
		b.noteEmpty(f, b.metadata.Key("annotations"), len(b.annotations()) > 0)
	}
	return f
}

// textsOf returns the texts of a handler's fields that restore would write in another way,
// and of an alias for the handler. Another dialect may have left some of the fields as
// their author wrote them.
func (b *planBuilder) textsOf(s *handlerSite) field.KeyValues {
	edits := s.changes()
	if s.alreadyRewritten {
		edits = slices.DeleteFunc(slices.Clone(edits), func(e field.Edit) bool { return !s.isOriginal(e.Path[len(e.Path)-1].Key) })
	}
	return append(slices.Clip(s.texts), b.texts(edits...)...)
}

// texts returns the texts of entries that the editor would write in another way if it
// had to undo the edits.
func (b *planBuilder) texts(edits ...field.Edit) field.KeyValues {
	if b.in.Texts == nil || len(edits) == 0 {
		return nil
	}
	return b.in.Texts(edits)
}

// isOriginal reports whether a field of the rewritten request has its original value.
func (s *handlerSite) isOriginal(key string) bool {
	kind, _ := s.current.kind()
	now, has := field.As[field.Map](s.source, kind).Get(key)
	before, had := s.before(key)
	from, _ := s.original.kind()
	return from == kind && has && had && reflect.DeepEqual(now, before)
}

// noteEmpty notes a mapping or list that will be filled, if it is empty or null
// now, or was before an earlier run filled it. If filled is set, it is not empty
// now.
func (b *planBuilder) noteEmpty(f *forms, path field.Path, filled bool) {
	key := path[len(path)-1].Key
	v, noted := b.forms.empty.Get(key)
	text := field.As[string](b.forms.texts, key)
	if !filled {
		if now, found := b.source(path); found && isEmpty(now) {
			v, noted = now, true
			text = b.texts(field.Edit{Op: field.Set, Path: path, Value: field.List{}}).Get(key)
		}
	}
	if noted {
		f.empty = append(f.empty, field.Entry{Key: key, Value: v})
	}
	if noted && text != "" {
		f.texts = append(f.texts, field.Entry{Key: key, Value: text})
	}
}

func isEmpty(v field.Value) bool {
	switch v := v.(type) {
	case nil:
		return true
	case field.Map:
		return len(v) == 0
	case field.List:
		return len(v) == 0
	}
	return false
}

// emptied returns the edit for a mapping or list that loses its last entry: it is
// deleted or, if it was there before we filled it, becomes empty or null again.
func (b *planBuilder) emptied(path field.Path) field.Edit {
	key := path[len(path)-1].Key
	if v, noted := b.forms.empty.Get(key); noted && isEmpty(v) {
		return field.Edit{Op: field.Set, Path: path, Value: v, Texts: field.KeyValues{{Key: key, Value: field.As[string](b.forms.texts, key)}}}
	}
	return field.Edit{Op: field.Delete, Path: path}
}
