package cluster

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/node"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/verdict"
)

// podReady waits until a pod is ready.
func podReady(name string) error {
	_, err := theNode.WaitFor(name, 3*time.Minute, func(s node.State) bool { return s.Ready })
	if err != nil {
		return fmt.Errorf("%w%s", err, verdict.FirstFailure(theNode, name))
	}
	return nil
}

// apply runs a pod of ../pods in the strict mesh. It returns the pod's namespace and name.
func apply(t *testing.T, pod, purpose string, v variant) (namespace, name string) {
	t.Helper()
	m := manifestsOf(t, row{pod: pod, mode: strictMode}, v)
	name = purpose + "-" + v.name
	m.original = podManifest(t, pod, name, m.namespace, nil)
	if err := applyPod(m.pod(t)); err != nil {
		t.Fatal(err)
	}
	return m.namespace, name
}

// start does so and waits until the pod is ready.
func start(t *testing.T, pod, purpose string, v variant) (namespace, name string) {
	t.Helper()
	namespace, name = apply(t, pod, purpose, v)
	if err := podReady(name); err != nil {
		t.Fatal(err)
	}
	return namespace, name
}

func remove(t *testing.T, namespace, name string) {
	t.Helper()
	if err := removePod(namespace, name); err != nil {
		t.Error(err)
	}
}

func TestAnAppThatStopsListeningIsRestarted(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(v.title, func(t *testing.T) {
			t.Parallel()
			namespace, name := start(t, "tcp", "stops", v)
			defer remove(t, namespace, name)
			if err := ask(namespace, name, "http://127.0.0.1:8080/control/close"); err != nil {
				t.Fatal(err)
			}
			if v.noRewriting {
				time.Sleep(15 * time.Second) // seven periods
				if s := theNode.State(name); !s.Ready || verdict.Restarts(s) > 0 {
					t.Errorf("what the mesh accepts must pass: %s", s)
				}
				note(t, "nothing happens: falsely Ready, no restarts", "falsely Ready, no restarts in 15 s")
				return
			}
			closed := time.Now()
			s, err := theNode.WaitFor(name, 2*time.Minute, func(s node.State) bool { return s.Containers["app"].Restarts > 0 })
			if err != nil {
				t.Fatal(err)
			}
			after := s.At.Sub(closed)
			if _, err := theNode.WaitFor(name, 2*time.Minute, func(s node.State) bool { return s.Ready }); err != nil {
				t.Error(err)
			}
			note(t, "restarted, then Ready", fmt.Sprintf("restarted %.1f s after it stopped listening (period 2 s × threshold 3), then Ready", after.Seconds()))
		})
	}
}

// How long the hook of the draining pods takes, and how long their apps may take in all.
const (
	drains = 2 * time.Second
	grace  = 5 * time.Second
)

func TestAPreStopHookDrainsTheAppWithinAGraceOfFiveSeconds(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		for _, ordinary := range []bool{false, true} {
			title := v.title
			if ordinary {
				if !v.rewritten {
					continue // Istio's agent may end before the hook, and what is not rewritten has the same end
				}
				title += ", ordinary sidecar"
			}
			t.Run(title, func(t *testing.T) {
				t.Parallel()
				drainsInTime(t, row{pod: "pre-stop", mode: strictMode, ordinary: ordinary}, v)
			})
		}
	}
}

// drainsInTime runs a pod, removes it, and compares what the app saw.
func drainsInTime(t *testing.T, r row, v variant) {
	m := manifestsOf(t, r, v)
	m.original = edited(t, m.original, drainInTime)
	if err := applyPod(m.pod(t)); err != nil {
		t.Fatal(err)
	}
	name := r.key(v)
	if err := podReady(name); err != nil {
		t.Fatal(err)
	}
	remove(t, m.namespace, name)
	want := []string{"started", "/hook/pre-stop kube-lifecycle/" + minorVersion(), "terminated"}
	isLost := v.leavesHooks()
	if isLost {
		want = []string{"started", "terminated"} // lost without a word
	}
	got, at, err := events(name)
	if err != nil {
		t.Fatal(err)
	}
	if v == istioRewrites && !isLost && len(got) > 1 { // Istio's agent says nothing of the kubelet
		got[1], want[1] = strings.Fields(got[1])[0], "/hook/pre-stop"
	}
	saw := strings.Join(got, ", ")
	if !slices.Equal(got, want) {
		t.Fatalf("the app saw %q, and must see %q", got, want)
	}
	if !isLost {
		took := at[2].Sub(at[1])
		if took < drains || took >= grace {
			t.Errorf("the app was terminated %s after its hook began, and must be after %s and before %s", took, drains, grace)
		}
		saw += fmt.Sprintf(" %.1f s later", took.Seconds())
	}
	note(t, strings.Join(want, ", "), saw)
}

func drainInTime(app, spec map[string]any) {
	spec["terminationGracePeriodSeconds"] = int64(grace.Seconds())
	hook := app["lifecycle"].(map[string]any)["preStop"].(map[string]any)["httpGet"].(map[string]any)
	hook["path"] = fmt.Sprintf("%s?for=%s", hook["path"], drains)
}

// events returns what the app of a pod has written down, and when.
func events(pod string) (all []string, at []time.Time, err error) {
	text, err := os.ReadFile(node.Dir + "/log/" + pod)
	if err != nil {
		return nil, nil, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		when, err := time.Parse(time.RFC3339Nano, fields[0])
		if err != nil {
			return nil, nil, err
		}
		all = append(all, strings.Join(fields[1:], " "))
		at = append(at, when)
	}
	return all, at, nil
}

