package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// opened returns a function that names the files of a folder that were opened since it was called last.
func opened(t *testing.T, dir string) func() []string {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK)
	if err == nil {
		_, err = syscall.InotifyAddWatch(fd, dir, syscall.IN_OPEN)
	}
	if err != nil {
		t.Skip("inotify:", err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	return func() (names []string) {
		buf := make([]byte, 64<<10)
		n, _ := syscall.Read(fd, buf)
		for at := 0; at+syscall.SizeofInotifyEvent <= n; {
			e := (*syscall.InotifyEvent)(unsafe.Pointer(&buf[at]))
			at += syscall.SizeofInotifyEvent
			names = append(names, string(bytes.TrimRight(buf[at:at+int(e.Len)], "\x00")))
			at += int(e.Len)
		}
		return names
	}
}

// A treeOfKinds is a repository whose files are of all kinds, beside a folder that nobody gave.
type treeOfKinds struct {
	*testing.T
	*rand.Rand
	base string
}

func (tree *treeOfKinds) one(of ...string) string { return of[tree.IntN(len(of))] }

func (tree *treeOfKinds) write(path, text string) {
	tree.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tree.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		tree.Fatal(err)
	}
}

// somewhere returns a path from a folder of the repository to what must not be opened, or may be.
func (tree *treeOfKinds) somewhere(dir string) string {
	target := filepath.Join(tree.base, tree.one("outside", "outside/pod.yaml", "outside/function.yaml", "outside/kustomization.yaml", "outside/fifo.yaml", "repo", "repo/app", "repo/app/web.yaml", "repo/function.yaml"))
	if tree.IntN(8) == 0 {
		target = tree.one("/dev/zero", "/dev/tty", "/proc/self/fd/0", "/dev/stdin")
	}
	if tree.IntN(4) == 0 {
		return target
	}
	rel, err := filepath.Rel(dir, target)
	if err != nil {
		tree.Fatal(err)
	}
	return rel
}

func (tree *treeOfKinds) kustomization(dir string) string {
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
	for _, key := range []string{"resources", "bases", "components", "transformers", "patchesStrategicMerge"} {
		if tree.IntN(2) == 0 {
			text += fmt.Sprintf("%s: [%q, %q]\n", key, tree.somewhere(dir), tree.somewhere(dir))
		}
	}
	return text + fmt.Sprintf("patches: [{path: %q}]\n", tree.somewhere(dir))
}

const (
	functionText = "apiVersion: rewrite-probes.io/v1alpha1\nkind: RewriteProbes\nmetadata: {name: a}\n"
	secretPod    = "apiVersion: v1\nkind: Pod\nmetadata: {name: secret}\nspec: {containers: [{name: a, image: b, livenessProbe: {httpGet: {port: secret}}}]}\n"
)

// fill makes a file of a kind at a path.
func (tree *treeOfKinds) fill(path string) {
	dir := filepath.Dir(path)
	switch tree.IntN(6) {
	case 0: // there is none
	case 1:
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			tree.Fatal(err)
		}
	case 2, 3:
		if err := os.Symlink(tree.somewhere(dir), path); err != nil {
			tree.Fatal(err)
		}
	default:
		text := podWithProbe
		switch filepath.Base(path) {
		case "kustomization.yaml":
			text = tree.kustomization(dir)
		case configName, "function.yaml":
			text = functionText
		}
		tree.write(path, text)
	}
}

// TestOnlyWhatIsGivenIsOpened draws repositories that name and link to what is outside of them,
// to devices and to pipes, at which a reader waits for ever. A folder that cannot be read
// is a failure too, since nothing else would be opened then.
func TestOnlyWhatIsGivenIsOpened(t *testing.T) {
	read, refused := 0, 0
	for seed := range uint64(150) {
		base, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		tree := &treeOfKinds{t, rand.New(rand.NewPCG(seed, 54)), base}
		out := filepath.Join(base, "outside")
		tree.write(out+"/pod.yaml", secretPod)
		tree.write(out+"/function.yaml", functionText)
		tree.write(out+"/kustomization.yaml", "resources: [pod.yaml]\ntransformers: [function.yaml]\n")
		if err := syscall.Mkfifo(out+"/fifo.yaml", 0o600); err != nil {
			t.Fatal(err)
		}
		repo := filepath.Join(base, "repo")
		if tree.IntN(3) > 0 {
			tree.write(repo+"/.git/HEAD", "")
		}
		for _, dir := range []string{repo, repo + "/app", repo + "/app/sub"} {
			tree.write(dir+"/plain.yaml", podWithProbe)
			for _, name := range []string{"kustomization.yaml", configName, "web.yaml", "function.yaml"} {
				tree.fill(filepath.Join(dir, name))
			}
		}
		args := [][]string{{"check"}, {"explain"}, {"-l"}, {"-w"}, {"restore", "-w"}, {"check", "--strict", "-o", "sarif"}}[tree.IntN(6)]
		args = append(args, tree.one(repo, repo+"/app", repo+"/app/sub", repo+"/app/plain.yaml"))
		since := opened(t, out)
		var stdout, stderr bytes.Buffer
		code := run(args, nil, &stdout, &stderr)
		if names := since(); len(names) > 0 {
			t.Errorf("seed %d: %q opens %q of the folder outside", seed, args, names)
		}
		if text := stdout.String() + stderr.String(); strings.Contains(text, "secret") || strings.Contains(text, "internal error") {
			t.Errorf("seed %d: %q prints\n%s", seed, args, text)
		}
		if code == exitUsage {
			t.Errorf("seed %d: %q: %s", seed, args, &stderr)
		}
		if strings.Contains(stderr.String()+stdout.String(), "pod template") {
			read++
		}
		if strings.Contains(stderr.String(), "leads out") || strings.Contains(stderr.String(), "regular file") {
			refused++
		}
		// What the command line names is opened, and the kustomization beside it.
		_ = run([]string{"-l", "--config", out + "/function.yaml", out + "/pod.yaml"}, nil, &stdout, &stderr)
		if names := since(); !slices.Contains(names, "pod.yaml") || !slices.Contains(names, "function.yaml") || slices.Contains(names, "fifo.yaml") {
			t.Errorf("seed %d: two files are named, and %q are opened", seed, names)
		}
	}
	if read < 50 || refused < 50 {
		t.Errorf("only %d runs read manifests, and %d refused a file", read, refused)
	}
}

