package delivery

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// brokenPod is a manifest in which `check` finds something for certain, and for which
// probe-proxy answers, since Istio's sidecar listens elsewhere.
const brokenPod = `apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {sidecar.istio.io/inject: "true"}
  annotations: {proxy.istio.io/config: "{statusPort: 15030}"}
spec:
  containers:
  - name: web
    image: shop/web:1.0
    readinessProbe:
      httpGet: {path: /ready, port: 8080}
`

// tagged returns a repository that holds the checkout, tagged as a release.
func tagged(t *testing.T, h *harness) string {
	t.Helper()
	repository := filepath.Join(t.TempDir(), "repository")
	if err := os.CopyFS(repository, os.DirFS(h.source)); err != nil {
		t.Fatal(err)
	}
	if err := h.commit(repository); err != nil {
		t.Fatal(err)
	}
	return repository
}

// user returns a folder in which a broken manifest is committed, and its folder
// deploy/.
func user(t *testing.T, h *harness) (dir, deploy string) {
	t.Helper()
	dir = t.TempDir()
	deploy = filepath.Join(dir, "deploy")
	if err := os.Mkdir(deploy, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(deploy, "web.yaml"), []byte(brokenPod), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "--all"}} {
		if _, err := h.run(dir, "git", args...); err != nil {
			t.Fatal(err)
		}
	}
	return dir, deploy
}

// TestThePreCommitHooksBuildTheVersionTheyArePinnedTo runs pre-commit itself. It
// clones without tags, so the build knows its release from the source alone.
func TestThePreCommitHooksBuildTheVersionTheyArePinnedTo(t *testing.T) {
	testutil.Need(t, "pre-commit")
	h := setUp(t)
	example, err := os.ReadFile(filepath.Join(h.source, "examples", "ci", "pre-commit.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const upstream = "https://github.com/rewrite-probes/rewrite-probes"
	if !strings.Contains(string(example), upstream+"\n  rev: "+version+"\n") {
		t.Fatalf("examples/ci/pre-commit.yaml must take %s of %s", version, upstream)
	}
	both := strings.Replace(string(example), upstream, "file://"+tagged(t, h), 1) +
		"  - id: rewrite-probes\n    args: [deploy]\n    stages: [manual]\n"
	dir, deploy := user(t, h)
	if err := os.WriteFile(filepath.Join(dir, ".pre-commit-config.yaml"), []byte(both), 0o666); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, error) {
		cmd := exec.Command("pre-commit", append([]string{"run", "--all-files"}, args...)...)
		cmd.Dir = dir
		// Without flags that this machine may have set: a user has none.
		cmd.Env = append(os.Environ(), append(h.env(), "GOFLAGS=", "PRE_COMMIT_HOME="+filepath.Join(h.dir, "pre-commit"))...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("rewrite-probes-check"); err == nil || !strings.Contains(out, "[would-fail]") {
		t.Errorf("the gate must find the probe: %v\n%s", err, out)
	}
	if out, err := run("rewrite-probes", "--hook-stage", "manual"); err == nil || !strings.Contains(out, "files were modified by this hook") {
		t.Errorf("the hook must rewrite the probe: %v\n%s", err, out)
	}
	if text, err := os.ReadFile(filepath.Join(deploy, "web.yaml")); err != nil || !strings.Contains(string(text), "image: ghcr.io/rewrite-probes/probe-proxy:"+version+"\n") {
		t.Errorf("the image must be that of %s: %v\n%s", version, err, text)
	}
	if out, err := run("rewrite-probes-check"); err != nil {
		t.Errorf("the gate must pass: %v\n%s", err, out)
	}
}

// TestTheActionBuildsTheVersionItIsPinnedTo runs what action.yml runs, from a
// copy of the source without git, as the runner unpacks it.
func TestTheActionBuildsTheVersionItIsPinnedTo(t *testing.T) {
	h := setUp(t)
	var action struct {
		Runs struct {
			Steps []struct {
				Run string
				Env map[string]string
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(h.source, "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &action); err != nil {
		t.Fatal(err)
	}
	step := action.Runs.Steps[len(action.Runs.Steps)-1]
	for ref, want := range map[string]string{
		version:  "rewrite-probes " + version,
		"v1.2.3": "rewrite-probes v1.2.3",
		// A commit, and what the runner says of an action in the same repository.
		"3d3c42e5aac5ba805825da76410c181273ba90b1": "rewrite-probes 3d3c42e5aac5ba805825da76410c181273ba90b1",
		"": "rewrite-probes dev",
	} {
		t.Run(ref, func(t *testing.T) {
			dir, _ := user(t, h)
			temp := t.TempDir()
			values := map[string]string{
				"inputs.path": "deploy", "inputs.config": "", "inputs.strict": "false", "inputs.sarif": "probes.sarif",
				"github.action_path": h.source, "github.action_ref": ref, "runner.temp": temp,
			}
			cmd := exec.Command("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step.Run)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), append(h.env(), "GOFLAGS=-buildvcs=false")...)
			for name, value := range step.Env {
				cmd.Env = append(cmd.Env, name+"="+expression.ReplaceAllStringFunc(value, func(e string) string {
					v, ok := values[expression.FindStringSubmatch(e)[1]]
					if !ok {
						t.Errorf("the runner has no value of %s here", e)
					}
					return v
				}))
			}
			if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "[would-fail]") {
				t.Errorf("the gate must find the probe: %v\n%s", err, out)
			}
			out, err := h.run(dir, filepath.Join(temp, "rewrite-probes"), "version")
			if err != nil || strings.TrimSpace(out) != want {
				t.Errorf("the program is %q (%v), want %q", out, err, want)
			}
			if sarif, err := os.ReadFile(filepath.Join(dir, "probes.sarif")); err != nil || !strings.Contains(string(sarif), "deploy/web.yaml") {
				t.Errorf("the findings must be in probes.sarif: %v", err)
			}
		})
	}
}

// TestTheJobOfGitLabRuns runs the lines of the job as GitLab's runner does, in
// one shell that ends at the first that fails.
func TestTheJobOfGitLabRuns(t *testing.T) {
	h := setUp(t)
	env, err := h.proxyEnv()
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Probes struct {
			BeforeScript []string `yaml:"before_script"`
			Script       []string
		}
	}
	if err := yaml.Unmarshal(readFile(t, filepath.Join(h.source, "examples", "ci", "gitlab.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	lines := strings.Join(append(file.Probes.BeforeScript, file.Probes.Script...), "\n")
	dir, deploy := user(t, h)
	run := func() (string, error) {
		cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c", lines)
		cmd.Dir = dir
		// In the image, what Go installs is on PATH.
		cmd.Env = append(append(os.Environ(), env...), "PATH="+filepath.Join(h.dir, "installed")+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(); err == nil || !strings.Contains(out, "[would-fail]") || !strings.Contains(out, "\n+      httpGet: {path: /app-health/web/readyz, port: 15099}") {
		t.Errorf("the job must fail with the finding and the diff: %v\n%s", err, out)
	}
	if report := string(readFile(t, filepath.Join(dir, "probes.xml"))); !strings.Contains(report, `failures="1"`) {
		t.Errorf("probes.xml must have the finding:\n%s", report)
	}
	if _, err := h.run(dir, filepath.Join(h.bin, "rewrite-probes"), "-w", deploy); err != nil {
		t.Fatal(err)
	}
	if out, err := run(); err != nil {
		t.Errorf("the job must pass: %v\n%s", err, out)
	}
}

// expression is an expression of a workflow.
var expression = regexp.MustCompile(`\$\{\{ ([a-z_.]+) \}\}`)
