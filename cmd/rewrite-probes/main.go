// Command rewrite-probes rewrites the probes and HTTP hooks of pod templates
// so that they work in a mesh that demands mTLS, and injects the sidecar that
// answers them. It is a KRM function, a filter and a tool over files.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the input is at fault, or check found something
	exitUsage  = 2 // the command line is at fault
)

// errReported ends a command whose messages have been printed.
var errReported = errors.New("reported")

// run runs one command line and gives the exit code. Output is written to
// stdout only when all of it is known to be good.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(stderr, "error: internal error, nothing was written: %v\n", p)
			code = exitFailed
		}
	}()
	useReleasedImage()
	cmd := newCommand(streams{stdin, stdout, stderr})
	cmd.SetArgs(args)
	err := cmd.Execute()
	if err == nil {
		return exitOK
	}
	if usage, ok := errors.AsType[*usageError](err); ok {
		fmt.Fprintf(stderr, "error: %s; see %q\n", usage, usage.command+" --help")
		return exitUsage
	}
	if !errors.Is(err, errReported) {
		fmt.Fprintln(stderr, "error: "+strings.Join(strings.Fields(err.Error()), " "))
	}
	return exitFailed
}

// A usageError says what is wrong with the command line.
type usageError struct {
	command string
	err     error
}

func (e *usageError) Error() string { return e.err.Error() }

// streams are the three standard streams of a command.
type streams struct {
	in       io.Reader
	out, err io.Writer
}
