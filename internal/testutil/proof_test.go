package testutil

import "testing"

// A run stands for the tests of a package; it is their exit code.
type run int

func (r run) Run() int { return int(r) }

func TestTheProofIsWrittenOnRequestIfAllTestsPass(t *testing.T) {
	for _, c := range []struct {
		requested  string
		tests      run
		err        error
		code       int
		wantsProof bool
	}{
		{"", 0, nil, 0, false},
		{"1", 0, nil, 0, true},
		{"1", 0, ErrPartly, 1, true},
		{"1", 2, nil, 2, false},
	} {
		t.Setenv(ProofEnv, c.requested)
		written := false
		code := RunAndProve(c.tests, func() error { written = true; return c.err })
		if code != c.code || written != c.wantsProof {
			t.Errorf("%+v: exit code %d, proof written: %t", c, code, written)
		}
	}
}
