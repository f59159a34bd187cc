package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/render"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
)

const stdinName = "<stdin>"

// A pkg is all that one run reads: a package, in the words of kpt.
type pkg struct {
	allowEmpty bool // see allowEmptyUsage

	streams  []*manifest.Stream
	messages []report.Message // about files that are not read, or cannot be
	charts   map[string]int   // the number of templates that are not read, by the chart's Chart.yaml
	files    []file           // that were given; none if that was stdin
	fence    *fence           // around the files that the run opens by itself
	blank    []byte           // input of comments alone, which --allow-empty accepts
	command  string           // such as rewrite-probes check
	config   string           // the file with the functionConfig; "" if there is none
	declared *manifest.Object // the functionConfig; nil if there is none
	setsMTLS bool             // the functionConfig sets istio.mtls, if only to its default
}

// readPackage reads stdin (no arguments, or "-" alone), or the files and the
// folders that the arguments name.
func (t *tool) readPackage(command string, args []string) (*pkg, error) {
	p := &pkg{command: command, allowEmpty: t.allowEmpty, charts: make(map[string]int), fence: newFence(args)}
	std := t.streams
	switch {
	case len(args) == 0 && isTerminal(std.in):
		return nil, &usageError{errors.New("stdin is a terminal: give a PATH, or pipe manifests in")}
	case isStdin(args):
		return p, p.readStdin(std)
	case slices.Contains(args, "-"):
		return nil, &usageError{errors.New("\"-\" must be the only argument: stdin and files do not mix")}
	}
	return p, p.readFiles(args, t.ignore)
}

func (p *pkg) readStdin(std streams) error {
	if isTerminal(std.in) {
		fmt.Fprintln(std.err, p.command+": reading manifests from the terminal; Ctrl-D ends them")
	}
	input, err := manifest.ReadInput(std.in)
	if err != nil {
		return fmt.Errorf("%s: %w", stdinName, err)
	}
	tuneMemory(len(input))
	p.add(file{path: stdinName}, input)
	p.demandKinds()
	if len(p.messages) > 0 {
		p.wordStdin(input)
	}
	return nil
}

// wordStdin words the errors about stdin for those who see only the command before the pipe.
func (p *pkg) wordStdin(input []byte) {
	var text reason.Text
	first, _, _ := bytes.Cut(bytes.TrimSpace(input), []byte("\n"))
	_, err := manifest.Read(stdinName, input)
	switch {
	case len(first) == 0:
		text = reason.NewText("stdin is empty")
		text.Fix = "See why the command before the pipe printed nothing. If that is right, pass `--allow-empty`"
	case errors.Is(err, manifest.ErrEmpty):
		text = reason.NewText("stdin has only comments")
		text.Fix = "See why the command before the pipe printed no object. If that is right, pass `--allow-empty`"
	case !isMeant(input) && !errors.Is(err, manifest.ErrNotText):
		const most = 60 // letters of a line that tell an error
		line := []rune(string(first))
		text = reason.NewText("stdin has no manifest")
		text.Why = fmt.Sprintf("It begins with %q", string(line[:min(most, len(line))]))
		text.Fix = "Correct the command before the pipe"
		if bytes.HasPrefix(first, []byte("NAME ")) || bytes.HasPrefix(first, []byte("NAMESPACE ")) {
			text.Fix = "Add `-o yaml` to the command before the pipe"
		}
	}
	for i := range p.messages {
		if text.What != "" {
			p.messages[i].Text = text
		} else {
			p.messages[i].Text.Fix = "Correct the output of the command before the pipe"
		}
	}
}

// demandKinds reports the documents of stdin that are no objects: what a program before the
// pipe writes there instead of manifests, such as an error, is often a mapping in YAML.
func (p *pkg) demandKinds() {
	for _, s := range p.streams {
		if s.IsResourceList() {
			continue
		}
		for _, o := range s.Objects() {
			if o.Kind() == "" {
				err := &manifest.Error{
					Line: o.Line(),
					Err:  errors.New("a document must be a Kubernetes object, and this one has no `kind`"),
				}
				p.unreadable(s.Name(), err, "")
			}
		}
	}
}

