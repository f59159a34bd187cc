//go:build unix

package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// patience bounds how long a test waits for something that must happen.
const patience = 30 * time.Second

// says words a DiscoveryRequest.
func says(message []byte) string {
	var node, kind, problem string
	for len(message) > 0 {
		number, _, n := protowire.ConsumeTag(message)
		value, used := protowire.ConsumeBytes(message[n:])
		message = message[n+used:]
		switch number {
		case 2:
			_, _, n := protowire.ConsumeTag(value)
			id, _ := protowire.ConsumeString(value[n:])
			node = "node " + id
		case 4:
			kind = string(value)
		case 6:
			problem = string(value[4:]) // after the code, and the length of the text
		}
	}
	switch {
	case node != "":
		return node
	case kind != "type.googleapis.com/istio.v1.HealthInformation":
		return kind
	case problem == "":
		return "healthy"
	}
	return "unhealthy: " + problem
}

// TestIstiodAndTheServiceManagerAreTold runs the program from its start to its end.
func TestIstiodAndTheServiceManagerAreTold(t *testing.T) {
	var status atomic.Int32
	status.Store(200)
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) }))
	defer app.Close()

	events := make(chan string, 100)
	istiod := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		for head := make([]byte, 5); ; {
			if _, err := io.ReadFull(r.Body, head); err != nil {
				w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
				events <- "end"
				return
			}
			message := make([]byte, binary.BigEndian.Uint32(head[1:]))
			_, _ = io.ReadFull(r.Body, message)
			events <- says(message)
		}
	}))
	istiod.Config.Protocols = new(http.Protocols)
	istiod.Config.Protocols.SetUnencryptedHTTP2(true)
	istiod.Start()
	defer istiod.Close()
	want := func(event string, before ...string) {
		t.Helper()
		for {
			select {
			case got := <-events:
				if got == event {
					return
				}
				if !slices.Contains(before, got) {
					t.Fatalf("istiod is told %q, want %q", got, event)
				}
			case <-time.After(patience):
				t.Fatalf("istiod is not told %q", event)
			}
		}
	}

	socket := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	told := make(chan string, 1)
	go func() {
		all := ""
		for text := make([]byte, 100); !strings.HasSuffix(all, "STOPPING=1\n"); {
			n, err := manager.Read(text)
			if err != nil {
				break
			}
			if line := fmt.Sprintf("%s\n", text[:n]); !strings.Contains(all, line) {
				all += line
			}
		}
		told <- all
	}()

	_, port, _ := net.SplitHostPort(app.Listener.Addr().String())
	address := istiod.Listener.Addr().String()
	config := writeConfig(t, `{"name": "reviews", "namespace": "shop", "probe": {"periodSeconds": 1, "timeoutSeconds": 20, "failureThreshold": 1, "httpGet": {"port": `+port+`}}}`)
	cmd := exec.Command(os.Args[0], "--config", config, "--istiod", address, "--insecure", "--ip", "127.0.0.1", "--repeat", "1s")
	cmd.Env = append(os.Environ(), "RUN_PROBE_AGENT=1", "NOTIFY_SOCKET="+socket, "WATCHDOG_PID=", "WATCHDOG_USEC=200000")
	p, err := testutil.Start(cmd, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	want("node sidecar~127.0.0.1~reviews.shop~shop.svc.cluster.local")
	for range 5 { // at once, when istiod has settled, and every second
		want("healthy")
	}
	status.Store(503)
	want("unhealthy: app answered with status 503", "healthy")
	if err := p.WaitLog("connected to istiod", 1, patience); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	want("unhealthy: probe-agent was stopped", "unhealthy: app answered with status 503")
	want("end")
	defer time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }).Stop()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}

	lines := strings.Split(strings.TrimSpace(regexp.MustCompile(`(?m)^time=\S+ `).ReplaceAllString(p.Log(), "")), "\n")
	wanted := []string{
		`level=INFO msg=probing version=dev group=shop/reviews ip=127.0.0.1 probe="HTTP GET :` + port + ` / every 1 s, timeout 20 s"`,
		`level=INFO msg="app is healthy"`,
		`level=INFO msg="connected to istiod" address=` + address,
		`level=WARN msg="app is not healthy" reason="app answered with status 503"`,
		`level=INFO msg="ending: telling istiod that the app is not healthy"`,
		`level=INFO msg="ended as asked"`,
	}
	slices.Sort(lines)
	slices.Sort(wanted)
	if !slices.Equal(lines, wanted) {
		t.Errorf("the log is\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(wanted, "\n"))
	}
	_ = manager.SetReadDeadline(time.Now().Add(patience))
	got := <-told
	if got != "READY=1\nWATCHDOG=1\nSTATUS=connected to istiod\nSTOPPING=1\n" && got != "READY=1\nSTATUS=connected to istiod\nWATCHDOG=1\nSTOPPING=1\n" {
		t.Errorf("the service manager is told %q", got)
	}
}

// TestEitherSignalEndsIt, with or without a connection to istiod.
func TestEitherSignalEndsIt(t *testing.T) {
	config := writeConfig(t, `{"name": "reviews", "namespace": "shop", "probe": {"initialDelaySeconds": 3600, "tcpSocket": {"port": 1}}}`)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		cmd := exec.Command(os.Args[0], "--config", config, "--istiod", "127.0.0.1:1", "--insecure", "--ip", "127.0.0.1")
		cmd.Env = append(os.Environ(), "RUN_PROBE_AGENT=1")
		p, err := testutil.Start(cmd, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }).Stop()
		if err := p.WaitLog("trying again until it does", 1, patience); err != nil {
			t.Error(err)
		}
		_ = cmd.Process.Signal(signal)
		if err := cmd.Wait(); err != nil || !strings.Contains(p.Log(), "ended as asked") {
			t.Errorf("%s: %v: %s", signal, err, p.Log())
		}
	}
}
