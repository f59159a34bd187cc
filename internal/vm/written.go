package vm

import (
	"math"
	"reflect"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

const timeoutSeconds = "timeoutSeconds"

// writtenIn returns the part of a probe that the rewriting changes, as its author wrote it:
// the handler, of an httpGet only path, port and scheme, and the timeout.
func writtenIn(probe field.Map) field.Map {
	var w field.Map
	if m := field.As[field.Map](probe, grpc); m != nil {
		w = field.Map{{Key: grpc, Value: m}}
	} else if m := field.As[field.Map](probe, httpGet); m != nil {
		var changed field.Map
		for _, key := range []string{"path", "port", "scheme"} {
			if v, set := m.Get(key); set {
				changed = append(changed, field.Entry{Key: key, Value: v})
			}
		}
		w = field.Map{{Key: httpGet, Value: changed}}
	}
	if v, set := probe.Get(timeoutSeconds); set {
		w = append(w, field.Entry{Key: timeoutSeconds, Value: v})
	}
	return w
}

// withTimeout returns what is written with another timeout.
func withTimeout(w field.Map, seconds int) field.Map {
	w = slices.DeleteFunc(slices.Clone(w), func(e field.Entry) bool { return e.Key == timeoutSeconds })
	return append(w, field.Entry{Key: timeoutSeconds, Value: seconds})
}

// writtenBy returns what is known from an entry of the env var alone.
func writtenBy(e *prober.Original) field.Map {
	h := &pod.Handler{HTTPGet: e.HTTPGet, GRPC: e.GRPC}
	probe := field.Map{{Key: h.Kind(), Value: h.Value()}}
	if e.TimeoutSeconds > 1 {
		probe = append(probe, field.Entry{Key: timeoutSeconds, Value: e.TimeoutSeconds})
	}
	return writtenIn(probe)
}

// entryOf returns the entry of the env var for a probe, whose headers stay in the
// rewritten one.
func entryOf(p *vmconfig.Probe) *prober.Original {
	e := effective(p).Prober()
	if e.HTTPGet != nil {
		e.HTTPGet.HTTPHeaders = nil
	}
	return e
}

// outerTimeout returns the timeout of a rewritten probe: the agent's status
// server must have the time to say that the original timed out.
func outerTimeout(inner int) int {
	return min(max(inner, 1), math.MaxInt32-1) + 1
}

// probeEdits returns the edits of the probe: rewritten, derived, removed or restored.
func (b *builder) probeEdits() []field.Edit {
	switch {
	case b.original == nil && b.probe != nil:
		return []field.Edit{{Op: field.Delete, Path: probePath}}
	case b.derived != nil:
		p := b.derived
		if b.target != nil {
			p = b.rewritten(p)
		}
		if b.probe != nil && reflect.DeepEqual(effective(b.probe), effective(p)) {
			return nil
		}
		return []field.Edit{{Op: field.Set, Path: probePath, Value: probeMap(p)}}
	case b.target != nil:
		p := b.rewritten(b.probe)
		return b.editsTo(p, field.Map{{Key: timeoutSeconds, Value: p.TimeoutSeconds}})
	case !b.isRewritten:
		return nil
	}
	edits := b.editsTo(b.original, b.written)
	for i := range edits {
		edits[i].Texts = b.record.Values(transformer.RecordTexts)
	}
	return edits
}

// editsTo returns the edits that give the probe another handler and timeout; written has
// what of them is known as it was written.
func (b *builder) editsTo(p *vmconfig.Probe, written field.Map) []field.Edit {
	h := handlerOf(p)
	edits := pod.HandlerEdits(probePath, handlerOf(b.probe), h, field.As[field.Map](written, h.Kind()))
	path := probePath.Key(timeoutSeconds)
	want, set := written.Get(timeoutSeconds)
	now, there := b.source.Get(timeoutSeconds)
	switch {
	case set && !(there && want == now):
		edits = append(edits, field.Edit{Op: field.Set, Path: path, Value: want})
	case there && !set:
		edits = append(edits, field.Edit{Op: field.Delete, Path: path})
	}
	return edits
}

// rewritten returns a probe that goes to the agent's status server.
func (b *builder) rewritten(p *vmconfig.Probe) *vmconfig.Probe {
	q := *p
	h := prober.HTTPGet{}
	if p.HTTPGet != nil {
		h = *p.HTTPGet
	}
	h.Path = b.key()
	h.Port = field.Number(b.config.statusPort)
	if h.Scheme != "" {
		h.Scheme = vmconfig.HTTP
	}
	q.HTTPGet = &h
	q.GRPC = nil
	q.TimeoutSeconds = outerTimeout(b.target.TimeoutSeconds)
	return &q
}

// probeMap returns a probe as it is written into an object, every default
// written out.
func probeMap(p *vmconfig.Probe) field.Map {
	p = effective(p)
	h := handlerOf(p)
	return field.Map{
		{Key: h.Kind(), Value: h.Value()},
		{Key: "initialDelaySeconds", Value: p.InitialDelaySeconds},
		{Key: timeoutSeconds, Value: p.TimeoutSeconds},
		{Key: "periodSeconds", Value: p.PeriodSeconds},
		{Key: "successThreshold", Value: p.SuccessThreshold},
		{Key: "failureThreshold", Value: p.FailureThreshold},
	}
}