func (p *pkg) readFiles(args, ignore []string) error {
	g, err := findFiles(args, ignore)
	if err != nil {
		return err
	}
	p.files = g.files
	for _, link := range g.folders {
		p.note(link, reason.Link, "not checked: this is a link to a folder")
	}
	patches := p.fence.findPatches(p.files)
	size := 0
	for _, f := range p.files {
		text, err := p.read(f)
		size += len(text)
		tuneMemory(size)
		switch {
		case text == nil && err == nil:
		case err != nil:
			p.unreadable(f.path, err, "")
		case patches[f.real].kustomization != "":
			named := patches[f.real]
			p.passOverPatch(
				f.path,
				patchText{string(text), named.kind},
				"`"+named.kustomization+"` names it as a patch",
				builtByKustomize,
			)
			p.wordPatch(named.kustomization)
		case f.walked && jsonPatch().Match(text):
			p.passOverPatch(f.path, patchText{text: string(text)}, "it is a JSON patch", "in the object that it changes")
		case f.walked && slices.Contains(render.Names, filepath.Base(f.path)):
			_, inline, replacements := p.fence.patchesOf(f.path)
			if concern := concernOfAny(inline); concern != "" {
				p.noteWhy(f.path, reason.Patch, "not checked: this has an inline patch", concern+builtByKustomize)
				p.wordPatch(f.path)
			}
			if concern := concernOfAny(replacements); concern != "" {
				p.noteWhy(f.path, reason.Patch, "not checked: this has a replacement", concern+builtByKustomize)
				p.wordPatch(f.path)
			}
		default:
			p.add(f, text)
		}
	}
	for _, chart := range slices.Sorted(maps.Keys(p.charts)) {
		p.note(
			chart,
			reason.HelmTemplate,
			"not checked: this chart is not rendered ("+report.Plural(p.charts[chart], "template")+")",
		)
		last := &p.messages[len(p.messages)-1]
		last.Text.Fix = "Run `helm template " + shellFolder(chart) + " | " + p.command + " -`, or skip it with `--ignore`"
	}
	return nil
}

// read returns the text of a given file, or notes why it must not be opened and returns nil.
func (p *pkg) read(f file) ([]byte, error) {
	if !f.walked {
		return readNamed(f.path)
	}
	switch info, err := os.Stat(f.path); {
	case err != nil:
		if target, broken := os.Readlink(cmp.Or(f.link, f.path)); broken == nil {
			return nil, deadLink(target)
		}
		return nil, reasonOf(err)
	case !p.fence.has(f.real):
		p.note(cmp.Or(f.link, f.path), reason.Link, "not checked: "+p.fence.leadsOut().Error())
		return nil, nil
	case info.IsDir(): // which the walk could not read
		return readNamed(f.path)
	case !info.Mode().IsRegular():
		p.note(cmp.Or(f.link, f.path), reason.NoText, "not checked: "+errNotRegular.Error())
		return nil, nil
	}
	return p.fence.read(f.path)
}

// add reads the text of a file as manifests, or notes why it does not.
func (p *pkg) add(f file, text []byte) {
	s, err := manifest.Read(f.path, text)
	switch {
	case f.walked && p.passOverReleases(f.path, s, text, err):
	case f.walked && p.passOver(f.path, s, text, err):
	case len(p.files) > 0 && !f.walked && isOfChart(f.path, s, text, err):
		p.unreadable(f.path, errOfChart, "")
		p.wordChart(f.path)
	case p.allowEmpty && errors.Is(err, manifest.ErrEmpty):
		p.blank = append(p.blank, text...)
	case err == nil:
		p.streams = append(p.streams, s)
		if filepath.Base(f.path) == chartName &&
			bytes.Contains(text, []byte("dependencies:")) {
			p.charts[chartOf(f.path)] += 0
		}
	case isTemplate(s, text, err):
		p.unreadable(f.path, err, ". It looks like a template, which must be rendered first")
		p.wordChart(f.path)
	default:
		p.unreadable(f.path, err, "")
		wordFile(&p.messages[len(p.messages)-1], text)
	}
}

