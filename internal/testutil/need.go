package testutil

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Need returns the path of the first of these programs that is installed. If
// none is, the test is skipped; it fails where the env var CI is set, unless
// SKIP, the list of what a run leaves out, has the first of them.
func Need(t testing.TB, programs ...string) string {
	t.Helper()
	for _, p := range programs {
		if path, err := exec.LookPath(p); err == nil {
			return path
		}
	}
	if os.Getenv("CI") != "" && !slices.Contains(strings.Fields(os.Getenv("SKIP")), programs[0]) {
		t.Fatalf("%s is not installed; SKIP=%[1]s leaves out what needs it", programs[0])
	}
	t.Skipf("%s is not installed", programs[0])
	return ""
}
