package server_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/kubelet"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/sidecar/server"
)

// TestAProbeOfFlomeshIsKnownByItsPortAndHeaders: only the endpoints of the
// probers are called, each with what the app's probe had.
func TestAProbeOfFlomeshIsKnownByItsPortAndHeaders(t *testing.T) {
	said := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(203)
		fmt.Fprintf(w, "%s %s %q", r.URL, r.Header.Get("X-Probe"), r.Header.Get("Original-Http-Port")+r.Header.Get("Original-Http-Path")+r.Header.Get("Original-Tcp-Port"))
	}
	plain, secure := httptest.NewServer(http.HandlerFunc(said)), httptest.NewTLSServer(http.HandlerFunc(said))
	defer plain.Close()
	defer secure.Close()
	http1, tls := portOf(t, plain.URL), portOf(t, secure.URL)
	probers, bad, err := prober.FSM.Decode(fmt.Sprintf(`{"/fsm-liveness-probe/a":{"httpGet":{"path":"/a?b=c","port":%[1]s}},"/fsm-liveness-probe/b":{"httpGet":{"path":"/b","port":%[2]s,"scheme":"HTTPS"}},
		"/fsm-readiness-probe/a":{"tcpSocket":{"port":%[1]s}},"/fsm-startup-probe/b":{"grpc":{"port":1}},"/fsm-startup-probe":{"tcpSocket":{"port":1}}}`, http1, tls))
	if err != nil || len(bad) != 2 {
		t.Fatal(bad, err)
	}
	s := server.New(slog.New(slog.DiscardHandler), kubelet.App{IP: "127.0.0.1"}, server.FSM, 0, probers, bad)
	if ports := s.Ports(); !slices.Equal(ports, []int{15901, 15904}) {
		t.Errorf("ports %v", ports)
	}
	addr := serve(t, s, []int{15901, 15902, 15904})
	for _, c := range []struct {
		port             int
		path             string
		http, tcp, where string
		status           int
		body             string
	}{
		{15901, "/fsm-healthcheck", http1, "", "/a?b=c", 203, `/a?b=c 1 ""`},
		{15901, "/fsm-healthcheck", "", tls, "/b", 203, `/b 1 ""`},
		{15904, "/fsm-healthcheck", "", http1, "", 200, ""},
		{15904, "/healthz", "", "", "", 200, "ok\n"},
		{15901, "/healthz", "", "", "", 404, ""},
		{15901, "/fsm-healthcheck", http1, "", "/other", 404, ""},
		{15901, "/fsm-healthcheck", "1", "", "/a?b=c", 404, ""},
		{15901, "/fsm-healthcheck", "", tls, "", 404, ""},
		{15902, "/fsm-healthcheck", http1, "", "/a?b=c", 404, ""},
		{15904, "/fsm-healthcheck", "", tls, "", 404, ""},
		{15901, "/fsm-healthcheck", "", "", "", 400, "probe-proxy: request must have one header Original-Http-Port or Original-Tcp-Port\n"},
		{15901, "/fsm-healthcheck", http1, tls, "/b", 400, "probe-proxy: request must have one header Original-Http-Port or Original-Tcp-Port\n"},
		{15901, "/", http1, "", "/a?b=c", 404, ""},
		{15901, "/fsm-healthcheck", http1 + "\n" + http1, "", "/a?b=c", 400, "probe-proxy: request must have one header Original-Http-Port\n"},
		{15904, "/fsm-healthcheck", "", http1 + "\n" + http1, "", 400, "probe-proxy: request must have one header Original-Tcp-Port\n"},
		{15901, "/fsm-healthcheck", http1, "", "/a?b=c\n/a?b=c", 400, "probe-proxy: request must have one header Original-Http-Path\n"},
	} {
		req, err := http.NewRequest("GET", "http://"+addr[c.port]+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Probe", "1")
		for name, value := range map[string]string{"Original-Http-Port": c.http, "Original-Tcp-Port": c.tcp, "Original-Http-Path": c.where} {
			if value != "" {
				req.Header[name] = strings.Split(value, "\n")
			}
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != c.status || c.body != "" && string(body) != c.body {
			t.Errorf("%+v: %d %q", c, res.StatusCode, body)
		}
	}
}
