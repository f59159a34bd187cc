package istiod

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
	"istio.io/istio/istioctl/pkg/cli"
	"istio.io/istio/istioctl/pkg/workload"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

const groups = networking + "shop/workloadgroups"

// withWebhook registers istiod's webhook with the API server, as Istio's chart
// does, for the time of the test. istiod itself adds its CA to it.
func withWebhook(t *testing.T) {
	t.Helper()
	const path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
	if err := errors.Join(
		// In a cluster this service leads to istiod's pods; here, to the loopback interface.
		create("/api/v1/namespaces/istio-system/services", `{apiVersion: v1, kind: Service, metadata: {name: istiod},
			spec: {type: ExternalName, externalName: localhost, ports: [{name: https-webhook, port: 15017}]}}`),
		create(path, `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration,
			metadata: {name: istio-validator-istio-system, labels: {app: istiod, istio: istiod, istio.io/rev: default}},
			webhooks: [{name: rev.validation.istio.io, failurePolicy: Ignore, sideEffects: None, admissionReviewVersions: [v1],
			clientConfig: {service: {name: istiod, namespace: istio-system, port: 15017, path: /validate}},
			rules: [{operations: [CREATE, UPDATE], apiGroups: [networking.istio.io], apiVersions: ["*"], resources: ["*"]}]}]}`),
	); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := api.Call(http.MethodDelete, path+"/istio-validator-istio-system", nil); err != nil {
			t.Error(err)
		}
	})
	// istiod makes the webhook fail closed once it has seen it refuse something.
	err := testutil.Eventually(time.Minute, func() error {
		a, err := api.Call(http.MethodGet, path+"/istio-validator-istio-system", nil)
		if err == nil && !strings.Contains(string(a.Body), `"failurePolicy":"Fail"`) {
			err = errors.New("istiod has not taken over the webhook")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// rewrite returns what rewrite-probes makes of a manifest.
func rewrite(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "group.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(root, "bin/rewrite-probes"), file)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if string(out) == text {
		t.Fatalf("not rewritten:\n%s", text)
	}
	return string(out)
}

// machineGroup is a WorkloadGroup whose machines have Istio's sidecar.
func machineGroup(name, probe string) string {
	return "apiVersion: networking.istio.io/v1\nkind: WorkloadGroup\nmetadata:\n  name: " + name + "\n  namespace: shop\nspec:\n" +
		"  metadata:\n    labels: {app: " + name + "}\n  template: {serviceAccount: reviews-vm}\n  probe: {failureThreshold: 3, " + probe + "}\n"
}

// take has the API server take a group, for the time of the test.
func take(t *testing.T, name, text string) {
	t.Helper()
	a, err := api.Call(http.MethodPost, groups, []byte(text))
	if err != nil || !a.Accepted() {
		t.Fatalf("%v: %d %s of\n%s", err, a.Status, a.Message, text)
	}
	t.Cleanup(func() {
		if _, err := api.Call(http.MethodDelete, groups+"/"+name, nil); err != nil {
			t.Error(err)
		}
	})
}

func TestTheWebhookTakesARewrittenGroup(t *testing.T) {
	startIstiod(t, "one", 15010)
	withWebhook(t)
	byHand := machineGroup("grpc-by-hand", "grpc: {port: 9000}")
	a, err := api.Call(http.MethodPost, groups, []byte(byHand))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("as written by hand: %d %s", a.Status, a.Message)
	if a.Accepted() || !strings.Contains(a.Message, `admission webhook "rev.validation.istio.io" denied the request`) || !strings.Contains(a.Message, "health check method") {
		t.Errorf("the group with a gRPC probe: %d %s", a.Status, a.Message)
	}
	take(t, "grpc-by-hand", rewrite(t, byHand))
}

// istioctl runs `istioctl x workload entry configure` on a group in the API server.
func istioctl(group, out string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	cmd := &cobra.Command{Use: "istioctl", SilenceUsage: true}
	ctx := cli.NewCLIContext(cli.AddRootFlags(cmd.PersistentFlags()))
	cmd.AddCommand(workload.Cmd(ctx))
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	cmd.SetArgs([]string{"workload", "entry", "configure", "--kubeconfig", filepath.Join(dir, "kubeconfig"), "--istioNamespace", "istio-system", "--revision", "default",
		"--name", group, "--namespace", "shop", "--clusterID", "Kubernetes", "--internalIP", "127.0.0.1", "--ingressIP", "127.0.0.1", "-o", out})
	return cmd.Execute()
}

// setMesh sets what istioctl reads of the mesh.
func setMesh(t *testing.T, config string) {
	t.Helper()
	const path = "/api/v1/namespaces/istio-system/configmaps"
	if _, err := api.Call(http.MethodDelete, path+"/istio", nil); err != nil {
		t.Fatal(err)
	}
	if err := create(path, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: istio}, data: {mesh: %q}}", config)); err != nil {
		t.Fatal(err)
	}
}

