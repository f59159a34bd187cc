// Package istiod runs probe-agent against Istio's own pilot-discovery, with a
// real API server: identity and enrolment, outages and restarts.
package istiod

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpoint "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/kube"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/node"
)

var (
	api  *kube.Server
	bin  = os.Getenv("BIN")  // the built programs of the tests
	root = os.Getenv("ROOT") // the repository
	dir  = filepath.Join(node.Dir, "istiod")

	outages  = flag.Int("outages", 2, "how often the API server goes away")
	repeat   = flag.Duration("repeat", 5*time.Second, "how often the agent sends its state again in the test of these outages")
	restarts = flag.Int("restarts", 3, "how often istiod is restarted")
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		api, err = kube.Start(bin, dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "istiod:", err)
		return 1
	}
	defer api.Stop()
	if err := prepare(); err != nil {
		fmt.Fprintln(os.Stderr, "istiod:", err)
		return 1
	}
	return m.Run()
}

// create sends a manifest to the collection at path. What exists stays.
func create(path, text string) error {
	a, err := api.Call(http.MethodPost, path, []byte(text))
	if err == nil && !a.Accepted() && a.Status != http.StatusConflict {
		err = fmt.Errorf("POST %s: %d %s", path, a.Status, a.Message)
	}
	return err
}

const networking = "/apis/networking.istio.io/v1/namespaces/"

