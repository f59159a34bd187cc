package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// TestItStartsAllItsThreadsAtTheStart: calls of an app over TLS, and one that hangs, need no more. A pod
// may have no PID left by then.
func TestItStartsAllItsThreadsAtTheStart(t *testing.T) {
	app := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer app.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, in the kernel, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	port := freePort(t)
	p := start(t, []string{"--port", strconv.Itoa(port)}, "POD_IP=127.0.0.1", fmt.Sprintf(
		`ISTIO_KUBE_APP_PROBERS={"/app-health/a/livez":{"httpGet":{"port":%d,"scheme":"HTTPS"}},"/app-health/b/livez":{"httpGet":{"port":%d},"timeoutSeconds":1}}`,
		app.Listener.Addr().(*net.TCPAddr).Port, silent.Addr().(*net.TCPAddr).Port))
	answer(t, port, "/healthz")
	threads := func() int {
		tasks, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(p.Cmd.Process.Pid), "task"))
		if err != nil {
			t.Fatal(err)
		}
		return len(tasks)
	}
	if n := threads(); n != documentedThreads && !raced {
		t.Errorf("%d threads at the start, want %d as documented", n, documentedThreads)
	}
	first := threads()
	var calls sync.WaitGroup
	for i := range 40 {
		calls.Go(func() {
			for range 5 {
				answer(t, port, []string{"/app-health/a/livez", "/app-health/b/livez", "/metrics"}[i%3])
			}
		})
	}
	calls.Wait()
	if n := threads(); n != first && !raced {
		t.Errorf("%d threads, and %d at the start", n, first)
	}
}

// documentedThreads is what docs/operations.md says.
const documentedThreads = 12

// TestAFullLogHangsNoCallAndNotTheEnd: nobody reads stderr, from the start or later.
func TestAFullLogHangsNoCallAndNotTheEnd(t *testing.T) {
	var fails atomic.Bool
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if fails.Load() {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	defer app.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	fill(t, w)
	port := freePort(t)
	cmd := exec.Command(os.Args[0], "--port", strconv.Itoa(port))
	cmd.Env = append(os.Environ(), "RUN_PROBE_PROXY=1", "POD_IP=127.0.0.1", "ISTIO_KUBE_APP_PROBERS="+fmt.Sprintf(livez, app.Listener.Addr().(*net.TCPAddr).Port))
	cmd.Stderr = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	for i := range 200 {
		fails.Store(i%2 == 1)
		want := map[bool]int{false: http.StatusOK, true: http.StatusTeapot}[i%2 == 1]
		if got := answer(t, port, "/app-health/web/livez"); got != want {
			t.Fatalf("call %d: status %d, want %d", i, got, want)
		}
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if err := testutil.Received(t, ended); err != nil {
		t.Error(err)
	}
}

// fill writes to a pipe all that it takes.
func fill(t *testing.T, w *os.File) {
	t.Helper()
	_ = w.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	if n, err := io.WriteString(w, strings.Repeat("x", 1<<21)); err == nil {
		t.Fatalf("the pipe takes %d bytes", n)
	}
	if w.Fd() == 0 { // and makes it a blocking one, as a container's is
		t.Fatal("closed")
	}
}

// TestFewOpenFilesAreEnough: with 64, silent connections and half requests lose no probe.
func TestFewOpenFilesAreEnough(t *testing.T) {
	app := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer app.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	port := freePort(t)
	cmd := exec.Command("sh", "-c", `ulimit -n 64 && exec "$0" "$@"`, os.Args[0], "--port", strconv.Itoa(port))
	cmd.Env = append(os.Environ(), "RUN_PROBE_PROXY=1", "POD_IP=127.0.0.1", fmt.Sprintf(
		`ISTIO_KUBE_APP_PROBERS={"/app-health/a/livez":{"httpGet":{"port":%d},"timeoutSeconds":5},"/app-health/b/livez":{"httpGet":{"port":%d},"timeoutSeconds":60}}`,
		app.Listener.Addr().(*net.TCPAddr).Port, silent.Addr().(*net.TCPAddr).Port))
	p, err := testutil.Start(cmd, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	answer(t, port, "/healthz")
	texts := []string{"", "GET /", "GET /app-health/b/livez HTTP/1.1\r\nHost: x\r\n\r\n", "POST /x HTTP/1.1\r\nContent-Length: 9\r\n\r\n"}
	for i := range 400 {
		conn, err := net.DialTimeout("tcp", "127.0.0.1:"+strconv.Itoa(port), time.Second)
		if err != nil {
			continue // the queue of the kernel is full
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, texts[i%len(texts)])
		if i%40 > 0 {
			continue
		}
		client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
		res, err := client.Get("http://127.0.0.1:" + strconv.Itoa(port) + "/app-health/a/livez")
		if err != nil {
			t.Fatalf("after %d connections: %v\n%s", i, err, p.Log())
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Fatalf("after %d connections: status %d\n%s", i, res.StatusCode, p.Log())
		}
	}
	if strings.Contains(p.Log(), "too many open files") {
		t.Errorf("it used up its files:\n%s", p.Log())
	}
}
