package main

import (
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
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
	port, err := testutil.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// A process is a running probe-proxy and its log.
type process struct {
	*testutil.Process
	ended chan error
}

// start runs the program with args, and with env beside the test's own.
func start(t *testing.T, args []string, env ...string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(append(os.Environ(), "RUN_PROBE_PROXY=1"), env...)
	running, err := testutil.Start(cmd, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	p := &process{running, make(chan error, 1)}
	go func() { p.ended <- cmd.Wait() }()
	return p
}

// signal sends SIGTERM, with which the kubelet ends a container.
func (p *process) signal() { p.Cmd.Process.Signal(syscall.SIGTERM) }

// waitLog waits for a text in the log.
func (p *process) waitLog(t *testing.T, text string) {
	t.Helper()
	if err := p.WaitLog(text, 1, patience); err != nil {
		t.Fatal(err)
	}
}

// waitEnd waits until the program has ended, and returns its exit code.
func (p *process) waitEnd(t *testing.T) int {
	t.Helper()
	return p.waitEndWithin(t, patience)
}

// waitEndWithin is waitEnd with another patience.
func (p *process) waitEndWithin(t *testing.T, patience time.Duration) int {
	t.Helper()
	select {
	case <-p.ended:
		return p.Cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		t.Fatalf("never ends:\n%s", p.Log())
		return 0
	}
}

// answer returns the status with which a path is answered, as soon as the
// program listens.
func answer(t *testing.T, port int, path string) (status int) {
	t.Helper()
	err := testutil.Eventually(patience, func() error {
		res, err := http.Get("http://127.0.0.1:" + strconv.Itoa(port) + path)
		if err == nil {
			res.Body.Close()
			status = res.StatusCode
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return status
}
