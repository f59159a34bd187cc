package sidecar_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/sidecar"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// osmPorts are the listeners of a server in Open Service Mesh's form, by the port for which each stands.
type osmPorts map[int]string

func serveOSM(t *testing.T, probers map[string]*prober.Original) osmPorts {
	t.Helper()
	s := sidecar.New(slog.New(slog.DiscardHandler), "127.0.0.1", prober.OSMHealthcheckPort, probers, nil)
	ports := make(osmPorts)
	for _, port := range prober.OSMPorts() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		ports[port] = l.Addr().String()
		go s.ServeOSM(l, port, probers)
	}
	return ports
}

// status sends a request as it is given, and returns the status of the answer.
func (p osmPorts) status(t *testing.T, port int, path, header string) int {
	t.Helper()
	conn, err := net.Dial("tcp", p[port])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: pod\r\n%s\r\n", path, header)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%d%s: %v", port, path, err)
	}
	res.Body.Close()
	return res.StatusCode
}

func portOf(t *testing.T, s *httptest.Server) field.IntOrString {
	t.Helper()
	return field.Number(s.Listener.Addr().(*net.TCPAddr).Port)
}

func TestOSMFormIsFoundByPortPathAndHeader(t *testing.T) {
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/down" {
			w.WriteHeader(503)
		}
	}))
	defer app.Close()
	port := portOf(t, app)
	get := func(path string) *prober.Original {
		return &prober.Original{HTTPGet: &prober.HTTPGet{Path: path, Port: port, Scheme: "HTTP"}, TimeoutSeconds: 1}
	}
	dial := func(port field.IntOrString, timeout int) *prober.Original {
		return &prober.Original{TCPSocket: &prober.TCPSocket{Port: port}, TimeoutSeconds: timeout}
	}
	ports := serveOSM(t, map[string]*prober.Original{
		"/app-health/a/livez":       get("/up"),
		"/app-health/a/readyz":      get("/up"),
		"/app-health/b/readyz":      get("/down"),
		"/app-health/a/startupz":    dial(port, 1),
		"/app-health/b/startupz":    dial(port, 2),
		"/app-health/b/livez":       dial(field.Number(1), 1), // nobody listens
		"/app-lifecycle/a/prestopz": get("/up"),
	})
	header := fmt.Sprintf("Original-Tcp-Port: %s\r\n", port.String())
	for _, c := range []struct {
		port   int
		path   string
		header string
		want   int
	}{
		{15901, "/osm-liveness-probe", "", 200},
		{15901, "/osm-liveness-probe/a", "", 200},
		{15901, "/osm-liveness-probe/b", "", 404}, // it is a tcpSocket probe
		{15901, "/osm-liveness-probe/", "", 404},
		{15901, "/osm-liveness-probe/..", "", 404},
		{15901, "/osm-liveness-probe/../osm-liveness-probe", "", 404},
		{15901, "/osm-liveness-probe?x", "", 404},
		{15902, "/osm-liveness-probe", "", 404}, // the port of another type
		{15901, "/osm-readiness-probe/a", "", 404},
		{15902, "/osm-readiness-probe/a", "", 200},
		{15902, "/osm-readiness-probe/b", "", 503},
		{15902, "/osm-readiness-probe", "", 404}, // two have the type
		{15904, "/osm-healthcheck", header, 200},
		{15904, "/osm-healthcheck", strings.ToLower(header), 200},
		{15904, "/osm-healthcheck", strings.ToUpper(header), 200},
		{15904, "/osm-healthcheck", "Original-Tcp-Port: 1\r\n", 502},
		{15904, "/osm-healthcheck", "Original-Tcp-Port: 22\r\n", 404}, // no probe has it
		{15904, "/osm-healthcheck", "", 404},
		{15903, "/osm-healthcheck", header, 404},
		{15904, "/app-lifecycle/a/prestopz", "", 200}, // what the form cannot express
		{15901, "/app-lifecycle/a/prestopz", "", 404},
		{15901, "/healthz", "", 200},
	} {
		if got := ports.status(t, c.port, c.path, c.header); got != c.want {
			t.Errorf("%d%s with %q: %d, want %d", c.port, c.path, c.header, got, c.want)
		}
	}
}

