package prober

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// This file reads and writes the usual form of an env value, the text that encoding/json
// writes for it: no space, no escape, numbers as ports, fields and keys in order. A second
// run over a package reads and writes one for each pod: encoding/json took 16 % of the CPU
// time of `make bench-function`'s case again, and this takes 5 %. Every other form is left to
// encoding/json, with which FuzzTheUsualForm compares both.

// decodeUsual reads the usual form, and returns nil for every other.
func decodeUsual(value string) map[string]*Original {
	r := &usualReader{rest: value, ok: true}
	probers := make(map[string]*Original, 2)
	last := ""
	r.expect("{")
	for r.ok {
		key := r.text()
		r.ok = r.ok && key > last // of two that are equal, encoding/json takes the last
		last = key
		r.expect(":")
		probers[key] = r.original()
		if !r.has(",") {
			break
		}
	}
	r.expect("}")
	if !r.ok || r.rest != "" {
		return nil
	}
	return probers
}

// A usualReader reads the usual form from the start of rest; ok is false once something else
// has come.
type usualReader struct {
	rest string
	ok   bool
}

// has skips what comes next if it is text.
func (r *usualReader) has(text string) bool {
	rest, ok := strings.CutPrefix(r.rest, text)
	r.rest = rest
	return ok
}

func (r *usualReader) expect(text string) {
	r.ok = r.has(text) && r.ok
}

func (r *usualReader) original() *Original {
	p := &Original{}
	switch {
	case r.has(`{"httpGet":{`):
		p.HTTPGet = r.httpGet()
	case r.has(`{"tcpSocket":{`):
		p.TCPSocket = r.tcpSocket()
	case r.has(`{"grpc":{`):
		p.GRPC = r.grpc()
	default:
		r.ok = false
	}
	if r.has(`},"timeoutSeconds":`) {
		p.TimeoutSeconds = r.number()
		r.expect("}")
	} else {
		r.expect("}}")
	}
	return p
}

func (r *usualReader) httpGet() *HTTPGet {
	h := &HTTPGet{}
	if r.has(`"path":`) {
		h.Path = r.text()
		r.expect(",")
	}
	h.Port = r.port()
	h.Host = r.optional(`,"host":`)
	h.Scheme = r.optional(`,"scheme":`)
	if r.has(`,"httpHeaders":[`) {
		h.HTTPHeaders = r.headers()
	}
	h.Protocol = r.optional(`,"protocol":`)
	return h
}

func (r *usualReader) headers() []HTTPHeader {
	var headers []HTTPHeader
	for r.ok {
		r.expect(`{"name":`)
		name := r.text()
		r.expect(`,"value":`)
		value := r.text()
		r.expect("}")
		headers = append(headers, HTTPHeader{Name: name, Value: value})
		if !r.has(",") {
			break
		}
	}
	r.expect("]")
	return headers
}

func (r *usualReader) tcpSocket() *TCPSocket {
	return &TCPSocket{Port: r.port(), Host: r.optional(`,"host":`)}
}

func (r *usualReader) grpc() *GRPC {
	g := &GRPC{Port: r.port()}
	r.expect(`,"service":`)
	if !r.has("null") {
		service := r.text()
		g.Service = &service
	}
	g.Mode = r.optional(`,"mode":`)
	return g
}

func (r *usualReader) port() field.IntOrString {
	r.expect(`"port":`)
	return field.Number(r.number())
}

// number reads a number of at most nine digits.
func (r *usualReader) number() int {
	digits := 0
	for digits < len(r.rest) && r.rest[digits] >= '0' && r.rest[digits] <= '9' {
		digits++
	}
	n, err := strconv.Atoi(r.rest[:digits])
	r.ok = r.ok &&
		err == nil &&
		digits < 10 &&
		(r.rest[0] != '0' || digits == 1)
	r.rest = r.rest[digits:]
	return n
}

// optional reads the string of a field that may be missing.
func (r *usualReader) optional(name string) string {
	if !r.has(name) {
		return ""
	}
	return r.text()
}

