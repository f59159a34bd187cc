package pipeline

import (
	"cmp"
	"fmt"
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
	object *manifest.Object
	ref    *report.Object
}

// noteRelease notes a selected object that installs a chart, and reports whether it is one. One that
// has our patches was rendered for them, and they are tested with each render.
func (r *run) noteRelease(o *manifest.Object) bool {
	release, ok := workload.ReleaseOf(o)
	switch {
	case ok && patches.Holds(o):
		r.out.Patched++
	case ok:
		r.releases = append(r.releases, foundRelease{release, o, r.refer(o)})
	}
	return ok
}

// generatorKind is the kind of kustomize's own releases.
const generatorKind = "HelmChartInflationGenerator"

// maxNamed is how many releases a message names.
const maxNamed = 20

// reportReleases says once which charts nobody rendered: their pods are not in the input.
func (r *run) reportReleases() {
	n := len(r.releases)
	if n == 0 {
		return
	}
	var names []string
	for _, f := range r.releases[:min(n, maxNamed)] {
		names = append(names, f.ref.String())
	}
	if n > maxNamed {
		names = append(names, fmt.Sprintf("%d more", n-maxNamed))
	}
	are := "releases are"
	if n == 1 {
		are = "release is"
	}
	text := reason.NewText("Probes not checked: %d %s not rendered: %s", n, are, strings.Join(names, ", "))
	text.Why = "Their pods are not in the input"
	text.Fix = r.releaseFix()
	r.out.Messages = append(r.out.Messages, report.NewMessage(reason.Release, text))
}

// The commands that render charts, with what the input does not say in capitals, and the one that checks what comes out.
const (
	helmRender      = "helm template NAME CHART --repo URL --values VALUES.yaml"
	kustomizeRender = "kustomize build --enable-helm DIR"
	toCheck         = " | rewrite-probes check -"
)

// releaseFix returns what to run for the releases. Of several kinds each has its command, with nothing of
// a single release.
func (r *run) releaseFix() string {
	kinds := r.releaseKinds()
	first := &r.releases[0]
	if len(kinds) == 1 {
		each := ""
		if len(r.releases) > 1 {
			each = " for each"
		}
		return fmt.Sprintf("Run `%s`%s. Or use `--ignore`, or `exclude: {kinds: [%s], names: [%s]}`",
			r.renderCommand(first), each, kinds[0], first.object.Name())
	}
	commands := fmt.Sprintf("Run `%s%s` for each", helmRender, toCheck)
	if slices.Contains(kinds, generatorKind) {
		commands = fmt.Sprintf("Pipe `%s`, or `%s`, into `rewrite-probes check -`", helmRender, kustomizeRender)
	}
	return fmt.Sprintf("%s. Or use `--ignore`, or `exclude: {kinds: [%s]}`", commands, strings.Join(kinds, ", "))
}

// releaseKinds returns the kinds of the releases, each once.
func (r *run) releaseKinds() (kinds []string) {
	for _, f := range r.releases {
		if kind := f.object.Kind(); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// renderCommand returns the command that checks what the chart of a release makes. What the
// input does not say is in capitals.
func (r *run) renderCommand(f *foundRelease) string {
	if f.object.Kind() == generatorKind {
		return kustomizeRender + toCheck
	}
	chart := positional(f.Chart, "CHART")
	repo := cmp.Or(f.Repository, r.repositoryOf(f))
	words := []string{"helm template", reason.ShellWord(positional(f.object.Name(), "NAME"))}
	switch isPath := strings.HasPrefix(chart, ".") ||
		strings.HasPrefix(chart, "/") ||
		strings.Contains(chart, "://"); {
	case strings.HasPrefix(repo, "oci://"):
		words = append(words, reason.ShellWord(strings.TrimSuffix(repo, "/")+"/"+chart))
	case isPath:
		words = append(words, reason.ShellWord(chart))
	default:
		words = append(words, reason.ShellWord(chart), "--repo", reason.ShellWord(cmp.Or(repo, "URL")))
	}
	if f.Version != "" {
		words = append(words, "--version", reason.ShellWord(f.Version))
	}
	if namespace := f.object.Namespace(); namespace != "" {
		words = append(words, "--namespace", reason.ShellWord(namespace))
	}
	if f.Values {
		words = append(words, "--values VALUES.yaml")
	}
	return strings.Join(words, " ") + toCheck
}

// positional returns an argument that is no flag of the command, or what stands for it where the
// input does not say it or says a flag.
func positional(word, unknown string) string {
	if word == "" || strings.HasPrefix(word, "-") {
		return unknown
	}
	return word
}

// repositoryOf returns the URL of the Flux repository that a release names; "" if it is not in the
// input, or several can be meant. A namespace that the input does not say can be any.
func (r *run) repositoryOf(f *foundRelease) string {
	namespace := cmp.Or(f.SourceNamespace, f.object.Namespace())
	var urls []string
	for _, s := range r.streams {
		for _, o := range s.Objects() {
			isNamed := o.Group() == "source.toolkit.fluxcd.io" &&
				o.Kind() == "HelmRepository" &&
				o.Name() == f.Source
			if !isNamed || namespace != "" && o.Namespace() != "" && o.Namespace() != namespace {
				continue
			}
			v, _ := o.Value(field.NewPath("spec", "url"))
			url, _ := v.(string)
			urls = append(urls, url)
		}
	}
	if len(slices.Compact(urls)) != 1 {
		return ""
	}
	return urls[0]
}
