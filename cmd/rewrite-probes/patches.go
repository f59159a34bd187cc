package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/patches"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/render"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

// patchFlags say where patches go.
type patchFlags struct {
	form     choice
	resource string
	into     string // FILE or FILE:NAME
	repo     string
	charts   []string // NAME=FOLDER
	helm     render.Helm
	diff     bool
	list     bool
	exitCode bool
}

const patchesLong = `patches reads rendered manifests and writes kustomize patches. A build with the patches has
the output of rewrite-probes. You need no plugin, and install nothing.

Each patch first tests its base. If the base changes, the build fails: run patches again. A
new workload also fails the build.

Given a FOLDER, patches has your kustomize (or kubectl) render the base of the patches, or
your helm. Neither runs plugins, and nothing is fetched. A missing file is an error: then
pipe the render in. These are the bases:

  kustomization      the finished build of a folder, which the new kustomization wraps:
    rewrite-probes patches --resource ../prod overlays/prod >overlays/prod-probes/kustomization.yaml
  component          the build of the kustomization that names the Component, without its
                     patches, namespace, prefix and labels. If it has patches, take
                     kustomization: its patches run after the Component
    rewrite-probes patches --into probes/kustomization.yaml overlays/prod
  argocd             the build of the folder without its namespace, prefix and labels, for
                     spec.source.kustomize.patches of an Application:
    rewrite-probes patches --into application.yaml overlays/prod
  flux-kustomization the same, for spec.patches of a Kustomization of Flux:
    rewrite-probes patches --into flux.yaml:web overlays/prod
  helmrelease        the chart with the release's values, for spec.postRenderers:
    rewrite-probes patches --into release.yaml charts/web
    helm template web oci://example.com/web -f values.yaml | rewrite-probes patches --into release.yaml -

--into writes the patches into an object of FILE, whose kind implies the form. It replaces
the patches of an earlier run, and keeps every other byte. "rewrite-probes restore -w FILE"
takes the patches out.

--repo FOLDER does this for each Kustomization of Flux, Application and HelmRelease of a
repository, and renews the kustomizations that have patches. It prints the result for each.
An object that it cannot render is an error, which names the missing input. The others go
on. A chart that is not in the repository comes with --chart NAME=FOLDER.

In CI, -l --exit-code fails if patches would write other patches now than FILE has. It does
not compare comments.

Exit codes:
  0  success
  1  an object cannot be patched, or --exit-code found a difference
  2  the command line is wrong
  3  a file cannot be read or written`

func (t *tool) patchesCommand() *cobra.Command {
	f := &patchFlags{}
	cmd := &cobra.Command{
		Use:   "patches [FOLDER | FILE | -]",
		Short: "Write the rewriting as patches, for Flux, Argo CD and Helm releases",
		Long:  patchesLong,
		Example: `  rewrite-probes patches --resource ../prod overlays/prod >overlays/prod-probes/kustomization.yaml
  helm template web charts/web -f values.yaml | rewrite-probes patches --into release.yaml -
  rewrite-probes patches --into overlays/prod-probes/kustomization.yaml -l --exit-code overlays/prod
  rewrite-probes patches --repo . -l --exit-code
  rewrite-probes restore -w release.yaml`,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return (&patchRun{tool: t, patchFlags: f, cmd: cmd}).run(args)
	}
	p := cmd.Flags()
	f.form.add(
		cmd,
		"output",
		"o",
		"`FORM` of the patches: "+strings.Join(patches.Forms(), ", "),
		patches.Forms()...,
	)
	p.StringVar(&f.resource, "resource", "", "`PATH` of the wrapped folder, for the resources of the kustomization")
	p.StringVar(&f.into, "into", "", "`FILE` to write the patches into, or FILE:NAME for the object of that name")
	p.StringVar(&f.repo, "repo", "", "patch all that Flux and Argo CD render of the repository in `FOLDER`")
	p.StringArrayVar(&f.charts, "chart", nil, "with --repo: `NAME=FOLDER` of a chart that is not in the repository (repeatable)")
	p.StringVar(&f.helm.KubeVersion, "kube-version", "", "`VERSION` of Kubernetes that helm renders for")
	p.StringArrayVar(&f.helm.APIVersions, "api-versions", nil, "`VERSION` of an API that helm renders for (repeatable)")
	p.BoolVarP(&f.diff, "diff", "d", false, "with --into or --repo: show a diff, and write nothing")
	p.BoolVarP(&f.list, "list", "l", false, "with --into or --repo: name each file and the differences, and write nothing")
	p.BoolVar(&f.exitCode, "exit-code", false, "with -d or -l: exit with 1 if the file would change")
	return cmd
}

// check says what is wrong with the flags together.
func (f *patchFlags) check(cmd *cobra.Command, args []string) error {
	switch {
	case f.exitCode && !f.diff && !f.list:
		return errors.New("--exit-code needs -d or -l")
	case f.repo != "":
		if f.into != "" || f.resource != "" || len(args) > 0 || cmd.Flags().Changed("output") {
			return errors.New("--repo finds what to patch: give no PATH, --into, --resource or -o with it")
		}
		return nil
	case len(f.charts) > 0:
		return errors.New("--chart needs --repo FOLDER; with --into, give the chart's folder as the argument")
	case f.into == "" && (f.diff || f.list):
		return errors.New("-d and -l need --into FILE or --repo FOLDER")
	}
	return f.checkResource(args)
}

