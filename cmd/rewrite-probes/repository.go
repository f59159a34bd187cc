package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/patches"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/render"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

// A repository is one whose objects of Flux and Argo CD get patches.
type repository struct {
	*patchRun
	root    string
	pkg     *pkg
	charts  map[string]string // the folders of --chart, by the chart's name
	patched []patchedObjects
	passed  int // how many objects are passed over
	// kustomizations are the files of all kustomizations, ignored ones too.
	kustomizations []string
}

// patchedObjects are the releases or ConfigMaps of a kustomization's build that it patches, so that the values in their
// files are not those that are rendered.
type patchedObjects struct {
	by, kind string
	names    []string        // "" is any
	built    map[string]bool // the files of the build, by their real paths
}

// patchRepository writes patches into each object of a repository whose render Flux or Argo CD patches. What it cannot
// render it names, and goes on.
func (p *patchRun) patchRepository() error {
	all, err := p.readPackage(p.cmd.CommandPath(), []string{p.repo})
	if err != nil {
		return err
	}
	r := &repository{
		patchRun: p, root: rootOf(all.fence, p.repo), pkg: all,
		charts: make(map[string]string),
	}
	if err := r.takeCharts(); err != nil {
		return err
	}
	r.findPatched()
	var stop context.CancelFunc
	p.ctx, stop = untilSignal()
	defer stop()
	var sets []*manifest.Object
	found, done := 0, 0
	for _, s := range all.streams {
		for i, o := range s.Objects() {
			switch {
			case o.Group() == "argoproj.io" && o.Kind() == "ApplicationSet":
				of, have, known := r.patchSet(o)
				found, done = found+of, done+have
				if !known {
					sets = append(sets, o)
				}
			case !isRendered(o):
			case p.ctx.Err() != nil:
				return fmt.Errorf("%s and what follows it has no new patches: %w", oneLine(s.Name()), context.Cause(p.ctx))
			default:
				found++
				if r.patch(o, i) {
					done++
				}
			}
		}
	}
	r.saySkipped(sets)
	if found == 0 {
		return fmt.Errorf("%s has no Kustomization of Flux, HelmRelease or Application to patch", p.repo)
	}
	failed := found - done - r.passed
	fmt.Fprintf(p.err, "rewrite-probes patches: %s of Flux and Argo CD: %d have the patches that they need, %d skipped, %d failed\n",
		report.Plural(found, "object"), done, r.passed, failed)
	if failed > 0 {
		return &exit{exitFindings}
	}
	return nil
}

// saySkipped names the ApplicationSets of which only the cluster knows the Applications.
func (r *repository) saySkipped(sets []*manifest.Object) {
	if len(sets) == 0 {
		return
	}
	count := report.Plural(len(sets), "ApplicationSet")
	first := oneLine(sets[0].Stream().Name())
	fmt.Fprintf(r.err, "rewrite-probes patches: %s skipped, such as %s of %s: their Applications are made in the cluster. Wrap the folders with `rewrite-probes patches --resource`\n",
		count, sets[0], first)
}

// takeCharts takes the charts of the flag.
func (r *repository) takeCharts() error {
	for _, given := range r.patchRun.charts {
		name, folder, ok := strings.Cut(given, "=")
		if !ok || name == "" || inFolder(folder, chartName) == "" {
			return &usageError{fmt.Errorf("--chart %q must be NAME=FOLDER, and the folder must have a %s", given, chartName)}
		}
		r.charts[name] = folder
	}
	return nil
}

// say prints a line about an object.
func (r *repository) say(o *manifest.Object, words string) {
	fmt.Fprintf(r.err, "rewrite-probes patches: %s: %s: %s\n", oneLine(o.Stream().Name()), o, oneLine(words))
}

// patch patches an object, which has an index in its file, and reports whether it did.
func (r *repository) patch(o *manifest.Object, index int) bool {
	folder, passed, err := r.folderOf(o)
	if passed != "" {
		r.passed++
		r.say(o, "skipped: "+passed)
		return false
	}
	if err == nil {
		err = r.patchAgain(o.Stream().Name(), index, folder)
	}
	return r.tried(o, err)
}

