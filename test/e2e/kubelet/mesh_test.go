package kubelet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rewrite-probes/rewrite-probes/test/e2e/node"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/redirection"
)

// istio is the mesh of all tests that say nothing else.
var istio = meshNamed("istio")

func meshNamed(name string) redirection.Mesh {
	m, err := redirection.Named(name)
	if err != nil {
		panic(err)
	}
	return m
}

// withMesh puts the mesh stand-in in front of a pod's init containers, where
// Istio's injector puts its own: one that redirects all inbound connections
// by the mesh's rules, and the proxy that they reach, which has the mesh's uid and
// wants a client certificate.
func withMesh(mesh redirection.Mesh, pod map[string]any) {
	excluded := mesh.Default
	if annotations, ok := pod["metadata"].(map[string]any)["annotations"].(map[string]any); ok {
		if own, set := annotations[mesh.Annotation].(string); set {
			excluded = own
		}
	}
	redirect, proxy := standIn(mesh, excluded)
	spec := pod["spec"].(map[string]any)
	inits, _ := spec["initContainers"].([]any)
	spec["initContainers"] = append([]any{redirect, proxy}, inits...)
	withCertificates(spec)
}

// standIn returns the two containers of the mesh stand-in.
func standIn(mesh redirection.Mesh, excluded string) (redirect, proxy map[string]any) {
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		panic(err)
	}
	redirect = map[string]any{
		"name": "mesh-init", "image": meshImage, "imagePullPolicy": "Never", "command": []any{"/mesh", "redirect"},
		"env": []any{
			map[string]any{"name": "FORBIDDEN_NETNS", "value": os.Getenv("HOST_NETNS") + " " + own},
			map[string]any{"name": "MESH", "value": mesh.Name},
			map[string]any{"name": "EXCLUDE_INBOUND_PORTS", "value": excluded},
		},
		"securityContext": map[string]any{"runAsUser": 0, "capabilities": map[string]any{"add": []any{"NET_ADMIN", "NET_RAW"}}},
	}
	proxy = map[string]any{
		"name": "mesh-proxy", "image": meshImage, "imagePullPolicy": "Never", "restartPolicy": "Always",
		"command": []any{"/mesh", "proxy"},
		"env": []any{
			map[string]any{"name": "INBOUND", "value": strconv.Itoa(mesh.Inbound)},
			map[string]any{"name": "OUTBOUND", "value": strconv.Itoa(mesh.Outbound)},
		},
		"securityContext": map[string]any{"runAsUser": mesh.UID, "runAsGroup": mesh.UID},
		"volumeMounts":    []any{map[string]any{"name": "mesh-certs", "mountPath": "/certs", "readOnly": true}},
	}
	if family := os.Getenv(node.IPv6); family != "" {
		for _, c := range []map[string]any{redirect, proxy} {
			c["env"] = append(c["env"].([]any), map[string]any{"name": node.IPv6, "value": family})
		}
	}
	return redirect, proxy
}

func withCertificates(spec map[string]any) {
	volumes, _ := spec["volumes"].([]any)
	spec["volumes"] = append(volumes, map[string]any{"name": "mesh-certs", "hostPath": map[string]any{"path": certs}})
}

// certs is where the mesh's certificates lie.
const certs = node.Dir + "/certs"

// newAuthority makes the mesh's authority, the proxy's certificate in files,
// and a client that the mesh lets in.
func newAuthority() (*http.Client, error) {
	ca, caKey, err := certificate("authority", nil, nil)
	if err != nil {
		return nil, err
	}
	proxy, proxyKey, err := certificate("proxy", ca, caKey)
	if err != nil {
		return nil, err
	}
	client, clientKey, err := certificate("client", ca, caKey)
	if err != nil {
		return nil, err
	}
	key, err := x509.MarshalECPrivateKey(proxyKey)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(certs, 0o755); err != nil {
		return nil, err
	}
	files := map[string][]byte{
		"ca.pem":    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw}),
		"proxy.pem": append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: proxy.Raw}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: key})...),
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(certs, name), data, 0o644); err != nil { // the proxy's uid must read them
			return nil, err
		}
	}
	pool := x509.NewCertPool()
	pool.AddCert(ca)
	return &http.Client{
		Timeout: 5 * time.Second,
		Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
			RootCAs: pool, ServerName: "proxy",
			NextProtos:   []string{"istio"},
			Certificates: []tls.Certificate{{Certificate: [][]byte{client.Raw}, PrivateKey: clientKey}},
		}},
	}, nil
}

// certificate makes one, signed by the parent or by itself.
func certificate(name string, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, nil, err
	}
	t := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
	if parent == nil {
		parent, parentKey = t, key
		t.IsCA, t.BasicConstraintsValid, t.KeyUsage = true, true, x509.KeyUsageCertSign
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, key.Public(), parentKey)
	if err != nil {
		return nil, nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return cert, key, err
}

// throughMesh sends a request to a pod as another workload of the mesh does.
func throughMesh(pod, path string) error {
	r, err := meshClient.Get("https://" + net.JoinHostPort(theNode.State(pod).IP, "8080") + path)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return err
	}
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s of pod %s: %s", path, pod, r.Status)
	}
	return nil
}
