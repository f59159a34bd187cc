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

func byHTTP(h *pod.HTTPGet) *prober.Prober { return &prober.Prober{HTTPGet: h} }
func byTCP(port int) *prober.Prober {
	return &prober.Prober{TCPSocket: &pod.TCPSocket{Port: field.Number(port)}}
}

type originals = map[string]*prober.Prober

// A lookUp is what a holder has as the original of a request of container app's livenessProbe in a
// pod that has the container other too; key is "" if there is none.
type lookUp struct {
	name      string
	originals originals
	request   *pod.HTTPGet
	key       string
	want      *prober.Prober
}

func (c lookUp) check(t *testing.T, env string, probeType prober.ProbeType) {
	t.Helper()
	k := &originalsHolder{env: env, originals: c.originals, listens: earlierPorts}
	s := &handlerSite{container: &pod.Container{Name: "app"}, name: probeType, key: prober.Key("app", probeType), current: &pod.Handler{HTTPGet: c.request}}
	key, got := k.original(s, []string{"app", "other"})
	if d := cmp.Diff(c.want, got); d != "" || key != c.key {
		t.Errorf("%s, %s: %q, want %q; -want +got\n%s", probeType.Field(), c.name, key, c.key, d)
	}
}

func TestTheOriginalsOfRequestsAreFoundByPath(t *testing.T) {
	const own, other, old, ready = "/app-health/app/livez", "/app-health/other/livez", "/app-health/old/livez", "/app-health/app/readyz"
	p, q := byHTTP(request("/p", 80)), byHTTP(request("/q", 81))
	all := originals{own: p, other: q, old: q, ready: q}
	for _, c := range []lookUp{
		{"its path", all, request(own, 15020), own, p},
		{"the path of another container", all, request(other, 15020), "", nil},
		{"the path of another probe", all, request(ready, 15020), "", nil},
		{"the path of a container that is gone", all, request(old, 15020), old, q},
		{"a path without an entry", nil, request(own, 15020), own, nil},
		{"a path of an earlier form", all, request("/osm-liveness-probe", 15901), "/osm-liveness-probe", nil},
	} {
		c.check(t, prober.EnvName, prober.Liveness)
	}
}

// A request of an earlier form has its original only if it is as that version wrote it.
func TestTheOriginalsOfEarlierRequestsAreFoundByPathHeaderOrPort(t *testing.T) {
	const (
		own, alone, other, ready = "/app-health/app/livez", "/app-health/*/livez", "/app-health/other/livez", "/app-health/app/readyz"
		osm, fsm                 = "/osm-healthcheck", "/fsm-healthcheck"
		http, path, tcp          = "Original-Http-Port", "Original-Http-Path", "Original-Tcp-Port"
	)
	plain, tls, db := byHTTP(over("HTTP", request("/a", 80))), byHTTP(over("HTTPS", request("/c", 443))), byTCP(6379)
	named := over("HTTPS", request("/c", 0))
	named.Port = field.IntOrString{Str: "web", IsString: true}
	for _, c := range []lookUp{
		{"its path", originals{own: plain, other: tls}, request("/osm-liveness-probe/app", 15901), own, plain},
		{"its path, at another port", originals{own: plain}, request("/osm-liveness-probe/app", 80), "", nil},
		{"the path of the only one", originals{own: db, alone: plain}, request("/osm-liveness-probe", 15901), alone, plain},
		{"the path of another container", originals{own: plain, other: plain}, request("/osm-liveness-probe/other", 15901), "", nil},
		{"the path of a container that is gone", originals{"/app-health/gone/livez": plain}, request("/osm-liveness-probe/gone", 15901), "", nil},
		{"the path of another type", originals{own: plain, "/app-health/*/readyz": plain}, request("/osm-readiness-probe", 15901), "", nil},
		{"a path of no type", originals{own: plain}, request("/x", 15901), "", nil},
		{"today's path", originals{own: plain}, request(own, 15904), own, plain},
		{"today's path of the only one", originals{alone: plain}, request(alone, 15901), alone, plain},
		{"today's path of another", originals{own: plain, other: plain}, request(other, 15904), "", nil},
		{"a path without an entry", originals{other: plain}, request("/osm-liveness-probe/app", 15901), "", nil},
		{"a header", originals{own: db}, over("HTTP", request(osm, 15904, "Original-TCP-Port", "6379")), own, db},
		{"a header with another port", originals{own: db}, request(osm, 15904, tcp, "6380"), "", nil},
		{"a header without an entry", originals{ready: db}, request(osm, 15904, tcp, "6379"), "", nil},
		{"no header", originals{own: db}, request(osm, 15904), "", nil},
		{"TLS", originals{own: tls}, over("HTTPS", request("/c", 15901)), own, tls},
		{"TLS without a path", originals{own: byHTTP(over("HTTPS", request("/", 443)))}, over("HTTPS", request("", 15901)), own, byHTTP(over("HTTPS", request("/", 443)))},
		{"TLS with another path", originals{own: tls}, over("HTTPS", request("/now", 15901)), "", nil},
		{"TLS at the name of a port", originals{own: tls}, named, "", nil},
		{"TLS of an entry without", originals{own: plain}, over("HTTPS", request("/a", 15901)), "", nil},
		{"TLS of an entry of TCP", originals{own: db}, over("HTTPS", request("", 15901)), "", nil},
		{"TLS that is no longer", originals{own: tls}, request("/c", 15901), "", nil},
		{"FSM, a port and a path", originals{own: plain}, request(fsm, 15901, "A", "b", "original-http-path", "/a", "original-http-port", "80"), own, plain},
		{"FSM, another path", originals{own: plain}, request(fsm, 15901, http, "80", path, "/b"), "", nil},
		{"FSM, a port alone", originals{own: plain}, request(fsm, 15901, http, "80"), "", nil},
		{"FSM, TLS", originals{own: tls}, request(fsm, 15901, tcp, "443", path, "/c"), own, tls},
		{"FSM, TCP", originals{own: db}, request(fsm, 15904, tcp, "6379"), own, db},
		{"FSM, TCP with a path", originals{own: db}, request(fsm, 15904, tcp, "6379", path, "/"), "", nil},
		{"FSM, no header", originals{own: plain}, request(fsm, 15901), "", nil},
	} {
		c.check(t, prober.EarlierEnvNames[0], prober.Liveness)
		c.key, c.want = "", nil
		c.check(t, prober.EarlierEnvNames[0], prober.PostStart)
	}
}

func TestARequestLooksRewrittenByItsPathAndWhereThatSaysNothingByItsHeaders(t *testing.T) {
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
		s := &handlerSite{current: &pod.Handler{HTTPGet: c.request}}
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
		s := &handlerSite{key: prober.Key("app", c.probeType), original: &c.original}
		if d := cmp.Diff(c.want, s.rewritten(15904)); d != "" {
			t.Errorf("%s: -want +got\n%s", c.original.String(), d)
		}
	}
}
