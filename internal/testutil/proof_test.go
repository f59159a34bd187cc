package testutil

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A run stands for the tests of a package; it is their exit code.
type run int

func (r run) Run() int { return int(r) }

func TestAPageIsProvedIfAllTestsPass(t *testing.T) {
	for _, c := range []struct {
		tests  run
		err    error
		code   int
		proved bool
	}{
		{0, nil, 0, true},
		{0, ErrPartly, 1, true},
		{2, nil, 2, false},
	} {
		t.Setenv(ProofEnv, "1") // this run may have only some of this package's tests
		proved := false
		code := RunAndProve(c.tests, func() error { proved = true; return c.err })
		if code != c.code || proved != c.proved {
			t.Errorf("%+v: exit code %d, proved: %t", c, code, proved)
		}
	}
}

func TestASectionThatDiffersFromTheRunIsAnError(t *testing.T) {
	root := t.TempDir()
	p := ProofPage(root, "suite")
	if err := os.MkdirAll(filepath.Dir(p.file), 0o755); err != nil {
		t.Fatal(err)
	}
	const page = "<!-- begin a -->\none\ntwo\n<!-- end a -->\n"
	for found, want := range map[string]string{
		"\none\ntwo\n":  "",
		"one\n2":        `section a differs from this run, which ` + "`make proof`" + ` writes: line 2 is "two", and was found to be "2"`,
		"one":           `line 2 is "two", and was found to be "(no line)\n"`,
		"one\ntwo\n\n3": `line 3 is "(no line)\n", and was found to be ""`,
	} {
		write(t, p.file, page)
		t.Setenv(ProofEnv, "")
		if err := p.Prove("a", found); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", found, err, want)
		}
		if err := p.Keep("a", found); err != nil {
			t.Error(err)
		}
		if got, err := os.ReadFile(p.file); err != nil || string(got) != page {
			t.Errorf("%q: a comparison has made the page %q (%v)", found, got, err)
		}
		for _, do := range []func(string, string) error{p.Prove, p.Keep} {
			write(t, p.file, page)
			t.Setenv(ProofEnv, "1")
			if err := do("a", found); err != nil {
				t.Error(err)
			}
			if body, err := Section(p.file, "a"); err != nil || body != strings.TrimSpace(found)+"\n" {
				t.Errorf("%q: the section is %q (%v)", found, body, err)
			}
		}
	}
	if err := p.Prove("b", "x"); err == nil {
		t.Error("a section that is not there: no error")
	}
}
