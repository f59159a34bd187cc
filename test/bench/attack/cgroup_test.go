package attack

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// Limits of memory: what the function writes, and what Istio writes for its proxy.
const (
	memoryLimit = 32 << 20
	istioLimit  = 1 << 30
)

// A cgroup bounds the memory of one program, as the kubelet would.
type cgroup struct {
	dir                string
	limit, peak, event string   // names of files: of version 1 or 2
	sockets            string   // of version 1, which counts them apart; the kernel may have no such file
	others             []string // the files that take processes into further cgroups: those of version 1

	files int      // that the program may have open, if there is a limit
	log   *os.File // its stderr, if it is not to be read
}

// limitCPU sets for the cgroup a limit of so many thousandths of a CPU.
func (g *cgroup) limitCPU(t *testing.T, thousandths int) {
	t.Helper()
	micros := strconv.Itoa(thousandths * 100) // in each 100 ms
	dir, quota, text := g.with(t, "cpu"), "cpu.max", micros+" 100000"
	if dir != g.dir {
		quota, text = "cpu.cfs_quota_us", micros // the period is 100 ms by default
	}
	if err := os.WriteFile(filepath.Join(dir, quota), []byte(text), 0o644); err != nil {
		skip(t, "a cgroup for the CPU", err)
	}
}

// with returns the folder of the cgroup for a controller. Version 1 has one for each.
func (g *cgroup) with(t *testing.T, controller string) (dir string) {
	t.Helper()
	if g.limit == "memory.max" {
		return g.dir
	}
	dir, err := os.MkdirTemp("/sys/fs/cgroup/"+controller, "attack-")
	if err != nil {
		skip(t, "a cgroup for "+controller, err)
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	g.others = append(g.others, filepath.Join(dir, "cgroup.procs"))
	return dir
}

// newCgroup makes a cgroup with the limit. Without root and cgroups the test is
// skipped, except in CI.
func newCgroup(t *testing.T, limit int) *cgroup {
	t.Helper()
	g, err := makeCgroup("/sys/fs/cgroup", limit)
	if g != nil {
		t.Cleanup(func() { _ = os.Remove(g.dir) })
	}
	if err != nil {
		skip(t, "a memory cgroup of version 1 or 2", err)
	}
	return g
}

// skip skips a test that needs what is not here, except in CI, where it fails.
func skip(t *testing.T, what string, err error) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("attacks need %s: %v", what, err)
	}
	t.Skipf("attacks need %s: %v", what, err)
}

// makeCgroup makes a cgroup below the folder where cgroups are mounted.
func makeCgroup(root string, limit int) (*cgroup, error) {
	g := &cgroup{dir: filepath.Join(root, "memory"), limit: "memory.limit_in_bytes", peak: "memory.max_usage_in_bytes", event: "memory.oom_control", sockets: "memory.kmem.tcp.max_usage_in_bytes"}
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		g = &cgroup{dir: root, limit: "memory.max", peak: "memory.peak", event: "memory.events"}
		_ = os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+cpu +memory +pids"), 0) // the limit tells whether it worked
	}
	dir, err := os.MkdirTemp(g.dir, "attack-")
	if err != nil {
		return nil, err
	}
	g.dir = dir
	if g.sockets != "" { // they are counted once they have a limit
		_ = os.WriteFile(filepath.Join(dir, "memory.kmem.tcp.limit_in_bytes"), []byte(strconv.Itoa(1<<30)), 0o644)
	}
	return g, os.WriteFile(filepath.Join(dir, g.limit), []byte(strconv.Itoa(limit)), 0o644)
}

