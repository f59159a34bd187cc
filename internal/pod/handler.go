package pod

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// OutOfRange is a number that is no port.
type OutOfRange int64

// UnknownPort is a port that has no number: why, and what to do.
type UnknownPort struct {
	Why, Fix string
	Refused  bool // the API server refuses such a text, whatever ports there are
}

func (u UnknownPort) Error() string { return u.Why }

type handlerType struct {
	name   string
	fields []string // which the planner carries over or keeps; nil if it opens no connection
	isSet  func(*Handler) bool
}

// A Handler is what the kubelet does. In valid objects exactly one field is set.
type Handler struct {
	Exec      *Exec      `json:"exec"`
	HTTPGet   *HTTPGet   `json:"httpGet"`
	TCPSocket *TCPSocket `json:"tcpSocket"`
	GRPC      *GRPC      `json:"grpc"`
	Sleep     *Sleep     `json:"sleep"`
}

// Exec is a command that the kubelet runs in the container.
type Exec struct {
	Command []string `json:"command"`
}

// Sleep is a hook that waits.
type Sleep struct {
	Seconds int64 `json:"seconds"`
}

// The handlers that open a connection are those of the env var's entries.
type (
	HTTPGet    = prober.HTTPGet
	HTTPHeader = prober.HTTPHeader
	TCPSocket  = prober.TCPSocket
	GRPC       = prober.GRPC
)

// Deref returns what a pointer points to, or "".
func Deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Resolve returns the number of the port that the handler dials, as the kubelet finds it among
// the ports of the same container; 0 if there is none. The error completes a message about it: it is
// an [OutOfRange] or an [UnknownPort].
//
// The kubelet would take a string of digits too, but the API server refuses
// one: a port's name must hold a letter. It refuses every name in a grpc probe.
func (h *Handler) Resolve(c *Container) (int, error) {
	port, _ := h.Endpoint()
	switch {
	case port == nil:
		return 0, nil
	case !port.IsString:
		return InRange(port.Int)
	}
	for _, p := range c.Ports {
		if p.Name == port.Str && p.Name != "" {
			n, err := InRange(p.ContainerPort)
			if err == nil && h.GRPC != nil {
				return 0, UnknownPort{
					fmt.Sprintf("the API server refuses the port name %q in a grpc probe", port.Str),
					fmt.Sprintf("Write the number, %d", n),
					true,
				}
			}
			return n, err
		}
	}
	if port.Str != "" && strings.Trim(port.Str, "0123456789") == "" {
		return 0, UnknownPort{fmt.Sprintf("the API server refuses the string %q as a port", port.Str), "Write the number without quotes", true}
	}
	if IsVariable(port.Str) {
		return 0, UnknownPort{fmt.Sprintf("the port %q looks like it has a variable", port.Str), "Run rewrite-probes after the substitution", true}
	}
	if IsPortPlaceholder(port.Str) {
		return 0, UnknownPort{
			fmt.Sprintf("the port %q cannot be a name, so it looks like a placeholder", port.Str),
			"Run rewrite-probes after the substitution. If it is a name, write a-z, 0-9 and `-`, 15 at most",
			true,
		}
	}
	return 0, UnknownPort{fmt.Sprintf("container %q has no port %q", c.Name, port.Str), fixOfPort(c, port.Str), false}
}

// fixOfPort says what to write for a port name that a container does not declare.
func fixOfPort(c *Container, name string) string {
	var named []string
	for _, p := range c.Ports {
		if p.Name != "" {
			named = append(named, "`"+p.Name+"`")
		}
	}
	fix := "Write " + field.Enumerate(append(named, "a number"), "or")
	if name != "" {
		fix += fmt.Sprintf(", or declare %q under `ports`", name)
	}
	return fix
}

// IsVariable reports whether a text looks like it has a variable that Flux or envsubst will
// substitute.
func IsVariable(text string) bool {
	_, rest, found := strings.Cut(text, "${")
	return found && strings.Contains(rest, "}")
}

// IsExpanded reports whether Kubernetes may change a text in the value of an env var: it makes $ of $$, and the value
// of another env var of $(NAME) (third_party/forked/golang/expansion). In a probe it changes neither.
func IsExpanded(text string) bool {
	_, rest, found := strings.Cut(text, "$(")
	return strings.Contains(text, "$$") || found && strings.Contains(rest, ")")
}

