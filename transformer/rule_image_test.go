package transformer

import "testing"

func TestProbeProxy_replaces(t *testing.T) {
	const digest = "@sha256:0123456789012345678901234567890123456789012345678901234567890123"
	for _, c := range []struct {
		options ProbeProxy
		have    string
		want    bool
	}{
		{ProbeProxy{}, "ghcr.io/rewrite-probes/probe-proxy:v0.1.0", true},
		{ProbeProxy{}, "ghcr.io/rewrite-probes/probe-proxy:v0.0.9", true},
		{ProbeProxy{}, "ghcr.io/rewrite-probes/probe-proxy:v0.1.0-rc.1", true},
		{ProbeProxy{}, "ghcr.io/rewrite-probes/probe-proxy:v0.2.0", false},
		{ProbeProxy{}, "ghcr.io/rewrite-probes/probe-proxy:v0.10.0", false},
		{ProbeProxy{}, "ghcr.io/rewrite-probes/probe-proxy:main", false},
		{ProbeProxy{}, "ghcr.io/rewrite-probes/probe-proxy", false},
		{ProbeProxy{}, "ghcr.io/rewrite-probes/probe-proxy:v0.0.9" + digest, false},
		{ProbeProxy{}, "registry.example:5000/probe-proxy:v0.0.9", false},
		{ProbeProxy{Registry: "registry.example:5000"}, "registry.example:5000/probe-proxy:v0.0.9", true},
		{ProbeProxy{Registry: "registry.example:5000"}, "registry.example:5000/probe-proxy", false},
		{ProbeProxy{Registry: "registry.example:5000"}, "registry.example:5000/probe-proxy:v0.2.0", false},
		{ProbeProxy{Registry: "registry.example:5000"}, "ghcr.io/rewrite-probes/probe-proxy:v0.0.9", true},
		{ProbeProxy{Registry: "registry.example:5000"}, "ghcr.io/rewrite-probes/probe-proxy:v0.1.0", true},
		{ProbeProxy{Image: "mine:1"}, "ghcr.io/rewrite-probes/probe-proxy:v0.2.0" + digest, true},
	} {
		if got := c.options.replaces(c.have); got != c.want {
			t.Errorf("%+v replaces %s: %v", c.options, c.have, got)
		}
	}
}
