package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// A workshop makes the inputs and keeps them, so that a second run of the
// benchmark need not wait for kustomize again.
type workshop struct {
	bin    string // where the built programs are
	inputs string // where inputs are kept
}

// generated returns the file of a generated input.
func (s workshop) generated(name string, g generator) (string, error) {
	file := filepath.Join(s.inputs, name+".yaml")
	return file, g.write(file)
}

// An envelope is the form in which a caller hands objects to a function.
type envelope string

const (
	plain     envelope = "stream"    // the file as it is
	kpt       envelope = "kpt"       // a ResourceList, as kpt sends it
	kustomize envelope = "kustomize" // a ResourceList, as kustomize sends it
)

// sent returns a file with the exact bytes that the caller sends to a function
// for the manifests in source: it is caught by a function that copies them.
func (s workshop) sent(name, source string, e envelope) (string, error) {
	if e == plain {
		return source, nil
	}
	sum, err := checksum(source)
	if err != nil {
		return "", err
	}
	file := filepath.Join(s.inputs, fmt.Sprintf("%s-%s-%s.yaml", name, e, sum))
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	dir, err := s.kustomization(source)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	cmd := s.kptCommand(dir)
	if e == kustomize {
		cmd = s.buildCommand(dir, "--enable-alpha-plugins", "--enable-exec")
		if err := s.addCapture(dir); err != nil {
			return "", err
		}
	}
	cmd.Env = append(os.Environ(), "CAPTURE="+file+".part")
	if err := quietly(cmd); err != nil {
		return "", err
	}
	return file, os.Rename(file+".part", file)
}

// kptCommand runs capture on a package through the library that kpt runs
// functions with. kpt itself sends the same bytes (a test compares them), but
// refuses the lists without names that kube-prometheus has.
func (s workshop) kptCommand(pkg string) *exec.Cmd {
	// The package must hold nothing but the manifests.
	_ = os.Remove(filepath.Join(pkg, "kustomization.yaml"))
	return exec.Command(filepath.Join(s.bin, "capture"), pkg)
}

func (s workshop) buildCommand(dir string, flags ...string) *exec.Cmd {
	return exec.Command(s.kustomize(), append([]string{"build", dir}, flags...)...)
}

func (s workshop) kustomize() string { return filepath.Join(filepath.Dir(s.bin), "kustomize") }

// kustomization makes a folder with a kustomization whose one resource is a
// copy of source: kustomize loads nothing from outside its root.
func (s workshop) kustomization(source string) (string, error) {
	dir, err := os.MkdirTemp(s.inputs, "kustomization-")
	if err != nil {
		return "", err
	}
	if err := copyFile(filepath.Join(dir, "manifests.yaml"), source); err != nil {
		return dir, err
	}
	return dir, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte("resources: [manifests.yaml]\n"), 0o644)
}

func (s workshop) addCapture(dir string) error {
	const transformer = `apiVersion: rewrite-probes.io/v1alpha1
kind: RewriteProbes
metadata:
  name: rewrite-probes
  annotations:
    config.kubernetes.io/function: |
      exec:
        path: %s
`
	if err := os.WriteFile(filepath.Join(dir, "transformer.yaml"), fmt.Appendf(nil, transformer, filepath.Join(s.bin, "capture")), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte("resources: [manifests.yaml]\ntransformers: [transformer.yaml]\n"), 0o644)
}

func quietly(cmd *exec.Cmd) error {
	var stderr tail
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%v: %w: %s", cmd.Args, err, stderr.text)
	}
	return nil
}

func checksum(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:6]), nil
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
