package pipeline_test

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
)

// TestWhatAnOlderVersionRewroteIsRestored has annotations as they are out there: byte for
// byte they give back what their owner wrote, at once and after a run in any mesh.
func TestWhatAnOlderVersionRewroteIsRestored(t *testing.T) {
	a, err := txtar.ParseFile("testdata/older.txtar")
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	for i := 0; i < len(a.Files); i += 2 {
		name, original, rewritten := a.Files[i].Name, string(a.Files[i].Data), a.Files[i+1].Data
		if a.Files[i+1].Name != "rewritten" || string(rewritten) == original {
			t.Fatalf("%s: %s", name, a.Files[i+1].Name)
		}
		restored := func(text []byte, after string) {
			back, err := do(text, config.Default(), pipeline.Restore)
			if err != nil || back.refused != "" {
				t.Errorf("%s: %s, restore: %v %s", name, after, err, back.refused)
			} else if string(back.text) != original {
				t.Errorf("%s: %s, restore gives\n%s\nand it was\n%s", name, after, back.text, original)
			}
		}
		restored(rewritten, "at once")
		for _, c := range allAnswerers() {
			after := c.Spec.Mesh + ", " + c.Spec.AnsweredBy
			again, err := do(rewritten, c, pipeline.Rewrite)
			if err != nil {
				t.Fatalf("%s: %s: %v", name, after, err)
			}
			if again.refused == "" {
				runs++
				restored(again.text, after)
			}
		}
	}
	if names := len(a.Files) / 2; runs < 9*names {
		t.Errorf("only %d runs over %d manifests", runs, names)
	}
	for _, section := range strings.Fields("handlers annotations inherited excluded declared empty texts probe config derived") {
		text, err := os.ReadFile("testdata/older.txtar")
		if err != nil || !strings.Contains(string(text), `"`+section+`\":`) && !strings.Contains(string(text), `"`+section+`":`) {
			t.Errorf("no annotation has %s: %v", section, err)
		}
	}
}