func TestOSMFormPassesTLSOn(t *testing.T) {
	app := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-r.Context().Done() // until the caller has gone
		}
		_, _ = io.WriteString(w, r.URL.Path)
	}))
	defer app.Close()
	ports := serveOSM(t, map[string]*prober.Original{
		"/app-health/a/livez":  {HTTPGet: &prober.HTTPGet{Path: "/live", Port: portOf(t, app), Scheme: "HTTPS"}, TimeoutSeconds: 1},
		"/app-health/a/readyz": {HTTPGet: &prober.HTTPGet{Path: "/live", Port: field.Number(1), Scheme: "HTTPS"}, TimeoutSeconds: 1},
	})
	client := &http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	get := func(port int, path string) (string, error) {
		res, err := client.Get("https://" + ports[port] + path)
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		return string(body), err
	}
	if body, err := get(15901, "/live"); body != "/live" || err != nil {
		t.Errorf("body %q, %v", body, err)
	}
	for port, path := range map[int]string{15902: "/live", 15903: "/live", 15904: "/live"} {
		if body, err := get(port, path); err == nil {
			t.Errorf("%d: %q, want a failure: the app does not listen, or the port has no TLS", port, body)
		}
	}
	if body, err := get(15901, "/slow"); err == nil || os.IsTimeout(err) { // the client waits longer
		t.Errorf("%q, %v, want a failure when the probe's time is over", body, err)
	}
	if got := ports.status(t, 15901, "/osm-liveness-probe", ""); got != 404 { // the type has no HTTP probe
		t.Errorf("status %d, want 404", got)
	}
}

// TestOSMForm_hostOfTheApp: the app sees its own port in the Host, whichever port was asked.
func TestOSMForm_hostOfTheApp(t *testing.T) {
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Host) }))
	defer app.Close()
	port := portOf(t, app)
	get := &prober.Original{HTTPGet: &prober.HTTPGet{Path: "/", Port: port, Scheme: "HTTP"}, TimeoutSeconds: 20}
	ports := serveOSM(t, map[string]*prober.Original{
		"/app-health/a/livez": get, "/app-health/a/readyz": get, "/app-health/a/startupz": get, "/app-lifecycle/a/prestopz": get,
	})
	for asked, path := range map[int]string{
		15901: "/osm-liveness-probe", 15902: "/osm-readiness-probe", 15903: "/osm-startup-probe", 15904: "/app-lifecycle/a/prestopz",
	} {
		for host, want := range map[string]string{
			fmt.Sprintf("pod:%d", asked): "pod:" + port.String(), "pod:15900": "pod:15900", "example.com": "example.com",
		} {
			conn := dial(t, ports[asked], "GET "+path+" HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
			answer, err := io.ReadAll(conn)
			if _, body, _ := strings.Cut(string(answer), "\r\n\r\n"); err != nil || body != want {
				t.Errorf("%d%s of host %s: the app sees %q, %v; want %q", asked, path, host, body, err, want)
			}
		}
	}
}

// TestOSMForm_bytesPassBothWays: the app answers when the caller has ended, and each sees the other's end.
func TestOSMForm_bytesPassBothWays(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go testutil.ServeConns(l, func(app net.Conn) {
		b, _ := io.ReadAll(app)
		_, _ = app.Write(b)
	})
	port := field.Number(l.Addr().(*net.TCPAddr).Port)
	ports := serveOSM(t, map[string]*prober.Original{
		"/app-health/a/livez": {HTTPGet: &prober.HTTPGet{Path: "/", Port: port, Scheme: "HTTPS"}, TimeoutSeconds: 20},
	})
	for _, size := range []int{0, 1, 4 << 10, 1 << 20} {
		conn := dial(t, ports[15901], "")
		sent := "\x16" + strings.Repeat("abcdefg", size/7+1)[:size]
		go func() {
			io.WriteString(conn, sent)
			conn.(*net.TCPConn).CloseWrite()
		}()
		if got, err := io.ReadAll(conn); err != nil || string(got) != sent {
			t.Fatalf("of %d bytes %d come back, %v", len(sent), len(got), err)
		}
	}
}

// A caller that reads nothing does not keep the connection to the app beyond the probe's time.
func TestOSMForm_callerThatReadsNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ended := make(chan struct{})
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		for err == nil {
			_, err = conn.Write(make([]byte, 64<<10))
		}
		close(ended)
	}()
	port := field.Number(l.Addr().(*net.TCPAddr).Port)
	ports := serveOSM(t, map[string]*prober.Original{
		"/app-health/a/livez": {HTTPGet: &prober.HTTPGet{Path: "/", Port: port, Scheme: "HTTPS"}, TimeoutSeconds: 1},
	})
	conn, err := net.Dial("tcp", ports[15901])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "\x16\x03\x01")
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("the app's connection is still open")
	}
}
