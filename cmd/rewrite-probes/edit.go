package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

// editFlags say what becomes of the edited files, as the flags of gofmt do.
type editFlags struct {
	write, diff, list bool
	color             report.Color // of a diff
	exitCode          bool
}

// edits makes a command edit stdin (no arguments, or "-") or the files below the paths.
func (t *tool) edits(cmd *cobra.Command, mode pipeline.Wants) {
	f := &editFlags{}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return f.run(cmd, t, mode, args)
	}
	p := cmd.Flags()
	p.BoolVarP(&f.write, "write", "w", false, "write the result back to the files that change")
	p.BoolVarP(&f.diff, "diff", "d", false, "show a diff instead of the result")
	p.BoolVarP(&f.list, "list", "l", false, "list the files that would change")
	p.BoolVar(&t.allowEmpty, "allow-empty", false, "accept input with only comments, such as from a chart with only hooks")
	p.BoolVar(&f.exitCode, "exit-code", false, "with -d or -l: exit with 1 if a file would change")
}

func (f *editFlags) run(cmd *cobra.Command, t *tool, mode pipeline.Wants, args []string) error {
	if err := f.check(args); err != nil {
		return &usageError{err}
	}
	f.color = t.colorOf(t.out)
	p, r, err := t.runPipeline(cmd, mode, args)
	if err != nil {
		return err
	}
	if len(p.streams) == 1 && p.streams[0].IsResourceList() {
		if err := p.streams[0].AddResults(r.Results()); err != nil {
			return err
		}
		if !t.verbose {
			r.DropInfos()
		}
	}
	emitErr := f.emit(t.streams, p, r)
	r.Unwritten = numberOf(emitErr)
	t.print(r.Messages)
	if len(p.streams) > 0 {
		fmt.Fprintln(t.err, "rewrite-probes: "+r.Summary(f.write || !f.diff && !f.list))
	}
	if emitErr != nil {
		return emitErr
	}
	if err := verdict(r); err != nil {
		return err
	}
	if f.exitCode && slices.ContainsFunc(p.streams, (*manifest.Stream).Changed) {
		return &exit{exitFindings}
	}
	return nil
}

// numberOf returns how many errors are joined in one.
func numberOf(err error) int {
	joined, several := err.(interface{ Unwrap() []error })
	switch {
	case several:
		return len(joined.Unwrap())
	case err != nil:
		return 1
	}
	return 0
}

// check says what is wrong with the flags together.
func (f *editFlags) check(args []string) error {
	switch {
	case f.write && isStdin(args):
		return errors.New("-w needs a PATH to write to: stdin has none")
	case f.exitCode && !f.diff && !f.list:
		return errors.New("--exit-code needs -d or -l")
	}
	return nil
}

// emit writes what the flags ask for. Nothing is written before all of it has been made and
// read again; a file whose text cannot be made is left as it is.
func (f *editFlags) emit(std streams, p *pkg, r *report.Report) error {
	toStdout := !f.write && !f.diff && !f.list
	chosen := choose(p, r, toStdout)
	if !toStdout {
		return f.emitFiles(std, p, r, chosen)
	}
	text, err := manifest.Join(chosen)
	if err == nil {
		_, err = manifest.WriteOutput(std.out, append(text, p.blank...))
	}
	if err != nil {
		for _, s := range chosen {
			r.Withhold(s.Name())
		}
	}
	return err
}

// choose returns the streams to write. After an error -w, -d and -l pass over
// the file, and stdout gets nothing of a plain stream: the next program in a pipe
// would take the part for the whole. A ResourceList on stdout carries its errors
// itself and is always written.
func choose(p *pkg, r *report.Report, toStdout bool) (chosen []*manifest.Stream) {
	failed := r.FailedSources()
	for _, s := range p.streams {
		withhold := failed[""] ||
			failed[s.Name()] ||
			toStdout && len(failed) > 0
		switch {
		case withhold && !(toStdout && s.IsResourceList()):
			r.Withhold(s.Name())
		case toStdout || s.Changed():
			chosen = append(chosen, s)
		}
	}
	return chosen
}

