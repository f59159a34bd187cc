package delivery

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// A workflow is the part of a GitHub workflow that says what runs before what.
type workflow struct {
	Jobs map[string]struct {
		Uses  string
		Needs stringOrList
		If    string
		Steps []struct {
			Run             string
			Uses            string
			ContinueOnError any `yaml:"continue-on-error"`
		}
	}
}

type stringOrList []string

func (s *stringOrList) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*s = []string{n.Value}
		return nil
	}
	return n.Decode((*[]string)(s))
}

func readWorkflow(t *testing.T, h *home, name string) workflow {
	t.Helper()
	var w workflow
	if err := yaml.Unmarshal(readFile(t, filepath.Join(h.source, ".github", "workflows", name)), &w); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestAReleaseWaitsForEveryProof: what the gate leaves out has a job of its own
// that runs it, unless it cannot run on a hosted machine; and a release waits for all jobs.
func TestAReleaseWaitsForEveryProof(t *testing.T) {
	h := house(t)
	release, ci := readWorkflow(t, h, "release.yaml"), readWorkflow(t, h, "ci.yaml")
	if got := release.Jobs["release"].Needs; !slices.Contains(got, "proofs") || release.Jobs["proofs"].Uses != "./.github/workflows/ci.yaml" {
		t.Errorf("the release needs %q and proofs are %q, want all of ci.yaml", got, release.Jobs["proofs"].Uses)
	}
	var commands []string
	for name, job := range ci.Jobs {
		if job.If != "" {
			t.Errorf("the job %s runs only if %s", name, job.If)
		}
		for _, s := range job.Steps {
			if s.ContinueOnError != nil {
				t.Errorf("a step of the job %s may fail", name)
			}
			commands = append(commands, s.Run)
		}
	}
	all := strings.Join(commands, "\n")
	skip := regexp.MustCompile(`(?m)^SKIP="([^"]*)" \.ci/run$`).FindStringSubmatch(all)
	if skip == nil {
		t.Fatalf("no job runs .ci/run:\n%s", all)
	}
	notHosted := []string{"kpt", "corpus", "bench"}
	for _, left := range strings.Fields(skip[1]) {
		if !slices.Contains(notHosted, left) && !regexp.MustCompile(`(?m)\bmake `+left+`$`).MatchString(all) {
			t.Errorf("%s is left out of the gate, and no job runs it", left)
		}
	}
}

// TestActionsArePinned: an action is named by its commit, in the workflows and in
// the examples that users copy.
func TestActionsArePinned(t *testing.T) {
	h := house(t)
	files := []string{filepath.Join(h.source, "action.yml")}
	for _, pattern := range []string{".github/workflows/*.yaml", "examples/ci/*.yaml", "examples/flux/*.yaml"} {
		found, err := filepath.Glob(filepath.Join(h.source, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s finds nothing: %v", pattern, err)
		}
		files = append(files, found...)
	}
	uses := regexp.MustCompile(`(?m)^\s*-? ?uses: (\S+)(.*)$`)
	for _, file := range files {
		for _, m := range uses.FindAllStringSubmatch(string(readFile(t, file)), -1) {
			own := strings.HasPrefix(m[1], "./") || m[1] == "rewrite-probes/rewrite-probes@"+version
			if !own && !regexp.MustCompile(`^[\w./-]+@[0-9a-f]{40}$`).MatchString(m[1]) {
				t.Errorf("%s: %s must be pinned by its commit", filepath.Base(file), m[1])
			}
			if !own && !regexp.MustCompile(`^ # v\d+\.\d+\.\d+$`).MatchString(m[2]) {
				t.Errorf("%s: %s must be followed by its version", filepath.Base(file), m[1])
			}
		}
	}
}