// mergeMark finds the first line of a merge conflict.
var mergeMark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^<<<<<<<( |$)`) })

// wordFile words an error about a text whose line does not say what is wrong.
func wordFile(m *report.Message, text []byte) {
	switch at := mergeMark().FindIndex(text); {
	case len(text) == 0:
		m.Text = reason.NewText("The file is empty")
		m.Text.Fix = "Does the command write into the file that it reads? Then the shell empties it first: use `-w`. Else skip it with `--ignore`"
	case at != nil:
		m.Line = 1 + bytes.Count(text[:at[0]], []byte("\n"))
		m.Text = reason.NewText("The file has marks of a merge conflict")
		m.Text.Fix = "Resolve the conflict, and delete the lines that begin with `<<<<<<<`, `=======` and `>>>>>>>`"
	}
}

// errOfChart is why a file of a chart that the command line names holds no manifests.
var errOfChart = errors.New("this file of a chart is not a manifest")

// isOfChart reports whether a file that the command line names is a template or the values of a chart. The folders are
// asked first: it takes long to look for actions in a large render.
func isOfChart(path string, s *manifest.Stream, text []byte, err error) bool {
	if chartOf(path) == "" {
		return false
	}
	isValues := strings.HasPrefix(filepath.Base(path), "values") && holdsNoObject(s, text, err)
	return isValues || err == nil && isTemplate(s, text, err)
}

// wordChart says in the last message how to render the chart that a file belongs to.
func (p *pkg) wordChart(path string) {
	if chart := chartOf(path); chart != "" {
		p.messages[len(p.messages)-1].Text.Fix = "Run `helm template " + shellFolder(chart) + " | " + p.command + " -`"
	}
}

// wordPatch says in the last message, if it is about a patch, how to build the kustomization.
func (p *pkg) wordPatch(kustomization string) {
	if last := &p.messages[len(p.messages)-1]; last.Reason == reason.Patch {
		last.Text.Fix = "Run `kustomize build " + shellFolder(kustomization) + " | " + p.command + " -`, or use rewrite-probes as a kustomize function"
	}
}

// passOver notes why a file that a walk has found is not meant to be read, and reports
// whether it is not. [manifest.Read] has returned s and err.
func (p *pkg) passOver(path string, s *manifest.Stream, text []byte, err error) bool {
	switch {
	case isTemplate(s, text, err):
		p.passOverTemplate(path, text)
	case err == nil &&
		s.FunctionConfig() != nil &&
		!mayBeConfig(s.FunctionConfig()):
		p.note(path, reason.NoManifest, "skipped: its functionConfig is another function's")
	case !holdsNoObject(s, text, err):
		return false
	case err == nil && isStrayManifest(path, s):
		p.note(path, reason.HelmTemplate, "not checked: perhaps probes, without apiVersion and kind")
	case errors.Is(err, manifest.ErrNotText):
		p.note(path, reason.NoText, "not checked: it "+messageOf(err))
	case filepath.Ext(path) != ".json" && errors.Is(err, manifest.ErrScalar):
		p.note(path, reason.NoText, "not checked: this is one value, such as a link that git checked out as a text")
	default:
		p.note(path, reason.NoManifest, "skipped: it has no Kubernetes object")
	}
	return true
}

func (p *pkg) note(path string, key reason.Key, what string) {
	p.noteWhy(path, key, what, "")
}

func (p *pkg) noteWhy(path string, key reason.Key, what, why string) {
	m := aboutFile(path, key, what)
	m.Text.Why = reason.Capital(why)
	p.messages = append(p.messages, m)
}

func aboutFile(path string, key reason.Key, what string) report.Message {
	m := report.NewMessage(key, reason.Text{What: reason.Capital(what)})
	m.Object = &report.ObjectRef{Source: path, File: path}
	return m
}

// passOverTemplate notes that a template is not read, once for each chart.
func (p *pkg) passOverTemplate(path string, text []byte) {
	chart := chartOf(path)
	switch {
	case chart != "":
		p.charts[chart]++
	case probeKey().Match(text),
		kindKey().Match(text) && versionKey().Match(text) && namesProbe().Match(text):
		p.note(path, reason.HelmTemplate, "not checked: this looks like a template")
	default:
		p.note(path, reason.NoManifest, "skipped: this is a template that names no probe")
	}
}

// helmfileReleases finds the releases of a helmfile, which may be a template.
var helmfileReleases = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^releases:[ \t]*($|\r|#|\[[ \t]*[^\] \t]|[^\[ \t\r#])`)
})

// isHelmfile reports whether helmfile reads a file by itself.
func isHelmfile(path string) bool {
	name := filepath.Base(path)
	return name == "helmfile.yaml" || name == "helmfile.yml" || filepath.Base(filepath.Dir(path)) == "helmfile.d"
}

// fleetReleases returns the charts of a fleet.yaml.
func fleetReleases(s *manifest.Stream) (all []workload.Release) {
	for _, o := range s.Objects() {
		all = append(all, workload.FleetReleases(o)...)
	}
	return all
}

