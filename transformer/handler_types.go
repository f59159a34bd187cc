package transformer

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// The names of the handler types that rules refer to.
const (
	kindHTTPGet   = "httpGet"
	kindTCPSocket = "tcpSocket"
	kindGRPC      = "grpc"
)

// handlerTypes are all types of handlers, in the order of the API. A new type is
// a field of [Handler] and a row, and has the methods of a [dialer] if it opens
// a connection.
var handlerTypes = []handlerType{
	newHandlerType("exec", func(h *Handler) **Exec { return &h.Exec }, nil),
	newHandlerType(kindHTTPGet, func(h *Handler) **HTTPGet { return &h.HTTPGet }, originalHTTPGet),
	newHandlerType(kindTCPSocket, func(h *Handler) **TCPSocket { return &h.TCPSocket }, originalTCPSocket),
	newHandlerType(kindGRPC, func(h *Handler) **GRPC { return &h.GRPC }, originalGRPC),
	newHandlerType("sleep", func(h *Handler) **Sleep { return &h.Sleep }, nil),
}

// A handlerType is a type of handler: a field of a probe or hook.
type handlerType struct {
	name   string
	fields []string // its own fields, which the planner carries over or keeps
	dials  bool     // it opens a connection
	isSet  func(*Handler) bool
	dialer func(*Handler) dialer // returns nil unless the handler is set and dials
	// restore sets the handler that an entry of the env var carries, if it is
	// of this type. Headers, and whether a path or scheme is absent, come from
	// the rewritten request.
	restore func(h *Handler, p *prober.Prober, rewritten *HTTPGet)
}

func newHandlerType[T any](name string, in func(*Handler) **T, original func(*prober.Prober, *HTTPGet) *T) handlerType {
	return handlerType{
		name: name, fields: fieldsOf[T](), dials: original != nil,
		isSet: func(h *Handler) bool { return *in(h) != nil },
		dialer: func(h *Handler) dialer {
			if original == nil || *in(h) == nil {
				return nil
			}
			return any(*in(h)).(dialer)
		},
		restore: func(h *Handler, p *prober.Prober, rewritten *HTTPGet) {
			if original != nil {
				*in(h) = original(p, rewritten)
			}
		},
	}
}

