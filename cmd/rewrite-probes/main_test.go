package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// broken panics when it is read, as a bug would.
type broken struct{ io.Reader }

func (broken) Read([]byte) (int, error) { panic("a bug") }

func TestAPanicIsAnInternalError(t *testing.T) {
	var out, errs bytes.Buffer
	code := run([]string{"-"}, broken{}, &out, &errs)
	if code != exitUnreadable || out.Len() > 0 || !strings.Contains(errs.String(), "error: internal error, nothing was written") || !strings.Contains(errs.String(), "a bug") {
		t.Errorf("exit %d, stderr %q, stdout %q", code, &errs, &out)
	}
}

// unreadable is a stream that breaks off.
type unreadable struct{}

func (unreadable) Read([]byte) (int, error) { return 0, errors.New("connection reset by peer") }

func TestAnInputThatBreaksOffIsAnError(t *testing.T) {
	var out, errs bytes.Buffer
	code := run([]string{"check", "-"}, unreadable{}, &out, &errs)
	if want := "error: <stdin>: connection reset by peer\n"; code != exitUnreadable || out.Len() > 0 || errs.String() != want {
		t.Errorf("exit %d, stderr %q, stdout %q", code, &errs, &out)
	}
}

// A folder has the name that the copy would get.
func TestACopyThatFailsLeavesNothing(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, filepath.Base(self), "taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := run([]string{"copy-to", dir}, nil, &out, &errs)
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || code != exitUnreadable || out.Len() > 0 || !strings.HasPrefix(errs.String(), "error: nothing was copied: ") {
		t.Errorf("%v, %v are left; exit %d, stderr %q, stdout %q", left, err, code, &errs, &out)
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// A list that was cut short would tell a script that no other file changes.
func TestOutputThatCannotBeWrittenIsAnError(t *testing.T) {
	pod := podFile(t, 0o644)
	all := [][]string{
		{pod}, {"-l", pod}, {"-d", pod}, {"explain", pod},
		{"reasons"}, {"schema"}, {"policy"}, {"version"}, {"--version"}, {"completion", "bash"}, {"--help"}, {"check", "--help"}, {"help", "check"},
	}
	for _, args := range inEveryFormat() {
		if !slices.Equal(args, []string{"check", "-o", "text"}) { // which goes to stderr
			all = append(all, append(args, pod))
		}
	}
	for _, args := range all {
		var errs bytes.Buffer
		if slices.Contains(args, pod) {
			args = append(args, "--config", "none")
		}
		code := run(args, strings.NewReader(""), full{}, &errs)
		if code != exitUnreadable || !strings.Contains(errs.String(), "error: no space left on device\n") {
			t.Errorf("%s: exit %d, stderr %q", args, code, &errs)
		}
	}
}

func TestGarbageIsCollectedBySizeOfTheInput(t *testing.T) {
	limit, percent := debug.SetMemoryLimit(-1), debug.SetGCPercent(100)
	defer func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	}()
	for _, size := range []int{0, 50 << 20} {
		tuneMemory(size)
		if got, want := debug.SetMemoryLimit(-1), int64(size)+40<<20; got != want {
			t.Errorf("%d bytes: a limit of %d, want %d", size, got, want)
		}
	}
}

const podWithProbe = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: web, readinessProbe: {httpGet: {port: 80}}}]}
`

func podFile(t *testing.T, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pod.yaml")
	if err := os.WriteFile(path, []byte(podWithProbe), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}
