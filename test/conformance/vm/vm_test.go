// Package vm holds what rewrite-probes says of WorkloadGroups, and what it makes
// of them, against Istio's own validation, health checks and status server.
package vm

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	"google.golang.org/grpc"
	grpchealth "google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"

	meshconfig "istio.io/api/mesh/v1alpha1"
	networking "istio.io/api/networking/v1alpha3"
	"istio.io/istio/pilot/cmd/pilot-agent/status"
	istioconfig "istio.io/istio/pkg/config"
	"istio.io/istio/pkg/config/validation"
	"istio.io/istio/pkg/util/protomarshal"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/istiohealth"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// run takes a group through the pipeline.
func run(t *testing.T, text string, mode pipeline.Wants) (string, *report.Report) {
	t.Helper()
	out, r, err := rewriting.Run([]byte(text), config.Default(), mode)
	if err != nil {
		t.Fatalf("%v of\n%s", err, text)
	}
	return string(out), r
}

// A group is a WorkloadGroup as Istio reads it.
type group struct {
	spec  *networking.WorkloadGroup
	proxy *meshconfig.ProxyConfig // of its annotation
}

func parse(t *testing.T, text string) group {
	t.Helper()
	var o struct {
		Metadata struct{ Annotations map[string]string }
		Spec     any
	}
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	g := group{spec: &networking.WorkloadGroup{}, proxy: &meshconfig.ProxyConfig{}}
	if err := protomarshal.ApplyJSON(inJSON(t, o.Spec), g.spec); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	// As istioctl x workload entry configure reads it.
	if err := protomarshal.ApplyYAML(o.Metadata.Annotations["proxy.istio.io/config"], g.proxy); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return g
}

func inJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// refused returns why istiod's webhook refuses a group.
func (g group) refused() error {
	_, err := validation.ValidateWorkloadGroup(istioconfig.Config{Spec: g.spec})
	return err
}

const head = "apiVersion: networking.istio.io/v1\nkind: WorkloadGroup\nmetadata:\n  name: reviews\n"

// probes returns valid probes of many forms.
func probes() (all []string) {
	for _, timing := range []string{"", "timeoutSeconds: 5, periodSeconds: 7, ", "initialDelaySeconds: 1, successThreshold: 2, "} {
		for _, handler := range []string{
			"httpGet: {port: 8080}", "httpGet: {port: 8443, scheme: HTTPS}", "httpGet: {path: \"/a?b=c\", port: 8443, scheme: HTTPS, httpHeaders: [{name: Host, value: a}, {name: x-y, value: \"1\"}]}",
			"httpGet: {host: 127.0.0.1, port: 8080, path: /x, scheme: HTTP}", "httpGet: {host: 127.0.0.1, port: 8443, scheme: HTTPS}", "httpGet: {path: /, port: 8443, host: localhost, scheme: HTTPS}", "grpc: {port: 9000}", "grpc: {service: a.b, port: 9000}",
			"tcpSocket: {port: 1}", "exec: {command: [a, b]}",
		} {
			all = append(all, "{"+timing+handler+", failureThreshold: 3}")
		}
	}
	return all
}

// configs returns annotations that keep their values.
func configs() []string {
	return []string{
		"", "  annotations: {}\n", "  annotations: {a: b}\n",
		"  annotations:\n    proxy.istio.io/config: |\n      proxyMetadata:\n        A: b # why\n      statusPort: 15031\n",
		"  annotations:\n    proxy.istio.io/config: '{\"proxyMetadata\": {\"A\": \"b\"}, \"statusPort\": 15031}'\n",
		"  annotations:\n    proxy.istio.io/config: |-\n      concurrency: 2\n",
		"  annotations:\n    proxy.istio.io/config: \"proxyMetadata: {}\"\n",
		"  annotations:\n    proxy.istio.io/config: |\n      proxyMetadata: {REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: \"0\"}\n",
		"  annotations:\n    proxy.istio.io/config: |\n      proxyMetadata:\n        REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: t # why\n",
	}
}

