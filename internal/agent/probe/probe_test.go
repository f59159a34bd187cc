//go:build unix

package probe_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/agent/probe"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
)

func probeOnce(t *testing.T, p vmconfig.Probe) string {
	t.Helper()
	if p.TimeoutSeconds == 0 {
		p.TimeoutSeconds = 5
	}
	once, err := probe.New(&p, "127.0.0.1", "probe-agent/test")
	if err != nil {
		t.Fatal(err)
	}
	if err := once(context.Background()); err != nil {
		return err.Error()
	}
	return "healthy"
}

func port(t *testing.T, address string) int {
	t.Helper()
	_, s, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := strconv.Atoi(s)
	return n
}

func TestHTTPProbes(t *testing.T) {
	var seen *http.Request
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r
		switch r.URL.Path {
		case "/bad":
			w.WriteHeader(503)
		case "/elsewhere":
			http.Redirect(w, r, "http://198.51.100.1/", http.StatusFound)
		case "/other-port":
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}
	})
	plain := httptest.NewServer(handler)
	defer plain.Close()
	secure := httptest.NewTLSServer(handler) // the certificate is not to be verified
	defer secure.Close()
	n, s := port(t, plain.Listener.Addr().String()), port(t, secure.Listener.Addr().String())

	for _, test := range []struct {
		get  prober.HTTPGet
		want string
	}{
		{prober.HTTPGet{Port: field.Number(n), Path: "/", Scheme: "HTTP"}, "healthy"},
		{prober.HTTPGet{Port: field.Number(n), Path: "/bad", Scheme: "HTTP"}, "app answered with status 503"},
		{prober.HTTPGet{Port: field.Number(n), Path: "/elsewhere", Scheme: "HTTP"}, "healthy"},
		{prober.HTTPGet{Port: field.Number(n), Path: "/other-port", Scheme: "HTTP", HTTPHeaders: []prober.HTTPHeader{{Name: "X", Value: "y"}}}, "app refused the connection"},
		{prober.HTTPGet{Port: field.Number(1), Path: "/", Scheme: "HTTP"}, "app refused the connection"},
	} {
		if got := probeOnce(t, vmconfig.Probe{HTTPGet: &test.get}); got != test.want {
			t.Errorf("%+v: got %q, want %q", test.get, got, test.want)
		}
	}

	// A server may choose its certificate by the host, as it does for the kubelet.
	for host, want := range map[string]string{"localhost": "localhost", "127.0.0.1": "", "": ""} {
		got := probeOnce(t, vmconfig.Probe{HTTPGet: &prober.HTTPGet{Port: field.Number(s), Path: "/", Scheme: "HTTPS", Host: host}})
		if got != "healthy" || seen.TLS.ServerName != want {
			t.Errorf("host %q: %s, with the server name %q, want %q", host, got, seen.TLS.ServerName, want)
		}
	}

	probeOnce(t, vmconfig.Probe{HTTPGet: &prober.HTTPGet{Port: field.Number(n), Path: "/a?b=c", Scheme: "HTTP"}})
	if seen.Host != plain.Listener.Addr().String() || seen.UserAgent() != "probe-agent/test" || seen.Header.Get("Accept") != "*/*" || seen.URL.String() != "/a?b=c" || !seen.Close {
		t.Errorf("the request by default is %v %v %v", seen.URL, seen.Host, seen.Header)
	}
	probeOnce(t, vmconfig.Probe{HTTPGet: &prober.HTTPGet{Port: field.Number(n), Path: "/", Scheme: "HTTP", HTTPHeaders: []prober.HTTPHeader{
		{Name: "host", Value: "reviews.example.com"}, {Name: "Host", Value: ""}, {Name: "User-Agent", Value: "me"}, {Name: "Accept", Value: "text/plain"}, {Name: "X", Value: "1"}, {Name: "x", Value: "2"},
	}}})
	if seen.Host != "reviews.example.com" || seen.UserAgent() != "me" || seen.Header.Get("Accept") != "text/plain" || len(seen.Header["X"]) != 2 {
		t.Errorf("the request with headers is %v %v", seen.Host, seen.Header)
	}
	probeOnce(t, vmconfig.Probe{HTTPGet: &prober.HTTPGet{Port: field.Number(n), Path: "/", Scheme: "HTTP", HTTPHeaders: []prober.HTTPHeader{{Name: "user-agent", Value: ""}, {Name: "accept", Value: ""}}}})
	if seen.Header["User-Agent"] != nil || seen.Header["Accept"] != nil {
		t.Errorf("the request with empty headers is %v", seen.Header)
	}
}