// minorVersion returns 1.37 of v1.37.0.
func minorVersion() string {
	return strings.Join(strings.Split(strings.TrimPrefix(kubernetes, "v"), ".")[:2], ".")
}

func TestACertificateIsRotatedUnderAReadyPod(t *testing.T) {
	t.Parallel()
	v := byProbeProxy
	r := row{pod: "http", mode: strictMode, setting: setting{"rotated", "proxy.istio.io/config", "proxyMetadata: {SECRET_TTL: 60s}"}}
	m := manifestsOf(t, r, v)
	name := r.key(v)
	if err := applyPod(m.pod(t)); err != nil {
		t.Fatal(err)
	}
	defer remove(t, m.namespace, name)
	if err := podReady(name); err != nil {
		t.Fatal(err)
	}
	first, err := certificateOf(m.namespace, name)
	if err != nil {
		t.Fatal(err)
	}
	err = testutil.Eventually(2*time.Minute, func() error {
		now, err := certificateOf(m.namespace, name)
		if err == nil && now == first {
			err = fmt.Errorf("the certificate is still %s", first)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := stillReady(name); err != nil {
		t.Error(err)
	}
	note(t, "stays Ready, no restarts", "Ready, no restarts")
}

// serialNumber is that of a certificate in Envoy's list.
var serialNumber = regexp.MustCompile(`"serial_number": "(\w+)"`)

// certificateOf returns the serial numbers of the certificates of a pod's sidecar.
func certificateOf(namespace, pod string) (string, error) {
	text, err := api.exec(namespace, pod, "istio-proxy", "pilot-agent", "request", "GET", "certs")
	if err != nil {
		return "", err
	}
	var all []string
	for _, m := range serialNumber.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	if len(all) == 0 {
		return "", fmt.Errorf("no certificate in %s", text)
	}
	slices.Sort(all)
	return strings.Join(all, " "), nil
}

// TestReadyPodsOutliveWhatIsAroundThem comes before the tests that run at once: it
// stops what all of them need.
func TestReadyPodsOutliveWhatIsAroundThem(t *testing.T) {
	pods := []string{}
	for _, v := range []variant{istioRewrites, byProbeProxy, byIstiosAgent} {
		namespace, name := apply(t, "http", "outlives", v)
		pods = append(pods, name)
		defer remove(t, namespace, name)
	}
	for _, name := range pods {
		if err := podReady(name); err != nil {
			t.Fatal(err)
		}
	}
	calm := func(t *testing.T) {
		t.Helper()
		for _, name := range pods {
			if err := stillReady(name); err != nil {
				t.Error(err)
			}
		}
	}
	t.Run("istiod goes away", func(t *testing.T) {
		if err := scaleIstiod(0); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := scaleIstiod(1); err != nil {
				t.Error(err)
			}
			if err := api.deploymentReady("istio-system", "istiod", 3*time.Minute); err != nil {
				t.Error(err)
			}
		}()
		calm(t)
		note(t, "stay Ready, no restarts", "Ready, no restarts")
	})
	t.Run("the kubelet is restarted", func(t *testing.T) {
		if err := theNode.RestartKubelet(); err != nil {
			t.Fatal(err)
		}
		calm(t)
		note(t, "Ready, no restarts", "Ready, no restarts")
	})
	t.Run("the sidecar is killed", func(t *testing.T) {
		name := "outlives-" + byProbeProxy.name
		if err := theNode.Kill(name, "istio-proxy"); err != nil {
			t.Fatal(err)
		}
		s, err := theNode.WaitFor(name, 2*time.Minute, func(s node.State) bool { return s.Containers["istio-proxy"].Restarts == 1 && s.Ready })
		if err != nil {
			t.Fatal(err)
		}
		if n := verdict.AppRestarts(s); n != 0 {
			t.Errorf("the app was restarted %d times: %s", n, s)
		}
		note(t, "istio-proxy is restarted, the app is not", s.String())
	})
}

// stillReady waits for six more probes of a pod that pass, and returns an error
// unless it is Ready then and nothing was restarted. A kubelet that was restarted counts
// from zero.
func stillReady(name string) error {
	before, err := theNode.ProbeCounts(name)
	if err != nil {
		return err
	}
	return testutil.Eventually(time.Minute, func() error {
		counts, err := theNode.ProbeCounts(name)
		if err != nil {
			return err
		}
		if passed := counts["successful"]; passed < before["successful"]+6 {
			return fmt.Errorf("only %.0f probes of %s passed after %.0f", passed, name, before["successful"])
		}
		if s := theNode.State(name); !s.Ready || verdict.Restarts(s) > 0 {
			return fmt.Errorf("must be Ready without restarts: %s", s)
		}
		return nil
	})
}

// scaleIstiod runs so many istiods of the default revision, and waits until the others are
// gone.
func scaleIstiod(replicas int) error {
	err := api.patchDeployment("istio-system", "istiod", fmt.Sprintf(`{"spec": {"replicas": %d}}`, replicas))
	if err != nil || replicas > 0 {
		return err
	}
	now := int64(0)
	selector := metav1.ListOptions{LabelSelector: "app=istiod,istio.io/rev=default"}
	return testutil.Eventually(2*time.Minute, func() error {
		pods := api.CoreV1().Pods("istio-system")
		err := pods.DeleteCollection(context.Background(), metav1.DeleteOptions{GracePeriodSeconds: &now}, selector)
		if err != nil {
			return err
		}
		list, err := pods.List(context.Background(), selector)
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("%d pods of istiod are left", len(list.Items))
		}
		return err
	})
}
