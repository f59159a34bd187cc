package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// killable starts the command in a process of its own.
func killable(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Args = append([]string{"rewrite-probes"}, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// Killed at any moment, a run leaves each file with the old text or the new one, or the whole old text
// beside it, which the next run names. What it leaves else is gone after the next run.
func TestARunThatIsKilledLosesNothing(t *testing.T) {
	old := podWithProbe + strings.Repeat("# "+strings.Repeat("c", 97)+"\n", 20_000)
	path := filepath.Join(t.TempDir(), "pod.yaml")
	if err := os.WriteFile(path, []byte(old), 0o640); err != nil {
		t.Fatal(err)
	}
	output(t, "", "-w", path)
	whole := read(t, path)
	if whole == old {
		t.Fatal("nothing was rewritten")
	}
	for name, prepare := range map[string]func(path string) error{
		"a plain file": func(string) error { return nil },
		"a hard link":  func(path string) error { return os.Link(path, path+".txt") },
		"an attribute": func(path string) error { return syscall.Setxattr(path, "user.a", []byte("b"), 0) },
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(5, 6))
			for range 6 {
				dir := t.TempDir()
				path := filepath.Join(dir, "pod.yaml")
				if err := os.WriteFile(path, []byte(old), 0o640); err != nil {
					t.Fatal(err)
				}
				if err := prepare(path); err != nil {
					t.Skipf("SKIPPED: %v", err)
				}
				cmd := killable(t, "-w", "--config", "none", path)
				for range 5000 { // until something changes in the folder, and a little longer
					entries, _ := os.ReadDir(dir)
					info, _ := os.Stat(path)
					if len(entries) > 2 || info.Size() != int64(len(old)) {
						break
					}
					time.Sleep(time.Millisecond)
				}
				time.Sleep(time.Duration(random.IntN(8)) * time.Millisecond)
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
				text := read(t, path)
				isNew := text == whole
				kept, err := os.ReadFile(oldTextOf(path))
				if err == nil && string(kept) != old {
					t.Fatalf("the copy has %d bytes of %d", len(kept), len(old))
				}
				if err != nil && text != old && !isNew {
					t.Fatalf("the file is half-written, %d bytes, and no copy is left", len(text))
				}
				got := output(t, "", "-w", path)
				named := "a run was killed while it wrote the file. Its text before is in " + oldTextOf(path) + ". Move that back, or delete it"
				if copied := err == nil; copied != strings.Contains(got, named) {
					t.Fatalf("a copy is left: %v; output:\n%s", copied, got)
				}
				if err == nil && read(t, path) != text {
					t.Fatal("the file was written although its old text is beside it")
				}
				left, _ := filepath.Glob(filepath.Join(dir, ".rewrite-probes-[0-9]*"))
				if len(left) > 0 {
					t.Fatalf("%v is left; output:\n%s", left, got)
				}
			}
		})
	}
}

// A file whose old text cannot be kept is not overwritten: the name of the copy is too long here, though
// that of the file is not.
func TestAFileIsNotOverwrittenWithoutACopy(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("n", 245)+".yaml")
	if err := os.WriteFile(path, []byte(podWithProbe), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(path, filepath.Join(filepath.Dir(path), "other.txt")); err != nil {
		t.Fatal(err)
	}
	got := output(t, "", "-w", path)
	if !strings.Contains(got, "was not changed: a copy of it cannot be kept: file name too long") {
		t.Errorf("output:\n%s", got)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 2 || read(t, path) != podWithProbe {
		t.Errorf("%v, %v: the folder has another file, or the file another text", err, left)
	}
}

// What a killed run has left in a folder that only a link leads to stays: -w writes nothing there.
func TestNothingIsDeletedOutOfTheGivenFolders(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	for _, d := range []string{in, out} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"pod.yaml", ".rewrite-probes-1", ".rewrite-probes-old-pod.yaml"} {
		if err := os.WriteFile(filepath.Join(out, name), []byte(podWithProbe), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(out, "pod.yaml"), filepath.Join(in, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(in, "web.yaml"), []byte(podWithProbe), 0o600); err != nil {
		t.Fatal(err)
	}
	got := output(t, "", "-w", in)
	if left, err := os.ReadDir(out); err != nil || len(left) != 3 || strings.Contains(got, "was killed") {
		t.Errorf("%v, %v; output:\n%s", err, left, got)
	}
}

// A temporary file stays while a process holds it, and so does what only looks like one.
func TestOnlyWhatNobodyHoldsIsDeleted(t *testing.T) {
	dir := t.TempDir()
	held, err := createBeside(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{".rewrite-probes-1", ".rewrite-probes-1.yaml", ".rewrite-probes-old-a", "rewrite-probes-2", ".rewrite-probes-x"}
	for i, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(fmt.Sprint(i)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, ".rewrite-probes-3"), 0o700); err != nil {
		t.Fatal(err)
	}
	deleteStale(dir)
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 6 || !isAt(held, held.Name()) {
		t.Errorf("%v, %v", err, left)
	}
	held.Close()
	deleteStale(dir)
	if left, err := os.ReadDir(dir); err != nil || len(left) != 5 {
		t.Errorf("%v, %v", err, left)
	}
}
