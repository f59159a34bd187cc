package cluster

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// shopIn returns what kustomize makes of ./shop, in another namespace.
func shopIn(t *testing.T, namespace string) string {
	t.Helper()
	out, err := testutil.Output(exec.Command(filepath.Join(root, "bin/kustomize"), "build", filepath.Join(root, "test/e2e/cluster/shop")))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(out), "namespace: shop\n", "namespace: "+namespace+"\n")
	return strings.ReplaceAll(text, "name: shop\n", "name: "+namespace+"\n")
}

// bringUp applies the shop and waits until it is ready.
func bringUp(t *testing.T, namespace, manifests string) {
	t.Helper()
	if err := api.applyTo(namespace, manifests); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := api.removeNamespace(namespace); err != nil {
			t.Error(err)
		}
	})
	for _, name := range []string{"web", "reviews"} {
		if err := api.deploymentReady(namespace, name, 4*time.Minute); err != nil {
			t.Fatal(err)
		}
	}
}

func TestABuildOfKustomizeThroughRewriteProbesComesUpAndTalksByMTLS(t *testing.T) {
	t.Parallel()
	bringUp(t, "store", rewrite(t, shopIn(t, "store")))
	server := onePod(t, "store", "app=web")
	before := handshakes(t, "store", server)
	client := onePod(t, "store", "app=reviews")
	if err := ask("store", client, "http://web/healthz"); err != nil {
		t.Errorf("from pod to pod in the mesh: %v", err)
	}
	after := handshakes(t, "store", server)
	if after <= before {
		t.Errorf("the server's sidecar counts %d TLS handshakes before the request and %d after it", before, after)
	}
	certificates, err := api.exec("store", server, "istio-proxy", "pilot-agent", "request", "GET", "certs")
	if err != nil {
		t.Fatal(err)
	}
	const identity = "spiffe://cluster.local/ns/store/sa/default"
	if !strings.Contains(certificates, identity) {
		t.Errorf("the sidecar's certificate is not for %s:\n%s", identity, certificates)
	}
	outside := outsider(t)
	if ask("outside", outside, "http://web.store/healthz") == nil {
		t.Error("a pod outside the mesh was answered, which STRICT forbids")
	}
	note(t, "ready; mTLS handshakes between its pods; a client outside the mesh is refused",
		fmt.Sprintf("%d handshakes before a request and %d after; a client outside the mesh is refused", before, after))
}

// outsider runs a pod outside the mesh, and returns its name.
func outsider(t *testing.T) string {
	t.Helper()
	const around = `{apiVersion: v1, kind: Namespace, metadata: {name: outside, labels: {istio-injection: disabled}}}`
	if err := makeOnce("outside", around); err != nil {
		t.Fatal(err)
	}
	name := strings.ToLower(strings.TrimPrefix(t.Name(), "Test"))[:20] + "-outside"
	if err := api.apply(podManifest(t, "http", name, "outside", nil)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := removePod("outside", name); err != nil {
			t.Error(err)
		}
	})
	if err := podReady(name); err != nil {
		t.Fatal(err)
	}
	return name
}

// onePod returns the name of the one pod with a label.
func onePod(t *testing.T, namespace, selector string) string {
	t.Helper()
	pods, err := api.podsOf(namespace, selector)
	if err != nil {
		t.Fatal(err)
	}
	return pods[0].Name
}

// ask has the app of a pod request a URL; any answer but 200 is an error.
func ask(namespace, pod, url string) error {
	_, err := api.exec(namespace, pod, "app", "/app", "-get", url)
	return err
}

// handshake is a counter of the listener for inbound connections.
var handshake = regexp.MustCompile(`(?m)^listener\.0\.0\.0\.0_15006\.ssl\.handshake: (\d+)$`)

// handshakes returns how many TLS handshakes a pod's sidecar has completed as the server.
func handshakes(t *testing.T, namespace, pod string) int {
	t.Helper()
	stats, err := api.exec(namespace, pod, "istio-proxy", "pilot-agent", "request", "GET", "stats?filter=ssl.handshake")
	if err != nil {
		t.Fatal(err)
	}
	count := handshake.FindStringSubmatch(stats)
	if count == nil {
		t.Fatalf("no counter of handshakes in\n%s", stats)
	}
	n, err := strconv.Atoi(count[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The old pod's hook is answered when the client's Envoy sends it nothing any more: how long
// istiod takes to say so is no part of what is tested.
//
// It runs alone: beside dozens of pods that start, the readiness probe of the one new pod may time out, and then the
// service has no endpoint, whoever answers the probe.
func TestARolloutLosesNoRequestThatItWouldNotLoseWithoutRewriteProbes(t *testing.T) {
	held := strings.NewReplacer("?for=3s", "?until=released", "GracePeriodSeconds: 10", "GracePeriodSeconds: 90")
	bringUp(t, "rollout", rewrite(t, held.Replace(shopIn(t, "rollout"))))
	client := onePod(t, "rollout", "app=reviews")
	old := onePod(t, "rollout", "app=web")
	address := addressOf(t, "rollout", old)
	answered := make(chan string, 1)
	failed := make(chan error, 1)
	const serving = "http://127.0.0.1:8080/healthz" // of the client, until it is told to fail
	go func() {
		out, err := api.execFor(5*time.Minute, "rollout", client, "app", "/app", "-get", "http://web/healthz", "-while", serving)
		answered <- out
		failed <- err
	}()
	if err := api.restart("rollout", "web"); err != nil {
		t.Fatal(err)
	}
	if err := api.deploymentReady("rollout", "web", 2*time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := sendsNothing("rollout", client, address); err != nil {
		t.Fatal(err)
	}
	if err := ask("rollout", old, "http://127.0.0.1:8080/control/release"); err != nil {
		t.Errorf("the old pod did not live until its hook was answered: %v", err)
	}
	if err := api.podGone("rollout", old); err != nil {
		t.Error(err)
	}
	if err := ask("rollout", client, "http://127.0.0.1:8080/control/fail"); err != nil {
		t.Fatal(err)
	}
	if err := ask("rollout", onePod(t, "rollout", "app=web"), "http://127.0.0.1:8080/control/release"); err != nil {
		t.Error(err) // its end would take the whole grace period
	}
	saw := strings.TrimSpace(<-answered)
	if err := <-failed; err != nil {
		t.Errorf("%s: %v", saw, err)
	}
	note(t, "no request lost", saw)
}

// addressOf returns the address of a pod.
func addressOf(t *testing.T, namespace, pod string) string {
	t.Helper()
	p, err := api.CoreV1().Pods(namespace).Get(context.Background(), pod, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p.Status.PodIP
}

// sendsNothing waits until the Envoy of a pod has no endpoint at an address.
func sendsNothing(namespace, pod, address string) error {
	return testutil.Eventually(time.Minute, func() error {
		clusters, err := api.exec(namespace, pod, "istio-proxy", "pilot-agent", "request", "GET", "clusters")
		if err != nil {
			return err
		}
		if strings.Contains(clusters, "::"+address+":") {
			return fmt.Errorf("the Envoy of %s still has endpoints at %s", pod, address)
		}
		return nil
	})
}
