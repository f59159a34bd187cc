package main

import (
	"errors"
	"fmt"
	"os"
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
	diff     bool
	list     bool
	exitCode bool
}

const patchesLong = `patches reads rendered manifests and writes kustomize patches. A build with the patches has
the output of rewrite-probes. You need no plugin, and install nothing.

Each patch first tests its base. If the base changes, the build fails: run patches again. A
new workload also fails the build.

Given a FOLDER, patches has your kustomize (or kubectl) render the base of the patches, or
your helm. Neither runs plugins, and nothing is fetched. What is not in the repository is an
error. Else pipe the render in. These are the bases:

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
  rewrite-probes restore -w release.yaml`,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return t.patches(cmd, f, args)
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
	p.BoolVarP(&f.diff, "diff", "d", false, "with --into: show a diff, and write nothing")
	p.BoolVarP(&f.list, "list", "l", false, "with --into: name the file and the differences, and write nothing")
	p.BoolVar(&f.exitCode, "exit-code", false, "with -d or -l: exit with 1 if the file would change")
	return cmd
}

// check says what is wrong with the flags together.
func (f *patchFlags) check(cmd *cobra.Command, args []string) error {
	switch {
	case f.into == "" && (f.diff || f.list):
		return errors.New("-d and -l need --into FILE")
	case f.exitCode && !f.diff && !f.list:
		return errors.New("--exit-code needs -d or -l")
	case f.into != "" && f.resource != "":
		return errors.New("--resource is for a new kustomization: FILE of --into has its own resources")
	case f.into == "" &&
		f.resource == "" &&
		isStdin(args) &&
		patches.Form(f.form.value) == patches.Kustomization:
		return errors.New("--resource must name what the kustomization wraps, such as ../prod")
	case f.resource != "" && patches.Form(f.form.value) != patches.Kustomization:
		return fmt.Errorf("--resource is for -o %s alone", patches.Kustomization)
	}
	return nil
}

func (t *tool) patches(cmd *cobra.Command, f *patchFlags, args []string) error {
	if err := f.check(cmd, args); err != nil {
		return &usageError{err}
	}
	home, err := f.home(cmd)
	if err != nil {
		return err
	}
	sends, err := hooksOf(home)
	if err != nil {
		return err
	}
	form := patches.Form(f.form.value)
	if home != nil {
		form = patches.FormOf(home)
	}
	goes := patches.DestinationOf(home)
	p, c, err := t.readBase(cmd, &render.Place{Form: form, Home: home}, &goes, args)
	if err != nil {
		return err
	}
	set, r := pipeline.Patches(p.streams, c, sends, goes)
	r.Messages = append(p.messages, r.Messages...)
	if object := set.Unfit(form, home); object != "" && set.Changes() > 0 {
		r.Messages = append(r.Messages, pipeline.NotPatchable(object))
	}
	if home != nil {
		defer t.compareHome(set, home, r)()
	}
	t.print(r.Messages)
	failed := verdict(r)
	switch {
	case failed != nil && r.Subjects() == 0 && home != nil && patches.Holds(home):
		file := reason.ShellWord(home.Stream().Name())
		fmt.Fprintf(t.err, "rewrite-probes patches: if the patches of %s failed the build, run `rewrite-probes restore -w %s` first\n", file, file)
	case failed != nil:
	case home == nil:
		failed = t.printPatches(set, form, f.resource, args)
	default:
		failed = t.putPatches(f, set, home)
	}
	fmt.Fprintf(t.err, "%s: %s\n", cmd.CommandPath(), r.Summary(false))
	return failed
}

// readBase reads what patches at a place are for: what the arguments name or, of a folder that kustomize or Helm
// renders, the render that the patches are applied to. Then goes has the namespace that its kustomization says.
func (t *tool) readBase(
	cmd *cobra.Command, place *render.Place, goes *patches.Destination, args []string,
) (*pkg, *config.RewriteProbes, error) {
	if len(args) != 1 || place.Home == nil && kustomizationIn(args[0]) == "" {
		return t.readInput(cmd, args)
	}
	if info, err := os.Stat(args[0]); err != nil || !info.IsDir() {
		return t.readInput(cmd, args)
	}
	p := &pkg{fence: newFence(args)}
	place.May = p.fence.may
	ctx, stop := untilSignal()
	defer stop()
	done := t.progress("rendering")
	made, err := place.Base(ctx, args[0])
	done()
	if err != nil {
		return nil, nil, err
	}
	if made.Namespace != "" && (goes.Namespace == "" || !goes.Overrides) {
		*goes = patches.Destination{Namespace: made.Namespace, By: args[0], Overrides: true}
	}
	tuneMemory(len(made.Text))
	p.add(file{path: made.By}, made.Text)
	c, err := t.loadAnnounced(cmd, p, args)
	return p, c, err
}

// compareHome reports what the patches that an object has say of the render. What it returns says it at the end.
func (t *tool) compareHome(set *patches.Set, home *manifest.Object, r *report.Report) func() {
	if object := set.IsRewrittenBy(home); object != "" {
		r.Messages = append(r.Messages, pipeline.AlreadyPatched(object, home))
	}
	was, is := set.Renamed(home)
	return func() {
		if was == "" {
			return
		}
		kind, _, _ := strings.Cut(is, " ")
		fmt.Fprintf(t.err, "rewrite-probes patches: %s was %s before. If its name changes with each release, each release fails: "+
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

// printPatches prints the patches of a resource, which by default is the first argument.
func (t *tool) printPatches(set *patches.Set, form patches.Form, resource string, args []string) error {
	if resource == "" && !isStdin(args) {
		resource = args[0]
	}
	text := set.Text(form, resource)
	if set.Changes() == 0 {
		fmt.Fprintln(t.err, "rewrite-probes patches: nothing is rewritten, so no patch is needed")
		text = patches.Without(form, resource)
	}
	_, err := t.out.Write(text)
	return err
}

// putPatches puts the patches into the object of --into, and does with its file what the flags
// ask for.
func (t *tool) putPatches(f *patchFlags, set *patches.Set, home *manifest.Object) error {
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
		if f.diff || f.list {
			fmt.Fprintf(t.err, "rewrite-probes patches: %s differs: %s\n", oneLine(s.Name()), oneLine(words))
		}
	}
	emit := editFlags{write: !f.diff && !f.list, diff: f.diff, list: f.list}
	if err := emit.emitFile(t.streams, s.Name(), s.Input(), text); err != nil {
		return err
	}
	if f.exitCode {
		return &exit{exitFindings}
	}
	return nil
}
