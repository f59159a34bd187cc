// Package render has the user's kustomize and helm build what patches are applied to. Neither runs plugins or
// programs that a repository names, and nothing is fetched. It knows nothing of probes.
package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/patches"
	"github.com/rewrite-probes/rewrite-probes/internal/program"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
)

// offline keeps programs from the network, in case a manifest names something elsewhere in a way that is not known here.
var offline = []string{
	"GIT_ALLOW_PROTOCOL=none", "GIT_TERMINAL_PROMPT=0", "NO_PROXY=", "no_proxy=",
	"HTTP_PROXY=http://127.0.0.1:1", "http_proxy=http://127.0.0.1:1",
	"HTTPS_PROXY=http://127.0.0.1:1", "https_proxy=http://127.0.0.1:1",
}

// ErrNoKustomize says that nothing can build a kustomization.
var ErrNoKustomize = errors.New("neither kustomize nor kubectl is in PATH. Install one, or pipe the build into the command")

// ErrNoHelm says that nothing can render a chart.
var ErrNoHelm = errors.New("no helm in PATH. Install helm, or pipe the render into the command")

// A Place is where patches are put.
type Place struct {
	Form patches.Form
	Home *manifest.Object // that has them; nil if it is not made yet
	Helm Helm
	// May says why a file or folder must not be opened, by its real path; nil if it may be.
	May func(real string) error
	// Values returns the values that a HelmRelease takes from a key of a ConfigMap or Secret; nil if none are known.
	Values func(kind, name, key string) ([]byte, error)
}

// A Render is what patches are applied to.
type Render struct {
	Text      []byte
	By        string // the command that a user would type for it
	Namespace string // that kustomize gives the objects after the patches; "" if it does not
	// Plain: the folder has no kustomization. Flux makes one, and Argo CD applies the files without patches.
	Plain bool
}

// Helm has what a chart may ask of the cluster: without it, Helm takes that of its own version.
type Helm struct {
	KubeVersion string
	APIVersions []string
}

// Base returns what the patches at a place are applied to, as a folder is now. The folder is the one that the place's object builds; that of a chart for a HelmRelease. For a
// kustomization it may also be what this wraps.
func (p *Place) Base(ctx context.Context, path string) (*Render, error) {
	if p.Form == patches.HelmRelease {
		return p.chart(ctx, path)
	}
	d, err := readFolder(path, p.May)
	if err == nil && p.Home != nil && p.Form == patches.Kustomization {
		d, err = p.wrapping(d)
	}
	if err != nil {
		return nil, err
	}
	namespace := field.As[string](d.all, "namespace")
	changed, err := d.base(p)
	if err == nil {
		err = d.isHere(make(map[string]bool))
	}
	if err != nil {
		return nil, err
	}
	r := &Render{By: "kustomize build " + path, Plain: d.file == ""}
	build := d.path
	if changed {
		temp, remove, err := tempFolder()
		if err != nil {
			return nil, err
		}
		defer remove()
		build = temp
		if err := d.write(temp); err != nil {
			return nil, err
		}
	}
	r.Text, err = kustomize(ctx, build)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrNoKustomize) {
		err = fmt.Errorf("%s cannot be built: %w. If it needs Helm, a plugin or the network, build it yourself, and pipe that in", path, err)
	}
	if changed {
		r.Namespace = namespace
	}
	return r, err
}

// tempFolder makes an empty folder, by its real path: kustomize resolves links.
func tempFolder() (path string, remove func(), err error) {
	temp, err := os.MkdirTemp("", "rewrite-probes-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(temp) }
	if path, err = filepath.EvalSymlinks(temp); err != nil {
		remove()
	}
	return path, remove, err
}

// wrapping returns the folder of the kustomization at the place, if it is the given one or wraps it.
func (p *Place) wrapping(d *folder) (*folder, error) {
	file := p.Home.Stream().Name()
	own, err := readFolder(filepath.Dir(file), p.May)
	if err != nil || own.path == d.path {
		return own, err
	}
	for _, key := range bases {
		for _, name := range own.texts(key) {
			if real, err := filepath.EvalSymlinks(filepath.Join(own.path, name)); err == nil && real == d.path {
				return own, nil
			}
		}
	}
	return nil, fmt.Errorf("%s must build %s, and does not: give the folder that it builds", file, d.path)
}

// kustomize builds a folder.
func kustomize(ctx context.Context, folder string) ([]byte, error) {
	c := program.Call{Args: []string{"build", folder}, Env: offline}
	var err error
	if c.Path, err = program.Find("kustomize"); err != nil {
		c.Args[0] = "kustomize"
		if c.Path, err = program.Find("kubectl"); err != nil {
			return nil, ErrNoKustomize
		}
	}
	return run(ctx, &c)
}

// run runs a program, and makes of what it says an error in one line.
func run(ctx context.Context, c *program.Call) ([]byte, error) {
	out, said, err := c.Run(ctx)
	if err == nil || ctx.Err() != nil {
		return out, err
	}
	last := ""
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "Use --debug") {
			last = strings.TrimPrefix(line, "Error: ")
		}
	}
	if last == "" {
		last = err.Error()
	}
	return nil, fmt.Errorf("%s: %s", filepath.Base(c.Path), last)
}

