package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A module is the code under test: its files, and which tests see which package.
type module struct {
	dir   string
	files []sourceFile
	// tests has, for every package, the packages whose tests link it: its own first.
	tests map[string][]string
}

// A sourceFile is a file that is built here and is no test.
type sourceFile struct {
	name        string // relative to the module's root, with slashes
	packageName string // the import path
}

// loadModule asks the go command what the module in dir consists of.
func loadModule(dir string) (*module, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "list", "-test", "-json=ImportPath,Dir,GoFiles,Deps,ForTest,Name,Module", "./...")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	m := &module{dir: dir, tests: map[string][]string{}}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir, ForTest, Name string
			GoFiles, Deps                  []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if tested, ok := strings.CutSuffix(p.ImportPath, ".test"); ok && p.Name == "main" {
			m.addTest(tested, p.Deps)
			continue
		}
		if p.ForTest != "" {
			continue
		}
		rel, err := filepath.Rel(dir, p.Dir)
		if err != nil {
			return nil, err
		}
		for _, name := range p.GoFiles {
			m.files = append(m.files, sourceFile{path.Join(filepath.ToSlash(rel), name), p.ImportPath})
		}
	}
	return m, nil
}

// addTest notes that the tests of a package link deps, which are named with
// the package they were compiled for, such as "m/a [m/b.test]".
func (m *module) addTest(tested string, deps []string) {
	for _, dep := range deps {
		name, _, _ := strings.Cut(dep, " ")
		switch tests := m.tests[name]; {
		case slices.Contains(tests, tested):
		case name == tested:
			m.tests[name] = slices.Insert(tests, 0, tested)
		default:
			m.tests[name] = append(tests, tested)
		}
	}
}

// A verdict is what became of a mutant.
type verdict string

const (
	killed   verdict = "killed"   // a test failed
	alive    verdict = "alive"    // every test passed
	unusable verdict = "unusable" // it does not compile
)

// try runs the tests that link the package of the mutant, until one fails.
func (m *module) try(x mutant, packageName string, limits limits) (verdict, error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	overlay, err := m.overlay(dir, x)
	if err != nil {
		return "", err
	}
	if failed, err := exited(m.run(overlay, limits, io.Discard, "build", "-o", os.DevNull, packageName)); err != nil || failed {
		return unusable, err
	}
	for _, tested := range m.tests[packageName] {
		failed, err := exited(m.test(overlay, limits, io.Discard, tested))
		if err != nil {
			return "", err
		}
		if failed {
			return killed, nil
		}
	}
	return alive, nil
}

// unchanged returns an error if the tests that will be run fail without any
// change: they would kill every mutant.
func (m *module) unchanged(packageOf map[string]string, limits limits) error {
	var tests []string
	for _, packageName := range packageOf {
		tests = append(tests, m.tests[packageName]...)
	}
	if len(tests) == 0 {
		return errors.New("no test links these files")
	}
	slices.Sort(tests)
	var out bytes.Buffer
	if err := m.test("", limits, &out, slices.Compact(tests)...); err != nil {
		return fmt.Errorf("the tests fail without any change: %w\n%s", err, out.Bytes())
	}
	return nil
}

func (m *module) test(overlay string, limits limits, out io.Writer, packages ...string) error {
	return m.run(overlay, limits, out, append([]string{"test", "-vet=off", "-failfast", "-timeout=" + limits.time.String()}, packages...)...)
}

// run runs the go command under the limits, with the overlay if there is one.
// The programs that tests build have it too.
func (m *module) run(overlay string, limits limits, out io.Writer, args ...string) error {
	script := fmt.Sprintf(`ulimit -v %d 2>/dev/null; exec go "$@"`, limits.memory>>10)
	cmd := exec.Command("sh", append([]string{"-c", script, "sh"}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = m.dir, out, out
	if overlay != "" {
		cmd.Env = append(os.Environ(), strings.TrimSpace("GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay))
	}
	return cmd.Run()
}

// exited reports whether a command ran and failed; err is set where it could
// not run at all.
func exited(err error) (bool, error) {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return true, nil
	}
	return false, err
}

// overlay writes the mutant into dir and returns the file that tells the go
// command to compile it in place of the original. The module is never touched.
func (m *module) overlay(dir string, x mutant) (string, error) {
	original := filepath.Join(m.dir, filepath.FromSlash(x.file))
	source, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, filepath.Base(original))
	if err := os.WriteFile(changed, x.apply(source), 0o644); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, text, 0o644)
}