func TestIstioTakesEveryRewrittenGroup(t *testing.T) {
	n, wasRefused, rewritten := 0, 0, 0
	for _, probe := range probes() {
		for _, annotations := range configs() {
			n++
			in := head + annotations + "spec:\n  template: {serviceAccount: a}\n  probe: " + probe + "\n"
			out, r := run(t, in, pipeline.Rewrite)
			if count := report.Count(r.Messages, transformer.Error); count > 0 {
				t.Errorf("refused: %v\n%s", r.Messages, in)
				continue
			}
			before, after := parse(t, in), parse(t, out)
			if before.refused() != nil {
				wasRefused++
			}
			if err := after.refused(); err != nil {
				t.Errorf("%v of\n%s\nwhich was\n%s", err, out, in)
			}
			if in != out {
				rewritten++
				checkRewriting(t, before, after, out)
			}
			if twice, _ := run(t, out, pipeline.Rewrite); twice != out {
				t.Errorf("a second run makes\n%s\nof\n%s", twice, out)
			}
			if back, _ := run(t, out, pipeline.Restore); back != in {
				t.Errorf("restored is\n%s\nand it was\n%s", back, in)
			}
		}
	}
	validated = fmt.Sprintf("%d groups, of which istiod's validation refuses %d as they are; %d are rewritten, and none is refused then.", n, wasRefused, rewritten)
	t.Log(validated)
	if wasRefused == 0 || rewritten < n/3 {
		t.Error("too few")
	}
}

// checkRewriting compares a rewritten group with what it was: only the handler,
// the timeout and the env var differ, and the env var has the original.
func checkRewriting(t *testing.T, before, after group, text string) {
	t.Helper()
	env := after.proxy.ProxyMetadata[status.KubeAppProberEnvName]
	delete(after.proxy.ProxyMetadata, status.KubeAppProberEnvName)
	if before.spec.Probe.GetHttpGet().GetHost() != "" {
		checkLocalhost(t, before.proxy.ProxyMetadata, after.proxy.ProxyMetadata, text)
	}
	if len(after.proxy.ProxyMetadata) == 0 {
		after.proxy.ProxyMetadata = nil
	}
	if len(before.proxy.ProxyMetadata) == 0 {
		before.proxy.ProxyMetadata = nil
	}
	if !proto.Equal(before.proxy, after.proxy) {
		t.Errorf("the agent's configuration was %v and is %v", before.proxy, after.proxy)
	}
	var probers status.KubeAppProbers
	if err := json.Unmarshal([]byte(env), &probers); err != nil || len(probers) != 1 {
		t.Fatalf("%v: the env var is %s in\n%s", err, env, text)
	}
	was, is := before.spec.Probe, after.spec.Probe
	inner := probers["/app-health/reviews/readyz"]
	port := uint32(15020)
	if before.proxy.StatusPort != 0 {
		port = uint32(before.proxy.StatusPort)
	}
	h := is.GetHttpGet()
	switch {
	case inner == nil || h == nil || h.Path != "/app-health/reviews/readyz" || h.Port != port || h.Host != was.GetHttpGet().GetHost() || h.Scheme == "HTTPS":
		t.Errorf("the probe goes to %v, and the env var is %s", is, env)
	case inner.TimeoutSeconds != max(1, was.TimeoutSeconds) || is.TimeoutSeconds != inner.TimeoutSeconds+1:
		t.Errorf("the timeout was %d, is %d, and of the original %d", was.TimeoutSeconds, is.TimeoutSeconds, inner.TimeoutSeconds)
	case was.GetHttpGet() != nil && !slices.EqualFunc(was.GetHttpGet().HttpHeaders, h.HttpHeaders, func(a, b *networking.HTTPHeader) bool { return proto.Equal(a, b) }):
		t.Errorf("the headers were %v and are %v", was.GetHttpGet().HttpHeaders, h.HttpHeaders)
	}
	was, is = proto.Clone(was).(*networking.ReadinessProbe), proto.Clone(is).(*networking.ReadinessProbe)
	was.HealthCheckMethod, is.HealthCheckMethod, was.TimeoutSeconds, is.TimeoutSeconds = nil, nil, 0, 0
	if !proto.Equal(was, is) {
		t.Errorf("the timing was %v and is %v", was, is)
	}
}

