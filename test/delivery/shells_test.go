package delivery

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// TestShellsTakeTheCompletionScripts has each shell read its script, and fish
// complete a command line by it.
func TestShellsTakeTheCompletionScripts(t *testing.T) {
	h := setUp(t)
	if _, err := h.run(h.source, "make", "completions"); err != nil {
		t.Fatal(err)
	}
	for shell, c := range map[string]struct{ script, complete, want string }{
		"bash": {"rewrite-probes.bash", "", ""},
		"zsh":  {"_rewrite-probes", "", ""},
		"fish": {"rewrite-probes.fish", `complete -C "rewrite-probes explain --output h"`, "html"},
	} {
		t.Run(shell, func(t *testing.T) {
			testutil.Need(t, shell)
			script := filepath.Join(h.source, "bin", "completions", c.script)
			if _, err := h.run(h.dir, shell, "-n", script); err != nil {
				t.Error(err)
			}
			if c.complete == "" {
				return
			}
			out, err := h.run(h.dir, shell, "-c", "source "+script+"; "+c.complete)
			if err != nil || !strings.HasPrefix(out, c.want) {
				t.Errorf("%s offers %q (%v), want %s", shell, out, err, c.want)
			}
		})
	}
}

// TestManReadsThePages has man format every page, and say what is wrong with it.
func TestManReadsThePages(t *testing.T) {
	testutil.Need(t, "mandoc")
	h := setUp(t)
	pages, err := filepath.Glob(filepath.Join(h.source, "docs", "man", "*.1"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("there are no pages: %v", err)
	}
	for _, page := range pages {
		if out, err := h.run(h.dir, "mandoc", "-T", "lint", "-W", "error", page); err != nil {
			t.Errorf("%s: %v %s", filepath.Base(page), err, out)
		}
	}
}
