// Package attack attacks probe-proxy, within the memory that its container gets,
// while a kubelet probes through it, and compares with what the app itself
// answers at the same time and with Istio's status server under the same attack.
//
//	go test ./bench/attack -short            # probe-proxy alone
//	go test ./bench/attack -args -o ../../../docs/guides/security.md
//
// All traffic is on loopback, and bounded in count and time.
package attack

import (
	"context"
	"flag"
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
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubernetes/pkg/probe"
	httpprobe "k8s.io/kubernetes/pkg/probe/http"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

const (
	podIP       = "127.0.0.1"
	maxPeak     = 24.0            // MiB
	maxEnd      = time.Second     // from SIGTERM
	hooksWithin = 4 * time.Second // in the attack by strangers; a program that runs twice as long is killed
	attempts    = 3               // of one attack, until one holds: the machine may be busy
)

// How a machine is attacked and probed. One that is slow has less of both.
var (
	every    = 200 * time.Millisecond // a probe
	timeout  = time.Second            // of a probe
	underWay = 500 * time.Millisecond // after which an attack is
	patience = 10 * time.Second       // until the program answers
	pace     = -1                     // limit of the CPU that the callers consider, if not that of the program
)

var (
	out     = flag.String("o", "", "document to keep the table in")
	program = flag.String("program", "", "probe-proxy to attack, if not that of the sources")
)

// cpuLimits are the limits of the CPU under which an attack runs, in thousandths: none, the least that the function
// writes, and half of it, which a short run leaves out.
var cpuLimits = []int{0, 100, halfOfLeast}

const halfOfLeast = 50

// probes returns how many probes are made during an attack.
func probes() int {
	if testing.Short() {
		return 10
	}
	return 20
}

var (
	good      = prober.Key("good", prober.Liveness)
	evil      = prober.Key("evil", prober.Liveness)
	evilReady = prober.Key("evil", prober.Readiness)
	evilHook  = prober.Key("evil", prober.PreStop)
)

// A result is what one program made of one attack.
type result struct {
	failed  int              // probes through the program
	control int              // probes of the app itself, at the same time
	slowest [2]time.Duration // probe through the program, and of the app itself
	peak    float64
	killed  bool
	end     time.Duration // from SIGTERM
	early   bool          // it ended while a hook was open, or was still to come
	few     bool          // it had less of the CPU than the function writes: probes may fail
}

// holds returns "" or which promise is broken.
func (r *result) holds() string {
	switch {
	case r.killed:
		return "was killed for its memory"
	case r.failed > r.control && !r.few:
		return fmt.Sprintf("%d of %d probes failed, %d of the app itself", r.failed, probes(), r.control)
	case r.peak > maxPeak:
		return fmt.Sprintf("took %.1f MiB", r.peak)
	case r.early:
		return "ended while a hook was open, or was still to come"
	case r.end > maxEnd:
		return fmt.Sprintf("ended %s after SIGTERM", r.end)
	}
	return ""
}

func (r *result) String() string {
	if r.killed {
		return fmt.Sprintf("%d of %d, killed for its memory", r.failed, probes())
	}
	return fmt.Sprintf("%d of %d, %.1f MiB", r.failed, probes(), r.peak)
}

// TestMain runs the callers of an attack in a process of their own, so that they
// take no time from the kubelet's.
func TestMain(m *testing.M) {
	if os.Getpid() == 1 {
		runGuest(m)
	}
	cpu, err := strconv.Atoi(os.Getenv("RUN_CALLERS"))
	if err != nil {
		os.Exit(m.Run())
	}
	restrain(cpu)
	for _, a := range attacks {
		if a.name == os.Args[1] {
			if os.Getenv("RUN_CALM") != "" {
				a = a.calmed()
			}
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			a.run(ctx, os.Args[2])
		}
	}
}

func TestAttacks(t *testing.T) {
	newCgroup(t, memoryLimit) // says why, if there are none
	dir := openDir(t)
	ours, istio := *program, ""
	if ours == "" {
		ours = build(t, dir, "../../..", "./cmd/probe-proxy")
	}
	if !testing.Short() {
		istio = build(t, dir, "../..", "./conformance/kubelet/istiostatus")
	}
	var table strings.Builder
	table.WriteString("| attack | what was sent | the app itself")
	for _, cpu := range cpuLimits {
		table.WriteString(" | probe-proxy, " + limitText(cpu))
	}
	table.WriteString(" | Istio's status server |\n|---|---|---|" + strings.Repeat("---|", len(cpuLimits)) + "---|\n")
	for _, a := range attacks {
		control, cells := 0, ""
		for _, cpu := range cpuLimits {
			if cpu == halfOfLeast && testing.Short() {
				continue
			}
			t.Run(a.name+"/"+limitText(cpu), func(t *testing.T) {
				r := a.attempt(t, ours, cpu)
				control, cells = max(control, r.control), cells+" | "+r.String()
			})
		}
		theirs := "-"
		if istio != "" {
			t.Run(a.name+"/Istio", func(t *testing.T) {
				peer := a.against(t, istioLimit, 0, istio, podIP)
				t.Logf("%s (the app itself: %d)", peer, peer.control)
				theirs = peer.String()
			})
		}
		fmt.Fprintf(&table, "| %s | %s | %d of %d%s | %s |\n", a.name, a.sent, control, probes(), cells, theirs)
	}
	if *out != "" && !t.Failed() {
		text := fmt.Sprintf("Probes that failed during the attack, and the peak of memory of the cgroup with its sockets (probe-proxy at most %d MiB, and killed beyond %d; Istio's server has %d).\n\n", int(maxPeak), memoryLimit>>20, istioLimit>>20) + table.String()
		if err := testutil.ReplaceSection(*out, "attacks", text); err != nil {
			t.Fatal(err)
		}
	}
}

func limitText(cpu int) string {
	if cpu == 0 {
		return "no CPU limit"
	}
	return strconv.Itoa(cpu) + "m"
}

// attempt attacks probe-proxy until all promises hold, and fails the test where they do not in any attempt.
func (a *attack) attempt(t *testing.T, path string, cpu int) *result {
	t.Helper()
	for left := attempts - 1; ; left-- {
		r := a.against(t, memoryLimit, cpu, path, "--port")
		t.Logf("%s (the app itself: %d), slowest probe %s (%s), ended after %s", r, r.control, r.slowest[0], r.slowest[1], r.end.Round(time.Millisecond))
		broken := r.holds()
		if broken == "" {
			return r
		}
		t.Logf("probe-proxy %s", broken)
		if left == 0 {
			t.Errorf("probe-proxy %s, in each of %d attempts", broken, attempts)
			return r
		}
	}
}

// openDir returns a temporary folder that any user may enter.
func openDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && len(d) > 1; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func build(t *testing.T, dir, module, pkg string) (path string) {
	t.Helper()
	path = filepath.Join(dir, filepath.Base(pkg))
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, pkg)
	cmd.Dir, cmd.Env = module, append(os.Environ(), "CGO_ENABLED=0")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, b)
	}
	return path
}

