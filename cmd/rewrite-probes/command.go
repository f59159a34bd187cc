package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/reason/example"
	"github.com/rewrite-probes/rewrite-probes/internal/release"
	"github.com/rewrite-probes/rewrite-probes/internal/spelling"
)

func newCommand(std streams) *cobra.Command {
	t := &tool{streams: std, started: time.Now()}
	root := &cobra.Command{
		Use:   "rewrite-probes [PATH... | -]",
		Short: "Make probes and HTTP hooks work in a mesh that demands mTLS",
		Long: `rewrite-probes rewrites the kubelet's probes and HTTP lifecycle hooks in Kubernetes
manifests. The new probes ask a port that the mesh does not capture, where probe-proxy or
Istio's sidecar answers. Without it, strict mTLS makes HTTP and gRPC probes and hooks fail.
TCP probes pass even if the app is down.

Without arguments it is a KRM function: it reads a ResourceList from stdin and writes it
to stdout. It prints a plain stream of documents or a List in the same form.
With paths it is a tool like gofmt. It prints the result. With -w it writes the result back,
with -d it shows a diff, and with -l it lists the files that would change. Together they do
both. -w writes each file without errors, also if the run fails because of another file. In
folders it skips hidden folders, node_modules and files that are not manifests.

The functionConfig is the nearest rewrite-probes.yaml. It is in the given folder, beside the
given file, or in a folder above, up to the repository's root. For - the search begins in
the current folder. stderr names the file. The function does not search. --mesh,
--answered-by, --port and --image override the functionConfig.

A pipe, a path and -w take memory for the input, the output and 48 MB. Beyond 30,000 objects
each takes 1 kB more. -d, explain and patches take several times as much.

Exit codes:
  0  success
  1  an object cannot be rewritten, check has findings, or --exit-code found a difference
  2  the command line is wrong
  3  the manifests or the functionConfig cannot be read, or a file cannot be written`,
		Example: `  kustomize build . | rewrite-probes - | kubectl apply -f -
  rewrite-probes -d deploy/
  rewrite-probes explain deploy/
  kpt fn eval --exec rewrite-probes`,
		Args:          pathsOrStdin,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       release.Version(),
	}
	root.SetFlagErrorFunc(flagHint)
	root.SetVersionTemplate("rewrite-probes {{.Version}}\n")
	t.addFlags(root)
	t.addCommands(root)
	t.edits(root, pipeline.Rewrite)
	group(root)
	root.SetOut(std.out)
	root.SetErr(std.err)
	return root
}

// addCommands adds the commands, each with the flags of the root that it has too.
func (t *tool) addCommands(root *cobra.Command) {
	shared := root.Flags()
	root.AddCommand(
		addAllBut(shared, t.checkCommand()),
		addAllBut(shared, t.explainCommand()),
		addAllBut(shared, t.restoreCommand(), "mesh", "answered-by"),
		addAllBut(shared, t.vmCommand(), "mesh", "answered-by", "port", "image", "strict"),
		addAllBut(shared, t.envoyCommand(), "mesh", "answered-by", "port", "image"),
		addAllBut(shared, t.patchesCommand()),
		addAllBut(shared, t.policyCommand(), "answered-by", "port", "image", "color", "ignore", "strict", "verbose"),
	)
	root.AddCommand(t.configCommand(), reasonsCommand(t.streams), copyCommand(t.streams), whyCommand(t.streams),
		printCommand(t.streams, "schema", "Print the JSON Schema of the functionConfig", config.Schema),
		printCommand(t.streams, "version", "Print the version", func() []byte {
			return []byte("rewrite-probes " + release.Version() + "\n")
		}))
}

// group has the help name apart what few need.
func group(root *cobra.Command) {
	root.AddGroup(&cobra.Group{ID: "main", Title: "Commands:"}, &cobra.Group{ID: "more", Title: "More commands:"})
	root.SetHelpCommandGroupID("more")
	root.SetCompletionCommandGroupID("more")
	for _, c := range root.Commands() {
		switch c.Name() {
		case "envoy", "vm", "copy-to", "schema", "policy":
			c.GroupID = "more"
		default:
			c.GroupID = "main"
		}
	}
}

// A tool has the streams of a run, and the flags of every command that reads manifests.
type tool struct {
	streams
	started    time.Time
	config     string
	announced  string         // the functionConfig that was named last
	flags      *pflag.FlagSet // that have the flags of settings
	color      choice
	ignore     []string
	allowEmpty bool
	strict     bool
	verbose    bool
	cluster    clusterFlags
}

