package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/patches"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/render"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

// A kustomization is the part of a kustomization file that names other files and
// patches.
type kustomization struct {
	Resources  []string `json:"resources"`
	Bases      []string `json:"bases"`
	Components []string `json:"components"`
	HelmCharts []struct {
		Name string `json:"name"`
	} `json:"helmCharts"`
	Transformers   []string `json:"transformers"` // paths, or inline
	Generators     []string `json:"generators"`   // the same
	Patches        []patch  `json:"patches"`
	StrategicMerge []string `json:"patchesStrategicMerge"` // paths, or inline
	JSON6902       []patch  `json:"patchesJson6902"`
	Replacements   []struct {
		Targets []struct {
			Select struct {
				Kind string `json:"kind"`
			} `json:"select"`
			FieldPaths []string `json:"fieldPaths"`
		} `json:"targets"`
	} `json:"replacements"`
}

type patch struct {
	Path   string `json:"path"`
	Patch  string `json:"patch"` // inline
	Target struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"target"`
}

// readKustomization reads a kustomization. What the run must not open, or what kustomize would
// refuse, is empty and not ok.
func (f *fence) readKustomization(name string) (k kustomization, ok bool) {
	text, err := f.read(name)
	if err != nil {
		return kustomization{}, false
	}
	s, err := manifest.Read(name, text)
	if err != nil || len(s.Objects()) != 1 {
		return kustomization{}, false
	}
	o := s.Objects()[0]
	if _, err := o.Decode(nil, &k); err != nil {
		return kustomization{}, false
	}
	if own := patches.Own(o); own != nil { // they test what they patch
		from := int(own[0][len(own[0])-1].Index)
		k.Patches = slices.Delete(k.Patches, from, from+len(own))
	}
	return k, true
}

// patchesOf returns the patch files that a kustomization names, each with the kind that it
// patches, if known; the patches that are in it; and its replacements, as JSON patches that change the same.
func (f *fence) patchesOf(name string) (files map[string]string, inline, replacements []patchText) {
	k, _ := f.readKustomization(name)
	files = make(map[string]string)
	for _, p := range slices.Concat(k.Patches, k.JSON6902) {
		if p.Path != "" {
			files[p.Path] = p.Target.Kind
		}
		inline = append(inline, patchText{p.Patch, p.Target.Kind})
	}
	for _, p := range k.StrategicMerge {
		if inFolder(filepath.Dir(name), p) != "" {
			files[p] = ""
		} else {
			inline = append(inline, patchText{text: p})
		}
	}
	for _, r := range k.Replacements {
		for _, t := range r.Targets {
			for _, to := range t.FieldPaths {
				text := "- {op: replace, path: /" + strings.ReplaceAll(to, ".", "/") + "}"
				replacements = append(replacements, patchText{text, t.Select.Kind})
			}
		}
	}
	return files, inline, replacements
}

// patchedOf returns the names of the objects of a kind that a kustomization patches; "" for those of any name.
func (f *fence) patchedOf(kind, name string) (names []string) {
	k, _ := f.readKustomization(name)
	all := slices.Concat(k.Patches, k.JSON6902)
	for _, merge := range k.StrategicMerge {
		all = append(all, patch{Patch: merge})
	}
	for _, p := range all {
		text := []byte(p.Patch)
		isText := strings.Contains(p.Patch, "\n")
		if path := inFolder(filepath.Dir(name), cmp.Or(p.Path, p.Patch)); path != "" && !isText {
			text, _ = f.read(path)
		}
		if p.Target.Kind == kind {
			names = append(names, p.Target.Name)
			continue
		}
		s, err := manifest.Read(name, text)
		if err != nil || p.Target.Kind != "" {
			continue
		}
		for _, o := range s.Objects() {
			if o.Kind() == kind {
				names = append(names, o.Name())
			}
		}
	}
	return names
}

// generated returns the file that a kustomization puts under a key of a ConfigMap that it generates; nil if it has none.
func (f *fence) generated(kustomization, name, key string) ([]byte, error) {
	text, err := f.read(kustomization)
	if err != nil {
		return nil, nil // the build of it fails
	}
	s, err := manifest.Read(kustomization, text)
	if err != nil || len(s.Objects()) != 1 {
		return nil, nil
	}
	v, _ := s.Objects()[0].Value(field.NewPath("configMapGenerator"))
	list, _ := v.(field.List)
	for _, v := range list {
		g, _ := v.(field.Map)
		if field.As[string](g, "name") != name {
			continue
		}
		for _, v := range field.As[field.List](g, "files") {
			file, _ := v.(string)
			under, path, named := strings.Cut(file, "=")
			if !named {
				under, path = filepath.Base(file), file
			}
			if under == key {
				return f.read(filepath.Join(filepath.Dir(kustomization), filepath.FromSlash(path)))
			}
		}
	}
	return nil, nil
}

// A namedPatch is what a kustomization says of a patch file.
type namedPatch struct{ kustomization, kind string }

// findPatches returns the patch files that kustomizations name, each by its real path: those
// among the files, and those in the folders of the files and above, up to the root of the
// repository.
func (f *fence) findPatches(files []file) map[string]namedPatch {
	found := make(map[string]namedPatch)
	seen := make(map[string]bool)
	for _, given := range files {
		for dir := range above(filepath.Dir(given.path)) {
			if seen[dir] {
				break
			}
			seen[dir] = true
			name := kustomizationIn(dir)
			patches, _, _ := f.patchesOf(name)
			for patch, kind := range patches {
				found[realPath(filepath.Join(dir, patch))] = namedPatch{name, kind}
			}
		}
	}
	return found
}

// findUnbuilt returns a message about each kustomization among the files that takes more
// into a build than the files.
func (f *fence) findUnbuilt(files []file) (found []report.Message) {
	read := make(map[string]bool)
	for _, given := range files {
		read[given.real] = true
	}
	for _, given := range files {
		if !slices.Contains(render.Names, filepath.Base(given.path)) {
			continue
		}
		k, _ := f.readKustomization(given.path)
		if name := f.missing(given.path, k, read); name != "" {
			m := aboutFile(given.path, reason.NotBuilt, "its build takes "+name+", which is not in the input")
			m.Text.Fix = "Run `kustomize build " + shellFolder(given.path) + " | rewrite-probes check -`. Or pass `--ignore` or `--allow-empty`"
			found = append(found, m)
		}
	}
	return found
}

// missing returns the first that a kustomization in a file takes into its build and that was
// not read; "" if there is none. A kustomization that was read answers for itself.
func (f *fence) missing(file string, k kustomization, read map[string]bool) string {
	for _, name := range slices.Concat(k.Resources, k.Bases, k.Components) {
		path := filepath.Join(filepath.Dir(file), name)
		inner := kustomizationIn(path)
		key := realPath(cmp.Or(inner, path))
		if read[key] {
			continue
		}
		read[key] = true // for one that takes itself
		base, ok := f.readKustomization(inner)
		if !ok || f.missing(inner, base, read) != "" {
			delete(read, key)
			return name
		}
	}
	if len(k.HelmCharts) > 0 {
		return "the chart " + k.HelmCharts[0].Name
	}
	return ""
}

// findGenerators returns a message about each kustomization among the files that has rewrite-probes under `generators`.
// kustomize gives generators no objects.
func (f *fence) findGenerators(files []file) (found []report.Message) {
	for _, given := range files {
		if !slices.Contains(render.Names, filepath.Base(given.path)) {
			continue
		}
		if k, _ := f.readKustomization(given.path); f.hasFunction(given.path, k.Generators) {
			m := aboutFile(given.path, reason.EmptyList, "rewrite-probes is under `generators`, where kustomize gives it no objects")
			m.Text.Fix = "Move it to `transformers`"
			found = append(found, m)
		}
	}
	return found
}

// runsFunction reports whether a kustomization runs rewrite-probes as a function.
func (f *fence) runsFunction(name string) bool {
	k, _ := f.readKustomization(name)
	return f.hasFunction(name, k.Transformers)
}

// hasFunction reports whether functions of a kustomization, each a path or inline, have rewrite-probes.
func (f *fence) hasFunction(name string, functions []string) bool {
	return slices.ContainsFunc(functions, func(function string) bool {
		text := []byte(function)
		if !strings.Contains(function, "\n") {
			text, _ = f.read(filepath.Join(filepath.Dir(name), function))
		}
		s, err := manifest.Read(name, text)
		return err == nil && slices.ContainsFunc(s.Objects(), func(o *manifest.Object) bool {
			return config.Is(o.APIVersion(), o.Kind()) ||
				strings.Contains(o.Annotations().Get("config.kubernetes.io/function"), "rewrite-probes")
		})
	})
}

// addBuilt adds the real paths of the files that a kustomization takes into its build.
func (f *fence) addBuilt(built map[string]bool, name string) {
	k, _ := f.readKustomization(name)
	for _, resource := range slices.Concat(k.Resources, k.Bases, k.Components) {
		path := filepath.Join(filepath.Dir(name), resource)
		real := realPath(path)
		if built[real] {
			continue
		}
		built[real] = true
		if inner := kustomizationIn(path); inner != "" {
			f.addBuilt(built, inner)
		}
	}
}

// foldBuilt puts one message about each kustomization that runs rewrite-probes itself in place of
// those about the probes of the files that it builds from, which have them as they are before.
func (f *fence) foldBuilt(files []file, messages []report.Message) []report.Message {
	for _, given := range files {
		if !slices.Contains(render.Names, filepath.Base(given.path)) ||
			!f.runsFunction(given.path) {
			continue
		}
		built := make(map[string]bool)
		f.addBuilt(built, given.path)
		left := slices.DeleteFunc(messages, func(m report.Message) bool {
			return m.Reason.Doc().MayBeBuilt &&
				m.Object != nil &&
				built[realPath(m.Object.Source)]
		})
		if len(left) < len(messages) {
			m := aboutFile(given.path, reason.NotBuilt, "its build runs rewrite-probes, so these files have the probes as they are before")
			m.Text.Fix = fmt.Sprintf("Run `kustomize build --enable-alpha-plugins --enable-exec %s | rewrite-probes check -`", shellFolder(given.path))
			left = append(left, m)
		}
		messages = left
	}
	return messages
}

// shellFolder returns the folder of a file as a word of a command line.
func shellFolder(file string) string {
	return shellFile(filepath.Dir(file))
}

// shellFile returns a file as an argument of a command.
func shellFile(file string) string {
	if strings.HasPrefix(file, "-") {
		file = "./" + file // or it is a flag
	}
	return reason.ShellWord(file)
}

// kustomizationIn returns the kustomization of a folder; "" if it has none.
func kustomizationIn(dir string) string { return inFolder(dir, render.Names...) }
