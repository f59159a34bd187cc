package attack

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A scarce thing is missing while the attack is under way.
type scarce string

const (
	pids   scarce = "PIDs"   // the pod has as many as it may
	reader scarce = "reader" // of stderr, which takes no more
	files  scarce = "files"  // at most fewFiles may be open
)

const fewFiles = 64

// prepare prepares the cgroup of a program. The function that it returns is to be called when the program answers.
func (s scarce) prepare(t *testing.T, g *cgroup) (exhaust func()) {
	t.Helper()
	switch s {
	case pids:
		dir := g.with(t, "pids")
		return func() { noMorePIDs(t, dir) }
	case files:
		g.files = fewFiles
	case reader:
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close(); w.Close() })
		g.log = w
		return func() {
			if err := fill(w); err != nil {
				t.Fatal(err)
			}
		}
	}
	return func() {}
}

// fill writes to a pipe all that it takes. It opens it again, so that the program's own file still waits.
func fill(pipe *os.File) error {
	w, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", pipe.Fd()), os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		return err
	}
	if _, err := io.WriteString(w, strings.Repeat("x", 1<<21)); !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("the pipe is not full: %w", err)
	}
	return nil
}
