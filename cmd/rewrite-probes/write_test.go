//go:build unix

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAReadOnlyFileIsNotReplaced(t *testing.T) {
	path := podFile(t, 0o444)
	got := output(t, "", "-w", path)
	if read(t, path) != podWithProbe || !strings.Contains(got, "error: "+path+" was not changed: it is read-only (mode 0444)\n") ||
		!strings.Contains(got, "0 objects changed, 1 not written because of the errors; 1 error, ") || !strings.HasSuffix(got, "exit 3\n") {
		t.Errorf("output:\n%s\nfile:\n%s", got, read(t, path))
	}
}

// TestAFileThatItsGroupMayWriteIsNotReadOnly: only its mode would say so, which root need not obey.
func TestAFileThatItsGroupMayWriteIsNotReadOnly(t *testing.T) {
	path := podFile(t, 0o460)
	got := output(t, "", "-w", path)
	if os.Getuid() != 0 {
		if !strings.Contains(got, path+" was not changed: permission denied\n") {
			t.Errorf("output:\n%s", got)
		}
		return
	}
	if read(t, path) == podWithProbe || strings.Contains(got, "read-only") {
		t.Errorf("output:\n%s\nfile:\n%s", got, read(t, path))
	}
}

func TestOtherNamesOfAFileSeeWhatIsWritten(t *testing.T) {
	path := podFile(t, 0o640)
	other := path + ".link"
	if err := os.Link(path, other); err != nil {
		t.Fatal(err)
	}
	symbolic := filepath.Join(filepath.Dir(path), "symbolic.yaml")
	if err := os.Symlink("pod.yaml", symbolic); err != nil {
		t.Fatal(err)
	}
	output(t, "", "-w", symbolic)
	if read(t, other) == podWithProbe || read(t, other) != read(t, path) {
		t.Error("the hard link has another text now")
	}
	if info, err := os.Lstat(symbolic); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the symbolic link is gone: %v %v", info, err)
	}
	// A shorter text leaves nothing of the longer one behind.
	output(t, "", "restore", "-w", path)
	if got := read(t, other); strings.Contains(got, "app-health") || !strings.HasPrefix(got, "apiVersion: v1\n") {
		t.Errorf("restored:\n%s", got)
	}
}

