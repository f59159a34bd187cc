package delivery

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// TestTheSiteHasEveryPageAndNoBrokenLink builds the site, which fails on each link that the
// generator cannot follow, and then reads what a browser would follow.
func TestTheSiteHasEveryPageAndNoBrokenLink(t *testing.T) {
	testutil.Need(t, "pip3")
	h := setUp(t)
	if _, err := h.run(h.source, "make", "site"); err != nil {
		t.Fatal(err)
	}
	site := filepath.Join(h.source, "bin", "site")
	for _, page := range []string{"index", "README", "docs/install", "docs/guides/patches", "examples/ci/README", "docs/proof/cluster", "SECURITY"} {
		if _, err := os.Stat(filepath.Join(site, page+".html")); err != nil {
			t.Error(err)
		}
	}
	link := regexp.MustCompile(`(?:href|src)="([^"]+)"`)
	links := 0
	err := filepath.WalkDir(site, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".html" {
			return err
		}
		for _, m := range link.FindAllStringSubmatch(string(readFile(t, path)), -1) {
			to, err := url.Parse(m[1])
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			if to.Scheme != "" {
				demandInRepository(t, h, path, to)
				continue
			}
			links++
			target := path
			if to.Path != "" {
				target = filepath.Join(filepath.Dir(path), to.Path)
			}
			text, err := os.ReadFile(target)
			if err != nil {
				t.Errorf("%s: %v", path, err)
			} else if to.Fragment != "" && !strings.Contains(string(text), `id="`+to.Fragment+`"`) {
				t.Errorf("%s: %s has no %s", path, to.Path, to.Fragment)
			}
		}
		return nil
	})
	if err != nil || links < 1000 {
		t.Errorf("%d links, %v", links, err)
	}
}

// demandInRepository demands that what the site shows as a file on GitHub is there.
func demandInRepository(t *testing.T, h *harness, page string, to *url.URL) {
	t.Helper()
	_, path, found := strings.Cut(to.String(), "https://"+modulePath+"/blob/main/")
	if !found {
		_, path, found = strings.Cut(to.String(), "https://"+modulePath+"/tree/main/")
	}
	if !found {
		return
	}
	path, _, _ = strings.Cut(path, "#")
	if _, err := os.Stat(filepath.Join(h.source, path)); err != nil {
		t.Errorf("%s: %v", page, err)
	}
}
