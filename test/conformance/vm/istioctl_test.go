package vm

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networking "istio.io/api/networking/v1alpha3"
	"istio.io/istio/istioctl/pkg/cli"
	"istio.io/istio/istioctl/pkg/workload"
	"istio.io/istio/pilot/cmd/pilot-agent/status"
	"istio.io/istio/pkg/kube"
	"istio.io/istio/pkg/util/protomarshal"
)

// A machine is what `istioctl x workload entry configure` writes for one: the
// probe that the agent reads from mesh.yaml, and the env vars that its start
// script reads from cluster.env.
type machine struct {
	probe     *networking.ReadinessProbe
	env       string // the originals
	localhost string // localhostEnv
}

// localhostEnv sends the probes of the agent's status server to localhost.
var localhostEnv = status.LegacyLocalhostProbeDestination.Name

func configure(t *testing.T, namespace, group string) machine {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "group.yaml")
	if err := os.WriteFile(file, []byte(group), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := cli.NewFakeContext(&cli.NewFakeContextOption{IstioNamespace: "istio-system"})
	client, err := ctx.CLIClientWithRevision(ctx.RevisionOrDefault(""))
	if err != nil {
		t.Fatal(err)
	}
	prepare(t, client, namespace)
	cmd := workload.Cmd(ctx)
	cmd.SetArgs([]string{"entry", "configure", "-f", file, "--internalIP", "127.0.0.1", "--ingressIP", "10.0.0.1", "--clusterID", "Kubernetes", "-o", dir})
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	if err := cmd.Execute(); err != nil {
		t.Fatalf("%v of\n%s", err, group)
	}
	var mesh struct {
		DefaultConfig struct {
			ReadinessProbe any `yaml:"readinessProbe"`
		} `yaml:"defaultConfig"`
	}
	text, err := os.ReadFile(filepath.Join(dir, "mesh.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &mesh)
	}
	if err != nil {
		t.Fatal(err)
	}
	m := machine{probe: &networking.ReadinessProbe{}}
	if err := protomarshal.ApplyJSON(inJSON(t, mesh.DefaultConfig.ReadinessProbe), m.probe); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	// As the start script of Istio's packages reads it.
	for name, value := range map[string]*string{status.KubeAppProberEnvName: &m.env, localhostEnv: &m.localhost} {
		out, err := exec.Command("bash", "-c", "set -a; . "+filepath.Join(dir, "cluster.env")+"; echo \"$"+name+"\"").Output()
		if err != nil {
			t.Fatal(err)
		}
		*value = strings.TrimSuffix(string(out), "\n")
	}
	return m
}

// prepare creates what istioctl looks for in a cluster with groups of a namespace.
func prepare(t *testing.T, client kube.CLIClient, of string) {
	t.Helper()
	for namespace, maps := range map[string][]corev1.ConfigMap{
		of:             {{ObjectMeta: metav1.ObjectMeta{Name: "istio-ca-root-cert"}, Data: map[string]string{"root-cert.pem": "a"}}},
		"istio-system": {{ObjectMeta: metav1.ObjectMeta{Name: "istio"}, Data: map[string]string{"mesh": "defaultConfig: {proxyMetadata: {OF_THE_MESH: a}}"}}},
	} {
		for i := range maps {
			if _, err := client.Kube().CoreV1().ConfigMaps(namespace).Create(t.Context(), &maps[i], metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := client.Kube().CoreV1().ServiceAccounts(of).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
