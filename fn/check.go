package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rewrite-probes/rewrite-probes/fn/pipeline"
	"github.com/rewrite-probes/rewrite-probes/fn/report"
)

// output is the -o flag of the commands that only look.
type output string

func (o *output) add(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVarP((*string)(o), "output", "o", "text", usage)
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
}

func (o output) validate(cmd *cobra.Command) error {
	if o != "text" && o != "json" {
		return &usageError{cmd.CommandPath(), fmt.Errorf("--output %q must be text or json", string(o))}
	}
	return nil
}

// inspect plans the rewriting of what the arguments name and changes nothing.
func inspect(std streams, common *commonFlags, args []string) (*report.Report, bool, error) {
	p, err := readPackage(std, args)
	if err != nil {
		return nil, false, err
	}
	c, err := common.load(p.functionConfig())
	if err != nil {
		return nil, false, err
	}
	r, err := pipeline.Run(p.streams, c, pipeline.Inspect)
	if err != nil {
		return nil, false, err
	}
	r.Messages = append(p.messages, r.Messages...)
	return r, c.Spec.Strict, nil
}

func checkCommand(std streams, common *commonFlags) *cobra.Command {
	var format output
	cmd := &cobra.Command{
		Use:   "check [PATH... | -]",
		Short: "Find probes that would fail, or falsely pass, under strict mTLS",
		Long: `check looks at rendered manifests and changes nothing. It exits with 1 where a probe or
hook would fail under strict mTLS, or a tcpSocket probe would pass although nothing
listens: because nobody rewrote it, or because it cannot be rewritten. Pod templates that
have opted out, or that the mesh does not capture, are in order.`,
		Example: `  kustomize build . --enable-alpha-plugins --enable-exec | rewrite-probes check -
  rewrite-probes check -o json deploy/`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := format.validate(cmd); err != nil {
				return err
			}
			r, strict, err := inspect(std, common, args)
			if err != nil {
				return err
			}
			r.Messages = append(r.Messages, pipeline.Check(r)...)
			report.Sort(r.Messages)
			if format == "json" {
				err = r.JSON(std.out)
			} else {
				report.Print(std.err, r.Messages, common.verbose)
				fmt.Fprintln(std.err, "rewrite-probes check: "+r.CheckSummary())
			}
			if err == nil && r.Failed(strict) {
				return errReported
			}
			return err
		},
	}
	format.add(cmd, "`FORMAT` of what was found: text (on stderr) or json (on stdout)")
	return cmd
}

func explainCommand(std streams, common *commonFlags) *cobra.Command {
	var format output
	cmd := &cobra.Command{
		Use:   "explain [PATH... | -]",
		Short: "Show what would become of every probe, and why",
		Long: `explain changes nothing. It lists every pod template with its probes and hooks: what
they are, what they would become, or the reason why they are left alone ("rewrite-probes
reasons KEY" tells its cause and cure).`,
		Example: `  rewrite-probes explain deploy/
  kustomize build . | rewrite-probes explain -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := format.validate(cmd); err != nil {
				return err
			}
			r, strict, err := inspect(std, common, args)
			if err != nil {
				return err
			}
			report.Sort(r.Messages)
			if format == "json" {
				err = r.JSON(std.out)
			} else {
				r.Explain(std.out, isTerminal(std.out))
			}
			if err == nil && r.Failed(strict) {
				return errReported
			}
			return err
		},
	}
	format.add(cmd, "`FORMAT`: text or json")
	return cmd
}
