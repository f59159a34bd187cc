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
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	for size, want := range map[int]int{largeInput - 1: 150, largeInput: 8} {
		debug.SetGCPercent(100)
		tuneMemory(size)
		if got := debug.SetGCPercent(100); got != want {
			t.Errorf("%d bytes: %d %%, want %d %%", size, got, want)
		}
	}
}
