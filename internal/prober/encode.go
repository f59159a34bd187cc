package prober

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// Encode gives the env value of the probers, keys sorted, on one line; ""
// where there are none (then no env var is written).
//
// It is what encoding/json writes, as Istio's injector does, at a fraction of
// its cost: every workload has one.
func Encode(probers map[string]*Prober) string {
	if len(probers) == 0 {
		return ""
	}
	b := make([]byte, 0, 128*len(probers))
	for i, key := range slices.Sorted(maps.Keys(probers)) {
		b = append(b, "{,"[min(i, 1)])
		b = append(appendString(b, key), ':')
		b = probers[key].append(b)
	}
	return string(append(b, '}'))
}

// fields appends what fields of an object hold, with commas between them.
type fields struct {
	b []byte
	n int
}

func (f *fields) name(name string) {
	f.b = append(append(append(f.b, "{,"[min(f.n, 1)], '"'), name...), "\":"...)
	f.n++
}

// text appends a string that is left out where it is empty.
func (f *fields) text(name, value string) {
	if value != "" {
		f.name(name)
		f.b = appendString(f.b, value)
	}
}

func (f *fields) number(name string, value int) {
	f.name(name)
	f.b = strconv.AppendInt(f.b, int64(value), 10)
}

func (f *fields) end() []byte {
	if f.n == 0 {
		f.b = append(f.b, '{')
	}
	return append(f.b, '}')
}

func (p *Prober) append(b []byte) []byte {
	if p == nil {
		return append(b, "null"...)
	}
	f := fields{b: b}
	if h := p.HTTPGet; h != nil {
		f.name("httpGet")
		f.b = h.append(f.b)
	}
	if t := p.TCPSocket; t != nil {
		f.name("tcpSocket")
		in := fields{b: f.b}
		in.number("port", int(t.Port))
		in.text("host", t.Host)
		f.b = in.end()
	}
	if g := p.GRPC; g != nil {
		f.name("grpc")
		in := fields{b: f.b}
		in.number("port", int(g.Port))
		in.name("service")
		if g.Service == nil {
			in.b = append(in.b, "null"...)
		} else {
			in.b = appendString(in.b, *g.Service)
		}
		f.b = in.end()
	}
	if p.TimeoutSeconds != 0 {
		f.number("timeoutSeconds", p.TimeoutSeconds)
	}
	return f.end()
}

func (h *HTTPGet) append(b []byte) []byte {
	f := fields{b: b}
	f.text("path", h.Path)
	f.number("port", int(h.Port))
	f.text("host", h.Host)
	f.text("scheme", h.Scheme)
	if len(h.HTTPHeaders) == 0 {
		return f.end()
	}
	f.name("httpHeaders")
	for i, header := range h.HTTPHeaders {
		f.b = append(f.b, "[,"[min(i, 1)])
		f.b = append(appendString(append(f.b, `{"name":`...), header.Name), `,"value":`...)
		f.b = append(appendString(f.b, header.Value), '}')
	}
	f.b = append(f.b, ']')
	return f.end()
}

// appendString leaves what needs escapes to encoding/json, which escapes for
// HTML too.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			escaped, _ := json.Marshal(s) // a string cannot fail
			return append(b, escaped...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
