package testutil

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// FreePort returns a TCP port on which nothing listened a moment ago.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// ServeConns serves each connection of l, and closes it, until l is closed.
func ServeConns(l net.Listener, serve func(net.Conn)) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			serve(conn)
		}()
	}
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

// Received returns the next element of a channel, the zero value if it is closed. It ends the test if nothing comes
// within 20 seconds: a test that waits for ever says less.
func Received[T any](t testing.TB, from <-chan T) T {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(20 * time.Second):
		t.Fatal("nothing comes within 20 seconds")
		panic("unreachable")
	}
}

// Output runs cmd and returns its stdout. The error has all that it wrote.
func Output(cmd *exec.Cmd) ([]byte, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s%s", strings.Join(cmd.Args, " "), err, out, &stderr)
	}
	return out, err
}

// A Buffer may be read while it is written.
type Buffer struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

// Write appends to the buffer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns what has been written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// A Process is a program that runs beside a test.
type Process struct {
	Cmd *exec.Cmd
	log Buffer
}

// Start starts cmd. What it writes to stdout and stderr is kept as its log, and
// copied to also unless that is nil.
func Start(cmd *exec.Cmd, also io.Writer) (*Process, error) {
	p := &Process{Cmd: cmd}
	var out io.Writer = &p.log
	if also != nil {
		out = io.MultiWriter(out, also)
	}
	cmd.Stdout, cmd.Stderr = out, out
	return p, cmd.Start()
}

// Log returns what the program has written so far.
func (p *Process) Log() string { return p.log.String() }

// WaitLog waits until the log has a text so many times. When the limit has passed,
// the error has the log.
func (p *Process) WaitLog(text string, times int, limit time.Duration) error {
	return Eventually(limit, func() error {
		if n := strings.Count(p.Log(), text); n < times {
			return fmt.Errorf("%q is %d times in the log, want %d:\n%s", text, n, times, p.Log())
		}
		return nil
	})
}

// Stop kills the program and waits until it has ended.
func (p *Process) Stop() {
	p.Cmd.Process.Kill()
	p.Cmd.Wait()
}
