package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// deadline is the timeout of the probes that compete for the CPU: the kubelet's default.
const deadline = time.Second

// A contest is a pod on a node whose CPU somebody takes whole.
type contest struct {
	pod        string
	app, proxy cpus
	other      cpus // of another pod, which takes the CPU; if it has none, the app does
	tls        int  // HTTPS probes at the same time
}

// contests returns what is measured. machine is all CPU of the machine; a node keeps some
// of it for itself, so that no pod can be limited to all of it.
func contests() []contest {
	machine := 1000 * runtime.NumCPU()
	allocatable := machine - 100
	busy := func(proxy, tls int) contest {
		return contest{pod: "Burstable, app without limit", app: cpus{request: machine}, proxy: cpus{request: proxy}, tls: tls}
	}
	limited := func(proxy, tls int) contest {
		return contest{pod: "Burstable, all limited", app: cpus{machine / 2, allocatable}, proxy: cpus{proxy, 100}, tls: tls}
	}
	full := func(app, proxy, tls int) contest {
		return contest{pod: "Guaranteed", app: cpus{app, app}, proxy: cpus{proxy, proxy}, tls: tls}
	}
	beside := func(pod string, app, proxy int) contest {
		return contest{pod: pod, app: cpus{request: app}, proxy: cpus{request: proxy}, other: cpus{request: machine}, tls: 1}
	}
	return []contest{
		busy(5, 1), busy(10, 1), busy(20, 1), busy(20, 3), busy(50, 1),
		limited(10, 1), limited(20, 3),
		full(allocatable, 50, 3), full(allocatable, 50, 6), full(allocatable, 100, 6), full(machine, 100, 6),
		{pod: "BestEffort", tls: 1},
		beside("Burstable", 100, 10), beside("Burstable, app without CPU request", 0, 10), beside("BestEffort", 0, 0),
	}
}

// A series is how long the probes of one kind took, on one way.
type series struct {
	probes []func() error // made at the same time

	mu     sync.Mutex // guards what follows
	took   []time.Duration
	missed int
}

// once makes the probes.
func (s *series) once() {
	var wg sync.WaitGroup
	for _, probe := range s.probes {
		wg.Go(func() {
			began := time.Now()
			err := probe()
			took := time.Since(began)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.took = append(s.took, took)
			if err != nil {
				s.missed++
			}
		})
	}
	wg.Wait()
}

// String returns the cell of the table.
func (s *series) String() string {
	slices.Sort(s.took)
	missed := "0"
	if s.missed > 0 {
		missed = fmt.Sprintf("**%d of %d**", s.missed, len(s.took))
	}
	return fmt.Sprintf("%s; %d, %d ms", missed, s.took[len(s.took)/2].Milliseconds(), s.took[len(s.took)-1].Milliseconds())
}

// contend measures all contests and prints their table; out is a document to keep it in.
func contend(rounds int, out string) error {
	runtime.LockOSThread() // the processes die with the thread that started them
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ours := filepath.Join(dir, "probe-proxy")
	if err := build(ours, "../../..", "./cmd/probe-proxy"); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) // the cgroups are removed even then
	defer stop()
	node, remove, err := nodeCgroup()
	if err != nil {
		return err
	}
	defer remove()
	var b strings.Builder
	fmt.Fprintf(&b, "Measured by `make bench-contention` on %d processors (%s): %d rounds, in each of which all ways are probed, in random order, with a timeout of 1 s.\n",
		runtime.NumCPU(), runtime.Version(), rounds)
	b.WriteString("A cell has the probes that missed it, the median and the maximum; the last one, in how many periods of 100 ms probe-proxy's limit stopped it, of those in which it ran.\n\n")
	b.WriteString("| cgroup | pod | who takes the CPU | the app's request | probe-proxy | HTTPS at once | HTTP, direct | HTTP, probe-proxy | HTTPS, direct | HTTPS, probe-proxy | stopped |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, node := range node.versions() {
		for _, c := range contests() {
			row, err := c.row(ctx, node, ours, rounds)
			if err != nil {
				return fmt.Errorf("%s: %w", c.pod, err)
			}
			fmt.Fprint(os.Stderr, row)
			b.WriteString(row)
		}
	}
	fmt.Print(b.String())
	if out == "" {
		return nil
	}
	return testutil.ReplaceSection(out, "contention", b.String())
}

