package main

import (
	"bytes"
	"io"
	"runtime/debug"
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

func TestGarbageIsCollectedBySizeOfTheInput(t *testing.T) {
	limit, percent := debug.SetMemoryLimit(-1), debug.SetGCPercent(100)
	defer func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	}()
	for _, size := range []int{0, 50 << 20} {
		tuneMemory(size)
		if got, want := debug.SetMemoryLimit(-1), int64(size)+46<<20; got != want {
			t.Errorf("%d bytes: a limit of %d, want %d", size, got, want)
		}
	}
}