// addFlags adds the flags to the root that other commands share, before it has any others.
func (t *tool) addFlags(root *cobra.Command) {
	p := root.Flags()
	t.flags = p
	p.StringVar(&t.config, "config", "", "`FILE` with the functionConfig, or none for the defaults (default: the nearest "+configName+"; a ResourceList has its own)")
	for _, s := range settings {
		p.String(s.key, "", s.usage)
		if s.values != nil {
			completeFlag(root, s.key, s.values())
		}
	}
	t.color.add(root, "color", "", "`WHEN` to write in colour: auto, always or never", "auto", "always", "never")
	p.StringArrayVar(&t.ignore, "ignore", nil, "`PATTERN` of files and folders to skip, by name or path (repeatable)")
	p.BoolVar(&t.strict, "strict", false, "fail on warnings too")
	p.BoolVarP(&t.verbose, "verbose", "v", false, "also print notes, and every repeated message")
	_ = root.RegisterFlagCompletionFunc(
		"config",
		cobra.FixedCompletions([]string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt),
	)
}

// addAllBut adds shared flags to a command that reads manifests or the functionConfig, without those that would change nothing of
// what it does.
func addAllBut(shared *pflag.FlagSet, cmd *cobra.Command, without ...string) *cobra.Command {
	shared.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(without, f.Name) {
			cmd.Flags().AddFlag(f)
		}
	})
	return cmd
}

func completeFlag(cmd *cobra.Command, flag string, values []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// A choice is the value of a flag that has fixed values, the first of which is the default.
type choice struct {
	value   string
	allowed []string
}

func (c *choice) add(cmd *cobra.Command, flag, short, usage string, allowed ...string) {
	*c = choice{allowed[0], allowed}
	cmd.Flags().VarP(c, flag, short, usage)
	completeFlag(cmd, flag, allowed)
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return "string" }

func (c *choice) Set(value string) error {
	if !slices.Contains(c.allowed, value) {
		return fmt.Errorf("must be one of %s", strings.Join(c.allowed, ", "))
	}
	c.value = value
	return nil
}

func (t *tool) restoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore [PATH... | -]",
		Short: "Restore the original probes and remove the sidecar",
		Long: `restore is the inverse of the rewriting. It brings the original handlers of probes and hooks
back, and removes the env var, the sidecar and the annotations that rewrite-probes added.`,
		Example: `  rewrite-probes restore -w deploy/
  kustomize build . | rewrite-probes restore -`,
	}
	t.edits(cmd, pipeline.Restore)
	return cmd
}

// printCommand returns a command that prints a text.
func printCommand(std streams, name, short string, text func() []byte) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Args: noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			_, err := std.out.Write(text())
			return err
		},
	}
}

func reasonsCommand(std streams) *cobra.Command {
	return &cobra.Command{
		Use: "reasons [KEY...]", Short: "Explain the reason keys of messages",
		Long: `Each message ends in a reason key. reasons prints the cause and the fix of the keys. For a
KEY it also prints an example. Lines with a minus are before the fix, lines with a plus after
it. A part of a key stands for all keys that contain it.`,
		Example: `  rewrite-probes reasons port-unresolved
  rewrite-probes reasons uid`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return reasonKeys(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, keys []string) error {
			chosen, err := chosenReasons(keys)
			if err != nil {
				return err
			}
			for _, r := range reason.All() {
				if slices.Contains(chosen, r.Name) {
					if err := printReason(std.out, r, slices.Contains(keys, r.Name)); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
}

func printReason(w io.Writer, r reason.Doc, withExample bool) error {
	text := fmt.Sprintf(
		"%s (%s)\n  cause: %s\n  fix:   %s\n",
		r.Name,
		r.Severity,
		r.Cause,
		r.FixOrNothing(),
	)
	if withExample {
		for line := range strings.Lines(example.Text(r.Name)) {
			text += "    " + line
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

func reasonKeys() []string {
	var keys []string
	for _, r := range reason.All() {
		keys = append(keys, r.Name)
	}
	return keys
}

// chosenReasons returns the keys that are given, those that contain one that is given, or all if none
// is given.
func chosenReasons(given []string) (chosen []string, err error) {
	known := reasonKeys()
	if len(given) == 0 {
		return known, nil
	}
	for _, k := range given {
		if slices.Contains(known, k) {
			chosen = append(chosen, k)
			continue
		}
		lacks := func(key string) bool {
			return !strings.Contains(key, strings.ToLower(k))
		}
		containing := slices.DeleteFunc(slices.Clone(known), lacks)
		if len(containing) == 0 || len(k) < 3 {
			return nil, &usageError{fmt.Errorf("no reason has the key %q%s", k, reasonHint(k, known))}
		}
		chosen = append(chosen, containing...)
	}
	return chosen, nil
}

// reasonHint returns the end of an error about a key that no reason has.
func reasonHint(key string, known []string) string {
	return "; " + cmp.Or(spelling.DidYouMean(key, known), "\"rewrite-probes reasons\" lists all")
}

// unquoteUsage takes the back-quotes out of the descriptions of flags, in which
// the help finds the names of values, and which a shell would show.
func unquoteUsage(cmd *cobra.Command) {
	plain := func(f *pflag.Flag) {
		f.Usage = strings.ReplaceAll(f.Usage, "`", "")
	}
	cmd.Flags().VisitAll(plain)
	for _, c := range cmd.Commands() {
		unquoteUsage(c)
	}
}

func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("argument %q is one too many", args[0])
	}
	return nil
}
