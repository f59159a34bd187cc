package transformer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// request returns a request to a path and a port, with headers given by name and value.
func request(path string, port int, headers ...string) *HTTPGet {
	h := &HTTPGet{Path: path, Port: field.Number(port)}
	for i := 0; i < len(headers); i += 2 {
		h.HTTPHeaders = append(h.HTTPHeaders, HTTPHeader{Name: headers[i], Value: headers[i+1]})
	}
	return h
}

func over(scheme string, h *HTTPGet) *HTTPGet {
	h.Scheme = scheme
	return h
}

func speaking(protocol string, h *HTTPGet) *HTTPGet {
	h.Protocol = protocol
	return h
}

func byHTTP(h *HTTPGet) *prober.Prober { return &prober.Prober{HTTPGet: h} }
func byTCP(port int) *prober.Prober {
	return &prober.Prober{TCPSocket: &TCPSocket{Port: field.Number(port)}}
}

type originals = map[string]*prober.Prober

// A lookUp is what a convention takes for the original of a request of container app's
// livenessProbe in a pod that has the container other too; key is "" if there is none.
type lookUp struct {
	name      string
	originals originals
	request   *HTTPGet
	key       string
	want      *prober.Prober
}

func (c lookUp) check(t *testing.T, of conventionRules, probeType prober.ProbeType) {
	t.Helper()
	s := &handlerSite{container: &Container{Name: "app"}, name: probeType, key: prober.Key("app", probeType), current: &Handler{HTTPGet: c.request}}
	key, got := of.original(c.originals, s, []string{"app", "other"})
	if d := cmp.Diff(c.want, got); d != "" || key != c.key {
		t.Errorf("%s, %s: %q, want %q; -want +got\n%s", probeType.Field(), c.name, key, c.key, d)
	}
}

func TestTheOriginalsOfFlomeshsRequestsAreInTheirHeaders(t *testing.T) {
	const (
		key              = "/fsm-liveness-probe/app"
		http, path, tcp  = "Original-Http-Port", "Original-Http-Path", "Original-Tcp-Port"
		fsm              = "/fsm-healthcheck"
		liveness, health = 15901, 15904
	)
	plain := over("HTTP", request("/x", 80))
	named := request(fsm, 0, http, "80")
	named.Port = field.IntOrString{Str: "web", IsString: true}
	for _, c := range []lookUp{
		{"a port and a path", nil, request(fsm, liveness, http, "80", path, "/x"), key, byHTTP(plain)},
		{"in lower case, behind others", nil, request(fsm, liveness, "A", "b", "original-http-path", "/x", "original-http-port", "80"), key, byHTTP(plain)},
		{"a port alone", nil, request(fsm, liveness, http, "80"), key, byHTTP(over("HTTP", request("/", 80)))},
		{"a port of TLS and a path", nil, request(fsm, liveness, tcp, "443", path, "/x"), key, byHTTP(over("HTTPS", request("/x", 443)))},
		{"a port of TLS alone, as Flomesh's injector leaves it", nil, request(fsm, liveness, tcp, "443"), "", nil},
		{"a port of TCP", nil, request(fsm, health, tcp, "6379"), key, byTCP(6379)},
		{"both ports", nil, request(fsm, liveness, http, "80", tcp, "443", path, "/x"), "", nil},
		{"both ports, of TCP", nil, request(fsm, health, http, "80", tcp, "443"), "", nil},
		{"a path alone", nil, request(fsm, liveness, path, "/x"), "", nil},
		{"nothing", nil, request(fsm, liveness), "", nil},
		{"nothing, of TCP", nil, request(fsm, health), "", nil},
		{"another path", nil, request("/x", liveness, http, "80"), "", nil},
		{"the name of a port", nil, named, "", nil},
		{"the highest port", nil, request(fsm, liveness, http, "65535"), key, byHTTP(over("HTTP", request("/", 65535)))},
		{"a port that is too high", nil, request(fsm, liveness, http, "65536"), "", nil},
		{"the lowest port", nil, request(fsm, liveness, http, "1"), key, byHTTP(over("HTTP", request("/", 1)))},
		{"no port", nil, request(fsm, liveness, http, "0"), "", nil},
		{"no number", nil, request(fsm, liveness, http, "80x"), "", nil},
		{"an entry with a protocol", originals{key: byHTTP(speaking("HTTP2", request("/old", 81)))}, request(fsm, liveness, http, "80", path, "/x"), key, byHTTP(speaking("HTTP2", over("HTTP", request("/x", 80))))},
		{"an entry of another container", originals{"/fsm-liveness-probe/other": byHTTP(speaking("HTTP2", request("/old", 81)))}, request(fsm, liveness, http, "80", path, "/x"), key, byHTTP(plain)},
		{"an entry of TCP", originals{key: byTCP(81)}, request(fsm, liveness, http, "80", path, "/x"), key, byHTTP(plain)},
		{"an entry of HTTP for TCP", originals{key: byHTTP(speaking("HTTP2", request("/old", 81)))}, request(fsm, health, tcp, "6379"), key, byTCP(6379)},
	} {
		c.check(t, fsmConvention{}, prober.Liveness)
		c.key, c.want = "", nil
		c.check(t, fsmConvention{}, prober.PreStop)
	}
}