// The kubelet's client adds close at the end, without which it would refuse the header over HTTP/2.
func TestAConnectionIsToEndWhateverTheHeadersSay(t *testing.T) {
	var seen *http.Request
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r }))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	plain := httptest.NewServer(s.Config.Handler)
	defer plain.Close()
	for value, want := range map[string]string{"close": "close", "Close": "Close", "keep-alive": "keep-alive close", "": " close"} {
		get := prober.HTTPGet{Port: field.Number(port(t, plain.Listener.Addr().String())), Path: "/", Scheme: "HTTP", HTTPHeaders: []prober.HTTPHeader{{Name: "connection", Value: value}}}
		if got := probeOnce(t, vmconfig.Probe{HTTPGet: &get}); got != "healthy" || strings.Join(seen.Header["Connection"], " ") != want {
			t.Errorf("%q: %s, the app saw %q", value, got, seen.Header["Connection"])
		}
		get.Port, get.Scheme = field.Number(port(t, s.Listener.Addr().String())), "HTTPS"
		if got := probeOnce(t, vmconfig.Probe{HTTPGet: &get}); got != "healthy" || seen.ProtoMajor != 2 {
			t.Errorf("%q: %s over %s", value, got, seen.Proto)
		}
	}
}

// What an answer takes is limited for each probe, and an agent makes more of them than anybody counts: here
// 20 answers together have more than one may have.
func TestTheHundredthProbeIsLikeTheFirst(t *testing.T) {
	requests := make(map[string]int)
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests[fmt.Sprint(r.URL, r.Host, r.Header)]++
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/next", http.StatusFound)
		}
		w.Header().Set("X", strings.Repeat("x", 30<<10))
	}))
	defer app.Close()
	get := &prober.HTTPGet{Port: field.Number(port(t, app.Listener.Addr().String())), Path: "/", Scheme: "HTTP"}
	once, err := probe.New(&vmconfig.Probe{TimeoutSeconds: 20, HTTPGet: get}, "127.0.0.1", "probe-agent/test")
	if err != nil {
		t.Fatal(err)
	}
	const probes = 100
	for i := range probes {
		if err := once(t.Context()); err != nil {
			t.Fatalf("probe %d: %v", i+1, err)
		}
	}
	for request, n := range requests {
		if n != probes {
			t.Errorf("%d of %d probes sent %s", n, probes, request)
		}
	}
}

func TestTCPProbes(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := port(t, l.Addr().String())
	if got := probeOnce(t, vmconfig.Probe{TCPSocket: &prober.TCPSocket{Port: field.Number(n), Host: "localhost"}}); got != "healthy" {
		t.Error(got)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the connection is not closed: %d bytes, %v", n, err)
	}
	_ = conn.Close()
	// A host replaces the machine's IP, here one of a network for documentation.
	once, err := probe.New(&vmconfig.Probe{TimeoutSeconds: 20, TCPSocket: &prober.TCPSocket{Port: field.Number(n), Host: "127.0.0.1"}}, "192.0.2.1", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := once(t.Context()); err != nil {
		t.Error(err)
	}
	_ = l.Close()
	if got := probeOnce(t, vmconfig.Probe{TCPSocket: &prober.TCPSocket{Port: field.Number(n)}}); got != "app refused the connection" {
		t.Error(got)
	}
}

// The health service itself is compared in internal/kubelet; here it is that
// the fields arrive.
func TestGRPCProbesCallTheHealthService(t *testing.T) {
	var service []byte
	app := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		service = make([]byte, 64)
		n, _ := r.Body.Read(service)
		service = service[:n]
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		_, _ = w.Write([]byte{0, 0, 0, 0, 2, 8, 1})
		w.Header().Set("Grpc-Status", "0")
	}))
	app.Config.Protocols = new(http.Protocols)
	app.Config.Protocols.SetUnencryptedHTTP2(true)
	app.Start()
	defer app.Close()
	p := vmconfig.Probe{GRPC: &prober.GRPC{Port: field.Number(port(t, app.Listener.Addr().String())), Service: new("reviews")}}
	if got := probeOnce(t, p); got != "healthy" || string(service) != "\x00\x00\x00\x00\x09\x0a\x07reviews" {
		t.Errorf("%s, with the message %q", got, service)
	}
}

