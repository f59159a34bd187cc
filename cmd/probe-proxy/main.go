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

	"github.com/rewrite-probes/rewrite-probes/internal/kubelet"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/release"
	"github.com/rewrite-probes/rewrite-probes/internal/sidecar/server"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2 // wrong usage or environment
)

const usage = `probe-proxy answers the rewritten probes of a pod's containers.

Usage:
  probe-proxy [flags]            serve
  probe-proxy check [VALUE|-]    validate the env value (or VALUE, or stdin) and print its probes
  probe-proxy version

Flags:
`

const usageEnd = `
Environment:
  ISTIO_KUBE_APP_PROBERS   the probes, as rewrite-probes and Istio write them
  OSM_KUBE_APP_PROBERS     the probes with mesh: osm, answered on 15901 to 15904 instead of --port
  FSM_KUBE_APP_PROBERS     the probes with mesh: fsm, on the same ports
  POD_IP                   the pod's IP (downward API status.podIP)
  POD_IPS                  the pod's IPs, separated by commas; the first counts where POD_IP is not set
  PROBE_PROXY_PORT         the default of --port

Exit codes: 0 ended as asked, 1 failed, 2 wrong usage or environment.
`

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

type options struct {
	port        int
	envName     string
	target      string
	hooksWithin time.Duration
	bodies      server.Bodies
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	check := false
	if len(args) > 0 {
		switch args[0] {
		case "version":
			fmt.Fprintln(stdout, "probe-proxy", release.Version())
			return exitOK
		case "help":
			args = []string{"--help"}
		case "check":
			check, args = true, args[1:]
		}
	}
	opts, rest, err := parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err == nil && len(rest) > 0 && !check {
		err = fmt.Errorf("unknown command %q: want check or version, or nothing to serve", rest[0])
	}
	if err != nil {
		return fail(stderr, exitUsage, err)
	}
	if check {
		return runCheck(opts, rest, stdin, stdout, stderr)
	}
	return serve(opts, stderr)
}

func fail(stderr io.Writer, code int, err error) int {
	fmt.Fprintf(stderr, "probe-proxy: %v\n", err)
	return code
}

func parse(args []string, stdout io.Writer) (*options, []string, error) {
	o := &options{port: prober.DefaultPort}
	// A Service probe-proxy in the namespace gives every pod this variable as a URL.
	if v := os.Getenv("PROBE_PROXY_PORT"); v != "" && !strings.Contains(v, "://") {
		n, err := strconv.Atoi(v)
		if err != nil {
			return nil, nil, fmt.Errorf("env PROBE_PROXY_PORT %q must be a number from 1 to 65535", v)
		}
		o.port = n
	}
	f := flag.NewFlagSet("probe-proxy", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.IntVar(&o.port, "port", o.port, "port on which to answer")
	f.StringVar(&o.envName, "env-name", prober.EnvName, "env var that carries the probes")
	f.StringVar(&o.target, "target", "pod-ip", "where to dial the app: pod-ip or localhost")
	f.StringVar((*string)(&o.bodies), "body", string(server.FailureBodies), "which bodies of the app's answers callers get: none, failures (of status 400 and above) or all")
	f.DurationVar(&o.hooksWithin, "hooks-within", 0, "how long to wait, after SIGTERM, for preStop hooks that have not come;\nfor an ordinary container, which ends with the others (a native sidecar ends after them)")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(stdout, usage)
			f.SetOutput(stdout)
			f.PrintDefaults()
			fmt.Fprint(stdout, usageEnd)
		}
		return nil, nil, err
	}
	switch {
	case o.port < 1 || o.port > 65535:
		return nil, nil, fmt.Errorf("--port %d must be a number from 1 to 65535", o.port)
	case o.target != "pod-ip" && o.target != "localhost":
		return nil, nil, fmt.Errorf("--target %q must be pod-ip or localhost", o.target)
	case o.bodies.Validate() != nil:
		return nil, nil, fmt.Errorf("--body %w", o.bodies.Validate())
	case o.hooksWithin < 0:
		return nil, nil, fmt.Errorf("--hooks-within %s must not be negative", o.hooksWithin)
	}
	return o, f.Args(), nil
}

func serve(o *options, stderr io.Writer) int {
	signal.Ignore(syscall.SIGPIPE) // a log that nobody reads any more is no reason to end
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{ReplaceAttr: clip}))
	c, s, err := newServer(o, log)
	if err != nil {
		return fail(stderr, exitUsage, err)
	}

	// Measured (docs/probe-proxy.md): a heap of a few hundred kilobytes is
	// collected early, and one processor saves the waking of threads.
	debug.SetGCPercent(25)
	debug.SetMemoryLimit(20 << 20)
	runtime.GOMAXPROCS(1)

	first, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	s.Bodies = o.bodies
	probes, disabled := s.Count()
	for _, port := range s.Ports() {
		l, err := server.Listen(port)
		if err != nil {
			return fail(stderr, exitFailure, listenError(c, port, err))
		}
		go s.Serve(l, port)
		log.Info("answering probes", "version", release.Version(), "port", port, "probes", probes, "disabled", disabled)
	}
	<-first.Done()
	second, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	s.Drain(second, o.hooksWithin)
	log.Info("ended as asked")
	return exitOK
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