// against attacks a program within limits of memory, in bytes, and of the CPU, in thousandths and 0 for none, while the
// kubelet probes the good app, through it and directly.
func (a *attack) against(t *testing.T, limit, cpu int, path, arg string) *result {
	t.Helper()
	r := &result{few: cpu == halfOfLeast}
	g := newCgroup(t, limit)
	if cpu > 0 {
		g.limitCPU(t, cpu)
	}
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
	defer app.Close()
	appPort := app.Listener.Addr().(*net.TCPAddr).Port
	entries := map[string]*prober.Original{good: httpGet(appPort, "")}
	if a.app != nil {
		port := serve(t, a.app)
		entries[evil] = a.entry(port)
		entries[evilHook] = httpGet(port, "")
		if a.ready {
			entries[evilReady] = a.entry(port)
		}
	}
	for i := range a.entries {
		entries[prober.Key("c"+strconv.Itoa(i), prober.Readiness)] = httpGet(appPort, "")
	}
	port, err := testutil.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{arg, strconv.Itoa(port)}
	if a.strangers && limit == memoryLimit {
		args = append(args, "--hooks-within="+hooksWithin.String())
	}
	exhaust := a.without.prepare(t, g)
	p := g.start(t, []string{"POD_IP=" + podIP, prober.EnvName + "=" + prober.Encode(entries)}, path, args...)
	if err := testutil.Eventually(patience, func() error { return probeOnce(port, good) }); err != nil {
		t.Fatalf("%s does not answer: %v\n%s", path, err, p.Log())
	}
	exhaust()
	callers := exec.Command(os.Args[0], a.name, net.JoinHostPort(podIP, strconv.Itoa(port)))
	if pace >= 0 {
		cpu = pace
	}
	callers.Env = append(os.Environ(), "RUN_CALLERS="+strconv.Itoa(cpu))
	if a.isCalm {
		callers.Env = append(callers.Env, "RUN_CALM=yes")
	}
	callers.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := callers.Start(); err != nil {
		t.Fatal(err)
	}
	leave := sync.OnceFunc(func() { callers.Process.Kill(); callers.Wait() })
	defer leave()
	time.Sleep(underWay)
	r.probe(port, appPort)
	r.peak, r.killed = g.peakMiB(t), g.kills(t) > 0
	if a.leaves {
		leave()
	}
	ended := make(chan struct{})
	began := time.Now()
	_ = p.Cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(2*hooksWithin, func() { p.Cmd.Process.Kill() })
	go func() {
		defer close(ended)
		_ = p.Cmd.Wait() // Istio's server ends with an error
	}()
	if a.hooks {
		select {
		case <-ended:
			r.early = true
		case <-time.After(2 * time.Second):
		}
		began = time.Now()
		leave()
	}
	if a.strangers {
		time.Sleep(hooksWithin / 2)
		r.early = probeOnce(port, evilHook) != nil
		began = began.Add(hooksWithin)
	}
	<-ended
	kill.Stop()
	r.end = time.Since(began)
	return r
}

