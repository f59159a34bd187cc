package envoy_test

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubernetes/pkg/probe"
	httpprobe "k8s.io/kubernetes/pkg/probe/http"
	"sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

const host = "127.0.0.1"

// osmPorts are the ports of the rewritten probes. Free ones take their place here.
var osmPorts = []int{15901, 15902, 15903}

// A scenario is one app with one probe, in a container of its own.
type scenario struct {
	name    string
	app     func(http.ResponseWriter, *http.Request)
	raw     func(net.Conn) // in place of app
	path    string
	headers []v1.HTTPHeader
	timeout int32 // seconds; 5 if nothing else is said, which never decides
	field   string
	tls     bool
	h2c     bool
	dead    bool // nothing listens
	// redirects is set where the app redirects to a page of its own that fails. The kubelet would follow,
	// and through Envoy takes the redirect itself for a success, as the guide says.
	redirects bool
}

func status(code int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func redirect(to string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ok":
			w.WriteHeader(200)
		case "/fails":
			w.WriteHeader(500)
		default:
			http.Redirect(w, r, to, http.StatusFound)
		}
	}
}

func answers(text string) func(net.Conn) {
	return func(c net.Conn) {
		buf := make([]byte, 4096)
		if _, err := c.Read(buf); err == nil {
			fmt.Fprint(c, text)
		}
	}
}

func scenarios() []*scenario {
	all := []*scenario{
		{name: "redirect", app: redirect("/ok")},
		{name: "redirect-elsewhere", app: redirect("http://other.example/ok")},
		{name: "redirect-no-location", app: status(302)},
		{name: "redirect-fails", app: redirect("/fails"), redirects: true},
		{name: "dead", dead: true},
		{name: "slow", timeout: 1, app: func(w http.ResponseWriter, _ *http.Request) { time.Sleep(4 * time.Second) }},
		{name: "in-time", timeout: 30, app: func(w http.ResponseWriter, _ *http.Request) { time.Sleep(2 * time.Second) }},
		{name: "closes", raw: func(net.Conn) {}},
		{name: "garbage", raw: answers("what?\r\n\r\n")},
		{name: "http-1-0", raw: answers("HTTP/1.0 200 OK\r\n\r\nfine")},
		{name: "http-1-0-fails", raw: answers("HTTP/1.0 503 No\r\n\r\n")},
		{name: "query", app: status(200), path: "/health?full=1&x=%2F"},
		{name: "escaped", app: status(200), path: "/a b%2Fc;d=\u00e9"},
		{name: "no-slash", app: status(200), path: "healthz"},
		{name: "headers", app: status(200), headers: []v1.HTTPHeader{{Name: "X-Token", Value: "a b"}, {Name: "X-Token", Value: "c"}, {Name: "Host", Value: "app.example"}, {Name: "User-Agent", Value: "mine"}}},
		{name: "h2c", app: status(200), h2c: true},
		{name: "h2c-fails", app: status(500), h2c: true},
		{name: "liveness-tls", app: status(200), tls: true},
		{name: "readiness-tls", app: status(503), tls: true, field: "readinessProbe"},
		{name: "startup-tls", dead: true, tls: true, field: "startupProbe"},
		{name: "readiness", app: status(200), field: "readinessProbe"},
		{name: "startup", app: status(503), field: "startupProbe"},
	}
	for _, code := range []int{200, 204, 299, 300, 304, 399, 400, 401, 404, 429, 500, 503, 599} {
		all = append(all, &scenario{name: "status-" + strconv.Itoa(code), app: status(code)})
	}
	return all
}

// A run is a scenario with its app, and with what the app was asked.
type run struct {
	*scenario
	port int
	mu   sync.Mutex
	saw  []string // guarded by mu
}

func (r *run) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	saw := r.saw
	r.saw = nil
	return saw
}

// asked are the headers that the kubelet or its user chooses, without the port of the pod.
func asked(req *http.Request) string {
	name, _, err := net.SplitHostPort(req.Host)
	if err != nil {
		name = req.Host
	}
	return fmt.Sprint(req.Method, " ", req.RequestURI, " ", name, " ", req.UserAgent(), " ", req.Header["Accept"], req.Header["X-Token"])
}

// serve starts the app of a scenario.
func (r *run) serve(t *testing.T) {
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	r.port = l.Addr().(*net.TCPAddr).Port
	switch {
	case r.dead:
		l.Close()
		return
	case r.raw != nil:
		t.Cleanup(func() { l.Close() })
		go testutil.ServeConns(l, r.raw)
		return
	}
	handler := func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path != "/ok" && req.URL.Path != "/fails" {
			r.mu.Lock()
			r.saw = append(r.saw, asked(req))
			r.mu.Unlock()
		}
		r.app(w, req)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(handler))
	s.Listener.Close()
	s.Listener = l
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(!r.h2c)
	s.Config.Protocols.SetUnencryptedHTTP2(r.h2c)
	if r.tls {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
}

// probe returns the probe that the app's author wrote.
func (r *run) probe() *v1.Probe {
	get := &v1.HTTPGetAction{Path: r.path, Port: intstr.FromInt(r.port), Scheme: v1.URISchemeHTTP, HTTPHeaders: r.headers}
	if r.path == "" {
		get.Path = "/healthz"
	}
	if r.tls {
		get.Scheme = v1.URISchemeHTTPS
	}
	if r.h2c {
		get.Protocol = new(v1.HTTPProtocolHTTP2)
	}
	return &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: get}, TimeoutSeconds: cmp.Or(r.timeout, 5)}
}