// prepare installs Istio's CRDs, the namespaces and what the tests share.
func prepare() error {
	out, err := exec.Command("go", "-C", filepath.Join(root, "test"), "list", "-m", "-f", "{{.Dir}}", "istio.io/istio").Output()
	if err != nil {
		return fmt.Errorf("where Istio is: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "manifests/charts/base/files/crd-all.gen.yaml"))
	if err != nil {
		return err
	}
	for _, crd := range strings.Split(string(text), "\n---\n") {
		if !strings.Contains(crd, "kind: CustomResourceDefinition") {
			continue
		}
		if err := create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd); err != nil {
			return err
		}
	}
	for _, name := range []string{"istio-system", "shop", "other"} {
		if err := create("/api/v1/namespaces", fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", name)); err != nil {
			return err
		}
	}
	for _, name := range []string{"reviews-vm", "else"} {
		if err := create("/api/v1/namespaces/shop/serviceaccounts", fmt.Sprintf("{apiVersion: v1, kind: ServiceAccount, metadata: {name: %s}}", name)); err != nil {
			return err
		}
	}
	for path, text := range map[string]string{
		"shop/workloadgroups": `{apiVersion: networking.istio.io/v1, kind: WorkloadGroup, metadata: {name: reviews},
			spec: {template: {labels: {app: reviews, security.istio.io/tlsMode: disabled}, ports: {http: 8080}}}}`,
		"other/workloadgroups": `{apiVersion: networking.istio.io/v1, kind: WorkloadGroup, metadata: {name: reviews}, spec: {template: {labels: {app: reviews}}}}`,
		"shop/serviceentries": `{apiVersion: networking.istio.io/v1, kind: ServiceEntry, metadata: {name: reviews},
			spec: {hosts: [reviews.shop.internal], location: MESH_INTERNAL, resolution: STATIC,
			ports: [{name: http, number: 80, protocol: HTTP, targetPort: 8080}], workloadSelector: {labels: {app: reviews}}}}`,
	} {
		err := testutil.Eventually(60*time.Second, func() error { return create(networking+path, text) })
		if err != nil {
			return err
		}
	}
	return create(networking+"shop/workloadgroups", `{apiVersion: networking.istio.io/v1, kind: WorkloadGroup, metadata: {name: bound},
		spec: {template: {serviceAccount: reviews-vm, labels: {app: reviews}, ports: {http: 8080}}}}`)
}

// An istiod is a running pilot-discovery; ports are counted from base.
type istiod struct {
	*testutil.Process
	secure, plain string // addresses
}

func startIstiod(t *testing.T, name string, base int) *istiod {
	t.Helper()
	config := filepath.Join(dir, "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: e2e, clusters: [{name: e2e, cluster: {server: %q, insecure-skip-tls-verify: true}}],
		users: [{name: e2e, user: {token: %q}}], contexts: [{name: e2e, context: {cluster: e2e, user: e2e}}]}`, kube.URL, kube.Token)
	mesh := filepath.Join(dir, "mesh")
	if err := errors.Join(os.WriteFile(config, []byte(text), 0o600), os.WriteFile(mesh, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	i := &istiod{secure: fmt.Sprintf("127.0.0.1:%d", base+2), plain: fmt.Sprintf("127.0.0.1:%d", base)}
	cmd := exec.Command(filepath.Join(bin, "pilot-discovery"), "discovery", "--kubeconfig="+config, "--meshConfig="+mesh,
		"--grpcAddr="+i.plain, "--secureGRPCAddr="+i.secure, fmt.Sprintf("--httpAddr=127.0.0.1:%d", base+8),
		fmt.Sprintf("--httpsAddr=127.0.0.1:%d", base+7), fmt.Sprintf("--monitoringAddr=127.0.0.1:%d", base+4), "--shutdownDuration=1s")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "POD_NAMESPACE=istio-system", "POD_NAME="+name, "REVISION=default", "PILOT_CERT_PROVIDER=istiod",
		"ISTIOD_ADDR=istiod.istio-system.svc:15012", "TOKEN_ISSUER=https://e2e", "ISTIOD_SAN=istiod.istio-system.svc")
	p, err := testutil.Start(cmd, nil)
	if err != nil {
		t.Fatal(err)
	}
	i.Process = p
	t.Cleanup(func() {
		p.Stop()
		if t.Failed() {
			t.Logf("the log of istiod %s ends:\n%s", name, tail(p.Log()))
		}
	})
	err = testutil.Eventually(90*time.Second, func() error {
		r, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/ready", base+8))
		if err != nil {
			return err
		}
		_ = r.Body.Close()
		if r.StatusCode != http.StatusOK {
			return fmt.Errorf("not ready: %s", r.Status)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func tail(s string) string { return s[max(0, len(s)-6000):] }

// rootCert writes the root of istiod's certificates, which its CA keeps in a secret.
func rootCert(t *testing.T) string {
	t.Helper()
	a, err := api.Call(http.MethodGet, "/api/v1/namespaces/istio-system/secrets/istio-ca-secret", nil)
	var secret struct{ Data map[string]string }
	if err == nil {
		err = json.Unmarshal(a.Body, &secret)
	}
	pem, decodeErr := base64.StdEncoding.DecodeString(secret.Data["ca-cert.pem"])
	file := filepath.Join(t.TempDir(), "root-cert.pem")
	if err := errors.Join(err, decodeErr, os.WriteFile(file, pem, 0o600)); err != nil || len(pem) == 0 {
		t.Fatal(err, a.Status)
	}
	return file
}

// token writes a token of a service account.
func token(t *testing.T, account string) string {
	t.Helper()
	a, err := api.Call(http.MethodPost, "/api/v1/namespaces/shop/serviceaccounts/"+account+"/token",
		[]byte("{apiVersion: authentication.k8s.io/v1, kind: TokenRequest, spec: {audiences: [istio-ca], expirationSeconds: 600}}"))
	var request struct{ Status struct{ Token string } }
	if err == nil {
		err = json.Unmarshal(a.Body, &request)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := errors.Join(err, os.WriteFile(file, []byte(request.Status.Token), 0o600)); err != nil || request.Status.Token == "" {
		t.Fatal(err, a.Message)
	}
	return file
}

// condition words what the WorkloadEntry says of the health.
func condition(entry string) string {
	a, err := api.Call(http.MethodGet, networking+"shop/workloadentries/"+entry, nil)
	var wle struct {
		Status struct {
			Conditions []struct{ Type, Status, Message string }
		}
	}
	switch {
	case err != nil:
		return err.Error()
	case a.Status == http.StatusNotFound:
		return "no entry"
	case json.Unmarshal(a.Body, &wle) != nil:
		return "malformed"
	}
	for _, c := range wle.Status.Conditions {
		if c.Type == "Healthy" {
			return strings.TrimSpace(c.Status + " " + c.Message)
		}
	}
	return "no condition"
}

func wantCondition(t *testing.T, entry, want string, within time.Duration) {
	t.Helper()
	err := testutil.Eventually(within, func() error {
		if got := condition(entry); got != want {
			return fmt.Errorf("%s: condition %q, want %q", entry, got, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A client is a sidecar that watches the endpoints of the service.
type client struct {
	mu        sync.Mutex // guards the others
	endpoints []string
	changed   time.Time // when they did
}

func watch(t *testing.T, i *istiod) *client {
	t.Helper()
	conn, err := grpc.NewClient(i.plain, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); _ = conn.Close() })
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
	if err != nil {
		t.Fatal(err)
	}
	const url = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	names := []string{"outbound|80||reviews.shop.internal"}
	metadata, _ := structpb.NewStruct(map[string]any{"NAMESPACE": "shop", "CLUSTER_ID": "Kubernetes"})
	node := &core.Node{Id: "sidecar~10.3.3.3~client.shop~shop.svc.cluster.local", Metadata: metadata}
	if err := stream.Send(&discovery.DiscoveryRequest{Node: node, TypeUrl: url, ResourceNames: names}); err != nil {
		t.Fatal(err)
	}
	c := new(client)
	go func() {
		for {
			response, err := stream.Recv()
			if err != nil {
				return
			}
			var found []string
			for _, resource := range response.Resources {
				cla := new(endpoint.ClusterLoadAssignment)
				if resource.UnmarshalTo(cla) != nil {
					continue
				}
				for _, group := range cla.Endpoints {
					for _, e := range group.LbEndpoints {
						a := e.GetEndpoint().Address.GetSocketAddress()
						found = append(found, fmt.Sprintf("%s:%d", a.Address, a.GetPortValue()))
					}
				}
			}
			slices.Sort(found)
			c.mu.Lock()
			if !slices.Equal(c.endpoints, found) {
				c.endpoints, c.changed = found, time.Now()
			}
			c.mu.Unlock()
			_ = stream.Send(&discovery.DiscoveryRequest{TypeUrl: url, ResourceNames: names, VersionInfo: response.VersionInfo, ResponseNonce: response.Nonce})
		}
	}()
	return c
}

// want waits until the client sees the endpoint, or does not, and returns how
// long that took.
func (c *client) want(t *testing.T, address string, there bool, within time.Duration) time.Duration {
	t.Helper()
	start := time.Now()
	err := testutil.Eventually(within, func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if slices.Contains(c.endpoints, address+":8080") != there {
			return fmt.Errorf("endpoints %q, want %s among them: %v", c.endpoints, address, there)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return time.Since(start)
}

// after returns how long after the agent's last report of a state the
// endpoints changed.
func (c *client) after(t *testing.T, a *agent, state string) time.Duration {
	t.Helper()
	log := a.Log()
	line := log[:max(0, strings.LastIndex(log, state))]
	line = line[strings.LastIndex(line, "\n")+1:]
	stamp, _, _ := strings.Cut(strings.TrimPrefix(line, "time="), " ")
	reported, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		t.Fatalf("%v: no report %q in the log", err, state)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed.Sub(reported)
}

// machines counts the addresses of machines: istiod forgets one only 10 s after its end.
var machines atomic.Int32

func machine() string { return fmt.Sprintf("10.1.2.%d", machines.Add(1)) }

// config writes the configuration of a machine: the app is a file that is
// there or not.
func config(t *testing.T, address string, change map[string]any) (file, app string) {
	t.Helper()
	folder := t.TempDir()
	app = filepath.Join(folder, "healthy")
	c := map[string]any{"name": "reviews", "namespace": "shop", "address": address, "probe": map[string]any{
		"periodSeconds": 1, "failureThreshold": 1, "exec": map[string]any{"command": []string{"cat", app}}}}
	for key, value := range change {
		c[key] = value
	}
	text, err := json.Marshal(c)
	file = filepath.Join(folder, "config.json")
	if err := errors.Join(err, os.WriteFile(file, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	return file, app
}

func up(t *testing.T, app string) {
	t.Helper()
	if err := os.WriteFile(app, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// An agent is the program.
type agent struct{ *testutil.Process }

func startAgent(t *testing.T, config, istiod string, flags ...string) *agent {
	t.Helper()
	args := append([]string{"--config", config, "--istiod", istiod, "--server-name", "istiod.istio-system.svc"}, flags...)
	p, err := testutil.Start(exec.Command(filepath.Join(root, "bin/probe-agent"), args...), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Stop()
		if t.Failed() {
			t.Logf("the agent's log:\n%s", tail(p.Log()))
		}
	})
	return &agent{p}
}

func (a *agent) wantLog(t *testing.T, want string, times int, within time.Duration) {
	t.Helper()
	if err := a.WaitLog(want, times, within); err != nil {
		t.Fatal(err)
	}
}
