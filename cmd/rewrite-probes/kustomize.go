package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
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
}

type patch struct {
	Path  string `json:"path"`
	Patch string `json:"patch"` // inline
}

// kustomizationNames are the names that kustomize knows a kustomization by.
var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// readKustomization reads a kustomization; what kustomize would refuse is empty.
func readKustomization(name string, text []byte) (k kustomization) {
	s, err := manifest.Read(name, bytes.Clone(text))
	if err != nil || len(s.Objects()) != 1 {
		return kustomization{}
	}
	if _, err := s.Objects()[0].Decode(nil, &k); err != nil {
		return kustomization{}
	}
	return k
}

// patchesOf returns the paths of the patches that a kustomization names, and the
// texts of those that are inline.
func patchesOf(name string, text []byte) (paths, inline []string) {
	k := readKustomization(name, text)
	for _, p := range append(k.Patches, k.JSON6902...) {
		if p.Path != "" {
			paths = append(paths, p.Path)
		} else {
			inline = append(inline, p.Patch)
		}
	}
	for _, p := range k.StrategicMerge {
		if _, err := os.Stat(filepath.Join(filepath.Dir(name), p)); err == nil {
			paths = append(paths, p)
		} else {
			inline = append(inline, p)
		}
	}
	return paths, inline
}

// patches maps each patch file, by its real path, to the kustomization that
// names it.
type patches map[string]string

// findPatches reads the kustomizations among the files, and those in the
// folders of the files and above, up to the root of the repository.
func findPatches(files []file) patches {
	p := make(patches)
	seen := make(map[string]bool)
	for _, f := range files {
		dir := filepath.Dir(f.path)
		for abs := realPath(dir); !seen[abs]; abs, dir = filepath.Dir(abs), filepath.Join(dir, "..") {
			seen[abs] = true
			p.addFolder(dir)
			if _, err := os.Lstat(filepath.Join(abs, ".git")); err == nil {
				break
			}
		}
	}
	return p
}

func (p patches) addFolder(dir string) {
	for _, base := range kustomizationNames {
		name := filepath.Join(dir, base)
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		paths, _ := patchesOf(name, text)
		for _, path := range paths {
			p[realPath(filepath.Join(dir, path))] = name
		}
	}
}

// An unbuilt is a kustomization that takes something into its build which is not among
// the files.
type unbuilt struct {
	path  string
	names string
}

// findUnbuilt returns the kustomizations among the files that take more into a build
// than the files.
func findUnbuilt(files []file) []unbuilt {
	var found []unbuilt
	var read realPaths
	for _, f := range files {
		if !slices.Contains(kustomizationNames, filepath.Base(f.path)) {
			continue
		}
		if read == nil {
			read = make(realPaths)
			for _, f := range files {
				read[realPath(f.path)] = true
			}
		}
		if names := read.missing(f.path); len(names) > 0 {
			found = append(found, unbuilt{f.path, names[0]})
		}
	}
	return found
}

// realPaths is a set of files.
type realPaths map[string]bool

// missing returns what a kustomization takes into its build that is not in the set. A
// kustomization of the set answers for itself.
func (read realPaths) missing(kustomization string) (names []string) {
	text, err := os.ReadFile(kustomization)
	if err != nil {
		return nil // which is said of each file that is read
	}
	k := readKustomization(kustomization, text)
	for _, name := range slices.Concat(k.Resources, k.Bases, k.Components) {
		path := filepath.Join(filepath.Dir(kustomization), name)
		if read[realPath(path)] {
			continue
		}
		inner := kustomizationIn(path)
		if key := realPath(inner); inner != "" {
			known := read[key]
			read[key] = true // for one that takes itself
			if known || len(read.missing(inner)) == 0 {
				continue
			}
			delete(read, key)
		}
		names = append(names, name)
	}
	for _, chart := range k.HelmCharts {
		names = append(names, "the chart "+chart.Name)
	}
	return names
}

// kustomizationIn returns the kustomization of a folder; "" if it has none.
func kustomizationIn(dir string) string {
	for _, base := range kustomizationNames {
		name := filepath.Join(dir, base)
		if _, err := os.Stat(name); err == nil {
			return name
		}
	}
	return ""
}
