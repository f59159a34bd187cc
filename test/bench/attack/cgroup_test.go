package attack

import (
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
	limit, peak, event string // names of files: of version 1 or 2
	cpu                string // the file that takes processes into the cgroup for the CPU, if there is another
}

// limitCPU sets for the cgroup a limit of so many thousandths of a CPU.
func (g *cgroup) limitCPU(t *testing.T, thousandths int) {
	t.Helper()
	micros := strconv.Itoa(thousandths * 100) // in each 100 ms
	dir, quota, text := g.dir, "cpu.max", micros+" 100000"
	if g.limit == "memory.limit_in_bytes" {
		var err error
		if dir, err = os.MkdirTemp("/sys/fs/cgroup/cpu", "attack-"); err != nil {
			skip(t, "a cgroup for the CPU", err)
		}
		t.Cleanup(func() { _ = os.Remove(dir) })
		quota, text = "cpu.cfs_quota_us", micros // the period is 100 ms by default
		g.cpu = filepath.Join(dir, "cgroup.procs")
	}
	if err := os.WriteFile(filepath.Join(dir, quota), []byte(text), 0o644); err != nil {
		skip(t, "a cgroup for the CPU", err)
	}
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
	g := &cgroup{dir: filepath.Join(root, "memory"), limit: "memory.limit_in_bytes", peak: "memory.max_usage_in_bytes", event: "memory.oom_control"}
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		g = &cgroup{dir: root, limit: "memory.max", peak: "memory.peak", event: "memory.events"}
		_ = os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+cpu +memory"), 0) // the limit tells whether it worked
	}
	dir, err := os.MkdirTemp(g.dir, "attack-")
	if err != nil {
		return nil, err
	}
	g.dir = dir
	return g, os.WriteFile(filepath.Join(dir, g.limit), []byte(strconv.Itoa(limit)), 0o644)
}

// start starts a program in the cgroup, with nobody's rights.
func (g *cgroup) start(t *testing.T, env []string, path string, args ...string) *testutil.Process {
	t.Helper()
	procs := filepath.Join(g.dir, "cgroup.procs")
	if err := os.Chmod(g.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// The shell enters the cgroup, becomes the user and then the program.
	cmd := exec.Command("sh", append([]string{"-c", `echo $$ >"$0" && { [ -z "$CPU_CGROUP" ] || echo $$ >"$CPU_CGROUP"; } && exec setpriv --reuid 65532 --regid 65532 --clear-groups --no-new-privs "$@"`, procs, path}, args...)...)
	cmd.Env = append(env, "CPU_CGROUP="+g.cpu)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p, err := testutil.Start(cmd, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

// peakMiB returns the most memory that the cgroup has had.
func (g *cgroup) peakMiB(t *testing.T) float64 {
	t.Helper()
	return float64(g.number(t, g.peak, "")) / (1 << 20)
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
				write(root, test.version2, "cpu memory\n")
				write(root, "cgroup.subtree_control", "")
			}
			g, err := makeCgroup(root, memoryLimit)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := os.ReadFile(filepath.Join(g.dir, test.limit)); err != nil || string(b) != "33554432" {
				t.Errorf("limit %q, %v", b, err)
			}
			if b, _ := os.ReadFile(filepath.Join(root, "cgroup.subtree_control")); test.version2 != "" && string(b) != "+cpu +memory" {
				t.Errorf("controllers of the children: %q", b)
			}
			write(g.dir, test.peak, "5242880\n")
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
