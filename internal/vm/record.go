package vm

import (
	"reflect"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// The sections of a group's [transformer.Record].
const (
	recordProbe   = "probe"   // how the probe was written, if the env var does not say that
	recordConfig  = "config"  // the user's agent configuration, if undoing the change to it gives another
	recordDerived = "derived" // the probe that was taken from a workload
)

// annotations, in a record, are those of the group.
const annotations = "annotations"

// probeIn returns the probe that a mapping has.
func probeIn(m field.Map) (*vmconfig.Probe, error) {
	p := new(vmconfig.Probe)
	return p, prober.DecodeStrictly(field.AppendJSON(nil, m), p)
}

// envIsOurs reports whether the env var has the original of the group's probe
// alone: of the probe as it is, or of one that has been replaced since an
// earlier run. That one had the group's name, unless the group was renamed too.
func (b *builder) envIsOurs() bool {
	_, ran := b.g.annotations().Lookup(transformer.OriginalsAnnotation)
	return b.isRewritten ||
		b.config.entry != nil &&
			(ran || b.config.key == b.key())
}

// userConfig returns the agent configuration as its author wrote it, nil if
// there was none.
func (b *builder) userConfig() (*string, error) {
	if !b.envIsOurs() {
		return b.config.text, nil
	}
	vars := variables(b.config.key, b.config.entry)
	var before *string
	config, _ := field.Map(b.record).Get(recordConfig)
	if text, noted := config.(string); noted {
		before = &text
		if then, err := withEnv(before, vars); err == nil && then == *b.config.text {
			return before, nil
		}
	}
	return withoutEnv(*b.config.text, vars, before)
}

// configWithEnv returns the agent configuration of a rewritten group, and notes in
// the record that of the author if undoing the change gives another; user is nil if there
// was none.
func (b *builder) configWithEnv(user *string, r *transformer.Record) (*string, error) {
	vars := variables(b.key(), b.target)
	text, err := withEnv(user, vars)
	if err == nil && user != nil {
		if back, err := withoutEnv(text, vars, nil); err != nil || back == nil || *back != *user {
			r.Set(recordConfig, *user)
		}
	}
	return &text, err
}

// annotationEdits returns the edits of the group's annotations, and notes in the answer
// the annotations that are added.
func (b *builder) annotationEdits(answer *transformer.Answer) []field.Edit {
	have := b.g.Metadata.Annotations
	var r transformer.Record
	config, err := b.userConfig()
	if err == nil && b.target != nil {
		config, err = b.configWithEnv(config, &r)
		if b.derived == nil && !reflect.DeepEqual(b.written, writtenBy(b.target)) {
			r.Set(recordProbe, b.written)
		}
	}
	if err != nil {
		b.add(reason.VMConfigInvalid, annotationPath(ConfigAnnotation), "%v", inOneLine(err))
		return nil
	}
	if b.derived != nil {
		r.Set(recordDerived, probeMap(b.derived))
	}
	if b.target != nil {
		r.Add(transformer.RecordTexts, b.texts().Map()...)
	}
	if config != nil || len(r) > 0 {
		b.noteEmpty(&r)
	}
	want := have.Without(ConfigAnnotation).Without(transformer.OriginalsAnnotation)
	if config != nil {
		want = want.With(ConfigAnnotation, *config)
	}
	if value := r.Encode(); value != "" {
		want = want.With(transformer.OriginalsAnnotation, value)
	}
	answer.AddsAnnotations = slices.DeleteFunc(slices.Clone(want), func(a field.KeyValue) bool {
		_, there := have.Lookup(a.Key)
		return there
	})
	return b.record.AnnotationEdits(field.NewPath("metadata", annotations), have, want)
}

// texts returns the texts of the probe, the agent's configuration and the annotations
// that restore would write in another way: those of what an earlier run has changed are noted.
func (b *builder) texts() field.KeyValues {
	isChanged := func(key string) bool {
		switch key {
		case transformer.OriginalsAnnotation:
			return true
		case ConfigAnnotation:
			return b.envIsOurs()
		case annotations:
			return len(b.g.Metadata.Annotations) > 0
		}
		return b.isRewritten
	}
	texts := b.record.Values(transformer.RecordTexts)
	texts = slices.DeleteFunc(texts, func(t field.KeyValue) bool { return !isChanged(t.Key) })
	for _, t := range b.g.Texts {
		if key := t.Path[len(t.Path)-1].Key; !isChanged(key) {
			texts = texts.With(key, t.Text)
		}
	}
	return texts
}

// noteEmpty notes the group's annotations, which will be filled, if they are or were there
// without contents.
func (b *builder) noteEmpty(r *transformer.Record) {
	v, noted := b.record.Section(transformer.RecordEmpty).Get(annotations)
	if len(b.g.Metadata.Annotations) == 0 {
		v, noted = b.g.Source(field.NewPath("metadata", annotations))
	}
	if noted {
		r.Add(transformer.RecordEmpty, field.Entry{Key: annotations, Value: v})
	}
}
