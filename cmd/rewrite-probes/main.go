// Command rewrite-probes rewrites the probes and HTTP hooks of pod templates
// so that they work in a mesh that demands mTLS, and injects the sidecar that
// answers them. It is a KRM function, a filter and a tool over files.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

func main() {
	tuneMemory(0) // before the input is read, whose bytes would call for a collection
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// The exit codes.
const (
	exitOK         = 0
	exitFindings   = 1 // something was found, or an object cannot be rewritten
	exitUsage      = 2 // the command line is wrong
	exitUnreadable = 3 // the input or the functionConfig cannot be read, or a file or the output cannot be written
)

// An exit ends a command whose messages have been printed.
type exit struct{ code int }

func (e *exit) Error() string {
	return fmt.Sprintf("exit code %d", e.code)
}

// verdict returns the exit that a report calls for; nil if all is well.
func verdict(r *report.Report) error {
	switch {
	case isUnread(r.Messages):
		return &exit{exitUnreadable}
	case r.Failed():
		return &exit{exitFindings}
	}
	return nil
}

// isUnread reports whether a message is about a file that could not be read.
func isUnread(messages []report.Message) bool {
	return slices.ContainsFunc(
		messages,
		func(m report.Message) bool { return m.Reason == reason.Unreadable },
	)
}

// run runs one command line and returns the exit code. Manifests are written to
// stdout only when all of them are known to be good.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(stderr, "error: internal error, nothing was written: %v\n", p)
			code = exitUnreadable
		}
	}()
	stderr = logged{stderr}
	cmd := newCommand(streams{stdin, stdout, stderr})
	cmd.SetArgs(append([]string{}, args...)) // of nil, cobra makes os.Args
	help := bufio.NewWriter(stdout)          // keeps an error, at which cobra does not look
	cmd.SetOut(help)
	refuseOthers(cmd)
	if len(args) > 0 && args[0] == cobra.ShellCompRequestCmd {
		unquoteUsage(cmd)
	}
	started := false
	cmd.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	command, err := cmd.ExecuteC()
	if err != nil && !started { // the flags or the arguments are refused
		err = &usageError{err}
	}
	if unwritten := help.Flush(); err == nil {
		err = unwritten
	}
	return exitCode(command.CommandPath(), err, stderr)
}

// exitCode returns the exit code of a command and prints its error.
func exitCode(command string, err error, stderr io.Writer) int {
	if err == nil {
		return exitOK
	}
	if e, ok := errors.AsType[*exit](err); ok {
		return e.code
	}
	if usage, ok := errors.AsType[*usageError](err); ok {
		fmt.Fprintf(stderr, "error: %s; see %q\n", oneLine(usage.Error()), command+" --help")
		return exitUsage
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintln(stderr, "error: "+oneLine(line))
	}
	if errors.Is(err, config.ErrNotConfig) {
		fmt.Fprint(stderr, configExample)
	}
	if _, isFlag := errors.AsType[*config.SettingError](err); isFlag {
		return exitUsage
	}
	if errors.Is(err, manifest.ErrUnplanned) {
		return exitFindings
	}
	return exitUnreadable
}

// A usageError says what is wrong with the command line.
type usageError struct{ error }

type streams struct {
	in       io.Reader
	out, err io.Writer
}
