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

	"github.com/rewrite-probes/rewrite-probes/internal/agent/identity"
	"github.com/rewrite-probes/rewrite-probes/internal/agent/xds"
	"github.com/rewrite-probes/rewrite-probes/internal/release"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
)

const usage = `probe-agent probes the app of a virtual machine without a sidecar, and reports
to istiod whether the app is healthy.

Usage:
  probe-agent --config FILE --istiod HOST:15012 --ca FILE (--token FILE --state DIR | --cert FILE --key FILE) [flags]
  probe-agent check CONFIG            validate a configuration
  probe-agent probe [--ip IP] CONFIG  probe once: exit 0 if the app is healthy, or 1 with the reason
  probe-agent version

` + "`rewrite-probes vm PATH --group NAME`" + ` prints the configuration from a WorkloadGroup.

Flags:
`

const usageEnd = `
Exit codes: 0 normal end or healthy, 1 not healthy or failed, 2 wrong usage or configuration.
`

type options struct {
	config    string
	istiod    identity.Dialer
	enrolment identity.Enrolment
	files     identity.Files // instead of an enrolment
	node      xds.Node
	repeat    time.Duration
	insecure  bool
}

func (o *options) flags() *flag.FlagSet {
	f := flag.NewFlagSet("probe-agent", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.config, "config", "", "`file` with the configuration")
	f.StringVar(&o.istiod.Address, "istiod", "", "`address` of istiod, host:port")
	f.StringVar(&o.istiod.ServerName, "server-name", "", "`name` in istiod's certificate, if it is not the host of --istiod")
	f.StringVar(&o.istiod.CA, "ca", "", "`file` with the root certificates of istiod")
	f.StringVar(&o.enrolment.Token, "token", "", "`file` with a token of the service account; istiod's CA issues a certificate for it")
	f.StringVar(&o.enrolment.State, "state", "", "`directory` for that certificate and its key")
	f.StringVar(&o.files.Cert, "cert", "", "`file` with a certificate that another program renews")
	f.StringVar(&o.files.Key, "key", "", "`file` with its key")
	f.StringVar(&o.node.IP, "ip", "", "`IP` of this machine (default: address of the configuration, else the address that reaches istiod)")
	f.StringVar(&o.node.Entry, "entry", "", "`name` of an existing WorkloadEntry, instead of registering in the group")
	f.StringVar(&o.node.Cluster, "cluster", "Kubernetes", "`ID` of the cluster, as in istiod's CLUSTER_ID")
	f.StringVar(&o.enrolment.TrustDomain, "trust-domain", "cluster.local", "trust `domain` of the mesh")
	f.DurationVar(&o.enrolment.TTL, "cert-ttl", 24*time.Hour, "lifetime of the certificate from istiod's CA; probe-agent renews it after half of that")
	f.DurationVar(&o.repeat, "repeat", 5*time.Minute, "how often to send the state again, because istiod can lose it")
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
	if ip := o.node.IP; ip != "" {
		if _, err := netip.ParseAddr(ip); err != nil {
			return nil, fmt.Errorf("--ip %q must be an IP address", ip)
		}
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

func (o *options) checkConnection() error {
	host, _, err := net.SplitHostPort(o.istiod.Address)
	if err != nil || host == "" {
		return fmt.Errorf("--istiod %q must be host:port", o.istiod.Address)
	}
	if o.insecure {
		return o.checkInsecure(host)
	}
	o.istiod.ServerName = cmp.Or(o.istiod.ServerName, host)
	if o.istiod.CA == "" {
		return errors.New("--ca must name the file with istiod's root certificates")
	}
	return o.checkIdentity()
}

// checkInsecure checks that plaintext stays on the machine.
func (o *options) checkInsecure(host string) error {
	addr, _ := netip.ParseAddr(host)
	forTLS := o.istiod.CA + o.istiod.ServerName
	forIdentity := o.enrolment.Token + o.enrolment.State + o.files.Cert + o.files.Key
	switch {
	case host != "localhost" && !addr.IsLoopback():
		return fmt.Errorf("--insecure with --istiod %q: plaintext is spoken to a loopback address only", o.istiod.Address)
	case forTLS != "", forIdentity != "":
		return errors.New("--insecure excludes --ca, --server-name, --token, --state, --cert and --key")
	}
	return nil
}

// checkIdentity checks how the agent proves who it is.
func (o *options) checkIdentity() error {
	e := &o.enrolment
	f := &o.files
	byToken := e.Token != "" &&
		e.State != "" &&
		f.Cert+f.Key == ""
	byCert := f.Cert != "" &&
		f.Key != "" &&
		e.Token+e.State == ""
	switch {
	case !byToken && !byCert:
		return errors.New("want either --token and --state, the directory for the certificate, or --cert and --key")
	case byToken && e.TTL < time.Second:
		return fmt.Errorf("--cert-ttl %s must be at least 1s", e.TTL)
	case byToken:
		return os.MkdirAll(e.State, 0o700)
	}
	return nil
}

// complete describes the node, and finds the machine's IP. Only serving needs the right
// one, by which clients reach the app.
func (o *options) complete(config *vmconfig.Config, serving bool) error {
	n := &o.node
	n.Config = config
	n.UserAgent = "probe-agent/" + release.Version()
	if n.IP = cmp.Or(n.IP, config.Address); n.IP != "" {
		return nil
	}
	n.IP = "127.0.0.1"
	if !serving {
		return nil
	}
	conn, err := net.Dial("udp", o.istiod.Address) // this sends nothing
	if err != nil {
		return fmt.Errorf("cannot find the IP of this machine; --ip or the field `address` can tell it: %w", err)
	}
	defer conn.Close()
	ip := conn.LocalAddr().(*net.UDPAddr).IP
	if ip.IsLoopback() {
		return fmt.Errorf("cannot find the IP of this machine, because --istiod %q is the machine itself; --ip or the field `address` must tell it", o.istiod.Address)
	}
	n.IP = ip.String()
	return nil
}
