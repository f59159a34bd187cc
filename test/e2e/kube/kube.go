// Package kube starts a kube-apiserver with its etcd in the sandbox of
// test/e2e/run, and speaks to it.
package kube

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

// Token is what the tests show the API server as the one user it has.
const Token = "e2e"

// URL is where the API server listens.
const URL = "https://127.0.0.1:6443"

// Services are the addresses of Services.
const Services = "10.96.0.0/16"

// Files that the API server has in its folder: the key that signs the tokens of
// service accounts, and its certificate with that of its authority.
const (
	SigningKey  = "sa.key"
	Certificate = "certs/apiserver.crt"
)

// A Server is a running kube-apiserver with its etcd.
type Server struct {
	bin, dir  string
	config    Config
	etcd, api *testutil.Process
	client    *http.Client
}

// A Config says for whom an API server is there.
type Config struct {
	Bind      string   // the address that it listens on
	Advertise string   // its address for others
	Users     string   // lines of --token-auth-file, beside the one of Token
	Flags     []string // what else it is told
}

// alone is the configuration for a test that is the server's only client, and
// runs nothing else of a cluster.
var alone = Config{Bind: "127.0.0.1", Advertise: "127.0.0.1", Flags: []string{
	"--authorization-mode=AlwaysAllow", "--disable-admission-plugins=ServiceAccount", "--endpoint-reconciler-type=none",
}}

// Start starts both, for the test alone, and waits until the API server is ready.
func Start(bin, dir string) (*Server, error) { return StartWith(bin, dir, alone) }

// StartWith does the same for a configuration.
func StartWith(bin, dir string, config Config) (*Server, error) {
	if err := node.Sandboxed(); err != nil {
		return nil, err
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{
		SigningKey:   pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
		"tokens.csv": []byte(Token + ",admin,admin,system:masters\n" + config.Users),
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return nil, err
		}
	}
	s := &Server{bin: bin, dir: dir, config: config}
	s.client = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true}, // signed by itself a moment ago, on this sandbox's loopback
		MaxIdleConnsPerHost: 16,
	}}
	s.etcd, err = testutil.Start(exec.Command("etcd", "--data-dir="+filepath.Join(dir, "etcd"), "--unsafe-no-fsync", "--log-level=error"), nil)
	if err != nil {
		return nil, err
	}
	if err := s.StartAPI(); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// StartAPI starts the API server, and waits until it is ready. It has been
// stopped, or has never been started.
func (s *Server) StartAPI() error {
	key := filepath.Join(s.dir, SigningKey)
	flags := append([]string{
		"--etcd-servers=http://127.0.0.1:2379",
		"--bind-address=" + s.config.Bind, "--advertise-address=" + s.config.Advertise, "--secure-port=6443",
		"--cert-dir=" + filepath.Join(s.dir, "certs"), "--service-cluster-ip-range=" + Services,
		"--service-account-issuer=https://e2e", "--service-account-key-file=" + key, "--service-account-signing-key-file=" + key,
		"--token-auth-file=" + filepath.Join(s.dir, "tokens.csv"), "--enable-priority-and-fairness=false",
		"--feature-gates=" + strings.Join(node.ProbeFeatures, "=true,") + "=true",
	}, s.config.Flags...)
	api, err := testutil.Start(exec.Command(filepath.Join(s.bin, "kube-apiserver"), flags...), nil)
	if err != nil {
		return err
	}
	s.api = api
	// The namespace is made by a controller of the API server, a moment after
	// that is ready.
	for _, path := range []string{"/readyz", "/api/v1/namespaces/default"} {
		err := testutil.Eventually(90*time.Second, func() error {
			answer, err := s.Call(http.MethodGet, path, nil)
			if err == nil && answer.Status != http.StatusOK {
				err = fmt.Errorf("status %d", answer.Status)
			}
			return err
		})
		if err != nil {
			log := api.Log()
			return fmt.Errorf("kube-apiserver: GET %s: %w\n%s", path, err, log[max(0, len(log)-4000):])
		}
	}
	return nil
}

// Log returns what the API server has written so far.
func (s *Server) Log() string { return s.api.Log() }

// StopAPI kills the API server alone.
func (s *Server) StopAPI() { s.api.Stop() }

// Stop kills both.
func (s *Server) Stop() {
	if s.api != nil {
		s.api.Stop()
	}
	s.etcd.Stop()
}

// An Answer is what the API server said.
type Answer struct {
	Status   int
	Body     []byte
	Message  string   // of a refusal
	Warnings []string // as kubectl prints them to stderr
}

// Accepted reports whether the request was not refused.
func (a Answer) Accepted() bool { return a.Status == http.StatusCreated || a.Status == http.StatusOK }

// Call makes a request with a manifest.
func (s *Server) Call(method, path string, body []byte) (Answer, error) {
	r, err := http.NewRequest(method, URL+path, bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	r.Header.Set("Authorization", "Bearer "+Token)
	r.Header.Set("Content-Type", "application/yaml")
	r.Header.Set("Accept", "application/json")
	response, err := s.client.Do(r)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Status: response.StatusCode, Body: text}
	for _, w := range response.Header.Values("Warning") { // 299 - "text"
		_, quoted, _ := strings.Cut(w, `"`)
		a.Warnings = append(a.Warnings, strings.TrimSuffix(quoted, `"`))
	}
	if !a.Accepted() {
		var status struct{ Message string }
		if json.Unmarshal(text, &status) == nil {
			a.Message = status.Message
		}
	}
	return a, nil
}
