package main

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

func TestWaitEndsWhenSomethingListens(t *testing.T) {
	port := freePort(t)
	go func() {
		time.Sleep(100 * time.Millisecond)
		l, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
		if err == nil {
			t.Cleanup(func() { _ = l.Close() })
		}
	}()
	begin := time.Now()
	var stderr bytes.Buffer
	code := wait([]string{fmt.Sprintf("--port=%d", port)}, nil, &stderr, 10*time.Second)
	if took := time.Since(begin); code != exitOK || took < 100*time.Millisecond || took > 5*time.Second {
		t.Errorf("exit code %d after %s: %s", code, took, &stderr)
	}
}

func TestWaitSaysThatNothingListens(t *testing.T) {
	port := freePort(t)
	var stderr bytes.Buffer
	code := wait([]string{fmt.Sprintf("--port=%d", port)}, nil, &stderr, 100*time.Millisecond)
	if want := fmt.Sprintf("probe-proxy: nothing listens on 127.0.0.1:%d after 100ms; the container's log says why (kubectl logs -c probe-proxy, or with --previous)", port); code != exitFailure || !strings.HasPrefix(stderr.String(), want) {
		t.Errorf("exit code %d, %q; want %d and %q", code, &stderr, exitFailure, want)
	}
}

func TestWaitRefusesWrongUsage(t *testing.T) {
	for args, want := range map[string]string{
		"--port=0":   "--port 0 must be a number from 1 to 65535",
		"--prt=1":    "flag provided but not defined: -prt",
		"15099":      `wait takes no arguments but --port: "15099"`,
		"--port=1 x": `wait takes no arguments but --port: "x"`,
	} {
		var stderr bytes.Buffer
		code := wait(strings.Fields(args), nil, &stderr, time.Second)
		if code != exitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit code %d, %q; want %q", args, code, &stderr, want)
		}
	}
}

func TestWaitHasAHelp(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := run([]string{"wait", "--help"}, &stdout, &stderr)
	for _, want := range []string{"at most 30s", "-port int", "Exit codes: 0 it listens, 1 it does not"} {
		if code != exitOK || !strings.Contains(stdout.String(), want) {
			t.Errorf("exit code %d, help lacks %q: %s%s", code, want, &stdout, &stderr)
		}
	}
}

// The hook that the function writes waits for the server that the container runs.
func TestTheHookThatTheFunctionWritesWaits(t *testing.T) {
	for _, placement := range []string{"native", "container"} {
		for _, port := range []int{15099, freePort(t)} {
			c := inject(t, fmt.Sprintf(podWithProbe, 8080), placement, port)
			command := c.Lifecycle.PostStart.Exec.Command
			if want := fmt.Sprintf("[/probe-proxy wait --port=%d]", port); fmt.Sprint(command) != want {
				t.Fatalf("%s: the hook is %q, want %s", placement, command, want)
			}
			if port == 15099 {
				continue // another test may have it
			}
			c.run(t)
			hook := start(t, command[1:])
			if code := hook.waitEnd(t); code != exitOK {
				t.Errorf("%s: exit code %d: %s", placement, code, hook.Log())
			}
			if got := answer(t, port, "/healthz"); got != 200 {
				t.Errorf("%s: /healthz answers %d after the hook", placement, got)
			}
		}
	}
}