// checkLocalhost compares the variable that sends probes to localhost, and takes
// it out of what is compared next.
func checkLocalhost(t *testing.T, before, after map[string]string, text string) {
	t.Helper()
	if after[localhostEnv] != "true" {
		t.Errorf("%s was %q and is %q in\n%s", localhostEnv, before[localhostEnv], after[localhostEnv], text)
	}
	delete(before, localhostEnv)
	delete(after, localhostEnv)
}

func TestIstioRefusesGRPC(t *testing.T) {
	g := parse(t, head+"spec: {template: {}, probe: {grpc: {port: 1}}}\n")
	if err := g.refused(); err == nil || !strings.Contains(err.Error(), "unknown health check method") {
		t.Errorf("istiod takes grpc probes by now: %v", err)
	}
}

// TestWhatIstiodRefusesIsAnError has the same verdict of both on probes at the
// borders of what is allowed.
func TestWhatIstiodRefusesIsAnError(t *testing.T) {
	var probes []string
	for _, n := range []int{-1, 0, 1, 2147483647} {
		for _, key := range []string{"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"} {
			probes = append(probes, fmt.Sprintf("{%s: %d, tcpSocket: {port: 1}}", key, n))
		}
	}
	for _, port := range []int{0, 1, 65535, 65536} {
		probes = append(probes, fmt.Sprintf("{tcpSocket: {port: %d}}", port), fmt.Sprintf("{httpGet: {port: %d}}", port))
	}
	for _, scheme := range []string{"HTTP", "HTTPS", "http", "https", "Http", "\"\"", "FTP"} {
		probes = append(probes, "{httpGet: {port: 1, scheme: "+scheme+"}}")
	}
	for _, name := range []string{"A", "x-y", "x_y", "a b", "\"\"", "1", "a:b", "\u00e9"} {
		probes = append(probes, "{httpGet: {port: 1, httpHeaders: [{name: \""+strings.Trim(name, "\"")+"\", value: a}]}}")
	}
	probes = append(probes, "{}", "{exec: {}}", "{exec: {command: []}}", "{exec: {command: [a]}}", "{httpGet: {}}", "{tcpSocket: {}}")
	refused := 0
	for _, probe := range probes {
		text := head + "spec: {template: {}, probe: " + probe + "}\n"
		out, r := run(t, text, pipeline.Rewrite)
		err := parse(t, text).refused()
		if err != nil {
			refused++
		}
		// https probes are rewritten, and then it is the rewritten one that counts.
		if errors := report.Count(r.Messages, transformer.Error); (err != nil) != (errors > 0) || errors > 0 && out != text {
			t.Errorf("%s: istiod says %v, and we %v", probe, err, r.Messages)
		}
	}
	if refused < 15 || refused > len(probes)-15 {
		t.Errorf("%d of %d are refused", refused, len(probes))
	}
}

// oddPath is one that a shell must not change on the way to a machine.
const oddPath = "/it's $(id) `id` \"quoted\" \\ $HOME"

// An app answers over HTTP, over HTTPS with a certificate of its own, and over
// gRPC, where the service down is not serving.
type app struct{ http, https, grpc int }

func startApp(t *testing.T) app {
	t.Helper()
	ok := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Fail") != "" || r.URL.Path == "/down" || strings.HasPrefix(r.URL.Path, "/it") && r.URL.Path != oddPath {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	plain, secure := httptest.NewServer(ok), httptest.NewUnstartedServer(ok)
	secure.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	secure.StartTLS()
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	states, server := grpchealth.NewServer(), grpc.NewServer()
	states.SetServingStatus("down", healthpb.HealthCheckResponse_NOT_SERVING)
	healthpb.RegisterHealthServer(server, states)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	return app{portOf(plain.Listener), portOf(secure.Listener), portOf(l)}
}

