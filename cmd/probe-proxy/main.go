// Command probe-proxy is the sidecar that answers rewritten probes: it probes
// the app as the kubelet would have done, and answers with what the app said.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/kubelet"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/release"
	"github.com/rewrite-probes/rewrite-probes/internal/sidecar"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2 // wrong usage or environment
)

const usage = `probe-proxy answers the rewritten probes of a pod's containers.

Usage:
  probe-proxy [flags]    serve
  probe-proxy check      validate the env var with the probes, and print them
  probe-proxy wait       wait until it listens: the container's postStart hook
  probe-proxy version

Flags:
`

const usageEnd = `
Environment:
  ISTIO_KUBE_APP_PROBERS   the probes, as rewrite-probes and Istio write them
  POD_IP                   the pod's IP (downward API status.podIP)

Exit codes: 0 normal end, 1 failed, 2 wrong usage or environment.
`

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

type options struct {
	port        int
	hooksWithin time.Duration
	body        string
	form        string
}

// The forms of rewritten probes that a probe-proxy answers.
const (
	formIstio = "istio"
	formOSM   = "osm"
)

// bodiesFrom has, for each value of --body, the lowest status of which callers get the
// app's body.
var bodiesFrom = map[string]int{"none": math.MaxInt, "failures": 400, "all": 0}

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		switch args[0] {
		case "version":
			fmt.Fprintln(stdout, "probe-proxy", release.Version())
			return exitOK
		case "help":
			args = []string{"--help"}
		case "check":
			if len(args) > 1 {
				return fail(stderr, exitUsage, fmt.Errorf("check takes no arguments: it validates env %s", prober.EnvName))
			}
			return check(stdout, stderr)
		case prober.WaitCommand:
			return wait(args[1:], stdout, stderr, dialTCP)
		}
	}
	opts, err := parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		return fail(stderr, exitUsage, err)
	}
	return serve(opts, stderr)
}

func fail(stderr io.Writer, code int, err error) int {
	fmt.Fprintf(stderr, "probe-proxy: %s\n", field.Printable(err.Error()))
	return code
}

func parse(args []string, stdout io.Writer) (*options, error) {
	o := new(options)
	f := flag.NewFlagSet("probe-proxy", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.IntVar(&o.port, "port", prober.DefaultPort, "port where it answers")
	f.StringVar(&o.body, "body", "failures", "response bodies of the app that a caller gets: none, failures (status 400 and above) or all")
	f.StringVar(&o.form, "form", formIstio, "form of the rewritten probes: istio, or osm for Open Service Mesh's,\nwhich it also answers on the ports 15901 to 15904")
	f.DurationVar(&o.hooksWithin, "hooks-within", 0, "how long to stay after SIGTERM for preStop hooks, if there are any.\nAn ordinary container needs it, because it ends with the others. A native sidecar ends after them")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(stdout, usage)
			f.SetOutput(stdout)
			f.PrintDefaults()
			fmt.Fprint(stdout, usageEnd)
		}
		return nil, err
	}
	_, known := bodiesFrom[o.body]
	switch {
	case f.NArg() > 0:
		return nil, fmt.Errorf("unknown command %q: want check, wait or version, or nothing to serve", f.Arg(0))
	case !known:
		return nil, fmt.Errorf("--body %q must be one of none, failures, all", o.body)
	case o.form != formIstio && o.form != formOSM:
		return nil, fmt.Errorf("--form %q must be one of istio, osm", o.form)
	case o.hooksWithin < 0:
		return nil, fmt.Errorf("--hooks-within %s must not be negative", o.hooksWithin)
	}
	return o, checkPort(o.port)
}

func checkPort(port int) error {
	if port < 1 || port > 65535 {
		return fmt.Errorf("--port %d must be a number from 1 to 65535", port)
	}
	return nil
}

// logEndsWithin is how long the program's end may wait for who reads its log.
const logEndsWithin = 100 * time.Millisecond

func serve(o *options, stderr io.Writer) int {
	signal.Ignore(syscall.SIGPIPE) // a log that nobody reads any more is no reason to end
	env, err := readEnvironment()
	if err != nil {
		return fail(stderr, exitUsage, err)
	}
	lines := sidecar.NewLogWriter(stderr, len(env.probers)+len(env.bad))
	defer lines.End(logEndsWithin)
	log := slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{ReplaceAttr: clip}))
	if env.empty {
		log.Warn("no probes to answer: env var is not set", "env", prober.EnvName)
	}
	s := sidecar.New(log, env.podIP, o.port, env.probers, env.bad)
	s.BodiesFrom = bodiesFrom[o.body]

	// Measured (docs/probe-proxy.md): a heap of a few hundred kilobytes is
	// collected early, and one processor saves the waking of threads.
	debug.SetGCPercent(25)
	debug.SetMemoryLimit(20 << 20)
	runtime.GOMAXPROCS(1)

	first, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	sidecar.StartThreads()
	listeners, err := listen(s, o, env.probers)
	if err != nil {
		return fail(lines, exitFailure, err)
	}
	probes, disabled := s.Count()
	log.Info(
		"answering probes",
		"version",
		release.Version(),
		"port",
		o.port,
		"probes",
		probes,
		"disabled",
		disabled,
	)
	<-first.Done()
	second, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	s.Drain(second, o.hooksWithin)
	// Whoever floods the ports would keep the kernel busy with the end.
	for _, l := range listeners {
		_ = l.Close()
	}
	log.Info("ended as asked")
	return exitOK
}

