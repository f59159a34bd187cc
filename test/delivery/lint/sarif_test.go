package lint

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	_ "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif" // has the schema
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// sarifSchema returns the schema of SARIF 2.1.0, which OASIS publishes and a constant of
// go-sarif holds. Its own validation knows only the fields that it has read.
func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	dir, err := run(".", nil, "go", "list", "-f", "{{.Dir}}", "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif")
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)), "schema.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	text, err := strconv.Unquote(file.Decls[0].(*ast.GenDecl).Specs[0].(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("sarif.json", decoded(t, text)); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("sarif.json")
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestSARIFIsValid validates what check prints about manifests in which much is wrong, about
// a file that cannot be read, about nothing at all, and about nothing wrong.
func TestSARIFIsValid(t *testing.T) {
	schema := sarifSchema(t)
	broken := filepath.Join(t.TempDir(), "a b#%c.yaml")
	if err := os.WriteFile(broken, []byte("kind: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		results bool
		args    []string
	}{
		{true, []string{filepath.Join(root, "examples")}},
		{true, []string{filepath.Join(root, "testdata", "manifests")}},
		{true, []string{broken}},
		{true, []string{"-"}},
		{false, []string{"--allow-empty", "-"}},
	} {
		cmd := exec.Command(filepath.Join(bin, "rewrite-probes"), append([]string{"check", "--config=none", "-o", "sarif"}, c.args...)...)
		cmd.Stdin = bytes.NewReader([]byte("apiVersion: v1\nkind: Service\nmetadata: {name: a}\n"))
		out, _ := cmd.Output() // it exits with 1 if something is found
		if err := schema.Validate(decoded(t, string(out))); err != nil {
			t.Errorf("%v: %v", c.args, err)
		}
		if got := bytes.Contains(out, []byte(`"ruleId"`)); got != c.results {
			t.Errorf("%v: results: %t\n%s", c.args, got, out)
		}
	}
	for _, wrong := range []string{`{"version": "2.0.0", "runs": []}`, `{"version": "2.1.0", "runs": [{"tool": {"driver": {}}}]}`, `{"version": "2.1.0", "runs": [], "x": 1}`} {
		if schema.Validate(decoded(t, wrong)) == nil {
			t.Errorf("%s must be invalid", wrong)
		}
	}
}
