// Command sidecar measures what probe-proxy costs a pod. It compares probe-proxy
// in one run with Istio's status server and with direct probes of the app, and
// prints the table of docs/probe-proxy.md; -o keeps it there, with its charts.
//
//	go run . [-o ../../../docs/probe-proxy.md]
//
// With -contention it measures how many probes probe-proxy makes in time beside
// containers that take all CPU, for the table of docs/performance.md.
//
//	go run . -contention [-o ../../../docs/performance.md]
//
// The kubelet's own probers are the callers. All traffic is on loopback.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubernetes/pkg/probe"
	grpcprobe "k8s.io/kubernetes/pkg/probe/grpc"
	httpprobe "k8s.io/kubernetes/pkg/probe/http"
	tcpprobe "k8s.io/kubernetes/pkg/probe/tcp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

const (
	podIP   = "127.0.0.1"
	timeout = 5 // seconds; long, so that a busy machine fails no probe
	warmUp  = 200
	block   = 250 // probes of one target before the next has its turn
	callers = 16
)

var kinds = []string{"http", "https", "tcp", "grpc"}

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "app":
			serveApp()
		case "burn":
			for parent := os.Getppid(); os.Getppid() == parent; { // it ends with the benchmark
			}
		}
	}
	probes := flag.Int("probes", 10000, "probes of each kind, back to back")
	paced := flag.Duration("paced", 20*time.Second, "how long to probe 50 times a second")
	peak := flag.Duration("peak", 10*time.Second, "how long the peak with 16 callers lasts")
	only := flag.String("kinds", strings.Join(kinds, ","), "kinds of probes to measure")
	gate := flag.Bool("gate", false, "measure a kind whose promise is broken four times more, and exit 1 where the medians break it")
	out := flag.String("o", "", "document to keep the table in, between its markers; the charts go to images/ beside it")
	contention := flag.Bool("contention", false, "measure probes beside containers that take all CPU, and nothing else")
	rounds := flag.Int("rounds", 40, "rounds of probes of each contention")
	flag.Parse()
	measureAll := func() error { return run(strings.Split(*only, ","), *probes, *paced, *peak, *out, *gate) }
	if *contention {
		measureAll = func() error { return contend(*rounds, *out) }
	}
	if err := measureAll(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A program is one of the two to compare.
type program struct {
	name, path string
	start      func(path string, port int) *exec.Cmd
}

// A cost is what one program costs for one kind of probe.
type cost struct {
	latency, pacedLatency time.Duration // medians, through the program
	cpu, pacedCPU         time.Duration // for each probe
	rss, peak             float64       // MiB: resident after the probes, highest in the peak
	rate                  float64       // probes a second at the peak
}

// A row is one kind of probe.
type row struct {
	kind                string
	direct, pacedDirect time.Duration
	ours, istio         cost
}

func run(kinds []string, probes int, paced, peak time.Duration, out string, gate bool) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ours, istio, err := buildPrograms(dir)
	if err != nil {
		return err
	}
	ports, stop, err := startApp(nil)
	if err != nil {
		return err
	}
	defer stop()
	os.Setenv(prober.EnvName, probers(ports))
	var rows []*row
	for _, kind := range kinds {
		fmt.Fprintln(os.Stderr, "measuring", kind)
		r, err := measure(kind, ports[kind], []*program{ours, istio}, probes, paced, peak)
		if err == nil && gate && len(brokenBy(r)) > 0 {
			// A machine that was busy for a moment breaks no promise: the
			// medians of five runs count, four of them longer.
			fmt.Fprintf(os.Stderr, "broken: %s; measuring four times more, and longer\n", strings.Join(brokenBy(r), "; "))
			repeated := []*row{r, nil, nil, nil, nil}
			for i := 1; i < len(repeated) && err == nil; i++ {
				repeated[i], err = measure(kind, ports[kind], []*program{ours, istio}, 3*probes, 3*paced, peak)
			}
			if err == nil {
				r = medianOf(repeated)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		rows = append(rows, r)
	}
	table, broken := render(rows, size(ours.path), size(istio.path), probes, paced, peak)
	fmt.Print(table)
	if out != "" {
		if err := keep(out, table, rows); err != nil {
			return err
		}
	}
	if gate && len(broken) > 0 {
		return fmt.Errorf("promises are broken: %s", strings.Join(broken, "; "))
	}
	return nil
}

// medianOf returns a row with the median of each number of the rows.
func medianOf(rows []*row) *row {
	m := *rows[0]
	setMedian(&m, rows, func(r *row) *time.Duration { return &r.direct })
	setMedian(&m, rows, func(r *row) *time.Duration { return &r.pacedDirect })
	for _, program := range []func(*row) *cost{func(r *row) *cost { return &r.ours }, func(r *row) *cost { return &r.istio }} {
		setMedian(&m, rows, func(r *row) *time.Duration { return &program(r).latency })
		setMedian(&m, rows, func(r *row) *time.Duration { return &program(r).pacedLatency })
		setMedian(&m, rows, func(r *row) *time.Duration { return &program(r).cpu })
		setMedian(&m, rows, func(r *row) *time.Duration { return &program(r).pacedCPU })
		setMedian(&m, rows, func(r *row) *float64 { return &program(r).rss })
		setMedian(&m, rows, func(r *row) *float64 { return &program(r).peak })
		setMedian(&m, rows, func(r *row) *float64 { return &program(r).rate })
	}
	return &m
}

func setMedian[T cmp.Ordered](m *row, rows []*row, number func(*row) *T) {
	values := make([]T, 0, len(rows))
	for _, r := range rows {
		values = append(values, *number(r))
	}
	slices.Sort(values)
	*number(m) = values[len(values)/2]
}

func buildPrograms(dir string) (ours, istio *program, err error) {
	ours = &program{name: "probe-proxy", path: filepath.Join(dir, "probe-proxy"), start: startOurs(nil)}
	istio = &program{name: "Istio's status server", path: filepath.Join(dir, "istiostatus"), start: func(path string, port int) *exec.Cmd {
		return exec.Command(path, podIP, strconv.Itoa(port))
	}}
	return ours, istio, errors.Join(build(ours.path, "../../..", "./cmd/probe-proxy"), build(istio.path, "../../conformance/kubelet/istiostatus", "."))
}

// startOurs returns what starts probe-proxy, in a cgroup unless that is nil.
func startOurs(in *cgroup) func(path string, port int) *exec.Cmd {
	return func(path string, port int) *exec.Cmd {
		cmd := in.command(path, "--port", strconv.Itoa(port))
		cmd.Env = append(os.Environ(), "POD_IP="+podIP)
		return cmd
	}
}

// build builds a program as it is released.
func build(path, dir, pkg string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, pkg)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build %s in %s: %w", pkg, dir, err)
	}
	return nil
}

