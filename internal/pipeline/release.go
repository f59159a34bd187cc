package pipeline

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/patches"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
)

// A found release is one of the selected objects that install a chart.
type foundRelease struct {
	workload.Release
	*subject
}

// noteRelease notes a selected object that installs a chart, and reports whether it is one. One that
// has our patches was rendered for them, and they are tested with each render.
func (r *run) noteRelease(s *subject) bool {
	release, ok := workload.ReleaseOf(s.Object)
	switch {
	case ok && patches.Holds(s.Object):
		r.out.Patched++
	case ok:
		r.releases = append(r.releases, foundRelease{release, s})
	}
	return ok
}

// packageKind is the kind of Carvel's packages, whose templates stand elsewhere.
const packageKind = "PackageInstall"

// generatorKind is the kind of kustomize's own releases.
const generatorKind = "HelmChartInflationGenerator"

// maxNamed is how many releases a message names.
const maxNamed = 20

// reportReleases says once which charts nobody rendered: their pods are not in the input.
func (r *run) reportReleases() {
	if len(r.releases) > 0 {
		r.add(report.NewMessage(reason.Release, unrendered(r.releases, r.streams)))
	}
}

// unrendered returns what there is to say of releases that are found in the streams.
func unrendered(releases []foundRelease, streams []*manifest.Stream) reason.Text {
	n := len(releases)
	var names []string
	for _, f := range releases[:min(n, maxNamed)] {
		names = append(names, f.refer().String())
	}
	if n > maxNamed {
		names = append(names, fmt.Sprintf("%d more", n-maxNamed))
	}
	text := reason.NewText("Not checked: %s: %s", report.Plural(n, "unrendered release"), strings.Join(names, ", "))
	text.Fix = releaseFix(releases, streams)
	return text
}

// The commands that render charts, with what the input does not say in capitals, and the one that checks what comes out.
const (
	helmRender      = "helm template NAME CHART --repo URL --values VALUES.yaml"
	kustomizeRender = "kustomize build --enable-helm DIR"
	toCheck         = " | rewrite-probes check -"
)

// releaseFix returns what to run for the releases. Of several kinds each has its command, with nothing of
// a single release.
func releaseFix(releases []foundRelease, streams []*manifest.Stream) string {
	kinds := releaseKinds(releases)
	first := &releases[0]
	if slices.Contains(kinds, packageKind) {
		return fmt.Sprintf("Pipe what each makes into `rewrite-probes check -`, a chart by `helm template`. Or use `--ignore`, or `exclude: {kinds: [%s]}`",
			strings.Join(kinds, ", "))
	}
	if len(kinds) == 1 {
		each := ""
		if len(releases) > 1 {
			each = " for each"
		}
		return fmt.Sprintf("Run `%s`%s. Or use `--ignore`, or `exclude: {kinds: [%s], names: [%s]}`",
			renderCommand(first, streams), each, kinds[0], first.Object.Name())
	}
	commands := fmt.Sprintf("Run `%s%s` for each", helmRender, toCheck)
	if slices.Contains(kinds, generatorKind) {
		commands = fmt.Sprintf("Pipe `%s`, or `%s`, into `rewrite-probes check -`", helmRender, kustomizeRender)
	}
	return fmt.Sprintf("%s. Or use `--ignore`, or `exclude: {kinds: [%s]}`", commands, strings.Join(kinds, ", "))
}

