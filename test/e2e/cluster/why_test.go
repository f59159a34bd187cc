package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/why"
)

// Get makes the client what package why asks, as kubectl get --raw answers.
func (c *client) Get(ctx context.Context, path string) ([]byte, error) {
	return c.CoreV1().RESTClient().Get().RequestURI(path).Do(ctx).Raw()
}

// A broken pod, and what must be said of it first.
type broken struct {
	name     string
	variant  variant
	pod      string                         // of ../pods
	original func(app, spec map[string]any) // changes the pod as it is; nil: nothing
	rendered func(pod map[string]any)       // changes it after rewrite-probes; nil: nothing
	what     string
	why      string // a part of it
}

func args(words ...any) func(app, spec map[string]any) {
	return func(app, _ map[string]any) { app["args"] = words }
}

// asks has the readiness probe ask another path or port, for a second.
func asks(path string, port int) func(app, spec map[string]any) {
	return func(app, _ map[string]any) {
		probe := app["readinessProbe"].(map[string]any)
		probe["httpGet"] = map[string]any{"path": path, "port": port}
		probe["timeoutSeconds"] = 1
		delete(app, "startupProbe")
		delete(app, "livenessProbe")
	}
}

// proxyOf returns the container probe-proxy of a rewritten pod.
func proxyOf(pod map[string]any) map[string]any {
	return pod["spec"].(map[string]any)["initContainers"].([]any)[0].(map[string]any)
}

const readiness = "the readiness probe of app fails"

var brokenPods = []broken{
	{name: "fails", variant: byProbeProxy, pod: "failing", what: readiness, why: "The app answers 503: failed on demand"},
	{name: "deaf", variant: byProbeProxy, pod: "http", original: asks("/healthz", 8081), what: readiness, why: "Nothing listens where the probe asks"},
	{name: "slow", variant: byProbeProxy, pod: "http", original: asks("/hook/post-start?for=10s", 8080), what: readiness, why: "The app is too slow: timeoutSeconds is 1"},
	{name: "not-serving", variant: byProbeProxy, pod: "grpc-not-serving", what: readiness, why: "NOT_SERVING"},
	{name: "captured", variant: byProbeProxy, pod: "http", original: asks("/healthz", 8080), rendered: func(pod map[string]any) {
		delete(pod["metadata"].(map[string]any)["annotations"].(map[string]any), "traffic.sidecar.istio.io/excludeInboundPorts")
	}, what: readiness, why: "istio-proxy captures port 15099"},
	{name: "edited", variant: byProbeProxy, pod: "http", original: asks("/healthz", 8080), rendered: func(pod map[string]any) {
		app := pod["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)
		app["readinessProbe"].(map[string]any)["httpGet"].(map[string]any)["path"] = "/app-health/renamed/readyz"
	}, what: readiness, why: "are from different renders, or were edited"},
	{name: "damaged", variant: byProbeProxy, pod: "http", rendered: func(pod map[string]any) {
		p := proxyOf(pod)
		p["env"] = append(p["env"].([]any), map[string]any{"name": "GOMEMLIMIT", "value": "much"})
	}, what: "probe-proxy is not up, so it answers no probe", why: "malformed GOMEMLIMIT"},
	{name: "no-image", variant: byProbeProxy, pod: "http", rendered: func(pod map[string]any) {
		p := proxyOf(pod)
		p["image"], p["imagePullPolicy"] = "localhost/nowhere:e2e", "Never"
	}, what: "container probe-proxy does not start: ErrImageNeverPull", why: "localhost/nowhere:e2e"},
	{name: "hook", variant: byProbeProxy, pod: "http", original: func(app, _ map[string]any) {
		app["lifecycle"] = map[string]any{"postStart": map[string]any{"httpGet": map[string]any{"path": "/", "port": 8081}}}
	}, what: "the postStart hook of app fails", why: "Nothing listens where the probe asks"},
	{name: "ends", variant: byProbeProxy, pod: "http", original: args("-nonsense"), what: "no probe ended container app", why: "Its process ended by itself with exit code 2"},
	{name: "no-node", variant: byProbeProxy, pod: "http", original: func(_, spec map[string]any) {
		spec["nodeSelector"] = map[string]any{"e2e/nowhere": "true"}
	}, what: "the pod has no node yet, so no probe is made", why: "nodes are available"},
	{name: "refused", variant: asItIs, pod: "http", original: asks("/healthz", 8080), what: readiness, why: "istio-proxy captures the probe, and the kubelet has no client certificate"},
	{name: "fails", variant: noMesh, pod: "failing", what: readiness, why: "The app answers 503"},
	{name: "deaf", variant: noMesh, pod: "http", original: asks("/healthz", 8081), what: readiness, why: "Nothing listens where the probe asks"},
	{name: "slow", variant: noMesh, pod: "http", original: asks("/hook/post-start?for=10s", 8080), what: readiness, why: "The app is too slow: timeoutSeconds is 1"},
}

func TestWhyNamesTheCauseOfABrokenPod(t *testing.T) {
	for _, b := range brokenPods {
		t.Run(b.variant.name+"-"+b.name, func(t *testing.T) {
			t.Parallel()
			m := manifestsOf(t, row{pod: b.pod, mode: strictMode}, b.variant)
			name := "why-" + b.variant.name + "-" + b.name
			m.original = podManifest(t, b.pod, name, m.namespace, nil)
			if b.original != nil {
				m.original = edited(t, m.original, b.original)
			}
			if err := applyPod(rendered(t, m.pod(t), b.rendered)); err != nil {
				t.Fatal(err)
			}
			defer remove(t, m.namespace, name)
			err := testutil.Eventually(3*time.Minute, func() error {
				e, err := why.Gather(context.Background(), api, m.namespace, name, config.IsMeshProxy)
				if err != nil {
					return err
				}
				said := e.Answer()
				if len(said) < 2 || !strings.HasSuffix(said[0], ": "+b.what) || !strings.Contains(said[1], b.why) {
					return fmt.Errorf("why says\n%s", strings.Join(said, "\n"))
				}
				return nil
			})
			if err != nil {
				t.Errorf("it must say %q, since %q: %v", b.what, b.why, err)
			}
		})
	}
}

// rendered returns a pod's manifest after a change.
func rendered(t *testing.T, manifest string, change func(pod map[string]any)) string {
	t.Helper()
	if change == nil {
		return manifest
	}
	pod := map[string]any{}
	if err := yaml.Unmarshal([]byte(manifest), &pod); err != nil {
		t.Fatal(err)
	}
	change(pod)
	out, err := yaml.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestWhySaysThatAPodIsHealthy(t *testing.T) {
	t.Parallel()
	namespace, name := start(t, "http", "why-healthy", byProbeProxy)
	defer remove(t, namespace, name)
	e, err := why.Gather(context.Background(), api, namespace, "pod/"+name, config.IsMeshProxy)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Pod " + namespace + "/" + name + ": all containers are ready, and no probe fails"}
	if !slices.Equal(e.Answer(), want) {
		t.Errorf("why says %q", e.Answer())
	}
}
