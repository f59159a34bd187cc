package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

const stdinName = "<stdin>"

// pkg is all that one run reads.
type pkg struct {
	streams  []*manifest.Stream
	inputs   map[string][]byte // by the stream's name
	messages []report.Message  // about files that could not be read as manifests
}

func (p *pkg) functionConfig() *manifest.Object {
	for _, s := range p.streams {
		if c := s.FunctionConfig(); c != nil {
			return c
		}
	}
	return nil
}

// readPackage reads stdin (no arguments, or "-" alone), or the files and the
// folders that the arguments name.
func readPackage(std streams, args []string) (*pkg, error) {
	p := &pkg{inputs: make(map[string][]byte)}
	if isStdin(args) {
		input, err := manifest.ReadInput(std.in)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", stdinName, err)
		}
		tuneMemory(len(input))
		return p, p.add(stdinName, input)
	}
	if slices.Contains(args, "-") {
		return nil, &usageError{"rewrite-probes", errors.New("\"-\" must stand alone: stdin and files do not mix")}
	}
	files, err := findFiles(args)
	if err != nil {
		return nil, err
	}
	progress := newProgress(std.err, len(files))
	defer progress.done()
	for i, file := range files {
		progress.step(i)
		input, err := os.ReadFile(file.path)
		if err != nil {
			return nil, err
		}
		if err := p.add(file.path, input); err != nil && !p.forgive(file, input, err) {
			return nil, err
		}
	}
	return p, nil
}

// runPipeline takes what the arguments name through the pipeline: what every
// command that reads manifests does first.
func runPipeline(std streams, common *commonFlags, mode pipeline.Mode, args []string) (*pkg, *config.RewriteProbes, *report.Report, error) {
	p, err := readPackage(std, args)
	if err != nil {
		return nil, nil, nil, err
	}
	c, err := common.load(p.functionConfig())
	if err != nil {
		return nil, nil, nil, err
	}
	r, err := pipeline.Run(p.streams, c, mode)
	if err != nil {
		return nil, nil, nil, err
	}
	r.Messages = append(p.messages, r.Messages...)
	report.Sort(r.Messages)
	return p, c, r, nil
}

// isStdin tells whether the arguments mean stdin.
func isStdin(args []string) bool { return len(args) == 0 || len(args) == 1 && args[0] == "-" }

func (p *pkg) add(name string, input []byte) error {
	s, err := manifest.Read(name, input)
	if err != nil {
		return err
	}
	p.streams = append(p.streams, s)
	p.inputs[name] = input
	return nil
}

// forgive tells whether a file that cannot be read may be passed over: it was
// met on a walk, and it is empty or a Helm template, which is no manifest yet.
func (p *pkg) forgive(f file, input []byte, err error) bool {
	if !f.walked {
		return false
	}
	if len(bytes.TrimSpace(input)) == 0 {
		return true
	}
	if !bytes.Contains(input, []byte("{{")) {
		return false
	}
	p.messages = append(p.messages, report.Message{
		Severity: transformer.Warning, Reason: pipeline.ReasonHelmTemplate, Object: report.Object{File: f.path},
		Text: "looks like a Helm template and is passed over; render the chart and pipe the result through rewrite-probes",
	})
	return true
}

// A file is one file to read.
type file struct {
	path   string
	walked bool // found below a folder, not named
}

// findFiles walks the paths: a file is taken as it is, of a folder everything
// that ends in .yaml, .yml or .json, hidden folders left out, in name order.
func findFiles(paths []string) ([]file, error) {
	var files []file
	for _, root := range paths {
		info, err := os.Stat(root)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, file{path: root})
			continue
		}
		before := len(files)
		err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
				return filepath.SkipDir
			case d.Type().IsRegular() && isManifestName(d.Name()):
				files = append(files, file{path: path, walked: true})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if len(files) == before {
			return nil, fmt.Errorf("%s: the folder must hold files that end in .yaml, .yml or .json, and holds none", root)
		}
	}
	return files, nil
}

func isManifestName(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// progress shows how far a long walk has come, on a terminal only.
type progress struct {
	out   interface{ Write([]byte) (int, error) }
	total int
	next  time.Time
	shown bool
}

// quietFor is how long a run may take before progress is shown.
const quietFor = 500 * time.Millisecond

func newProgress(out interface{ Write([]byte) (int, error) }, total int) *progress {
	p := &progress{total: total, next: time.Now().Add(quietFor)}
	if isTerminal(out) {
		p.out = out
	}
	return p
}

func (p *progress) step(i int) {
	if p.out == nil || time.Now().Before(p.next) {
		return
	}
	fmt.Fprintf(p.out, "\rreading files: %d of %d", i, p.total)
	p.next, p.shown = time.Now().Add(100*time.Millisecond), true
}

func (p *progress) done() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
