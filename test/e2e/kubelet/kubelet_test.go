package kubelet

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/node"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/redirection"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/verdict"
)

// pods are the expectations: a manifest of ../pods, the functionConfigs with which
// it is rewritten ("default" if none is named), and what becomes of it as it is
// and rewritten.
var pods = []struct {
	name      string
	configs   []string // nil: "default"
	native    verdict.Verdict
	lies      bool // the native verdict is wrong
	rewritten verdict.Verdict
	notIstios bool // Istio's status server has no answer for it
}{
	{name: "http", configs: []string{"default", "container", "own-port"}, native: neverReadyAndRestarted, rewritten: ready},
	{name: "named-port", native: neverReadyAndRestarted, rewritten: ready},
	{name: "https", native: neverReadyAndRestarted, rewritten: ready},
	{name: "grpc", native: neverReadyAndRestarted, rewritten: ready},
	{name: "two-containers", native: neverReadyAndRestarted, rewritten: ready},
	{name: "native-sidecar", native: neverReadyAndRestarted, rewritten: ready},
	{name: "slow-start", native: neverReadyAndRestarted, rewritten: ready},
	{name: "request", native: neverReady, rewritten: ready},
	{name: "redirect", native: neverReady, rewritten: ready},
	{name: "job", native: succeededUnready, rewritten: succeeded},
	{name: "hooks", configs: []string{"default", "container"}, native: hookFails, rewritten: ready},
	// A broken app must not look healthy. Without rewriting it does if the
	// probe only connects, since the redirection accepts every connection.
	{name: "tcp-dead", native: ready, lies: true, rewritten: neverReady},
	{name: "tcp-dead-liveness", native: ready, lies: true, rewritten: restarted},
	{name: "tcp", native: ready, rewritten: ready},
	{name: "failing", native: neverReady, rewritten: neverReady},
	{name: "grpc-not-serving", native: neverReady, rewritten: neverReady},
	{name: "opted-out", native: neverReady, rewritten: neverReady, notIstios: true},
	// Istio's agent does not support these.
	{name: "h2c", native: neverReadyAndRestarted, rewritten: ready, notIstios: true},
	{name: "grpc-tls", native: neverReadyAndRestarted, rewritten: ready, notIstios: true},
}

func configsOf(configs []string) []string {
	if configs == nil {
		return []string{"default"}
	}
	return configs
}

func TestPodsFareAsExpectedAsTheyAreAndRewritten(t *testing.T) {
	t.Parallel()
	for _, p := range pods {
		t.Run(p.name+"/native", func(t *testing.T) {
			t.Parallel()
			runAndCompare(t, p.name+"-native", p.native, pod(t, p.name, ""))
		})
		for _, config := range configsOf(p.configs) {
			t.Run(p.name+"/rewritten-"+config, func(t *testing.T) {
				t.Parallel()
				runAndCompare(t, p.name+"-"+config, p.rewritten, pod(t, p.name, config))
			})
		}
	}
}

func TestIstiosStatusServerGivesTheSameVerdicts(t *testing.T) {
	t.Parallel()
	for _, p := range pods {
		if p.notIstios {
			continue
		}
		t.Run(p.name+"/istio-status", func(t *testing.T) {
			t.Parallel()
			manifest := pod(t, p.name, "default")
			answeredByIstio(t, manifest)
			runAndCompare(t, p.name+"-istio", p.rewritten, manifest)
		})
	}
}

func TestEveryPodHasAnExpectation(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "test/e2e/pods/*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"hang", "grpc-hang", "dies", "tcp-dies", "default-period", "pre-stop", "first-hook"} // other tests' pods
	for _, p := range pods {
		known = append(known, p.name)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".yaml"); !slices.Contains(known, name) {
			t.Errorf("test/e2e/pods/%s.yaml is in no test", name)
		}
	}
}

func TestTheMeshDemandsAClientCertificate(t *testing.T) {
	t.Parallel()
	demandsCertificate(t, istio, "mesh-check")
}

// demandsCertificate runs a pod that a client with a certificate reaches, and one
// without does not.
func demandsCertificate(t *testing.T, mesh redirection.Mesh, name string) {
	t.Helper()
	startIn(t, mesh, name, pod(t, "http", ""))
	if err := appRuns(name); err != nil {
		t.Fatal(err)
	}
	if err := testutil.Eventually(10*time.Second, func() error { return throughMesh(name, "/healthz") }); err != nil {
		t.Errorf("with a certificate the app must answer: %v", err)
	}
	ip := theNode.State(name).IP
	r, err := http.Get("http://" + net.JoinHostPort(ip, "8080") + "/healthz")
	if err == nil {
		r.Body.Close()
		t.Errorf("without a certificate the app answered %s", r.Status)
	} else {
		note(t, "refuses plain HTTP, serves mTLS", "with a client certificate 200; without: `"+strings.ReplaceAll(err.Error(), ip, "POD")+"`")
	}
	if err := theNode.Remove(name, 60*time.Second); err != nil {
		t.Error(err)
	}
}

// hookOrders are the events that apps write down, by pod and functionConfig
// (none: as it is).
var hookOrders = []struct {
	pod, config string
	want        []string
}{
	{"hooks", "default", []string{started, started, postStart, preStop, terminated, terminated}}, // agent and app
	{"hooks", "container", []string{started, started, postStart, preStop, terminated, terminated}},
	{"pre-stop", "default", []string{started, preStop, terminated}},
	{"pre-stop", "container", []string{started, preStop, terminated}},
	{"pre-stop", "", []string{started, terminated}}, // lost without a word
}

// The events; the kubelet names itself and its version in those of hooks.
var (
	started, terminated = "started", "terminated"
	postStart           = "/hook/post-start kube-lifecycle/" + minorVersion()
	preStop             = "/hook/pre-stop kube-lifecycle/" + minorVersion()
)

// minorVersion returns 1.37 of v1.37.0.
func minorVersion() string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(kubernetes, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	return major + "." + minor
}

func hookVariant(pod, config string) string {
	if config == "" {
		return pod + " as it is"
	}
	return pod + " " + config
}

func TestHooksReachTheAppOnceEachAndInOrder(t *testing.T) {
	t.Parallel()
	for _, c := range hookOrders {
		variant := hookVariant(c.pod, c.config)
		t.Run(variant, func(t *testing.T) {
			t.Parallel()
			compareHooks(t, istio, strings.ReplaceAll("order of "+variant, " ", "-"), c.want, pod(t, c.pod, c.config))
		})
	}
}

// compareHooks runs a pod until it is Ready, removes it, and compares what its
// apps wrote down.
func compareHooks(t *testing.T, mesh redirection.Mesh, name string, want []string, p map[string]any) {
	t.Helper()
	startIn(t, mesh, name, p)
	if _, err := theNode.WaitFor(name, 90*time.Second, func(s node.State) bool { return s.Ready }); err != nil {
		t.Fatal(err, firstFailure(name))
	}
	if err := theNode.Remove(name, 60*time.Second); err != nil {
		t.Error(err)
	}
	events, err := os.ReadFile(node.Dir + "/log/" + name + "-" + node.Name)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(events)) {
		got = append(got, strings.Join(strings.Fields(line)[1:], " "))
	}
	// The kubelet sends the postStart hook as soon as the app's process
	// exists, which may be before that writes that it has started.
	if len(got) > 2 && got[1] == postStart {
		got[1], got[2] = got[2], got[1]
	}
	if !slices.Equal(got, want) {
		t.Errorf("the app saw %q, and must see %q", got, want)
	}
	note(t, strings.Join(want, ", "), strings.Join(got, ", "))
}