// probe probes the good app through the program and directly.
func (r *result) probe(port, appPort int) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	once := func(port int, path string, failed *int, slowest *time.Duration) {
		began := time.Now()
		err := probeOnce(port, path)
		mu.Lock()
		defer mu.Unlock()
		*slowest = max(*slowest, time.Since(began).Round(time.Millisecond))
		if err != nil {
			*failed++
		}
	}
	for range probes() {
		wg.Go(func() { once(port, good, &r.failed, &r.slowest[0]) })
		wg.Go(func() { once(appPort, "/", &r.control, &r.slowest[1]) })
		time.Sleep(every)
	}
	wg.Wait()
}

// probeOnce probes as the kubelet does.
func probeOnce(port int, path string) error { return probeHTTP("http", port, path) }

func probeHTTP(scheme string, port int, path string) error {
	get := &v1.HTTPGetAction{Path: path, Port: intstr.FromInt32(int32(port)), Scheme: v1.URIScheme(scheme)}
	req, err := httpprobe.NewRequestForHTTPGetAction(get, &v1.Container{}, podIP, "probe")
	if err != nil {
		return err
	}
	return verdictOf(httpprobe.New(false).Probe(req, timeout))
}

// verdictOf returns an error unless the kubelet's verdict is a success.
func verdictOf(verdict probe.Result, text string, err error) error {
	if err == nil && verdict != probe.Success {
		err = fmt.Errorf("%s: %s", verdict, text)
	}
	return err
}

func httpGet(port int, protocol string) *prober.Original {
	return &prober.Original{HTTPGet: &prober.HTTPGet{Path: "/", Port: field.Number(port), Scheme: "HTTP", Protocol: protocol}, TimeoutSeconds: int(timeout / time.Second)}
}

// serve runs a hostile app, and returns its port.
func serve(t *testing.T, app func(net.Conn)) int {
	t.Helper()
	l, err := net.Listen("tcp", podIP+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go testutil.ServeConns(l, func(c net.Conn) {
		_ = c.SetDeadline(time.Now().Add(30 * time.Second))
		app(c)
	})
	return l.Addr().(*net.TCPAddr).Port
}
