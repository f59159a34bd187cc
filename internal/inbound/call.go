package inbound

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/authz"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// A Call is one that the kubelet makes of a port of a pod, by HTTP or gRPC. Its TCP is set if it comes in TLS.
type Call struct {
	authz.Request
	isGRPC  bool
	isHTTP2 bool   // gRPC is too
	query   string // of the path, which policies do not see
	words   string // for people, such as "GET /healthz"; "" for what the user has not written
}

// Of returns the call of a probe or hook that is no tcpSocket.
func Of(h *pod.Handler, isHook bool, port int) *Call {
	if h.GRPC != nil {
		return &Call{isGRPC: true, isHTTP2: true, words: "request", Request: authz.Request{
			TCP:    h.GRPC.Mode == prober.GRPCTLS,
			Method: "POST", Path: authz.Known("/grpc.health.v1.Health/Check"), Host: authz.HostOf(strconv.Itoa(port)), Port: port,
			Header: map[string][]authz.PartialText{
				"user-agent": {authz.Begins("kube-probe/1.")}, "content-type": {authz.Known("application/grpc")},
				"te": {authz.Known("trailers")}, "grpc-timeout": {authz.Begins("")},
			},
		}}
	}
	agent := "kube-probe/1."
	if isHook {
		agent = "kube-lifecycle/1."
	}
	c := get(h.HTTPGet.Path, h.HTTPGet.HTTPHeaders, agent, port)
	c.TCP = h.HTTPGet.Scheme == "HTTPS"
	c.isHTTP2 = h.HTTPGet.Protocol == prober.HTTP2
	path, _, _ := strings.Cut(cmp.Or(h.HTTPGet.Path, "/"), "?")
	c.words = "GET " + path
	return c
}

// Rewritten returns the call of a probe that Istio's injector has rewritten to a path.
func Rewritten(path string, port int) *Call {
	return get(path, nil, "kube-probe/1.", port)
}

// get returns the kubelet's GET request (pkg/probe/http/request.go in Kubernetes).
func get(path string, headers []pod.HTTPHeader, agent string, port int) *Call {
	c := &Call{Request: authz.Request{
		Method: "GET", Path: sentPath(path), Host: authz.HostOf(strconv.Itoa(port)), Port: port,
		Header: make(map[string][]authz.PartialText),
	}}
	_, c.query, _ = strings.Cut(path, "?")
	byDefault := map[string]authz.PartialText{"user-agent": authz.Begins(agent), "accept": authz.Known("*/*")}
	sent := map[string][]string{"user-agent": nil, "accept": nil, "host": nil}
	for _, h := range headers {
		name := strings.ToLower(h.Name)
		sent[name] = append(sent[name], h.Value)
	}
	if host := sent["host"]; len(host) > 0 && host[0] != "" {
		c.Host = sentText(host[0])
	}
	for name, values := range sent {
		switch _, isAlone := byDefault[name]; {
		case slices.Contains(notSent, name):
		case isAlone && values == nil:
			c.Header[name] = []authz.PartialText{byDefault[name]}
		case isAlone && values[0] == "": // asks the client to leave it out
		case name == "user-agent":
			c.Header[name] = []authz.PartialText{sentText(values[0])}
		default:
			for _, v := range values {
				c.Header[name] = append(c.Header[name], sentText(v))
			}
		}
	}
	return c
}

// notSent are the headers of a probe that Go's client does not take as such (reqWriteExcludeHeader in net/http).
var notSent = []string{"host", "content-length", "transfer-encoding", "trailer"}

// sentPath returns a path as the kubelet sends it.
func sentPath(path string) authz.PartialText {
	if pod.IsVariable(path) {
		return authz.Begins("/")
	}
	u, err := url.Parse(path)
	if err != nil {
		return authz.Known(path)
	}
	sent := u.EscapedPath()
	if !strings.HasPrefix(sent, "/") {
		sent = "/" + sent
	}
	return authz.Known(sent)
}

// sentText returns the value of a header as Go's client sends it. Nothing is known of one with a variable.
func sentText(value string) authz.PartialText {
	if pod.IsVariable(value) {
		return authz.Begins("")
	}
	return authz.Known(strings.Trim(value, " \t"))
}
