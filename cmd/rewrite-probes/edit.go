package main

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

// editFlags say what becomes of the edited files; they are gofmt's.
type editFlags struct {
	write, diff, list bool
	exitCode          bool
}

func (f *editFlags) add(cmd *cobra.Command) {
	p := cmd.Flags()
	p.BoolVarP(&f.write, "write", "w", false, "write the result back to the files that change")
	p.BoolVarP(&f.diff, "diff", "d", false, "show a diff instead of the result")
	p.BoolVarP(&f.list, "list", "l", false, "list the files that would change")
	p.BoolVar(&f.exitCode, "exit-code", false, "with -d or -l: exit with 1 if a file would change")
}

// run edits stdin (no arguments, or "-") or the files below the paths.
func (f *editFlags) run(std streams, common *commonFlags, mode pipeline.Mode, args []string) error {
	if f.write && isStdin(args) {
		return &usageError{"rewrite-probes", errors.New("-w needs a PATH to write to: stdin has none")}
	}
	if f.exitCode && !f.diff && !f.list {
		return &usageError{"rewrite-probes", errors.New("--exit-code needs -d or -l")}
	}
	p, r, err := runPipeline(std, common, mode, args)
	if err != nil {
		return err
	}
	if len(p.streams) == 1 && p.streams[0].IsResourceList() {
		if err := p.streams[0].AddResults(r.Results()); err != nil {
			return err
		}
	}
	emitted, emitErr := f.emit(std, p, r)
	report.Print(std.err, r.Messages, common.verbose)
	if len(p.streams) > 0 {
		fmt.Fprintln(std.err, "rewrite-probes: "+r.Summary(f.write || !f.diff && !f.list))
	}
	if emitErr != nil {
		return emitErr
	}
	if err := verdict(r); err != nil {
		return err
	}
	if f.exitCode && emitted > 0 {
		return &exit{exitFindings}
	}
	return nil
}

// emit writes what the flags ask for and returns how many streams that were.
// What has an error is withheld: a file from -w, -d and -l, and all of a plain
// stream from stdout, where a pipe would take the part for the whole. A
// ResourceList on stdout carries its errors itself and is always written.
func (f *editFlags) emit(std streams, p *pkg, r *report.Report) (emitted int, err error) {
	failed := r.FailedSources()
	print := !f.write && !f.diff && !f.list
	var problems []error
	for _, s := range p.streams {
		withhold := failed[""] || failed[s.Name()] || print && len(failed) > 0
		if withhold && !(print && s.IsResourceList()) {
			r.Withhold(s.Name())
			continue
		}
		if !print && !s.Changed() {
			continue
		}
		if err := f.emitStream(std, p, s, print, emitted == 0); err != nil {
			r.Withhold(s.Name())
			problems = append(problems, err)
			continue
		}
		emitted++
	}
	return emitted, errors.Join(problems...)
}

func (f *editFlags) emitStream(std streams, p *pkg, s *manifest.Stream, print, first bool) error {
	if print {
		return printStream(std, s, first)
	}
	if f.list {
		fmt.Fprintln(std.out, s.Name())
	}
	if f.diff {
		if err := printDiff(std, s, p); err != nil {
			return err
		}
	}
	if f.write {
		return writeStream(s, p.inputs[s.Name()])
	}
	return nil
}

func printStream(std streams, s *manifest.Stream, first bool) error {
	if first {
		_, err := s.WriteTo(std.out)
		return err
	}
	var b bytes.Buffer
	if _, err := s.WriteTo(&b); err != nil {
		return err
	}
	if !bytes.HasPrefix(b.Bytes(), []byte("---")) {
		fmt.Fprintln(std.out, "---")
	}
	_, err := b.WriteTo(std.out)
	return err
}

func printDiff(std streams, s *manifest.Stream, p *pkg) error {
	var b bytes.Buffer
	if _, err := s.WriteTo(&b); err != nil {
		return err
	}
	name := strings.TrimPrefix(filepath.ToSlash(s.Name()), "/")
	_, err := std.out.Write(diff.Diff("a/"+name, p.inputs[s.Name()], "b/"+name, b.Bytes()))
	return err
}
