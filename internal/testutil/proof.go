package testutil

import (
	"errors"
	"fmt"
	"os"
)

// ProofEnv is the env var that has the conformance tests write what they found
// into docs/proof.md.
const ProofEnv = "REWRITE_PROBES_PROOF"

// ErrPartly is the error of a package whose section of docs/proof.md would lack
// the results of tests that were not run.
var ErrPartly = errors.New("docs/proof.md is not written: only some of the tests were run")

// RunAndProve runs the tests of a package and returns the exit code of TestMain.
// If all tests pass and ProofEnv is set, it calls writeProof, whose error fails
// the run.
func RunAndProve(m interface{ Run() int }, writeProof func() error) int {
	code := m.Run()
	if code != 0 || os.Getenv(ProofEnv) == "" {
		return code
	}
	if err := writeProof(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
