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
	"fmt"

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
	Probe          Probe             `json:"probe"`
}

// A Probe is Istio's ReadinessProbe. Exactly one of its handlers is set. Ports are numbers,
// and the fields that Istio's handlers lack, protocol and mode, are not set.
type Probe struct {
	InitialDelaySeconds int `json:"initialDelaySeconds"`
	TimeoutSeconds      int `json:"timeoutSeconds"`
	PeriodSeconds       int `json:"periodSeconds"`
	SuccessThreshold    int `json:"successThreshold"`
	FailureThreshold    int `json:"failureThreshold"`

	HTTPGet   *prober.HTTPGet   `json:"httpGet,omitempty"`
	TCPSocket *prober.TCPSocket `json:"tcpSocket,omitempty"`
	GRPC      *prober.GRPC      `json:"grpc,omitempty"`
	Exec      *Exec             `json:"exec,omitempty"`
}

// Exec is Istio's ExecHealthCheckConfig.
type Exec struct {
	Command []string `json:"command"`
}

// Prober returns the probe as an entry of the env var has it, which has no room for exec. The
// two share their handler.
func (p *Probe) Prober() *prober.Original {
	return &prober.Original{
		HTTPGet:        p.HTTPGet,
		TCPSocket:      p.TCPSocket,
		GRPC:           p.GRPC,
		TimeoutSeconds: p.TimeoutSeconds,
	}
}

// DefaultProbe returns a probe without a handler whose other fields have the
// documented defaults. Istio documents 3 for failureThreshold; its own agent
// takes 1.
func DefaultProbe() Probe {
	return Probe{TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3}
}

// WithDefaults returns the probe with the documented defaults for what is not set.
func (p Probe) WithDefaults() Probe {
	d := DefaultProbe()
	p.TimeoutSeconds = cmp.Or(p.TimeoutSeconds, d.TimeoutSeconds)
	p.PeriodSeconds = cmp.Or(p.PeriodSeconds, d.PeriodSeconds)
	p.SuccessThreshold = cmp.Or(p.SuccessThreshold, d.SuccessThreshold)
	p.FailureThreshold = cmp.Or(p.FailureThreshold, d.FailureThreshold)
	if p.HTTPGet != nil {
		h := *p.HTTPGet
		h.Path, h.Scheme = cmp.Or(h.Path, "/"), cmp.Or(h.Scheme, HTTP)
		p.HTTPGet = &h
	}
	if p.GRPC != nil && p.GRPC.Service == nil {
		g := *p.GRPC
		g.Service = new(string)
		p.GRPC = &g
	}
	return p
}

// Decode reads a configuration, fills in the documented defaults and validates
// it. Unknown fields and numbers out of range are errors: the agent would not probe
// as the configuration says.
func Decode(text []byte) (*Config, error) {
	c := &Config{Probe: DefaultProbe()}
	if err := prober.DecodeStrictly(text, c); err != nil {
		return nil, fmt.Errorf("the configuration must be a JSON object as rewrite-probes writes it: %w", err)
	}
	if err := c.Validate(); err != nil { // a number that is 0 there is an error
		return nil, err
	}
	c.Probe = c.Probe.WithDefaults()
	return c, nil
}

// Encode returns the configuration as indented JSON, with a newline at its end.
func (c *Config) Encode() []byte {
	b, _ := json.MarshalIndent(c, "", "  ") // types of strings and numbers alone cannot fail
	return append(b, '\n')
}

// The schemes of a request.
const (
	HTTP  = "HTTP"
	HTTPS = "HTTPS"
)
