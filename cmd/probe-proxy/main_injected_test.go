package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// An injected holds the fields of the container that decide how it runs.
type injected struct {
	Name    string
	Command []string
	Args    []string
	Env     []struct {
		Name, Value string
		ValueFrom   struct {
			FieldRef struct {
				FieldPath string `yaml:"fieldPath"`
			} `yaml:"fieldRef"`
		} `yaml:"valueFrom"`
	}
	Lifecycle struct {
		PostStart struct {
			Exec struct{ Command []string }
		} `yaml:"postStart"`
	}
}

// inject returns the container that the function adds to a pod.
func inject(t *testing.T, pod, placement string, port int, set ...func(*config.RewriteProbes)) *injected {
	t.Helper()
	c := config.Default()
	c.Spec.AnsweredBy, c.Spec.Port = "probe-proxy", port
	c.Spec.ProbeProxy.Placement, c.Spec.ProbeProxy.Image = placement, "example/probe-proxy:v1"
	for _, f := range set {
		f(c)
	}
	s, err := manifest.Read("pod.yaml", []byte(pod))
	if err != nil {
		t.Fatal(err)
	}
	r := pipeline.Run([]*manifest.Stream{s}, c, pipeline.Rewrite)
	out, err := s.Text()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Spec struct {
			Containers     []*injected
			InitContainers []*injected `yaml:"initContainers"`
		}
	}
	if err := yaml.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	for _, c := range append(got.Spec.InitContainers, got.Spec.Containers...) {
		if c.Name == "probe-proxy" {
			return c
		}
	}
	t.Fatalf("nothing was injected: %v\n%s", r.Messages, &out)
	return nil
}

// run starts the program as the kubelet would start the container.
func (c *injected) run(t *testing.T) *process {
	t.Helper()
	if len(c.Command) > 0 {
		t.Fatalf("the container has a command of its own: %q", c.Command)
	}
	var env []string
	for _, e := range c.Env {
		switch {
		case e.ValueFrom.FieldRef.FieldPath == "status.podIP":
			e.Value = "127.0.0.1"
		case e.ValueFrom.FieldRef.FieldPath != "":
			t.Fatalf("env %s has the unknown fieldPath %q", e.Name, e.ValueFrom.FieldRef.FieldPath)
		}
		env = append(env, e.Name+"="+strings.ReplaceAll(e.Value, "$$", "$"))
	}
	return start(t, c.Args, env...)
}

const podWithProbe = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: example/web:v1
    livenessProbe: {httpGet: {path: /live, port: %[1]d}}