func newServer(o *options, log *slog.Logger) (*server.Convention, *server.Server, error) {
	c, err := server.ByEnv(o.envName, os.Getenv)
	if err != nil {
		return nil, nil, err
	}
	if err := checkUser(c); err != nil {
		return nil, nil, err
	}
	app, err := findApp(o)
	if err != nil {
		return nil, nil, err
	}
	value := os.Getenv(c.EnvName)
	if value == "" {
		log.Warn("no probes to answer: env var is not set", "env", c.EnvName)
		return c, server.New(log, app, c, o.port, nil, nil), nil
	}
	probers, bad, err := c.Decode(value)
	if err != nil {
		return nil, nil, err
	}
	return c, server.New(log, app, c, o.port, probers, bad), nil
}

// checkUser refuses to run as the mesh's own user.
func checkUser(c *server.Convention) error {
	uid, gid := os.Getuid(), os.Getgid()
	if uid != c.ProxyID && gid != c.ProxyID {
		return nil
	}
	return fmt.Errorf("must not run as uid or gid %d (uid is %d, gid %d): %s redirects that user's traffic to the app, and probes would be refused; set securityContext.runAsUser to another, such as 65532", c.ProxyID, uid, gid, c.Mesh)
}

func listenError(c *server.Convention, port int, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d is taken: %s", port, c.PortTaken)
	}
	return fmt.Errorf("cannot listen on port %d: %w", port, err)
}

// findApp returns where the kubelet would have reached the app.
func findApp(o *options) (kubelet.App, error) {
	ip := os.Getenv("POD_IP")
	if ip == "" {
		ip, _, _ = strings.Cut(os.Getenv("POD_IPS"), ",")
	}
	if ip == "" && o.target == "localhost" {
		ip = "127.0.0.1"
	}
	if _, err := netip.ParseAddr(ip); err != nil {
		return kubelet.App{}, fmt.Errorf("env POD_IP %q must be the pod's IP (fieldRef status.podIP), or --target must be localhost", ip)
	}
	return kubelet.App{IP: ip, Localhost: o.target == "localhost"}, nil
}

// runCheck validates an env value and prints its probes as a table.
func runCheck(o *options, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c, err := server.ByEnv(o.envName, os.Getenv)
	if err == nil && len(args) > 1 {
		err = fmt.Errorf("check takes one value, and got %d", len(args))
	}
	if err != nil {
		return fail(stderr, exitUsage, err)
	}
	value := os.Getenv(c.EnvName)
	if len(args) == 1 {
		value = args[0]
		if value == "-" {
			b, err := io.ReadAll(stdin)
			if err != nil {
				return fail(stderr, exitFailure, fmt.Errorf("cannot read stdin: %w", err))
			}
			value = string(b)
		}
		c = server.ByValue(value, c)
	}
	if value == "" {
		return fail(stderr, exitUsage, fmt.Errorf("nothing to check: env %s is not set", c.EnvName))
	}
	probers, bad, err := c.Decode(value)
	if err != nil {
		return fail(stderr, exitFailure, err)
	}
	bad, err = printProbes(stdout, c, probers, bad)
	for _, e := range bad {
		fmt.Fprintf(stderr, "probe-proxy: entry %s\n", clipped(e.Error()))
	}
	if err != nil || len(bad) > 0 {
		return exitFailure
	}
	return exitOK
}

// printProbes prints the probes as a table. It returns bad with the entries from
// which no probe can be made.
func printProbes(stdout io.Writer, c *server.Convention, probers map[string]*prober.Prober, bad []*prober.EntryError) ([]*prober.EntryError, error) {
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CONTAINER\tTYPE\tPROBE\tTIMEOUT\tPATH")
	for _, key := range slices.Sorted(maps.Keys(probers)) {
		p := probers[key]
		container, probeType, _ := c.ParseKey(key)
		if _, err := kubelet.NewTarget(kubelet.App{IP: "127.0.0.1"}, probeType, p); err != nil {
			bad = append(bad, &prober.EntryError{Key: key, Err: err})
			continue
		}
		timeout := strconv.Itoa(p.TimeoutSeconds) + "s"
		if probeType.IsHook() {
			timeout = "none"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", container, probeType, p, timeout, key)
	}
	return bad, w.Flush()
}
