package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected output in the scripts and goldens")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"rewrite-probes": main})
}

// TestScripts runs what users type: testdata/script/*.txtar, each a set of
// files, command lines and what they print.
func TestScripts(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join(root, "testdata", "script"),
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("ROOT", root)
			// bin/ holds the pinned kustomize that make builds.
			env.Setenv("PATH", filepath.Join(root, "bin")+string(os.PathListSeparator)+env.Getenv("PATH"))
			return nil
		},
		RequireExplicitExec: true,
	})
}
