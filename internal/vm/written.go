package vm

import (
	"math"
	"reflect"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
)

const timeoutSeconds = "timeoutSeconds"

// A written is the part of a probe that the rewriting changes, as its author wrote
// it: the handler, of an httpGet only path, port and scheme, and the timeout.
type written struct {
	kind    string
	handler field.Map
	timeout field.Map // empty, or timeoutSeconds alone
}

// rewrittenFields are the fields of an httpGet that the rewriting changes.
var rewrittenFields = []string{"path", "port", "scheme"}

// writtenIn returns what is written in the source of a probe.
func writtenIn(probe field.Map) written {
	var w written
	for _, kind := range []string{httpGet, grpc} {
		if m, ok := get(probe, kind).(field.Map); ok {
			w.kind, w.handler = kind, m
		}
	}
	if w.kind == httpGet {
		var some field.Map
		for _, key := range rewrittenFields {
			if v, set := w.handler.Get(key); set {
				some = append(some, field.Entry{Key: key, Value: v})
			}
		}
		w.handler = some
	}
	if v, set := probe.Get(timeoutSeconds); set {
		w.timeout = field.Map{{Key: timeoutSeconds, Value: v}}
	}
	return w
}

func get(m field.Map, key string) field.Value {
	v, _ := m.Get(key)
	return v
}

// writtenBy returns what is known from an entry of the env var alone.
func writtenBy(e *prober.Prober) written {
	w := written{kind: httpGet}
	if e.GRPC != nil {
		w.kind, w.handler = grpc, field.Map{{Key: "port", Value: int(e.GRPC.Port)}}
		if *e.GRPC.Service != "" {
			w.handler = append(w.handler, field.Entry{Key: "service", Value: *e.GRPC.Service})
		}
	} else {
		w.handler = field.Map{{Key: "path", Value: e.HTTPGet.Path}, {Key: "port", Value: int(e.HTTPGet.Port)}, {Key: "scheme", Value: e.HTTPGet.Scheme}}
	}
	if e.TimeoutSeconds > 1 {
		w.timeout = field.Map{{Key: timeoutSeconds, Value: e.TimeoutSeconds}}
	}
	return w
}

// entry returns the entry of the env var.
func (w *written) entry() *prober.Prober {
	e := &prober.Prober{TimeoutSeconds: 1}
	if n, _ := get(w.timeout, timeoutSeconds).(int); n > 0 {
		e.TimeoutSeconds = n
	}
	port, _ := get(w.handler, "port").(int)
	text := func(key, byDefault string) string {
		if s, _ := get(w.handler, key).(string); s != "" {
			return s
		}
		return byDefault
	}
	if w.kind == grpc {
		service := text("service", "")
		e.GRPC = &prober.GRPC{Port: prober.Port(port), Service: &service}
	} else {
		e.HTTPGet = &prober.HTTPGet{Path: text("path", "/"), Port: prober.Port(port), Scheme: text("scheme", vmconfig.HTTP)}
	}
	return e
}

// isTold reports whether the entry alone is enough to know how the probe was written.
func (w *written) isTold() bool { return reflect.DeepEqual(*w, writtenBy(w.entry())) }

// outerTimeout returns the timeout of a rewritten probe: the agent's status
// server must have the time to say that the original timed out.
func outerTimeout(inner int) int { return min(max(inner, 1), math.MaxInt32-1) + 1 }

// probeEdits returns the edits of the probe: rewritten, derived or restored.
func (b *builder) probeEdits() []field.Edit {
	switch {
	case b.place:
		p := *b.derived
		if b.target != nil {
			b.rewrite(&p)
		}
		if b.probe != nil && reflect.DeepEqual(effective(b.probe), effective(&p)) {
			return nil
		}
		return []field.Edit{{Op: field.Set, Path: probePath, Value: probeMap(&p)}}
	case b.target == nil && b.entry == nil:
		return nil
	case b.target == nil && b.isDerived():
		return []field.Edit{{Op: field.Set, Path: probePath, Value: probeMap(b.derived)}}
	case b.target == nil:
		return b.restoreProbe()
	}
	if b.probe.GRPC != nil {
		value := field.Map{{Key: "path", Value: b.key()}, {Key: "port", Value: b.config.statusPort}}
		return append([]field.Edit{{Op: field.Rename, Path: probePath.Key(grpc), NewKey: httpGet, Value: value}}, b.setTimeout()...)
	}
	path, h := probePath.Key(httpGet), b.probe.HTTPGet
	var edits []field.Edit
	if h.Path != b.key() {
		edits = append(edits, field.Edit{Op: field.Set, Path: path.Key("path"), Before: "port", Value: b.key()})
	}
	if h.Port != b.config.statusPort {
		edits = append(edits, field.Edit{Op: field.Set, Path: path.Key("port"), Value: b.config.statusPort})
	}
	if h.Scheme != "" && h.Scheme != vmconfig.HTTP {
		edits = append(edits, field.Edit{Op: field.Set, Path: path.Key("scheme"), Value: vmconfig.HTTP})
	}
	return append(edits, b.setTimeout()...)
}

