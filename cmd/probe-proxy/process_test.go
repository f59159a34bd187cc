package main

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain runs the program itself when a test starts it as a process.
func TestMain(m *testing.M) {
	if os.Getenv("RUN_PROBE_PROXY") != "" {
		main()
	}
	os.Exit(m.Run())
}

// patience bounds how long a test waits for something that must happen. It is
// shorter than the wait for hooks that the function writes, so that a program
// that sits out such a wait counts as one that never ends.
const patience = 8 * time.Second

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// A process is a running probe-proxy and its log.
type process struct {
	*exec.Cmd
	ended chan error

	mu    sync.Mutex
	log   bytes.Buffer  // guarded by mu
	wrote chan struct{} // gets a token when the log grows
}

// start runs the program with args, and with env beside the test's own.
func start(t *testing.T, args []string, env ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0], args...), ended: make(chan error, 1), wrote: make(chan struct{}, 1)}
	p.Env = append(append(os.Environ(), "RUN_PROBE_PROXY=1"), env...)
	p.Stderr = p
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Process.Kill() })
	go func() { p.ended <- p.Wait() }()
	return p
}

// Write adds to the log.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case p.wrote <- struct{}{}:
	default:
	}
	return p.log.Write(b)
}

func (p *process) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// waitLog waits for a text in the log.
func (p *process) waitLog(t *testing.T, text string) {
	t.Helper()
	limit := time.After(patience)
	for !strings.Contains(p.logged(), text) {
		select {
		case <-p.wrote:
		case <-limit:
			t.Fatalf("the log never has %q:\n%s", text, p.logged())
		}
	}
}

// waitEnd waits until the program has ended, and returns its exit code.
func (p *process) waitEnd(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
		return p.ProcessState.ExitCode()
	case <-time.After(patience):
		t.Fatalf("never ends:\n%s", p.logged())
		return 0
	}
}

// answer returns the status with which a path is answered, as soon as the
// program listens.
func answer(t *testing.T, port int, path string) int {
	t.Helper()
	for limit := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		res, err := http.Get("http://127.0.0.1:" + strconv.Itoa(port) + path)
		if err == nil {
			res.Body.Close()
			return res.StatusCode
		}
		if time.Now().After(limit) {
			t.Fatal(err)
		}
	}
}
