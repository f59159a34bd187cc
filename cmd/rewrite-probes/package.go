package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

const stdinName = "<stdin>"

// pkg is all that one run reads.
type pkg struct {
	streams  []*manifest.Stream
	inputs   map[string][]byte // by the stream's name
	messages []report.Message  // about files that are not read, or cannot be
	charts   map[string]int    // the number of templates that are not read, by the chart's Chart.yaml
	patches  int               // the number of patches with probes that are not read
	failed   bool              // whether a file could not be read
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
		case f.walked && isJSONPatch(text):
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

// add reads the text of a file as manifests, or says why it does not.
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
	m.Object, m.Source = report.Object{File: f.path}, f.path
	p.messages = append(p.messages, m)
}

// passOverTemplate says that a Helm template is not read, once for all of a
// chart.
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

// passOverPatch says that a patch is not rewritten: it is merged into another
// object, whose container probe-proxy must know all probes.
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

var (
	kindKey   = whenUsed(`(?m)(^|[\s{,"'])kind["']?[ \t]*:`)
	action    = whenUsed(`(?m)^[^#\n]*\{\{`) // outside of comments
	list      = whenUsed(`\A(\s*(#.*)?\n|---\s*\n)*\s*(\[|- )`)
	jsonPatch = whenUsed(`\A(\s*(#.*)?\n|---\s*\n)*\s*(\[\s*\{|- \{?)\s*["']?(op|path|value|from)["']?\s*:`)
)

// whenUsed returns a function that returns a regular expression, compiled at
// the first call: a function that reads stdin needs none of them.
func whenUsed(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// isTemplate reports whether a text has what looks like an action of a Helm
// template, and cannot be read as manifests: by Read, which returned s and err,
// or because an action that is valid YAML makes a mapping a key.
func isTemplate(s *manifest.Stream, text []byte, err error) bool {
	if !bytes.Contains(text, []byte("{{")) || !action().Match(text) {
		return false
	}
	return err != nil || slices.ContainsFunc(s.Objects(), func(o *manifest.Object) bool {
		_, err := o.Root()
		return errors.Is(err, manifest.ErrNotKey)
	})
}

// isNoManifest reports whether a text that cannot be read as manifests was
// never meant to be: it is empty, a list without probes (the replacements of a
// kustomization, say) or a single value, or has no kind.
func isNoManifest(text []byte, err error) bool {
	return errors.Is(err, manifest.ErrEmpty) || !kindKey().Match(text) || list().Match(text) && !namesProbe().Match(text)
}

// holdsNoObject reports whether a text of mappings holds no Kubernetes object,
// nor anything with containers: the values of a chart, say.
func holdsNoObject(s *manifest.Stream, text []byte) bool {
	return !s.IsResourceList() && !bytes.Contains(text, []byte("ontainers")) &&
		!slices.ContainsFunc(s.Objects(), func(o *manifest.Object) bool { return o.Kind() != "" || o.APIVersion() != "" })
}

// isJSONPatch reports whether a text is a list of JSON6902 operations.
func isJSONPatch(text []byte) bool {
	return jsonPatch().Match(text)
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

// runPipeline takes what the arguments name through the pipeline: what every
// command that rewrites manifests, or says what would become of them, does
// first.
func runPipeline(cmd *cobra.Command, std streams, common *commonFlags, mode pipeline.Mode, args []string) (*pkg, *report.Report, error) {
	p, c, err := readInput(cmd, std, common, args)
	if err != nil {
		return nil, nil, err
	}
	r, err := pipeline.Run(p.streams, c, mode)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", common.source(p), err)
	}
	r.Messages = append(p.messages, r.Messages...)
	r.Unreadable, r.Patches = p.failed, p.patches
	report.Sort(r.Messages)
	return p, r, nil
}

// isStdin reports whether the arguments mean stdin.
func isStdin(args []string) bool { return len(args) == 0 || len(args) == 1 && args[0] == "-" }

// misspelt returns the command that the first argument seems to mean, if no
// file has that name; "" if it means none.
func misspelt(cmd *cobra.Command, args []string) string {
	if cmd.HasParent() || len(args) == 0 || len(args[0]) < 3 { // which is near any short name
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
