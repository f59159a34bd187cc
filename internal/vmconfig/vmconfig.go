// Package vmconfig defines the configuration of probe-agent: the group that a
// virtual machine joins, and the probe that decides whether the machine is
// ready. rewrite-probes prints it from a WorkloadGroup, probe-agent reads it.
//
// The fields are named as in Istio's WorkloadGroup and its template. The
// package knows nothing of YAML, files or how a probe is made.
package vmconfig

import (
	"cmp"
	"encoding/json"
	"math"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// A Config is the configuration of one agent.
type Config struct {
	Name           string            `json:"name"`      // of the WorkloadGroup
	Namespace      string            `json:"namespace"` // of the WorkloadGroup
	ServiceAccount string            `json:"serviceAccount,omitempty"`
	Network        string            `json:"network,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`
	Address        string            `json:"address,omitempty"` // an IP address; if empty, the agent finds it
	Locality       string            `json:"locality,omitempty"`
	Weight         int               `json:"weight,omitempty"`
	Probe          Probe             `json:"probe"`
}

// A Probe is Istio's ReadinessProbe. Exactly one of its handlers is set.
type Probe struct {
	InitialDelaySeconds int `json:"initialDelaySeconds"`
	TimeoutSeconds      int `json:"timeoutSeconds"`
	PeriodSeconds       int `json:"periodSeconds"`
	SuccessThreshold    int `json:"successThreshold"`
	FailureThreshold    int `json:"failureThreshold"`

	HTTPGet   *HTTPGet   `json:"httpGet,omitempty"`
	TCPSocket *TCPSocket `json:"tcpSocket,omitempty"`
	GRPC      *GRPC      `json:"grpc,omitempty"`
	Exec      *Exec      `json:"exec,omitempty"`
}

// HTTPGet is Istio's HTTPHealthCheckConfig.
type HTTPGet struct {
	Path        string              `json:"path,omitempty"`
	Port        int                 `json:"port"`
	Host        string              `json:"host,omitempty"`
	Scheme      string              `json:"scheme,omitempty"`
	HTTPHeaders []prober.HTTPHeader `json:"httpHeaders,omitempty"`
}

// The schemes of [HTTPGet].
const (
	HTTP  = "HTTP"
	HTTPS = "HTTPS"
)

// TCPSocket is Istio's TCPHealthCheckConfig.
type TCPSocket struct {
	Host string `json:"host,omitempty"`
	Port int    `json:"port"`
}

// GRPC is Istio's GrpcHealthCheckConfig.
type GRPC struct {
	Port    int    `json:"port"`
	Service string `json:"service,omitempty"`
}

// Exec is Istio's ExecHealthCheckConfig.
type Exec struct {
	Command []string `json:"command"`
}

// Prober returns the probe as an entry of the env var has it, which has no room for exec.
func (p *Probe) Prober() *prober.Prober {
	e := &prober.Prober{TimeoutSeconds: p.TimeoutSeconds}
	if h := p.HTTPGet; h != nil {
		e.HTTPGet = &prober.HTTPGet{Path: h.Path, Port: field.Number(h.Port), Host: h.Host, Scheme: h.Scheme, HTTPHeaders: h.HTTPHeaders}
	}
	if t := p.TCPSocket; t != nil {
		e.TCPSocket = &prober.TCPSocket{Port: field.Number(t.Port), Host: t.Host}
	}
	if g := p.GRPC; g != nil {
		e.GRPC = &prober.GRPC{Port: field.Number(g.Port), Service: &g.Service}
	}
	return e
}

// DefaultProbe returns a probe without a handler whose other fields have the
// documented defaults. Istio documents 3 for failureThreshold; its own agent
// takes 1.
func DefaultProbe() Probe {
	return Probe{TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3}
}

// SetDefaults fills in the documented defaults.
func (h *HTTPGet) SetDefaults() {
	h.Path = cmp.Or(h.Path, "/")
	h.Scheme = cmp.Or(h.Scheme, HTTP)
}

// Decode reads a configuration, fills in the documented defaults and validates
// it. Unknown fields and numbers out of range are errors: the agent would not probe
// as the configuration says.
func Decode(text []byte) (*Config, error) {
	c := &Config{Probe: DefaultProbe()}
	if err := decodeStrictly(text, c); err != nil {
		return nil, err
	}
	if c.Probe.HTTPGet != nil {
		c.Probe.HTTPGet.SetDefaults()
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return c, nil
}

// Encode returns the configuration as indented JSON, with a newline at its end.
func (c *Config) Encode() []byte {
	b, _ := json.MarshalIndent(c, "", "  ") // types of strings and numbers alone cannot fail
	return append(b, '\n')
}

const (
	maxSeconds = math.MaxInt32
	maxPort    = 65535
)
