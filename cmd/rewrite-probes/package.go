package main

import (
	"bytes"
	"cmp"
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
	messages []report.Message // about files that are not read, or cannot be
	unseen   []report.Message // about more of them, for a run that judges all that it is given
	charts   map[string]int   // the number of templates that are not read, by the chart's Chart.yaml
	patches  int              // the number of patches that concern probes and are not read
	files    []file           // that were given; none if that was stdin
	failed   bool             // whether a file could not be read
	config   string           // names the functionConfig and what flags say instead of it; "" if there is none
}

// readPackage reads stdin (no arguments, or "-" alone), or the files and the
// folders that the arguments name.
func readPackage(command string, std streams, args, ignore []string) (*pkg, error) {
	p := &pkg{charts: make(map[string]int)}
	if len(args) == 0 && isTerminal(std.in) {
		return nil, &usageError{errors.New("stdin is a terminal: give a PATH, or pipe manifests in")}
	}
	if isStdin(args) {
		if isTerminal(std.in) {
			fmt.Fprintln(std.err, command+": reading manifests from the terminal; Ctrl-D ends them")
		}
		input, err := manifest.ReadInput(std.in)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", stdinName, err)
		}
		tuneMemory(len(input))
		p.add(file{path: stdinName}, input)
		return p, nil
	}
	if slices.Contains(args, "-") {
		return nil, &usageError{errors.New("\"-\" must be the only argument: stdin and files do not mix")}
	}
	files, err := findFiles(args, ignore)
	if err != nil {
		return nil, err
	}
	p.files = files
	patches := findPatches(files)
	for _, f := range files {
		text, err := os.ReadFile(f.path)
		switch {
		case err != nil:
			p.unreadable(f.path, reasonOf(err), "")
		case patches[f.real] != "":
			p.patches += p.passOverPatch(f.path, text, "`"+patches[f.real]+"` names it as a patch", builtByKustomize)
		case f.walked && jsonPatch().Match(text):
			p.passOverPatch(f.path, text, "it is a JSON patch", "in the object that it is applied to")
		case f.walked && slices.Contains(kustomizationNames, filepath.Base(f.path)):
			p.patches += p.notePatches(f.path, "has an inline patch", builtByKustomize, inlinePatches(f.path)...)
			p.patches += p.notePatches(f.path, "has a replacement", builtByKustomize, replacementsOf(f.path)...)
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
		p.passOverTemplate(f, text)
	case err == nil && f.walked && isForAnother(s):
		p.note(f.path, pipeline.ReasonNoManifest, "is the input of another function, as its functionConfig says, and is passed over")
	case err == nil && f.walked && holdsNoObject(s):
		p.passOverValues(f, s)
	case err == nil:
		p.streams = append(p.streams, s)
		if filepath.Base(f.path) == chartName && bytes.Contains(text, []byte("dependencies:")) {
			p.charts[chartIn(filepath.Dir(f.path))] += 0
		}
	case f.walked && isNoManifest(text, err):
		p.note(f.path, pipeline.ReasonNoManifest, "holds no Kubernetes object and is passed over")
	case isTemplate(s, text, err):
		p.unreadable(f.path, err, "; it looks like a template, which must be rendered first")
	default:
		p.unreadable(f.path, err, "")
	}
}

func (p *pkg) note(path, key, text string) {
	p.messages = append(p.messages, aboutFile(path, key, text))
}

func aboutFile(path, key, text string) report.Message {
	m := report.NewMessage(key, text)
	m.Object = &report.Object{Source: path, File: path}
	return m
}

// passOverTemplate notes that a template is not read, once for each chart.
func (p *pkg) passOverTemplate(f file, text []byte) {
	if chart := chartOf(f.path); chart != "" {
		p.charts[chart]++
		return
	}
	if !kindKey().Match(text) || !versionKey().Match(text) || !namesProbe().Match(text) {
		p.note(f.path, pipeline.ReasonNoManifest, "is a template that names no probe and is passed over")
		return
	}
	p.note(f.path, pipeline.ReasonHelmTemplate,
		"looks like a template and is passed over; "+madeOfIt)
}

// madeOfIt is the cure for a file that another program makes manifests of: which program
// that is, nobody but its author knows.
const madeOfIt = "give rewrite-probes what is made of it, or leave it out with --ignore"

