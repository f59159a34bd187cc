package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

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
			p, c, err := t.readInput(cmd, args)
			if err != nil {
				return err
			}
			if isUnread(p.messages) {
				t.print(p.messages)
				return &exit{exitUnreadable}
			}
			config, err := pipeline.AgentConfig(p.streams, c, group)
			if err != nil {
				fmt.Fprintln(t.err, "error: "+oneLine(err.Error()))
				return &exit{exitFindings}
			}
			_, err = t.out.Write(config.Encode())
			return err
		},
	}
	cmd.Flags().StringVar(&group, "group", "", "`NAME` of the WorkloadGroup, or NAMESPACE/NAME")
	return cmd
}
