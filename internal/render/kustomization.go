package render

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/patches"
)

// Names are the names that kustomize knows a kustomization by.
var Names = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// afterPatches are the fields of a kustomization that kustomize applies after its patches (kustomize v5,
// KustTarget.runTransformers).
var afterPatches = []string{
	"namespace", "namePrefix", "nameSuffix", "labels", "commonLabels", "commonAnnotations", "patchesJson6902",
	"replicas", "images", "imageTags", "replacements", "vars", "transformers", "validators",
}

// A folder is one that kustomize builds.
type folder struct {
	path string // real
	name string // the path that was given
	file string // the kustomization; "" if there is none
	all  field.Map
	// may says why a file or folder must not be opened, by its real path; nil if it may be.
	may func(real string) error
}

// readFolder reads the kustomization of a folder. There need not be one.
func readFolder(path string, may func(real string) error) (*folder, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	if real, err = filepath.Abs(real); err != nil {
		return nil, err
	}
	d := &folder{path: real, name: path, may: may}
	for _, name := range Names {
		file := filepath.Join(real, name)
		switch info, err := os.Stat(file); {
		case err != nil:
			continue
		case d.file != "":
			return nil, fmt.Errorf("%s has two kustomizations, %s and %s: kustomize takes one", path, filepath.Base(d.file), name)
		case !info.Mode().IsRegular():
			return nil, fmt.Errorf("%s is not a regular file", file)
		}
		d.file = file
	}
	if d.file == "" {
		return d, nil
	}
	linked, err := filepath.EvalSymlinks(d.file)
	if err != nil {
		return nil, err
	}
	if err := may(linked); err != nil {
		return nil, fmt.Errorf("%s: %w", d.file, err)
	}
	text, err := os.ReadFile(linked)
	if err != nil {
		return nil, err
	}
	s, err := manifest.Read(d.file, text)
	if err != nil {
		return nil, err
	}
	if len(s.Objects()) != 1 {
		return nil, fmt.Errorf("%s must have one document, and has %d", d.file, len(s.Objects()))
	}
	v, _ := s.Objects()[0].Value(nil)
	d.all, _ = v.(field.Map)
	return d, nil
}

// texts returns the items of a list that are texts.
func (d *folder) texts(key string) []string { return textsOf(field.As[field.List](d.all, key)) }

func textsOf(list field.List) (texts []string) {
	for _, v := range list {
		if s, ok := v.(string); ok {
			texts = append(texts, s)
		}
	}
	return texts
}

// bases are the fields that name folders, or repositories elsewhere.
var bases = []string{"resources", "bases", "components"}

// loaded are the other fields that name files, which kustomize loads from a URL too.
var loaded = []string{
	"patches", "patchesStrategicMerge", "patchesJson6902", "crds", "configurations", "openapi", "transformers",
	"generators", "validators", "configMapGenerator", "secretGenerator",
}

// url matches what kustomize loads from elsewhere, also as the value of a key.
var url = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w.-]*=?https?://\S+$`) })

