package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
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
	Patches        []patch  `json:"patches"`
	StrategicMerge []string `json:"patchesStrategicMerge"` // paths, or inline
	JSON6902       []patch  `json:"patchesJson6902"`
	Replacements   []struct {
		Targets []struct {
			FieldPaths []string `json:"fieldPaths"`
		} `json:"targets"`
	} `json:"replacements"`
}

type patch struct {
	Path  string `json:"path"`
	Patch string `json:"patch"` // inline
}

// kustomizationNames are the names that kustomize knows a kustomization by.
var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// readKustomization reads a kustomization; what is no file, or what kustomize would
// refuse, is empty.
func readKustomization(name string) (k kustomization) {
	text, _ := os.ReadFile(name)
	s, err := manifest.Read(name, text)
	if err != nil || len(s.Objects()) != 1 {
		return kustomization{}
	}
	if _, err := s.Objects()[0].Decode(nil, &k); err != nil {
		return kustomization{}
	}
	return k
}

// patchesOf returns the patches of a kustomization, each with its path or its text.
func patchesOf(name string) []patch {
	k := readKustomization(name)
	all := append(k.Patches, k.JSON6902...)
	for _, p := range k.StrategicMerge {
		if inFolder(filepath.Dir(name), p) != "" {
			all = append(all, patch{Path: p})
		} else {
			all = append(all, patch{Patch: p})
		}
	}
	return all
}

// inlinePatches returns the texts of the patches that are in a kustomization itself.
func inlinePatches(name string) (texts []string) {
	for _, p := range patchesOf(name) {
		texts = append(texts, p.Patch)
	}
	return texts
}

// replacementsOf returns the replacements of a kustomization, as JSON patches that change the
// same.
func replacementsOf(name string) (patches []string) {
	for _, r := range readKustomization(name).Replacements {
		for _, t := range r.Targets {
			for _, to := range t.FieldPaths {
				patches = append(patches, "path: /"+strings.ReplaceAll(to, ".", "/"))
			}
		}
	}
	return patches
}

// findPatches returns the patch files that kustomizations name, each by its real path with
// the kustomization: those among the files, and those in the folders of the files and
// above, up to the root of the repository.
func findPatches(files []file) map[string]string {
	found := make(map[string]string)
	seen := make(map[string]bool)
	for _, f := range files {
		for dir := range above(realPath(filepath.Dir(f.path))) {
			if seen[dir] {
				break
			}
			seen[dir] = true
			name := kustomizationIn(dir)
			for _, p := range patchesOf(name) {
				if p.Path != "" {
					found[realPath(filepath.Join(dir, p.Path))] = shortest(name, f.path)
				}
			}
		}
	}
	return found
}

// findUnbuilt returns a message about each kustomization among the files that takes more
// into a build than the files.
func findUnbuilt(files []file) (found []report.Message) {
	read := make(map[string]bool)
	for _, f := range files {
		read[f.real] = true
	}
	for _, f := range files {
		if !slices.Contains(kustomizationNames, filepath.Base(f.path)) {
			continue
		}
		if name := missing(f.path, read); name != "" {
			found = append(found, aboutFile(f.path, "not-built",
				"takes "+name+" into its build, which is not among the files; give rewrite-probes what kustomize builds"))
		}
	}
	return found
}

// missing returns the first that a kustomization takes into its build and that was not
// read; "" if there is none. A kustomization that was read answers for itself.
func missing(kustomization string, read map[string]bool) string {
	k := readKustomization(kustomization)
	for _, name := range slices.Concat(k.Resources, k.Bases, k.Components) {
		path := filepath.Join(filepath.Dir(kustomization), name)
		inner := kustomizationIn(path)
		key := realPath(cmp.Or(inner, path))
		if read[key] {
			continue
		}
		read[key] = true // for one that takes itself
		if inner == "" || missing(inner, read) != "" {
			delete(read, key)
			return name
		}
	}
	if len(k.HelmCharts) > 0 {
		return "the chart " + k.HelmCharts[0].Name
	}
	return ""
}

// kustomizationIn returns the kustomization of a folder; "" if it has none.
func kustomizationIn(dir string) string { return inFolder(dir, kustomizationNames...) }
