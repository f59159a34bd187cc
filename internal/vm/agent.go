package vm

import (
	"errors"
	"slices"

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
		return nil, errors.New(f.Text.What)
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
		Network: t.Network, Locality: t.Locality, Labels: make(map[string]string), Probe: b.original.WithDefaults(),
	}
	// The template's labels win, as in istioctl.
	for _, l := range slices.Concat(g.Spec.Metadata.Labels, t.Labels) {
		c.Labels[l.Key] = l.Value
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return c, nil
}