// isHere says what a build of the folder would take from elsewhere, or from outside of what may be opened; nil if
// nothing.
func (d *folder) isHere(seen map[string]bool) error {
	if seen[d.path] {
		return nil
	}
	seen[d.path] = true
	for _, key := range loaded {
		v, _ := d.all.Get(key)
		if text := remote(v); text != "" {
			return d.elsewhere(key, text)
		}
	}
	for _, key := range bases {
		for _, name := range d.texts(key) {
			if strings.Contains(name, "\n") {
				continue
			}
			path := filepath.Join(d.path, name)
			info, err := os.Stat(path)
			if err != nil {
				return d.elsewhere(key, name)
			}
			if real, err := filepath.EvalSymlinks(path); err != nil {
				return err
			} else if err := d.may(real); err != nil {
				return fmt.Errorf("%s: `%s` names %s: %w", d.file, key, name, err)
			}
			if !info.IsDir() {
				continue
			}
			inner, err := readFolder(path, d.may)
			if err == nil {
				err = inner.isHere(seen)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// remote returns the first text of a value that names something elsewhere; "" if none does.
func remote(v field.Value) string {
	switch v := v.(type) {
	case string:
		if url().MatchString(v) {
			return v
		}
	case field.Map:
		for _, e := range v {
			if text := remote(e.Value); text != "" && e.Key != "literals" {
				return text
			}
		}
	case field.List:
		for _, item := range v {
			if text := remote(item); text != "" {
				return text
			}
		}
	}
	return ""
}

// base changes the kustomization to one whose build is what patches at a place are applied to, and reports whether
// it had to.
func (d *folder) base(p *Place) (changed bool, err error) {
	switch {
	case d.file != "":
	case p.Form == patches.FluxKustomization || p.Form == patches.ArgoCD:
		changed = true
		if d.all, err = d.generated(); err != nil {
			return false, err
		}
	default:
		return false, fmt.Errorf("%s has no kustomization", d.name)
	}
	if p.Form == patches.Kustomization && p.Home == nil {
		return changed, nil // a new one wraps the finished build
	}
	had := len(d.all)
	d.remove(afterPatches...)
	switch p.Form {
	case patches.Kustomization:
		d.remove("patches")
		d.add("patches", patches.Before(p.Home))
		return true, nil
	case patches.Component:
		d.remove("patches", "patchesStrategicMerge")
		if p.Home != nil {
			return true, d.componentsBefore(p.Home)
		}
	case patches.FluxKustomization, patches.ArgoCD:
		if p.Home == nil {
			break
		}
		components, before := componentsOf(p.Home, p.Form), patches.Before(p.Home)
		changed = changed || len(components)+len(before) > 0
		d.add("components", components)
		d.add("patches", before)
	}
	return changed || len(d.all) != had, nil
}

// remove removes fields.
func (d *folder) remove(keys ...string) {
	isNamed := func(e field.Entry) bool { return slices.Contains(keys, e.Key) }
	d.all = slices.DeleteFunc(slices.Clone(d.all), isNamed)
}

// add adds items to a list.
func (d *folder) add(key string, items field.List) {
	if len(items) == 0 {
		return
	}
	have := field.As[field.List](d.all, key)
	d.remove(key)
	d.all = append(d.all, field.Entry{Key: key, Value: slices.Concat(have, items)})
}

// componentsBefore leaves of the components those before the one that home is.
func (d *folder) componentsBefore(home *manifest.Object) error {
	own, err := filepath.EvalSymlinks(filepath.Dir(home.Stream().Name()))
	if err == nil {
		own, err = filepath.Abs(own)
	}
	if err != nil {
		return err
	}
	names := d.texts("components")
	at := slices.IndexFunc(names, func(name string) bool {
		real, err := filepath.EvalSymlinks(filepath.Join(d.path, name))
		return err == nil && real == own
	})
	if at < 0 {
		return fmt.Errorf("%s must name the Component of %s, and does not", d.file, home.Stream().Name())
	}
	d.remove("components")
	left := field.List(nil)
	for _, name := range names[:at] {
		left = append(left, name)
	}
	d.add("components", left)
	return nil
}

// componentsOf returns the components that an object adds to the kustomization that it builds.
func componentsOf(home *manifest.Object, form patches.Form) field.List {
	path := field.NewPath("spec", "components")
	if form == patches.ArgoCD {
		path = field.NewPath("spec", "source", "kustomize", "components")
	}
	v, _ := home.Value(path)
	list, _ := v.(field.List)
	return list
}

// generated returns the kustomization that Flux makes for a folder without one: of all files in YAML, and of the
// folders below that have one (fluxcd/pkg/kustomize, Generator), as far as they are in the source.
func (d *folder) generated() (field.Map, error) {
	out, err := leftOutAbove(d.path, d.may)
	if err != nil {
		return nil, err
	}
	var resources field.List
	err = filepath.WalkDir(d.path, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(d.path, path) // which is below it
		switch {
		case err != nil:
			return err
		case path != d.path && e.IsDir() && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		case e.IsDir():
			if out, err = out.with(path, d.may); err != nil || path == d.path {
				return err
			}
			if inner, err := readFolder(path, d.may); err != nil || !inner.isSent(out) {
				return err
			}
			resources = append(resources, filepath.ToSlash(rel))
			return fs.SkipDir
		case slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)) && !out.has(path):
			resources = append(resources, filepath.ToSlash(rel))
		}
		return nil
	})
	if err == nil && len(resources) == 0 {
		err = fmt.Errorf("%s has neither a kustomization nor files in YAML", d.name)
	}
	return field.Map{{Key: "resources", Value: resources}}, err
}

// isSent reports whether the folder has a kustomization that is in the source.
func (d *folder) isSent(out left) bool { return d.file != "" && !out.has(d.file) }

// write writes the folder with its changed kustomization to an empty one elsewhere: its files, and its
// kustomization with paths from there to the folders that it names.
func (d *folder) write(to string) error {
	if err := d.copyFiles(to); err != nil {
		return err
	}
	all := slices.Clone(d.all)
	for i, e := range all {
		list, isList := e.Value.(field.List)
		if !isList || !slices.Contains(bases, e.Key) {
			continue
		}
		list = slices.Clone(list)
		for j, v := range list {
			name, _ := v.(string)
			path := filepath.Join(d.path, name)
			info, err := os.Stat(path)
			if err != nil || !info.IsDir() || strings.Contains(name, "\n") {
				continue
			}
			real, err := filepath.EvalSymlinks(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(to, real)
			if err != nil {
				return err
			}
			list[j] = filepath.ToSlash(rel)
		}
		all[i].Value = list
	}
	return os.WriteFile(filepath.Join(to, Names[0]), field.AppendJSON(nil, all), 0o600)
}

// copyFiles copies the regular files of the folder, of which kustomize takes those that the kustomization names.
// Links are followed, but not out of the folder, as kustomize does.
func (d *folder) copyFiles(to string) error {
	return filepath.WalkDir(d.path, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(d.path, path) // which is below it
		if e.IsDir() {
			if e.Name() == ".git" {
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return nil // a broken link
		}
		info, err := os.Stat(real)
		inside, relErr := filepath.Rel(d.path, real)
		if err != nil || relErr != nil || !filepath.IsLocal(inside) || !info.Mode().IsRegular() {
			return err
		}
		if slices.Contains(Names, rel) {
			return nil // it is written anew
		}
		if os.Link(real, filepath.Join(to, rel)) == nil {
			return nil
		}
		text, err := os.ReadFile(real)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), text, 0o600)
	})
}

// elsewhere is the error about what a build would take from outside of the repository: it is not fetched.
func (d *folder) elsewhere(key, what string) error {
	return fmt.Errorf("%s: `%s` names %s, which is not in this repository, and is not fetched. Build the folder yourself, and pipe that in", d.file, key, what)
}
