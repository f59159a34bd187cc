// Package golden compares what the code makes with files of the repository. The
// flag -update of the tests writes the files instead.
package golden

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Update is the flag -update.
var Update = flag.Bool("update", false, "write the files that are compared with what the code makes")

// Compare reports how a file differs from what the code makes. With -update it
// writes the file.
func Compare(t testing.TB, file string, got []byte) {
	t.Helper()
	if *Update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s is not what the code makes; if the change is meant, run this package's tests with -update (-file +code):\n%s", file, d)
	}
}
