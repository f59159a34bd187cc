package fn_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The library that a program of another module must link, and those that it must not.
var links = map[string]struct{ own, foreign string }{
	"operator": {"k8s.io/api/", "sigs.k8s.io/kustomize/ github.com/kptdev/"},
	"filter":   {"sigs.k8s.io/kustomize/kyaml/kio", "k8s.io/api/ k8s.io/apimachinery/ github.com/kptdev/"},
	"function": {"github.com/kptdev/krm-functions-sdk/", "k8s.io/api/"},
}

// The programs of docs/go.md, as people copy them: each builds and works in a module of
// somebody else, and links the library that it is written with alone.
func TestTheProgramsOfTheDocumentation(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	const module = "github.com/rewrite-probes/rewrite-probes"
	files := map[string]string{
		"go.mod": "module example.com/mine\n\n" + regexp.MustCompile(`(?m)^go .*\n`).FindString(read("go.mod")) +
			"require " + module + " v0.1.0\nreplace " + module + " => " + root + "\n",
		"go.sum": read("go.sum"),
	}
	for _, m := range regexp.MustCompile("(?s)<!-- file: (\\S+) -->\n```go\n(.*?)```\n").FindAllStringSubmatch(read("docs/go.md"), -1) {
		files[m[1]] = m[2]
	}
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := func(stdin string, args ...string) string {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		out, err := cmd.Output()
		if err != nil {
			var failed *exec.ExitError
			errors.As(err, &failed)
			t.Fatalf("go %v: %v\n%s%s", args, err, failed.Stderr, out)
		}
		return string(out)
	}
	run("", "vet", "./...")
	if out := run("", "test", "-v", "./operator"); !strings.Contains(out, "--- PASS") {
		t.Errorf("the operator's test did not run:\n%s", out)
	}
	list := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- " + strings.ReplaceAll(web, "\n", "\n  ") + "\n"
	for program, stdin := range map[string]string{"operator": "", "filter": web, "function": list} {
		if out := run(stdin, "run", "./"+program); !strings.Contains(out, "/app-health/") || !strings.Contains(out, "ISTIO_KUBE_APP_PROBERS") {
			t.Errorf("%s rewrites nothing:\n%s", program, out)
		}
		deps := run("", "list", "-deps", "./"+program)
		if !strings.Contains(deps, "\n"+links[program].own) {
			t.Errorf("%s does not link %s", program, links[program].own)
		}
		for _, foreign := range strings.Fields(links[program].foreign) {
			if strings.Contains(deps, "\n"+foreign) {
				t.Errorf("%s links %s", program, foreign)
			}
		}
	}
}