// passOverReleases notes a file without an object that installs charts, and reports whether it is one.
func (p *pkg) passOverReleases(path string, s *manifest.Stream, text []byte, err error) bool {
	what, command := "", ""
	switch {
	case isHelmfile(path) && helmfileReleases().Match(text):
		what = "not checked: nobody rendered the releases of this helmfile"
		command = "helmfile --file " + shellFile(path) + " template | rewrite-probes check -"
	case err == nil && filepath.Base(path) == "fleet.yaml":
		charts := fleetReleases(s)
		if len(charts) == 0 {
			return false
		}
		r := charts[0]
		if strings.HasPrefix(r.Chart, ".") { // it is in the folder of the file
			r.Chart = filepath.Join(filepath.Dir(path), r.Chart)
			if !filepath.IsAbs(r.Chart) {
				r.Chart = "./" + r.Chart // or it is a name
			}
		}
		what = "not checked: nobody rendered the chart " + field.Printable(r.Chart) + ", which this installs"
		command = pipeline.RenderChart(r)
	default:
		return false
	}
	p.noteWhy(path, reason.Release, what, "its pods are not in the input")
	p.messages[len(p.messages)-1].Text.Fix = "Run `" + command + "`, or skip it with `--ignore`"
	return true
}

const chartName = "Chart.yaml"

// chartOf returns the Chart.yaml of the chart that a file belongs to, which is that of the
// chart's parent if it is in the folder charts of one; "" if it belongs to none.
func chartOf(path string) (chart string) {
	for dir := range above(filepath.Dir(path)) {
		if name := inFolder(dir, chartName); name != "" {
			chart = name
			if filepath.Base(filepath.Dir(dir)) != "charts" {
				break
			}
		}
	}
	return chart
}

// messageOf returns what is wrong with a text, without the place.
func messageOf(err error) string {
	if e, ok := errors.AsType[*manifest.Error](err); ok {
		return e.Message()
	}
	return err.Error()
}

// unreadable reports a file that cannot be read as manifests.
func (p *pkg) unreadable(path string, err error, hint string) {
	line := 0
	if e, ok := errors.AsType[*manifest.Error](err); ok {
		line, err = e.Line, &manifest.Error{Object: e.Object, Path: e.Path, Err: e.Err}
	}
	m := aboutFile(path, reason.Unreadable, err.Error()+hint)
	m.Line = line
	if errors.Is(err, fs.ErrPermission) {
		m.Text.Fix = "Run it as a user who may read it, or skip it with `--ignore`"
	}
	p.messages = append(p.messages, m)
}

// builtByKustomize says where the probes of a patch of kustomize are rewritten.
const builtByKustomize = "in the output of kustomize"

// passOverPatch notes that a patch is not rewritten. It is merged into another object, and that
// object's probe-proxy must know the probes of both.
func (p *pkg) passOverPatch(path string, patch patchText, why, where string) {
	if concern := patch.concern(); concern != "" {
		p.noteWhy(path, reason.Patch, "not checked: "+why, concern+where)
		return
	}
	p.note(path, reason.NoManifest, "skipped: "+why)
}

// readInput reads what the arguments name, and the config of the run.
func (t *tool) readInput(cmd *cobra.Command, args []string) (*pkg, *config.RewriteProbes, error) {
	done := t.progress("reading the manifests")
	p, err := t.readPackage(cmd.CommandPath(), args)
	done()
	if err != nil {
		return nil, nil, err
	}
	c, err := t.loadAnnounced(cmd, p, args)
	return p, c, err
}

// loadAnnounced loads the config of a run, and names the file that nobody has named.
func (t *tool) loadAnnounced(cmd *cobra.Command, p *pkg, args []string) (*config.RewriteProbes, error) {
	c, err := t.load(p, args)
	if err == nil && p.config != t.config && p.config != "" && p.config != t.announced { // what a flag says is known
		t.announced = p.config
		fmt.Fprintln(t.err, cmd.CommandPath()+": functionConfig: "+field.Printable(p.config))
	}
	return c, err
}

// isStrayManifest reports whether a stream has probes in what is no object, and does not belong to
// a chart.
func isStrayManifest(path string, s *manifest.Stream) bool {
	return filepath.Ext(path) != ".json" &&
		slices.ContainsFunc(s.Objects(), workload.HasProbe) &&
		chartOf(path) == ""
}

// runPipeline reads what the arguments name and takes it through the pipeline.
func (t *tool) runPipeline(
	cmd *cobra.Command, wants pipeline.Wants, args []string,
) (*pkg, *report.Report, error) {
	p, c, err := t.readInput(cmd, args)
	if err != nil {
		return nil, nil, err
	}
	if wants == pipeline.Inspect {
		spendMemory()
	}
	done := t.progress("planning " + report.Plural(len(p.streams), "file"))
	r := pipeline.Run(p.streams, c, wants)
	done()
	r.Messages = slices.Insert(r.Messages, 0, p.messages...)
	r.Config = p.config
	report.Sort(r.Messages)
	return p, r, nil
}

func isStdin(args []string) bool {
	return len(args) == 0 || len(args) == 1 && args[0] == "-"
}