// startApp runs the app as a process of its own, so that no other process is
// charged with its cost; in a cgroup unless that is nil.
func startApp(in *cgroup) (ports map[string]int, stop func(), err error) {
	cmd := in.command(os.Args[0], "app")
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	stop = func() { cmd.Process.Kill(); cmd.Wait() }
	ports = map[string]int{}
	for range kinds {
		var kind string
		var port int
		if _, err := fmt.Fscan(pipe, &kind, &port); err != nil {
			stop()
			return nil, nil, err
		}
		ports[kind] = port
	}
	go io.Copy(io.Discard, pipe)
	return ports, stop, nil
}

func key(kind string) string { return prober.Key(kind, prober.Liveness) }

func probers(ports map[string]int) string {
	port := func(kind string) field.IntOrString { return field.Number(ports[kind]) }
	service := ""
	return prober.Encode(map[string]*prober.Original{
		key("http"):  {HTTPGet: &prober.HTTPGet{Path: "/healthz", Port: port("http"), Scheme: "HTTP"}, TimeoutSeconds: timeout},
		key("https"): {HTTPGet: &prober.HTTPGet{Path: "/healthz", Port: port("https"), Scheme: "HTTPS"}, TimeoutSeconds: timeout},
		key("tcp"):   {TCPSocket: &prober.TCPSocket{Port: port("tcp")}, TimeoutSeconds: timeout},
		key("grpc"):  {GRPC: &prober.GRPC{Port: port("grpc"), Service: &service}, TimeoutSeconds: timeout},
	})
}

// A target is probed: the app itself, or through a program.
type target struct {
	probe     func() error
	pid, port int // 0 for the app itself
	latencies []time.Duration
}

func (t *target) once() error {
	began := time.Now()
	err := t.probe()
	t.latencies = append(t.latencies, time.Since(began))
	return err
}

func (t *target) median() time.Duration {
	slices.Sort(t.latencies)
	return t.latencies[len(t.latencies)/2]
}

func directProbe(kind string, port int) func() error {
	switch kind {
	case "tcp":
		return func() error { return check(tcpprobe.New().Probe(podIP, port, timeout*time.Second)) }
	case "grpc":
		return func() error {
			return check(grpcprobe.New().Probe(podIP, "", port, timeout*time.Second, grpcprobe.ProbeOptions{}))
		}
	}
	return httpProbe(strings.ToUpper(kind), "/healthz", port, timeout*time.Second)
}

