package inbound_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/authz"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/inbound"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/beside"
)

var web = field.KeyValues{{Key: "app", Value: "web"}}

func object(name string) surroundings.Neighbour {
	return surroundings.Neighbour{Name: name, Namespace: "shop"}
}

// service returns a Service whose ports of these names all lead to port 8080.
func service(name string, ports ...string) *surroundings.Service {
	v := &surroundings.Service{Neighbour: object(name), Selector: web}
	for _, p := range ports {
		v.Ports = append(v.Ports, surroundings.ServicePort{Name: p, Port: 8080})
	}
	return v
}

// sidecar returns a Sidecar that declares a protocol for a port.
func sidecar(name string, port int, protocol string) *surroundings.Sidecar {
	l := surroundings.InboundListener{Port: surroundings.ListenerPort{Number: port, Protocol: protocol}}
	return &surroundings.Sidecar{Neighbour: object(name), Ingress: []surroundings.InboundListener{l}}
}

func policy(action authz.Action, paths ...field.Value) *surroundings.AuthorizationPolicy {
	r := new(authz.Rule)
	r.To = append(r.To, struct {
		Operation field.Map `json:"operation"`
	}{field.Map{{Key: "paths", Value: field.List(paths)}}})
	return &surroundings.AuthorizationPolicy{Neighbour: object("p"), Action: action, Rules: []*authz.Rule{r}}
}

// answers returns what a call may get, each as "why if ...", without the names of objects.
func answers(h *pod.Handler, objects ...any) string {
	around := beside.Of(objects...)
	l := inbound.Listener{Around: &around, RootNamespace: "istio-system", Pods: &surroundings.Pods{
		Namespace: "shop", Kind: "StatefulSet", Name: "web", Labels: web, Spec: new(pod.Spec),
	}}
	var all []string
	for _, a := range l.Answers(inbound.Of(h, false, 8080)) {
		text := a.Why
		if a.Why == "" {
			text = "passes"
		}
		if a.If != "" {
			text += fmt.Sprintf(" if %s (%s)", a.If, a.Fix)
		}
		all = append(all, text)
	}
	return strings.Join(all, "; or ")
}

func get(more ...string) *pod.Handler {
	h := &pod.HTTPGet{Path: "/healthz"}
	for _, m := range more {
		switch name, value, isHeader := strings.Cut(m, ": "); {
		case isHeader:
			h.HTTPHeaders = append(h.HTTPHeaders, pod.HTTPHeader{Name: name, Value: value})
		case m == "HTTPS":
			h.Scheme = m
		case m == "HTTP2":
			h.Protocol = m
		default:
			h.Path = m
		}
	}
	return &pod.Handler{HTTPGet: h}
}

const (
	tlsToHTTP   = " declares its port as HTTP, which istio-proxy then expects instead of TLS"
	notGRPC     = " declares its port as HTTP/1, so that istio-proxy asks the app in HTTP/1.1, which is not gRPC; the port's name must begin with grpc"
	toHTTP1     = " declares its port as HTTP/1, so that istio-proxy asks the app in HTTP/1.1 if the app does not speak HTTP/1.1 there (look at the app); or passes"
	toHTTP2     = " declares its port as gRPC or HTTP/2, so that istio-proxy asks the app in HTTP/2 if the app does not speak HTTP/2 there (look at the app); or passes"
	refused     = "AuthorizationPolicy shop/p refuses the kubelet's GET /healthz, which has no identity"
	decides     = " decides the protocol of its port (look in the cluster)"
	about       = " if the policy and its rule are about it (look in the cluster)"
	nothingDoes = " if nothing declares the protocol of its port (look in the cluster)"
)