// start starts a program in the cgroup, with nobody's rights.
func (g *cgroup) start(t *testing.T, env []string, path string, args ...string) *testutil.Process {
	t.Helper()
	procs := filepath.Join(g.dir, "cgroup.procs")
	if err := os.Chmod(g.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// The shell enters the cgroups, becomes the user and then the program.
	script := "for f in " + strings.Join(append(g.others, procs), " ") + "; do echo $$ >$f || exit; done\n"
	if g.files > 0 {
		script += fmt.Sprintf("ulimit -n %d || exit\n", g.files)
	}
	if g.log != nil {
		script += "exec 2>&3 3>&-\n"
	}
	script += `exec setpriv --reuid 65532 --regid 65532 --clear-groups --no-new-privs "$0" "$@"`
	cmd := exec.Command("sh", append([]string{"-c", script, path}, args...)...)
	cmd.Env = env
	if g.log != nil {
		cmd.ExtraFiles = []*os.File{g.log}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p, err := testutil.Start(cmd, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

// peakMiB returns the most memory that the cgroup has had, that of sockets included, if the kernel counts it. Version 1
// counts it apart: the sum of both peaks is at least that of both together.
func (g *cgroup) peakMiB(t *testing.T) float64 {
	t.Helper()
	peak := g.number(t, g.peak, "")
	if _, err := os.Stat(filepath.Join(g.dir, g.sockets)); err == nil && g.sockets != "" {
		peak += g.number(t, g.sockets, "")
	}
	return float64(peak) / (1 << 20)
}

// noMorePIDs gives a cgroup no more PIDs than it has.
func noMorePIDs(t *testing.T, dir string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "pids.current"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "pids.max"), bytes.TrimSpace(b), 0)
	}
	if err != nil {
		skip(t, "a cgroup for pids", err)
	}
}

// kills returns how many processes were killed for their memory.
func (g *cgroup) kills(t *testing.T) int64 {
	t.Helper()
	return g.number(t, g.event, "oom_kill ")
}

// TestCgroupsOfBothVersions: a machine has one of the two, so the other is played
// by files. The texts are those of Linux 6.18.
func TestCgroupsOfBothVersions(t *testing.T) {
	for name, test := range map[string]struct{ version2, limit, peak, event string }{
		"version 1": {"", "memory.limit_in_bytes", "memory.max_usage_in_bytes", "memory.oom_control"},
		"version 2": {"cgroup.controllers", "memory.max", "memory.peak", "memory.events"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write := func(dir, file, text string) {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if test.version2 == "" {
				if err := os.Mkdir(filepath.Join(root, "memory"), 0o755); err != nil {
					t.Fatal(err)
				}
			} else {
				write(root, test.version2, "cpu memory pids\n")
				write(root, "cgroup.subtree_control", "")
			}
			g, err := makeCgroup(root, memoryLimit)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := os.ReadFile(filepath.Join(g.dir, test.limit)); err != nil || string(b) != "33554432" {
				t.Errorf("limit %q, %v", b, err)
			}
			if b, _ := os.ReadFile(filepath.Join(root, "cgroup.subtree_control")); test.version2 != "" && string(b) != "+cpu +memory +pids" {
				t.Errorf("controllers of the children: %q", b)
			}
			write(g.dir, test.peak, "5242880\n")
			if test.version2 == "" {
				if b, _ := os.ReadFile(filepath.Join(g.dir, "memory.kmem.tcp.limit_in_bytes")); string(b) != "1073741824" {
					t.Errorf("sockets are counted up to %q", b)
				}
				write(g.dir, test.peak, "3145728\n")
				write(g.dir, "memory.kmem.tcp.max_usage_in_bytes", "2097152\n")
			}
			write(g.dir, test.event, map[string]string{
				"version 1": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
				"version 2": "low 0\nhigh 0\nmax 7\noom 3\noom_kill 2\noom_group_kill 0\nsock_throttled 0\n",
			}[name])
			if peak, kills := g.peakMiB(t), g.kills(t); peak != 5 || kills != 2 {
				t.Errorf("peak %.1f MiB, %d kills", peak, kills)
			}
		})
	}
}

// number reads a file, or the line of it that has a prefix.
func (g *cgroup) number(t *testing.T, name, prefix string) int64 {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), prefix); ok {
			n, err := strconv.ParseInt(rest, 10, 64)
			if err != nil {
				t.Fatal(fmt.Errorf("%s: %w", name, err))
			}
			return n
		}
	}
	t.Fatalf("%s has no line %q", name, prefix)
	return 0
}
