package delivery

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
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

// An actionRun is one run of what action.yml runs, as the runner would.
type actionRun struct {
	ref  string            // what the workflow pins the action to
	gh   string            // a script in place of GitHub's program; none is installed if empty
	dist string            // a folder with the files of the release
	git  string            // the repository
	set  map[string]string // what else the runner says, in place of Linux on X64
}

// run returns what the action printed, the program that it left, and the user's folder.
func (a actionRun) run(t *testing.T, h *harness) (out, program, dir string, err error) {
	var action struct {
		Runs struct {
			Steps []struct {
				Run string
				Env map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(readFile(t, filepath.Join(h.source, "action.yml")), &action); err != nil {
		t.Fatal(err)
	}
	step := action.Runs.Steps[len(action.Runs.Steps)-1]
	dir, _ = user(t, h)
	temp, tools := t.TempDir(), t.TempDir()
	values := map[string]string{
		"inputs.path": "deploy", "inputs.config": "", "inputs.strict": "false", "inputs.sarif": "probes.sarif",
		"github.action_path": h.source, "github.action_ref": a.ref, "github.token": "secret", "runner.temp": temp,
		"runner.os": "Linux", "runner.arch": map[string]string{"amd64": "X64", "arm64": "ARM64"}[runtime.GOARCH],
	}
	maps.Copy(values, a.set)
	// The runner's tools and no others: this machine may have a gh.
	for _, name := range []string{"awk", "bash", "cp", "git", "mkdir", "mv", "rm", "sh", "sha256sum", "tar", "gzip"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(tools, name)); err != nil {
			t.Fatal(err)
		}
	}
	scripts := map[string]string{"curl": "for url; do :; done\ncp '" + a.dist + "/'\"${url##*/}\" .\n"}
	if a.gh != "" {
		scripts["gh"] = a.gh
	}
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(tools, name), []byte("#!/bin/sh\n"+text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step.Run)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+tools, "GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=url.file://"+a.git+".insteadOf", "GIT_CONFIG_VALUE_0=https://"+modulePath)
	for name, value := range step.Env {
		cmd.Env = append(cmd.Env, name+"="+expression.ReplaceAllStringFunc(value, func(e string) string {
			v, ok := values[expression.FindStringSubmatch(e)[1]]
			if !ok {
				t.Errorf("the runner has no value of %s here", e)
			}
			return v
		}))
	}
	text, err := cmd.CombinedOutput()
	return string(text), filepath.Join(temp, "rewrite-probes"), dir, err
}

// verified is a gh that finds the provenance and notes in the folder how it was asked.
const verified = "echo \"$GH_TOKEN: $*\" >gh.log\n"

func TestTheActionRunsTheReleaseItIsPinnedTo(t *testing.T) {
	h := setUp(t)
	if err := h.release(); err != nil {
		t.Fatal(err)
	}
	dist, repository := filepath.Join(h.dir, "release", "dist"), tagged(t, h)
	commit, err := h.run(repository, "git", "rev-parse", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	for name, ref := range map[string]string{"tag": version, "commit": strings.TrimSpace(commit)} {
		t.Run(name, func(t *testing.T) {
			out, program, dir, err := actionRun{ref: ref, gh: verified, dist: dist, git: repository}.run(t, h)
			if err == nil || !strings.Contains(out, "[would-fail]") {
				t.Errorf("the gate must find the probe: %v\n%s", err, out)
			}
			if is, err := h.run(dir, program, "version"); err != nil || strings.TrimSpace(is) != "rewrite-probes "+version {
				t.Errorf("the program is %q (%v), want %s", is, err, version)
			}
			if sarif, err := os.ReadFile(filepath.Join(dir, "probes.sarif")); err != nil || !strings.Contains(string(sarif), "deploy/web.yaml") {
				t.Errorf("the findings must be in probes.sarif: %v", err)
			}
			want := "secret: attestation verify rewrite-probes_" + strings.TrimPrefix(version, "v") + "_linux_" + runtime.GOARCH +
				".tar.gz --repo rewrite-probes/rewrite-probes --signer-workflow rewrite-probes/rewrite-probes/.github/workflows/release.yaml --source-ref refs/tags/" + version + "\n"
			if asked := string(readFile(t, filepath.Join(filepath.Dir(program), "gh.log"))); asked != want {
				t.Errorf("gh was asked %q, want %q", asked, want)
			}
		})
	}
}

// TestTheActionRunsNothingUnverified: where anything is amiss there is a word about it, and no program.
func TestTheActionRunsNothingUnverified(t *testing.T) {
	h := setUp(t)
	if err := h.release(); err != nil {
		t.Fatal(err)
	}
	dist, repository, forged := filepath.Join(h.dir, "release", "dist"), tagged(t, h), t.TempDir()
	if err := os.CopyFS(forged, os.DirFS(dist)); err != nil {
		t.Fatal(err)
	}
	archives, err := filepath.Glob(filepath.Join(forged, "rewrite-probes_*.tar.gz"))
	if err != nil || len(archives) != 1 {
		t.Fatalf("%q, %v", archives, err)
	}
	if err := os.WriteFile(archives[0], append(readFile(t, archives[0]), 0), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		run  actionRun
		want string
	}{
		"another archive":   {actionRun{ref: version, gh: verified, dist: forged}, "has the checksum"},
		"no provenance":     {actionRun{ref: version, gh: "exit 1\n", dist: dist}, "Nothing shows that the release workflow of " + version},
		"no gh":             {actionRun{ref: version, dist: dist}, "the program gh, which is not on this runner"},
		"a branch's commit": {actionRun{ref: strings.Repeat("3d", 20), gh: verified, dist: dist}, "No release is at 3d3d"},
		"no version":        {actionRun{gh: verified, dist: dist}, "does not say which version"},
		"no such release":   {actionRun{ref: "v9.9.9", gh: verified, dist: dist}, "The release v9.9.9 has no rewrite-probes_9.9.9_linux_"},
		"another processor": {actionRun{ref: version, gh: verified, dist: dist, set: map[string]string{"runner.arch": "ARM"}}, "Releases have no program for ARM."},
		"another system":    {actionRun{ref: version, gh: verified, dist: dist, set: map[string]string{"runner.os": "Plan9"}}, "Releases have no program for Plan9."},
	} {
		t.Run(name, func(t *testing.T) {
			c.run.git = repository
			out, program, _, err := c.run.run(t, h)
			if err == nil || !strings.Contains(out, "::error title=rewrite-probes::") || !strings.Contains(out, c.want) {
				t.Errorf("%v, want an error with %q:\n%s", err, c.want, out)
			}
			if _, err := os.Stat(program); err == nil {
				t.Error("there is a program")
			}
		})
	}
}

// TestTheComponentIsTakenFromTheRelease builds what the README of the examples says, by
// kustomize's own clone of the repository at its tag.
func TestTheComponentIsTakenFromTheRelease(t *testing.T) {
	h := setUp(t)
	readme := string(readFile(t, filepath.Join(h.source, "examples", "kustomize", "README.md")))
	components := regexp.MustCompile("(?s)```yaml\n(components:\n- https://.*?)```").FindStringSubmatch(readme)
	if components == nil {
		t.Fatal("the README of the examples has no components from a release")
	}
	repositories := t.TempDir()
	if err := os.Symlink(tagged(t, h), filepath.Join(repositories, "rewrite-probes.git")); err != nil {
		t.Fatal(err)
	}
	_, deploy := user(t, h)
	kustomization := "resources:\n- web.yaml\n" + components[1]
	if err := os.WriteFile(filepath.Join(deploy, "kustomization.yaml"), []byte(kustomization), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := h.runWith([]string{
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_VALUE_0=https://github.com/rewrite-probes/",
		"GIT_CONFIG_KEY_0=url.file://" + repositories + "/.insteadOf",
	}, deploy, filepath.Join(h.bin, "kustomize"), "build", "--enable-alpha-plugins", "--enable-exec", ".")
	if err != nil || !strings.Contains(out, "path: /app-health/web/readyz") || !strings.Contains(out, "/probe-proxy:"+version+"\n") {
		t.Errorf("the probe must be rewritten, with probe-proxy of %s (%v):\n%s", version, err, out)
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
