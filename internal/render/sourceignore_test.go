package render

import (
	"os"
	"path/filepath"
	"testing"
)

// What a .sourceignore leaves out is what Flux' own reader of it leaves out: fluxcd/pkg/sourceignore, on go-git's patterns.
func TestSourceIgnore(t *testing.T) {
	for _, c := range []struct {
		name, root, inner string
		out, in           []string
	}{
		{name: "no rules", out: []string{".sops.yaml", "apps/.flux.yaml"}, in: []string{"web.yaml", "apps/web.yaml"}},
		{name: "a name at any depth", root: "draft.yaml\n", out: []string{"draft.yaml", "apps/draft.yaml"}, in: []string{"apps/a-draft.yaml"}},
		{name: "a pattern", root: "*-test.yaml", out: []string{"apps/a-test.yaml"}, in: []string{"apps/a.yaml"}},
		{name: "a rooted one", root: "/draft.yaml", out: []string{"draft.yaml"}, in: []string{"apps/draft.yaml"}},
		{name: "a path", root: "apps/draft.yaml", out: []string{"apps/draft.yaml"}, in: []string{"x/apps/draft.yaml", "draft.yaml"}},
		{name: "a folder", root: "draft/", out: []string{"draft/a.yaml", "apps/draft/b/c.yaml"}, in: []string{"apps/draft"}},
		{name: "all but a folder", root: "# only apps\n/*\n\n!/apps\r\n", out: []string{"web.yaml", "x/apps/a.yaml"}, in: []string{"apps/a.yaml", "apps/b/c.yaml"}},
		{name: "the last rule", root: "*.yaml\n!web.yaml\nold/web.yaml", out: []string{"a.yaml", "old/web.yaml"}, in: []string{"web.yaml", "apps/web.yaml"}},
		{name: "any depth between", root: "/apps/**/draft.yaml", out: []string{"apps/draft.yaml", "apps/b/c/draft.yaml"}, in: []string{"draft.yaml"}},
		{name: "everything below", root: "apps/**", out: []string{"apps/a.yaml", "apps/b/c.yaml"}, in: []string{"web.yaml"}},
		{name: "white space behind", root: "draft.yaml  \n", out: []string{"draft.yaml"}},
		{name: "a file below", inner: "/draft.yaml", out: []string{"apps/draft.yaml"}, in: []string{"draft.yaml", "apps/b/draft.yaml"}},
		{name: "a file below decides", root: "draft.yaml", inner: "!draft.yaml", out: []string{"draft.yaml"}, in: []string{"apps/draft.yaml"}},
		{name: "what is never sent may be", root: "!.sops.yaml", in: []string{".sops.yaml"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			apps := filepath.Join(root, "apps")
			if err := os.MkdirAll(filepath.Join(root, ".git"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(apps, 0o700); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{filepath.Join(root, sourceIgnore): c.root, filepath.Join(apps, sourceIgnore): c.inner} {
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			may := func(string) error { return nil }
			rules, err := leftOutAbove(apps, may)
			if err != nil {
				t.Fatal(err)
			}
			if rules, err = rules.with(apps, may); err != nil {
				t.Fatal(err)
			}
			for _, name := range c.out {
				if !rules.has(filepath.Join(root, name)) {
					t.Errorf("%s must be left out", name)
				}
			}
			for _, name := range c.in {
				if rules.has(filepath.Join(root, name)) {
					t.Errorf("%s must stay", name)
				}
			}
		})
	}
}