// probeOf returns the field of a container that has the scenario's probe.
func (r *run) probeOf(c *v1.Container) **v1.Probe {
	switch r.field {
	case "readinessProbe":
		return &c.ReadinessProbe
	case "startupProbe":
		return &c.StartupProbe
	}
	return &c.LivenessProbe
}

// ask has the kubelet's prober make a probe, and reports whether that is a success for the kubelet.
func ask(p *v1.Probe, port int) (passes bool, text string) {
	get := p.HTTPGet.DeepCopy()
	get.Port = intstr.FromInt(port)
	req, err := httpprobe.NewRequestForHTTPGetAction(get, &v1.Container{}, host, "probe")
	if err != nil {
		return false, err.Error()
	}
	limit := time.Duration(p.TimeoutSeconds) * time.Second
	var result probe.Result
	if get.Protocol != nil && *get.Protocol == v1.HTTPProtocolHTTP2 {
		result, text, err = httpprobe.New(false).ProbeH2C(req, limit)
	} else {
		result, text, err = httpprobe.New(false).Probe(req, limit)
	}
	return err == nil && (result == probe.Success || result == probe.Warning), fmt.Sprint(text, err)
}

func TestVerdictThroughEnvoyIsTheApps(t *testing.T) {
	program := build(t)
	d := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	var runs []*run
	for _, s := range scenarios() {
		r := &run{scenario: s}
		r.serve(t)
		c := v1.Container{Name: s.name, Image: "example/app:v1"}
		*r.probeOf(&c) = r.probe()
		d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, c)
		runs = append(runs, r)
	}
	before, err := yaml.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	rewritten := filter(t, program, before, "--mesh", "osm", "--answered-by", "envoy", "--config", "none", "-")
	config := filter(t, program, rewritten, "envoy", "--config", "none", "-")
	if again := filter(t, program, before, "envoy", "--config", "none", "-"); string(again) != string(config) {
		t.Errorf("before the rewriting\n%s\nand after\n%s", again, config)
	}
	ports := startEnvoy(t, string(config))
	var after appsv1.Deployment
	if err := yaml.Unmarshal(rewritten, &after); err != nil {
		t.Fatal(err)
	}
	t.Run("group", func(t *testing.T) {
		for i, r := range runs {
			p := *r.probeOf(&after.Spec.Template.Spec.Containers[i])
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				r.compare(t, p, ports)
			})
		}
	})
	for _, path := range []string{"/osm-liveness-probe", "/osm-liveness-probe/status-200X", "/osm-liveness-probe/status-200/x", "/healthz", "/osm-liveness-probe/query/../status-200"} {
		get := &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: path, Scheme: v1.URISchemeHTTP}}, TimeoutSeconds: 5}
		if passes, text := ask(get, ports[15901]); passes || !strings.Contains(text, "404") {
			t.Errorf("%s is no probe, and Envoy answers %s", path, text)
		}
	}
}

// compare makes a probe before and after the rewriting. The machine may be busy, so a difference
// counts if it shows three times.
func (r *run) compare(t *testing.T, rewritten *v1.Probe, ports map[int]int) {
	port := ports[rewritten.HTTPGet.Port.IntValue()]
	if port == 0 {
		t.Fatalf("goes to %v, which is not one of Envoy's", rewritten.HTTPGet)
	}
	var difference string
	for range 3 {
		r.take()
		direct, why := ask(r.probe(), r.port)
		wanted := r.take()
		through, text := ask(rewritten, port)
		got := r.take()
		switch {
		case r.redirects && !direct && through:
			return
		case r.redirects, direct != through:
			difference = fmt.Sprintf("the app itself: %v (%s)\nthrough Envoy: %v (%s)", direct, why, through, text)
		case !slices.Equal(wanted, got):
			difference = fmt.Sprintf("the app was asked %q, and through Envoy %q", wanted, got)
		default:
			return
		}
		time.Sleep(time.Second)
	}
	t.Error(difference)
}

func build(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "rewrite-probes")
	cmd := exec.Command("go", "build", "-trimpath", "-o", out, "./cmd/rewrite-probes")
	cmd.Dir = "../../.."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if _, err := testutil.Output(cmd); err != nil {
		t.Fatal(err)
	}
	return out
}

func filter(t *testing.T, program string, in []byte, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Stdin = strings.NewReader(string(in))
	out, err := testutil.Output(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// startEnvoy runs Envoy with a configuration until the test ends, and returns which of its ports
// stands for which of the configuration.
func startEnvoy(t *testing.T, config string) map[int]int {
	t.Helper()
	program := testutil.Need(t, "../../../bin/e2e/envoy/envoy/_bin/envoy")
	ports := make(map[int]int)
	for _, port := range osmPorts {
		free, err := testutil.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		ports[port] = free
		config = strings.ReplaceAll(config, fmt.Sprintf("port_value: %d}", port), fmt.Sprintf("port_value: %d}", free))
	}
	file := filepath.Join(t.TempDir(), "envoy.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := testutil.Start(exec.Command(program, "-c", file, "--disable-hot-restart", "--concurrency", "1", "--log-level", "warning"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	for _, port := range ports {
		err := testutil.Eventually(time.Minute, func() error {
			c, err := net.Dial("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
			if err == nil {
				c.Close()
			}
			return err
		})
		if err != nil {
			t.Fatalf("Envoy does not listen: %v\n%s\n%s", err, p.Log(), config)
		}
	}
	return ports
}
