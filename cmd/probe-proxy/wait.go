package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// The kubelet runs `wait` as the container's postStart hook, and starts the next container
// when it ends. Not a startupProbe: with one, kubelets 1.35.0 to 1.35.3 never restart the
// other containers after a restart of their own (kubernetes#136910), and some from 1.32 to
// 1.34.1 forget a pod whose restartPolicy is Never (kubernetes#132826).
const (
	waitAtMost = 30 * time.Second
	dialEvery  = 20 * time.Millisecond
)

const waitUsage = `probe-proxy wait waits until a probe-proxy in the same pod listens, at most %s.
It is the postStart hook of the container probe-proxy.

Usage:
  probe-proxy wait [--port N]

Flags:
`

const waitUsageEnd = `
Exit codes: 0 it listens, 1 it does not, 2 wrong usage.
`

// A dial connects to an address of TCP until a deadline.
type dial func(address string, deadline time.Time) (net.Conn, error)

func dialTCP(address string, deadline time.Time) (net.Conn, error) {
	dialer := net.Dialer{Deadline: deadline}
	return dialer.Dial("tcp", address)
}

// wait returns when something listens on the port of its arguments.
func wait(args []string, stdout, stderr io.Writer, d dial) int {
	port, err := waitPort(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return fail(stderr, exitUsage, err)
	}
	if err := waitFor(net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), d); err != nil {
		return fail(stderr, exitFailure, err)
	}
	return exitOK
}

func waitPort(args []string, stdout io.Writer) (int, error) {
	f := flag.NewFlagSet("probe-proxy wait", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	port := f.Int("port", prober.DefaultPort, "port on which probe-proxy answers")
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(stdout, waitUsage, waitAtMost)
		f.SetOutput(stdout)
		f.PrintDefaults()
		fmt.Fprint(stdout, waitUsageEnd)
		return 0, err
	case err != nil:
		return 0, err
	case f.NArg() > 0:
		return 0, fmt.Errorf("wait takes no arguments but --port: %q", f.Arg(0))
	}
	return *port, checkPort(*port)
}

// waitFor dials an address until a connection is accepted.
func waitFor(address string, d dial) error {
	end := time.Now().Add(waitAtMost)
	for {
		conn, err := d(address, end)
		if err == nil {
			return conn.Close()
		}
		if time.Until(end) < dialEvery {
			return fmt.Errorf("nothing listens on %s after %s; the container's log says why (kubectl logs -c probe-proxy, or with --previous)", address, waitAtMost)
		}
		time.Sleep(dialEvery)
	}
}
