// Package istiod_test compares probe-agent with Istio itself: its in-memory
// discovery server takes what the agent reports, its health package probes the
// same apps, and Envoy's own types read the agent's messages.
package istiod_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"istio.io/api/meta/v1alpha1"
	"istio.io/istio/pilot/pkg/features"
	"istio.io/istio/pilot/pkg/model"
	"istio.io/istio/pilot/test/xds"
	"istio.io/istio/pkg/config/schema/gvk"
	"istio.io/istio/pkg/test"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
)

var program string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "istiod")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "probe-agent")
	const version = "-X github.com/rewrite-probes/rewrite-probes/internal/release.Linked=v9.8.7"
	build := exec.Command("go", "build", "-ldflags", version, "-o", program, "./cmd/probe-agent")
	build.Dir = "../../.."
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	return m.Run()
}

const objects = `
apiVersion: networking.istio.io/v1
kind: WorkloadGroup
metadata: {name: reviews, namespace: shop}
spec:
  metadata: {labels: {version: v2}}
  template: {labels: {app: reviews}, ports: {http: 8080}}
---
apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata:
  name: by-hand
  namespace: shop
  annotations: {proxy.istio.io/health-checks-enabled: "true"}
  labels: {app: reviews}
spec: {address: 10.9.9.9, labels: {app: reviews}}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: reviews, namespace: shop}
spec:
  hosts: [reviews.shop.test]
  location: MESH_INTERNAL
  resolution: STATIC
  ports: [{name: http, number: 80, protocol: HTTP, targetPort: 8080}]
  workloadSelector: {labels: {app: reviews}}
`

// An istiod is Istio's own, in memory, on a port of the loopback interface.
type istiod struct {
	*xds.FakeDiscoveryServer
	address string
}

func startIstiod(t *testing.T) *istiod {
	t.Helper()
	// It has no TLS, so that nothing proves who the agent is.
	test.SetForTest(t, &features.ValidateWorkloadEntryIdentity, false)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := xds.NewFakeDiscoveryServer(t, xds.FakeOptions{
		ConfigString:    objects,
		ListenerBuilder: func() (net.Listener, error) { return l, nil },
	})
	return &istiod{s, l.Addr().String()}
}

// condition returns the health condition of a WorkloadEntry.
func (i *istiod) condition(entry string) string {
	cfg := i.Store().Get(gvk.WorkloadEntry, entry, "shop")
	if cfg == nil {
		return "no entry"
	}
	status, _ := cfg.Status.(*v1alpha1.IstioStatus)
	for _, c := range status.GetConditions() {
		if c.Type == "Healthy" {
			return strings.TrimSpace(c.Status + " " + c.Message)
		}
	}
	return "no condition"
}

// endpoints returns the addresses to which clients are sent.
func (i *istiod) endpoints() string {
	var found []string
	proxy := i.SetupProxy(&model.Proxy{ConfigNamespace: "shop"})
	for _, cla := range i.Endpoints(proxy) {
		if cla.ClusterName != "outbound|80||reviews.shop.test" {
			continue
		}
		for _, group := range cla.Endpoints {
			for _, e := range group.LbEndpoints {
				a := e.GetEndpoint().Address.GetSocketAddress()
				found = append(found, fmt.Sprintf("%s:%d", a.Address, a.GetPortValue()))
			}
		}
	}
	return strings.Join(found, " ")
}

// want waits until istiod has the condition for the entry, and the endpoints.
func (i *istiod) want(t *testing.T, entry, condition, endpoints string) {
	t.Helper()
	err := testutil.Eventually(30*time.Second, func() error {
		if gotCondition, gotEndpoints := i.condition(entry), i.endpoints(); gotCondition != condition || gotEndpoints != endpoints {
			return fmt.Errorf("%s: condition %q and endpoints %q, want %q and %q", entry, gotCondition, gotEndpoints, condition, endpoints)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// An app answers with a status that the test sets.
type app struct {
	port   int
	status atomic.Int32
}

func startApp(t *testing.T) *app {
	a := new(app)
	a.status.Store(200)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(a.status.Load())) }))
	t.Cleanup(s.Close)
	a.port = s.Listener.Addr().(*net.TCPAddr).Port
	return a
}

