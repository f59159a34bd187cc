package istiod_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	grpchealth "google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/encoding/protojson"

	"istio.io/api/networking/v1alpha3"

	"github.com/rewrite-probes/rewrite-probes/internal/agent/probe"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/istiohealth"
)

// apps are what is probed, by the name of their port in a probe.
type apps map[string]int

func startApps(t *testing.T) apps {
	handler := http.NewServeMux()
	handler.HandleFunc("/ready", func(http.ResponseWriter, *http.Request) {})
	handler.HandleFunc("/created", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201) })
	handler.HandleFunc("/unmodified", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(304) })
	handler.HandleFunc("/down", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	handler.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/ready", http.StatusFound) })
	handler.HandleFunc("/host", func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "reviews.example.com" {
			w.WriteHeader(400)
		}
	})
	handler.HandleFunc("/header", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Probe") != "yes" {
			w.WriteHeader(400)
		}
	})
	// To another host, where nothing answers.
	handler.HandleFunc("/elsewhere", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://localhost:1/", http.StatusFound)
	})
	plain := httptest.NewServer(handler)
	t.Cleanup(plain.Close)
	secure := httptest.NewUnstartedServer(handler)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	a := apps{"HTTP": portOf(plain.Listener), "HTTPS": portOf(secure.Listener), "GRPC": startGRPC(t, insecure.NewCredentials())}
	a["SECURE"] = startGRPC(t, credentials.NewTLS(&tls.Config{Certificates: secure.TLS.Certificates}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a["NOBODY"] = portOf(l)
	_ = l.Close()
	return a
}

func portOf(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

func startGRPC(t *testing.T, c credentials.TransportCredentials) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, service := grpc.NewServer(grpc.Creds(c)), grpchealth.NewServer()
	service.SetServingStatus("down", healthpb.HealthCheckResponse_NOT_SERVING)
	healthpb.RegisterHealthServer(server, service)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	return portOf(l)
}

// ours returns the agent's verdict on a probe in JSON, in which ports are given
// by the names of apps.
func (a apps) ours(t *testing.T, text string) string {
	t.Helper()
	c, err := vmconfig.Decode([]byte(`{"name": "a", "namespace": "b", "probe": ` + a.fill(text) + `}`))
	if err != nil {
		return "refused: " + err.Error()
	}
	once, err := probe.New(&c.Probe, "127.0.0.1", "probe-agent/test")
	if err != nil {
		return "refused: " + err.Error()
	}
	if err := once(context.Background()); err != nil {
		return "unhealthy: " + err.Error()
	}
	return "healthy"
}

// istios returns the verdict of Istio's agent after one probe.
func (a apps) istios(t *testing.T, text string) string {
	t.Helper()
	p := new(v1alpha3.ReadinessProbe)
	if err := protojson.Unmarshal([]byte(a.fill(text)), p); err != nil {
		return "refused: " + err.Error()
	}
	return istiohealth.Verdict(p)
}

func (a apps) fill(text string) string {
	for name, port := range a {
		text = strings.ReplaceAll(text, ":"+name+"}", fmt.Sprintf(":%d}", port))
		text = strings.ReplaceAll(text, ":"+name+",", fmt.Sprintf(":%d,", port))
	}
	return text
}

func TestVerdictsAreIstiosWhereThoseAreRight(t *testing.T) {
	a := startApps(t)
	for _, test := range []struct{ probe, want string }{
		{`{"httpGet": {"port":HTTP, "path": "/ready"}}`, "healthy"},
		{`{"httpGet": {"port":HTTP, "path": "/created", "scheme": "HTTP", "host": "127.0.0.1"}}`, "healthy"},
		{`{"httpGet": {"port":HTTP, "path": "/unmodified"}}`, "healthy"},
		{`{"httpGet": {"port":HTTP, "path": "/moved"}}`, "healthy"},
		{`{"httpGet": {"port":HTTP, "path": "/host", "httpHeaders": [{"name": "Host", "value": "reviews.example.com"}]}}`, "healthy"},
		{`{"httpGet": {"port":HTTP, "path": "/header", "httpHeaders": [{"name": "x-probe", "value": "yes"}]}}`, "healthy"},
		{`{"httpGet": {"port":HTTP}}`, "unhealthy"},
		{`{"httpGet": {"port":HTTP, "path": "/down"}}`, "unhealthy"},
		{`{"httpGet": {"port":NOBODY, "path": "/ready"}}`, "unhealthy"},
		{`{"tcpSocket": {"port":HTTP}}`, "healthy"},
		{`{"tcpSocket": {"port":HTTPS, "host": "localhost"}}`, "healthy"},
		{`{"tcpSocket": {"port":NOBODY}}`, "unhealthy"},
		{`{"grpc": {"port":GRPC}}`, "healthy"},
		{`{"grpc": {"port":GRPC, "service": "unknown"}}`, "unhealthy"},
		{`{"grpc": {"port":SECURE}}`, "unhealthy"},
		{`{"grpc": {"port":NOBODY}}`, "unhealthy"},
		{`{"exec": {"command": ["true"]}}`, "healthy"},
		{`{"exec": {"command": ["sh", "-c", "exit 2"]}}`, "unhealthy"},
		{`{"exec": {"command": ["/no/such/program"]}}`, "unhealthy"},
	} {
		p := strings.Replace(test.probe, "{", `{"failureThreshold": 1, "periodSeconds": 1, "timeoutSeconds": 2, `, 1)
		ours, istios := a.ours(t, p), a.istios(t, p)
		if verdict(ours) != test.want || verdict(istios) != test.want {
			t.Errorf("%s: ours %s, Istio's %s, want %s", test.probe, ours, istios, test.want)
		}
	}
}

func verdict(s string) string {
	v, _, _ := strings.Cut(s, ":")
	return v
}

// What Istio's agent gets wrong, and this one does not.
func TestIstiosMistakesAreAvoided(t *testing.T) {
	a := startApps(t)
	for _, test := range []struct{ name, probe, istio, ours string }{
		{"a certificate is verified", `{"httpGet": {"port":HTTPS, "path": "/ready", "scheme": "HTTPS"}}`, "unhealthy: Get \"https:", "healthy"},
		{"an app that is not serving crashes the agent", `{"grpc": {"port":GRPC, "service": "down"}}`, "crash: ", "unhealthy: app is not serving: NOT_SERVING"},
		{"no handler", `{}`, "crash: ", "refused: `probe`: must have exactly one of"},
		{"an empty command", `{"exec": {"command": []}}`, "crash: ", "refused: `probe.exec.command`: must name a program"},
		{"a negative period", `{"periodSeconds": -1, "exec": {"command": ["false"]}}`, "crash: ", "refused: `probe.periodSeconds`: -1 must"},
		{"a host name in lower case", `{"httpGet": {"port":HTTP, "path": "/host", "httpHeaders": [{"name": "host", "value": "reviews.example.com"}]}}`, "unhealthy: status code was not from [200,400), bad code 400", "healthy"},
		{"a redirect to another host is followed", `{"httpGet": {"port":HTTP, "path": "/elsewhere"}}`, "unhealthy: Get \"http://localhost:1/\"", "healthy"},
		{"a command's reason is lost", `{"exec": {"command": ["sh", "-c", "echo no database; exit 3"]}}`, "unhealthy: exit status 3", "unhealthy: command ended with exit code 3: no database"},
	} {
		p := test.probe
		if !strings.Contains(p, "periodSeconds") && p != "{}" {
			p = strings.Replace(p, "{", `{"failureThreshold": 1, "periodSeconds": 1, `, 1)
		}
		if got := a.istios(t, p); !strings.HasPrefix(got, test.istio) {
			t.Errorf("%s: Istio's agent says %q, want %q: the mistake has gone", test.name, got, test.istio)
		}
		if got := a.ours(t, p); !strings.HasPrefix(got, test.ours) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.ours)
		}
	}
}

