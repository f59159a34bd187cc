// Package argocd runs the plugin of examples/argocd in Argo CD's own plugin server,
// with the client code of its repo-server.
package argocd

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cmp "github.com/argoproj/argo-cd/v3/cmd/argocd-cmp-server/commands"
	"github.com/argoproj/argo-cd/v3/cmpserver/apiclient"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/app/discovery"
	stream "github.com/argoproj/argo-cd/v3/util/cmp"
)

// asServer makes this program Argo CD's plugin server.
const asServer = "RUN_AS_ARGOCD_CMP_SERVER"

const pluginName = "rewrite-probes-v1"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		if err := cmp.NewCommand().Execute(); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestTheApplicationOfAPluginIsFoundAndRewritten(t *testing.T) {
	s := startServer(t)
	repo := repository(t)
	if !s.matches(t, repo, "") {
		t.Error("the plugin must discover an application with a kustomization.yaml")
	}
	if s.matches(t, write(t, map[string]string{"web.yaml": web}), "") {
		t.Error("the plugin must leave an application without a kustomization alone")
	}
	manifests, err := s.generate(t, repo, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(manifests) != 3 {
		t.Fatalf("the plugin server gave %d manifests, want 3", len(manifests))
	}
	all := strings.Join(manifests, "\n")
	for _, want := range []string{"/app-health/web/readyz", "ISTIO_KUBE_APP_PROBERS", "probe-proxy"} {
		if !strings.Contains(all, want) {
			t.Errorf("the manifests must hold %q:\n%s", want, all)
		}
	}
}

func TestAParameterNamesTheFunctionConfig(t *testing.T) {
	s := startServer(t)
	manifests, err := s.generate(t, repository(t), v1alpha1.ApplicationSourcePluginParameters{
		{Name: "config", String_: ptr("rewrite probes.yaml")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(manifests, "\n"); !strings.Contains(all, "15099") || strings.Contains(all, "15020") {
		t.Errorf("the port of the functionConfig must be used:\n%s", all)
	}
}

func TestParametersAreAnnounced(t *testing.T) {
	s := startServer(t)
	client := s.client(t, repository(t), pluginName)
	request, err := client.GetParametersAnnouncement(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	repo := repository(t)
	if err := stream.SendRepoStream(t.Context(), repo, repo, request, nil, nil); err != nil {
		t.Fatal(err)
	}
	answer, err := request.CloseAndRecv()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range answer.GetParameterAnnouncements() {
		names = append(names, p.GetName())
		if p.GetTooltip() == "" {
			t.Errorf("parameter %q has no tooltip", p.GetName())
		}
	}
	if got := strings.Join(names, " "); got != "config enable-helm strict" {
		t.Errorf("the announced parameters are %q, want config, enable-helm and strict", got)
	}
}

// TestWhatIsWrongReachesTheUser: with prune, an empty output would delete the
// application, so everything that goes wrong must be an error that says what it is.
func TestWhatIsWrongReachesTheUser(t *testing.T) {
	kustomization := "resources:\n- web.yaml\n"
	strictOff := v1alpha1.ApplicationSourcePluginParameters{{Name: "strict", String_: ptr("false")}}
	tests := []struct {
		name       string
		files      map[string]string
		parameters v1alpha1.ApplicationSourcePluginParameters
		want       string // no error where empty
	}{
		{
			name:  "an object that the API server would refuse",
			files: map[string]string{"kustomization.yaml": kustomization, "web.yaml": strings.Replace(web, "containers:", "containers: {}\n      x:", 1)},
			want:  "error: <stdin>",
		},
		{
			name: "an annotation with a typo",
			files: map[string]string{"kustomization.yaml": kustomization, "web.yaml": strings.Replace(web, "labels: {app: web}\n    spec",
				"labels: {app: web}\n      annotations: {sidecar.istio.io/rewriteAppHTTPProbers: \"flase\"}\n    spec", 1)},
			want: `"flase"`,
		},
		{
			name:  "a warning, since nobody would see it",
			files: map[string]string{"kustomization.yaml": kustomization, "web.yaml": strings.Replace(web, "port: http", "port: htpt", 1)},
			want:  "[port-unresolved]",
		},
		{
			name:       "a warning that the application lets pass",
			files:      map[string]string{"kustomization.yaml": kustomization, "web.yaml": strings.Replace(web, "port: http", "port: htpt", 1)},
			parameters: strictOff,
		},
		{
			name:       "a functionConfig that is not there",
			files:      map[string]string{"kustomization.yaml": kustomization, "web.yaml": web},
			parameters: v1alpha1.ApplicationSourcePluginParameters{{Name: "config", String_: ptr("nowhere.yaml")}},
			want:       "nowhere.yaml: functionConfig: no such file",
		},
		{
			name:  "a kustomization that does not build",
			files: map[string]string{"kustomization.yaml": "resources:\n- nowhere.yaml\n"},
			want:  "nowhere.yaml",
		},
		{
			name:  "nothing rendered",
			files: map[string]string{"kustomization.yaml": "namePrefix: a-\nresources:\n- empty.yaml\n", "empty.yaml": "# nothing\n"},
			want:  "error: <stdin>",
		},
	}
	s := startServer(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			manifests, err := s.generate(t, write(t, test.files), test.parameters)
			if test.want == "" {
				if err != nil {
					t.Errorf("the plugin server says %v", err)
				}
				return
			}
			if err == nil {
				t.Fatalf("the plugin server gave %q, want an error", manifests)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %q, want it to hold %q", err, test.want)
			}
			t.Logf("the user reads: %s", err)
		})
	}
}

const web = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: web
        image: shop/web:1.0
        ports: [{name: http, containerPort: 8080}]
        readinessProbe:
          httpGet: {path: /ready, port: http}
`

const service = `apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: http}]}
`

// The Namespace says that no sidecar is injected.
const namespace = `apiVersion: v1
kind: Namespace
metadata: {name: shop}
`

const config = `apiVersion: v1
kind: ConfigMap
metadata: {name: rewrite-probes}
data: {port: "15099"}
`

func repository(t *testing.T) string {
	return write(t, map[string]string{
		"kustomization.yaml": "resources:\n- web.yaml\n- service.yaml\n- namespace.yaml\n", "web.yaml": web, "namespace.yaml": namespace, "service.yaml": service,
		"rewrite probes.yaml": config,
	})
}

// write returns a folder with the files.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A server is a plugin server with the plugin of examples/argocd.
type server struct{ sockets string }

// startServer runs Argo CD's plugin server until the test ends, with kustomize
// and rewrite-probes of bin/ on its PATH.
func startServer(t *testing.T) *server {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("make", "-C", root, "VERSION=v0.1.0", "bin/rewrite-probes", "bin/kustomize").CombinedOutput(); err != nil {
		t.Fatalf("make: %v\n%s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The path of a socket must be short.
	sockets, err := os.MkdirTemp("", "cmp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(sockets) })
	log := &strings.Builder{}
	cmd := exec.Command(self, "--config-dir-path", installPlugin(t, filepath.Join(root, "examples", "argocd")))
	cmd.Env = append(os.Environ(), asServer+"=1", "ARGOCD_PLUGINSOCKFILEPATH="+sockets, "ARGOCD_CMP_WORKDIR="+t.TempDir(),
		"PATH="+filepath.Join(root, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = log, log, 5*time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The server does not end when asked to: it waits for its stop channel
		// and leaves the listener open.
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("the plugin server's log:\n%s", log)
		}
	})
	t.Setenv("ARGOCD_PLUGINSOCKFILEPATH", sockets)
	socket := filepath.Join(sockets, pluginName+".sock")
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(socket); err == nil {
			return &server{sockets}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the plugin server does not listen at %s", socket)
		}
	}
}

// installPlugin copies the plugin into a folder for the server of the test. In the
// sidecar of a repo-server it has another one, which plugin.yaml names.
func installPlugin(t *testing.T, from string) string {
	t.Helper()
	const installed = "/home/argocd/cmp-server/config/"
	plugin, err := os.ReadFile(filepath.Join(from, "plugin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(plugin), installed) {
		t.Fatalf("plugin.yaml must name a file in %s", installed)
	}
	script, err := os.ReadFile(filepath.Join(from, "generate.sh"))
	if err != nil {
		t.Fatal(err)
	}
	dir := write(t, map[string]string{"generate.sh": string(script)})
	text := strings.ReplaceAll(string(plugin), installed, dir+"/")
	if err := os.WriteFile(filepath.Join(dir, "plugin.yaml"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// client finds the plugin as the repo-server does: by discovery where the
// application names none.
func (s *server) client(t *testing.T, repo, plugin string) apiclient.ConfigManagementPluginServiceClient {
	t.Helper()
	conn, client, err := discovery.DetectConfigManagementPlugin(t.Context(), repo, repo, plugin, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return client
}

func (s *server) matches(t *testing.T, repo, plugin string) bool {
	t.Helper()
	conn, _, err := discovery.DetectConfigManagementPlugin(t.Context(), repo, repo, plugin, nil, nil)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

func (s *server) generate(t *testing.T, repo string, parameters v1alpha1.ApplicationSourcePluginParameters) ([]string, error) {
	t.Helper()
	env, err := parameters.Environ()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	request, err := s.client(t, repo, pluginName).GenerateManifest(ctx)
	if err != nil {
		return nil, err
	}
	if err := stream.SendRepoStream(ctx, repo, repo, request, env, nil); err != nil {
		return nil, err
	}
	answer, err := request.CloseAndRecv()
	if err != nil {
		return nil, err
	}
	return answer.GetManifests(), nil
}

func ptr(s string) *string { return &s }