func TestTheOriginalsOfOpenServiceMeshsRequestsAreFoundByPathHeaderOrPort(t *testing.T) {
	const own, other, alone = "/osm-liveness-probe/app", "/osm-liveness-probe/other", "/osm-liveness-probe"
	a, b := over("HTTP", request("/a", 80)), over("HTTP", request("/b", 81))
	tls, tls2 := over("HTTPS", request("/c", 443)), over("HTTPS", request("/d", 8443))
	all := originals{own: byHTTP(a), other: byHTTP(b), alone: byHTTP(b), "/osm-liveness-probe/gone": byHTTP(b), "/osm-readiness-probe": byHTTP(b), "/x": byHTTP(b)}
	named := over("HTTPS", request("/c", 0))
	named.Port = field.IntOrString{Str: "web", IsString: true}
	for _, c := range []lookUp{
		{"its path", all, request(own, 15901), own, byHTTP(a)},
		{"its path, at another port", all, request(own, 80), own, byHTTP(a)},
		{"the path of the only one", all, request(alone, 15901), alone, byHTTP(b)},
		{"the path of another container", all, request(other, 15901), "", nil},
		{"the path of a container that is gone", all, request("/osm-liveness-probe/gone", 15901), "/osm-liveness-probe/gone", byHTTP(b)},
		{"the path of another type", all, request("/osm-readiness-probe", 15901), "", nil},
		{"a path of no type", all, request("/x", 15901), "", nil},
		{"a path without an entry", originals{other: byHTTP(b)}, request(own, 15901), "", nil},
		{"a path with an entry of TCP", originals{own: byTCP(80)}, request(own, 15901), "", nil},
		{"a path with an entry of TLS", originals{own: byHTTP(tls)}, request(own, 15901), "", nil},
		{"a header", nil, request("/osm-healthcheck", 15904, "Original-TCP-Port", "6379"), own, byTCP(6379)},
		{"a header that is no port", all, request("/osm-healthcheck", 15904, "Original-TCP-Port", "x"), "", nil},
		{"no header", all, request("/osm-healthcheck", 15904), "", nil},
		{"TLS", originals{own: byHTTP(tls)}, over("HTTPS", request("/now", 15901)), own, byHTTP(over("HTTPS", request("/now", 443)))},
		{"TLS without a path", originals{own: byHTTP(tls)}, over("HTTPS", request("", 15901)), own, byHTTP(over("HTTPS", request("/", 443)))},
		{"TLS with a protocol", originals{own: byHTTP(tls)}, speaking("HTTP1", over("HTTPS", request("/c", 15901))), own, byHTTP(speaking("HTTP1", over("HTTPS", request("/c", 443))))},
		{"TLS, and its own entry is not the first", originals{"/osm-liveness-probe/a": byHTTP(tls2), own: byHTTP(tls)}, over("HTTPS", request("/c", 15901)), own, byHTTP(tls)},
		{"TLS, which goes to one port for all containers", originals{other: byHTTP(tls2)}, over("HTTPS", request("/d", 15901)), other, byHTTP(tls2)},
		{"TLS, and its own entry is plain", originals{own: byHTTP(a), other: byHTTP(tls2)}, over("HTTPS", request("/d", 15901)), other, byHTTP(tls2)},
		{"TLS, and the first entry is TCP", originals{own: byTCP(80), other: byHTTP(tls2)}, over("HTTPS", request("/d", 15901)), other, byHTTP(tls2)},
		{"TLS of another type", originals{"/osm-readiness-probe/app": byHTTP(tls)}, over("HTTPS", request("/c", 15901)), "", nil},
		{"TLS at the port of another type", originals{own: byHTTP(tls)}, over("HTTPS", request("/c", 15902)), "", nil},
		{"TLS at the name of a port", originals{own: byHTTP(tls)}, named, "", nil},
		{"TLS without an entry", originals{own: byHTTP(a)}, over("HTTPS", request("/c", 15901)), "", nil},
	} {
		c.check(t, osmConvention{}, prober.Liveness)
		c.key, c.want = "", nil
		c.check(t, osmConvention{}, prober.PostStart)
	}
}

func TestTheOriginalsOfIstiosRequestsAreFoundByPath(t *testing.T) {
	const own, other, old, ready = "/app-health/app/livez", "/app-health/other/livez", "/app-health/old/livez", "/app-health/app/readyz"
	p, q := byHTTP(request("/p", 80)), byHTTP(request("/q", 81))
	all := originals{own: p, other: q, old: q, ready: q}
	for _, c := range []lookUp{
		{"its path", all, request(own, 15020), own, p},
		{"the path of another container", all, request(other, 15020), "", nil},
		{"the path of another probe", all, request(ready, 15020), "", nil},
		{"the path of a container that is gone", all, request(old, 15020), old, q},
		{"a path without an entry", nil, request(own, 15020), own, nil},
	} {
		c.check(t, appHealth{}, prober.Liveness)
	}
}