func (b *builder) setTimeout() []field.Edit {
	want := outerTimeout(b.target.TimeoutSeconds)
	if b.probe.TimeoutSeconds == want {
		return nil
	}
	return []field.Edit{{Op: field.Set, Path: probePath.Key(timeoutSeconds), Value: want}}
}

// rewrite sends a probe to the agent's status server.
func (b *builder) rewrite(p *vmconfig.Probe) {
	h := vmconfig.HTTPGet{Path: b.key(), Port: b.config.statusPort, Scheme: vmconfig.HTTP}
	if p.HTTPGet != nil {
		h.HTTPHeaders = p.HTTPGet.HTTPHeaders
	}
	p.HTTPGet, p.GRPC = &h, nil
	p.TimeoutSeconds = outerTimeout(b.target.TimeoutSeconds)
}

// undoEdits returns the edits that restore the author's probe, or remove a derived one.
func (b *builder) undoEdits() []field.Edit {
	if b.remove {
		return []field.Edit{{Op: field.Delete, Path: probePath}}
	}
	return b.restoreProbe()
}

// isDerived reports whether the probe is the one that an earlier run took from
// a workload.
func (b *builder) isDerived() bool {
	_, from := b.g.Metadata.Annotations.Lookup(fromAnnotation)
	return from && b.original != nil && b.record.derived != nil && reflect.DeepEqual(effective(b.original), b.record.derived)
}

func (b *builder) restoreProbe() []field.Edit {
	if b.entry == nil {
		return nil
	}
	var edits []field.Edit
	path := probePath.Key(httpGet)
	if b.written.kind == grpc {
		edits = append(edits, field.Edit{Op: field.Rename, Path: path, NewKey: grpc, Value: b.written.handler})
	} else {
		now, _ := get(b.source, httpGet).(field.Map)
		for _, key := range rewrittenFields {
			edits = append(edits, restoreField(path.Key(key), now, b.written.handler)...)
		}
	}
	edits = append(edits, restoreField(probePath.Key(timeoutSeconds), b.source, b.written.timeout)...)
	for i := range edits {
		edits[i].Texts = b.record.texts
	}
	return edits
}

// restoreField sets the entry at a path of the mapping now to the value that it
// had.
func restoreField(path field.Path, now, had field.Map) []field.Edit {
	key := path[len(path)-1].Key
	want, wanted := had.Get(key)
	have, there := now.Get(key)
	switch {
	case wanted && !(there && have == want):
		return []field.Edit{{Op: field.Set, Path: path, Value: want}}
	case there && !wanted:
		return []field.Edit{{Op: field.Delete, Path: path}}
	}
	return nil
}

// probeMap returns a probe as it is written into an object, every default
// written out.
func probeMap(p *vmconfig.Probe) field.Map {
	p = effective(p)
	var m field.Map
	add := func(m *field.Map, key string, v field.Value) {
		if v != "" {
			*m = append(*m, field.Entry{Key: key, Value: v})
		}
	}
	switch {
	case p.HTTPGet != nil:
		h := field.Map{{Key: "path", Value: p.HTTPGet.Path}, {Key: "port", Value: p.HTTPGet.Port}, {Key: "scheme", Value: p.HTTPGet.Scheme}}
		add(&h, "host", p.HTTPGet.Host)
		var headers field.List
		for _, x := range p.HTTPGet.HTTPHeaders {
			headers = append(headers, field.Map{{Key: "name", Value: x.Name}, {Key: "value", Value: x.Value}})
		}
		if headers != nil {
			h = append(h, field.Entry{Key: "httpHeaders", Value: headers})
		}
		m = field.Map{{Key: httpGet, Value: h}}
	case p.TCPSocket != nil:
		h := field.Map{{Key: "port", Value: p.TCPSocket.Port}}
		add(&h, "host", p.TCPSocket.Host)
		m = field.Map{{Key: "tcpSocket", Value: h}}
	case p.GRPC != nil:
		h := field.Map{{Key: "port", Value: p.GRPC.Port}}
		add(&h, "service", p.GRPC.Service)
		m = field.Map{{Key: grpc, Value: h}}
	default:
		var command field.List
		for _, word := range p.Exec.Command {
			command = append(command, word)
		}
		m = field.Map{{Key: "exec", Value: field.Map{{Key: "command", Value: command}}}}
	}
	return slices.Concat(m, field.Map{
		{Key: "initialDelaySeconds", Value: p.InitialDelaySeconds},
		{Key: timeoutSeconds, Value: p.TimeoutSeconds},
		{Key: "periodSeconds", Value: p.PeriodSeconds},
		{Key: "successThreshold", Value: p.SuccessThreshold},
		{Key: "failureThreshold", Value: p.FailureThreshold},
	})
}