// The first filter that refuses a call for certain is its answer. What decides between chains is in the condition.
func TestACallGoesThroughTheFiltersOfItsChain(t *testing.T) {
	grpc := &pod.Handler{GRPC: new(pod.GRPC)}
	some := policy(authz.Deny, "/healthz")
	some.Selector.MatchLabels = field.KeyValues{{Key: "kubernetes.io/hostname", Value: "a"}}
	byName := service("one", "http")
	byName.Selector = field.KeyValues{{Key: "statefulset.kubernetes.io/pod-name", Value: "web-0"}}
	for _, c := range []struct {
		name    string
		call    *pod.Handler
		objects []any
		want    string
	}{
		{"nothing is declared", get("HTTPS"), nil, "passes"},
		{"TLS passes as TCP", get("HTTPS"), []any{service("a", "https")}, "passes"},
		{"TLS does not pass as HTTP", get("HTTPS"), []any{service("a", "http")}, "a Service" + tlsToHTTP},
		{"the first port of a Service counts", get("HTTPS"), []any{service("a", "https", "http")}, "passes"},
		{"the oldest Service counts, which may be any", get("HTTPS"), []any{service("a", "https"), service("b", "http")},
			"passes; or a Service" + tlsToHTTP + " if Service shop/b" + decides},
		{"Services that say the same are one", get("HTTPS"), []any{service("a", "http"), service("b", "http", "https")}, "a Service" + tlsToHTTP},
		{"a Service of one pod may be about it", get("HTTPS"), []any{byName}, "a Service" + tlsToHTTP + " if Service shop/one" + decides + "; or passes"},
		{"a Sidecar counts, and no Service", get("HTTPS"), []any{sidecar("s", 8080, "HTTP"), service("a", "https")}, "a Sidecar" + tlsToHTTP},
		{"what a Sidecar does not list is sniffed", get("HTTPS"), []any{sidecar("s", 9090, "HTTP"), service("a", "http")}, "passes"},
		{"a Sidecar without an ingress says nothing", get("HTTPS"), []any{&surroundings.Sidecar{Neighbour: object("s")}, service("a", "http")}, "a Service" + tlsToHTTP},
		{"of two Sidecars any may be the oldest", get("HTTPS"), []any{sidecar("s", 8080, "TCP"), sidecar("t", 8080, "HTTP")},
			"passes; or a Sidecar" + tlsToHTTP + " if Sidecar shop/t" + decides},
		{"gRPC is no HTTP/1", grpc, []any{service("a", "http")}, "a Service" + notGRPC},
		{"gRPC is HTTP/2", grpc, []any{service("a", "grpc-web")}, "passes"},
		{"an app of HTTP/1 does not understand HTTP/2", get(), []any{service("a", "grpc")}, "a Service" + toHTTP2},
		{"nor one of HTTP/2 HTTP/1", get("HTTP2"), []any{service("a", "http")}, "a Service" + toHTTP1},
		{"what is sniffed is asked as it comes", get("HTTP2"), []any{service("a", "web")}, "passes"},
		{"a policy comes before the app", get(), []any{service("a", "grpc"), policy(authz.Deny, "/healthz")}, refused},
		{"a policy sees no path in TCP", get(), []any{service("a", "tcp"), policy(authz.Allow, "/healthz")}, refused},
		{"and only if it is TCP", get(), []any{byName, policy(authz.Allow, "/*")}, "passes"},
		{"a request with TLS is no HTTP", get("HTTPS"), []any{policy(authz.Allow, "/healthz")}, refused},
		{"no chain lets it in", get(), []any{service("a", "tcp"), service("b", "web"), policy(authz.Deny, "/healthz")}, refused},
		{"a chain may ask the app in HTTP/2", get(), []any{service("a", "grpc"), service("b", "web")},
			"a Service declares its port as gRPC or HTTP/2, so that istio-proxy asks the app in HTTP/2 if Service shop/a decides the protocol of its port" +
				" and the app does not speak HTTP/2 there (look in the cluster; look at the app); or passes"},
		{"a policy may be about it in each chain", get(), []any{service("a", "http"), service("b", "web"), some}, refused + about + "; or passes"},
		{"a policy may be about it in one chain", get(), []any{service("a", "http"), service("b", "tcp"), some, policy(authz.Deny, "/admin")},
			refused + " if Service shop/a decides the protocol of its port and the policy and its rule are about it (look in the cluster); or passes; or " +
				refused + " if Service shop/b" + decides},
		{"it is refused if nothing is declared", get(), []any{service("a", "tcp"), policy(authz.Deny, "/admin")}, refused},
	} {
		if got := answers(c.call, c.objects...); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	byName.Ports[0].Name = "tcp"
	tokens := &surroundings.RequestAuthentication{Neighbour: object("r"), JWTRules: make([]surroundings.JWTRule, 1)}
	if got := answers(get("Authorization: Bearer garbage"), byName, tokens); !strings.HasSuffix(got, nothingDoes) {
		t.Errorf("what nothing declares: %s", got)
	}
}
