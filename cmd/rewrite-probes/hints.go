package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/spelling"
)

// habits are flags of other programs, with the way to say the same here.
var habits = map[string]string{
	"--dry-run":   "-d shows the changes, and writes nothing",
	"-f":          "write the file without -f",
	"--filename":  "write the file without --filename",
	"-k":          "pipe the output of `kustomize build`",
	"-R":          "a folder is read with all folders in it",
	"--recursive": "a folder is read with all folders in it",
	"-i":          "-w writes the result back",
	"--in-place":  "-w writes the result back",
	"--fix":       "-w writes the result back",
}

// verbs are commands of other programs, with the command that does the same here. The others mean a
// rewriting.
var verbs = map[string]string{
	"analyze":   "check",
	"audit":     "check",
	"lint":      "check",
	"scan":      "check",
	"test":      "check",
	"validate":  "check",
	"verify":    "check",
	"vet":       "check",
	"describe":  "explain",
	"report":    "explain",
	"show":      "explain",
	"diff":      "-d",
	"plan":      "-d",
	"list":      "-l",
	"init":      "config",
	"debug":     "why",
	"diagnose":  "why",
	"delete":    "restore",
	"remove":    "restore",
	"revert":    "restore",
	"undo":      "restore",
	"uninstall": "restore",
}

// flagHint adds the flag that is probably meant to the error about one that does not exist.
func flagHint(cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	flag := "--" + unknown.GetSpecifiedName()
	short := unknown.GetSpecifiedShortnames()
	if short != "" {
		flag = "-" + unknown.GetSpecifiedName()
	}
	hint := habits[flag]
	switch {
	case hint != "":
		hint += verbHint(cmd)
	case short != "" && cmd.Flags().Lookup(strings.TrimSuffix(short, "=")) != nil:
		hint = "did you mean --" + short + "?"
	default:
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
		if short == "" {
			hint = spelling.DidYouMean(flag, known)
		}
	}
	if hint == "" {
		hint = commandsWith(cmd, unknown.GetSpecifiedName(), flag)
	}
	if hint == "" {
		return err
	}
	return fmt.Errorf("%w; %s", err, hint)
}

// verbHint adds to a hint what to write in place of another program's command; "" if none is written.
func verbHint(cmd *cobra.Command) string {
	verb := cmd.Flags().Arg(0)
	_, err := os.Stat(verb)
	switch {
	case cmd.HasParent() || err == nil || !isWord(verb):
		return ""
	case verbs[verb] != "":
		return fmt.Sprintf(", and %q in place of %q", verbs[verb], verb)
	}
	return fmt.Sprintf(", and without %q", verb)
}

// commandsWith returns the hint that other commands have a flag; "" if none has.
func commandsWith(cmd *cobra.Command, name, flag string) string {
	var commands []string
	for _, c := range cmd.Root().Commands() {
		has := c.Flags().Lookup(name) != nil
		if len(name) == 1 {
			has = c.Flags().ShorthandLookup(name) != nil
		}
		if has && c != cmd {
			commands = append(commands, c.Name())
		}
	}
	if len(commands) == 0 {
		return ""
	}
	return flag + " is a flag of " + strings.Join(commands, ", ")
}

// pathsOrStdin refuses a first argument that is no path but nearly a command, and a command behind
// its paths.
func pathsOrStdin(root *cobra.Command, args []string) error {
	var commands []string
	for _, c := range root.Commands() {
		commands = append(commands, c.Name())
	}
	for i, arg := range args {
		if _, err := os.Stat(arg); err == nil || arg == "-" {
			continue
		}
		others := slices.Delete(slices.Clone(args), i, i+1)
		switch hint := spelling.DidYouMean(arg, commands); {
		case slices.Contains(commands, arg):
			return fmt.Errorf("the command comes first: `rewrite-probes %s %s`", arg, shellWords(others))
		case i == 0 && verbs[arg] != "":
			return fmt.Errorf("%q is neither a command nor a path; write `rewrite-probes %s`",
				arg, shellWords(append([]string{verbs[arg]}, others...)))
		case i == 0 && hint != "":
			return fmt.Errorf("%q is neither a command nor a path; %s", arg, hint)
		case i == 0 && len(others) > 0 && isWord(arg):
			return fmt.Errorf("%q is neither a command nor a path; to rewrite, name only the paths: `rewrite-probes %s`",
				arg, shellWords(others))
		}
	}
	return nil
}

// isWord reports whether an argument looks like a command, and not like the name of a file.
func isWord(arg string) bool {
	return arg != "" && strings.Trim(arg, "abcdefghijklmnopqrstuvwxyz-") == ""
}

func shellWords(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = reason.ShellWord(a)
	}
	return strings.Join(words, " ")
}

// remote returns why a path cannot be read that is elsewhere; nil if it may be here.
func remote(path string) error {
	url := reason.ShellWord(path)
	scheme, _, isURL := strings.Cut(path, "://")
	switch {
	case scheme == "http" && isURL, scheme == "https" && isURL:
		return fmt.Errorf("%s: this is a URL, and only files are read. Run `curl -fsSL %s | rewrite-probes -`", path, url)
	case scheme == "oci" && isURL:
		return fmt.Errorf("%s: this is a URL, and only files are read. If it is a chart, run `helm template %s | rewrite-probes -`",
			path, url)
	case isURL, strings.HasPrefix(path, "git@"):
		return fmt.Errorf("%s: this is a URL, and only files are read. Clone or download it, and name the folder", path)
	}
	return nil
}

// missing returns why a path that the command line names cannot be read, with what is probably meant.
func missing(path string, err error) error {
	if err := remote(path); err != nil {
		return err
	}
	if target, broken := os.Readlink(path); broken == nil {
		return fmt.Errorf("%s: %w", path, deadLink(target))
	}
	problem := fmt.Errorf("%s: %w", path, reasonOf(err))
	if os.IsPermission(err) {
		return fmt.Errorf("%w; run it as a user who may read it", problem)
	}
	if !os.IsNotExist(err) {
		return problem
	}
	var names []string
	for _, name := range namesIn(filepath.Dir(path)) {
		if spelling.IsSlip(filepath.Base(path), name) {
			names = append(names, filepath.Join(filepath.Dir(path), name))
		}
	}
	switch {
	case len(names) == 0 && isWord(path):
		return fmt.Errorf("%w, nor a command; name a file, a folder, or - for stdin", problem)
	case len(names) == 0:
		return fmt.Errorf("%w; name a file, a folder, or - for stdin", problem)
	}
	return fmt.Errorf("%w; did you mean %s?", problem, strings.Join(names, ", "))
}

// deadLink is why a link cannot be read.
func deadLink(target string) error {
	return fmt.Errorf("this link leads to %s, which does not exist", target)
}

// refuseOthers has a command of cobra's own refuse an argument that it does not know, instead of
// printing its help with the exit code of a success.
func refuseOthers(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error { return knows(root, "help", args) }
		case "completion":
			c.Args = func(cmd *cobra.Command, args []string) error { return knows(cmd, "completion", args) }
			c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

// knows returns an error if the first argument is not a command below cmd.
func knows(cmd *cobra.Command, command string, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.Name() == args[0] {
			return nil
		}
		names = append(names, c.Name())
	}
	hint := spelling.DidYouMean(args[0], names)
	if hint == "" {
		hint = "write one of " + strings.Join(names, ", ")
	}
	return fmt.Errorf("%s does not know %q; %s", command, args[0], hint)
}
