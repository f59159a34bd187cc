package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"syscall"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/sidecar/kubelet"
	"github.com/rewrite-probes/rewrite-probes/internal/sidecar/server"
)

// A dialect is the convention by which probes come in.
type dialect struct {
	env  string // the env var that carries the probes
	mesh string
	// uid is the user whose traffic the mesh's redirection treats as the
	// proxy's own.
	uid      int
	taken    string // why a port may be taken, and what to do
	decode   func(value string) (map[string]*prober.Prober, []*prober.EntryError, error)
	parseKey func(key string) (container string, s prober.Slot, ok bool)
	serve    func(*slog.Logger, kubelet.App, map[string]*prober.Prober, []*prober.EntryError, *options) (*server.Server, []listener)
}

// A listener is a port and what answers there.
type listener struct {
	port  int
	serve func(net.Listener) error
}

var istioDialect = &dialect{
	mesh: "Istio", uid: 1337,
	taken:  "Istio's own sidecar is probably injected into this pod; set `answeredBy: istio-proxy`, or another `port`, in the functionConfig of rewrite-probes",
	decode: prober.Decode, parseKey: prober.ParseKey,
	serve: func(log *slog.Logger, app kubelet.App, probers map[string]*prober.Prober, bad []*prober.EntryError, o *options) (*server.Server, []listener) {
		s := server.New(log, app, probers, bad)
		return s, []listener{{o.port, s.Serve}}
	},
}

var osmDialect = &dialect{
	env: prober.OSMEnvName, mesh: "Open Service Mesh", uid: 1500,
	taken:  "Open Service Mesh probably injects its own proxy into this pod and rewrites its probes; leave the pod to one of the two: set the annotation `rewrite-probes.io/rewrite: \"false\"`, or `openservicemesh.io/sidecar-injection: disabled`",
	decode: prober.DecodeOSM, parseKey: prober.ParseOSMKey,
	serve: func(log *slog.Logger, app kubelet.App, probers map[string]*prober.Prober, bad []*prober.EntryError, _ *options) (*server.Server, []listener) {
		s := server.NewOSM(log, app, probers, bad)
		var listeners []listener
		for _, port := range s.OSMPorts() {
			listeners = append(listeners, listener{port, func(l net.Listener) error { return s.ServeOSM(l, port) }})
		}
		return s, listeners
	},
}

// dialectOf gives the dialect whose env var is set, Istio's where none is.
func dialectOf(o *options) (*dialect, error) {
	istio := *istioDialect
	istio.env = o.envName
	switch {
	case os.Getenv(prober.OSMEnvName) == "" && o.envName != prober.OSMEnvName:
		return &istio, nil
	case os.Getenv(o.envName) != "" && o.envName != prober.OSMEnvName:
		return nil, fmt.Errorf("env %s and %s must not both be set: a pod has the probes of one mesh", o.envName, prober.OSMEnvName)
	}
	return osmDialect, nil
}

func (d *dialect) listenError(port int, err error) string {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Sprintf("port %d is taken: %s", port, d.taken)
	}
	return fmt.Sprintf("cannot listen on port %d: %v", port, err)
}