// passOverValues notes that a file without an object is not read. The values of a chart
// that is here belong to the chart.
func (p *pkg) passOverValues(f file, s *manifest.Stream) {
	chart := cmp.Or(chartOf(f.path), chartIn(filepath.Dir(f.path)))
	switch {
	case filepath.Ext(f.path) == ".json" || !slices.ContainsFunc(s.Objects(), pipeline.HasProbe):
		p.note(f.path, pipeline.ReasonNoManifest, "holds no Kubernetes object and is passed over")
	case chart != "":
		p.charts[chart] += 0
	default:
		p.note(f.path, pipeline.ReasonHelmTemplate,
			"has what looks like probes, but is no Kubernetes object, which has apiVersion and kind; it is passed over; "+madeOfIt)
	}
}

// noteCharts warns of the charts with templates that are not read. Charts without any matter
// only to a run that judges all that it is given.
func (p *pkg) noteCharts() {
	const render = "; render it and pipe the result through rewrite-probes"
	for _, chart := range slices.Sorted(maps.Keys(p.charts)) {
		if n := p.charts[chart]; n > 0 {
			p.note(chart, pipeline.ReasonHelmTemplate, "the chart is passed over ("+report.Plural(n, "template")+")"+render)
		} else {
			p.unseen = append(p.unseen, aboutFile(chart, pipeline.ReasonHelmTemplate, "the chart is passed over"+render))
		}
	}
}

const chartName = "Chart.yaml"

// chartOf returns the Chart.yaml of the chart that has the file among its
// templates or the files that they include, or "".
func chartOf(path string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if base := filepath.Base(dir); base == "templates" || base == "files" {
			if chart := chartIn(filepath.Dir(dir)); chart != "" {
				return chart
			}
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// chartIn returns the Chart.yaml of the chart that is rendered if that of a folder is: of its
// parent if it is in the folder charts of one; "" if the folder has none.
func chartIn(dir string) string {
	chart, charts := inFolder(dir, chartName), filepath.Dir(dir)
	if chart != "" && filepath.Base(charts) == "charts" {
		return cmp.Or(chartIn(filepath.Dir(charts)), chart)
	}
	return chart
}

// unreadable reports a file that cannot be read as manifests.
func (p *pkg) unreadable(path string, err error, hint string) {
	p.failed = true
	line := 0
	if e, ok := errors.AsType[*manifest.Error](err); ok {
		line, err = e.Line, &manifest.Error{Object: e.Object, Path: e.Path, Err: e.Err}
	}
	m := aboutFile(path, pipeline.ReasonUnreadable, err.Error()+hint)
	m.Line = line
	p.messages = append(p.messages, m)
}

// builtByKustomize says where the probes of a patch of kustomize are rewritten.
const builtByKustomize = "in what kustomize builds: use the function, or pipe kustomize build through rewrite-probes"

// passOverPatch notes that a patch is not rewritten, and returns 1 if it concerns probes. It is
// merged into another object, and that object's probe-proxy must know the probes of both.
func (p *pkg) passOverPatch(path string, text []byte, why, where string) int {
	words := "is passed over, since " + why
	n := p.notePatches(path, words, where, string(text))
	if n == 0 {
		p.note(path, pipeline.ReasonPatchIdle, words)
	}
	return n
}

// notePatches notes the patches that concern probes, if there are any, and returns how many.
func (p *pkg) notePatches(path, words, where string, patches ...string) (n int) {
	for _, patch := range patches {
		concern := patchConcern(patch)
		if concern == "" {
			continue
		}
		if n++; n == 1 {
			p.note(path, pipeline.ReasonPatch, words+"; "+concern+where)
		}
	}
	return n
}

// readInput reads what the arguments name, and the config of the run.
func (t *tool) readInput(cmd *cobra.Command, args []string) (*pkg, *config.RewriteProbes, error) {
	p, err := readPackage(cmd.CommandPath(), t.streams, args, t.ignore)
	if err != nil {
		return nil, nil, err
	}
	c, err := t.load(p, args)
	if err == nil && p.config != "" && p.config != t.config { // what a flag alone says is known
		fmt.Fprintln(t.err, cmd.CommandPath()+": functionConfig: "+report.Printable(p.config))
	}
	return p, c, err
}

// runPipeline reads what the arguments name and takes it through the pipeline.
func (t *tool) runPipeline(cmd *cobra.Command, mode pipeline.Mode, args []string) (*pkg, *report.Report, error) {
	p, c, err := t.readInput(cmd, args)
	if err != nil {
		return nil, nil, err
	}
	r := pipeline.Run(p.streams, c, mode)
	r.Messages = append(p.messages, r.Messages...)
	r.Unreadable, r.Patches, r.Config = p.failed, p.patches, p.config
	report.Sort(r.Messages)
	return p, r, nil
}

func isStdin(args []string) bool { return len(args) == 0 || len(args) == 1 && args[0] == "-" }
