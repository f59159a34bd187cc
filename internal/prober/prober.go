// Package prober defines the wire format that rewrite-probes writes and
// probe-proxy reads: the value of the env var ISTIO_KUBE_APP_PROBERS and the
// paths of rewritten probes.
//
// For an object whose defaults are filled in, the form is Istio's, byte for
// byte: a JSON object whose keys are the rewritten paths, sorted, and whose
// values hold the handler and the timeout. Fields that Istio does not know are
// written only where they are set. The types mirror those of the Kubernetes
// API, so that the sidecar links none of it; the planner has the same handlers.
package prober

import (
	"fmt"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// EnvName is the env var that carries the probers, named as Istio names it.
const EnvName = "ISTIO_KUBE_APP_PROBERS"

// IstioProxyID is the uid and gid of Istio's own proxy.
const IstioProxyID = 1337

// StatusPort is the port of the status server in Istio's sidecar, which answers
// rewritten probes.
const StatusPort = 15020

// DefaultPort is the port of probe-proxy. It is not the status server's, so that
// both can run in one pod.
const DefaultPort = 15099

// The paths at which probe-proxy answers for itself. Both mean the same: there are
// two because linters report a livenessProbe and a readinessProbe that are equal.
const (
	HealthPath = "/healthz"
	ReadyPath  = "/readyz"
)

// Program is where the image of probe-proxy has the program, and WaitCommand its command
// that ends when probe-proxy listens.
const (
	Program     = "/probe-proxy"
	WaitCommand = "wait"
)

// A ProbeType is one of the fields of a container that hold a handler.
type ProbeType string

// The five probe types, by the last element of the rewritten path.
const (
	Readiness ProbeType = "readyz"
	Liveness  ProbeType = "livez"
	Startup   ProbeType = "startupz"
	PreStop   ProbeType = "prestopz"
	PostStart ProbeType = "poststartz"
)

// ProbeTypes returns every probe type.
func ProbeTypes() []ProbeType {
	return []ProbeType{Readiness, Liveness, Startup, PostStart, PreStop}
}

var fields = map[ProbeType]string{
	Readiness: "readinessProbe", Liveness: "livenessProbe", Startup: "startupProbe", PostStart: "postStart", PreStop: "preStop",
}

// Field returns the name of the field of a container, or for hooks of its
// lifecycle; "" if there is no such probe type.
func (t ProbeType) Field() string { return fields[t] }

// Name returns the short name that people use, such as "readiness".
func (t ProbeType) Name() string {
	return strings.TrimSuffix(t.Field(), "Probe")
}

// IsHook reports whether the probe type is a lifecycle hook: the kubelet ignores the
// status code of hooks and gives them no timeout.
func (t ProbeType) IsHook() bool { return t == PostStart || t == PreStop }

// Key returns the rewritten path of a container's probe type, which is also the key
// of its entry: /app-health/<container>/livez, /app-lifecycle/<container>/prestopz.
func Key(container string, t ProbeType) string {
	if t.IsHook() {
		return "/app-lifecycle/" + container + "/" + string(t)
	}
	return "/app-health/" + container + "/" + string(t)
}

// ParseKey splits a rewritten path; ok is false if it is not one. The pattern
// is Istio's, ^/(app-health|app-lifecycle)/[^/]+/(livez|readyz|startupz|prestopz|poststartz)$,
// with app-lifecycle for hooks alone.
func ParseKey(key string) (container string, t ProbeType, ok bool) {
	rest, isProbe := strings.CutPrefix(key, "/app-health/")
	rest, isHook := strings.CutPrefix(rest, "/app-lifecycle/")
	name, last, _ := strings.Cut(rest, "/")
	of := ProbeType(last)
	if isProbe == isHook ||
		name == "" ||
		of.Field() == "" ||
		of.IsHook() != isHook {
		return
	}
	return name, of, true
}

// An Original is one entry: exactly one handler and, for probes, the timeout.
// The fields are in the order of Istio's output.
type Original struct {
	HTTPGet        *HTTPGet   `json:"httpGet,omitempty"`
	TCPSocket      *TCPSocket `json:"tcpSocket,omitempty"`
	GRPC           *GRPC      `json:"grpc,omitempty"`
	TimeoutSeconds int        `json:"timeoutSeconds,omitempty"`
}

// A handler is what an original does. A new type of handler is a field of [Original],
// a line in handlers, and these methods.
type handler interface {
	// complete sets the API's defaults and checks what remains.
	complete() error
	String() string
}

func (p *Original) handlers() []handler {
	var set []handler
	if p.HTTPGet != nil {
		set = append(set, p.HTTPGet)
	}
	if p.TCPSocket != nil {
		set = append(set, p.TCPSocket)
	}
	if p.GRPC != nil {
		set = append(set, p.GRPC)
	}
	return set
}

// String describes the handler, as in "HTTP GET :8080 /".
func (p *Original) String() string {
	var words []string
	for _, h := range p.handlers() {
		words = append(words, h.String())
	}
	return strings.Join(words, ", ")
}

// HTTPGet mirrors the API's HTTPGetAction. In an entry, its port is a number.
type HTTPGet struct {
	Path        string            `json:"path,omitempty"`
	Port        field.IntOrString `json:"port"`
	Host        string            `json:"host,omitempty"`
	Scheme      string            `json:"scheme,omitempty"`
	HTTPHeaders []HTTPHeader      `json:"httpHeaders,omitempty"`
	Protocol    string            `json:"protocol,omitempty"` // HTTP1, HTTP2 or unset, which is HTTP1
}

func (h *HTTPGet) String() string {
	scheme := h.Scheme
	if h.Protocol == HTTP2 {
		scheme = "HTTP/2"
	}
	return fmt.Sprintf("%s GET :%s %s", scheme, h.Port, h.Path)
}

// Values of [HTTPGet].Protocol. HTTP2 is HTTP/2 without TLS and with prior
// knowledge, for the scheme HTTP (KEP-5999); the kubelet ignores it in hooks.
const (
	HTTP1 = "HTTP1"
	HTTP2 = "HTTP2"
)

// HTTPHeader mirrors the API's type.
type HTTPHeader struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// TCPSocket mirrors the API's TCPSocketAction.
type TCPSocket struct {
	Port field.IntOrString `json:"port"`
	Host string            `json:"host,omitempty"`
}

func (t *TCPSocket) String() string {
	return "TCP :" + t.Port.String()
}

// GRPC mirrors the API's GRPCAction; Service is written as null when unset.
type GRPC struct {
	Port    field.IntOrString `json:"port"`
	Service *string           `json:"service"`
	Mode    string            `json:"mode,omitempty"` // GRPCTLS, GRPCPlaintext or unset, which is GRPCPlaintext
}

func (g *GRPC) String() string {
	var mode, service string
	if g.Mode == GRPCTLS {
		mode = " TLS"
	}
	if g.Service != nil {
		service = *g.Service
	}
	return fmt.Sprintf("gRPC%s :%s %s", mode, g.Port, service)
}

// Values of [GRPC].Mode (KEP-4939).
const (
	GRPCTLS       = "TLS"
	GRPCPlaintext = "Plaintext"
)