// tried prints the error of patching what an object names, and reports whether there is none.
func (r *repository) tried(o *manifest.Object, err error) bool {
	_, said := errors.AsType[*exit](err)
	_, placed := errors.AsType[*manifest.Error](err)
	switch {
	case err == nil || said:
	case placed:
		fmt.Fprintf(r.err, "error: %s\n", oneLine(err.Error()))
	default:
		fmt.Fprintf(r.err, "error: %s: %s: %s\n", oneLine(o.Stream().Name()), o, oneLine(err.Error()))
	}
	return err == nil
}

// rootOf returns the root of the repository that a folder is in, to which paths of Flux and Argo CD are relative; the
// folder outside of any.
func rootOf(f *fence, folder string) string {
	if !f.inRepo {
		return folder
	}
	root := f.roots[0]
	if rel, err := filepath.Rel(realPath("."), root); err == nil {
		return rel
	}
	return root
}

// isRendered reports whether Flux or Argo CD renders what an object says. A kustomization that has patches is one
// that wraps a folder.
func isRendered(o *manifest.Object) bool {
	switch patches.FormOf(o) {
	case patches.FluxKustomization, patches.ArgoCD, patches.HelmRelease:
		return true
	case patches.Kustomization:
		return patches.Holds(o)
	}
	return false
}

// patchAgain patches an object of a file, which may have changed since it was read: it may have several.
func (r *repository) patchAgain(name string, index int, folder string) error {
	text, err := readNamed(name)
	if err != nil {
		return err
	}
	s, err := manifest.Read(name, text)
	if err != nil {
		return err
	}
	home := s.Objects()[index]
	r.values = func(kind, name, key string) ([]byte, error) { return r.valuesFor(home, kind, name, key) }
	what := home.String()
	if home.Kind() == "" { // of a kustomization, which needs none
		what = "kustomization"
	}
	label := fmt.Sprintf("%s: %s: %s", r.cmd.CommandPath(), oneLine(name), what)
	return r.patchHome(home, []string{folder}, label)
}

// folderOf returns the folder that is rendered for an object, or why it is passed over.
func (r *repository) folderOf(o *manifest.Object) (folder, passed string, err error) {
	switch patches.FormOf(o) {
	case patches.Kustomization:
		return filepath.Dir(o.Stream().Name()), "", nil
	case patches.HelmRelease:
		folder, err = r.chartOf(o)
		return folder, "", err
	case patches.ArgoCD:
		if err := patches.Misplaced(o); err != nil {
			return "", "", err
		}
	}
	at := field.NewPath("spec", "path")
	if patches.FormOf(o) == patches.ArgoCD {
		at = field.NewPath("spec", "source", "path")
	}
	v, _ := o.Value(at)
	path, _ := v.(string)
	folder = filepath.Join(r.root, filepath.FromSlash(path))
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return "", fmt.Sprintf("%s is not in this repository", cmp.Or(path, "its path")), nil
	}
	return folder, "", r.pkg.fence.may(realPath(folder))
}

// chartOf returns the folder of a release's chart.
func (r *repository) chartOf(o *manifest.Object) (string, error) {
	if by := r.patchedBy(o); by != "" {
		return "", fmt.Errorf("%s patches it, so its values are not known here: render it as Flux does, and pipe that into `rewrite-probes patches --into %s -`",
			by, reason.ShellWord(o.Stream().Name()))
	}
	name, version := pipeline.ChartOf(o, r.pkg.streams)
	folder := r.charts[name]
	if folder == "" && strings.Contains(name, "/") {
		if inside := filepath.Join(r.root, filepath.FromSlash(name)); inFolder(inside, chartName) != "" {
			return inside, r.pkg.fence.may(realPath(inside))
		}
	}
	if folder == "" {
		fetch, to := pipeline.FetchChart(o, r.pkg.streams)
		return "", fmt.Errorf("its chart is not in this repository: run `%s`, and give `--chart %s=%s`", fetch, reason.ShellWord(name), to)
	}
	return folder, checkVersion(folder, version)
}

