package pipeline

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/vm"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
)

// AgentConfig returns the configuration of probe-agent for a WorkloadGroup of
// the streams, named as NAME or NAMESPACE/NAME. Its probe is the one that the
// author of the group or of its workload wrote.
func AgentConfig(streams []*manifest.Stream, c *config.RewriteProbes, name string) (*vmconfig.Config, error) {
	in := newInputs(streams, c)
	var found []*manifest.Object
	var all []string // the names of all groups
	for o := range objectsOf(streams) {
		if workload.Classify(o, in.custom) != workload.WorkloadGroup {
			continue
		}
		full := o.Namespace() + "/" + o.Name()
		if name == full || name == o.Name() {
			found = append(found, o)
		}
		all = append(all, fmt.Sprintf("%q", strings.TrimPrefix(full, "/")))
	}
	if len(found) != 1 {
		return nil, fmt.Errorf(
			"the input must have one WorkloadGroup %q (NAME or NAMESPACE/NAME), and has %s",
			name,
			cmp.Or(strings.Join(all, ", "), "none"),
		)
	}
	o := found[0]
	meta, err := o.Metadata()
	if err != nil {
		return nil, err
	}
	g, err := in.group(o, meta)
	if err != nil {
		return nil, err
	}
	out, err := vm.AgentConfig(g)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o, err)
	}
	return out, nil
}
