package delivery

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// A gate is a command of a CI system: it ends with 0 if the committed patches fit the render.
type gate struct {
	name    string
	file    string // the file that has the patches
	base    string // the file that the render is made of, with port 8080
	command []string
	write   string // the command that writes the patches anew
}

// TestTheGatesOfPatchesFindStaleOnes runs what examples/ci and the guide tell people to run in CI: in a repository
// whose patches fit, after the base has moved a port, where the patches are written anew, and where the render fails.
func TestTheGatesOfPatchesFindStaleOnes(t *testing.T) {
	h := setUp(t)
	if err := h.helms(); err != nil {
		t.Fatal(err)
	}
	for _, g := range gatesOfPatches(t, h) {
		t.Run(g.name, func(t *testing.T) {
			testutil.Need(t, g.command[0])
			dir := repositoryWithPatches(t, h)
			check := func(want int, says ...string) {
				t.Helper()
				out, code := g.run(t, h, dir)
				if code != want {
					t.Errorf("the gate must end with %d, not %d:\n%s", want, code, out)
				}
				for _, s := range says {
					if !strings.Contains(out, s) {
						t.Errorf("the gate must print %q:\n%s", s, out)
					}
				}
			}
			check(0)

			base := filepath.Join(dir, g.base)
			text := string(readFile(t, base))
			moved := strings.Replace(text, "8080", "8081", 1)
			if moved == text {
				t.Fatalf("%s has no port to move", base)
			}
			before := readFile(t, filepath.Join(dir, g.file))
			writeFile(t, base, moved)
			check(1, g.file+"\n", "rewrite-probes patches: "+g.file+" differs: ", "Deployment ", "8081", ", was ")
			if after := readFile(t, filepath.Join(dir, g.file)); string(after) != string(before) {
				t.Errorf("the gate must write nothing, and %s is\n%s", g.file, after)
			}

			inShell(t, h, dir, g.write)
			check(0)

			writeFile(t, base, "{")
			if out, code := g.run(t, h, dir); code == 0 {
				t.Errorf("the gate must fail if the render does:\n%s", out)
			}
		})
	}
}

// run returns what the commands print, and their exit code.
func (g gate) run(t *testing.T, h *harness, dir string) (string, int) {
	t.Helper()
	cmd := exec.Command(g.command[0], g.command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), append(h.env(), "PRE_COMMIT_HOME="+filepath.Join(h.dir, "pre-commit"))...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// gatesOfPatches reads the commands out of the files that people copy. What these install is on PATH here.
func gatesOfPatches(t *testing.T, h *harness) []gate {
	t.Helper()
	const wrapper, base = "deploy/prod-probes/kustomization.yaml", "deploy/prod/web.yaml"
	var github struct {
		Jobs map[string]struct {
			Steps []struct{ Name, Run, Shell string }
		}
	}
	var gitlab map[string]struct {
		BeforeScript []string `yaml:"before_script"`
		Script       []string
	}
	for name, into := range map[string]any{"github": &github, "gitlab": &gitlab} {
		text := readFile(t, filepath.Join(h.source, "examples", "ci", "patches-"+name+".yaml"))
		if err := yaml.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
	}
	steps := github.Jobs["probe-patches"].Steps
	install, step := steps[len(steps)-2], steps[len(steps)-1]
	if step.Shell != "bash" {
		t.Error("the shell of GitHub's step must be bash, which alone makes GitHub set pipefail")
	}
	job := gitlab["probe-patches"]
	for _, lines := range []string{install.Run, strings.Join(job.BeforeScript, "\n")} {
		checkInstalled(t, h, lines)
	}
	guide := string(readFile(t, filepath.Join(h.source, "docs", "guides", "patches.md")))
	helm := regexp.MustCompile(`(?m)^helm template .* -l --exit-code -$`).FindString(guide)
	if helm == "" {
		t.Fatal("the guide has no gate with Helm")
	}
	const write = "kustomize build deploy/prod | rewrite-probes patches --into " + wrapper + " -"
	gates := []gate{
		// What `shell: bash` means: https://docs.github.com/actions/reference/workflows-and-actions/workflow-syntax
		{"GitHub", wrapper, base, []string{"bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run}, write},
		// In the shell of GitLab's runner.
		{"GitLab", wrapper, base, []string{"bash", "-eo", "pipefail", "-c", strings.Join(job.Script, "\n")}, write},
		{"Helm", "release.yaml", "charts/web/values.yaml", []string{"bash", "-eo", "pipefail", "-c", helm}, strings.Replace(helm, " -l --exit-code", "", 1)},
	}
	return append(gates, gate{"pre-commit", wrapper, base, []string{"pre-commit", "run", "--all-files"}, write})
}

// checkInstalled wants the versions that the project is tested with.
func checkInstalled(t *testing.T, h *harness, lines string) {
	t.Helper()
	pinned := regexp.MustCompile(`sigs\.k8s\.io/kustomize/kustomize/v5 (v\S+)`).FindSubmatch(readFile(t, filepath.Join(h.source, "tools", "go.mod")))
	if pinned == nil {
		t.Fatal("tools/go.mod has no kustomize")
	}
	for _, want := range []string{
		"go install sigs.k8s.io/kustomize/kustomize/v5@" + string(pinned[1]),
		"go install github.com/rewrite-probes/rewrite-probes/cmd/rewrite-probes@" + version,
	} {
		if !slices.Contains(strings.Split(strings.TrimSpace(lines), "\n"), want) {
			t.Errorf("must have the line %q:\n%s", want, lines)
		}
	}
}

// repositoryWithPatches returns a folder with what the gates name: a kustomization with the patches for it, and a chart
// with a release.
func repositoryWithPatches(t *testing.T, h *harness) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"deploy/prod/kustomization.yaml": "resources: [web.yaml]\n",
		"deploy/prod/web.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: shop/web:1.0
        ports: [{containerPort: 8080}]
        readinessProbe: {httpGet: {path: /ready, port: 8080}}
`,
		"release.yaml": "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: shop}\nspec:\n  interval: 10m\n",
	} {
		writeFile(t, filepath.Join(dir, name), text)
	}
	chart := filepath.Join(dir, "charts", "web")
	if err := os.CopyFS(chart, os.DirFS(filepath.Join(h.source, "examples", "helm", "chart"))); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "values.yaml"), "image: shop/web:2.0\n")
	hooks := readFile(t, filepath.Join(h.source, "examples", "ci", "patches-pre-commit.yaml"))
	writeFile(t, filepath.Join(dir, ".pre-commit-config.yaml"), string(hooks))
	inShell(t, h, dir, `mkdir deploy/prod-probes
kustomize build deploy/prod | rewrite-probes patches --resource ../prod - >deploy/prod-probes/kustomization.yaml
helm template web charts/web --namespace shop -f values.yaml | rewrite-probes patches --into release.yaml -
git init --quiet
git add --all`)
	return dir
}

// inShell runs commands, none of which may fail.
func inShell(t *testing.T, h *harness, dir, commands string) {
	t.Helper()
	if out, code := (gate{command: []string{"bash", "-eo", "pipefail", "-c", commands}}).run(t, h, dir); code != 0 {
		t.Fatalf("%s:\n%s", commands, out)
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
