package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

const stdinName = "<stdin>"

// A pkg is all that one run reads: a package, in the words of kpt.
type pkg struct {
	streams  []*manifest.Stream
	inputs   map[string][]byte // by the stream's name
	messages []report.Message  // about files that are not read, or cannot be
	charts   map[string]int    // the number of templates that are not read, by the chart's Chart.yaml
	patches  int               // the number of patches with probes that are not read
	failed   bool              // whether a file could not be read
}

// functionConfig returns the functionConfig of a ResourceList; nil if there is
// none.
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
func readPackage(command string, std streams, args, ignore []string) (*pkg, error) {
	p := &pkg{inputs: make(map[string][]byte), charts: make(map[string]int)}
	if len(args) == 0 && isTerminal(std.in) {
		return nil, &usageError{command, errors.New("stdin is a terminal: give a PATH, or pipe manifests in")}
	}
	if isStdin(args) {
		input, err := manifest.ReadInput(std.in)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", stdinName, err)
		}
		tuneMemory(len(input))
		p.add(file{path: stdinName}, input)
		return p, nil
	}
	if slices.Contains(args, "-") {
		return nil, &usageError{command, errors.New("\"-\" must be the only argument: stdin and files do not mix")}
	}
	files, err := findFiles(args, ignore)
	if err != nil {
		return nil, err
	}
	patches := findPatches(files)
	progress := newProgress(std.err, len(files))
	defer progress.done()
	for i, f := range files {
		progress.step(i)
		text, err := os.ReadFile(f.path)
		switch {
		case err != nil:
			p.unreadable(f, &manifest.Error{File: f.path, Err: reasonOf(err)})
		case patches[realPath(f.path)] != "":
			p.passOverPatch(f, text, "`"+patches[realPath(f.path)]+"` names it as a patch")
		case f.walked && jsonPatch().Match(text):
			p.passOverPatch(f, text, "it is a JSON patch")
		case f.walked && slices.Contains(kustomizationNames, filepath.Base(f.path)):
			p.warnOfInlinePatches(f, text)
		default:
			p.add(f, text)
		}
	}
	p.noteCharts()
	return p, nil
}

// add reads the text of a file as manifests, or notes why it does not.
func (p *pkg) add(f file, text []byte) {
	s, err := manifest.Read(f.path, text)
	switch {
	case f.walked && isTemplate(s, text, err):
		p.passOverTemplate(f)
	case err == nil && !(f.walked && holdsNoObject(s, text)):
		p.streams = append(p.streams, s)
		p.inputs[f.path] = text
	case f.walked && (err == nil || isNoManifest(text, err)):
		p.note(f, pipeline.ReasonNoManifest, "holds no Kubernetes object and is passed over")
	default:
		p.unreadable(f, err)
	}
}

// note reports something about a file.
func (p *pkg) note(f file, key, text string) {
	m := report.NewMessage(key, text)
	m.Object = &report.Object{Source: f.path, File: f.path}
	p.messages = append(p.messages, m)
}

// passOverTemplate notes that a Helm template is not read, once for each chart.
func (p *pkg) passOverTemplate(f file) {
	if chart := chartOf(f.path); chart != "" {
		p.charts[chart]++
		return
	}
	p.note(f, pipeline.ReasonHelmTemplate,
		"looks like a Helm template and is passed over; render the chart and pipe the result through rewrite-probes")
}

func (p *pkg) noteCharts() {
	for _, chart := range slices.Sorted(maps.Keys(p.charts)) {
		p.note(file{path: chart}, pipeline.ReasonHelmTemplate, fmt.Sprintf(
			"the chart is passed over (%s); render it and pipe the result through rewrite-probes", report.Plural(p.charts[chart], "template")))
	}
}

// chartOf returns the Chart.yaml of the chart that has the file among its
// templates, or "".
func chartOf(path string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if filepath.Base(dir) == "templates" {
			chart := filepath.Join(filepath.Dir(dir), "Chart.yaml")
			if _, err := os.Stat(chart); err == nil {
				return chart
			}
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// unreadable reports a file that cannot be read as manifests.
func (p *pkg) unreadable(f file, err error) {
	p.failed = true
	p.note(f, pipeline.ReasonUnreadable, oneLine(err.Error()))
	if e, ok := errors.AsType[*manifest.Error](err); ok {
		m := &p.messages[len(p.messages)-1]
		m.Line = e.Line
		m.Text = (&manifest.Error{Object: e.Object, Path: e.Path, Err: e.Err}).Error()
	}
}

// passOverPatch notes that a patch is not rewritten. It is merged into another
// object, and that object's probe-proxy must know the probes of both.
func (p *pkg) passOverPatch(f file, text []byte, why string) {
	if namesProbe().Match(text) {
		p.patches++
		p.note(f, pipeline.ReasonPatch, "is passed over, since "+why+
			"; its probes must be rewritten in what kustomize builds: use the function, or pipe kustomize build through rewrite-probes")
		return
	}
	p.note(f, pipeline.ReasonPatchIdle, "is passed over, since "+why)
}

// warnOfInlinePatches warns of a kustomization with probes in its own patches.
func (p *pkg) warnOfInlinePatches(f file, text []byte) {
	_, inline := patchesOf(f.path, text)
	inline = slices.DeleteFunc(inline, func(patch string) bool { return !namesProbe().MatchString(patch) })
	if len(inline) > 0 {
		p.patches += len(inline)
		p.note(f, pipeline.ReasonPatch,
			"has a patch with probes, which must be rewritten in what kustomize builds: use the function, or pipe kustomize build through rewrite-probes")
	}
}

// readInput reads what the arguments name, and the config of the run.
func readInput(cmd *cobra.Command, std streams, common *commonFlags, args []string) (*pkg, *config.RewriteProbes, error) {
	if err := validateColor(common.color); err != nil {
		return nil, nil, &usageError{cmd.CommandPath(), err}
	}
	if name := misspelt(cmd, args); name != "" {
		return nil, nil, &usageError{cmd.CommandPath(), fmt.Errorf("%q is neither a path nor a command: did you mean %q?", args[0], name)}
	}
	p, err := readPackage(cmd.CommandPath(), std, args, common.ignore)
	if err != nil {
		return nil, nil, err
	}
	c, err := common.load(p.functionConfig())
	return p, c, err
}

// runPipeline reads what the arguments name and takes it through the pipeline.
func runPipeline(cmd *cobra.Command, std streams, common *commonFlags, mode pipeline.Mode, args []string) (*pkg, *report.Report, error) {
	p, c, err := readInput(cmd, std, common, args)
	if err != nil {
		return nil, nil, err
	}
	r, err := pipeline.Run(p.streams, c, mode)
	if err != nil {
		return nil, nil, err
	}
	r.Messages = append(p.messages, r.Messages...)
	r.Unreadable, r.Patches = p.failed, p.patches
	report.Sort(r.Messages)
	return p, r, nil
}

// isStdin reports whether the arguments mean stdin.
func isStdin(args []string) bool { return len(args) == 0 || len(args) == 1 && args[0] == "-" }

// misspelt returns the command that the first argument seems to mean; "" if it
// seems to mean none, or is the name of a file.
func misspelt(cmd *cobra.Command, args []string) string {
	if cmd.HasParent() || len(args) == 0 || len(args[0]) < 3 { // fewer letters resemble too many commands
		return ""
	}
	if _, err := os.Stat(args[0]); err == nil {
		return ""
	}
	if names := cmd.SuggestionsFor(args[0]); len(names) > 0 {
		return names[0]
	}
	return ""
}