// emitFiles lists, shows or writes the changed files, each with its new text.
func (f *editFlags) emitFiles(std streams, p *pkg, r *report.Report, changed []*manifest.Stream) error {
	texts := make([][]byte, len(changed))
	problems := make([]error, len(changed))
	for i, s := range changed {
		texts[i], problems[i] = s.Text()
	}
	if f.diff {
		spendMemory()
	}
	half := f.halfWritten(p)
	ctx, stop := f.untilSignal()
	defer stop()
	for i, s := range changed {
		if ctx.Err() != nil {
			for _, left := range changed[i:] {
				r.Withhold(left.Name())
			}
			return errors.Join(append(
				problems,
				fmt.Errorf("%s and what follows it was not changed: %w", s.Name(), context.Cause(ctx)),
			)...)
		}
		if problems[i] == nil && f.write {
			problems[i] = cmp.Or(half[s.Name()], p.outside(s.Name()))
			delete(half, s.Name())
		}
		if problems[i] == nil {
			problems[i] = f.emitFile(std, s.Name(), s.Input(), texts[i])
		}
		if problems[i] != nil {
			r.Withhold(s.Name())
		}
	}
	for _, file := range slices.Sorted(maps.Keys(half)) {
		problems = append(problems, half[file])
	}
	return errors.Join(problems...)
}

// halfWritten returns, before -w writes, an error for each file that a run was killed over, and deletes
// what else such runs have left. Files out of the given folders are not written, so nothing is deleted there.
func (f *editFlags) halfWritten(p *pkg) map[string]error {
	if !f.write {
		return nil
	}
	half := make(map[string]error)
	dir := ""
	for _, file := range p.files {
		if file.link != "" {
			continue
		}
		if at := filepath.Dir(file.real); at != dir {
			deleteStale(at)
			dir = at
		}
		if err := checkWhole(file.real); err != nil {
			half[file.path] = fmt.Errorf("%s was not changed: %w", file.path, err)
		}
	}
	return half
}

// untilSignal returns a context that a signal ends if the run writes: a file is written to
// its end first. A second signal, a second later, ends the run at once.
func (f *editFlags) untilSignal() (ctx context.Context, stop context.CancelFunc) {
	if !f.write {
		return context.Background(), func() {}
	}
	ctx, stop = untilSignal()
	context.AfterFunc(ctx, func() {
		time.Sleep(time.Second) // timeout(1) sends it twice
		stop()
	})
	return ctx, stop
}

// untilSignal returns a context that a signal ends. One that is ignored, as by nohup, stays so.
func untilSignal() (context.Context, context.CancelFunc) {
	signals := slices.DeleteFunc(append([]os.Signal{os.Interrupt, syscall.SIGTERM}, hangup...), signal.Ignored)
	if len(signals) == 0 {
		return context.Background(), func() {}
	}
	return signal.NotifyContext(context.Background(), signals...)
}

// outside returns why -w must not write a file: a link led to it, out of all folders that the
// command line names.
func (p *pkg) outside(name string) error {
	for _, f := range p.files {
		if f.path == name && f.link != "" {
			return fmt.Errorf("%s was not changed: the link %s leads to it, out of the given folder. To change it, give rewrite-probes -w %s", name, f.link, name)
		}
	}
	return nil
}

// listed returns a file's name as -l prints it: with escapes on a terminal, which would take
// control characters for commands, and as it is for programs, which open it.
func listed(out io.Writer, name string) string {
	if isTerminal(out) {
		return field.WithoutCommands(field.Printable(name), field.EscapedSign)
	}
	return name
}

func (f *editFlags) emitFile(std streams, name string, before, after []byte) error {
	if f.list {
		if _, err := fmt.Fprintln(std.out, listed(std.out, name)); err != nil {
			return err
		}
	}
	if f.diff {
		path := strings.TrimPrefix(filepath.ToSlash(name), "/")
		lines := diff.Diff("a/"+path, before, "b/"+path, after)
		if _, err := std.out.Write(f.color.Diff(lines)); err != nil {
			return err
		}
	}
	if f.write {
		if err := writeFile(name, after, before); err != nil {
			return fmt.Errorf("%s was not changed: %w", name, err)
		}
	}
	return nil
}
