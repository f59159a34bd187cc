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

// patchesOf returns the patch files that a kustomization names, the patches that are in it, and
// its replacements, as JSON patches that change the same.
func patchesOf(name string) (files []string, inline, replacements string) {
	k := readKustomization(name)
	for _, p := range slices.Concat(k.Patches, k.JSON6902) {
		if p.Path != "" {
			files = append(files, p.Path)
		}
		inline += p.Patch + "\n"
	}
	for _, p := range k.StrategicMerge {
		if inFolder(filepath.Dir(name), p) != "" {
			files = append(files, p)
		} else {
			inline += p + "\n"
		}
	}
	for _, r := range k.Replacements {
		for _, t := range r.Targets {
			for _, to := range t.FieldPaths {
				replacements += "path: /" + strings.ReplaceAll(to, ".", "/") + "\n"
			}
		}
	}
	return files, inline, replacements
}

// findPatches returns the patch files that kustomizations name, each by its real path with
// the kustomization: those among the files, and those in the folders of the files and
// above, up to the root of the repository.
func findPatches(files []file) map[string]string {
	found := make(map[string]string)
	seen := make(map[string]bool)
	for _, f := range files {
		for dir := range above(filepath.Dir(f.path)) {
			if seen[dir] {
				break
			}
			seen[dir] = true
			name := kustomizationIn(dir)
			patches, _, _ := patchesOf(name)
			for _, patch := range patches {
				found[realPath(filepath.Join(dir, patch))] = name
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
