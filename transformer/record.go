package transformer

import (
	"cmp"
	"errors"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// OriginalsAnnotation is the annotation of a pod template or a WorkloadGroup that carries
// a [Record]. It is written only if there is something to carry.
const OriginalsAnnotation = "rewrite-probes.io/originals"

// A Record is what an exact restore needs and the env var has no room for: mappings and
// values by section, in JSON. Each planner writes its own sections, and both these two.
type Record field.Map

const (
	// RecordEmpty has mappings and lists that were empty or null before we filled them,
	// by the last key of their path.
	RecordEmpty = "empty"
	// RecordTexts has the texts of entries that restore would write in another way, with
	// other quotes for example.
	RecordTexts = "texts"
)

// sections is the order in which sections are written; a WorkloadGroup's "probe" comes before.
var sections = []string{
	"config", "derived", recordEnvoy, recordHandlers, recordAnnotations, recordInherited, recordExcluded, recordDeclared, recordInjected,
	RecordEmpty, RecordTexts,
}

// ReadRecord reads the annotation; an absent one is empty.
func ReadRecord(annotations field.Noted) (Record, error) {
	text, set := annotations.Lookup(OriginalsAnnotation)
	if !set {
		return nil, nil
	}
	m, err := field.DecodeJSON(text)
	if err != nil {
		return nil, errors.New("must be a JSON object as rewrite-probes writes it")
	}
	return Record(m), nil
}

// Encode returns the value of the annotation; "" if there is nothing to carry.
func (r Record) Encode() string {
	if len(r) == 0 {
		return ""
	}
	r = slices.Clone(r)
	slices.SortStableFunc(r, func(a, b field.Entry) int {
		return cmp.Compare(slices.Index(sections, a.Key), slices.Index(sections, b.Key))
	})
	return string(field.AppendJSON(nil, field.Map(r)))
}

// Section returns the mapping that is a section.
func (r Record) Section(name string) field.Map {
	return field.As[field.Map](field.Map(r), name)
}

// Values returns the strings of a section.
func (r Record) Values(name string) field.KeyValues {
	return r.Section(name).KeyValues()
}

// Add adds entries to a section.
func (r *Record) Add(section string, entries ...field.Entry) {
	if len(entries) > 0 {
		r.Set(section, append(slices.Clip(r.Section(section)), entries...))
	}
}

// Emptied returns the edit for a mapping or list that loses its last entry: it is
// deleted or, if it was there before we filled it, becomes empty or null again.
func (r Record) Emptied(path field.Path) field.Edit {
	key := path[len(path)-1].Key
	if v, noted := r.Section(RecordEmpty).Get(key); noted && isEmpty(v) {
		return field.Edit{Op: field.Set, Path: path, Value: v, Texts: r.Values(RecordTexts)}
	}
	return field.Edit{Op: field.Delete, Path: path}
}

// AnnotationEdits returns the edits that turn the annotations at path from have into want.
func (r Record) AnnotationEdits(path field.Path, have, want field.KeyValues) []field.Edit {
	if len(have) > 0 && len(want) == 0 {
		return []field.Edit{r.Emptied(path)}
	}
	var edits []field.Edit
	texts := r.Values(RecordTexts)
	for _, a := range want {
		if !slices.Contains(have, a) {
			edit := field.Edit{Op: field.Set, Path: path.Key(a.Key), Value: a.Value, Texts: texts}
			edits = append(edits, edit)
		}
	}
	for _, a := range have {
		if _, stays := want.Lookup(a.Key); !stays {
			edits = append(edits, field.Edit{Op: field.Delete, Path: path.Key(a.Key)})
		}
	}
	return edits
}

// Set sets a section.
func (r *Record) Set(section string, v field.Value) {
	if i := slices.IndexFunc(*r, func(e field.Entry) bool { return e.Key == section }); i >= 0 {
		(*r)[i].Value = v
		return
	}
	*r = append(*r, field.Entry{Key: section, Value: v})
}

// The sections of a pod template's [Record].
const (
	// recordEnvoy has the originals of the probes that the user's Envoy answers, in the form of the
	// env var: no container of the pod has one.
	recordEnvoy = "envoy"
	// recordHandlers has handlers as they were written, except for their headers, by
	// prober.Key: a port by name, a path that was absent. Likewise the texts of their fields.
	recordHandlers = "handlers"
	// recordAnnotations has the user's values that undo would not restore.
	recordAnnotations = "annotations"
	// recordInherited has annotations that undo would leave although the user has none.
	recordInherited = "inherited"
	// recordExcluded has the ports that were taken out of the mesh, by annotation.
	recordExcluded = "excluded"
	// recordDeclared is true if we declared the mesh's proxy with an image or resources of
	// the user's, by which we could not recognise it, and false if its author declared it in our words.
	recordDeclared = "declared"
	// recordInjected has what Istio's injector had rewritten before the first run: see [template.injected].
	recordInjected = "injected"
)

func isEmpty(v field.Value) bool {
	m, isMap := v.(field.Map)
	list, isList := v.(field.List)
	return v == nil ||
		isMap && len(m) == 0 ||
		isList && len(list) == 0
}
