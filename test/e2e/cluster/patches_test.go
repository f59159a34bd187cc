package cluster

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	kubectl "k8s.io/kubectl/pkg/cmd/kustomize"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// TestABuildOfKubectlKustomizeWithPatchesComesUp has the Deployments of ./shop rewritten by plain patches, which
// kubectl's own kustomize applies.
func TestABuildOfKubectlKustomizeWithPatchesComesUp(t *testing.T) {
	t.Parallel()
	const namespace = "patched"
	base := t.TempDir()
	if err := os.CopyFS(filepath.Join(base, "shop"), os.DirFS(filepath.Join(root, "test/e2e/cluster/shop"))); err != nil {
		t.Fatal(err)
	}
	writeKustomization(t, base, "prod", "namespace: "+namespace+"\nresources: [../shop]\n")
	finished := kubectlKustomize(t, filepath.Join(base, "prod"))
	writeKustomization(t, base, "prod-probes", patches(t, finished))
	bringUp(t, namespace, kubectlKustomize(t, filepath.Join(base, "prod-probes")))
	const probeProxy, istiosAgent = 15099, 15020
	for app, answers := range map[string]int{"web": probeProxy, "reviews": istiosAgent} {
		pods, err := api.podsOf(namespace, "app="+app)
		if err != nil {
			t.Fatal(err)
		}
		mustAsk(t, pods[0], answers)
		if err := stillReady(pods[0].Name); err != nil {
			t.Error(err)
		}
	}
	note(t, "Ready, no restarts", "Ready, no restarts, by probe-proxy and by Istio's agent")
}

func writeKustomization(t *testing.T, base, folder, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(base, folder), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(base, folder, "kustomization.yaml"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// kubectlKustomize does what `kubectl kustomize FOLDER` does.
func kubectlKustomize(t *testing.T, folder string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := kubectl.NewCmdKustomize(genericiooptions.IOStreams{Out: &out, ErrOut: os.Stderr})
	cmd.SetArgs([]string{folder})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// patches returns the kustomization that patches the finished build of ../prod.
func patches(t *testing.T, finished string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(root, "bin/rewrite-probes"),
		"patches", "--resource", "../prod", "-", "--config", configFile)
	cmd.Stdin = strings.NewReader(finished)
	out, err := testutil.Output(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// mustAsk reports the probes and hooks of an app that do not go to a port for their app.
func mustAsk(t *testing.T, pod corev1.Pod, port int) {
	t.Helper()
	i := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == "app" })
	app := pod.Spec.Containers[i]
	asked := map[string]*corev1.HTTPGetAction{}
	for kind, p := range map[string]*corev1.Probe{"startup": app.StartupProbe, "readiness": app.ReadinessProbe, "liveness": app.LivenessProbe} {
		if p != nil {
			asked[kind] = p.HTTPGet
		}
	}
	if app.Lifecycle != nil {
		asked["preStop"] = app.Lifecycle.PreStop.HTTPGet
	}
	if len(asked) < 2 {
		t.Errorf("pod %s has %d probes and hooks", pod.Name, len(asked))
	}
	for kind, get := range asked {
		if get == nil || get.Port.IntValue() != port || !strings.Contains(get.Path, "/app/") {
			t.Errorf("%s of pod %s is not for port %d: %+v", kind, pod.Name, port, get)
		}
	}
}
