// Package kubelet runs pods in a real kubelet, in a mesh that demands mTLS: as
// their authors wrote them, and as rewrite-probes rewrote them.
package kubelet

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/image"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/node"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/redirection"
)

const (
	appImage   = "localhost/app:e2e"
	meshImage  = "localhost/mesh:e2e"
	proxyImage = "localhost/probe-proxy:e2e" // ../pods/config names it too
	istioImage = "localhost/istiostatus:e2e"
	onceImage  = "localhost/once:e2e" // a probe-proxy whose first start fails
)

var (
	theNode    *node.Node
	meshClient *http.Client
	bin        = os.Getenv("BIN")        // the built programs of the tests
	root       = os.Getenv("ROOT")       // the repository
	kubernetes = os.Getenv("KUBERNETES") // the kubelet's version
)

func TestMain(m *testing.M) {
	if err := node.Sandboxed(); err != nil {
		fmt.Fprintln(os.Stderr, "kubelet:", err)
		os.Exit(1)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	images, err := writeImages(node.Dir)
	if err == nil {
		meshClient, err = newAuthority()
	}
	if err == nil {
		err = os.MkdirAll(node.Dir+"/log", 0o777)
	}
	if err == nil {
		err = os.Chmod(node.Dir+"/log", 0o777) // the app is not root
	}
	if err == nil {
		theNode, err = node.Start(bin, images...)
	}
	if theNode != nil {
		defer theNode.Stop()
		defer keepLogs()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubelet:", err)
		return 1
	}
	if os.Getenv(node.IPv6) != "" { // the page is of the run with IPv4
		return m.Run()
	}
	return testutil.RunAndProve(m, prove)
}

// keepLogs copies the logs out of the sandbox.
func keepLogs() {
	for _, program := range []string{"kubelet", "containerd"} {
		if err := os.WriteFile(filepath.Join(bin, program+".log"), []byte(theNode.Log(program)), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "kubelet:", err)
		}
	}
}

// writeImages builds the images of everything that runs in the pods.
func writeImages(dir string) ([]string, error) {
	haproxy, err := image.Program("/usr/sbin/haproxy")
	if err != nil {
		return nil, err
	}
	const iptables = "/usr/sbin/iptables-nft-restore"
	mesh, err := image.Program(iptables, "/usr/lib/*/xtables/*.so")
	if err != nil {
		return nil, err
	}
	mesh["/usr/sbin/ip6tables-nft-restore"] = iptables // it looks at its own name
	ip, err := image.Program("/bin/ip")
	if err != nil {
		return nil, err
	}
	maps.Copy(mesh, ip)
	maps.Copy(mesh, haproxy)
	mesh["/mesh"] = filepath.Join(bin, "mesh")
	mesh["/haproxy.cfg"] = filepath.Join(root, "test/e2e/mesh/haproxy.cfg")
	images := []image.Image{
		{Name: node.PauseImage, Entrypoint: []string{"/mesh", "pause"}, User: "65535", Files: map[string]string{"/mesh": filepath.Join(bin, "mesh")}},
		{Name: meshImage, Files: mesh},
		{Name: appImage, Entrypoint: []string{"/app"}, User: "1000", Files: map[string]string{"/app": filepath.Join(bin, "app")}},
		{Name: proxyImage, Entrypoint: []string{"/probe-proxy"}, User: "65532", Files: map[string]string{"/probe-proxy": filepath.Join(root, "bin/probe-proxy")}},
		{Name: onceImage, Entrypoint: []string{"/mesh", "once", "/state/started", "/probe-proxy"}, User: "65532", Files: map[string]string{
			"/mesh": filepath.Join(bin, "mesh"), "/probe-proxy": filepath.Join(root, "bin/probe-proxy")}},
		{Name: istioImage, Entrypoint: []string{"/istiostatus"}, User: "65532", Files: map[string]string{"/istiostatus": filepath.Join(bin, "istiostatus")}},
	}
	return image.WriteAll(filepath.Join(dir, "images"), images)
}

// pod reads a manifest of ../pods; with a config, after rewrite-probes has
// rewritten it.
func pod(t *testing.T, name, config string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "test/e2e/pods", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if config != "" {
		cmd := exec.Command(filepath.Join(root, "bin/rewrite-probes"), "--config", filepath.Join(root, "test/e2e/pods/config", config+".yaml"), "-")
		cmd.Stdin = bytes.NewReader(text)
		if text, err = testutil.Output(cmd); err != nil {
			t.Fatal(err)
		}
	}
	var p map[string]any
	if err := yaml.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// answeredByIstio puts Istio's status server in the place of probe-proxy.
func answeredByIstio(t *testing.T, p map[string]any) {
	t.Helper()
	for _, c := range p["spec"].(map[string]any)["initContainers"].([]any) {
		if c := c.(map[string]any); c["name"] == "probe-proxy" {
			c["image"] = istioImage
			c["args"] = []any{"$(POD_IP)", "15099"}
			delete(c, "lifecycle")            // it has no such program
			c["resources"] = map[string]any{} // ours are too tight for it
			return
		}
	}
	t.Fatal("no container probe-proxy to be replaced")
}

// start runs a pod under the given name, inside Istio's mesh.
func start(t *testing.T, name string, p map[string]any) {
	t.Helper()
	startIn(t, istio, name, p)
}

// startIn runs a pod under the given name, inside a mesh.
func startIn(t *testing.T, mesh redirection.Mesh, name string, p map[string]any) {
	t.Helper()
	p["metadata"].(map[string]any)["name"] = name
	withMesh(mesh, p)
	if err := theNode.Run(name, p); err != nil {
		t.Fatal(err)
	}
}