// chart renders a chart with the values of a HelmRelease, and with the post-renderers before ours.
func (p *Place) chart(ctx context.Context, path string) (*Render, error) {
	home := p.Home
	if home == nil {
		return nil, errors.New("a chart is rendered with the values of its HelmRelease: give --into FILE, or pipe the render into the command")
	}
	release, _ := workload.ReleaseOf(home)
	c := program.Call{Env: offline}
	temp, remove, err := tempFolder()
	if err != nil {
		return nil, err
	}
	defer remove()
	namespace := cmp.Or(release.Namespace, "default")
	c.Args = []string{"template", cmp.Or(release.Name, home.Name()), path, "--namespace", namespace}
	by := "helm " + strings.Join(c.Args, " ")
	files, err := p.valuesFiles(path)
	if err != nil {
		return nil, err
	}
	taken, err := p.valuesFrom(temp)
	if err != nil {
		return nil, err
	}
	if c.Path, err = program.Find("helm"); err != nil {
		return nil, ErrNoHelm
	}
	for _, file := range append(files, taken...) {
		c.Args = append(c.Args, "--values", file)
	}
	if p.Helm.KubeVersion != "" {
		c.Args = append(c.Args, "--kube-version", p.Helm.KubeVersion)
	}
	for _, version := range p.Helm.APIVersions {
		c.Args = append(c.Args, "--api-versions", version)
	}
	if v, _ := home.Value(field.NewPath("spec", "values")); v != nil {
		file := filepath.Join(temp, "values.yaml")
		if err := os.WriteFile(file, field.AppendJSON(nil, v), 0o600); err != nil {
			return nil, err
		}
		c.Args = append(c.Args, "--values", file)
	}
	text, err := template(ctx, &c)
	for i, v := range patches.Before(home) {
		if err != nil {
			break
		}
		renderer, _ := v.(field.Map)
		k := field.As[field.Map](renderer, "kustomize")
		text, err = postRender(ctx, text, k, filepath.Join(temp, fmt.Sprint(i)))
	}
	if err != nil {
		err = fmt.Errorf("%s cannot be rendered: %w", path, err)
	}
	return &Render{Text: text, By: by}, err
}

// template runs helm. A chart's schema for values may name others by their URLs: these are not fetched, and the values are not
// validated then. Helm does that in the cluster.
func template(ctx context.Context, c *program.Call) ([]byte, error) {
	text, err := run(ctx, c)
	if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "://") {
		return text, err
	}
	const skip = "--skip-schema-validation"
	c.Args = append(c.Args, skip)
	again, failed := run(ctx, c)
	if failed != nil && strings.Contains(failed.Error(), skip) { // Helm before 3.16 does not know it
		return nil, err
	}
	return again, failed
}

// valuesFiles returns the files with values that a release takes of its chart, by paths below the chart.
func (p *Place) valuesFiles(chart string) (files []string, err error) {
	v, _ := p.Home.Value(field.NewPath("spec", "chart", "spec", "valuesFiles"))
	names, _ := v.(field.List)
	for _, name := range textsOf(names) {
		file := filepath.Join(chart, name)
		real, err := filepath.EvalSymlinks(file)
		if err == nil {
			real, err = filepath.Abs(real)
		}
		if err == nil {
			err = p.May(real)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		files = append(files, file)
	}
	return files, nil
}

// valuesFrom writes the values that a release takes from ConfigMaps into files of a folder. Helm merges them in their order, and
// the release's own values over them, as helm-controller does.
func (p *Place) valuesFrom(folder string) (files []string, err error) {
	from := field.NewPath("spec", "valuesFrom")
	v, found := p.Home.Value(from)
	refs, _ := v.(field.List)
	if found && v != nil && p.Values == nil {
		return nil, p.Home.Errorf(from, "names values that are in the cluster: render the chart with them, and pipe it into the command")
	}
	for i, v := range refs {
		ref, _ := v.(field.Map)
		kind, name := field.As[string](ref, "kind"), field.As[string](ref, "name")
		at := from.Index(i)
		if field.As[string](ref, "targetPath") != "" {
			return nil, p.Home.Errorf(at.Key("targetPath"), "puts a single value, which is not done here: render the chart as Flux does, and pipe it into the command")
		}
		text, err := p.Values(kind, name, cmp.Or(field.As[string](ref, "valuesKey"), "values.yaml"))
		if err != nil {
			return nil, p.Home.Errorf(at, "%v: render the chart with these values, and pipe it into the command", err)
		}
		file := filepath.Join(folder, fmt.Sprintf("from-%d.yaml", i))
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// postRender has kustomize change a render in an empty folder, as helm-controller does.
func postRender(ctx context.Context, text []byte, k field.Map, folder string) ([]byte, error) {
	const name = "all.yaml"
	k = append(slices.Clone(k), field.Entry{Key: "resources", Value: field.List{name}})
	err := os.Mkdir(folder, 0o700)
	for file, text := range map[string][]byte{name: text, Names[0]: field.AppendJSON(nil, k)} {
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, file), text, 0o600)
		}
	}
	if err != nil {
		return nil, err
	}
	return kustomize(ctx, folder)
}
