// Command probe-agent probes the app of a virtual machine that has no sidecar,
// and tells istiod whether it is healthy.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/rewrite-probes/rewrite-probes/internal/agent/probe"
	"github.com/rewrite-probes/rewrite-probes/internal/agent/systemd"
	"github.com/rewrite-probes/rewrite-probes/internal/agent/xds"
	"github.com/rewrite-probes/rewrite-probes/internal/release"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1 // the app is not healthy, or the agent cannot do its work
	exitUsage   = 2 // wrong usage or configuration
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	command := ""
	if len(args) > 0 {
		switch args[0] {
		case "version":
			fmt.Fprintln(stdout, "probe-agent", release.Version())
			return exitOK
		case "help":
			args = []string{"--help"}
		case "check", "probe":
			command, args = args[0], args[1:]
		}
	}
	fail := func(code int, err error) int {
		fmt.Fprintf(stderr, "probe-agent: %v\n", err)
		return code
	}
	o, err := parse(command, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, help())
		return exitOK
	case err != nil:
		return fail(exitUsage, err)
	}
	config, err := readConfig(o.config)
	if err != nil {
		return fail(exitUsage, err)
	}
	if err := o.complete(config, command == ""); err != nil {
		return fail(exitFailure, err)
	}
	once, err := probe.New(&config.Probe, o.node.IP, o.node.UserAgent)
	if err != nil {
		return fail(exitUsage, fmt.Errorf("%s: %w", o.config, err))
	}
	switch command {
	case "check":
		fmt.Fprintf(
			stdout,
			"%s: valid: WorkloadGroup %s/%s, %s\n",
			o.config,
			config.Namespace,
			config.Name,
			describe(&config.Probe),
		)
		return exitOK
	case "probe":
		ctx, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
		if err := once(ctx); err != nil {
			fmt.Fprintf(stderr, "unhealthy: %v\n", err)
			return exitFailure
		}
		fmt.Fprintln(stdout, "healthy")
		return exitOK
	}
	return serve(o, config, once, stderr)
}

func readConfig(file string) (*vmconfig.Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	config, err := vmconfig.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return config, nil
}

func describe(p *vmconfig.Probe) string {
	every := fmt.Sprintf("every %d s, timeout %d s", p.PeriodSeconds, p.TimeoutSeconds)
	if p.Exec != nil {
		return fmt.Sprintf("exec %q %s", p.Exec.Command, every)
	}
	return p.Prober().String() + " " + every
}

// beSmall keeps the resident memory low with a small heap that is collected early. One
// processor is enough for one probe.
func beSmall() {
	debug.SetGCPercent(25)
	debug.SetMemoryLimit(16 << 20)
	runtime.GOMAXPROCS(1)
}

// serve probes and reports until it is told to end.
func serve(o *options, config *vmconfig.Config, once func(context.Context) error, stderr io.Writer) int {
	beSmall()
	signal.Ignore(syscall.SIGPIPE) // a log that nobody reads any more is no reason to end
	log := slog.New(slog.NewTextHandler(stderr, nil))
	signalled, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	ctx, cancel := context.WithCancel(context.Background())
	context.AfterFunc(signalled, func() {
		stop() // a second signal ends the program at once
		systemd.Stopping()
		log.Info("ending: telling istiod that the app is not healthy")
		cancel()
	})

	r := &xds.Reporter{
		Connect:    o.connector(ctx, config, log),
		Scheme:     o.scheme(),
		Authority:  o.istiod.Address,
		Node:       &o.node,
		Repeat:     o.repeat,
		Log:        log,
		Status:     systemd.Status,
		Alive:      systemd.Alive,
		AliveEvery: systemd.AliveEvery(),
	}
	log.Info("probing",
		"version", release.Version(),
		"group", config.Namespace+"/"+config.Name,
		"ip", o.node.IP,
		"probe", describe(&config.Probe))
	systemd.Ready()
	states := make(chan error)
	go probe.Run(ctx, &config.Probe, once, func(unhealthy error) {
		if unhealthy == nil {
			log.Info("app is healthy")
		} else {
			log.Warn("app is not healthy", "reason", unhealthy.Error())
		}
		states <- unhealthy
	})
	r.Run(ctx, states)
	log.Info("ended as asked")
	return exitOK
}

func (o *options) connector(
	ctx context.Context, config *vmconfig.Config, log *slog.Logger,
) func(context.Context) (net.Conn, error) {
	if o.insecure {
		return func(ctx context.Context) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", o.istiod.Address)
		}
	}
	certificate := o.files.Certificate
	if e := &o.enrolment; e.Token != "" {
		e.Namespace, e.ServiceAccount = config.Namespace, config.ServiceAccount
		e.Dialer, e.Cluster, e.Log = &o.istiod, o.node.Cluster, log
		go e.Run(ctx)
		certificate = e.Certificate
	}
	return func(ctx context.Context) (net.Conn, error) {
		cert, err := certificate(ctx)
		if err != nil {
			return nil, err
		}
		return o.istiod.Dial(ctx, cert)
	}
}

func (o *options) scheme() string {
	if o.insecure {
		return "http"
	}
	return "https"
}