// checkResource says what is wrong with the flag for what a new kustomization wraps.
func (f *patchFlags) checkResource(args []string) error {
	isNew := f.into == "" && patches.Form(f.form.value) == patches.Kustomization
	switch {
	case f.into != "" && f.resource != "":
		return errors.New("--resource is for a new kustomization: FILE of --into has its own resources")
	case isNew && f.resource == "" && isStdin(args):
		return errors.New("--resource must name what the kustomization wraps, such as ../prod")
	case f.resource != "" && !isNew:
		return fmt.Errorf("--resource is for -o %s alone", patches.Kustomization)
	case isNew && filepath.Clean(f.wraps(args)) == ".": // kustomize calls it a cycle
		return errors.New("a kustomization cannot wrap its own folder. Write it in another folder: " +
			"name this one with --resource, such as ../prod")
	}
	return nil
}

// wraps returns what a new kustomization wraps: by default the first argument.
func (f *patchFlags) wraps(args []string) string {
	if f.resource == "" && !isStdin(args) {
		return args[0]
	}
	return f.resource
}

// A patchRun is one run of the command.
type patchRun struct {
	*tool
	*patchFlags
	cmd *cobra.Command
	ctx context.Context // of a repository, which a signal ends; nil for one render
	// values returns the values that the repository has for a release, see [render.Place]; nil for one render
	values func(kind, name, key string) ([]byte, error)
}

func (p *patchRun) run(args []string) error {
	if err := p.check(p.cmd, args); err != nil {
		return &usageError{err}
	}
	if p.repo != "" {
		return p.patchRepository()
	}
	home, err := p.home(p.cmd)
	if err != nil {
		return err
	}
	return p.patchHome(home, args, p.cmd.CommandPath())
}

// patchHome writes the patches for what the arguments name: into home or, if there is none, to stdout. The line of the
// summary begins with a label.
func (p *patchRun) patchHome(home *manifest.Object, args []string, label string) error {
	sends, err := hooksOf(home)
	if err != nil {
		return err
	}
	place := &render.Place{Home: home, Helm: p.helm, Values: p.values}
	place.Form = patches.Form(p.form.value)
	if home != nil {
		place.Form = patches.FormOf(home)
	}
	b, err := p.readBase(place, args)
	if err != nil {
		return err
	}
	set, r := pipeline.Patches(b.pkg.streams, b.config, sends, b.goes)
	r.Messages = append(b.pkg.messages, r.Messages...)
	if set.Changes() > 0 {
		if b.plain && place.Form == patches.ArgoCD {
			return fmt.Errorf("%s has no kustomization, so Argo CD applies its files without patches. Run `kustomize create --autodetect --recursive` there", args[0])
		}
		if object := set.Unfit(place.Form, home); object != "" {
			r.Messages = append(r.Messages, pipeline.NotPatchable(object))
		}
	}
	if home != nil {
		defer p.compareHome(set, home, r)()
	}
	p.print(r.Messages)
	err = verdict(r)
	switch {
	case err != nil:
		p.explainFailure(home, r)
	case home == nil:
		err = p.printPatches(set, place.Form, p.wraps(args))
	default:
		err = p.putPatches(set, home)
	}
	if p.repo == "" || p.verbose || err != nil || r.Subjects() > 0 { // of a repository, most builds have no pods
		fmt.Fprintf(p.err, "%s: %s\n", label, r.Summary(false))
	}
	return err
}

// explainFailure says what to do about a render without pods, if it can be the patches that made it fail.
func (p *patchRun) explainFailure(home *manifest.Object, r *report.Report) {
	if home == nil || r.Subjects() > 0 || !patches.Holds(home) {
		return
	}
	file := reason.ShellWord(home.Stream().Name())
	fmt.Fprintf(p.err, "rewrite-probes patches: if the patches of %s failed the build, run `rewrite-probes restore -w %s` first\n", file, file)
}

// A base is what patches are for.
type base struct {
	pkg    *pkg
	config *config.RewriteProbes
	goes   patches.Destination
	plain  bool // see [render.Render]
}