// releaseKinds returns the kinds of the releases, each once.
func releaseKinds(releases []foundRelease) (kinds []string) {
	for _, f := range releases {
		if kind := f.Kind(); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// renderCommand returns the command that checks what the chart of a release makes. What the
// input does not say is in capitals.
func renderCommand(f *foundRelease, streams []*manifest.Stream) string {
	if f.Kind() == generatorKind {
		return kustomizeRender + toCheck
	}
	r := f.Release
	before, chart := whereIs(r, f.Object.Namespace(), streams)
	r.Name = cmp.Or(r.Name, f.Object.Name())
	r.Namespace = cmp.Or(r.Namespace, f.Object.Namespace())
	return before + helmTemplate(r, chart) + toCheck
}

// RenderChart returns the command that checks what the chart of a release makes that no object describes.
func RenderChart(r workload.Release) string {
	_, chart := whereIs(r, "", nil)
	return helmTemplate(r, chart) + toCheck
}

func helmTemplate(r workload.Release, chart string) string {
	words := []string{"helm template", reason.ShellWord(positional(r.Name, "NAME")), chart}
	if r.Namespace != "" {
		words = append(words, "--namespace", reason.ShellWord(r.Namespace))
	}
	if r.Values {
		words = append(words, "--values VALUES.yaml")
	}
	return strings.Join(words, " ")
}

// ChartOf returns the name and the version of the chart of a release, as far as it and the streams say. An OCIRepository has the name
// in its URL, and `helm pull` makes a folder of that name.
func ChartOf(o *manifest.Object, streams []*manifest.Stream) (name, version string) {
	release, _ := workload.ReleaseOf(o)
	source := sourceOf(release, o.Namespace(), streams)
	if source.kind == "OCIRepository" {
		return path.Base(source.url), source.tag
	}
	return cmp.Or(release.Chart, release.Source), release.Version
}

// FetchChart returns the command that fetches the chart of a release, and the folder where it is then. What the streams
// do not say is in capitals.
func FetchChart(o *manifest.Object, streams []*manifest.Stream) (command, folder string) {
	release, _ := workload.ReleaseOf(o)
	clone, words := whereIs(release, o.Namespace(), streams)
	if clone != "" {
		return strings.TrimSuffix(clone, " && "), words
	}
	return "helm pull --untar " + words, "FOLDER"
}

// whereIs returns the arguments that say where the chart of a release in a namespace is, and the command before that
// fetches it.
func whereIs(r workload.Release, namespace string, streams []*manifest.Stream) (before, words string) {
	source := sourceOf(r, namespace, streams)
	chart := positional(r.Chart, "CHART")
	repo := cmp.Or(r.Repository, source.url)
	version := r.Version
	isPath := strings.HasPrefix(chart, ".") ||
		strings.HasPrefix(chart, "/") ||
		strings.Contains(chart, "://")
	switch {
	case source.kind == "OCIRepository":
		words = reason.ShellWord(repo)
		version = source.tag
	case source.kind == "GitRepository":
		before = "git clone "
		if source.tag != "" {
			before += "--branch " + reason.ShellWord(source.tag) + " "
		}
		before += reason.ShellWord(repo) + " src && "
		return before, reason.ShellWord(path.Join("src", chart))
	case strings.HasPrefix(repo, "oci://"):
		words = reason.ShellWord(strings.TrimSuffix(repo, "/") + "/" + chart)
	case isPath:
		words = reason.ShellWord(chart)
	default:
		words = reason.ShellWord(chart) + " --repo " + reason.ShellWord(cmp.Or(repo, "URL"))
	}
	if version != "" {
		words += " --version " + reason.ShellWord(version)
	}
	return "", words
}

// positional returns an argument that is no flag of the command, or what stands for it where the
// input does not say it or says a flag.
func positional(word, unknown string) string {
	if word == "" || strings.HasPrefix(word, "-") {
		return unknown
	}
	return word
}

// A source is what an object of Flux says of where charts are.
type source struct{ kind, url, tag string }

// sourceOf returns the source that a release names; none if it is not in the input, or several can be meant. A
// namespace that the input does not say can be any.
func sourceOf(r workload.Release, namespace string, streams []*manifest.Stream) source {
	if r.Source == "" {
		return source{}
	}
	namespace = cmp.Or(r.SourceNamespace, namespace)
	var found []source
	for o := range objectsOf(streams) {
		isNamed := o.Group() == "source.toolkit.fluxcd.io" &&
			o.Kind() == cmp.Or(r.SourceKind, "HelmRepository") &&
			o.Name() == r.Source
		if !isNamed || namespace != "" && o.Namespace() != "" && o.Namespace() != namespace {
			continue
		}
		s := source{kind: o.Kind(), url: textAt(o, "spec", "url")}
		ref := []string{"tag", "semver"} // which Helm takes too
		if s.kind == "GitRepository" {
			ref = []string{"tag", "branch"} // which Git takes
		}
		for _, key := range ref {
			s.tag = cmp.Or(s.tag, textAt(o, "spec", "ref", key))
		}
		found = append(found, s)
	}
	if len(slices.Compact(found)) != 1 || strings.HasPrefix(found[0].url, "-") {
		return source{}
	}
	return found[0]
}

// textAt returns the string below some keys; "" if there is none.
func textAt(o *manifest.Object, keys ...string) string {
	v, _ := o.Value(field.NewPath(keys...))
	text, _ := v.(string)
	return text
}
