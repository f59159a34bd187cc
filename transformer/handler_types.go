package transformer

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
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
// a field of [Handler] and a row and, if it opens a connection, a case in the methods
// of Handler.
var handlerTypes = []handlerType{
	{"exec", nil, func(h *Handler) bool { return h.Exec != nil }},
	{kindHTTPGet, fieldsOf[HTTPGet](), func(h *Handler) bool { return h.HTTPGet != nil }},
	{kindTCPSocket, fieldsOf[TCPSocket](), func(h *Handler) bool { return h.TCPSocket != nil }},
	{kindGRPC, fieldsOf[GRPC](), func(h *Handler) bool { return h.GRPC != nil }},
	{"sleep", nil, func(h *Handler) bool { return h.Sleep != nil }},
}

type handlerType struct {
	name   string
	fields []string // which the planner carries over or keeps; nil if it opens no connection
	isSet  func(*Handler) bool
}

func fieldsOf[T any]() []string {
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// DialingHandlers returns the names of the handlers that open a connection.
func DialingHandlers() []string {
	var names []string
	for i := range handlerTypes {
		if handlerTypes[i].fields != nil {
			names = append(names, handlerTypes[i].name)
		}
	}
	return names
}

// Kind returns the name of the only handler that is set; "" if there is none or more
// than one.
func (h *Handler) Kind() (kind string) {
	for i := range handlerTypes {
		switch t := &handlerTypes[i]; {
		case !t.isSet(h):
		case kind != "":
			return ""
		default:
			kind = t.name
		}
	}
	return kind
}

// endpoint returns what the handler dials; port is nil if it opens no connection.
func (h *Handler) endpoint() (port *field.IntOrString, host string) {
	switch {
	case h.HTTPGet != nil:
		return &h.HTTPGet.Port, h.HTTPGet.Host
	case h.TCPSocket != nil:
		return &h.TCPSocket.Port, h.TCPSocket.Host
	case h.GRPC != nil:
		return &h.GRPC.Port, ""
	}
	return nil, ""
}

func (h *Handler) dials() bool {
	port, _ := h.endpoint()
	return port != nil
}

// String returns the handler in a few words: "httpGet https :8443/healthz".
func (h *Handler) String() string {
	kind := h.Kind()
	port, host := h.endpoint()
	switch {
	case *h == Handler{}:
		return "no handler"
	case kind == "":
		return "several handlers"
	case port == nil:
		return kind
	}
	before, after := "", ""
	if h.HTTPGet != nil {
		after = "/" + strings.TrimPrefix(h.HTTPGet.Path, "/")
		if strings.EqualFold(h.HTTPGet.Scheme, "HTTPS") {
			before = "https "
		}
	} else if h.GRPC != nil && text(h.GRPC.Service) != "" {
		after = " " + *h.GRPC.Service
	}
	number := port.String()
	if *port == (field.IntOrString{}) {
		number = "<no port>"
	}
	return kind + " " + before + host + ":" + number + after
}

// carried returns the text of the author's that only the env var carries once the handler
// is rewritten, and its key; "" if there is none.
func (h *Handler) carried() (key, text string) {
	switch {
	case h.HTTPGet != nil:
		return "path", h.HTTPGet.Path
	case h.GRPC != nil && h.GRPC.Service != nil:
		return "service", *h.GRPC.Service
	}
	return "", ""
}

// entry returns the env var's entry for a handler that dials a port, with the API's
// defaults and without the headers, which the kubelet sends.
func (h *Handler) entry(port field.IntOrString) *prober.Prober {
	switch {
	case h.HTTPGet != nil:
		return &prober.Prober{HTTPGet: &HTTPGet{
			Path: cmp.Or(h.HTTPGet.Path, "/"), Port: port, Scheme: cmp.Or(h.HTTPGet.Scheme, "HTTP"), Protocol: h.HTTPGet.Protocol,
		}}
	case h.TCPSocket != nil:
		return &prober.Prober{TCPSocket: &TCPSocket{Port: port}}
	}
	service := text(h.GRPC.Service)
	return &prober.Prober{GRPC: &GRPC{Port: port, Service: &service, Mode: h.GRPC.Mode}}
}

// handlerOf returns the handler that an entry of the env var carries. Headers, and
// whether a path or scheme is absent, come from the rewritten request.
func handlerOf(p *prober.Prober, rewritten *HTTPGet) *Handler {
	switch {
	case p.TCPSocket != nil:
		t := *p.TCPSocket
		return &Handler{TCPSocket: &t}
	case p.GRPC != nil:
		g := *p.GRPC
		return &Handler{GRPC: &g}
	}
	h := *rewritten
	h.Port = p.HTTPGet.Port
	// An absent path that was rewritten stays absent: it means the same.
	if p.HTTPGet.Path != "/" || h.Path != "" {
		h.Path = p.HTTPGet.Path
	}
	if p.HTTPGet.Scheme == "HTTPS" {
		h.Scheme = p.HTTPGet.Scheme
	}
	h.Protocol = cmp.Or(p.HTTPGet.Protocol, h.Protocol)
	return &Handler{HTTPGet: &h}
}

// Value returns what is written into an object for the handler, without what the API
// server fills in.
func (h *Handler) Value() field.Map {
	switch {
	case h.Exec != nil:
		command := make(field.List, len(h.Exec.Command))
		for i, word := range h.Exec.Command {
			command[i] = word
		}
		return field.Map{{Key: "command", Value: command}}
	case h.HTTPGet != nil:
		m := field.Map{{Key: "path", Value: h.HTTPGet.Path}, {Key: "port", Value: h.HTTPGet.Port.Value()}}
		m = field.AppendSet(field.AppendSet(m, "scheme", h.HTTPGet.Scheme), "host", h.HTTPGet.Host)
		if len(h.HTTPGet.HTTPHeaders) > 0 {
			m = append(m, field.Entry{Key: headersField, Value: headerList(h.HTTPGet.HTTPHeaders)})
		}
		return field.AppendSet(m, "protocol", h.HTTPGet.Protocol)
	case h.TCPSocket != nil:
		return field.AppendSet(field.Map{{Key: "port", Value: h.TCPSocket.Port.Value()}}, "host", h.TCPSocket.Host)
	}
	m := field.AppendSet(field.Map{{Key: "port", Value: h.GRPC.Port.Value()}}, "service", text(h.GRPC.Service))
	return field.AppendSet(m, "mode", h.GRPC.Mode)
}

func headerList(headers []HTTPHeader) field.List {
	list := field.List{}
	for _, x := range headers {
		list = append(list, field.Map{{Key: "name", Value: x.Name}, {Key: "value", Value: x.Value}})
	}
	return list
}

// headerIn returns the value of the first header of a name; "" if there is none.
func headerIn(h *HTTPGet, name string) string {
	for _, x := range h.HTTPHeaders {
		if strings.EqualFold(x.Name, name) {
			return x.Value
		}
	}
	return ""
}

// adopt sets the fields of a handler that dials from its form, as far as an entry has
// no room for them, except for the port. It returns false and changes nothing if the
// form means another handler: the entry may have been edited since.
func (h *Handler) adopt(form field.Map) bool {
	switch e := h.entry(field.IntOrString{}); {
	case h.GRPC != nil:
		return written(form, "service", "") == *e.GRPC.Service && written(form, "mode", "") == e.GRPC.Mode
	case h.HTTPGet == nil:
		return true
	case written(form, "path", "/") != e.HTTPGet.Path, written(form, "scheme", e.HTTPGet.Scheme) != e.HTTPGet.Scheme,
		written(form, "protocol", "") != e.HTTPGet.Protocol:
		return false
	}
	h.HTTPGet.Path = written(form, "path", "")
	return true
}

// written returns a field as it was written; byDefault if it is absent or empty.
func written(form field.Map, key, byDefault string) string {
	if v, _ := form.Get(key); v != nil && v != "" {
		return fmt.Sprint(v)
	}
	return byDefault
}

// unsupported returns a field with a value that the planner does not know,
// and what is wrong with it; "" if there is none.
func (h *Handler) unsupported() (name, problem string) {
	switch x, g := h.HTTPGet, h.GRPC; {
	case x != nil && !slices.Contains([]string{"", prober.HTTP1, prober.HTTP2}, x.Protocol):
		return "protocol", fmt.Sprintf("%q must be %s or %s", x.Protocol, prober.HTTP1, prober.HTTP2)
	case x != nil && x.Protocol == prober.HTTP2 && x.Scheme == "HTTPS":
		return "protocol", fmt.Sprintf("%q needs the scheme HTTP, and the API server refuses it with HTTPS", prober.HTTP2)
	case g != nil && !slices.Contains([]string{"", prober.GRPCPlaintext, prober.GRPCTLS}, g.Mode):
		return "mode", fmt.Sprintf("%q must be %s or %s", g.Mode, prober.GRPCPlaintext, prober.GRPCTLS)
	}
	return "", ""
}

// newer returns the field in which a probe or hook demands what the meshes'
// proxies do not support; "" if there is none.
func (h *Handler) newer(isHook bool) string {
	switch {
	case h.HTTPGet != nil && h.HTTPGet.Protocol == prober.HTTP2 && !isHook: // the kubelet ignores it in hooks
		return "protocol"
	case h.GRPC != nil && h.GRPC.Mode == prober.GRPCTLS:
		return "mode"
	}
	return ""
}