func TestARequestLooksRewrittenByItsPathAndWhereThatSaysNothingByItsHeaders(t *testing.T) {
	const port = "Original-Tcp-Port"
	for _, c := range []struct {
		of      conventionRules
		request *HTTPGet
		want    bool
	}{
		{appHealth{}, request("/app-health/app/livez", 80), true},
		{appHealth{}, request("/app-health/app/live", 80), false},
		{osmConvention{}, request("/osm-liveness-probe", 80), true},
		{osmConvention{}, request("/osm-liveness-probe/app", 80), true},
		{osmConvention{}, request("/osm-liveness-probes", 80), false},
		{osmConvention{}, request("/osm-healthcheck", 80, port, "1"), true},
		{osmConvention{}, request("/osm-healthcheck", 80, port, "x"), false},
		{osmConvention{}, request("/osm-healthcheck", 15904), false},
		{osmConvention{}, request("/x", 80, port, "1"), false},
		{fsmConvention{}, request("/fsm-healthcheck", 80, port, "x"), true},
		{fsmConvention{}, request("/fsm-healthcheck", 80, "a", "b", "original-http-path", ""), true},
		{fsmConvention{}, request("/fsm-healthcheck", 80, "a", "b", "Original-Http-Port", ""), true},
		{fsmConvention{}, request("/fsm-healthcheck", 15901, "a", "b"), false},
		{fsmConvention{}, request("/x", 15901, port, "1"), false},
	} {
		if got := c.of.looksRewritten(c.request); got != c.want {
			t.Errorf("%T: %+v: %t", c.of, c.request, got)
		}
	}
}

// Each probe by itself, and all of a pod together, since the path depends on the others.
func TestAProbeIsAssignedTheRequestThatItsMeshAnswers(t *testing.T) {
	site := func(container string, probeType prober.ProbeType, port int, h *Handler) *handlerSite {
		return &handlerSite{container: &Container{Name: container}, name: probeType, key: prober.Key(container, probeType), port: port, original: h}
	}
	http := &Handler{HTTPGet: speaking("HTTP2", request("/a", 0, "A", "b"))}
	noPath := &Handler{HTTPGet: over("HTTP", request("", 0))}
	tls := &Handler{HTTPGet: speaking("HTTP1", over("HTTPS", request("/c", 0, "A", "b")))}
	tlsNoPath := &Handler{HTTPGet: over("HTTPS", request("", 0))}
	tcp := &Handler{TCPSocket: &TCPSocket{}}
	sites := []*handlerSite{
		site("app", prober.Liveness, 80, http), site("other", prober.Liveness, 81, noPath), site("app", prober.Readiness, 443, tls), site("other", prober.Readiness, 82, noPath),
		site("app", prober.Startup, 6379, tcp), site("other", prober.Startup, 443, tlsNoPath),
	}
	for _, c := range []struct {
		of   conventionRules
		want []*HTTPGet
	}{
		{appHealth{}, []*HTTPGet{
			request("/app-health/app/livez", 15020, "A", "b"), over("HTTP", request("/app-health/other/livez", 15020)),
			over("HTTP", request("/app-health/app/readyz", 15020, "A", "b")), over("HTTP", request("/app-health/other/readyz", 15020)),
			request("/app-health/app/startupz", 15020), over("HTTP", request("/app-health/other/startupz", 15020)),
		}},
		{osmConvention{}, []*HTTPGet{
			request("/osm-liveness-probe/app", 15901, "A", "b"), over("HTTP", request("/osm-liveness-probe/other", 15901)),
			speaking("HTTP1", over("HTTPS", request("/c", 15902, "A", "b"))), over("HTTP", request("/osm-readiness-probe", 15902)),
			over("HTTP", request("/osm-healthcheck", 15904, "Original-Tcp-Port", "6379")), over("HTTPS", request("", 15903)),
		}},
		{fsmConvention{}, []*HTTPGet{
			request("/fsm-healthcheck", 15901, "A", "b", "Original-Http-Port", "80", "Original-Http-Path", "/a"), over("HTTP", request("/fsm-healthcheck", 15901, "Original-Http-Port", "81", "Original-Http-Path", "/")),
			over("HTTP", request("/fsm-healthcheck", 15902, "A", "b", "Original-Tcp-Port", "443", "Original-Http-Path", "/c")), over("HTTP", request("/fsm-healthcheck", 15902, "Original-Http-Port", "82", "Original-Http-Path", "/")),
			over("HTTP", request("/fsm-healthcheck", 15904, "Original-Tcp-Port", "6379")), over("HTTP", request("/fsm-healthcheck", 15903, "Original-Tcp-Port", "443", "Original-Http-Path", "/")),
		}},
	} {
		for i, s := range sites {
			if d := cmp.Diff(c.want[i], c.of.assign(s, sites, answerer{port: 15020})); d != "" {
				t.Errorf("%T: %s of %s: -want +got\n%s", c.of, s.name.Field(), s.container.Name, d)
			}
		}
	}
}