// row measures the contest and returns its row of the table.
func (c *contest) row(ctx context.Context, node *cgroup, ours string, rounds int) (string, error) {
	ways, stopped, err := c.measure(ctx, node, ours, rounds)
	hot := "the app"
	if c.other != (cpus{}) {
		hot = "another pod, " + c.other.String()
	}
	row := fmt.Sprintf("| %s | %s | %s | %s | %s | %d |", node.version(), c.pod, hot, c.app, c.proxy, c.tls)
	for _, s := range ways {
		row += fmt.Sprintf(" %s |", s)
	}
	return row + " " + stopped + " |\n", err
}

// measure probes the app over HTTP and HTTPS, each directly and through probe-proxy.
// stopped is how often probe-proxy's limit stopped it.
func (c *contest) measure(ctx context.Context, node *cgroup, ours string, rounds int) (ways []*series, stopped string, err error) {
	pod, remove, err := node.pod("pod", c.app.plus(c.proxy))
	defer remove()
	if err != nil {
		return nil, "", err
	}
	app, removeApp, err := pod.container("app", c.app)
	defer removeApp()
	proxy, removeProxy, err2 := pod.container("probe-proxy", c.proxy)
	defer removeProxy()
	if err := errors.Join(err, err2); err != nil {
		return nil, "", err
	}
	ports, stop, err := startApp(app)
	if err != nil {
		return nil, "", err
	}
	defer stop()
	os.Setenv(prober.EnvName, c.probers(ports))
	p := &program{name: "probe-proxy", path: ours}
	p.start = startOurs(proxy)
	t, stopProxy, err := begin(p, "http")
	if err != nil {
		return nil, "", err
	}
	defer stopProxy()

	hot := app
	if c.other != (cpus{}) {
		var removePod, removeHot func()
		otherPod, removePod, err := node.pod("other", c.other)
		defer removePod()
		if err != nil {
			return nil, "", err
		}
		if hot, removeHot, err = otherPod.container("hot", c.other); err != nil {
			return nil, "", err
		}
		defer removeHot()
	}
	stopBurning, err := burn(hot)
	defer stopBurning()
	if err != nil {
		return nil, "", err
	}
	time.Sleep(2 * time.Second)

	ways = c.ways(ports, t.port)
	for range rounds {
		if ctx.Err() != nil {
			return nil, "", ctx.Err()
		}
		for _, i := range rand.Perm(len(ways)) {
			time.Sleep(50*time.Millisecond + rand.N(100*time.Millisecond))
			ways[i].once()
		}
	}
	if c.proxy.limit == 0 {
		return ways, "", nil
	}
	n, periods, err := proxy.throttled()
	return ways, fmt.Sprintf("%d of %d", n, periods), err
}

// ways returns the four series, in the order of the table.
func (c *contest) ways(ports map[string]int, proxy int) []*series {
	ways := []*series{
		{probes: []func() error{httpProbe("HTTP", "/healthz", ports["http"], deadline)}},
		{probes: []func() error{httpProbe("HTTP", key("http"), proxy, deadline)}},
		{}, {},
	}
	for i := range c.tls {
		ways[2].probes = append(ways[2].probes, httpProbe("HTTPS", "/healthz", ports["https"], deadline))
		ways[3].probes = append(ways[3].probes, httpProbe("HTTP", key("https"+strconv.Itoa(i)), proxy, deadline))
	}
	return ways
}

// probers returns the originals: one over HTTP, and those over HTTPS.
func (c *contest) probers(ports map[string]int) string {
	get := func(kind string) *prober.Original {
		return &prober.Original{HTTPGet: &prober.HTTPGet{Path: "/healthz", Port: field.Number(ports[kind]), Scheme: strings.ToUpper(kind)}, TimeoutSeconds: int(deadline.Seconds())}
	}
	all := map[string]*prober.Original{key("http"): get("http")}
	for i := range c.tls {
		all[key("https"+strconv.Itoa(i))] = get("https")
	}
	return prober.Encode(all)
}

// burn has processes take all CPU that they get, two for each processor.
func burn(in *cgroup) (stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, s := range stops {
			s()
		}
	}
	for range 2 * runtime.NumCPU() {
		cmd := in.command(os.Args[0], "burn")
		if err := cmd.Start(); err != nil {
			return stop, err
		}
		stops = append(stops, func() { cmd.Process.Kill(); cmd.Wait() })
	}
	return stop, nil
}