// IsPortPlaceholder reports whether a string cannot be the name of a port, nor a number in quotes, so that something else
// will stand there: $PORT, __PORT__, ((port)), {{port}}, #{Port}#, <PORT>. By IsValidPortName of k8s.io/apimachinery,
// a name has up to 15 characters of a-z, 0-9 and "-", one of them a letter, and no "-" at an end or beside another.
func IsPortPlaceholder(port string) bool {
	letters := strings.Trim(port, "0123456789")
	if letters == "" {
		return false
	}
	return len(port) > 15 ||
		IsPlaceholder(port) ||
		!strings.ContainsFunc(port, unicode.IsLetter) ||
		strings.HasPrefix(port, "-") ||
		strings.HasSuffix(port, "-") ||
		strings.Contains(port, "--")
}

// IsPlaceholder reports whether a text cannot be the name of a namespace, so that something else will stand
// there: ${NS}, $(NS), <namespace>, REPLACE_ME. Names are those of DNS labels (RFC 1123).
func IsPlaceholder(namespace string) bool {
	isOfName := func(r rune) bool {
		return r == '-' ||
			'0' <= r && r <= '9' ||
			'a' <= r && r <= 'z'
	}
	return strings.ContainsFunc(namespace, func(r rune) bool {
		return !isOfName(r)
	})
}

func InRange(port int64) (int, error) {
	if port < 1 || port > 65535 {
		return 0, OutOfRange(port)
	}
	return int(port), nil
}

func (n OutOfRange) Error() string {
	if n == 0 {
		return "the port is missing or 0"
	}
	return fmt.Sprintf("the port %d is not from 1 to 65535", int64(n))
}

// The names of the handler types that rules refer to.
const (
	KindHTTPGet   = "httpGet"
	KindTCPSocket = "tcpSocket"
	KindGRPC      = "grpc"
	KindSleep     = "sleep"
)

