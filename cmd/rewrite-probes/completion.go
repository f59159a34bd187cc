package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
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
				return &usageError{cmd.CommandPath(), fmt.Errorf("one shell must be given, of %s", strings.Join(shells, ", "))}
			}
			return scripts[args[0]](cmd.Root())
		},
	}
}
