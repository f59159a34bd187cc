package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
)

// patchSet writes patches into the kustomizations that the Applications of an ApplicationSet build: their source is the set's, so
// that each folder has its own. It returns how many folders there are, and how many have their patches; known is false if only
// the cluster knows the folders.
func (r *repository) patchSet(set *manifest.Object) (found, done int, known bool) {
	folders, known := r.foldersOf(set)
	for _, folder := range folders {
		if r.ctx.Err() != nil {
			break
		}
		file := kustomizationIn(folder)
		if r.isPatchedAlone(file) {
			continue
		}
		found++
		switch err := r.pkg.fence.may(realPath(folder)); {
		case err != nil:
			fmt.Fprintf(r.err, "error: %s: %s: %s: %v\n", oneLine(set.Stream().Name()), set, oneLine(folder), err)
		case file == "":
			r.passed++
			r.say(set, "skipped: "+folder+" has no kustomization. Run `kustomize create --autodetect --recursive` there, if it is not a chart")
		case r.tried(set, r.patchAgain(file, 0, folder)):
			done++
		}
	}
	return found, done, known
}

// isPatchedAlone reports whether a kustomization has patches already, so that it is renewed for itself.
func (r *repository) isPatchedAlone(file string) bool {
	for _, s := range r.pkg.streams {
		if file != "" && realPath(s.Name()) == realPath(file) {
			return slices.ContainsFunc(s.Objects(), isRendered)
		}
	}
	return false
}

// foldersOf returns the folders that the Applications of an ApplicationSet build; known is false if a generator or the template
// is another than a list, or the folders of a git repository, with plain parameters.
func (r *repository) foldersOf(set *manifest.Object) (folders []string, known bool) {
	source := field.NewPath("spec", "template", "spec", "source")
	template := workload.TextAt(set, source.Key("path"))
	for _, key := range []string{"chart", "helm", "plugin", "directory"} {
		if v, _ := set.Value(source.Key(key)); v != nil {
			return nil, false
		}
	}
	v, _ := set.Value(field.NewPath("spec", "generators"))
	generators, _ := v.(field.List)
	if template == "" || len(generators) == 0 {
		return nil, false
	}
	for _, v := range generators {
		all, ok := r.generated(v)
		if !ok {
			return nil, false
		}
		for _, parameters := range all {
			folder, ok := filled(template, parameters)
			if !ok {
				return nil, false
			}
			folder = filepath.Join(r.root, filepath.FromSlash(folder))
			if info, err := os.Stat(folder); err == nil && info.IsDir() {
				folders = append(folders, folder)
			}
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders), true
}

// generated returns the parameters that a generator makes, for each Application; ok is false if it is another kind of generator.
func (r *repository) generated(v field.Value) (all []field.Map, ok bool) {
	generator, _ := v.(field.Map)
	if len(generator) != 1 {
		return nil, false // it has a selector or a template of its own, too
	}
	of := field.As[field.Map](generator, generator[0].Key)
	switch generator[0].Key {
	case "list":
		elements, ok := of.Get("elements")
		list, _ := elements.(field.List)
		for _, v := range list {
			parameters, _ := v.(field.Map)
			all = append(all, parameters)
		}
		return all, ok
	case "git":
		directories, ok := of.Get("directories")
		list, _ := directories.(field.List)
		return r.directories(list), ok
	}
	return nil, false
}

// directories returns the parameters for the folders of the repository that patterns match, and no excluded one does.
func (r *repository) directories(patterns field.List) (all []field.Map) {
	isExcluded := func(folder string) bool {
		return slices.ContainsFunc(patterns, func(v field.Value) bool {
			m, _ := v.(field.Map)
			matches, _ := path.Match(field.As[string](m, "path"), folder)
			return matches && field.As[bool](m, "exclude")
		})
	}
	for _, v := range patterns {
		m, _ := v.(field.Map)
		pattern := field.As[string](m, "path")
		if pattern == "" || field.As[bool](m, "exclude") || !filepath.IsLocal(filepath.FromSlash(pattern)) {
			continue
		}
		found, _ := filepath.Glob(filepath.Join(r.root, filepath.FromSlash(pattern)))
		for _, folder := range found {
			rel, err := filepath.Rel(r.root, folder)
			name := filepath.ToSlash(rel)
			if err != nil || isExcluded(name) || strings.HasPrefix(name, ".") || strings.Contains(name, "/.") {
				continue
			}
			all = append(all, field.Map{
				{Key: "path", Value: name}, {Key: "path.path", Value: name}, {Key: "path.basename", Value: path.Base(name)},
			})
		}
	}
	return all
}

// parameter matches a plain parameter of a template, with Go's templates or without.
var parameter = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\{\s*\.?([A-Za-z_][\w.-]*)\s*\}\}`) })

// filled returns a template with its parameters; ok is false if it needs more than these.
func filled(template string, parameters field.Map) (text string, ok bool) {
	text = parameter().ReplaceAllStringFunc(template, func(found string) string {
		name := parameter().FindStringSubmatch(found)[1]
		if value := field.As[string](parameters, name); value != "" {
			return value
		}
		return found
	})
	return text, !strings.Contains(text, "{{")
}
