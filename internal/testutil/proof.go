package testutil

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ProofEnv is the env var that has the suites write what they found into the
// pages of docs/proof. Without it they compare.
const ProofEnv = "REWRITE_PROBES_PROOF"

// ErrPartly is the error of a package whose page would lack the results of tests
// that were not run.
var ErrPartly = errors.New("docs/proof is not written: only some of the tests were run")

// RunAndProve runs the tests of a package and returns the exit code of TestMain.
// If all tests were run and pass, it calls prove, whose error fails the run.
func RunAndProve(m interface{ Run() int }, prove func() error) int {
	return runAnd(m, prove, func() bool { return !Partly() || writes() })
}

func writes() bool { return os.Getenv(ProofEnv) != "" }

// A Page is a page of docs/proof, of which a suite owns some sections.
type Page struct{ file string }

// ProofPage returns the page of this name. root is the repository.
func ProofPage(root, name string) Page {
	return Page{filepath.Join(root, "docs", "proof", name+".md")}
}

// Prove compares a section with what a suite found, and returns an error if they
// differ. With ProofEnv it writes the section instead.
func (p Page) Prove(section, found string) error {
	if writes() {
		return ReplaceSection(p.file, section, found)
	}
	page, err := Section(p.file, section)
	if err != nil {
		return err
	}
	was, is := strings.Split(strings.TrimSpace(page), "\n"), strings.Split(strings.TrimSpace(found), "\n")
	for i := range max(len(was), len(is)) {
		if w, f := line(was, i), line(is, i); w != f {
			return fmt.Errorf("%s: section %s differs from this run, which `make proof` writes: line %d is %q, and was found to be %q", p.file, section, i+1, w, f)
		}
	}
	return nil
}

// line returns a line, and for one that is not there a text that no line is.
func line(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(no line)\n"
}

// Keep writes a section of what one run measured, which another run does not
// repeat to the letter: only with ProofEnv.
func (p Page) Keep(section, measured string) error {
	if !writes() {
		return nil
	}
	return ReplaceSection(p.file, section, measured)
}

// Missing says that a section was neither compared nor written, in a line that the
// check of the repository repeats at its end.
func (p Page) Missing(section, why string) {
	fmt.Printf("--- SKIP: docs/proof/%s#%s: NOT COMPARED AND NOT WRITTEN: %s\n", filepath.Base(p.file), section, why)
}
