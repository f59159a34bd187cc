package main

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rewrite-probes/rewrite-probes/internal/release"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/fakekubectl"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
)

func TestMain(m *testing.M) {
	release.Linked = cmp.Or(os.Getenv("TEST_VERSION"), "v0.1.0") // users run releases
	testscript.Main(m, map[string]func(){"rewrite-probes": main, "kubectl": fakekubectl.Main})
}

// TestScripts runs what users type: testdata/script/*.txtar, each a set of
// files, command lines and what they print.
func TestScripts(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join(root, "testdata", "script"),
		UpdateScripts: *golden.Update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("ROOT", root)
			path := env.Getenv("PATH")
			own, _, _ := strings.Cut(path, string(os.PathListSeparator))
			env.Setenv("REWRITE_PROBES", filepath.Join(own, "rewrite-probes"))
			// bin/ holds the pinned kustomize that make builds; it comes last, so
			// that the program under test is never an older build from there.
			env.Setenv("PATH", path+string(os.PathListSeparator)+filepath.Join(root, "bin"))
			return nil
		},
		RequireExplicitExec: true,
	})
}