// readBase reads what patches at a place are for: what the arguments name or, of a folder that kustomize or Helm
// renders, the render that the patches are applied to.
func (p *patchRun) readBase(place *render.Place, args []string) (*base, error) {
	b := &base{goes: patches.DestinationOf(place.Home)}
	isFolder := false
	if len(args) == 1 {
		info, err := os.Stat(args[0])
		isFolder = err == nil && info.IsDir()
	}
	var err error
	if !isFolder || place.Home == nil && kustomizationIn(args[0]) == "" {
		b.pkg, b.config, err = p.readInput(p.cmd, args)
		return b, err
	}
	if len(p.ignore) > 0 && p.repo == "" {
		return nil, &usageError{fmt.Errorf("--ignore leaves out files of a folder, and this one is rendered: %s", args[0])}
	}
	near := args
	if place.Form == patches.HelmRelease && place.Home != nil { // releases share charts
		near = []string{place.Home.Stream().Name()}
	}
	b.pkg = &pkg{fence: newFence(slices.Concat(near, args))}
	place.May = b.pkg.fence.may
	ctx := p.ctx
	if ctx == nil {
		var stop context.CancelFunc
		ctx, stop = untilSignal()
		defer stop()
	}
	done := p.progress("rendering")
	made, err := place.Base(ctx, args[0])
	done()
	if err != nil {
		return nil, err
	}
	if made.Namespace != "" && (b.goes.Namespace == "" || !b.goes.Overrides) {
		b.goes = patches.Destination{Namespace: made.Namespace, By: args[0], Overrides: true}
	}
	b.plain = made.Plain
	tuneMemory(len(made.Text))
	b.pkg.add(file{path: made.By}, made.Text)
	b.config, err = p.loadAnnounced(p.cmd, b.pkg, near)
	return b, err
}

// compareHome reports what the patches that an object has say of the render. What it returns says it at the end.
func (p *patchRun) compareHome(set *patches.Set, home *manifest.Object, r *report.Report) func() {
	if object := set.IsRewrittenBy(home); object != "" {
		r.Messages = append(r.Messages, pipeline.AlreadyPatched(object, home))
	}
	was, is := set.Renamed(home)
	return func() {
		if was == "" {
			return
		}
		kind, _, _ := strings.Cut(is, " ")
		fmt.Fprintf(p.err, "rewrite-probes patches: %s was %s before. If its name changes with each release, each release fails: "+
			"give it one name, or set `exclude: {kinds: [%s]}`\n", is, was, kind)
	}
}

// home returns the object of --into; nil if there is none.
func (f *patchFlags) home(cmd *cobra.Command) (*manifest.Object, error) {
	if f.into == "" {
		return nil, nil
	}
	file := f.into
	name := ""
	if i := strings.LastIndexByte(file, ':'); i > 0 {
		if _, err := os.Stat(file); err != nil {
			file, name = file[:i], file[i+1:]
		}
	}
	text, err := readNamed(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w; --into takes a file that exists. To make a kustomization, leave --into out, and write `>%s`",
			file, err, reason.ShellWord(file))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	s, err := manifest.Read(file, text)
	if err != nil {
		return nil, err
	}
	var found []*manifest.Object
	for _, o := range s.Objects() {
		if patches.FormOf(o) != "" && (name == "" || o.Name() == name) {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%s: must have one kustomization, Component, HelmRelease, Application or Kustomization of Flux for --into, and has %d; FILE:NAME names one of several", file, len(found))
	}
	form := patches.FormOf(found[0])
	if cmd.Flags().Changed("output") &&
		form != patches.Form(f.form.value) {
		return nil, &usageError{fmt.Errorf("-o %s does not fit %s, which takes -o %s", f.form.value, found[0], form)}
	}
	return found[0], nil
}

// hooksOf returns a function that reports whether the build that is patched has an object: one of a
// HelmRelease may do without the hooks of its chart.
func hooksOf(home *manifest.Object) (func(*manifest.Object) bool, error) {
	if home == nil || patches.FormOf(home) != patches.HelmRelease {
		return func(*manifest.Object) bool { return true }, nil
	}
	hooks, err := patches.SendsHooks(home)
	return func(o *manifest.Object) bool {
		_, isHook := o.Annotations().Lookup("helm.sh/hook")
		return hooks || !isHook
	}, err
}

// printPatches prints the patches of a resource.
func (p *patchRun) printPatches(set *patches.Set, form patches.Form, resource string) error {
	text := set.Text(form, resource)
	if set.Changes() == 0 {
		fmt.Fprintln(p.err, "rewrite-probes patches: nothing is rewritten, so no patch is needed")
		text = patches.Without(form, resource)
	}
	_, err := p.out.Write(text)
	return err
}

// putPatches puts the patches into the object of --into, and does with its file what the flags
// ask for.
func (p *patchRun) putPatches(set *patches.Set, home *manifest.Object) error {
	edits, changes, err := set.Into(home)
	if err == nil && set.Changes() == 0 {
		edits, changes = patches.Removal(home), []string{"no patch is needed"}
	}
	if err == nil {
		err = home.Apply(edits)
	}
	if err != nil || len(edits) == 0 {
		return err
	}
	s := home.Stream()
	text, err := s.Text()
	if err != nil {
		return err
	}
	for _, words := range changes {
		if p.diff || p.list {
			fmt.Fprintf(p.err, "rewrite-probes patches: %s differs: %s\n", oneLine(s.Name()), oneLine(words))
		}
	}
	emit := editFlags{write: !p.diff && !p.list, diff: p.diff, list: p.list}
	emit.color = p.colorOf(p.out)
	if err := emit.emitFile(p.streams, s.Name(), s.Input(), text); err != nil {
		return err
	}
	if p.exitCode {
		return &exit{exitFindings}
	}
	return nil
}
