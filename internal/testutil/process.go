package testutil

import (
	"bytes"
	"io"
	"net"
	"os/exec"
	"sync"
	"time"
)

// FreePort returns a TCP port on which nobody listened a moment ago.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// Eventually calls try until it returns nil. When the limit has passed, it
// returns the last error.
func Eventually(limit time.Duration, try func() error) error {
	deadline := time.Now().Add(limit)
	for {
		err := try()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// A Process is a program that runs beside a test.
type Process struct {
	Cmd *exec.Cmd

	mu  sync.Mutex
	log bytes.Buffer // guarded by mu
}

// Start starts cmd; what it writes to stdout and stderr is kept as its log,
// and copied to also, unless that is nil.
func Start(cmd *exec.Cmd, also io.Writer) (*Process, error) {
	p := &Process{Cmd: cmd}
	var out io.Writer = writerFunc(p.write)
	if also != nil {
		out = io.MultiWriter(out, also)
	}
	cmd.Stdout, cmd.Stderr = out, out
	return p, cmd.Start()
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func (p *Process) write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(b)
}

// Log returns what the program has written so far.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// Stop kills the program and waits until it has ended.
func (p *Process) Stop() {
	p.Cmd.Process.Kill()
	p.Cmd.Wait()
}
