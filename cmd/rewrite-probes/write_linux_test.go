package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// TestAFileThatIsMountedIsWrittenTo: docker run -v FILE:FILE gives a container a file that
// cannot be replaced.
func TestAFileThatIsMountedIsWrittenTo(t *testing.T) {
	path, source := podFile(t, 0o640), podFile(t, 0o640)
	if err := syscall.Mount(source, path, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("SKIPPED: a file can be mounted by root alone: %v", err)
	}
	defer syscall.Unmount(path, 0)
	got := output(t, "", "-w", path)
	if !strings.Contains(read(t, source), "app-health") || read(t, path) != read(t, source) || !strings.HasSuffix(got, "exit 0\n") {
		t.Errorf("output:\n%s\nfile:\n%s", got, read(t, source))
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("%v: the folder has %v", err, left)
	}
}

// TestAnAccessControlListStays: without it, the mode alone would give the group what the
// list's mask gives to others.
func TestAnAccessControlListStays(t *testing.T) {
	path := podFile(t, 0o640)
	// Version 2; tag, permissions and id of the owner, user 1234, group, mask and others.
	list := []byte{2, 0, 0, 0,
		1, 0, 6, 0, 0xff, 0xff, 0xff, 0xff,
		2, 0, 6, 0, 0xd2, 4, 0, 0,
		4, 0, 4, 0, 0xff, 0xff, 0xff, 0xff,
		0x10, 0, 6, 0, 0xff, 0xff, 0xff, 0xff,
		0x20, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,
	}
	const name = "system.posix_acl_access"
	if err := syscall.Setxattr(path, name, list, 0); errors.Is(err, syscall.ENOTSUP) {
		t.Skip("SKIPPED: the file system has no access control lists")
	} else if err != nil {
		t.Fatal(err)
	}
	output(t, "", "-w", path)
	got := make([]byte, 100)
	n, err := syscall.Getxattr(path, name, got)
	if err != nil || string(got[:max(n, 0)]) != string(list) || !strings.Contains(read(t, path), "app-health") {
		t.Errorf("%v, list %v, file:\n%s", err, got[:max(n, 0)], read(t, path))
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("%v: the folder has %v", err, left)
	}
}

// TestAFileOfSomebodyElseKeepsItsOwner: who may write a file but not give one away must
// write into the file itself.
func TestAFileOfSomebodyElseKeepsItsOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: only root can have a file of somebody else")
	}
	path := podFile(t, 0o666)
	dir := filepath.Dir(path)
	for ; dir != "/" && dir != "."; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o7 != 0o7 && strings.HasPrefix(dir, os.TempDir()+"/") {
			if err := os.Chmod(dir, 0o777); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Chown(path, 1234, 1234); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	// The file system takes this one thread for another user, without root's rights.
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and the thread ends with the goroutine
		if err := syscall.Setfsuid(65534); err != nil {
			t.Error(err)
			return
		}
		if done, err := replace(path, info, []byte("new")); done || err != nil {
			t.Errorf("replaced: %t, %v", done, err)
		}
		if err := writeFile(path, []byte("new"), []byte(podWithProbe)); err != nil {
			t.Error(err)
		}
	}()
	<-done
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(info, after) || read(t, path) != "new" {
		t.Errorf("%v: another file, or text %q", err, read(t, path))
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("%v: the folder has %v", err, left)
	}
}

// TestTheOldTextComesBackIfThereIsNoRoomForTheNew: the file itself is written. The limit on
// the size of files is that of a process, so this is one of its own.
func TestTheOldTextComesBackIfThereIsNoRoomForTheNew(t *testing.T) {
	const child = "REWRITE_PROBES_TEST_FILE_LIMIT"
	if os.Getenv(child) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), child+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	path := podFile(t, 0o640)
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	limit := was
	limit.Cur = uint64(len(podWithProbe)) + 10
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	err = overwrite(file, []byte(strings.Repeat("x", len(podWithProbe)+100)), []byte(podWithProbe), func() {})
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	if err == nil || strings.Contains(err.Error(), "neither") || read(t, path) != podWithProbe {
		t.Errorf("%v; the file has %q", err, read(t, path))
	}
	// Where even the old text finds no room, the error says so.
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	keeps := func() { t.Error("the copy is deleted, although the file has neither text") }
	err = overwrite(full, []byte("new"), []byte("old"), keeps)
	const want = "and neither could the old text be written: no space left on device. It is in /dev/.rewrite-probes-old-full"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v", err)
	}
}
