package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// A cpus is the CPU request and limit of a container, in thousandths of a CPU; 0 is none.
type cpus struct{ request, limit int }

// String returns both as a manifest has them.
func (c cpus) String() string {
	switch {
	case c == cpus{}:
		return "none"
	case c.limit == 0:
		return fmt.Sprintf("%dm", c.request)
	}
	return fmt.Sprintf("%dm, limit %dm", c.request, c.limit)
}

// plus returns what the kubelet gives to a pod of two containers. It is limited only if
// both are.
func (c cpus) plus(other cpus) cpus {
	sum := cpus{request: c.request + other.request}
	if c.limit > 0 && other.limit > 0 {
		sum.limit = c.limit + other.limit
	}
	return sum
}

// shares returns cpu.shares of cgroup v1, as the kubelet computes it (MilliCPUToShares).
func (c cpus) shares() int { return max(2, c.request*1024/1000) }

// quota returns the microseconds in 100 ms, as the kubelet computes them (MilliCPUToQuota).
func (c cpus) quota() int { return max(1000, c.limit*100) }

// podWeight returns cpu.weight of cgroup v2 for a pod: the kubelet's getCPUWeight.
func (c cpus) podWeight() int { return 1 + (c.shares()-2)*9999/262142 }

// containerWeight returns cpu.weight of cgroup v2 for a container: runc's, since 1.3.2
// (ConvertCPUSharesToCgroupV2Value of opencontainers/cgroups).
func (c cpus) containerWeight() int {
	if c.shares() == 2 {
		return 1
	}
	l := math.Log2(float64(c.shares()))
	return int(math.Ceil(math.Pow(10, (l*l+125*l)/612-7.0/34)))
}

// A cgroup bounds the CPU of processes, as the kubelet would.
type cgroup struct {
	dir     string
	v2      bool // its files are those of version 2
	weights bool // it gets the weights of version 2, in whichever file
}

// outweighing is the share of the machine that the pods have, and that this process has as
// their kubelet: ten CPUs, so that other work on the machine hardly counts.
var outweighing = cpus{request: 10000}

// nodeCgroup returns a new cgroup for the pods of a node, of the version that has the
// controller cpu, and puts this process into one beside it. remove undoes both.
func nodeCgroup() (pods *cgroup, remove func(), err error) {
	root, undo, err := rootCgroup()
	if err != nil {
		return nil, nil, err
	}
	removes := []func(){undo}
	remove = func() {
		for _, f := range slices.Backward(removes) {
			f()
		}
	}
	own := strconv.Itoa(os.Getpid())
	kubelet, removeKubelet, err := root.child("contention-kubelet-" + own)
	if err == nil {
		removes = append(removes, removeKubelet, func() { say(root.write("cgroup.procs", own)) })
		err = errors.Join(kubelet.bound(outweighing, outweighing.podWeight()), kubelet.write("cgroup.procs", own))
	}
	if err == nil {
		var removePods func()
		if pods, removePods, err = root.child("contention-pods-" + own); err == nil {
			removes = append(removes, removePods)
			err = pods.bound(outweighing, outweighing.podWeight())
		}
	}
	if err != nil {
		remove()
	}
	return pods, remove, err
}

// say prints an error of what is undone.
func say(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// rootCgroup returns the root of the hierarchy that has the controller cpu.
func rootCgroup() (root *cgroup, undo func(), err error) {
	undo = func() {}
	for _, dir := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		if !hasWord(filepath.Join(dir, "cgroup.controllers"), "cpu") {
			continue
		}
		root = &cgroup{dir: dir, v2: true, weights: true}
		if !hasWord(filepath.Join(dir, "cgroup.subtree_control"), "cpu") {
			err = root.write("cgroup.subtree_control", "+cpu")
			undo = func() { say(root.write("cgroup.subtree_control", "-cpu")) }
		}
		return root, undo, err
	}
	for _, dir := range []string{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"} {
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err == nil {
			return &cgroup{dir: dir}, undo, nil
		}
	}
	return nil, nil, errors.New("/sys/fs/cgroup has no controller cpu")
}

func hasWord(file, word string) bool {
	b, err := os.ReadFile(file)
	return err == nil && strings.Contains(" "+strings.TrimSpace(string(b))+" ", " "+word+" ")
}

// version returns whose weights the cgroup gets, for the table.
func (g *cgroup) version() string {
	if g.weights {
		return "v2"
	}
	return "v1"
}

// versions returns the cgroup with the weights of each version that its files can have.
// The kernel's unit is finer than that of version 2.
func (g *cgroup) versions() []*cgroup {
	if g.v2 {
		return []*cgroup{g}
	}
	return []*cgroup{g, {dir: g.dir, weights: true}}
}

func (g *cgroup) write(file, value string) error {
	return os.WriteFile(filepath.Join(g.dir, file), []byte(value), 0)
}

// child makes a cgroup in this one, and a function that removes it.
func (g *cgroup) child(name string) (*cgroup, func(), error) {
	c := &cgroup{filepath.Join(g.dir, name), g.v2, g.weights}
	remove := func() {
		// Its processes have been waited for; the kernel may still be at it.
		if err := testutil.Eventually(5*time.Second, func() error { return syscall.Rmdir(c.dir) }); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", c.dir, err)
		}
	}
	return c, remove, os.Mkdir(c.dir, 0o755)
}

// pod makes the cgroup of a pod.
func (g *cgroup) pod(name string, c cpus) (*cgroup, func(), error) {
	p, remove, err := g.child(name)
	if err == nil && p.v2 {
		err = errors.Join(g.write("cgroup.subtree_control", "+cpu"), p.write("cgroup.subtree_control", "+cpu"))
	}
	return p, remove, errors.Join(err, p.bound(c, c.podWeight()))
}

// container makes the cgroup of a container in that of its pod.
func (g *cgroup) container(name string, c cpus) (*cgroup, func(), error) {
	in, remove, err := g.child(name)
	return in, remove, errors.Join(err, in.bound(c, c.containerWeight()))
}

// bound sets the weight and the limit.
func (g *cgroup) bound(c cpus, weight int) error {
	if g.v2 {
		if err := g.write("cpu.weight", strconv.Itoa(weight)); err != nil || c.limit == 0 {
			return err
		}
		return g.write("cpu.max", fmt.Sprintf("%d 100000", c.quota()))
	}
	shares := c.shares()
	if g.weights { // as the kernel does with cpu.weight (sched_weight_from_cgroup)
		shares = (weight*1024 + 50) / 100
	}
	if err := g.write("cpu.shares", strconv.Itoa(shares)); err != nil || c.limit == 0 {
		return err
	}
	return g.write("cpu.cfs_quota_us", strconv.Itoa(c.quota()))
}

// throttled returns in how many periods of 100 ms the limit stopped processes, of those in
// which they ran.
func (g *cgroup) throttled() (n, periods int, err error) {
	b, err := os.ReadFile(filepath.Join(g.dir, "cpu.stat"))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(b)) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), " "); name {
		case "nr_periods":
			periods, err = strconv.Atoi(value)
		case "nr_throttled":
			n, err = strconv.Atoi(value)
		}
		if err != nil {
			return 0, 0, err
		}
	}
	return n, periods, nil
}

// command returns a command that runs in the cgroup, or where this process runs if g is
// nil.
func (g *cgroup) command(path string, args ...string) *exec.Cmd {
	if g == nil {
		return exec.Command(path, args...)
	}
	// The shell enters the cgroup and becomes the program.
	cmd := exec.Command("sh", append([]string{"-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(g.dir, "cgroup.procs"), path}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}