`

const preStopHook = `    lifecycle: {preStop: {httpGet: {path: /stop, port: %[1]d}}}
`

// A hangingApp reports each call on came, and answers when let is closed.
type hangingApp struct {
	port int
	came chan string
	let  chan struct{}
}

func newApp(t *testing.T) *hangingApp {
	a := &hangingApp{came: make(chan string, 10), let: make(chan struct{})}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		a.came <- r.URL.Path
		<-a.let
	}))
	t.Cleanup(s.Close)
	a.port = s.Listener.Addr().(*net.TCPAddr).Port
	return a
}

const waits = "waiting for preStop hooks"

func TestWrittenContainer_endsWithNothingOpen(t *testing.T) {
	for _, test := range []struct{ name, pod, placement string }{
		{"native", podWithProbe, "native"},
		{"native, with a hook", podWithProbe + preStopHook, "native"},
		{"container, without a hook", podWithProbe, "container"},
	} {
		t.Run(test.name, func(t *testing.T) {
			app, port := newApp(t), freePort(t)
			close(app.let)
			p := inject(t, fmt.Sprintf(test.pod, app.port), test.placement, port).run(t)
			if got := answer(t, port, "/app-health/web/livez"); got != 200 {
				t.Errorf("the probe is answered with %d", got)
			}
			p.signal()
			if code := p.waitEnd(t); code != exitOK {
				t.Errorf("exit code %d: %s", code, p.Log())
			}
			if log := p.Log(); strings.Contains(log, waits) || !strings.HasSuffix(log, "level=INFO msg=\"ended as asked\"\n") {
				t.Errorf("it waits, or does not say why it ends: %s", log)
			}
		})
	}
}

func TestWrittenContainer_endsWithItsHooks(t *testing.T) {
	for _, placement := range []string{"native", "container"} {
		t.Run(placement+", hook is open", func(t *testing.T) {
			app, port := newApp(t), freePort(t)
			p := inject(t, fmt.Sprintf(podWithProbe+preStopHook, app.port), placement, port).run(t)
			p.waitLog(t, "answering probes")
			hook := make(chan int, 1)
			go func() { hook <- answer(t, port, "/app-lifecycle/web/prestopz") }()
			testutil.Received(t, app.came)
			p.signal()
			if got := answer(t, port, "/healthz"); got != 200 {
				t.Errorf("it answers with %d while a hook is open", got)
			}
			close(app.let)
			if got := testutil.Received(t, hook); got != 200 {
				t.Errorf("the hook is answered with %d", got)
			}
			stays := placement == "container" // anybody may have called the hook
			if code := p.waitEndWithin(t, 2*patience); code != exitOK || strings.Contains(p.Log(), waits) != stays {
				t.Errorf("exit code %d: %s", code, p.Log())
			}
		})
	}
	t.Run("container, hook comes after the signal", func(t *testing.T) {
		app, port := newApp(t), freePort(t)
		close(app.let)
		p := inject(t, fmt.Sprintf(podWithProbe+preStopHook, app.port), "container", port).run(t)
		p.waitLog(t, "answering probes")
		p.signal()
		p.waitLog(t, waits)
		if got := answer(t, port, "/app-lifecycle/web/prestopz"); got != 200 {
			t.Errorf("the hook is answered with %d", got)
		}
		if code := p.waitEndWithin(t, 2*patience); code != exitOK {
			t.Errorf("exit code %d: %s", code, p.Log())
		}
	})
}

func TestOnlyAnOrdinaryContainerIsToldToWaitForHooks(t *testing.T) {
	pod := fmt.Sprintf(podWithProbe+preStopHook, 8080)
	for _, test := range []struct {
		placement string
		port      int
		want      []string
	}{
		{"native", 15099, nil},
		{"native", 15025, []string{"--port=15025"}},
		{"container", 15099, []string{"--hooks-within=10s"}},
		{"container", 15025, []string{"--port=15025", "--hooks-within=10s"}},
	} {
		if got := inject(t, pod, test.placement, test.port).Args; fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%s, port %d: args %q, want %q", test.placement, test.port, got, test.want)
		}
	}
}

// From the functionConfig to what a caller of the port reads. The status is the same with
// any value, and a line of probe-proxy's own always goes back.
func TestCallersGetTheBodiesThatTheFunctionConfigAllows(t *testing.T) {
	const page, refused = "db=10.0.0.7", "probe-proxy: app refused the connection\n"
	for _, c := range []struct {
		body                 string // "" is the default
		ready, moved, unwell string
	}{
		{"", "", "", page}, {"none", "", "", ""}, {"failures", "", "", page}, {"all", page, page, page},
	} {
		for _, placement := range []string{"native", "container"} {
			t.Run(c.body+", "+placement, func(t *testing.T) {
				var status atomic.Int32
				app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Location", "http://example.invalid/")
					w.WriteHeader(int(status.Load()))
					_, _ = io.WriteString(w, page)
				}))
				defer app.Close()
				port := freePort(t)
				pod := fmt.Sprintf(podWithProbe, app.Listener.Addr().(*net.TCPAddr).Port)
				p := inject(t, pod, placement, port, func(r *config.RewriteProbes) {
					if c.body != "" {
						r.Spec.ProbeProxy.Body = c.body
					}
				}).run(t)
				p.waitLog(t, "answering probes")
				check := func(code int, want string) {
					t.Helper()
					res, err := http.DefaultTransport.RoundTrip(httptest.NewRequest(http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/app-health/web/livez", port), nil))
					if err != nil {
						t.Fatal(err)
					}
					defer res.Body.Close()
					if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != code || string(body) != want {
						t.Errorf("status %d, body %q, %v; want %d and %q", res.StatusCode, body, err, code, want)
					}
				}
				for code, want := range map[int]string{200: c.ready, 302: c.moved, 503: c.unwell} {
					status.Store(int32(code))
					check(code, want)
				}
				app.Close()
				check(502, refused)
			})
		}
	}
}
