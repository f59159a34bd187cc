package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// TestTheScriptsShowEveryReasonOfARun looks for each reason that no plan has in
// the scripts, and compares the severity of those that they show.
func TestTheScriptsShowEveryReasonOfARun(t *testing.T) {
	scripts, err := filepath.Glob("../../testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{"internal-error": true} // which no input is known to bring: TestRun_panic
	line := regexp.MustCompile(`(?m)^(?:stderr '\^)?(error|warning|info): .* \\?\[([a-z-]+)\\?\](?:\$')?$`)
	result := regexp.MustCompile(`(?m)reason: ([a-z-]+)'?$|"(?:ruleId|reason)": "([a-z-]+)"`)
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range line.FindAllStringSubmatch(string(text), -1) {
			shown[m[2]] = true
			key, _ := reason.Parse(m[2])
			isExplained := key == reason.InjectorUnknown && m[1] == "warning" // explain shows it, and check judges
			if want := key.Severity(); string(want) != m[1] && !isExplained {
				t.Errorf("%s shows %s as %s, and it is of severity %q", filepath.Base(script), m[2], m[1], want)
			}
		}
		for _, m := range result.FindAllStringSubmatch(string(text), -1) {
			shown[m[1]+m[2]] = true
		}
	}
	for _, d := range slices.Concat(reason.Of(reason.Run), reason.Of(reason.Group)) {
		if !shown[d.Name] {
			t.Errorf("no script shows a message with the reason %s", d.Name)
		}
	}
}