// fieldsOf returns the names of the fields of a struct.
func fieldsOf[T any]() []string {
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if name := f.Tag.Get("json"); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// A dialer is a handler that opens a connection.
type dialer interface {
	endpoint() (port *field.IntOrString, host string)
	// words returns what a message has before the endpoint and after it.
	words() (before, after string)
	// entry returns the env var's entry, with the API's defaults and without
	// the headers, which the kubelet sends.
	entry(port prober.Port) *prober.Prober
	// value returns what is written into an object, without what the API
	// server fills in.
	value() field.Map
	// adopt sets the handler's fields from its form, as far as an entry has no room
	// for them, except for the port. It returns false and changes nothing if the form
	// means another handler: the entry may have been edited since.
	adopt(form field.Map) bool
	// unsupported returns a field with a value that the planner does not know,
	// and what is wrong with it; "" if there is none.
	unsupported() (name, problem string)
	// newer returns the field in which a probe or hook demands what the meshes'
	// proxies do not support; "" if there is none.
	newer(isHook bool) string
}

var (
	_ dialer = (*HTTPGet)(nil)
	_ dialer = (*TCPSocket)(nil)
	_ dialer = (*GRPC)(nil)
)

// kind returns the name of the only handler that is set; ok is false if there
// is none or more than one.
func (h *Handler) kind() (kind string, ok bool) {
	n := 0
	for i := range handlerTypes {
		if t := &handlerTypes[i]; t.isSet(h) {
			kind = t.name
			n++
		}
	}
	return kind, n == 1
}

// dialer returns the handler that opens a connection; nil if there is none.
func (h *Handler) dialer() dialer {
	for i := range handlerTypes {
		if d := handlerTypes[i].dialer(h); d != nil {
			return d
		}
	}
	return nil
}

// handlerOf returns the handler that an entry of the env var carries, completed by
// the rewritten request.
func handlerOf(p *prober.Prober, rewritten *HTTPGet) *Handler {
	h := new(Handler)
	for i := range handlerTypes {
		handlerTypes[i].restore(h, p, rewritten)
	}
	return h
}

// String returns the handler in a few words: "httpGet https :8443/healthz".
func (h *Handler) String() string {
	kind, ok := h.kind()
	d := h.dialer()
	switch {
	case kind == "":
		return "no handler"
	case !ok:
		return "several handlers"
	case d == nil:
		return kind
	}
	port, host := d.endpoint()
	before, after := d.words()
	b := make([]byte, 0, 64)
	b = append(append(append(append(append(b, kind...), ' '), before...), host...), ':')
	switch {
	case port.IsString:
		b = append(b, port.Str...)
	case port.Int == 0:
		b = append(b, "<no port>"...)
	default:
		b = strconv.AppendInt(b, port.Int, 10)
	}
	return string(append(b, after...))
}

// DialingHandlers returns the names of the handlers that open a connection.
func DialingHandlers() []string {
	var names []string
	for i := range handlerTypes {
		if handlerTypes[i].dials {
			names = append(names, handlerTypes[i].name)
		}
	}
	return names
}

// appendSet appends an entry unless its value is empty.
func appendSet(m field.Map, key, value string) field.Map {
	if value != "" {
		m = append(m, field.Entry{Key: key, Value: value})
	}
	return m
}

// written returns a field as it was written; byDefault if it is absent or empty.
func written(form field.Map, key, byDefault string) string {
	if v, _ := form.Get(key); v != nil && v != "" {
		return fmt.Sprint(v)
	}
	return byDefault
}

// numbered returns a port that is a number.
func numbered[T ~int](port T) field.IntOrString { return field.IntOrString{Int: int64(port)} }

func originalHTTPGet(p *prober.Prober, rewritten *HTTPGet) *HTTPGet {
	if p.HTTPGet == nil {
		return nil
	}
	h := *rewritten
	h.Port = numbered(p.HTTPGet.Port)
	// An absent path that was rewritten stays absent: it means the same.
	if p.HTTPGet.Path != "/" || text(h.Path) != "" {
		h.Path = &p.HTTPGet.Path
	}
	if p.HTTPGet.Scheme == "HTTPS" {
		h.Scheme = &p.HTTPGet.Scheme
	}
	h.Protocol = cmp.Or(p.HTTPGet.Protocol, h.Protocol)
	return &h
}

func (h *HTTPGet) endpoint() (*field.IntOrString, string) { return &h.Port, h.Host }

func (h *HTTPGet) words() (before, after string) {
	if strings.EqualFold(text(h.Scheme), "HTTPS") {
		before = "https "
	}
	if path := text(h.Path); strings.HasPrefix(path, "/") {
		return before, path
	}
	return before, "/" + text(h.Path)
}

func (h *HTTPGet) entry(port prober.Port) *prober.Prober {
	return &prober.Prober{HTTPGet: &prober.HTTPGet{
		Path: cmp.Or(text(h.Path), "/"), Port: port, Scheme: cmp.Or(text(h.Scheme), "HTTP"), Protocol: h.Protocol,
	}}
}

func (h *HTTPGet) value() field.Map {
	m := field.Map{{Key: "path", Value: text(h.Path)}, {Key: "port", Value: h.Port.Value()}}
	m = appendSet(m, "scheme", text(h.Scheme))
	if len(h.HTTPHeaders) > 0 {
		m = append(m, field.Entry{Key: headersField, Value: headerList(h.HTTPHeaders)})
	}
	return appendSet(m, "protocol", h.Protocol)
}

// header returns the value of the first header of a name; "" if there is none.
func (h *HTTPGet) header(name string) string {
	for _, x := range h.HTTPHeaders {
		if strings.EqualFold(x.Name, name) {
			return x.Value
		}
	}
	return ""
}

func headerList(headers []HTTPHeader) field.List {
	list := field.List{}
	for _, x := range headers {
		list = append(list, field.Map{{Key: "name", Value: x.Name}, {Key: "value", Value: x.Value}})
	}
	return list
}

func (h *HTTPGet) adopt(form field.Map) bool {
	e := h.entry(0).HTTPGet
	if written(form, "path", "/") != e.Path || written(form, "scheme", e.Scheme) != e.Scheme || written(form, "protocol", "") != e.Protocol {
		return false
	}
	h.Path = nil
	if path, _ := form.Get("path"); path != nil {
		text := fmt.Sprint(path)
		h.Path = &text
	}
	return true
}

func (h *HTTPGet) unsupported() (name, problem string) {
	switch {
	case !slices.Contains([]string{"", prober.HTTP1, prober.HTTP2}, h.Protocol):
		return "protocol", fmt.Sprintf("%q must be %s or %s", h.Protocol, prober.HTTP1, prober.HTTP2)
	case h.Protocol == prober.HTTP2 && text(h.Scheme) == "HTTPS":
		return "protocol", fmt.Sprintf("%q needs the scheme HTTP, and the API server refuses it with HTTPS", prober.HTTP2)
	}
	return "", ""
}

// newer: the kubelet ignores the protocol of hooks.
func (h *HTTPGet) newer(isHook bool) string {
	if h.Protocol == prober.HTTP2 && !isHook {
		return "protocol"
	}
	return ""
}

func originalTCPSocket(p *prober.Prober, _ *HTTPGet) *TCPSocket {
	if p.TCPSocket == nil {
		return nil
	}
	return &TCPSocket{Port: numbered(p.TCPSocket.Port), Host: p.TCPSocket.Host}
}

func (t *TCPSocket) endpoint() (*field.IntOrString, string) { return &t.Port, t.Host }

func (t *TCPSocket) words() (before, after string) { return "", "" }

func (t *TCPSocket) entry(port prober.Port) *prober.Prober {
	return &prober.Prober{TCPSocket: &prober.TCPSocket{Port: port}}
}

func (t *TCPSocket) value() field.Map {
	return appendSet(field.Map{{Key: "port", Value: t.Port.Value()}}, "host", t.Host)
}

func (t *TCPSocket) adopt(field.Map) bool { return true }

func (t *TCPSocket) unsupported() (name, problem string) { return "", "" }

func (t *TCPSocket) newer(bool) string { return "" }

func originalGRPC(p *prober.Prober, _ *HTTPGet) *GRPC {
	if p.GRPC == nil {
		return nil
	}
	return &GRPC{Port: numbered(p.GRPC.Port), Service: p.GRPC.Service, Mode: p.GRPC.Mode}
}

func (g *GRPC) endpoint() (*field.IntOrString, string) { return &g.Port, "" }

func (g *GRPC) words() (before, after string) {
	if service := text(g.Service); service != "" {
		after = " " + service
	}
	return "", after
}

func (g *GRPC) entry(port prober.Port) *prober.Prober {
	service := text(g.Service)
	return &prober.Prober{GRPC: &prober.GRPC{Port: port, Service: &service, Mode: g.Mode}}
}

func (g *GRPC) value() field.Map {
	m := appendSet(field.Map{{Key: "port", Value: g.Port.Value()}}, "service", text(g.Service))
	return appendSet(m, "mode", g.Mode)
}

func (g *GRPC) adopt(form field.Map) bool {
	return written(form, "service", "") == text(g.Service) && written(form, "mode", "") == g.Mode
}

func (g *GRPC) unsupported() (name, problem string) {
	if !slices.Contains([]string{"", prober.GRPCPlaintext, prober.GRPCTLS}, g.Mode) {
		return "mode", fmt.Sprintf("%q must be %s or %s", g.Mode, prober.GRPCPlaintext, prober.GRPCTLS)
	}
	return "", ""
}

func (g *GRPC) newer(bool) string {
	if g.Mode == prober.GRPCTLS {
		return "mode"
	}
	return ""
}
