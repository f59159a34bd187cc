package apiserver

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/node"
)

// token is what the tests show the API server as the one user it has.
const token = "e2e"

// A server is a running kube-apiserver with its etcd, on the loopback
// interface of the sandbox.
type server struct {
	programs   []*testutil.Process
	client     *http.Client
	namespaces map[string]bool // those that exist
}

// startServer starts both and waits until the API server is ready.
func startServer(bin, dir string) (*server, error) {
	if err := node.Sandboxed(); err != nil {
		return nil, err
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{
		"sa.key":     pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
		"tokens.csv": []byte(token + ",admin,admin,system:masters\n"),
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return nil, err
		}
	}
	s := &server{namespaces: map[string]bool{"default": true}}
	s.client = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // signed by itself a moment ago, on this sandbox's loopback
	}}
	_, err = s.start("etcd", "--data-dir="+filepath.Join(dir, "etcd"), "--unsafe-no-fsync", "--log-level=error")
	if err != nil {
		return nil, err
	}
	api, err := s.start(filepath.Join(bin, "kube-apiserver"),
		"--etcd-servers=http://127.0.0.1:2379", "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port=6443",
		"--cert-dir="+filepath.Join(dir, "certs"), "--service-cluster-ip-range=10.96.0.0/16",
		"--service-account-issuer=https://e2e", "--service-account-key-file="+filepath.Join(dir, "sa.key"),
		"--service-account-signing-key-file="+filepath.Join(dir, "sa.key"), "--authorization-mode=AlwaysAllow",
		"--token-auth-file="+filepath.Join(dir, "tokens.csv"), "--disable-admission-plugins=ServiceAccount",
		"--endpoint-reconciler-type=none", "--enable-priority-and-fairness=false",
		"--feature-gates="+strings.Join(node.ProbeFeatures, "=true,")+"=true")
	if err != nil {
		s.stop()
		return nil, err
	}
	// The namespace is made by a controller of the API server, a moment after
	// that is ready.
	for _, path := range []string{"/readyz", "/api/v1/namespaces/default"} {
		err := testutil.Eventually(90*time.Second, func() error {
			answer, err := s.call(http.MethodGet, path, nil)
			if err == nil && answer.status != http.StatusOK {
				err = fmt.Errorf("status %d", answer.status)
			}
			return err
		})
		if err != nil {
			s.stop()
			log := api.Log()
			return nil, fmt.Errorf("kube-apiserver: GET %s: %w\n%s", path, err, log[max(0, len(log)-4000):])
		}
	}
	return s, nil
}

func (s *server) start(path string, args ...string) (*testutil.Process, error) {
	p, err := testutil.Start(exec.Command(path, args...), nil)
	if err == nil {
		s.programs = append(s.programs, p)
	}
	return p, err
}

func (s *server) stop() {
	for _, p := range s.programs {
		p.Stop()
	}
}

// An answer is what the API server said.
type answer struct {
	status   int
	message  string   // of a refusal
	warnings []string // as kubectl prints them to stderr
	body     []byte
}

func (a answer) accepted() bool { return a.status == http.StatusCreated || a.status == http.StatusOK }

func (s *server) call(method, path string, body []byte) (answer, error) {
	r, err := http.NewRequest(method, "https://127.0.0.1:6443"+path, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/yaml")
	r.Header.Set("Accept", "application/json")
	response, err := s.client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{status: response.StatusCode, body: text}
	for _, w := range response.Header.Values("Warning") { // 299 - "text"
		_, quoted, _ := strings.Cut(w, `"`)
		a.warnings = append(a.warnings, strings.TrimSuffix(quoted, `"`))
	}
	if !a.accepted() {
		var status struct{ Message string }
		if json.Unmarshal(text, &status) == nil {
			a.message = status.Message
		}
	}
	return a, nil
}

// resources are the workloads the API server itself knows, by apiVersion
// and kind.
var resources = map[string]string{
	"v1/Pod":                   "/api/v1/namespaces/%s/pods",
	"v1/PodTemplate":           "/api/v1/namespaces/%s/podtemplates",
	"v1/ReplicationController": "/api/v1/namespaces/%s/replicationcontrollers",
	"apps/v1/Deployment":       "/apis/apps/v1/namespaces/%s/deployments",
	"apps/v1/ReplicaSet":       "/apis/apps/v1/namespaces/%s/replicasets",
	"apps/v1/StatefulSet":      "/apis/apps/v1/namespaces/%s/statefulsets",
	"apps/v1/DaemonSet":        "/apis/apps/v1/namespaces/%s/daemonsets",
	"batch/v1/Job":             "/apis/batch/v1/namespaces/%s/jobs",
	"batch/v1/CronJob":         "/apis/batch/v1/namespaces/%s/cronjobs",
}

// dryRun asks what kubectl apply --dry-run=server asks, with the strict
// validation of fields that kubectl asks for.
func (s *server) dryRun(o object) (answer, error) {
	if !s.namespaces[o.namespace] {
		if err := s.createNamespace(o.namespace, fmt.Appendf(nil, "apiVersion: v1\nkind: Namespace\nmetadata: {name: %q}\n", o.namespace)); err != nil {
			return answer{}, err
		}
	}
	path := fmt.Sprintf(resources[o.kind], o.namespace) + "?dryRun=All&fieldValidation=Strict"
	return s.call(http.MethodPost, path, o.text)
}

// createNamespace makes a namespace from its manifest; one that exists stays.
func (s *server) createNamespace(name string, text []byte) error {
	a, err := s.call(http.MethodPost, "/api/v1/namespaces", text)
	if err == nil && !a.accepted() && a.status != http.StatusConflict {
		err = fmt.Errorf("namespace %q: %s", name, a.message)
	}
	if err == nil {
		s.namespaces[name] = true
	}
	return err
}
