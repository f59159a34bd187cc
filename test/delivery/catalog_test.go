package delivery

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestTheFunctionHasTheLayoutOfTheCatalog reads what kpt's catalog of functions
// reads: metadata.yaml, and the texts between markers of the README.
func TestTheFunctionHasTheLayoutOfTheCatalog(t *testing.T) {
	h := setUp(t)
	decoder := yaml.NewDecoder(bytes.NewReader(readFile(t, filepath.Join(h.source, "fn", "metadata.yaml"))))
	decoder.KnownFields(true)
	var m struct {
		Image              string   `yaml:"image"`
		Description        string   `yaml:"description"`
		Tags               []string `yaml:"tags"`
		SourceURL          string   `yaml:"sourceURL"`
		ExamplePackageURLs []string `yaml:"examplePackageURLs"`
		Emails             []string `yaml:"emails"`
		License            string   `yaml:"license"`
	}
	if err := decoder.Decode(&m); err != nil {
		t.Fatal(err)
	}
	if m.Image != "ghcr.io/rewrite-probes/rewrite-probes" || m.License != "Apache-2.0" || len(m.Tags) == 0 || len(m.ExamplePackageURLs) == 0 {
		t.Errorf("metadata.yaml has %+v", m)
	}
	urls := []string{m.SourceURL}
	for _, url := range m.ExamplePackageURLs {
		urls = append(urls, url+"/Kptfile") // an example is a package
	}
	for _, url := range urls {
		path, ok := strings.CutPrefix(url, "https://"+modulePath+"/tree/main/")
		if !ok {
			t.Errorf("%s is not in this repository", url)
			continue
		}
		if _, err := os.Stat(filepath.Join(h.source, path)); err != nil {
			t.Error(err)
		}
	}

	readme := string(readFile(t, filepath.Join(h.source, "fn", "README.md")))
	var names []string
	for _, text := range regexp.MustCompile(`(?s)<!--mdtogo:(\w+)-->(.*?)<!--mdtogo-->`).FindAllStringSubmatch(readme, -1) {
		names = append(names, text[1])
		if strings.TrimSpace(text[2]) == "" || strings.Contains(text[2], "<!--mdtogo") {
			t.Errorf("the text %s is %q", text[1], text[2])
		}
		if text[1] == "Short" && strings.TrimSpace(text[2]) != m.Description {
			t.Errorf("the short text is %q, and the description %q", text[2], m.Description)
		}
	}
	if got := strings.Join(names, " "); got != "Short Long Examples" {
		t.Errorf("the README has the texts %q, want Short Long Examples", got)
	}
}