func portOf(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

func (a app) fill(text string) string {
	return strings.NewReplacer("$HTTPS", fmt.Sprint(a.https), "$HTTP", fmt.Sprint(a.http), "$GRPC", fmt.Sprint(a.grpc)).Replace(text)
}

// generic is the inverse of fill.
func (a app) generic(text string) string {
	return strings.NewReplacer(fmt.Sprint(a.https), "$HTTPS", fmt.Sprint(a.http), "$HTTP", fmt.Sprint(a.grpc), "$GRPC").Replace(text)
}

// Every key that stands for a mistake of Istio's agent has the mistake shown by
// the agent's own code.
func TestIstiosAgentMakesTheMistakesThatAreReported(t *testing.T) {
	a := startApp(t)
	for _, tt := range []struct{ reason, probe, want string }{
		{"vm-https-verified", "{failureThreshold: 1, httpGet: {port: $HTTPS, scheme: HTTPS}}", "unhealthy: Get \"https://127.0.0.1:$HTTPS/\": tls: failed to verify certificate"},
		{"vm-https-verified", "{failureThreshold: 1, httpGet: {host: localhost, port: $HTTPS, scheme: HTTPS}}", "unhealthy: Get \"https://localhost:$HTTPS/\": tls: failed to verify certificate"},
		{"vm-grpc-refused", "{failureThreshold: 1, grpc: {port: $GRPC, service: down}}", "crash: runtime error: invalid memory address"},
		{"vm-no-handler", "{failureThreshold: 1}", "crash: runtime error: invalid memory address"},
		{"vm-no-handler", "{failureThreshold: 1, exec: {command: []}}", "crash: runtime error: slice bounds out of range"},
		{"vm-host-remote", "{failureThreshold: 1, httpGet: {host: 192.0.2.1, port: $HTTP}}", "unhealthy: Get \"http://192.0.2.1:$HTTP/\": dial tcp 127.0.0.6:0->192.0.2.1:$HTTP"},
		{"vm-host-remote", "{failureThreshold: 1, httpGet: {host: \"::1\", port: $HTTP}}", "unhealthy: Get \"http://[::1]:$HTTP/\": dial tcp"},
		{"vm-header-case", "{failureThreshold: 1, httpGet: {port: $HTTP, httpHeaders: [{name: host, value: a}]}}", "unhealthy: status code was not from [200,400), bad code 400"},
		{"vm-header-case", "{failureThreshold: 1, httpGet: {port: $HTTP, httpHeaders: [{name: HOST, value: a}]}}", "unhealthy: status code was not from [200,400), bad code 400"},
		{"vm-threshold-default", "{periodSeconds: 600, httpGet: {port: $HTTP, path: /down}}", "unhealthy: status code was not from [200,400), bad code 503"},
		// What is not reported works.
		{"vm-probe-works", "{failureThreshold: 1, httpGet: {port: $HTTP}}", "healthy"},
		{"vm-probe-works", "{failureThreshold: 1, httpGet: {host: localhost, port: $HTTP, httpHeaders: [{name: Host, value: a}]}}", "healthy"},
		{"vm-probe-works", "{failureThreshold: 1, httpGet: {host: 127.0.0.1, port: $HTTP}}", "healthy"},
		{"vm-probe-works", "{failureThreshold: 1, tcpSocket: {port: $HTTP}}", "healthy"},
		{"vm-probe-works", "{failureThreshold: 1, exec: {command: [\"true\"]}}", "healthy"},
	} {
		text := head + "spec:\n  template: {}\n  probe: " + a.fill(tt.probe) + "\n"
		_, r := run(t, text, pipeline.Judge)
		var keys []string
		for _, m := range r.Messages {
			keys = append(keys, m.Reason.String())
		}
		if p := r.Templates[0].Probes; len(p) > 0 && p[0].State == transformer.LeftAlone && len(keys) == 0 {
			keys = append(keys, p[0].Reason.String())
		}
		if len(keys) != 1 || keys[0] != tt.reason {
			t.Errorf("%s: reported as %q, want %s", tt.probe, keys, tt.reason)
		}
		got := istiohealth.Verdict(parse(t, text).spec.Probe)
		if !strings.HasPrefix(got, a.fill(tt.want)) {
			t.Errorf("%s: Istio's agent says %q, want %q", tt.probe, got, a.fill(tt.want))
		}
		asWritten = append(asWritten, verdict{tt.probe, "`" + tt.reason + "`", a.generic(got)})
	}
}

// TestTheAgentAsItIsMakesRewrittenProbes has istioctl write the files of a machine
// from a rewritten group, and runs the agent's status server and its health check
// with what they say.
func TestTheAgentAsItIsMakesRewrittenProbes(t *testing.T) {
	a := startApp(t)
	for _, tt := range []struct{ probe, want string }{
		{"{failureThreshold: 1, httpGet: {port: $HTTPS, scheme: HTTPS}}", "healthy"},
		{"{failureThreshold: 1, httpGet: {port: $HTTPS, scheme: HTTPS, httpHeaders: [{name: Host, value: a}]}}", "healthy"},
		{"{failureThreshold: 1, httpGet: {port: $HTTPS, scheme: HTTPS, path: /down}}", "unhealthy: status code was not from [200,400), bad code 503"},
		{"{failureThreshold: 1, httpGet: {port: $HTTPS, scheme: HTTPS, httpHeaders: [{name: X-Fail, value: \"1\"}]}}", "unhealthy: status code was not from [200,400), bad code 503"},
		{"{failureThreshold: 1, httpGet: {port: $HTTPS, scheme: HTTPS, path: " + strconv.Quote(oddPath) + "}}", "healthy"},
		{"{failureThreshold: 1, httpGet: {port: $HTTPS, scheme: HTTPS, path: \"/it\"}}", "unhealthy: status code was not from [200,400), bad code 503"},
		{"{failureThreshold: 1, httpGet: {port: 1, scheme: HTTPS}}", "unhealthy: status code was not from [200,400), bad code 500"},
		{"{failureThreshold: 1, grpc: {port: $GRPC}}", "healthy"},
		{"{failureThreshold: 1, grpc: {port: $GRPC, service: down}}", "unhealthy: status code was not from [200,400), bad code 500"},
		{"{failureThreshold: 1, grpc: {port: $GRPC, service: unknown}}", "unhealthy: status code was not from [200,400), bad code 500"},
		{"{failureThreshold: 1, timeoutSeconds: 1, grpc: {port: 1}}", "unhealthy: status code was not from [200,400), bad code 500"},
	} {
		port, err := testutil.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		text := head + fmt.Sprintf("  namespace: shop\n  annotations:\n    proxy.istio.io/config: |\n      statusPort: %d\n", port) + "spec:\n  template: {}\n  probe: " + a.fill(tt.probe) + "\n"
		out, r := run(t, text, pipeline.Rewrite)
		if r.Changed != 1 {
			t.Fatalf("not rewritten: %v", r.Messages)
		}
		if got := configure(t, "shop", out).verdict(t, "127.0.0.1", port); got != tt.want {
			t.Errorf("%s: the agent says %q, want %q", tt.probe, got, tt.want)
		}
		asRewritten = append(asRewritten, verdict{tt.probe, "rewritten", tt.want})
	}
}

// verdict returns what the agent of a machine says that has the address, and its
// status server on the port.
func (m machine) verdict(t *testing.T, address string, port int) string {
	t.Helper()
	t.Setenv(localhostEnv, m.localhost)
	server, err := status.NewServer(status.Options{PodIP: address, StatusPort: uint16(port), NoEnvoy: true, KubeAppProbers: m.env})
	if err != nil {
		t.Fatalf("%v of %s", err, m.env)
	}
	go server.Run(t.Context())
	waitFor(t, port)
	return istiohealth.Verdict(m.probe)
}

// TestTheGroupOfIstiosDocumentation has the machine answer at an address at which
// the app does not listen: without the variable the status server asks there.
func TestTheGroupOfIstiosDocumentation(t *testing.T) {
	a := startApp(t)
	text, err := os.ReadFile("../../../examples/vm/localhost.yaml")
	if err != nil {
		t.Fatal(err)
	}
	group := strings.Replace(string(text), "port: 3100", fmt.Sprintf("port: %d", a.https), 1)
	for _, host := range []string{"127.0.0.1", "localhost"} {
		for _, failing := range []bool{false, true} {
			in := strings.Replace(group, "host: 127.0.0.1", "host: "+host, 1)
			header, want, wantWithout := "Lit-Header", "healthy", "unhealthy: status code was not from [200,400), bad code 500"
			if failing {
				header, want = "X-Fail", "unhealthy: status code was not from [200,400), bad code 503"
				in = strings.Replace(in, "Lit-Header", header, 1)
			}
			out, _ := run(t, in, pipeline.Rewrite)
			for _, value := range []string{"true", "false", ""} {
				m := configure(t, "bookinfo", onFreePort(t, out))
				if m.localhost != "true" {
					t.Fatalf("%s is %q of\n%s", localhostEnv, m.localhost, out)
				}
				m.localhost = value
				// The states that it takes to be believed would make the test slow.
				m.probe.InitialDelaySeconds, m.probe.SuccessThreshold, m.probe.FailureThreshold = 0, 1, 1
				got := m.verdict(t, "127.0.0.2", int(m.probe.GetHttpGet().Port))
				if value == "true" && got != want || value != "true" && got != wantWithout {
					t.Errorf("%s, with %q: the agent says %q of\n%s", host, value, got, out)
				}
			}
			probe := fmt.Sprintf("{failureThreshold: 1, httpGet: {path: /foo/bar, host: %s, port: $HTTPS, scheme: HTTPS, httpHeaders: [{name: %s, value: Im-The-Best}]}}", host, header)
			asRewritten = append(asRewritten, verdict{probe, "rewritten", want})
		}
	}
}

// onFreePort returns a rewritten group whose status server listens on a port of
// its own.
func onFreePort(t *testing.T, group string) string {
	t.Helper()
	port, err := testutil.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	moved := strings.Replace(group, "port: 15020", fmt.Sprintf("port: %d", port), 1)
	if moved == group {
		t.Fatalf("does not go to port 15020:\n%s", group)
	}
	return moved
}

func waitFor(t *testing.T, port int) {
	t.Helper()
	for range 500 {
		if c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			c.Close()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the status server does not listen")
}

// Every field of Istio's probe is known.
func TestTheKnownFieldsAreIstios(t *testing.T) {
	names := make(map[string]bool)
	fields := (&networking.ReadinessProbe{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		names[f.JSONName()] = true
		if f.Message() == nil {
			continue
		}
		inner := f.Message().Fields()
		for j := range inner.Len() {
			names[f.JSONName()+"."+inner.Get(j).JSONName()] = true
		}
	}
	for name := range names {
		outer, inner, nested := strings.Cut(name, ".")
		value := map[string]any{outer: 1}
		if nested {
			value = map[string]any{outer: map[string]any{inner: nil}}
		} else if names[outer+".port"] || outer == "exec" {
			value = map[string]any{outer: map[string]any{}}
		}
		_, r := run(t, head+"spec: {template: {}, probe: "+inJSON(t, value)+"}\n", pipeline.Inspect)
		for _, m := range r.Messages {
			if m.Reason.String() == "handler-unknown" {
				t.Errorf("%s: %s", name, m)
			}
		}
	}
	if len(names) < 17 {
		t.Errorf("only %d fields", len(names))
	}
}