// handlerTypes are all types of handlers, in the order of the API. A new type is
// a field of [Handler] and a row and, if it opens a connection, a case in the methods
// of Handler.
var handlerTypes = []handlerType{
	{"exec", nil, func(h *Handler) bool {
		return h.Exec != nil
	}},
	{KindHTTPGet, fieldsOf[HTTPGet](), func(h *Handler) bool {
		return h.HTTPGet != nil
	}},
	{KindTCPSocket, fieldsOf[TCPSocket](), func(h *Handler) bool {
		return h.TCPSocket != nil
	}},
	{KindGRPC, fieldsOf[GRPC](), func(h *Handler) bool {
		return h.GRPC != nil
	}},
	{KindSleep, nil, func(h *Handler) bool {
		return h.Sleep != nil
	}},
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

// HandlerKinds returns the names of all types of handlers.
func HandlerKinds() []string {
	var names []string
	for i := range handlerTypes {
		names = append(names, handlerTypes[i].name)
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

// Endpoint returns what the handler dials; port is nil if it opens no connection.
func (h *Handler) Endpoint() (port *field.IntOrString, host string) {
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

func (h *Handler) Dials() bool {
	port, _ := h.Endpoint()
	return port != nil
}

// String returns the handler in a few words: "httpGet https :8443/healthz".
func (h *Handler) String() string {
	kind := h.Kind()
	port, host := h.Endpoint()
	switch {
	case *h == Handler{}:
		return "no handler"
	case kind == "":
		return "several handlers"
	case port == nil:
		return kind
	}
	before := ""
	after := ""
	if h.HTTPGet != nil {
		after = "/" + strings.TrimPrefix(h.HTTPGet.Path, "/")
		if strings.EqualFold(h.HTTPGet.Scheme, "HTTPS") {
			before = "https "
		}
	} else if h.GRPC != nil && Deref(h.GRPC.Service) != "" {
		after = " " + *h.GRPC.Service
	}
	number := port.String()
	if *port == (field.IntOrString{}) {
		number = "<no port>"
	}
	return kind + " " + before + host + ":" + number + after
}

// Carried returns the text of the author's that only the env var carries once the handler
// is rewritten, and its key; "" if there is none.
func (h *Handler) Carried() (key, text string) {
	switch {
	case h.HTTPGet != nil:
		return "path", h.HTTPGet.Path
	case h.GRPC != nil && h.GRPC.Service != nil:
		return "service", *h.GRPC.Service
	}
	return "", ""
}

// Entry returns the env var's entry for a handler that dials a port, with the API's
// defaults and without the headers, which the kubelet sends.
func (h *Handler) Entry(port field.IntOrString) *prober.Original {
	switch {
	case h.HTTPGet != nil:
		get := &HTTPGet{
			Path:     cmp.Or(h.HTTPGet.Path, "/"),
			Port:     port,
			Protocol: h.HTTPGet.Protocol,
		}
		get.Scheme = cmp.Or(h.HTTPGet.Scheme, "HTTP")
		return &prober.Original{HTTPGet: get}
	case h.TCPSocket != nil:
		return &prober.Original{TCPSocket: &TCPSocket{Port: port}}
	}
	service := Deref(h.GRPC.Service)
	return &prober.Original{GRPC: &GRPC{Port: port, Service: &service, Mode: h.GRPC.Mode}}
}

// HandlerOf returns the handler that an entry of the env var carries. Headers, and
// whether a path or scheme is absent, come from the rewritten request.
func HandlerOf(p *prober.Original, rewritten *HTTPGet) *Handler {
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
		m := append(field.Map{{Key: "path", Value: h.HTTPGet.Path}}, portMap(h.HTTPGet.Port)...)
		m = field.AppendSet(field.AppendSet(m, "scheme", h.HTTPGet.Scheme), "host", h.HTTPGet.Host)
		if len(h.HTTPGet.HTTPHeaders) > 0 {
			m = append(m, field.Entry{Key: HeadersField, Value: headerList(h.HTTPGet.HTTPHeaders)})
		}
		return field.AppendSet(m, "protocol", h.HTTPGet.Protocol)
	case h.TCPSocket != nil:
		return field.AppendSet(portMap(h.TCPSocket.Port), "host", h.TCPSocket.Host)
	}
	m := field.AppendSet(portMap(h.GRPC.Port), "service", Deref(h.GRPC.Service))
	return field.AppendSet(m, "mode", h.GRPC.Mode)
}

func portMap(port field.IntOrString) field.Map {
	return field.Map{{Key: "port", Value: port.Value()}}
}

func headerList(headers []HTTPHeader) field.List {
	list := field.List{}
	for _, x := range headers {
		list = append(list, field.Map{{Key: "name", Value: x.Name}, {Key: "value", Value: x.Value}})
	}
	return list
}

// HeaderIn returns the value of the first header of a name; "" if there is none.
func HeaderIn(h *HTTPGet, name string) string {
	for _, x := range h.HTTPHeaders {
		if strings.EqualFold(x.Name, name) {
			return x.Value
		}
	}
	return ""
}

// Adopt sets the fields of a handler that dials from its form, as far as an entry has
// no room for them, except for the port. It returns false and changes nothing if the
// form means another handler: the entry may have been edited since.
func (h *Handler) Adopt(form field.Map) bool {
	switch e := h.Entry(field.IntOrString{}); {
	case h.GRPC != nil:
		return written(form, "service", "") == *e.GRPC.Service &&
			written(form, "mode", "") == e.GRPC.Mode
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

// Unsupported returns a field with a value that the planner does not know,
// and what is wrong with it; "" if there is none.
func (h *Handler) Unsupported() (name, problem string) {
	switch x, g := h.HTTPGet, h.GRPC; {
	case x != nil &&
		!slices.Contains([]string{"", prober.HTTP1, prober.HTTP2}, x.Protocol):
		return "protocol", fmt.Sprintf("the protocol %q is neither %s nor %s", x.Protocol, prober.HTTP1, prober.HTTP2)
	case x != nil &&
		x.Protocol == prober.HTTP2 &&
		x.Scheme == "HTTPS":
		return "protocol", fmt.Sprintf("the API server refuses the protocol %s with the scheme HTTPS", prober.HTTP2)
	case g != nil &&
		!slices.Contains([]string{"", prober.GRPCPlaintext, prober.GRPCTLS}, g.Mode):
		return "mode", fmt.Sprintf("the mode %q is neither %s nor %s", g.Mode, prober.GRPCPlaintext, prober.GRPCTLS)
	}
	return "", ""
}

// Newer returns the field in which a probe or hook demands what the meshes'
// proxies do not support; "" if there is none.
func (h *Handler) Newer(isHook bool) string {
	switch {
	case h.HTTPGet != nil && h.HTTPGet.Protocol == prober.HTTP2 && !isHook: // the kubelet ignores it in hooks
		return "protocol"
	case h.GRPC != nil && h.GRPC.Mode == prober.GRPCTLS:
		return "mode"
	}
	return ""
}
