package server_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/kubelet"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/sidecar/server"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// startOSM serves the probers of a value on listeners of any port, and returns
// their addresses by the port for which they stand.
func startOSM(t *testing.T, value string) (addr map[int]string, log *testutil.Buffer, s *server.Server) {
	t.Helper()
	probers, bad, err := prober.OSM.Decode(value)
	if err != nil {
		t.Fatal(err)
	}
	log = &testutil.Buffer{}
	s = server.New(slog.New(slog.NewTextHandler(log, nil)), kubelet.App{IP: "127.0.0.1"}, server.OSM, 0, probers, bad)
	return serve(t, s, prober.OSMPorts()), log, s
}

// serve serves ports of the server on others, whose addresses it returns.
func serve(t *testing.T, s *server.Server, ports []int) (addr map[int]string) {
	t.Helper()
	addr = make(map[int]string)
	for _, port := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go s.Serve(l, port)
		addr[port] = l.Addr().String()
	}
	return addr
}

func portOf(t *testing.T, url string) string {
	t.Helper()
	_, port, ok := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(url, "http://"), "https://"), ":")
	if !ok {
		t.Fatalf("no port in %s", url)
	}
	return port
}

// echo answers with what it was asked.
func echo(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(203)
	fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, r.Header.Get("X-Probe"))
}

