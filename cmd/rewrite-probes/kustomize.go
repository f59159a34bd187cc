package main

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
)

// A kustomization is the part of a kustomization file that names patches.
type kustomization struct {
	Patches []struct {
		Path  string `json:"path"`
		Patch string `json:"patch"` // inline
	} `json:"patches"`
	StrategicMerge []string `json:"patchesStrategicMerge"` // paths, or inline
	JSON6902       []struct {
		Path  string `json:"path"`
		Patch string `json:"patch"`
	} `json:"patchesJson6902"`
}

// kustomizationNames are the names that kustomize knows a kustomization by.
var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// patchesOf returns the paths of the patches that a kustomization names, and the
// texts of those that are inline.
func patchesOf(name string, text []byte) (paths, inline []string) {
	s, err := manifest.Read(name, bytes.Clone(text))
	if err != nil || len(s.Objects()) != 1 {
		return nil, nil
	}
	var k kustomization
	if _, err := s.Objects()[0].Decode(nil, &k); err != nil {
		return nil, nil // kustomize refuses it
	}
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
