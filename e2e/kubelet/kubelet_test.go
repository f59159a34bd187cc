package kubelet

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/e2e/node"
)

// pods are the expectations: a manifest of ../pods, the functionConfigs it
// is rewritten with ("default" where none is named), how it fares as it is,
// and how it fares rewritten.
var pods = []struct {
	name      string
	configs   []string
	native    verdict
	rewritten verdict
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
	{name: "hooks", native: hookFails, rewritten: ready},
	// What is broken must not look healthy. The first two native verdicts
	// are the false ones: the redirection accepts every connection.
	{name: "tcp-dead", native: ready, rewritten: neverReady},
	{name: "tcp-dead-liveness", native: ready, rewritten: restarted},
	{name: "tcp", native: ready, rewritten: ready},
	{name: "failing", native: neverReady, rewritten: neverReady},
	{name: "grpc-not-serving", native: neverReady, rewritten: neverReady},
	{name: "opted-out", native: neverReady, rewritten: neverReady},
}

func TestPodsFareAsExpectedAsTheyAreAndRewritten(t *testing.T) {
	for _, p := range pods {
		if p.configs == nil {
			p.configs = []string{"default"}
		}
		t.Run(p.name+"/native", func(t *testing.T) {
			t.Parallel()
			judge(t, p.name+"-native", p.native, pod(t, p.name, ""))
		})
		for _, config := range p.configs {
			t.Run(p.name+"/rewritten-"+config, func(t *testing.T) {
				t.Parallel()
				judge(t, p.name+"-"+config, p.rewritten, pod(t, p.name, config))
			})
		}
	}
}

func TestIstiosStatusServerGivesTheSameVerdicts(t *testing.T) {
	for _, p := range pods {
		if p.name == "opted-out" {
			continue // nobody answers for it
		}
		t.Run(p.name+"/istio-status", func(t *testing.T) {
			t.Parallel()
			manifest := pod(t, p.name, "default")
			answeredByIstio(t, manifest)
			judge(t, p.name+"-istio", p.rewritten, manifest)
		})
	}
}

func TestEveryPodHasAnExpectation(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "e2e/pods/*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"hang", "grpc-hang", "dies", "tcp-dies", "default-period"} // these are broken on purpose, below
	for _, p := range pods {
		known = append(known, p.name)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".yaml"); !slices.Contains(known, name) {
			t.Errorf("e2e/pods/%s.yaml is in no test", name)
		}
	}
}

func TestTheMeshDemandsAClientCertificate(t *testing.T) {
	t.Parallel()
	const name = "mesh-check"
	start(t, name, pod(t, "http", ""))
	if err := appRuns(name); err != nil {
		t.Fatal(err)
	}
	if err := eventually(10*time.Second, func() error { return throughMesh(name, "/healthz") }); err != nil {
		t.Errorf("with a certificate the app must answer: %v", err)
	}
	r, err := http.Get("http://" + theNode.State(name).IP + ":8080/healthz")
	if err == nil {
		r.Body.Close()
		t.Errorf("without a certificate the app answered %s", r.Status)
	} else {
		note(t, "refuses plain HTTP, serves mTLS", "with a client certificate 200; without: `"+strings.ReplaceAll(err.Error(), theNode.State(name).IP, "POD")+"`")
	}
	if err := theNode.Remove(name, 60*time.Second); err != nil {
		t.Error(err)
	}
}

func TestHooksReachTheAppOnceEachAndInOrder(t *testing.T) {
	t.Parallel()
	const name = "hooks-order"
	start(t, name, pod(t, "hooks", "default"))
	if _, err := theNode.WaitFor(name, 90*time.Second, func(s node.State) bool { return s.Ready }); err != nil {
		t.Fatal(err)
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
	want := []string{"started", "/hook/post-start kube-lifecycle/1.35", "/hook/pre-stop kube-lifecycle/1.35", "terminated"}
	if !slices.Equal(got, want) {
		t.Errorf("the app saw %q, and must see %q", got, want)
	}
	note(t, "postStart, then preStop before SIGTERM", "the app saw: "+strings.Join(got, ", "))
}
