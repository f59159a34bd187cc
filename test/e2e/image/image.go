// Package image writes container images in the format docker-archive. It needs
// neither a registry nor a container engine.
package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
)

// An Image is one layer with a command.
type Image struct {
	Name       string            // with a tag: localhost/app:e2e
	Entrypoint []string          // what runs
	User       string            // a numeric uid; root where empty
	Files      map[string]string // where a file lies in the image -> where it lies here
}

// passwd names root and nobody, for programs that look them up.
const passwd = "root:x:0:0::/:/\nnobody:x:65534:65534::/:/\n"

// Write writes the image as a tar that docker load, podman load and ctr
// images import take.
func (im Image) Write(file string) error {
	var layer bytes.Buffer
	if err := im.writeLayer(&layer); err != nil {
		return fmt.Errorf("image %s: %w", im.Name, err)
	}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config":       map[string]any{"Entrypoint": im.Entrypoint, "User": im.User},
		"rootfs":       map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer.Bytes()))}},
	})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal([]map[string]any{
		{"Config": "config.json", "RepoTags": []string{im.Name}, "Layers": []string{"layer.tar"}},
	})
	if err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	w := tar.NewWriter(f)
	for _, part := range []struct {
		name string
		data []byte
	}{{"layer.tar", layer.Bytes()}, {"config.json", config}, {"manifest.json", manifest}} {
		if err := addFile(w, part.name, 0o644, part.data); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return f.Close()
}

func (im Image) writeLayer(out io.Writer) error {
	w := tar.NewWriter(out)
	made := map[string]bool{}
	if err := addFile(w, "etc/passwd", 0o644, []byte(passwd)); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(im.Files)) {
		if err := addParents(w, name[1:], made); err != nil {
			return err
		}
		data, err := os.ReadFile(im.Files[name])
		if err != nil {
			return err
		}
		if err := addFile(w, name[1:], 0o755, data); err != nil {
			return err
		}
	}
	for _, dir := range []string{"tmp", "run"} {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o1777}); err != nil {
			return err
		}
	}
	return w.Close()
}

// addParents adds the folders above a name, readable for every uid.
func addParents(w *tar.Writer, name string, made map[string]bool) error {
	dir := path.Dir(name)
	if dir == "." || made[dir] {
		return nil
	}
	made[dir] = true
	if err := addParents(w, dir, made); err != nil {
		return err
	}
	return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755})
}

func addFile(w *tar.Writer, name string, mode int64, data []byte) error {
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(data))}); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

// libraryPath finds the files in the output of ldd.
var libraryPath = regexp.MustCompile(`(/\S+) \(0x`)

// Program returns the files of a program of this machine, its shared libraries
// and the named further files (glob patterns), each under its own path.
func Program(program string, more ...string) (map[string]string, error) {
	files := map[string]string{program: program}
	ldd, err := exec.Command("ldd", program).Output()
	if err != nil {
		return nil, fmt.Errorf("ldd %s: %w", program, err)
	}
	for _, m := range libraryPath.FindAllSubmatch(ldd, -1) {
		files[string(m[1])] = string(m[1])
	}
	for _, pattern := range more {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			files[f] = f
		}
	}
	return files, nil
}

// WriteAll writes images into a folder, and returns the files.
func WriteAll(dir string, images []Image) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var files []string
	for i, im := range images {
		file := filepath.Join(dir, fmt.Sprintf("%d.tar", i))
		if err := im.Write(file); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}
