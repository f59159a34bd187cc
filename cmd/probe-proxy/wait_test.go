package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// waitWith runs wait, whose dial fails so many times, on a fake clock. It returns what wait says, and how often it dialed.
func waitWith(t *testing.T, port, failures int) (code int, stderr string, dialed int) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		code = wait([]string{fmt.Sprintf("--port=%d", port)}, nil, &b, func(address string, deadline time.Time) (net.Conn, error) {
			if want := fmt.Sprintf("127.0.0.1:%d", port); address != want || time.Until(deadline) > waitAtMost {
				t.Errorf("dials %s until %s, want %s", address, deadline, want)
			}
			if dialed++; dialed <= failures {
				return nil, syscall.ECONNREFUSED
			}
			ours, _ := net.Pipe()
			return ours, nil
		})
		stderr = b.String()
	})
	return code, stderr, dialed
}

func TestWaitEndsWhenSomethingListens(t *testing.T) {
	for _, failures := range []int{0, 1, int(waitAtMost/dialEvery) - 1} {
		if code, stderr, dialed := waitWith(t, 15099, failures); code != exitOK || dialed != failures+1 {
			t.Errorf("%d failures: exit code %d after %d dials: %s", failures, code, dialed, stderr)
		}
	}
}

func TestWaitSaysThatNothingListens(t *testing.T) {
	const want = "probe-proxy: nothing listens on 127.0.0.1:7 after 30s; the container's log says why (kubectl logs -c probe-proxy, or with --previous)"
	code, stderr, dialed := waitWith(t, 7, 1<<20)
	if code != exitFailure || !strings.HasPrefix(stderr, want) {
		t.Errorf("exit code %d, %q; want %d and %q", code, stderr, exitFailure, want)
	}
	if dialed < int(waitAtMost/dialEvery) {
		t.Errorf("it gives up after %d dials", dialed)
	}
}

// dialTCP connects to what listens, and to nothing else.
func TestWait_dialTCP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if code := wait([]string{"--port=" + portIn(l.Addr())}, nil, io.Discard, dialTCP); code != exitOK {
		t.Errorf("exit code %d, and it listens", code)
	}
	l.Close()
	if conn, err := dialTCP(l.Addr().String(), time.Now().Add(time.Minute)); err == nil {
		t.Errorf("connected to %s, which is closed", conn.RemoteAddr())
	}
}

func portIn(address net.Addr) string { return strconv.Itoa(address.(*net.TCPAddr).Port) }

func TestWaitRefusesWrongUsage(t *testing.T) {
	for args, want := range map[string]string{
		"--port=0":   "--port 0 must be a number from 1 to 65535",
		"--prt=1":    "flag provided but not defined: -prt",
		"15099":      `wait takes no arguments but --port: "15099"`,
		"--port=1 x": `wait takes no arguments but --port: "x"`,
	} {
		var stderr bytes.Buffer
		code := wait(strings.Fields(args), nil, &stderr, dialTCP)
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
