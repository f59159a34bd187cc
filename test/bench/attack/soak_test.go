package attack

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"log"
	"math/big"
	randv2 "math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	grpcprobe "k8s.io/kubernetes/pkg/probe/grpc"
	tcpprobe "k8s.io/kubernetes/pkg/probe/tcp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

var soak = flag.Duration("soak", 30*time.Second, "how long TestSoak probes")

const (
	perSecond = 10
	faults    = 0.01 // of the probes
	restart   = 100  // probes of an app until it starts anew, with another certificate
)

// An app comes and goes on one port.
type app struct {
	kind string
	port int
	mode atomic.Value // what it does with the next probe: "", "error", "reset" or "slow"
	stop func()
}

// modes lists what else than to succeed each kind of app can do.
var modes = map[string][]string{
	"http":  {"down", "error", "reset", "slow"},
	"https": {"down", "error", "reset", "slow"},
	"tcp":   {"down"},
	"grpc":  {"down", "error"},
}

func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch a.mode.Load() {
	case "error":
		w.WriteHeader(503)
	case "reset":
		panic(http.ErrAbortHandler)
	case "slow":
		select {
		case <-r.Context().Done():
		case <-time.After(3 * timeout):
		}
	}
}

func (a *app) start(t *testing.T) {
	t.Helper()
	var l net.Listener
	err := testutil.Eventually(10*time.Second, func() (err error) {
		l, err = net.Listen("tcp", net.JoinHostPort(podIP, strconv.Itoa(a.port)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	a.port = l.Addr().(*net.TCPAddr).Port
	switch a.kind {
	case "tcp":
		a.stop = func() { l.Close() }
		go testutil.ServeConns(l, func(net.Conn) {})
	case "grpc":
		s, h := grpc.NewServer(), health.NewServer()
		if a.mode.Load() == "error" {
			h.SetServingStatus("", healthpb.HealthCheckResponse_NOT_SERVING)
		}
		healthpb.RegisterHealthServer(s, h)
		a.stop = s.Stop
		go s.Serve(l)
	default:
		s := &http.Server{Handler: a, ErrorLog: log.New(io.Discard, "", 0)}
		if a.kind == "https" {
			l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{certificate(t)}})
		}
		a.stop = func() { s.Close() }
		go s.Serve(l)
	}
}

func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (a *app) entry() *prober.Original {
	p := &prober.Original{TimeoutSeconds: 1}
	switch a.kind {
	case "tcp":
		p.TCPSocket = &prober.TCPSocket{Port: field.Number(a.port)}
	case "grpc":
		p.GRPC = &prober.GRPC{Port: field.Number(a.port), Service: new(string)}
	default:
		p.HTTPGet = &prober.HTTPGet{Path: "/", Port: field.Number(a.port), Scheme: strings.ToUpper(a.kind)}
	}
	return p
}

// probe probes the app once through port, while it is in a mode. It returns an
// error if the verdict is not true, and whether that of the app itself, probed at
// the same time, is: a machine that is busy makes good probes late.
func (a *app) probe(t *testing.T, port int, mode string) (err error, itself bool) {
	t.Helper()
	a.mode.Store(mode)
	switch {
	case mode == "down":
		a.stop()
		defer a.start(t)
	case mode != "" && a.kind == "grpc":
		a.stop()
		a.start(t)
		defer func() { a.stop(); a.mode.Store(""); a.start(t) }()
	}
	itself = true
	var wg sync.WaitGroup
	if mode == "" {
		wg.Go(func() { itself = a.probeItself() == nil })
	}
	err = probeOnce(port, prober.Key(a.kind, prober.Liveness))
	wg.Wait()
	if (err == nil) != (mode == "") {
		return fmt.Errorf("app %s is %q, and the verdict %v", a.kind, mode, err), itself
	}
	return nil, itself
}

// probeItself probes the app directly.
func (a *app) probeItself() error {
	switch a.kind {
	case "tcp":
		return verdictOf(tcpprobe.New().Probe(podIP, a.port, timeout))
	case "grpc":
		return verdictOf(grpcprobe.New().Probe(podIP, "", a.port, timeout, grpcprobe.ProbeOptions{}))
	}
	return probeHTTP(a.kind, a.port, "/")
}

// startApps starts an app of each kind, and probe-proxy for them.
func startApps(t *testing.T) (apps []*app, p *testutil.Process, port int) {
	t.Helper()
	entries := map[string]*prober.Original{}
	for kind := range modes {
		a := &app{kind: kind}
		a.mode.Store("")
		a.start(t)
		t.Cleanup(func() { a.stop() })
		apps = append(apps, a)
		entries[prober.Key(kind, prober.Liveness)] = a.entry()
	}
	port, err := testutil.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	path := build(t, openDir(t), "../../..", "./cmd/probe-proxy")
	p = newCgroup(t, memoryLimit).start(t, []string{"POD_IP=" + podIP, prober.EnvName + "=" + prober.Encode(entries)}, path, "--port", strconv.Itoa(port))
	if err := testutil.Eventually(10*time.Second, func() error { return probeOnce(port, prober.HealthPath) }); err != nil {
		t.Fatalf("probe-proxy does not answer: %v\n%s", err, p.Log())
	}
	return apps, p, port
}

// TestSoak probes for long: apps come and go, certificates change, some probes
// fail. Every verdict must be true, and nothing may grow.
func TestSoak(t *testing.T) {
	apps, p, port := startApps(t)
	var n, failures, wrong int
	var late [2]int // good probes that failed, through probe-proxy and of the app itself
	var memory, files int64
	tick := time.NewTicker(time.Second / perSecond)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < *soak; n++ {
		<-tick.C
		a := apps[n%len(apps)]
		if n/len(apps)%restart == restart-1 {
			a.stop()
			a.start(t)
		}
		mode := ""
		if randv2.Float64() < faults || n < 100 && n%10 == 9 { // some, however short it is
			mode = modes[a.kind][randv2.IntN(len(modes[a.kind]))]
			failures++
		}
		err, itself := a.probe(t, port, mode)
		for again := 1; err != nil && again < attempts; again++ {
			t.Logf("probe %d, of the app itself well: %t: %v", n, itself, err)
			late[0]++
			err, itself = a.probe(t, port, mode)
		}
		if err != nil {
			wrong++
			t.Errorf("probe %d, in each of %d attempts: %v", n, attempts, err)
		}
		if !itself {
			late[1]++
		}
		if memory == 0 && time.Since(began) > *soak/3 {
			memory, files = testutil.Memory(p.Cmd.Process.Pid, "VmRSS"), openFiles(t, p.Cmd.Process.Pid)
		}
		if n%6000 == 5999 {
			t.Logf("%s: %d probes, %d wrong, %d bytes, %d files", time.Since(began).Round(time.Second), n+1, wrong, testutil.Memory(p.Cmd.Process.Pid, "VmRSS"), openFiles(t, p.Cmd.Process.Pid))
		}
	}
	t.Logf("%d probes, %d of them with a fault: %d wrong verdicts, %d good probes were late, %d of the app itself", n, failures, wrong, late[0], late[1])
	time.Sleep(time.Second)
	checkGrowth(t, p, memory, files)
}

// checkGrowth compares what the program has with what it had, and ends it.
func checkGrowth(t *testing.T, p *testutil.Process, memory, files int64) {
	t.Helper()
	endMemory, endFiles := testutil.Memory(p.Cmd.Process.Pid, "VmRSS"), openFiles(t, p.Cmd.Process.Pid)
	_ = p.Cmd.Process.Signal(syscall.SIGQUIT) // prints the stack of every goroutine
	_ = p.Cmd.Wait()
	goroutines := strings.Count(p.Log(), "\ngoroutine ")
	t.Logf("%.1f MiB, then %.1f; %d files, then %d; %d goroutines", float64(memory)/(1<<20), float64(endMemory)/(1<<20), files, endFiles, goroutines)
	if endMemory > memory+memory/5+1<<20 {
		t.Errorf("memory grew from %d to %d bytes", memory, endMemory)
	}
	if endFiles > files+2 {
		t.Errorf("open files grew from %d to %d", files, endFiles)
	}
	if goroutines < 1 || goroutines > 20 {
		t.Errorf("%d goroutines are left", goroutines)
	}
}

func openFiles(t *testing.T, pid int) int64 {
	t.Helper()
	files, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "fd"))
	if err != nil {
		t.Fatal(err)
	}
	return int64(len(files))
}
