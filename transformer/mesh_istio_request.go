package transformer

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/authz"
	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// refusal returns what AuthorizationPolicies make of a probe that comes to a port: as it was
// read or, with rewritten, as Istio's injector rewrites it. Services declare what Envoy takes
// the port for; if they disagree, either may hold.
func (v *view) refusal(s *site, port int, rewritten bool) surroundings.Refusal {
	if !v.in.Around.HasAuthorizationPolicies() ||
		s.current.Kind() == pod.KindTCPSocket && !rewritten {
		return surroundings.Refusal{Is: certain.Never} // a connection is always accepted
	}
	pods := v.pods()
	var q *authz.Request
	if rewritten {
		q = get(s.key, nil, "kube-probe/1.", port)
	} else {
		q = s.request(port)
	}
	declared := v.in.Around.Declared(pods, port)
	isTCP := slices.Contains(declared, surroundings.TCP)
	isHTTP := len(declared) == 0 || !isTCP || len(declared) > 1
	var r surroundings.Refusal
	if q.TCP = q.TCP || !isHTTP; q.TCP || !isTCP {
		return v.in.Around.Refuses(v.opts.Istio.RootNamespace, pods, q)
	}
	r = v.in.Around.Refuses(v.opts.Istio.RootNamespace, pods, q)
	q.TCP = true
	if other := v.in.Around.Refuses(v.opts.Istio.RootNamespace, pods, q); other.Is != r.Is {
		r = surroundings.Refusal{Is: certain.Maybe, By: r.By + other.By}
	}
	return r
}

// request returns the request by which the kubelet makes a probe or hook of a port.
func (s *site) request(port int) *authz.Request {
	if s.current.GRPC != nil {
		return &authz.Request{
			TCP:    s.current.GRPC.Mode == prober.GRPCTLS,
			Method: "POST", Path: authz.Known("/grpc.health.v1.Health/Check"), Host: authz.HostOf(strconv.Itoa(port)), Port: port,
			Header: map[string]authz.Text{
				"user-agent": authz.Begins("kube-probe/1."), "content-type": authz.Known("application/grpc"), "te": authz.Known("trailers"),
			},
		}
	}
	agent := "kube-probe/1."
	if s.name.IsHook() {
		agent = "kube-lifecycle/1."
	}
	h := s.current.HTTPGet
	q := get(h.Path, h.HTTPHeaders, agent, port)
	q.TCP = h.Scheme == "HTTPS"
	return q
}

// get returns the kubelet's GET request (pkg/probe/http/request.go in Kubernetes).
func get(path string, headers []pod.HTTPHeader, agent string, port int) *authz.Request {
	q := &authz.Request{
		Method: "GET", Path: sentPath(path), Host: authz.HostOf(strconv.Itoa(port)), Port: port,
		Header: map[string]authz.Text{
			"user-agent": authz.Begins(agent),
			"accept":     authz.Known("*/*"),
		},
	}
	sent := make(map[string][]string)
	for _, h := range headers {
		name := strings.ToLower(h.Name)
		sent[name] = append(sent[name], h.Value)
	}
	for name, values := range sent {
		value := sentText(strings.Join(values, ","))
		if name == "host" {
			q.Host = sentText(values[0])
		} else {
			q.Header[name] = value
		}
	}
	return q
}

// sentPath returns a path as the kubelet sends it.
func sentPath(path string) authz.Text {
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

// sentText returns the value of a header, of which nothing is known as long as it has a variable.
func sentText(value string) authz.Text {
	if pod.IsVariable(value) {
		return authz.Begins("")
	}
	return authz.Known(value)
}

// whyRefused returns why a request fails that a policy refuses.
func (s *site) whyRefused(policy string) string {
	h := s.current.HTTPGet
	if h == nil {
		return policy + " refuses the kubelet's request, which has no identity"
	}
	path, _, _ := strings.Cut(cmp.Or(h.Path, "/"), "?")
	return policy + " refuses the kubelet's GET " + path + ", which has no identity"
}
