package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/release"
)

// newCommand builds the command tree.
func newCommand(std streams) *cobra.Command {
	common := &commonFlags{}
	edit := &editFlags{}
	root := &cobra.Command{
		Use:   "rewrite-probes [PATH... | -]",
		Short: "Make probes and HTTP hooks work in a mesh that demands mTLS",
		Long: `rewrite-probes rewrites the kubelet's probes and HTTP lifecycle hooks in Kubernetes
manifests to a port that the mesh does not capture, and injects the sidecar that
answers them there (probe-proxy, or Istio's own). Without it, under strict mTLS, HTTP
and gRPC probes and hooks fail, and TCP probes pass although nothing listens.

Without arguments it is a KRM function: it reads a ResourceList from stdin and writes it
to stdout. A plain stream of documents or a List comes back in its own form.
With paths it is a tool like gofmt: it prints the result, or with -w writes it back,
with -d shows a diff, with -l lists the files that would change. In folders it skips files
that are no manifests, hidden folders and node_modules, and continues after bad files.

Exit codes: 0 all is well; 1 an object cannot be rewritten, check found something, or
--exit-code found a difference; 2 the command line is wrong; 3 the manifests or the
functionConfig cannot be read, or a file cannot be written.`,
		Example: `  kustomize build . | rewrite-probes - | kubectl apply -f -
  rewrite-probes -d deploy/
  rewrite-probes explain deploy/
  kpt fn eval --exec rewrite-probes`,
		Args:                       cobra.ArbitraryArgs,
		SilenceErrors:              true,
		SilenceUsage:               true,
		Version:                    release.Version(),
		SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, args []string) error {
			return edit.run(cmd, std, common, pipeline.Rewrite, args)
		},
	}
	root.SetVersionTemplate("rewrite-probes {{.Version}}\n")
	edit.add(root)
	common.add(root)
	root.AddCommand(checkCommand(std, common), explainCommand(std, common), restoreCommand(std, common), vmCommand(std, common),
		policyCommand(std, common), schemaCommand(std), reasonsCommand(std), versionCommand(std), completionCommand(std), copyCommand(std))
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &usageError{cmd.CommandPath(), err} })
	return root
}

// commonFlags are the flags of every command that reads manifests.
type commonFlags struct {
	config  string
	color   string
	ignore  []string
	strict  bool
	verbose bool
}

func (f *commonFlags) add(cmd *cobra.Command) {
	p := cmd.PersistentFlags()
	p.StringVar(&f.config, "config", "", "`FILE` with the functionConfig (RewriteProbes or ConfigMap); a ResourceList brings its own")
	p.StringVar(&f.color, "color", colorAuto, "`WHEN` to write in colour: auto, always or never")
	p.StringArrayVar(&f.ignore, "ignore", nil, "`PATTERN` of files and folders to leave out of a walk, by name or path; may be given again")
	p.BoolVar(&f.strict, "strict", false, "fail on warnings too")
	p.BoolVarP(&f.verbose, "verbose", "v", false, "print notes about what was left alone on purpose too")
	_ = cmd.RegisterFlagCompletionFunc("color", cobra.FixedCompletions(colors, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("config", cobra.FixedCompletions([]string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt))
}

// load returns the config of a run: that of the flag, or the ResourceList's.
func (f *commonFlags) load(list *manifest.Object) (*config.RewriteProbes, error) {
	if f.config == "" {
		return f.finish(config.Decode(list))
	}
	if list != nil {
		return nil, errors.New("--config must not be given: the ResourceList brings its own functionConfig")
	}
	text, err := os.ReadFile(f.config)
	if err != nil {
		return nil, fmt.Errorf("--config: %s: %w", f.config, reasonOf(err))
	}
	s, err := manifest.Read(f.config, text)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	if n := len(s.Objects()); n != 1 {
		return nil, fmt.Errorf("--config: %s must hold one functionConfig, and holds %d objects", f.config, n)
	}
	return f.finish(config.Decode(s.Objects()[0]))
}

func (f *commonFlags) finish(c *config.RewriteProbes, err error) (*config.RewriteProbes, error) {
	if err == nil {
		c.Spec.Strict = c.Spec.Strict || f.strict
	}
	return c, err
}

func restoreCommand(std streams, common *commonFlags) *cobra.Command {
	edit := &editFlags{}
	cmd := &cobra.Command{
		Use:   "restore [PATH... | -]",
		Short: "Restore the original probes and remove the sidecar",
		Long: `restore is the inverse of the rewriting: probes and hooks get their original handlers
back, and the env var, the sidecar and the annotations that rewrite-probes added are removed.`,
		Example: `  rewrite-probes restore -w deploy/
  kustomize build . | rewrite-probes restore -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return edit.run(cmd, std, common, pipeline.Restore, args)
		},
	}
	edit.add(cmd)
	return cmd
}

func schemaCommand(std streams) *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of the functionConfig", Args: noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		Example:           `  rewrite-probes schema >rewrite-probes.schema.json`,
		RunE: func(*cobra.Command, []string) error {
			_, err := std.out.Write(config.Schema())
			return err
		},
	}
}

func versionCommand(std streams) *cobra.Command {
	var out format
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := out.validate(cmd); err != nil {
				return err
			}
			if out.value == "text" {
				_, err := fmt.Fprintln(std.out, "rewrite-probes "+release.Version())
				return err
			}
			image, _ := release.Image()
			e := json.NewEncoder(std.out)
			e.SetIndent("", "  ")
			return e.Encode(map[string]string{"version": release.Version(), "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH, "probeProxyImage": image})
		},
	}
	out.add(cmd, "`FORMAT`: text or json", "text", "json")
	return cmd
}

func reasonsCommand(std streams) *cobra.Command {
	return &cobra.Command{
		Use: "reasons [KEY...]", Short: "Explain the reason keys of messages",
		Long:    "reasons prints the cause and the cure of the reason key at the end of a message.",
		Example: `  rewrite-probes reasons port-unresolved`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return reasonKeys(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, keys []string) error {
			all, known := reason.All(), reasonKeys()
			for _, k := range keys {
				if !slices.Contains(known, k) {
					return &usageError{cmd.CommandPath(), fmt.Errorf("reason %q must be one of %s", k, strings.Join(known, ", "))}
				}
			}
			for _, r := range all {
				if len(keys) == 0 || slices.Contains(keys, r.Key) {
					fmt.Fprintf(std.out, "%s (%s)\n  cause: %s\n  cure:  %s\n", r.Key, r.Severity, r.Cause, r.Cure)
				}
			}
			return nil
		},
	}
}

func reasonKeys() []string {
	var keys []string
	for _, r := range reason.All() {
		keys = append(keys, r.Key)
	}
	return keys
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{cmd.CommandPath(), fmt.Errorf("argument %q is one too many", args[0])}
	}
	return nil
}
