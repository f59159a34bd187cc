package main

import (
	"github.com/spf13/cobra"

	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
)

func explainCommand(std streams, common *commonFlags) *cobra.Command {
	var out choice
	var allowEmpty bool
	cmd := &cobra.Command{
		Use:   "explain [PATH... | -]",
		Short: "Show what would become of every probe, and why",
		Long: `explain changes nothing. It lists every pod template with its probes and hooks: what
they are, what they would become, or why they are left alone; who answers them, and which
container and annotations are added for it. "rewrite-probes reasons KEY" has the cause and
the cure of a reason. -o html makes one page for a browser, to attach to a review.

Like check it exits with 1 where it could not look: if there is no pod template, a chart
that is not rendered, or a kustomization that is not built. With --allow-empty it does not.`,
		Example: `  rewrite-probes explain deploy/
  kustomize build . | rewrite-probes explain -
  rewrite-probes explain -o html deploy/ >probes.html`,
		PreRunE: out.check,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, r, err := runPipeline(cmd, std, common, pipeline.Inspect, args)
			if err != nil {
				return err
			}
			if !allowEmpty {
				addUnseen(p, r)
			}
			switch out.value {
			case "json":
				err = r.JSON(std.out, r.Summary(false))
			case "html":
				err = r.HTML(std.out)
			default:
				err = r.Explain(std.out, common.verbose, screenOf(std.out, common.color))
			}
			if err != nil {
				return err
			}
			return verdict(r)
		},
	}
	addAllowEmpty(cmd, &allowEmpty)
	out.add(cmd, "output", "o", "`FORMAT`: text, json or html", "text", "json", "html")
	return cmd
}
