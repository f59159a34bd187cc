package golden

import (
	"os"
	"path/filepath"
	"testing"
)

// A recorder notes whether a test fails.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

func TestADifferenceFailsOrIsWritten(t *testing.T) {
	given := *Update
	t.Cleanup(func() { *Update = given })
	file := filepath.Join(t.TempDir(), "golden")
	for _, step := range []struct {
		update bool
		got    string
		fails  bool
		kept   string
	}{
		{true, "one\n", false, "one\n"},
		{false, "one\n", false, "one\n"},
		{false, "two\n", true, "one\n"},
		{true, "two\n", false, "two\n"},
	} {
		*Update = step.update
		r := &recorder{TB: t}
		Compare(r, file, []byte(step.got))
		if text, err := os.ReadFile(file); err != nil || string(text) != step.kept || r.failed != step.fails {
			t.Errorf("%+v: failed: %t, the file is %q (%v)", step, r.failed, text, err)
		}
	}
}
