package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
)

const usage = `probe-agent probes the app of a virtual machine that has no sidecar, and tells
istiod whether it is healthy.

Usage:
  probe-agent --config FILE --istiod HOST:15012 --ca FILE (--token FILE --state DIR | --cert FILE --key FILE) [flags]
  probe-agent check CONFIG            validate a configuration
  probe-agent probe [--ip IP] CONFIG  probe once: exit 0 if the app is healthy, or 1 with the reason
  probe-agent version

` + "`rewrite-probes vm PATH --group NAME`" + ` prints the configuration from a WorkloadGroup.

Flags:
`

const usageEnd = `
Exit codes: 0 ended as asked or healthy, 1 not healthy or failed, 2 wrong usage or configuration.
`

type options struct {
	config      string
	istiod      string
	serverName  string
	ca          string
	token       string
	state       string
	cert        string
	key         string
	ip          string
	entry       string
	cluster     string
	trustDomain string
	certTTL     time.Duration
	repeat      time.Duration
	insecure    bool
}

func (o *options) flags() *flag.FlagSet {
	f := flag.NewFlagSet("probe-agent", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.config, "config", "", "`file` with the configuration")
	f.StringVar(&o.istiod, "istiod", "", "`address` of istiod, host:port")
	f.StringVar(&o.serverName, "server-name", "", "`name` in istiod's certificate, if it is not the host of --istiod")
	f.StringVar(&o.ca, "ca", "", "`file` with the root certificates of istiod")
	f.StringVar(&o.token, "token", "", "`file` with a token of the service account, for which istiod's CA issues a certificate")
	f.StringVar(&o.state, "state", "", "`directory` in which that certificate and its key are kept")
	f.StringVar(&o.cert, "cert", "", "`file` with a certificate that something else renews")
	f.StringVar(&o.key, "key", "", "`file` with its key")
	f.StringVar(&o.ip, "ip", "", "`IP` of this machine (default: address of the configuration, or else the one that reaches istiod)")
	f.StringVar(&o.entry, "entry", "", "`name` of an existing WorkloadEntry, instead of registering in the group")
	f.StringVar(&o.cluster, "cluster", "Kubernetes", "`ID` of the cluster, as in istiod's CLUSTER_ID")
	f.StringVar(&o.trustDomain, "trust-domain", "cluster.local", "trust `domain` of the mesh")
	f.DurationVar(&o.certTTL, "cert-ttl", 24*time.Hour, "lifetime that is asked of istiod's CA; renewed after half of it")
	f.DurationVar(&o.repeat, "repeat", 5*time.Minute, "how often the state is sent again, because istiod can lose it")
	f.BoolVar(&o.insecure, "insecure", false, "speak plaintext, to a loopback address only")
	return f
}

func help() string {
	var b strings.Builder
	b.WriteString(usage)
	f := new(options).flags()
	f.SetOutput(&b)
	f.PrintDefaults()
	b.WriteString(usageEnd)
	return b.String()
}

// parse reads the flags and arguments of a command; "" is serving.
func parse(command string, args []string) (*options, error) {
	o := new(options)
	f := o.flags()
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if command == "" && f.NArg() > 0 {
		return nil, fmt.Errorf("unknown command %q: want check, probe or version, or flags alone to serve", f.Arg(0))
	}
	if err := o.checkIP(); err != nil {
		return nil, err
	}
	if command != "" {
		if f.NArg() != 1 || o.config != "" {
			return nil, fmt.Errorf("%s takes one configuration file as its argument", command)
		}
		o.config = f.Arg(0)
		return o, nil
	}
	if o.config == "" {
		return nil, errors.New("--config must name the configuration")
	}
	if o.repeat < time.Second {
		return nil, fmt.Errorf("--repeat %s must be at least 1s", o.repeat)
	}
	return o, o.checkConnection()
}

func (o *options) checkIP() error {
	if o.ip == "" {
		return nil
	}
	if _, err := netip.ParseAddr(o.ip); err != nil {
		return fmt.Errorf("--ip %q must be an IP address", o.ip)
	}
	return nil
}

// checkConnection checks how istiod is reached.
func (o *options) checkConnection() error {
	host, _, err := net.SplitHostPort(o.istiod)
	if err != nil || host == "" {
		return fmt.Errorf("--istiod %q must be host:port", o.istiod)
	}
	if o.insecure {
		return o.checkInsecure(host)
	}
	o.serverName = cmp.Or(o.serverName, host)
	if o.ca == "" {
		return errors.New("--ca must name the file with istiod's root certificates")
	}
	return o.checkIdentity()
}

// checkInsecure checks that plaintext stays on the machine.
func (o *options) checkInsecure(host string) error {
	addr, _ := netip.ParseAddr(host)
	switch {
	case host != "localhost" && !addr.IsLoopback():
		return fmt.Errorf("--insecure with --istiod %q: plaintext is spoken to a loopback address only", o.istiod)
	case o.ca+o.serverName+o.token+o.state+o.cert+o.key != "":
		return errors.New("--insecure excludes --ca, --server-name, --token, --state, --cert and --key")
	}
	return nil
}

// checkIdentity checks how the agent proves who it is.
func (o *options) checkIdentity() error {
	byToken, byCert := o.token != "" || o.state != "", o.cert != "" || o.key != ""
	switch {
	case byToken == byCert:
		return errors.New("want either --token and --state, or --cert and --key")
	case byToken && (o.token == "" || o.state == ""):
		return errors.New("--token and --state go together: the certificate is kept in the directory")
	case byCert && (o.cert == "" || o.key == ""):
		return errors.New("--cert and --key go together")
	case byToken && o.certTTL < time.Second:
		return fmt.Errorf("--cert-ttl %s must be at least 1s", o.certTTL)
	}
	if byToken {
		return os.MkdirAll(o.state, 0o700)
	}
	return nil
}

// complete finds the machine's IP. Only serving needs the right one, by which
// clients reach the app.
func (o *options) complete(config *vmconfig.Config, serving bool) error {
	if o.ip = cmp.Or(o.ip, config.Address); o.ip != "" {
		return nil
	}
	o.ip = "127.0.0.1"
	if !serving {
		return nil
	}
	conn, err := net.Dial("udp", o.istiod) // this sends nothing
	if err != nil {
		return fmt.Errorf("cannot find the IP of this machine; --ip or the field `address` can tell it: %w", err)
	}
	defer conn.Close()
	ip := conn.LocalAddr().(*net.UDPAddr).IP
	if ip.IsLoopback() {
		return fmt.Errorf("cannot find the IP of this machine, because --istiod %q is the machine itself; --ip or the field `address` must tell it", o.istiod)
	}
	o.ip = ip.String()
	return nil
}