func (r *usualReader) text() string {
	r.expect(`"`)
	text, rest, closed := strings.Cut(r.rest, `"`)
	r.ok = r.ok && closed && isUsual(text)
	r.rest = rest
	return text
}

// isUsual reports whether JSON has a string as it is, in the words of encoding/json, which
// escapes what HTML would read.
func isUsual(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ',
			c >= 0x7f,
			c == '"',
			c == '\\',
			c == '<',
			c == '>',
			c == '&':
			return false
		}
	}
	return true
}

// encodeUsual writes what encoding/json would.
func encodeUsual(probers map[string]*Original) string {
	w := &usualWriter{b: make([]byte, 0, 128*len(probers))}
	w.open("{")
	for _, key := range slices.Sorted(maps.Keys(probers)) {
		w.text(key)
		w.b = append(w.b, ':')
		w.original(probers[key])
	}
	w.closeWith('}')
	return string(w.b[:len(w.b)-1])
}

// A usualWriter ends each value with a comma.
type usualWriter struct{ b []byte }

func (w *usualWriter) open(text string) {
	w.b = append(w.b, text...)
}

// closeWith ends a mapping or a list; bracket takes the place of the comma of its last value.
func (w *usualWriter) closeWith(bracket byte) {
	w.b = append(bytes.TrimSuffix(w.b, []byte(",")), bracket, ',')
}

func (w *usualWriter) original(p *Original) {
	if p == nil {
		w.b = append(w.b, "null,"...)
		return
	}
	w.open("{")
	if p.HTTPGet != nil {
		w.httpGet(p.HTTPGet)
	}
	if p.TCPSocket != nil {
		w.open(`"tcpSocket":{`)
		w.port(p.TCPSocket.Port)
		w.optional(`"host":`, p.TCPSocket.Host)
		w.closeWith('}')
	}
	if p.GRPC != nil {
		w.grpc(p.GRPC)
	}
	if p.TimeoutSeconds != 0 {
		w.open(`"timeoutSeconds":`)
		w.b = append(strconv.AppendInt(w.b, int64(p.TimeoutSeconds), 10), ',')
	}
	w.closeWith('}')
}

func (w *usualWriter) httpGet(h *HTTPGet) {
	w.open(`"httpGet":{`)
	w.optional(`"path":`, h.Path)
	w.port(h.Port)
	w.optional(`"host":`, h.Host)
	w.optional(`"scheme":`, h.Scheme)
	if len(h.HTTPHeaders) > 0 {
		w.open(`"httpHeaders":[`)
		for _, header := range h.HTTPHeaders {
			w.field(`{"name":`, header.Name)
			w.field(`"value":`, header.Value)
			w.closeWith('}')
		}
		w.closeWith(']')
	}
	w.optional(`"protocol":`, h.Protocol)
	w.closeWith('}')
}

func (w *usualWriter) grpc(g *GRPC) {
	w.open(`"grpc":{`)
	w.port(g.Port)
	if g.Service == nil {
		w.open(`"service":null,`)
	} else {
		w.field(`"service":`, *g.Service)
	}
	w.optional(`"mode":`, g.Mode)
	w.closeWith('}')
}

func (w *usualWriter) port(port field.IntOrString) {
	w.open(`"port":`)
	if port.IsString {
		name, _ := json.Marshal(port) // a string cannot fail
		w.b = append(append(w.b, name...), ',')
		return
	}
	w.b = append(strconv.AppendInt(w.b, port.Int, 10), ',')
}

// optional writes a field that is left out if it is empty.
func (w *usualWriter) optional(name, text string) {
	if text != "" {
		w.field(name, text)
	}
}

func (w *usualWriter) field(name, text string) {
	w.open(name)
	w.text(text)
	w.b = append(w.b, ',')
}

func (w *usualWriter) text(text string) {
	if isUsual(text) {
		w.b = append(append(append(w.b, '"'), text...), '"')
		return
	}
	escaped, _ := json.Marshal(text) // a string cannot fail
	w.b = append(w.b, escaped...)
}
