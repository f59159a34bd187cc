// Package node runs a kubelet with containerd, without an API server, and
// reports the kubelet's view of its pods.
//
// It must run inside the namespaces that test/e2e/run sets up: everything it
// starts and mounts ends with them.
package node

import (
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

	programs map[string]*testutil.Process // containerd, kubelet
	stop     chan struct{}

	mu      sync.Mutex         // guards history
	history map[string][]State // by pod name, without the node's name; changes only
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

// Start starts containerd, imports the images and starts the kubelet.
func Start(bin string, images ...string) (*Node, error) {
	if err := Sandboxed(); err != nil {
		return nil, err
	}
	cgroup := os.Getenv("CGROUP")
	if cgroup == "" {
		return nil, errors.New("CGROUP must name the cgroup of the pods: run test/e2e/run")
	}
	n := &Node{Bin: bin, programs: map[string]*testutil.Process{}, stop: make(chan struct{}), history: map[string][]State{}}
	for path, text := range configFiles(cgroup) {
		if err := write(path, text); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(filepath.Join(Dir, "manifests"), 0o755); err != nil {
		return nil, err
	}
	if err := n.start("containerd", "containerd", "--config", Dir+"/containerd.toml"); err != nil {
		return nil, err
	}
	if err := testutil.Eventually(30*time.Second, func() error { return run("ctr", "version") }); err != nil {
		return n, fmt.Errorf("containerd does not answer: %w", err)
	}
	for _, file := range images {
		if err := run("ctr", "-n", "k8s.io", "images", "import", file); err != nil {
			return n, err
		}
	}
	err := n.start("kubelet", filepath.Join(bin, "kubelet"), "--v=2", "--config", Dir+"/kubelet.yaml",
		"--root-dir", Dir+"/kubelet", "--cert-dir", Dir+"/kubelet-certs", "--hostname-override", Name, "--node-ip", "127.0.0.1")
	if err != nil {
		return n, err
	}
	if err := testutil.Eventually(60*time.Second, func() error { _, err := get("/pods"); return err }); err != nil {
		return n, fmt.Errorf("the kubelet does not answer: %w", err)
	}
	go n.observe()
	return n, nil
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
	if p := n.programs[program]; p != nil {
		return p.Log()
	}
	return ""
}

// start starts a program whose output is kept.
func (n *Node) start(name, path string, args ...string) error {
	p, err := testutil.Start(exec.Command(path, args...), nil)
	if err == nil {
		n.programs[name] = p
	}
	return err
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