func TestExecProbes(t *testing.T) {
	for _, test := range []struct{ script, want string }{
		{"exit 0", "healthy"},
		{"echo fine; echo more >&2; exit 0", "healthy"},
		{"echo; echo '  no database  '; echo more >&2; exit 3", "command ended with exit code 3: no database"},
		{"echo on stderr >&2; exit 1", "command ended with exit code 1: on stderr"},
		{"exit 7", "command ended with exit code 7"},
		{"printf 'a\\tb\\377'; exit 1", "command ended with exit code 1: a b?"},
		{"kill -9 $$", "command was ended: signal: killed"},
		{"head -c 300000 /dev/zero | tr '\\0' x; exit 1", "command ended with exit code 1: " + strings.Repeat("x", 200)},
		{"sleep 60 & exit 0", "healthy"},
	} {
		if got := probeOnce(t, vmconfig.Probe{Exec: &vmconfig.Exec{Command: []string{"sh", "-c", test.script}}}); got != test.want {
			t.Errorf("%s: got %q, want %q", test.script, got, test.want)
		}
	}
	if got := probeOnce(t, vmconfig.Probe{Exec: &vmconfig.Exec{Command: []string{"/no/such/program"}}}); !strings.Contains(got, "/no/such/program") {
		t.Error(got)
	}
}

// The child, which the test ends, keeps the pipe open.
func TestACommandThatFailsIsNotWaitedForWithItsChildren(t *testing.T) {
	got := probeOnce(t, vmconfig.Probe{Exec: &vmconfig.Exec{Command: []string{"sh", "-c", "sleep 3600 & echo $!; exit 1"}}})
	text, found := strings.CutPrefix(got, "command ended with exit code 1: ")
	child, err := strconv.Atoi(text)
	if !found || err != nil {
		t.Fatal(got)
	}
	if err := syscall.Kill(child, syscall.SIGKILL); err != nil {
		t.Errorf("the child has ended: %v", err)
	}
}

func TestATimeoutKillsTheCommandsWholeGroup(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	script := fmt.Sprintf("echo waiting; sleep 60 & echo $! >%s; wait", file)
	got := probeOnce(t, vmconfig.Probe{TimeoutSeconds: 1, Exec: &vmconfig.Exec{Command: []string{"sh", "-c", script}}})
	if got != "command did not end within 1s: waiting" {
		t.Error(got)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	for end := time.Now().Add(10 * time.Second); running(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the command's child still runs")
		}
	}
}

// running reports whether a process is there and has not ended.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func TestAURLThatCannotBeMadeIsAnError(t *testing.T) {
	p := vmconfig.Probe{TimeoutSeconds: 1, HTTPGet: &prober.HTTPGet{Host: "a b", Port: field.Number(1), Path: "/", Scheme: "HTTP"}}
	const want = "`probe`: httpGet.path \"/\" makes no URL: parse \"http://a%20b:1/\": invalid URL escape \"%20\""
	if _, err := probe.New(&p, "127.0.0.1", ""); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestAProbeLeavesNoConnection: an agent probes for as long as it runs, and the app may wait for the end of each connection.
func TestAProbeLeavesNoConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at := field.Number(port(t, l.Addr().String()))
	service := ""
	for name, p := range map[string]vmconfig.Probe{
		"httpGet":   {HTTPGet: &prober.HTTPGet{Path: "/", Port: at, Scheme: "HTTP"}},
		"tcpSocket": {TCPSocket: &prober.TCPSocket{Port: at}},
		"grpc":      {GRPC: &prober.GRPC{Port: at, Service: &service}},
	} {
		for range 3 {
			ended := make(chan error, 1)
			go func() {
				conn, err := l.Accept()
				if err == nil {
					defer conn.Close()
					_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
					_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n") // which ends a call of gRPC too
					_, err = io.Copy(io.Discard, conn)
				}
				ended <- err
			}()
			p.TimeoutSeconds = 1
			if got := probeOnce(t, p); (got == "healthy") != (name != "grpc") {
				t.Errorf("%s: %s", name, got)
			}
			if err := testutil.Received(t, ended); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("%s: the connection is open after the probe", name)
			}
		}
	}
}
