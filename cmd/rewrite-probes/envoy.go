package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
)

func (t *tool) envoyCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "envoy [PATH... | -] [--workload NAME]",
		Short: "Print an Envoy's configuration that answers probes as Open Service Mesh does",
		Long: `envoy prints, as YAML, static_resources for an Envoy in the pod. With them Envoy answers the
workload's probes in Open Service Mesh's form, such as /osm-liveness-probe on port 15901.
The input may be rewritten or not. Envoy answers only httpGet probes: it answers HTTP at
exactly that path, and passes HTTPS on to the app. The output has no other probes: a warning
names each.`,
		Example: `  rewrite-probes envoy deploy/ --workload shop/web >envoy.yaml
  envoy --mode validate -c envoy.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.printConfig(cmd, args, func(streams []*manifest.Stream, c *config.RewriteProbes) ([]byte, error) {
				text, left, err := pipeline.EnvoyConfig(streams, c, name)
				t.print(left)
				if c.Spec.Strict && len(left) > 0 && err == nil {
					err = errors.New("--strict allows no warning")
				}
				return []byte(text), err
			})
		},
	}
	cmd.Flags().StringVar(&name, "workload", "", "`NAME` of the workload, or NAMESPACE/NAME; needed if several have probes")
	return cmd
}

// printConfig prints the configuration of another program that is made of the input. Without it
// the run fails as one of check does that found something.
func (t *tool) printConfig(
	cmd *cobra.Command, args []string, of func([]*manifest.Stream, *config.RewriteProbes) ([]byte, error),
) error {
	p, c, err := t.readInput(cmd, args)
	if err != nil {
		return err
	}
	if isUnread(p.messages) {
		t.print(p.messages)
		return &exit{exitUnreadable}
	}
	text, err := of(p.streams, c)
	if err != nil {
		fmt.Fprintln(t.err, "error: "+oneLine(err.Error()))
		return &exit{exitFindings}
	}
	_, err = t.out.Write(text)
	return err
}
