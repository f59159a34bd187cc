package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
)

// A yamlBlock is a block of a page that is marked as YAML.
type yamlBlock struct {
	page, text string
	line       int
}

var yamlFence = regexp.MustCompile("(?ms)^( *)```ya?ml\n(.*?)^ *```$")

// pages returns every Markdown page of the repository.
func pages(t *testing.T) []string {
	t.Helper()
	return filesBelow(t, "../..", func(name string) bool { return filepath.Ext(name) == ".md" })
}

func filesBelow(t *testing.T, root string, wanted func(name string) bool) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (d.Name() == "bin" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".."):
			return filepath.SkipDir
		case !d.IsDir() && wanted(d.Name()):
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func yamlBlocks(t *testing.T) []yamlBlock {
	t.Helper()
	var blocks []yamlBlock
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range yamlFence.FindAllSubmatchIndex(text, -1) {
			indent := string(text[m[2]:m[3]])
			body := strings.TrimPrefix(strings.ReplaceAll("\n"+string(text[m[4]:m[5]]), "\n"+indent, "\n"), "\n")
			blocks = append(blocks, yamlBlock{page, body, 1 + strings.Count(string(text[:m[4]]), "\n")})
		}
	}
	return blocks
}

// TestEveryYAMLBlockOfTheDocumentationHolds parses every block and runs what
// it shows: a functionConfig over a workload, given in each way; a probe, which
// must become what the next block shows. Other blocks are fragments of files of
// other programs, and must only be YAML.
func TestEveryYAMLBlockOfTheDocumentationHolds(t *testing.T) {
	configs, probes := 0, 0
	blocks := yamlBlocks(t)
	for i, b := range blocks {
		var v map[string]any
		if err := yaml.Unmarshal([]byte(b.text), &v); err != nil || len(v) == 0 {
			t.Errorf("%s:%d: the block must be a YAML mapping: %v", b.page, b.line, err)
			continue
		}
		switch {
		case v["kind"] == "RewriteProbes" || v["kind"] == "ConfigMap":
			configs++
			runConfig(t, b)
		case v["livenessProbe"] != nil && !strings.Contains(b.text, "/app-health/"):
			probes++
			if i+1 == len(blocks) || blocks[i+1].page != b.page {
				t.Errorf("%s:%d: the next block must show what becomes of the probe", b.page, b.line)
				continue
			}
			becomes(t, b, blocks[i+1])
		case v["kind"] == "ClusterRole":
			allowsCalls(t, b)
		case v["kind"] != nil:
			t.Errorf("%s:%d: shows a %s, which this test does not know how to run", b.page, b.line, v["kind"])
		}
	}
	if configs < 3 || probes < 1 {
		t.Errorf("%d functionConfigs and %d probes were found", configs, probes)
	}
}

// allowsCalls checks that a role allows each list that --cluster reads.
func allowsCalls(t *testing.T, b yamlBlock) {
	t.Helper()
	var role struct {
		Rules []struct {
			APIGroups []string `yaml:"apiGroups"`
			Resources []string
			Verbs     []string
		}
	}
	if err := yaml.Unmarshal([]byte(b.text), &role); err != nil {
		t.Fatal(err)
	}
	calls, err := os.ReadFile("../../internal/cluster/testdata/calls.txt")
	if err != nil {
		t.Fatal(err)
	}
	lists := regexp.MustCompile(`--raw /apis?(?:/([^/ ]+))?/v1/(?:namespaces/[^/]+/)?(\w+)\?`).FindAllStringSubmatch(string(calls), -1)
	if len(lists) < 50 {
		t.Errorf("only %d lists were found", len(lists))
	}
	for _, l := range lists {
		allowed := false
		for _, r := range role.Rules {
			allowed = allowed || slices.Contains(r.APIGroups, l[1]) && slices.Contains(r.Resources, l[2]) && slices.Equal(r.Verbs, []string{"list"})
		}
		if !allowed {
			t.Errorf("%s:%d: the role does not let a run list %s of %q", b.page, b.line, l[2], l[1])
		}
	}
}

// TestFilesInPagesAreTheFiles: between <!-- begin FILE.yaml --> and its end, a page has that file.
func TestFilesInPagesAreTheFiles(t *testing.T) {
	begin := regexp.MustCompile(`(?m)^<!-- begin (\S+\.yaml) -->$`)
	n := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range begin.FindAllSubmatch(text, -1) {
			n++
			file := string(m[1])
			inFile, err := os.ReadFile(filepath.Join("../..", file))
			if err != nil {
				t.Errorf("%s: %v", page, err)
				continue
			}
			want := "```yaml\n" + string(inFile) + "```\n"
			if *golden.Update {
				if err := testutil.ReplaceSection(page, file, want); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := testutil.Section(page, file); err != nil || got != want {
				t.Errorf("%s does not have %s as it is (%v): go test ./cmd/rewrite-probes -update", page, file, err)
			}
		}
	}
	if n < 3 {
		t.Errorf("only %d files were found in the pages", n)
	}
}

