package vm

import (
	"cmp"
	"errors"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// AgentConfig returns the configuration of probe-agent for a group: its probe as
// its author wrote it, or that of the workload it takes one from, with the
// documented defaults.
func AgentConfig(g *Group) (*vmconfig.Config, error) {
	b := newBuilder(g)
	b.derive()
	if f := transformer.FirstError(b.findings); f != nil {
		return nil, errors.New(f.Message)
	}
	switch {
	case b.original == nil:
		return nil, errors.New("`spec.probe`: must be set, or the annotation `" + fromAnnotation + "`: the agent has nothing to probe")
	case b.dangling:
		return nil, errors.New("`spec.probe`: " + danglingText)
	}
	t := &g.Spec.Template
	c := &vmconfig.Config{
		Name: g.Metadata.Name, Namespace: g.Metadata.Namespace, ServiceAccount: t.ServiceAccount,
		Network: t.Network, Locality: t.Locality, Probe: documented(b.original),
	}
	// The template's labels win, as in istioctl.
	for _, labels := range []field.KeyValues{g.Spec.Metadata.Labels, t.Labels} {
		for _, l := range labels {
			if c.Labels == nil {
				c.Labels = make(map[string]string)
			}
			c.Labels[l.Key] = l.Value
		}
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return c, nil
}

// documented returns a probe with the documented defaults for what is not set.
func documented(p *vmconfig.Probe) vmconfig.Probe {
	q := *effective(p)
	q.FailureThreshold = cmp.Or(p.FailureThreshold, vmconfig.DefaultProbe().FailureThreshold)
	return q
}
