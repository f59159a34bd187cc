package surroundings

import (
	"net"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A Sidecar is Istio's configuration of the proxies of pods (networking.istio.io), as far as it says
// where apps listen. In the root namespace, without a selector, it is about all pods for which their
// own namespace has none.
type Sidecar struct {
	Neighbour
	WorkloadSelector *PodLabels        `json:"workloadSelector"`
	Ingress          []InboundListener `json:"ingress"`
}

// PodLabels select pods in Istio's API for networking.
type PodLabels struct {
	Labels field.KeyValues `json:"labels"`
}

func (c *Sidecar) hasSelector() bool { return c.WorkloadSelector != nil }

func (c *Sidecar) selects(pods *Pods) certain.Certainty {
	if !c.hasSelector() {
		return certain.Always
	}
	return pods.selects(c.WorkloadSelector.Labels)
}

// An InboundListener is an entry of a Sidecar's ingress.
type InboundListener struct {
	Port     ListenerPort `json:"port"`
	Endpoint string       `json:"defaultEndpoint"` // where Envoy sends what comes in: "127.0.0.1:8080"; "" is the pod's own address
	// CaptureMode NONE says that Envoy itself listens on the port. Without it Envoy does if the pod's
	// connections are not redirected at all, but with IPTABLES.
	CaptureMode string `json:"captureMode"`
	Bind        string `json:"bind"` // the address where it does; "" is that of the pod
}

// A ListenerPort is the port of an entry of a Sidecar's ingress.
type ListenerPort struct {
	Number   int    `json:"number"`
	Protocol string `json:"protocol"`
}

// The addresses of the loopback interface that a Sidecar may name.
const (
	loopback4 = "127.0.0.1"
	loopback6 = "::1"
)

// An Inbound is what Sidecars say of a port of pods.
type Inbound struct {
	// Local is the address of the loopback interface where the app may listen and nowhere else; "" if no
	// Sidecar says so. An app that listens on all addresses is there too.
	Local string
	// Elsewhere is where Envoy sends what comes to the port, if that is another port or a socket: the
	// app may not listen on the port at all. "" if no Sidecar says so.
	Elsewhere string
	// Binds says whether Envoy itself listens on the port, so that it need not be captured.
	Binds certain.Certainty
	By    string // the Sidecar behind Local, Elsewhere or Binds
}

// Inbound returns what the Sidecars that may be about pods say of a port of theirs. redirects says that the
// pods' connections are redirected to Envoy.
//
// The rules are those of doGetSidecarScope in Istio's pilot/pkg/model/push_context.go (a Sidecar with a
// selector wins over one of the namespace, and that over one of the root namespace; there is no merging), and of
// buildInboundClustersFromSidecar in pilot/pkg/networking/core/cluster.go.
func (s *Surroundings) Inbound(rootNamespace string, pods *Pods, port int, redirects bool) (in Inbound) {
	applying, isSure := s.sidecarsOf(rootNamespace, pods)
	binding := 0
	for i := range applying {
		isBound := false
		for _, l := range applying[i].Ingress {
			host, target := l.target()
			switch {
			case l.Port.Number == port && target != port && host != "":
				in.elsewhere(l.Endpoint, applying[i])
			case target == port && (host == loopback4 || host == loopback6):
				in.local(host, applying[i])
			}
			isBound = isBound || l.Port.Number == port && l.isBound(redirects)
		}
		if isBound {
			binding++
			in.by(applying[i])
		}
	}
	switch {
	case binding == 0:
		in.Binds = certain.Never
	case isSure && binding == len(applying):
		in.Binds = certain.Always
	default:
		in.Binds = certain.Maybe
	}
	return in
}

func (in *Inbound) elsewhere(endpoint string, by *Sidecar) {
	if in.Elsewhere == "" {
		in.Elsewhere = endpoint
		in.By = by.words()
	}
}

func (in *Inbound) local(address string, by *Sidecar) {
	if in.Local == "" {
		in.Local = address
	}
	in.by(by)
}

// by notes who says something first.
func (in *Inbound) by(c *Sidecar) {
	if in.By == "" {
		in.By = c.words()
	}
}

// target returns the host and port of a listener's endpoint; of a socket its path and 0.
func (l *InboundListener) target() (host string, port int) {
	if strings.HasPrefix(l.Endpoint, "unix:") {
		return l.Endpoint, 0
	}
	host, digits, err := net.SplitHostPort(l.Endpoint)
	if err != nil {
		return "", 0 // Istio refuses it
	}
	port, _ = strconv.Atoi(digits)
	return host, port
}

// isBound reports whether Envoy listens on the port where the kubelet can reach it.
func (l *InboundListener) isBound(redirects bool) bool {
	binds := l.CaptureMode == "NONE" || !redirects && l.CaptureMode != "IPTABLES"
	return binds && l.Bind != loopback4 && l.Bind != loopback6
}

// sidecarsOf returns the Sidecars of which one is about the pods: those of the first rank that has a
// certain one, and all that may come before it. Without a certain one it may be that none is, and isSure is false.
func (s *Surroundings) sidecarsOf(rootNamespace string, pods *Pods) (applying []*Sidecar, isSure bool) {
	ranks := []func(*Sidecar) bool{
		func(c *Sidecar) bool {
			return c.Namespace == pods.Namespace && c.hasSelector()
		},
		func(c *Sidecar) bool {
			return c.Namespace == pods.Namespace && !c.hasSelector()
		},
		func(c *Sidecar) bool {
			return c.Namespace == rootNamespace && !c.hasSelector()
		},
	}
	all := Sidecars.near(s)
	for _, isOf := range ranks {
		var rank []AboutPods[Sidecar]
		for i := range all {
			c := &all[i]
			selects := min(c.selects(pods), readBy(s, pods, &c.Neighbour))
			if isOf(c) && selects != certain.Never {
				rank = append(rank, about(c, selects))
			}
		}
		for _, c := range oldest(rank) {
			applying = append(applying, c.Object)
			isSure = isSure || c.Is == certain.Always
		}
		if isSure {
			break
		}
	}
	return applying, isSure
}

func (c *Sidecar) words() string {
	return c.Neighbour.words("Sidecar")
}
