package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// editFlags say what becomes of the edited files; they are gofmt's.
type editFlags struct {
	write, diff, list bool
}

func (f *editFlags) add(cmd *cobra.Command) {
	p := cmd.Flags()
	p.BoolVarP(&f.write, "write", "w", false, "write the result back to the files that change")
	p.BoolVarP(&f.diff, "diff", "d", false, "show a diff instead of the result")
	p.BoolVarP(&f.list, "list", "l", false, "list the files that would change")
}

// run edits stdin (no arguments, or "-") or the files below the paths.
func (f *editFlags) run(std streams, common *commonFlags, mode pipeline.Mode, args []string) error {
	if f.write && isStdin(args) {
		return &usageError{"rewrite-probes", errors.New("-w needs a PATH to write to: stdin has none")}
	}
	p, c, r, err := runPipeline(std, common, mode, args)
	if err != nil {
		return err
	}
	if len(p.streams) == 1 && p.streams[0].IsResourceList() {
		if err := p.streams[0].AddResults(r.Results()); err != nil {
			return err
		}
	}
	failed := r.Failed(c.Spec.Strict)
	if err := f.emit(std, p, r, failed); err != nil {
		return err
	}
	report.Print(std.err, r.Messages, common.verbose)
	fmt.Fprintln(std.err, "rewrite-probes: "+r.Summary())
	if failed {
		return errReported
	}
	return nil
}

// emit writes what the flags ask for. A failed run writes no plain stream to
// stdout, where a pipe would take it for a result; a ResourceList carries its
// errors itself and is written always.
func (f *editFlags) emit(std streams, p *pkg, r *report.Report, failed bool) error {
	bad := filesWithErrors(r)
	first := true
	for _, s := range p.streams {
		switch {
		case !f.write && !f.diff && !f.list:
			if failed && !s.IsResourceList() {
				continue
			}
			if err := printStream(std, s, first); err != nil {
				return err
			}
			first = false
		case !s.Changed():
			continue
		}
		if f.list {
			fmt.Fprintln(std.out, s.Name())
		}
		if f.diff {
			if err := printDiff(std, s, p); err != nil {
				return err
			}
		}
		if f.write && !bad[s.Name()] {
			if err := writeFile(s); err != nil {
				return err
			}
		}
	}
	return nil
}

func filesWithErrors(r *report.Report) map[string]bool {
	bad := make(map[string]bool)
	for _, m := range r.Messages {
		if m.Severity == transformer.Error {
			bad[m.Object.File] = true
		}
	}
	return bad
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

// writeFile replaces the file in one step: whoever reads it sees the old text
// or the new one. The mode stays, and a symbolic link stays one.
func writeFile(s *manifest.Stream) (err error) {
	path, err := filepath.EvalSymlinks(s.Name())
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".rewrite-probes-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			tmp.Close()
			os.Remove(tmp.Name())
			err = fmt.Errorf("%s was not changed: %w", s.Name(), err)
		}
	}()
	if _, err := s.WriteTo(tmp); err != nil {
		return err
	}
	if err := tmp.Chmod(info.Mode().Perm()); err != nil {
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
