// Package program runs programs of the user's PATH. Nothing else that rewrite-probes links starts one.
package program

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"
)

// Find returns the path of a program in PATH.
func Find(name string) (string, error) { return exec.LookPath(name) }

// A Call is one run of a program. It gets no stdin.
type Call struct {
	Path string
	Args []string
	Env  []string // besides the environment of this process, which it overrides
	// Silent is called if the program has written nothing to stdout after Patience. It may be nil.
	Silent   func()
	Patience time.Duration
}

// Run runs the program until it ends, and returns what it wrote. The error is that of the context if this has
// ended: then the program is told to end, and killed two seconds later.
func (c *Call) Run(ctx context.Context) (stdout []byte, stderr string, err error) {
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Cancel = func() error { return end(cmd) }
	cmd.WaitDelay = 2 * time.Second // programs that it started are not waited for
	if c.Env != nil {
		cmd.Env = append(os.Environ(), c.Env...)
	}
	answer := &answered{}
	cmd.Stdout = answer
	said := &head{}
	cmd.Stderr = said
	if c.Silent != nil {
		waiting := time.AfterFunc(c.Patience, func() {
			if !answer.began.Load() {
				c.Silent()
			}
		})
		defer waiting.Stop()
	}
	err = cmd.Run()
	if cause := context.Cause(ctx); cause != nil {
		return nil, "", cause
	}
	return answer.text.Bytes(), said.text.String(), err
}

// end asks a program to end, so that it can end those that it has started.
func end(cmd *exec.Cmd) error {
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return cmd.Process.Kill() // as on Windows, which knows no such signal
	}
	return nil
}

// answered is what a program wrote.
type answered struct {
	began atomic.Bool
	text  bytes.Buffer
}

func (a *answered) Write(b []byte) (int, error) {
	a.began.Store(true)
	return a.text.Write(b)
}

// head is the start of what a program wrote: one that goes on for ever must not take all memory.
type head struct{ text bytes.Buffer }

func (h *head) Write(b []byte) (int, error) {
	const most = 64 << 10
	if room := most - h.text.Len(); room > 0 {
		h.text.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}