// configure has istioctl configure a machine of a group, and puts what it
// writes where Istio's documentation says that a machine has it, below the
// directory that it returns.
func configure(t *testing.T, group string) string {
	t.Helper()
	out := t.TempDir()
	// istiod has to write the root certificate into the namespace first.
	if err := testutil.Eventually(time.Minute, func() error { return istioctl(group, out) }); err != nil {
		t.Fatal(err)
	}
	at := t.TempDir()
	for from, to := range map[string]string{
		"mesh.yaml": "etc/istio/config/mesh", "root-cert.pem": "etc/certs/root-cert.pem", "istio-token": "var/run/secrets/tokens/istio-token",
		"cluster.env": "var/lib/istio/envoy/cluster.env",
	} {
		text, err := os.ReadFile(filepath.Join(out, from))
		to = filepath.Join(at, to)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return at
}

// startPilotAgent starts Istio's agent, without Envoy, on a machine that
// istioctl has configured, as the start script of Istio's packages does. It
// returns the URL of the probe that the agent itself makes.
func startPilotAgent(t *testing.T, machine string) string {
	t.Helper()
	var mesh struct {
		DefaultConfig struct {
			ReadinessProbe struct {
				HTTPGet struct {
					Port               int
					Host, Path, Scheme string
				} `yaml:"httpGet"`
			} `yaml:"readinessProbe"`
		} `yaml:"defaultConfig"`
	}
	text, err := os.ReadFile(filepath.Join(machine, "etc/istio/config/mesh"))
	if err == nil {
		err = yaml.Unmarshal(text, &mesh)
	}
	h := mesh.DefaultConfig.ReadinessProbe.HTTPGet
	if err != nil || h.Port == 0 || h.Host != "" || strings.EqualFold(h.Scheme, "https") {
		t.Fatalf("%v: no probe that the agent can make in\n%s", err, text)
	}
	cmd := exec.Command("bash", "-c", `set -a; . var/lib/istio/envoy/cluster.env
		INSTANCE_IP=$ISTIO_SVC_IP POD_NAME=vm exec "$0" proxy sidecar`, filepath.Join(bin, "pilot-agent"))
	cmd.Dir = machine
	cmd.Env = append(os.Environ(), "DISABLE_ENVOY=true", "PROV_CERT=./etc/certs", "OUTPUT_CERTS=./etc/certs")
	p, err := testutil.Start(cmd, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Stop()
		if t.Failed() {
			t.Logf("the log of pilot-agent ends:\n%s", tail(p.Log()))
		}
	})
	return fmt.Sprintf("http://127.0.0.1:%d%s", h.Port, h.Path)
}

// An application is the app of the end-to-end tests, which breaks on demand.
type application struct{ url string }

func startApplication(t *testing.T, flags ...string) *application {
	t.Helper()
	const address = "127.0.0.1:18080"
	p, err := testutil.Start(exec.Command(filepath.Join(bin, "app"), append([]string{"-http=" + address}, flags...)...), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	a := &application{"http://" + address}
	a.get(t, "/healthz")
	return a
}

func (a *application) get(t *testing.T, path string) { wantAnswer(t, a.url+path, http.StatusOK) }

// wantAnswer waits until a URL is answered with a status.
func wantAnswer(t *testing.T, url string, status int) {
	t.Helper()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	err := testutil.Eventually(20*time.Second, func() error {
		r, err := client.Get(url)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(r.Body)
		if err := errors.Join(err, r.Body.Close()); err != nil {
			return err
		}
		if r.StatusCode != status {
			return fmt.Errorf("GET %s: %s %q, want status %d", url, r.Status, text, status)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestPilotAgentAsItIsMakesTheProbesOfARewrittenGroup takes a group the whole
// way: rewritten, past istiod's webhook into the API server, from there to the
// machine by istioctl, and read by Istio's agent. Without Envoy that never
// connects to istiod; what its probe is answered is what it would report.
func TestPilotAgentAsItIsMakesTheProbesOfARewrittenGroup(t *testing.T) {
	i := startIstiod(t, "one", 15010)
	withWebhook(t)
	setMesh(t, "defaultConfig: {discoveryAddress: '"+i.secure+"', proxyMetadata: {OF_THE_MESH: a}}")
	for _, tt := range []struct {
		name, flag, handler string
		failing             int // what the probe is answered while the app fails
	}{
		{"https", "-https=127.0.0.1:18443", "httpGet: {path: /healthz, port: 18443, scheme: HTTPS}", http.StatusServiceUnavailable},
		{"grpc", "-grpc=127.0.0.1:19000", "grpc: {port: 19000, service: ready}", http.StatusInternalServerError},
	} {
		t.Run(tt.name, func(t *testing.T) {
			take(t, tt.name, rewrite(t, machineGroup(tt.name, tt.handler)))
			app := startApplication(t, tt.flag)
			url := startPilotAgent(t, configure(t, tt.name))
			if want := "http://127.0.0.1:15020/app-health/" + tt.name + "/readyz"; url != want {
				t.Errorf("the agent probes %s, want %s", url, want)
			}
			wantAnswer(t, url, http.StatusOK)
			app.get(t, "/control/fail") // HTTPS answers 503, gRPC NOT_SERVING
			wantAnswer(t, url, tt.failing)
			app.get(t, "/control/close") // nothing listens
			wantAnswer(t, url, http.StatusInternalServerError)
		})
	}
}

// TestIstioctlNeedsMetadataOfTheMesh shows the mistake of istioctl that
// docs/guides/vm.md works around.
func TestIstioctlNeedsMetadataOfTheMesh(t *testing.T) {
	startIstiod(t, "one", 15010)
	take(t, "metadata", rewrite(t, machineGroup("metadata", "grpc: {port: 9000}")))
	setMesh(t, "{}")
	configure(t, "metadata") // waits for what istiod has to write first
	const panics = "panic: assignment to entry in nil map"
	for _, tt := range []struct{ mesh, want string }{
		{"defaultConfig: {discoveryAddress: 'istiod.istio-system.svc:15012'}", panics}, // as Istio's chart writes it
		{"defaultConfig: {}", panics},
		{"defaultConfig: {discoveryAddress: 'istiod.istio-system.svc:15012', proxyMetadata: {}}", "<nil>"},
		{"{}", "<nil>"},
	} {
		setMesh(t, tt.mesh)
		if got := fmt.Sprint(istioctl("metadata", t.TempDir())); got != tt.want {
			t.Errorf("istioctl, with the mesh %s: %s, want %s", tt.mesh, got, tt.want)
		}
	}
}
