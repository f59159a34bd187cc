// Package delivery tests every way in which users get and run rewrite-probes and
// probe-proxy, with the tools that those users have.
package delivery

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// version is what the images under test are tagged with: the documentation
// names it, so that its commands run as they stand.
const version = "v0.1.0"

func TestMain(m *testing.M) {
	code := m.Run()
	if err := theHarness.remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// TestScripts runs what users type, one script a tool.
func TestScripts(t *testing.T) {
	h := setUp(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("SOURCE", h.source)
			env.Setenv("VERSION", version)
			env.Vars = append(env.Vars, h.env()...)
			return nil
		},
		Condition: h.condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"images": need(h.images),
			"helms":  need(h.helms),
		},
	})
}

// A harness is what all tests share: a copy of the checkout, so that nothing in
// the checkout changes, the programs on PATH, and a container store of its own.
type harness struct {
	dir    string
	source string // the copy of the checkout
	bin    string // docker, helm, kustomize, rewrite-probes

	images  func() error // builds the images, once
	helms   func() error // puts helm and helm4 on PATH, once
	release func() error // makes a release in release/dist, for this machine alone, once
	proxy   func() error // makes a module proxy in proxy/ that has the checkout as version, once
}

var (
	theHarness  harness
	makeHarness = sync.OnceValue(theHarness.make)
)

// setUp returns the harness. The first test that calls it makes it.
func setUp(t *testing.T) *harness {
	t.Helper()
	if err := makeHarness(); err != nil {
		t.Fatal(err)
	}
	return &theHarness
}

func (h *harness) make() (err error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	if h.dir, err = os.MkdirTemp("", "delivery"); err != nil {
		return err
	}
	h.source, h.bin = filepath.Join(h.dir, "source"), filepath.Join(h.dir, "bin")
	if err := copyCheckout(root, h.source); err != nil {
		return err
	}
	if err := h.buildPrograms(root); err != nil {
		return err
	}
	h.images = sync.OnceValue(func() error {
		_, err := h.run(h.source, "make", "images", "ENGINE=podman", "VERSION="+version, "SOURCE_DATE_EPOCH=0")
		return err
	})
	h.helms = sync.OnceValue(func() error { return h.linkHelms(root) })
	h.release = sync.OnceValue(func() error { return h.makeRelease(root) })
	h.proxy = sync.OnceValue(h.makeProxy)
	return h.configurePodman()
}

// linkHelms puts both lines of Helm on PATH. `make delivery` has built them.
func (h *harness) linkHelms(root string) error {
	if _, err := h.run(root, "make", "bin/helm", "bin/helm4"); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(h.dir, "helm4"), 0o777); err != nil {
		return err
	}
	for link, target := range map[string]string{"bin/helm": "helm", "bin/helm4": "helm4", "helm4/helm": "helm4"} {
		if err := os.Symlink(filepath.Join(root, "bin", target), filepath.Join(h.dir, link)); err != nil {
			return err
		}
	}
	return nil
}

// remove takes down what make made. Layers in a container store belong to
// other users, so podman itself must remove them.
func (h *harness) remove() error {
	if h.dir == "" {
		return nil
	}
	if _, err := exec.LookPath("podman"); err == nil {
		if _, err := h.run(h.dir, "podman", "rmi", "--all", "--force"); err != nil {
			return err
		}
	}
	return os.RemoveAll(h.dir)
}

// copyCheckout copies what git would commit, so no built file.
func copyCheckout(from, to string) error {
	list := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	list.Dir = from
	names, err := testutil.Output(list)
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		if err := copyFile(filepath.Join(from, name), filepath.Join(to, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode().Perm())
}

// buildPrograms builds the programs in bin/ of the copy, and links them into the
// folder that is first on PATH.
func (h *harness) buildPrograms(root string) error {
	if _, err := h.run(root, "make", "bin/kustomize"); err != nil {
		return err
	}
	if _, err := h.run(h.source, "make", "build", "VERSION="+version); err != nil {
		return err
	}
	if err := os.Symlink(filepath.Join(root, "bin", "kustomize"), filepath.Join(h.source, "bin", "kustomize")); err != nil {
		return err
	}
	if err := os.MkdirAll(h.bin, 0o777); err != nil {
		return err
	}
	for _, name := range []string{"rewrite-probes", "probe-agent", "kustomize"} {
		if err := os.Symlink(filepath.Join(h.source, "bin", name), filepath.Join(h.bin, name)); err != nil {
			return err
		}
	}
	return nil
}

// configurePodman sets podman up with a store of its own, so that the images of
// the machine's user stay as they are, and so that it runs where the test itself
// runs in a container. kustomize knows no engine but "docker".
func (h *harness) configurePodman() error {
	for name, text := range map[string]string{
		"containers.conf": `[containers]
default_ulimits = ["nofile=1024:4096", "nproc=1024:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = "` + h.dir + `/tmp"
`,
		"storage.conf": `[storage]
driver = "vfs"
graphroot = "` + h.dir + `/images"
runroot = "` + h.dir + `/run"
`,
		"bin/docker": "#!/bin/sh\nexec podman \"$@\"\n",
	} {
		if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o755); err != nil {
			return err
		}
	}
	return nil
}

func (h *harness) env() []string {
	return []string{
		"PATH=" + h.bin + string(os.PathListSeparator) + os.Getenv("PATH"),
		"CONTAINERS_CONF=" + filepath.Join(h.dir, "containers.conf"),
		"CONTAINERS_STORAGE_CONF=" + filepath.Join(h.dir, "storage.conf"),
		"KPT_FN_RUNTIME=podman",
	}
}

// run runs a command with the harness' environment and returns its stdout.
func (h *harness) run(dir, name string, args ...string) (string, error) {
	return h.runWith(nil, dir, name, args...)
}

// runWith is run with more in the environment.
func (h *harness) runWith(env []string, dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(append(os.Environ(), h.env()...), env...)
	out, err := testutil.Output(cmd)
	return string(out), err
}

func (h *harness) condition(name string) (bool, error) {
	if name == "podman" {
		_, err := exec.LookPath("podman")
		return err == nil && runtime.GOOS == "linux", nil
	}
	return false, fmt.Errorf("condition %q must be podman", name)
}

// need returns a script command that builds what the script needs.
func need(build func() error) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) > 0 {
			ts.Fatalf("neither ! nor arguments are allowed")
		}
		ts.Check(build())
	}
}