// healthcheck asks for a port; "" sends no header.
func healthcheck(t *testing.T, addr, port string) int {
	t.Helper()
	req, err := http.NewRequest("GET", "http://"+addr+"/osm-healthcheck", nil)
	if err != nil {
		t.Fatal(err)
	}
	if port != "" {
		req.Header.Set("Original-Tcp-Port", port)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

func TestAnHTTPProbeIsAnsweredOnThePortOfItsTypeByItsExactPath(t *testing.T) {
	app := httptest.NewServer(http.HandlerFunc(echo))
	defer app.Close()
	addr, _, _ := startOSM(t, fmt.Sprintf(`{"/osm-liveness-probe":{"httpGet":{"path":"/live?full=1","port":%s}},"/osm-readiness-probe/b":{"httpGet":{"path":"/b","port":%[1]s}}}`, portOf(t, app.URL)))
	for _, c := range []struct {
		port   int
		path   string
		status int
		body   string
	}{
		{15901, "/osm-liveness-probe", 203, "GET /live?full=1 "},
		{15902, "/osm-readiness-probe/b", 203, "GET /b "},
		{15901, "/osm-readiness-probe/b", 404, ""},
		{15902, "/osm-liveness-probe", 404, ""},
		{15904, "/osm-liveness-probe", 404, ""},
		{15901, "/osm-liveness-probe-2", 404, ""},
		{15901, "/osm-liveness-probe/", 404, ""},
		{15901, "/osm-liveness-probe/secret", 404, ""},
		{15901, "/osm-liveness-probe?full=1", 404, ""},
		{15902, "/osm-readiness-probe", 404, ""},
		{15901, "/live", 404, ""},
		{15901, "/healthz", 404, ""},
		{15901, "/metrics", 404, ""},
		{15901, "/osm-healthcheck", 404, ""},
		{15904, "/healthz", 200, "ok\n"},
		{15904, "/readyz", 200, "ok\n"},
	} {
		status, body := get(t, addr[c.port]+c.path)
		if status != c.status || c.body != "" && body != c.body {
			t.Errorf("%d %s: %d %q, want %d %q", c.port, c.path, status, body, c.status, c.body)
		}
	}
}

func TestTheKubeletsHeadersReachTheAppInOSM(t *testing.T) {
	app := httptest.NewServer(http.HandlerFunc(echo))
	defer app.Close()
	addr, _, _ := startOSM(t, fmt.Sprintf(`{"/osm-startup-probe":{"httpGet":{"port":%s}}}`, portOf(t, app.URL)))
	req, _ := http.NewRequest("GET", "http://"+addr[15903]+"/osm-startup-probe", nil)
	req.Header.Set("X-Probe", "yes")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, _ := io.ReadAll(res.Body); string(b) != "GET / yes" {
		t.Errorf("app got %q", b)
	}
}

// Open Service Mesh's own healthcheck dials any port that it is told.
func TestAHealthcheckDialsOnlyPortsThatTheEnvNames(t *testing.T) {
	open, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	port := func(a net.Addr) string { return strconv.Itoa(a.(*net.TCPAddr).Port) }
	// A connection keeps its own port from every listener, and refuses others there.
	shut, err := net.Dial("tcp", open.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer shut.Close()
	addr, _, _ := startOSM(t, fmt.Sprintf(`{"/osm-liveness-probe/a":{"tcpSocket":{"port":%s}},"/osm-readiness-probe/a":{"tcpSocket":{"port":%[1]s},"timeoutSeconds":9},"/osm-readiness-probe/b":{"tcpSocket":{"port":%s}}}`, port(open.Addr()), port(shut.LocalAddr())))
	for named, want := range map[string]int{
		port(open.Addr()): 200, port(shut.LocalAddr()): 502, port(other.Addr()): 404, "": 400, "x": 404, "0" + port(open.Addr()): 404, port(open.Addr()) + " ": 200,
	} {
		if got := healthcheck(t, addr[15904], named); got != want {
			t.Errorf("port %q: %d, want %d", named, got, want)
		}
	}
	// An entry of a healthcheck is no path of its own.
	if status, _ := get(t, addr[15901]+"/osm-liveness-probe/a"); status != 404 {
		t.Errorf("status %d", status)
	}
	if status, body := get(t, addr[15904]+"/osm-healthcheck"); status != 400 || body != "probe-proxy: request must have one header Original-Tcp-Port\n" {
		t.Errorf("status %d, %q", status, body)
	}
}

func TestTLSIsPassedThroughToTheAppsOwnCertificate(t *testing.T) {
	for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
		app := httptest.NewUnstartedServer(http.HandlerFunc(echo))
		app.EnableHTTP2 = version == "HTTP/2.0"
		app.StartTLS()
		defer app.Close()
		addr, _, _ := startOSM(t, fmt.Sprintf(`{"/osm-liveness-probe/app":{"httpGet":{"path":"/x","port":%s,"scheme":"HTTPS"},"timeoutSeconds":5}}`, portOf(t, app.URL)))
		res, err := app.Client().Get("https://" + addr[15901] + "/anything?a=b")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		if res.StatusCode != 203 || string(b) != "GET /anything?a=b " || res.Proto != version || !bytes.Equal(res.TLS.PeerCertificates[0].Raw, app.Certificate().Raw) {
			t.Errorf("got %s %d %q", res.Proto, res.StatusCode, b)
		}
	}
}

func TestHTTPAndTLSShareAPort(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(echo))
	defer plain.Close()
	secure := httptest.NewTLSServer(http.HandlerFunc(echo))
	defer secure.Close()
	addr, _, _ := startOSM(t, fmt.Sprintf(`{"/osm-liveness-probe":{"httpGet":{"path":"/plain","port":%s}},"/osm-liveness-probe/b":{"httpGet":{"port":%s,"scheme":"HTTPS"}}}`,
		portOf(t, plain.URL), portOf(t, secure.URL)))
	if status, body := get(t, addr[15901]+"/osm-liveness-probe"); status != 203 || body != "GET /plain " {
		t.Errorf("HTTP: %d %q", status, body)
	}
	res, err := secure.Client().Get("https://" + addr[15901] + "/tls")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, _ := io.ReadAll(res.Body); string(b) != "GET /tls " {
		t.Errorf("TLS: %q", b)
	}
	// Plain HTTP never reaches the app's port for TLS.
	if status, _ := get(t, addr[15901]+"/osm-liveness-probe/b"); status != 404 {
		t.Errorf("status %d", status)
	}
}

func TestAStreamIsPassedOnByteForByteWithItsEnds(t *testing.T) {
	app, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	sent := append([]byte{0x16}, bytes.Repeat([]byte{0, 1, 0xff, '\r', '\n'}, 60<<10)...) // more than any head may have
	got := make(chan []byte, 1)
	go func() {
		c, err := app.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		b, _ := io.ReadAll(c) // until the caller ends its side
		got <- b
		c.Write(bytes.Repeat([]byte("answer"), 1000))
	}()
	addr, _, _ := startOSM(t, fmt.Sprintf(`{"/osm-readiness-probe/app":{"httpGet":{"port":%s,"scheme":"HTTPS"},"timeoutSeconds":5}}`, portOf(t, app.Addr().String())))
	c, err := net.Dial("tcp", addr[15902])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// The first byte alone tells TLS.
	if _, err := c.Write(sent[:1]); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * time.Millisecond)
	if _, err := c.Write(sent[1:]); err != nil {
		t.Fatal(err)
	}
	c.(*net.TCPConn).CloseWrite()
	back, err := io.ReadAll(c)
	if err != nil || len(back) != 6000 || !bytes.Equal(<-got, sent) {
		t.Errorf("app got other bytes, or we got %d: %v", len(back), err)
	}
}

