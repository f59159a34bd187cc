package vm

import (
	"encoding/json"
	"fmt"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A record is what an annotation carries for an exact restore, in JSON. It is
// written only if there is something to carry.
type record struct {
	probe   *written        // how the probe was written, if the env var does not tell
	config  *string         // the user's agent configuration, if undoing the change to it gives another
	derived *vmconfig.Probe // the probe that was taken from a workload
	empty   field.Map       // annotations and proxyMetadata that were empty or null
	texts   field.KeyValues // the texts of what restore would write in another way, by key
}

// The keys of a record.
const (
	recordProbe   = "probe"
	recordConfig  = "config"
	recordDerived = "derived"
	recordEmpty   = "empty"
	recordTexts   = "texts"
)

// annotations and proxyMetadata are the keys of record.empty.
const annotations = "annotations"

func readRecord(from field.KeyValues) (record, error) {
	var r record
	text, set := from.Lookup(originalsAnnotation)
	if !set {
		return r, nil
	}
	m, err := field.DecodeJSON(text)
	if err != nil {
		return r, fmt.Errorf("must be a JSON object as rewrite-probes writes it")
	}
	if probe, ok := get(m, recordProbe).(field.Map); ok {
		w := written{}
		for _, e := range probe {
			if handler, isHandler := e.Value.(field.Map); isHandler {
				w.kind, w.handler = e.Key, handler
			} else {
				w.timeout = field.Map{e}
			}
		}
		r.probe = &w
	}
	if config, ok := get(m, recordConfig).(string); ok {
		r.config = &config
	}
	if derived, ok := get(m, recordDerived).(field.Map); ok {
		if err := json.Unmarshal(field.AppendJSON(nil, derived), &r.derived); err != nil {
			return r, fmt.Errorf("must be a JSON object as rewrite-probes writes it, and `%s` is no probe", recordDerived)
		}
	}
	r.empty, _ = get(m, recordEmpty).(field.Map)
	r.texts = field.As[field.Map](m, recordTexts).KeyValues()
	return r, nil
}

// encode returns the value of the annotation; "" if there is nothing to carry.
func (r *record) encode() string {
	var m field.Map
	if r.probe != nil {
		m = append(m, field.Entry{Key: recordProbe, Value: append(field.Map{{Key: r.probe.kind, Value: r.probe.handler}}, r.probe.timeout...)})
	}
	if r.config != nil {
		m = append(m, field.Entry{Key: recordConfig, Value: *r.config})
	}
	if r.derived != nil {
		m = append(m, field.Entry{Key: recordDerived, Value: probeMap(r.derived)})
	}
	if r.empty != nil {
		m = append(m, field.Entry{Key: recordEmpty, Value: r.empty})
	}
	if r.texts != nil {
		m = append(m, field.Entry{Key: recordTexts, Value: r.texts.Map()})
	}
	if m == nil {
		return ""
	}
	return string(field.AppendJSON(nil, m))
}

// envIsOurs reports whether the env var has the original of the group's probe
// alone: of the probe as it is, or of one that has been replaced since an
// earlier run. That one had the group's name, unless the group was renamed too.
func (b *builder) envIsOurs() bool {
	_, ran := b.g.Metadata.Annotations.Lookup(originalsAnnotation)
	return b.entry != nil || b.config.entry != nil && (ran || b.config.key == b.key())
}

// userConfig returns the agent configuration as its author wrote it, nil if
// there was none.
func (b *builder) userConfig() (*string, error) {
	text := b.config.text
	if text == nil || !b.envIsOurs() {
		return text, nil
	}
	if before := b.record.config; before != nil {
		if then, err := withEnv(before, b.config.env); err == nil && then == *text {
			return before, nil
		}
	}
	return withoutEnv(*text, b.record.empty)
}

// annotationEdits returns the edits of the group's annotations, given those of its
// probe, and notes in the answer the annotations that are added.
func (b *builder) annotationEdits(probe []field.Edit, answer *transformer.Answer) []field.Edit {
	have := b.g.Metadata.Annotations
	config, err := b.userConfig()
	var r record
	if err == nil && b.target != nil {
		user := config
		var text string
		text, err = withEnv(user, prober.Encode(map[string]*prober.Prober{b.key(): b.target}))
		if err == nil && user != nil {
			r.empty = emptyMetadata(*user)
			if back, err := withoutEnv(text, r.empty); err != nil || back == nil || *back != *user {
				r.config = user
			}
		}
		if !b.place && !b.written.isTold() {
			r.probe = &b.written
		}
		config = &text
	}
	if err != nil {
		b.add(transformer.NewFinding("vm-config-invalid", annotationPath(ConfigAnnotation), "%v", inOneLine(err)))
		return nil
	}
	if b.derived != nil && (b.place || b.isDerived()) {
		r.derived = effective(b.derived)
	}
	if b.target != nil {
		r.texts = b.textsOf(probe, *config)
	}
	r.empty = append(b.emptyAnnotations(config != nil || r.encode() != ""), r.empty...)
	want := have
	for _, a := range []struct {
		key   string
		value *string
	}{{ConfigAnnotation, config}, {originalsAnnotation, orNil(r.encode())}} {
		if a.value == nil {
			want = want.Without(a.key)
			continue
		}
		want = want.With(a.key, *a.value)
		if _, there := have.Lookup(a.key); !there {
			answer.AddsAnnotations = answer.AddsAnnotations.With(a.key, *a.value)
		}
	}
	return b.changed(have, want)
}

// textsOf returns the texts of what the edits of the probe, the agent's
// configuration and other annotations change, as far as restore would write them in
// another way.
func (b *builder) textsOf(probe []field.Edit, config string) field.KeyValues {
	texts := b.record.texts.Without(annotations).Without(ConfigAnnotation)
	if b.entry == nil {
		texts = b.g.Texts(probe)
	}
	for _, a := range []struct {
		path  field.Path
		value field.Value
		ours  bool // an earlier run has set it
	}{
		{annotationPath(ConfigAnnotation), config, b.envIsOurs()},
		{field.NewPath("metadata", annotations), field.List{}, len(b.g.Metadata.Annotations) > 0},
	} {
		from := b.record.texts
		if !a.ours {
			from = b.g.Texts([]field.Edit{{Op: field.Set, Path: a.path, Value: a.value}})
		}
		key := a.path[len(a.path)-1].Key
		if text, carried := from.Lookup(key); carried {
			texts = texts.With(key, text)
		}
	}
	return texts
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// emptyAnnotations returns what the group's annotations were if they were there
// without contents before they were filled.
func (b *builder) emptyAnnotations(filled bool) field.Map {
	if !filled {
		return nil
	}
	if v, there := b.g.Source(field.NewPath("metadata", annotations)); there && len(b.g.Metadata.Annotations) == 0 {
		return field.Map{{Key: annotations, Value: v}}
	}
	if v, noted := b.record.empty.Get(annotations); noted {
		return field.Map{{Key: annotations, Value: v}}
	}
	return nil
}

// changed returns the edits that turn the annotations from have into want. If none
// is left, the mapping goes too, unless it was there before the first run.
func (b *builder) changed(have, want field.KeyValues) []field.Edit {
	all := field.NewPath("metadata", annotations)
	if len(want) == 0 && len(have) > 0 {
		if v, noted := b.record.empty.Get(annotations); noted {
			return []field.Edit{{Op: field.Set, Path: all, Value: v, Texts: b.record.texts}}
		}
		return []field.Edit{{Op: field.Delete, Path: all}}
	}
	var edits []field.Edit
	for _, kv := range have {
		if _, stays := want.Lookup(kv.Key); !stays {
			edits = append(edits, field.Edit{Op: field.Delete, Path: all.Key(kv.Key)})
		}
	}
	for _, kv := range want {
		if old, there := have.Lookup(kv.Key); !there || old != kv.Value {
			edits = append(edits, field.Edit{Op: field.Set, Path: all.Key(kv.Key), Value: kv.Value, Texts: b.record.texts})
		}
	}
	return edits
}