func (a *app) probe() vmconfig.Probe {
	p := vmconfig.DefaultProbe()
	p.PeriodSeconds, p.FailureThreshold = 1, 2
	p.HTTPGet = &prober.HTTPGet{Host: "127.0.0.1", Port: field.Number(a.port), Path: "/", Scheme: vmconfig.HTTP}
	return p
}

// startAgent runs the program until the test ends.
func startAgent(t *testing.T, address string, c *vmconfig.Config, flags ...string) *testutil.Process {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := testutil.Start(exec.Command(program, append([]string{"--config", file, "--istiod", address, "--insecure"}, flags...)...), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.Stop()
		if t.Failed() {
			t.Logf("the agent's log:\n%s", a.Log())
		}
	})
	return a
}

// end ends an agent as a service manager does.
func end(t *testing.T, agent *testutil.Process) {
	t.Helper()
	if err := agent.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := agent.Cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

func config(p vmconfig.Probe) *vmconfig.Config {
	return &vmconfig.Config{Name: "reviews", Namespace: "shop", Address: "10.1.2.3", Probe: p}
}

func TestStatesReachTheEntryAndTheEndpoints(t *testing.T) {
	i := startIstiod(t)
	app := startApp(t)
	app.status.Store(503)
	agent := startAgent(t, i.address, config(app.probe()))
	i.want(t, "reviews-10.1.2.3", "False app answered with status 503", "")
	for range 3 {
		app.status.Store(200)
		i.want(t, "reviews-10.1.2.3", "True", "10.1.2.3:8080")
		app.status.Store(500)
		i.want(t, "reviews-10.1.2.3", "False app answered with status 500", "")
	}
	app.status.Store(204)
	i.want(t, "reviews-10.1.2.3", "True", "10.1.2.3:8080")
	end(t, agent)
	i.want(t, "reviews-10.1.2.3", "False probe-agent was stopped", "")
}

func TestWhatTheConfigurationSaysOfTheMachineReachesTheEntry(t *testing.T) {
	i := startIstiod(t)
	c := config(startApp(t).probe())
	c.Address, c.Network, c.Locality, c.Labels = "2001:db8::1", "vms", "eu/west/rack-1", map[string]string{"tier": "gold", "version": "v3"}
	startAgent(t, i.address, c, "--cluster", "primary")
	const name = "reviews-2001-db8--1-vms"
	i.want(t, name, "True", "2001:db8::1:8080")
	cfg := i.Store().Get(gvk.WorkloadEntry, name, "shop")
	text, err := json.Marshal(cfg.Spec)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"address":"2001:db8::1","ports":{"http":8080},"labels":{"app":"reviews","tier":"gold","version":"v3"},"network":"vms","locality":"eu/west/rack-1"}`; string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

func TestAnExistingEntryIsReportedTo(t *testing.T) {
	i := startIstiod(t)
	app := startApp(t)
	c := config(app.probe())
	c.Address = "10.9.9.9"
	i.want(t, "by-hand", "no condition", "")
	startAgent(t, i.address, c, "--entry", "by-hand")
	i.want(t, "by-hand", "True", "10.9.9.9:8080")
	app.status.Store(404)
	i.want(t, "by-hand", "False app answered with status 404", "")
}

func TestARefusalIsVerbatimInTheLogOnceAndEndsWithItsCause(t *testing.T) {
	i := startIstiod(t)
	c := config(startApp(t).probe())
	c.Name = "later"
	a := startAgent(t, i.address, c)
	const reason = "cannot find WorkloadGroup shop/later"
	if err := a.WaitLog(reason, 1, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second) // some more attempts
	group := i.Store().Get(gvk.WorkloadGroup, "reviews", "shop").DeepCopy()
	group.Name, group.ResourceVersion = "later", ""
	if _, err := i.Store().Create(group); err != nil {
		t.Fatal(err)
	}
	i.want(t, "later-10.1.2.3", "True", "10.1.2.3:8080")
	if n := strings.Count(a.Log(), reason); n != 1 {
		t.Errorf("the reason is in the log %d times", n)
	}
}
