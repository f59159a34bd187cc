package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func completionCommand(std streams) *cobra.Command {
	scripts := map[string]func(root *cobra.Command) error{
		"bash":       func(root *cobra.Command) error { return root.GenBashCompletionV2(std.out, true) },
		"fish":       func(root *cobra.Command) error { return root.GenFishCompletion(std.out, true) },
		"powershell": func(root *cobra.Command) error { return root.GenPowerShellCompletionWithDesc(std.out) },
		"zsh":        func(root *cobra.Command) error { return root.GenZshCompletion(std.out) },
	}
	shells := slices.Sorted(maps.Keys(scripts))
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the completion script of a shell",
		Long:  "completion prints the script that completes commands and flags, for " + strings.Join(shells, ", ") + ".",
		Example: `  source <(rewrite-probes completion bash)
  rewrite-probes completion fish >~/.config/fish/completions/rewrite-probes.fish`,
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || scripts[args[0]] == nil {
				return &usageError{fmt.Errorf("one shell must be given, of %s", strings.Join(shells, ", "))}
			}
			return scripts[args[0]](cmd.Root())
		},
	}
}

// unquoteUsage takes the back-quotes out of the descriptions of flags, in which
// the help finds the names of values, and which a shell would show.
func unquoteUsage(cmd *cobra.Command) {
	plain := func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "`", "") }
	cmd.Flags().VisitAll(plain)
	for _, c := range cmd.Commands() {
		unquoteUsage(c)
	}
}