// Istio's agent probes from 127.0.0.6, which reaches only 127.0.0.0/8.
func TestOtherAddressesOfTheMachineAreReached(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6")
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}}
	s.Start()
	defer s.Close()
	p := fmt.Sprintf(`{"failureThreshold": 1, "httpGet": {"port": %d, "host": "::1"}}`, portOf(l))
	if got := (apps{}).istios(t, p); verdict(got) != "unhealthy" {
		t.Errorf("Istio's agent says %s: the mistake has gone", got)
	}
	if got := (apps{}).ours(t, p); got != "healthy" {
		t.Error(got)
	}
}

func TestATimeoutLeavesNoChild(t *testing.T) {
	for name, judge := range map[string]struct {
		verdict func(apps, *testing.T, string) string
		left    bool
	}{"Istio's": {apps.istios, true}, "ours": {apps.ours, false}} {
		file := filepath.Join(t.TempDir(), "pid")
		p := fmt.Sprintf(`{"failureThreshold": 1, "timeoutSeconds": 1, "exec": {"command": ["sh", "-c", "sleep 20 >/dev/null 2>&1 & echo $! >%s; wait"]}}`, file)
		if got := judge.verdict(apps{}, t, p); verdict(got) != "unhealthy" {
			t.Errorf("%s: %s", name, got)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var pid int
		if _, err := fmt.Sscan(string(text), &pid); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
		if left := runs(pid); left != judge.left {
			t.Errorf("%s leaves the child: %v", name, left)
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// runs reports whether a process is there and has not ended.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
