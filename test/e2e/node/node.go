// Package node runs a kubelet with containerd. Without an API server it hands the
// kubelet its pods, and reports the kubelet's view of them.
//
// It must run inside the namespaces that test/e2e/run sets up: everything it
// starts and mounts ends with them.
package node

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// Dir is where the node keeps everything; it lies on a tmpfs of the sandbox.
const Dir = "/run/e2e"

// Name is the node's name, which the kubelet appends to the names of static
// pods.
const Name = "node"

// A Node is a running kubelet.
type Node struct {
	Bin string // the folder of the built programs

	cluster Cluster
	flags   []string // of the kubelet
	stop    chan struct{}

	mu       sync.Mutex                   // guards the following
	programs map[string]*testutil.Process // containerd, kubelet
	history  map[string][]State           // by pod name, without the node's name; changes only
}

// Sandboxed returns an error unless the process runs in a network namespace of
// its own, which test/e2e/run proves with the env var HOST_NETNS.
func Sandboxed() error {
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return err
	}
	switch host := os.Getenv("HOST_NETNS"); host {
	case "":
		return errors.New("not inside the sandbox (HOST_NETNS is not set): run test/e2e/run")
	case own:
		return errors.New("refusing to run in the machine's own network namespace: run test/e2e/run")
	}
	return nil
}

// A Cluster is what a node of one has to know.
type Cluster struct {
	Kubeconfig string // a file
	Address    string // the node's, in the network of its pods, where its DNS server listens too
}

// Start starts containerd, imports the images and starts the kubelet, which has
// no API server.
func Start(bin string, images ...string) (*Node, error) {
	n, err := newNode(bin, settings{address: "127.0.0.1", kubelet: "staticPodPath: " + Dir + "/manifests\nsyncFrequency: 1s\nfileCheckFrequency: 1s\n"})
	if err != nil {
		return n, err
	}
	if err := os.MkdirAll(filepath.Join(Dir, "manifests"), 0o755); err != nil {
		return n, err
	}
	if err := n.StartContainerd(images...); err != nil {
		return n, err
	}
	if err := n.startKubelet("--node-ip", addressesOf().node); err != nil {
		return n, err
	}
	go n.observe()
	return n, nil
}

// New returns a node of a cluster, of which nothing runs yet.
func New(bin string, c Cluster) (*Node, error) {
	n, err := newNode(bin, settings{address: "0.0.0.0", kubelet: "clusterDNS: [" + c.Address + "]\nclusterDomain: cluster.local\n"})
	if err != nil {
		return nil, err
	}
	n.cluster = c
	return n, nil
}

// Join starts the kubelet, which tells the API server of the node.
func (n *Node) Join() error {
	if err := n.startKubelet("--node-ip", n.cluster.Address, "--kubeconfig", n.cluster.Kubeconfig); err != nil {
		return err
	}
	go n.observe()
	return nil
}

// RestartKubelet kills the kubelet, and starts it again.
func (n *Node) RestartKubelet() error {
	n.program("kubelet").Stop()
	return n.startKubelet(n.flags...)
}

func newNode(bin string, s settings) (*Node, error) {
	if err := Sandboxed(); err != nil {
		return nil, err
	}
	cgroup := os.Getenv("CGROUP")
	if cgroup == "" {
		return nil, errors.New("CGROUP must name the cgroup of the pods: run test/e2e/run")
	}
	n := &Node{Bin: bin, programs: map[string]*testutil.Process{}, stop: make(chan struct{}), history: map[string][]State{}}
	s.cgroupRoot = cgroup
	for path, text := range s.files() {
		if err := write(path, text); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// StartContainerd starts containerd and imports the images.
func (n *Node) StartContainerd(images ...string) error {
	if err := n.start("containerd", "containerd", "--config", Dir+"/containerd.toml"); err != nil {
		return err
	}
	if err := testutil.Eventually(30*time.Second, func() error { return run("ctr", "version") }); err != nil {
		return fmt.Errorf("containerd does not answer: %w", err)
	}
	for _, file := range images {
		if err := run("ctr", "-n", "k8s.io", "images", "import", file); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) startKubelet(flags ...string) error {
	n.flags = flags
	program := cmp.Or(os.Getenv(EarlierKubelet), filepath.Join(n.Bin, "kubelet"))
	err := n.start("kubelet", program, append([]string{"--v=2", "--config", Dir + "/kubelet.yaml",
		"--root-dir", Dir + "/kubelet", "--cert-dir", Dir + "/kubelet-certs", "--hostname-override", Name}, flags...)...)
	if err != nil {
		return err
	}
	if err := testutil.Eventually(60*time.Second, func() error { _, err := get("/pods"); return err }); err != nil {
		return fmt.Errorf("the kubelet does not answer: %w", err)
	}
	return nil
}

// Stop ends the kubelet and containerd. The containers end with the sandbox.
func (n *Node) Stop() {
	close(n.stop)
	for _, p := range n.programs {
		p.Stop()
	}
}

// Log returns the log of "kubelet" or "containerd" so far.
func (n *Node) Log(program string) string {
	if p := n.program(program); p != nil {
		return p.Log()
	}
	return ""
}

// start starts a program whose output is kept.
func (n *Node) start(name, path string, args ...string) error {
	p, err := testutil.Start(exec.Command(path, args...), nil)
	if err == nil {
		n.mu.Lock()
		n.programs[name] = p
		n.mu.Unlock()
	}
	return err
}

func (n *Node) program(name string) *testutil.Process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.programs[name]
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

func run(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// get asks the kubelet's read-only port.
func get(path string) ([]byte, error) {
	client := http.Client{Timeout: 5 * time.Second}
	r, err := client.Get("http://127.0.0.1:10255" + path)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s", path, r.Status)
	}
	return b, err
}
