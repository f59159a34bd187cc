// Package cluster runs a whole cluster with Istio on this machine, and in it pods:
// without a mesh, with their probes as they are, as Istio rewrites them, and as
// rewrite-probes does.
package cluster

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/image"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/node"
)

var (
	bin        = os.Getenv("BIN")        // the built programs of the tests
	root       = os.Getenv("ROOT")       // the repository
	kubernetes = os.Getenv("KUBERNETES") // the cluster's version
	dir        = filepath.Join(node.Dir, "cluster")
	configFile = filepath.Join(root, "test/e2e/pods/config/default.yaml") // the functionConfig of what is rewritten
)

var (
	plane   *controlPlane
	theNode *node.Node
	api     *client
)

func TestMain(m *testing.M) {
	if err := node.Sandboxed(); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	start := time.Now()
	err := up()
	defer keepLogs()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		return 1
	}
	fmt.Printf("the cluster with Istio was up after %s\n", time.Since(start).Round(time.Second))
	return testutil.RunAndProve(m, prove)
}

// up starts the cluster, and Istio in it. Its programs end with the sandbox.
func up() error {
	if err := makeNetwork(); err != nil {
		return err
	}
	if err := os.MkdirAll(node.Dir+"/log", 0o777); err != nil {
		return err
	}
	if err := os.Chmod(node.Dir+"/log", 0o777); err != nil { // the app is not root
		return err
	}
	node, err := node.New(bin, node.Cluster{Kubeconfig: kubeconfig(nodeUser), Address: nodeAddress})
	if err != nil {
		return err
	}
	theNode = node
	images := make(chan error, 1)
	go func() { images <- importImages() }() // beside the API server's start
	if plane, err = startControlPlane(); err != nil {
		return err
	}
	if api, err = newClient(); err != nil {
		return err
	}
	if olderIstio != "" {
		if err := expectOlder(); err != nil {
			return err
		}
	}
	if err := serveNames(); err != nil {
		return err
	}
	if err := installIstio(images); err != nil {
		return err
	}
	return nil
}

// keepLogs copies the logs out of the sandbox.
func keepLogs() {
	logs := map[string]string{}
	if plane != nil {
		logs = plane.logs()
	}
	if theNode != nil {
		logs["kubelet"], logs["containerd"] = theNode.Log("kubelet"), theNode.Log("containerd")
	}
	for program, text := range logs {
		if err := os.WriteFile(filepath.Join(bin, "cluster-"+program+".log"), []byte(text), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "cluster:", err)
		}
	}
}

// Images that only the tests know; Istio's have the names that its charts make of
// hub and tag.
const (
	hub, tag   = "localhost", "e2e"
	proxyImage = "localhost/probe-proxy:e2e" // ../pods/config names it too
)

// importImages builds the images of everything that runs in the pods, and hands
// them to containerd.
func importImages() error {
	proxy, err := istioProxyFiles()
	if err != nil {
		return err
	}
	program := func(name string) map[string]string { return map[string]string{"/" + name: filepath.Join(bin, name)} }
	images := []image.Image{
		{Name: node.PauseImage, Entrypoint: []string{"/mesh", "pause"}, User: "65535", Files: program("mesh")},
		{Name: "localhost/app:e2e", Entrypoint: []string{"/app"}, User: "1000", Files: program("app")},
		{
			Name: proxyImage, Entrypoint: []string{"/probe-proxy"}, User: "65532",
			Files: map[string]string{"/probe-proxy": filepath.Join(root, "bin/probe-proxy")},
		},
		{
			Name: hub + "/pilot:" + tag, Entrypoint: []string{"/usr/local/bin/pilot-discovery"}, User: "1337:1337",
			Files: map[string]string{"/usr/local/bin/pilot-discovery": filepath.Join(istioPrograms(), "pilot-discovery")},
		},
		{Name: hub + "/proxyv2:" + tag, Entrypoint: []string{"/usr/local/bin/pilot-agent"}, Files: proxy},
	}
	files, err := image.WriteAll(filepath.Join(node.Dir, "images"), images)
	if err != nil {
		return err
	}
	if err := theNode.StartContainerd(files...); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(node.Dir, "images")) // they take memory
}

// istioProxyFiles returns what the image of Istio's sidecar has: Istio's agent and
// bootstrap, Envoy, and what its istio-init redirects with: iptables and nft.
func istioProxyFiles() (map[string]string, error) {
	const iptables = "/usr/sbin/xtables-nft-multi"
	files, err := image.Program(iptables, "/usr/lib/*/xtables/*.so")
	if err != nil {
		return nil, err
	}
	delete(files, iptables)
	for _, family := range []string{"iptables", "ip6tables", "iptables-nft", "ip6tables-nft"} { // it looks at its own name
		for _, command := range []string{"", "-save", "-restore"} {
			files["/usr/sbin/"+family+command] = iptables
		}
	}
	nft, err := image.Program("/usr/sbin/nft")
	if err != nil {
		return nil, err
	}
	maps.Copy(files, nft)
	envoy := filepath.Join(bin, "envoy/envoy/_bin/envoy")
	libraries, err := image.Program(envoy)
	if err != nil {
		return nil, err
	}
	delete(libraries, envoy)
	maps.Copy(files, libraries)
	bootstrap, err := istioBootstrap()
	if err != nil {
		return nil, err
	}
	files["/usr/local/bin/envoy"] = envoy
	files["/usr/local/bin/pilot-agent"] = filepath.Join(istioPrograms(), "pilot-agent")
	files["/var/lib/istio/envoy/envoy_bootstrap_tmpl.json"] = bootstrap
	return files, nil
}
