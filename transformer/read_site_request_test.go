package transformer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// request returns a request to a path and a port, with headers given by name and value.
func request(path string, port int, headers ...string) *pod.HTTPGet {
	h := &pod.HTTPGet{Path: path, Port: field.Number(port)}
	for i := 0; i < len(headers); i += 2 {
		h.HTTPHeaders = append(h.HTTPHeaders, pod.HTTPHeader{Name: headers[i], Value: headers[i+1]})
	}
	return h
}

func over(scheme string, h *pod.HTTPGet) *pod.HTTPGet {
	h.Scheme = scheme
	return h
}

func TestTheOriginalsOfRequestsAreFoundByPath(t *testing.T) {
	const own, other, old, ready = "/app-health/app/livez", "/app-health/other/livez", "/app-health/old/livez", "/app-health/app/readyz"
	p, q := &prober.Original{HTTPGet: request("/p", 80)}, &prober.Original{HTTPGet: request("/q", 81)}
	all := map[string]*prober.Original{own: p, other: q, old: q, ready: q}
	for _, c := range []struct {
		name      string
		originals map[string]*prober.Original
		request   *pod.HTTPGet
		key       string // "" if there is none
		want      *prober.Original
	}{
		{"its path", all, request(own, 15020), own, p},
		{"the path of another container", all, request(other, 15020), "", nil},
		{"the path of another probe", all, request(ready, 15020), "", nil},
		{"the path of a container that is gone", all, request(old, 15020), old, q},
		{"a path without an entry", nil, request(own, 15020), own, nil},
		{"another path", all, request("/liveness", 15901), "/liveness", nil},
		{"the form of Open Service Mesh, which the holder does not answer", all, request("/osm-liveness-probe", 15901), "", nil},
	} {
		h := &holder{originals: c.originals}
		s := &site{container: &pod.Container{Name: "app"}, name: prober.Liveness, key: own, current: &pod.Handler{HTTPGet: c.request}}
		key, got := h.original(s, []string{"app", "other"})
		if d := cmp.Diff(c.want, got); d != "" || key != c.key {
			t.Errorf("%s: %q, want %q; -want +got\n%s", c.name, key, c.key, d)
		}
	}
}

func TestRequest_looksRewritten(t *testing.T) {
	for _, c := range []struct {
		request *pod.HTTPGet
		want    bool
	}{
		{request("/app-health/app/livez", 80), true},
		{request("/app-health/app/live", 80), false},
		{request("/osm-liveness-probe", 80), true},
		{request("/osm-liveness-probe/app", 80), true},
		{request("/osm-liveness-probe/a/b", 80), false},
		{request("/osm-liveness-probes", 80), false},
		{request("osm-liveness-probe", 80), false},
		{request("/fsm-startup-probe/app", 80), true},
		{request("/osm-healthcheck", 80, "Original-Tcp-Port", "1"), true},
		{request("/osm-healthcheck", 15904), false},
		{request("/fsm-healthcheck", 80, "a", "b", "original-http-path", ""), true},
		{request("/fsm-healthcheck", 80, "a", "b", "Original-Http-Port", ""), true},
		{request("/fsm-healthcheck", 15901, "a", "b"), false},
		{request("/x", 15901, "Original-Tcp-Port", "1"), false},
	} {
		s := &site{current: &pod.Handler{HTTPGet: c.request}}
		if got := s.isDangling(); got != c.want {
			t.Errorf("%+v: %t", c.request, got)
		}
	}
}

func TestAProbeBecomesARequestOfItsOwnPath(t *testing.T) {
	for _, c := range []struct {
		probeType prober.ProbeType
		original  pod.Handler
		want      *pod.HTTPGet
	}{
		{prober.Liveness, pod.Handler{HTTPGet: &pod.HTTPGet{Path: "/a", Protocol: "HTTP2", HTTPHeaders: []pod.HTTPHeader{{Name: "A", Value: "b"}}}}, request("/app-health/app/livez", 15904, "A", "b")},
		{prober.Readiness, pod.Handler{HTTPGet: over("HTTP", request("", 80))}, over("HTTP", request("/app-health/app/readyz", 15904))},
		{prober.Readiness, pod.Handler{HTTPGet: over("HTTPS", request("/c", 443, "A", "b"))}, over("HTTP", request("/app-health/app/readyz", 15904, "A", "b"))},
		{prober.Startup, pod.Handler{TCPSocket: &pod.TCPSocket{}}, request("/app-health/app/startupz", 15904)},
		{prober.Startup, pod.Handler{GRPC: &pod.GRPC{}}, request("/app-health/app/startupz", 15904)},
		{prober.PreStop, pod.Handler{HTTPGet: request("/stop", 80)}, request("/app-lifecycle/app/prestopz", 15904)},
	} {
		s := &site{key: prober.Key("app", c.probeType), original: &c.original}
		if d := cmp.Diff(c.want, s.rewritten(15904)); d != "" {
			t.Errorf("%s: -want +got\n%s", c.original.String(), d)
		}
	}
}