func httpProbe(scheme, path string, port int, limit time.Duration) func() error {
	p := httpprobe.New(false)
	get := &v1.HTTPGetAction{Path: path, Port: intstr.FromInt32(int32(port)), Scheme: v1.URIScheme(scheme)}
	return func() error {
		req, err := httpprobe.NewRequestForHTTPGetAction(get, &v1.Container{}, podIP, "probe")
		if err != nil {
			return err
		}
		return check(p.Probe(req, limit))
	}
}

func check(result probe.Result, msg string, err error) error {
	if err == nil && result != probe.Success {
		err = fmt.Errorf("probe did not succeed: %s %s", result, msg)
	}
	return err
}

func measure(kind string, port int, programs []*program, probes int, paced, peak time.Duration) (*row, error) {
	r := &row{kind: kind}
	costs := []*cost{&r.ours, &r.istio}
	targets := []*target{{probe: directProbe(kind, port)}}
	for _, p := range programs {
		t, stop, err := begin(p, kind)
		if err != nil {
			return nil, err
		}
		defer stop()
		targets = append(targets, t)
	}
	if err := backToBack(targets, warmUp); err != nil {
		return nil, err
	}
	cpu, err := spent(targets, func() error { return backToBack(targets, probes) })
	if err != nil {
		return nil, err
	}
	r.direct = targets[0].median()
	for i, c := range costs {
		t := targets[i+1]
		c.latency, c.cpu = t.median(), cpu[i+1]/time.Duration(probes)
		c.rss = memory(t, "VmRSS")
	}
	var n int
	cpu, err = spent(targets, func() (err error) { n, err = pace(targets, paced); return err })
	if err != nil {
		return nil, err
	}
	r.pacedDirect = targets[0].median()
	for i, c := range costs {
		c.pacedLatency, c.pacedCPU = targets[i+1].median(), cpu[i+1]/time.Duration(n)
	}
	for i, p := range programs {
		if err := costs[i].atPeak(p, kind, peak); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// begin starts a program and waits until it answers.
func begin(p *program, kind string) (*target, func(), error) {
	port, err := testutil.FreePort()
	if err != nil {
		return nil, nil, err
	}
	cmd := p.start(p.path, port)
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	stop := func() { cmd.Process.Kill(); cmd.Wait() }
	t := &target{probe: httpProbe("HTTP", key(kind), port, timeout*time.Second), pid: cmd.Process.Pid, port: port}
	if err := testutil.Eventually(5*time.Second, t.probe); err != nil {
		stop()
		return nil, nil, fmt.Errorf("%s does not answer: %w", p.name, err)
	}
	return t, stop, nil
}

// backToBack probes each target n times, in blocks that take turns.
func backToBack(targets []*target, n int) error {
	for _, t := range targets {
		t.latencies = t.latencies[:0]
	}
	for done := 0; done < n; done += block {
		for _, t := range targets {
			for range min(block, n-done) {
				if err := t.once(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// pace probes each target 50 times a second, in random order. The first of a
// round finds cold caches and sleeping processors, and each finds the one before
// still closing connections: both fall on all alike.
func pace(targets []*target, d time.Duration) (n int, err error) {
	for _, t := range targets {
		t.latencies = t.latencies[:0]
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(d); time.Now().Before(end); n++ {
		<-tick.C
		for _, i := range rand.Perm(len(targets)) {
			if err := targets[i].once(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// atPeak probes a fresh process with 16 callers at once.
func (c *cost) atPeak(p *program, kind string, d time.Duration) error {
	t, stop, err := begin(p, kind)
	if err != nil {
		return err
	}
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	var n atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := t.probe(); err != nil {
					failed.Store(&err)
					return
				}
				n.Add(1)
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	c.rate, c.peak = float64(n.Load())/d.Seconds(), memory(t, "VmHWM")
	return nil
}

// spent returns the CPU time that each target's process uses during f.
func spent(targets []*target, f func() error) ([]time.Duration, error) {
	before := make([]time.Duration, len(targets))
	for i, t := range targets {
		before[i] = testutil.CPUTime(t.pid)
	}
	err := f()
	for i, t := range targets {
		before[i] = testutil.CPUTime(t.pid) - before[i]
	}
	return before, err
}

// memory returns a figure of a target's process, in MiB.
func memory(t *target, name string) float64 {
	return float64(testutil.Memory(t.pid, name)) / (1 << 20)
}

func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
