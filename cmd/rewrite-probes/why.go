package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/why"
)

func whyCommand(std streams) *cobra.Command {
	flags := clusterFlags{cluster: true}
	cmd := &cobra.Command{
		Use:   "why POD | KIND/NAME",
		Short: "Say why a probe of a running pod fails",
		Long: `why asks the cluster through your kubectl why a pod is not healthy. It prints three
lines: what fails, why, and the fix. It reads the pod, its events, and the log and the
metrics of its probe-proxy. It needs no mesh. KIND is pod, deploy, sts, ds, rs or job. Of
several pods it takes the worst.

It runs "kubectl get --raw" alone. It runs nothing in the pod, and reads no Secret. A note
names each thing that it may not read.

Exit codes:
  0  success
  2  the command line is wrong
  3  the pod cannot be read`,
		Example: `  rewrite-probes why web-7d4b9c-x2x7k -n shop
  rewrite-probes why deploy/web -n shop --context staging`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{errors.New("name one pod, or an object with pods: why deploy/web")}
			}
			return nil
		},
	}
	flags.addKubectl(cmd, "", "`NAMESPACE` of the pod (default: the context's)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := flags.check(cmd); err != nil {
			return err
		}
		return printWhy(cmd, &flags, std, args[0])
	}
	return cmd
}

func printWhy(cmd *cobra.Command, flags *clusterFlags, std streams, reference string) error {
	k, err := flags.kubectl(cmd, std.err)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal()
	defer stop()
	namespace, err := k.CurrentNamespace(ctx)
	if err != nil {
		return err
	}
	e, err := why.Gather(ctx, k, namespace, reference, config.IsMeshProxy)
	if err != nil {
		return fmt.Errorf("%s in namespace %s: %w", reference, namespace, err)
	}
	for _, l := range e.Answer() {
		fmt.Fprintln(std.out, field.WithoutCommands(field.Printable(l), field.EscapedSign))
	}
	return nil
}
