// Package lint runs the linters of users' pipelines on our output. What they find
// in addition is in docs/operations.md, with the setting that avoids it.
package lint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

var bin string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "lint")
	if err == nil {
		bin = dir
		err = build()
	}
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, "lint:", err)
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func build() error {
	for folder, packages := range map[string][]string{
		".":  {"github.com/yannh/kubeconform/cmd/kubeconform", "github.com/zegl/kube-score/cmd/kube-score"},
		root: {"./cmd/rewrite-probes"},
	} {
		if _, err := run(folder, nil, "go", append([]string{"build", "-o", bin + "/"}, packages...)...); err != nil {
			return err
		}
	}
	return nil
}

// run runs a command and returns its stdout.
func run(dir string, stdin []byte, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, bytes.NewReader(stdin), &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out, &stderr)
	}
	return out, err
}

func rewrite(t *testing.T, args ...string) []byte {
	t.Helper()
	out, err := run(".", nil, filepath.Join(bin, "rewrite-probes"), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// score returns what kube-score finds with every check that it has.
func score(t *testing.T, manifests []byte) []string {
	t.Helper()
	out, err := run(".", manifests, filepath.Join(bin, "kube-score"), "score", "--all-default-optional", "-o", "json", "-")
	if err != nil && len(out) == 0 {
		t.Fatal(err)
	}
	var objects []struct {
		Checks []struct {
			Grade    int
			Skipped  bool
			Comments []struct{ Path, Summary string }
		}
	}
	if err := json.Unmarshal(out, &objects); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, o := range objects {
		for _, c := range o.Checks {
			for _, comment := range c.Comments {
				if c.Grade < 10 && !c.Skipped {
					found = append(found, comment.Path+": "+comment.Summary)
				}
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func TestWhatKubeScoreFindsHasASwitch(t *testing.T) {
	before, err := os.ReadFile("testdata/web.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if found := score(t, before); len(found) > 0 {
		t.Fatalf("the manifest must be in order before: %q", found)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"defaults", nil, []string{
			"probe-proxy: Ephemeral Storage limit is not set",
			"probe-proxy: Ephemeral Storage request is not set",
			"probe-proxy: ImagePullPolicy is not set to Always",
		}},
		{"with every switch", []string{"--config", "testdata/switched.yaml"}, nil},
		{"istio-proxy", []string{"--config", "testdata/istio-proxy.yaml"}, []string{
			"istio-proxy: CPU limit is not set",
			"istio-proxy: CPU request is not set",
			"istio-proxy: Ephemeral Storage limit is not set",
			"istio-proxy: Ephemeral Storage request is not set",
			"istio-proxy: ImagePullPolicy is not set to Always",
			"istio-proxy: Memory limit is not set",
			"istio-proxy: Memory request is not set",
			"istio-proxy: The container is running with a low user ID",
			"istio-proxy: The container running with a low group ID",
			"istio-proxy: The pod has a container with a writable root filesystem",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			after := rewrite(t, append(c.args, "testdata/web.yaml")...)
			if bytes.Equal(after, before) {
				t.Fatal("nothing was rewritten")
			}
			found := score(t, after)
			if !slices.Equal(found, c.want) {
				t.Errorf("kube-score finds\n%s\nwant\n%s", strings.Join(found, "\n"), strings.Join(c.want, "\n"))
			}
			for _, f := range found {
				if _, summary, _ := strings.Cut(f, ": "); !strings.Contains(string(page), summary) {
					t.Errorf("docs/operations.md does not have %q", summary)
				}
			}
		})
	}
}

// schemas writes the JSON Schemas of Kubernetes, strict, as kubeconform wants
// them, from the API description in Kubernetes' own module.
func schemas(t *testing.T) string {
	t.Helper()
	dir, err := run("../..", nil, "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "api", "openapi-spec", "swagger.json"))
	if err != nil {
		t.Fatal(err)
	}
	var api struct {
		Definitions map[string]map[string]any `json:"definitions"`
	}
	text = bytes.ReplaceAll(text, []byte(`"#/definitions/`), []byte(`"definitions.json#/definitions/`))
	if err := json.Unmarshal(text, &api); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	write := func(name string, v any) {
		text, err := json.Marshal(v)
		if err == nil {
			err = os.WriteFile(filepath.Join(out, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, d := range api.Definitions {
		if _, object := d["properties"]; object {
			d["additionalProperties"] = false
		}
		if d["format"] == "int-or-string" {
			d = map[string]any{"oneOf": []any{map[string]any{"type": "string"}, map[string]any{"type": "integer"}}}
		}
		if strings.HasSuffix(name, ".api.resource.Quantity") {
			d = map[string]any{"oneOf": []any{map[string]any{"type": "string"}, map[string]any{"type": "number"}}}
		}
		api.Definitions[name] = d
		kinds, _ := d["x-kubernetes-group-version-kind"].([]any)
		for _, k := range kinds {
			gvk := k.(map[string]any)
			group, version, kind := fmt.Sprint(gvk["group"]), fmt.Sprint(gvk["version"]), fmt.Sprint(gvk["kind"])
			if group == "" {
				group = version // as kubeconform names it
			}
			write(strings.ToLower(fmt.Sprintf("%s_%s_%s.json", group, version, kind)), map[string]any{"$ref": "definitions.json#/definitions/" + name})
		}
	}
	write("definitions.json", map[string]any{"definitions": api.Definitions})
	return filepath.Join(out, "{{.Group}}_{{.ResourceAPIVersion}}_{{.ResourceKind}}.json")
}

// conform runs kubeconform on the files of a folder. It returns how many objects are
// valid, and what it says of the others, by file.
func conform(t *testing.T, location, folder string) (valid int, problems map[string]string) {
	t.Helper()
	out, err := run(".", nil, filepath.Join(bin, "kubeconform"), "-strict", "-ignore-missing-schemas", "-output", "json", "-summary", "-schema-location", location, folder)
	var answer struct {
		Resources []struct{ Filename, Kind, Name, Msg string }
		Summary   struct{ Valid int }
	}
	if jsonErr := json.Unmarshal(out, &answer); jsonErr != nil {
		t.Fatal(jsonErr, err)
	}
	problems = make(map[string]string)
	for _, r := range answer.Resources {
		problems[filepath.Base(r.Filename)] += fmt.Sprintf("%s %s: %s\n", r.Kind, r.Name, r.Msg)
	}
	return answer.Summary.Valid, problems
}

func TestKubeconformFindsNothingInWhatWeWrite(t *testing.T) {
	before, after := t.TempDir(), t.TempDir()
	write := func(folder, name string, text []byte) {
		if err := os.WriteFile(filepath.Join(folder, name+".yaml"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inputs, err := filepath.Glob(root + "/testdata/manifests/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, input := range append(inputs, "testdata/web.yaml", root+"/examples/app/deploy/web.yaml") {
		name := strings.TrimSuffix(filepath.Base(input), ".yaml")
		write(before, name, rewrite(t, "restore", input))
		for _, config := range []string{"switched", "istio-proxy", "osm"} {
			// Where an object cannot be rewritten, there is no output.
			if text, err := run(".", nil, filepath.Join(bin, "rewrite-probes"), "--config", "testdata/"+config+".yaml", input); err == nil {
				write(after, name+"."+config, text)
			}
		}
	}
	write(before, "unknown-field", []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, livenessprobe: {}}]}\n"))
	location := schemas(t)
	_, problems := conform(t, location, before)
	if !strings.Contains(problems["unknown-field.yaml"], "livenessprobe") {
		t.Errorf("an unknown field must be found: %s", problems)
	}
	valid, found := conform(t, location, after)
	for file, problem := range found {
		name, _, _ := strings.Cut(file, ".")
		if problems[name+".yaml"] == "" { // it was in order before
			t.Errorf("%s: %s", file, problem)
		}
	}
	if valid < 50 {
		t.Errorf("only %d objects were looked at", valid)
	}
}
