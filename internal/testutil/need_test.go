package testutil

import (
	"testing"
)

// A verdict is a test that notes how it ended.
type verdict struct {
	testing.TB
	failed, skipped bool
}

func (v *verdict) Helper()               {}
func (v *verdict) Fatalf(string, ...any) { v.failed = true; panic(v) }
func (v *verdict) Skipf(string, ...any)  { v.skipped = true; panic(v) }

func TestAProgramThatIsMissingFailsTheTestInCI(t *testing.T) {
	for _, c := range []struct {
		ci, skip        string
		programs        []string
		failed, skipped bool
	}{
		{"", "", []string{"no-such-program"}, false, true},
		{"true", "", []string{"no-such-program"}, true, false},
		{"true", "e2e other", []string{"no-such-program"}, true, false},
		{"true", "e2e no-such-program", []string{"no-such-program"}, false, true},
		{"true", "", []string{"no-such-program", "go"}, false, false},
	} {
		t.Setenv("CI", c.ci)
		t.Setenv("SKIP", c.skip)
		v := &verdict{TB: t}
		func() {
			defer func() { _ = recover() }()
			if Need(v, c.programs...) == "" {
				t.Errorf("%+v: no path", c)
			}
		}()
		if v.failed != c.failed || v.skipped != c.skipped {
			t.Errorf("%+v: failed: %t, skipped: %t", c, v.failed, v.skipped)
		}
	}
}