// TestOneDoorOpensFiles keeps the rules of the fence in one place.
func TestOneDoorOpensFiles(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		isDoor := name == "open.go" || name == "copy.go" || strings.HasPrefix(name, "write") // itself, and what was read before
		if isDoor || strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, call := range []string{"os.Open", "os.ReadFile", "os.ReadDir", "os.Create"} {
			if strings.Contains(read(t, name), call) {
				t.Errorf("%s calls %s: open.go has the rules", name, call)
			}
		}
	}
}

// TestPipesThatAreNamedAreRead reads <(command), as a shell passes it.
func TestPipesThatAreNamedAreRead(t *testing.T) {
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = w.WriteString(podWithProbe)
			w.Close()
		}()
		got := output(t, "", "check", "--config", "none", fmt.Sprintf("/dev/fd/%d", r.Fd()))
		r.Close()
		if !strings.Contains(got, "1 pod template") {
			t.Errorf("a pipe by its name: %s", got)
		}
	}
}

func TestAPipeInAFolderIsNamed(t *testing.T) {
	dir := filepath.Dir(podFile(t, 0o600))
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := output(t, "", "check", dir); !strings.Contains(got, "pipe.yaml: Not checked: this is not a regular file [not-rendered]\n") {
		t.Error(got)
	}
}

// TestWhatMayNotBeReadIsNamed reads a file and a folder as a user who may not.
func TestWhatMayNotBeReadIsNamed(t *testing.T) {
	file := podFile(t, 0)
	folder := filepath.Dir(podFile(t, 0o644))
	if err := os.Chmod(folder, 0); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(folder, 0o700) }()
	above := filepath.Dir(folder)
	asNobody(func() {
		got := output(t, "", "check", file)
		if os.Getuid() == 0 && !strings.Contains(got, "pod.yaml: permission denied; run it as a user who may read it\nexit 3") {
			t.Errorf("below a folder that is closed: %s", got)
		}
	})
	if err := os.Chmod(above, 0o711); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, folder} {
		got := ""
		asNobody(func() { got = output(t, "", "check", "--config", "none", path) })
		if !strings.Contains(got, path+": Permission denied [unreadable]\n") || !strings.HasSuffix(got, "exit 3\n") ||
			!strings.Contains(got, "  fix: Run it as a user who may read it, or skip it with `--ignore`.\n") {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// asNobody calls do without the rights of root to files, which it gives up for its thread.
func asNobody(do func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if os.Getuid() == 0 {
		_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, 65534, 0, 0)
		defer func() { _, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, 0, 0, 0) }()
	}
	do()
}

// TestInputsHaveALimit gives a device that never ends, and a file with a hole.
func TestInputsHaveALimit(t *testing.T) {
	hole := filepath.Join(t.TempDir(), "hole.yaml")
	if err := os.WriteFile(hole, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(hole, 3<<30); err != nil {
		t.Skip(err)
	}
	for _, args := range [][]string{{"check", hole}, {"check", filepath.Dir(hole)}, {"check", "--config", hole, podFile(t, 0o600)}} {
		before := heapOf(t)
		got := output(t, "", args...)
		if !strings.Contains(got, "ust be smaller than 2 GiB") || !strings.HasSuffix(got, "exit 3\n") || heapOf(t)-before > 64<<20 {
			t.Errorf("%q: %s, with %d bytes more", args, got, heapOf(t)-before)
		}
	}
}

func heapOf(t *testing.T) int64 {
	t.Helper()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.TotalAlloc)
}