// TestAFileThatChangesWhileItRunsIsKept saves the first file while the run waits for the
// second, which is a pipe.
func TestAFileThatChangesWhileItRunsIsKept(t *testing.T) {
	path := podFile(t, 0o640)
	pipe := filepath.Join(filepath.Dir(path), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	saved := strings.Replace(podWithProbe, "name: web", "name: saved", 1)
	done := make(chan error, 1)
	go func() {
		w, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for the reader, who has read the first file
		if err == nil {
			err = errors.Join(os.WriteFile(path, []byte(saved), 0), w.Close())
		}
		done <- err
	}()
	got := output(t, "", "-w", path, pipe)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if read(t, path) != saved || !strings.Contains(got, "error: "+path+" was not changed: it was changed by somebody else since it was read; run the command again\n") ||
		!strings.Contains(got, "0 objects changed, 1 not written because of the errors; 2 errors, ") || !strings.HasSuffix(got, "exit 3\n") {
		t.Errorf("output:\n%s\nfile:\n%s", got, read(t, path))
	}
	if output(t, "", "-w", path); !strings.Contains(read(t, path), "app-health") {
		t.Errorf("the next run writes\n%s", read(t, path))
	}
}

// An interrupter interrupts the run when it names the first file.
type interrupter struct {
	bytes.Buffer
	sig  os.Signal
	done bool
}

func (w *interrupter) Write(b []byte) (int, error) {
	if !w.done {
		w.done = true
		seen := make(chan os.Signal, 1)
		signal.Notify(seen, w.sig)
		defer signal.Stop(seen)
		syscall.Kill(os.Getpid(), w.sig.(syscall.Signal))
		<-seen
		time.Sleep(50 * time.Millisecond) // the run gets it too
	}
	return w.Buffer.Write(b)
}

func TestASignalEndsARunBetweenTwoFiles(t *testing.T) {
	for sig, words := range map[os.Signal]string{syscall.SIGINT: "interrupt", syscall.SIGTERM: "terminated", syscall.SIGHUP: "hangup"} {
		// Under nohup the tests ignore a hangup, and so would the run.
		heard := make(chan os.Signal, 1)
		signal.Notify(heard, sig)
		defer signal.Stop(heard)
		dir := t.TempDir()
		for _, name := range []string{"a.yaml", "b.yaml", "c.yaml"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(podWithProbe), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out, errs := &interrupter{sig: sig}, new(bytes.Buffer)
		code := run([]string{"-l", "-w", "--config", "none", dir}, strings.NewReader(""), out, errs)
		first, second := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml")
		if code != exitUnreadable || out.String() != first+"\n" || !strings.Contains(errs.String(), "error: "+second+" and what follows it was not changed: "+words+" signal received\n") ||
			!strings.Contains(errs.String(), "1 object changed, 2 not written") {
			t.Errorf("%s: exit %d, stdout %q, stderr %q", sig, code, out, errs)
		}
		if !strings.Contains(read(t, first), "app-health") || read(t, second) != podWithProbe || read(t, filepath.Join(dir, "c.yaml")) != podWithProbe {
			t.Errorf("%s: the files are\n%s\n%s", sig, read(t, first), read(t, second))
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 3 {
			t.Errorf("%s: %v: the folder has %v", sig, err, left)
		}
	}
}

// Where no file is being written, nothing has to be brought to its end: the signal ends the process, as it ends
// other filters.
func TestASignalEndsARunThatWritesNothingAtOnce(t *testing.T) {
	for _, write := range []bool{false, true} {
		ctx, stop := (&editFlags{write: write}).untilSignal()
		if catches := ctx.Done() != nil; catches != write {
			t.Errorf("-w is %v: the run catches signals: %v", write, catches)
		}
		stop()
	}
}

func TestAPipeIsNotWrittenTo(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- os.WriteFile(pipe, []byte(podWithProbe), 0) }()
	got := output(t, "", "-w", pipe)
	if err := <-done; err != nil || !strings.Contains(got, "error: "+pipe+" was not changed: it is not a regular file\n") {
		t.Errorf("%v, output:\n%s", err, got)
	}
}

func TestTwoNamesOfAFileInOneRunAreWrittenOnce(t *testing.T) {
	path := podFile(t, 0o640)
	other := filepath.Join(filepath.Dir(path), "other.yaml")
	if err := os.Link(path, other); err != nil {
		t.Fatal(err)
	}
	got := output(t, "", "-w", filepath.Dir(path))
	if !strings.Contains(read(t, path), "app-health") || read(t, other) != read(t, path) || !strings.HasSuffix(got, "exit 0\n") {
		t.Errorf("output:\n%s\nfile:\n%s", got, read(t, path))
	}
}

func TestAReaderSeesTheOldTextOrTheNew(t *testing.T) {
	path := podFile(t, 0o640)
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	output(t, "", "-w", path)
	if old, err := io.ReadAll(reader); string(old) != podWithProbe || err != nil || read(t, path) == podWithProbe {
		t.Errorf("who had the file open reads %v\n%s", err, old)
	}
}

func TestOwnerAndModeStay(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can have a file of somebody else")
	}
	path := podFile(t, 0o640)
	if err := os.Chown(path, 1234, 5678); err != nil {
		t.Fatal(err)
	}
	output(t, "", "-w", path)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Uid != 1234 || st.Gid != 5678 || info.Mode().Perm() != 0o640 || read(t, path) == podWithProbe {
		t.Errorf("uid %d, gid %d, mode %v", st.Uid, st.Gid, info.Mode())
	}
}

func TestAnErrorOfTheFolderNamesNoTemporaryFile(t *testing.T) {
	if os.Getuid() == 0 {
		// Root may write into any folder: replace gets one that is gone.
		_, err := replace(filepath.Join(t.TempDir(), "gone", "pod.yaml"), nil, nil)
		if err == nil || strings.Contains(err.Error(), ".rewrite-probes-") || !strings.Contains(err.Error(), "gone: no such file") {
			t.Errorf("error is %v", err)
		}
		return
	}
	path := podFile(t, 0o640)
	if err := os.Chmod(filepath.Dir(path), 0o555); err != nil {
		t.Fatal(err)
	}
	got := output(t, "", "-w", path)
	if strings.Contains(got, ".rewrite-probes-") || !strings.Contains(got, "permission denied") || read(t, path) != podWithProbe {
		t.Errorf("output:\n%s", got)
	}
}