// ports returns the ports of the form, each once. The port for which `wait` waits is the last.
func (o *options) ports() (ports []int) {
	if o.form == formOSM {
		ports = slices.DeleteFunc(prober.OSMPorts(), func(port int) bool { return port == o.port })
	}
	return append(ports, o.port)
}

// listen serves on all ports of the form.
func listen(
	s *sidecar.Server, o *options, probers map[string]*prober.Original,
) (listeners []net.Listener, err error) {
	for _, port := range o.ports() {
		l, err := sidecar.Listen(port)
		if err != nil {
			return nil, listenError(port, err)
		}
		listeners = append(listeners, l)
		if o.form == formOSM {
			go s.ServeOSM(l, port, probers)
		} else {
			go s.Serve(l)
		}
	}
	return listeners, nil
}

// maxAttr bounds a value in the log, in bytes: keys come from the env.
const maxAttr = 300

func clip(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindString {
		a.Value = slog.StringValue(clipped(a.Value.String()))
	}
	return a
}

func clipped(s string) string {
	if len(s) > maxAttr {
		return s[:maxAttr] + "..."
	}
	return s
}

// An environment is what env vars say.
type environment struct {
	podIP   string
	probers map[string]*prober.Original
	bad     []*prober.EntryError
	empty   bool // no env var has probers
}

func readEnvironment() (*environment, error) {
	if err := checkUser(os.Getuid(), os.Getgid()); err != nil {
		return nil, err
	}
	ip, err := podIP()
	if err != nil {
		return nil, err
	}
	env := &environment{podIP: ip}
	value := os.Getenv(prober.EnvName)
	if value == "" {
		env.empty = true
		return env, nil
	}
	env.probers, env.bad, err = prober.Decode(value)
	return env, err
}

// checkUser refuses to run as the user of Istio's proxy.
func checkUser(uid, gid int) error {
	if uid != prober.IstioProxyID && gid != prober.IstioProxyID {
		return nil
	}
	return fmt.Errorf("must not run as uid or gid %d (uid is %d, gid %d): Istio redirects that user's traffic to the app, and probes would be refused; set securityContext.runAsUser to another, such as 65532", prober.IstioProxyID, uid, gid)
}

func listenError(port int, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d is taken: another container of this pod listens there. Set another `port` in the functionConfig of rewrite-probes. If it is Istio's sidecar, set `answeredBy: istio-proxy`", port)
	}
	return fmt.Errorf("cannot listen on port %d: %w", port, err)
}

// podIP returns the IP where the kubelet would have reached the app.
func podIP() (string, error) {
	ip := os.Getenv("POD_IP")
	if _, err := netip.ParseAddr(ip); err != nil {
		return "", fmt.Errorf("env POD_IP %q must be the pod's IP (fieldRef status.podIP)", ip)
	}
	return ip, nil
}

// check validates the env value and prints its probes as a table.
func check(stdout, stderr io.Writer) int {
	value := os.Getenv(prober.EnvName)
	if value == "" {
		return fail(stderr, exitUsage, fmt.Errorf("nothing to check: env %s is not set", prober.EnvName))
	}
	probers, bad, err := prober.Decode(value)
	if err != nil {
		return fail(stderr, exitFailure, err)
	}
	bad, err = printProbes(stdout, probers, bad)
	for _, e := range bad {
		fmt.Fprintf(stderr, "probe-proxy: entry %s\n", field.Printable(clipped(e.Error())))
	}
	if err != nil || len(bad) > 0 {
		return exitFailure
	}
	return exitOK
}

// printProbes prints the probes as a table. It returns bad with the entries from
// which no probe can be made.
func printProbes(
	stdout io.Writer, probers map[string]*prober.Original, bad []*prober.EntryError,
) ([]*prober.EntryError, error) {
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CONTAINER\tTYPE\tPROBE\tTIMEOUT\tPATH")
	for _, key := range slices.Sorted(maps.Keys(probers)) {
		p := probers[key]
		container, probeType, _ := prober.ParseKey(key)
		if _, err := kubelet.NewTarget("127.0.0.1", probeType, p); err != nil {
			bad = append(bad, &prober.EntryError{Key: key, Err: err})
			continue
		}
		timeout := strconv.Itoa(p.TimeoutSeconds) + "s"
		if probeType.IsHook() {
			timeout = "none"
		}
		printRow(w, container, string(probeType), p.String(), timeout, key)
	}
	return bad, w.Flush()
}

// printRow prints texts of the env var, and nothing that a terminal would obey.
func printRow(w io.Writer, cells ...string) {
	for i, cell := range cells {
		cells[i] = field.Printable(cell)
	}
	fmt.Fprintln(w, strings.Join(cells, "\t"))
}