// TestEveryConfigOfTheExamplesIsTaken runs each functionConfig file.
func TestEveryConfigOfTheExamplesIsTaken(t *testing.T) {
	n := 0
	for _, root := range []string{"../../examples", "../../kustomization-example"} {
		for _, path := range filesBelow(t, root, func(name string) bool { return filepath.Ext(name) == ".yaml" }) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "\nkind: RewriteProbes\n") && !strings.Contains(string(text), "\n---\n") {
				n++
				if !strings.HasPrefix(string(text), "# yaml-language-server: $schema="+config.SchemaID+"\n") {
					t.Errorf("%s must begin with a comment that names the schema for editors", path)
				}
				runConfig(t, yamlBlock{page: path, text: string(text)})
			}
		}
	}
	if n < 4 {
		t.Errorf("only %d functionConfigs were found", n)
	}
}

// TestEveryPictureHasItsOwnBackground: a browser that prefers dark pages shows the light text
// of a picture on whatever page it is in.
func TestEveryPictureHasItsOwnBackground(t *testing.T) {
	pictures := filesBelow(t, "../../docs/images", func(name string) bool { return filepath.Ext(name) == ".svg" })
	first := regexp.MustCompile(`(?s)</style>\s*<rect class="page" width="100%" height="100%"/>`)
	fill := regexp.MustCompile(`\.page \{ fill: #[0-9a-f]{3,6} \}`)
	for _, path := range pictures {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if light, dark, both := bytes.Cut(text, []byte("@media (prefers-color-scheme: dark)")); !first.Match(text) || !both || !fill.Match(light) || !fill.Match(dark) {
			t.Errorf("%s must begin with a rectangle over all of it, in a light and a dark colour", path)
		}
	}
	if len(pictures) == 0 {
		t.Error("no pictures were found")
	}
}

func runConfig(t *testing.T, b yamlBlock) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(b.text), 0o600); err != nil {
		t.Fatal(err)
	}
	for way, got := range map[string]string{
		"--config":     output(t, workloads[""], "--config", path, "-"),
		"ResourceList": output(t, resourceList(workloads[""], b.text)),
	} {
		originals := "KUBE_APP_PROBERS"
		if strings.Contains(b.text, "answeredBy: envoy") {
			originals = `rewrite-probes.io/originals: '{"envoy":`
		}
		if !strings.HasSuffix(got, "exit 0\n") || !strings.Contains(got, originals) {
			t.Errorf("%s:%d: by %s:\n%s", b.page, b.line, way, got)
		}
	}
}

// becomes checks that the probe of one block becomes that of the other.
func becomes(t *testing.T, before, after yamlBlock) {
	t.Helper()
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: web\n    ports: [{name: http, containerPort: 8080}]\n"
	var text, errs bytes.Buffer
	if code := run(nil, strings.NewReader(pod+indentBy(4, before.text)), &text, &errs); code != exitOK {
		t.Fatal(errs.String())
	}
	var out struct {
		Spec struct{ Containers []map[string]any }
	}
	var want map[string]any
	if err := yaml.Unmarshal(text.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(after.text), &want); err != nil {
		t.Fatal(err)
	}
	for key, w := range want {
		if g := out.Spec.Containers[0][key]; !reflect.DeepEqual(g, w) {
			t.Errorf("%s:%d: %s becomes %v, and the next block shows %v", before.page, before.line, key, g, w)
		}
	}
}

var (
	shellFence = regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```$")
	ownCommand = regexp.MustCompile(`(?:^|[|;&(] *|\$ |bin/)rewrite-probes((?: +[^\s|;>&)]+)*)`)
)

// TestCommandsOfTheDocumentationHaveFlags holds also for blocks that need a cluster, which no test runs.
func TestCommandsOfTheDocumentationHaveFlags(t *testing.T) {
	count := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range shellFence.FindAllSubmatch(text, -1) {
			lines := strings.ReplaceAll(string(block[1]), "\\\n", " ")
			for line := range strings.Lines(lines) {
				line, _, _ = strings.Cut(line, " # ")
				for _, m := range ownCommand.FindAllStringSubmatch(line, -1) {
					count++
					if problem := unknownFlag(strings.Fields(m[1])); problem != "" {
						t.Errorf("%s: %s: %s", page, strings.TrimSpace(line), problem)
					}
				}
			}
		}
	}
	if count < 60 {
		t.Errorf("only %d commands were found", count)
	}
}

// unknownFlag returns what is wrong with the flags of a command line; "" if nothing is.
func unknownFlag(args []string) string {
	cmd, rest, err := newCommand(streams{}).Find(args)
	if err != nil {
		return err.Error()
	}
	for _, arg := range rest {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case arg == "--":
			return ""
		case !strings.HasPrefix(arg, "-") || name == "" || name == "help":
		case strings.HasPrefix(arg, "--") && cmd.Flag(name) == nil:
			return cmd.Name() + " has no flag --" + name
		case !strings.HasPrefix(arg, "--") && cmd.Flags().ShorthandLookup(name[:1]) == nil && cmd.InheritedFlags().ShorthandLookup(name[:1]) == nil:
			return cmd.Name() + " has no flag -" + name[:1]
		}
	}
	return ""
}
