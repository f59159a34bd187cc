package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
)

func (t *tool) vmCommand() *cobra.Command {
	var group string
	cmd := &cobra.Command{
		Use:   "vm [PATH... | -] --group NAME",
		Short: "Print the configuration of probe-agent for a WorkloadGroup",
		Long: `vm prints, as JSON, the configuration of probe-agent on a virtual machine without a sidecar.
It has the machine's WorkloadGroup, and the group's probe as its author wrote it, with every
default written out. If the group takes its probe from a workload
(rewrite-probes.io/probe-from), add the workload to the input.`,
		Example: `  rewrite-probes vm deploy/ --group shop/reviews >reviews.json
  probe-agent check reviews.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if group == "" {
				return &usageError{errors.New("--group must name a WorkloadGroup, as NAME or NAMESPACE/NAME")}
			}
			return t.printConfig(cmd, args, func(streams []*manifest.Stream, c *config.RewriteProbes) ([]byte, error) {
				agent, err := pipeline.AgentConfig(streams, c, group)
				if err != nil {
					return nil, err
				}
				return agent.Encode(), nil
			})
		},
	}
	cmd.Flags().StringVar(&group, "group", "", "`NAME` of the WorkloadGroup, or NAMESPACE/NAME")
	return cmd
}