func TestAStreamToADeadAppEnds(t *testing.T) {
	// A socket that is bound and does not listen yet keeps its port, and refuses connections.
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "app")
	defer file.Close()
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr, log, _ := startOSM(t, fmt.Sprintf(`{"/osm-liveness-probe/app":{"httpGet":{"port":%d,"scheme":"HTTPS"}}}`, bound.(*syscall.SockaddrInet4).Port))
	if _, err := tls.Dial("tcp", addr[15901], &tls.Config{InsecureSkipVerify: true}); err == nil {
		t.Error("a dead app's probe must fail")
	}
	if !strings.Contains(log.String(), "TLS cannot be passed on") {
		t.Errorf("log %s", log)
	}
	// It is said once when the app comes back.
	if err := syscall.Listen(fd, 8); err != nil {
		t.Fatal(err)
	}
	l, err := net.FileListener(file)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 2 {
		c, err := net.Dial("tcp", addr[15901])
		if err != nil {
			t.Fatal(err)
		}
		c.Write([]byte{0x16})
		app, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		app.Close()
		io.Copy(io.Discard, c)
		c.Close()
	}
	if got := log.String(); strings.Count(got, "TLS cannot be passed on") != 1 || strings.Count(got, "level=INFO msg=\"TLS is passed on again\" port=15901 to=") != 1 {
		t.Errorf("log %s", got)
	}
}

func TestAStreamThatHangsEndsWithTheProbesTime(t *testing.T) {
	app, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	addr, _, _ := startOSM(t, fmt.Sprintf(`{"/osm-liveness-probe/app":{"httpGet":{"port":%s,"scheme":"HTTPS"},"timeoutSeconds":1}}`, portOf(t, app.Addr().String())))
	c, err := net.Dial("tcp", addr[15901])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Write([]byte{0x16, 3, 1})
	c.SetReadDeadline(time.Now().Add(patience))
	if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v, want the connection's end", err)
	}
}

func TestOnlyPortsThatHaveSomethingToAnswerAreListenedOn(t *testing.T) {
	for value, want := range map[string][]int{
		`{}`: {15904},
		`{"/osm-liveness-probe/a":{"tcpSocket":{"port":1}}}`:                                                                  {15904},
		`{"/osm-startup-probe":{"httpGet":{"port":1}}}`:                                                                       {15903, 15904},
		`{"/osm-liveness-probe/a":{"httpGet":{"port":1,"scheme":"HTTPS"}},"/osm-readiness-probe":{"httpGet":{"port":"bad"}}}`: {15901, 15902, 15904},
		`{"/elsewhere":{"httpGet":{"port":1}}}`:                                                                               {15904},
	} {
		probers, bad, err := prober.OSM.Decode(value)
		if err != nil {
			t.Fatal(err)
		}
		s := server.New(slog.New(slog.DiscardHandler), kubelet.App{IP: "127.0.0.1"}, server.OSM, 0, probers, bad)
		if got := s.Ports(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", value, got, want)
		}
	}
}

func TestAnEntryThatCannotBeUsedDisablesItsProbeAlone(t *testing.T) {
	app := httptest.NewServer(http.HandlerFunc(echo))
	defer app.Close()
	addr, log, _ := startOSM(t, fmt.Sprintf(`{"/osm-liveness-probe":{"httpGet":{"port":"web"}},"/osm-readiness-probe":{"httpGet":{"port":%s}},
		"/osm-startup-probe/a":{"httpGet":{"port":1,"scheme":"HTTPS"}},"/osm-startup-probe/b":{"httpGet":{"port":2,"scheme":"HTTPS"}}}`, portOf(t, app.URL)))
	if status, body := get(t, addr[15901]+"/osm-liveness-probe"); status != 500 || !strings.Contains(body, "disabled") {
		t.Errorf("%d %q", status, body)
	}
	if status, _ := get(t, addr[15902]+"/osm-readiness-probe"); status != 203 {
		t.Errorf("status %d", status)
	}
	if !strings.Contains(log.String(), "passes TLS on to port 1") {
		t.Errorf("log %s", log)
	}
	if _, body := get(t, addr[15904]+"/metrics"); !strings.Contains(body, `probe_proxy_probes_total{probe="/osm-readiness-probe",verdict="success"} 1`) {
		t.Errorf("metrics %s", body)
	}
}