// checkVersion refuses a chart of another version than a release asks for.
func checkVersion(folder, want string) error {
	if want == "" {
		return nil
	}
	text, err := readNamed(filepath.Join(folder, chartName))
	if err != nil {
		return err
	}
	s, err := manifest.Read(chartName, text)
	if err != nil || len(s.Objects()) != 1 {
		return cmp.Or(err, fmt.Errorf("%s must have one document", filepath.Join(folder, chartName)))
	}
	v, _ := s.Objects()[0].Value(field.NewPath("version"))
	is := fmt.Sprint(v)
	fits, known := inChartRange(is, want)
	if !known { // no version, as that of a tag
		fits = is == want
	}
	if !fits {
		return fmt.Errorf("it asks for version %s of its chart, and %s has %s", want, folder, is)
	}
	return nil
}

// findPatched notes the releases and ConfigMaps that kustomizations of the repository patch, also those that are ignored: their
// builds are made of the same files.
func (r *repository) findPatched() {
	_ = filepath.WalkDir(r.root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // what cannot be read is not built either
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case !slices.Contains(render.Names, e.Name()):
			return nil
		}
		r.kustomizations = append(r.kustomizations, path)
		for _, kind := range []string{"HelmRelease", "ConfigMap"} {
			if names := r.pkg.fence.patchedOf(kind, path); len(names) > 0 {
				built := make(map[string]bool)
				r.pkg.fence.addBuilt(built, path)
				r.patched = append(r.patched, patchedObjects{path, kind, names, built})
			}
		}
		return nil
	})
}

// patchedBy returns a kustomization that patches an object; "" if none does.
func (r *repository) patchedBy(o *manifest.Object) string {
	for _, k := range r.patched {
		isNamed := slices.Contains(k.names, o.Name()) || slices.Contains(k.names, "")
		if isNamed && k.kind == o.Kind() && k.built[realPath(o.Stream().Name())] {
			return k.by
		}
	}
	return ""
}

// valuesFor returns the values that a release takes from a key of a ConfigMap, which the repository has as a manifest, or
// which a kustomization generates from a file. The namespace of either may come from a kustomization.
func (r *repository) valuesFor(home *manifest.Object, kind, name, key string) ([]byte, error) {
	what := fmt.Sprintf("key %s of %s %s", key, kind, name)
	if kind != "ConfigMap" {
		return nil, fmt.Errorf("%s is not read", what)
	}
	found, err := r.manifestsOf(home, name, key)
	if err != nil {
		return nil, err
	}
	for _, file := range r.kustomizations {
		text, err := r.pkg.fence.generated(file, name, key)
		if err != nil {
			return nil, err
		}
		if text != nil {
			found = append(found, string(text))
		}
	}
	slices.Sort(found)
	switch found = slices.Compact(found); {
	case len(found) == 0:
		return nil, fmt.Errorf("%s is not in this repository", what)
	case len(found) > 1:
		return nil, fmt.Errorf("%s is in this repository with %d contents", what, len(found))
	case strings.HasPrefix(found[0], "ENC["):
		return nil, fmt.Errorf("%s is encrypted", what)
	}
	return []byte(found[0]), nil
}

// manifestsOf returns the texts under a key of the ConfigMaps of a name that a release of the repository may mean.
func (r *repository) manifestsOf(home *manifest.Object, name, key string) (found []string, err error) {
	for _, s := range r.pkg.streams {
		for _, o := range s.Objects() {
			isElsewhere := o.Namespace() != "" && home.Namespace() != "" && o.Namespace() != home.Namespace()
			if o.Kind() != "ConfigMap" || o.Group() != "" || o.Name() != name || isElsewhere {
				continue
			}
			if by := r.patchedBy(o); by != "" {
				return nil, fmt.Errorf("%s patches ConfigMap %s", by, name)
			}
			v, _ := o.Value(field.NewPath("data", key))
			if text, is := v.(string); is {
				found = append(found, text)
			}
		}
	}
	return found, nil
}
