package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/release"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

const workflows = "../../.github/workflows"

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

func readWorkflow(t *testing.T, name string) workflow {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(workflows, name))
	if err != nil {
		t.Fatal(err)
	}
	var w workflow
	if err := yaml.Unmarshal(text, &w); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestAReleaseWaitsForEveryProof: what the gate leaves out has a job of its own, and a
// release waits for all jobs.
func TestAReleaseWaitsForEveryProof(t *testing.T) {
	workflow, ci := readWorkflow(t, "release.yaml"), readWorkflow(t, "ci.yaml")
	if got := workflow.Jobs["release"].Needs; !slices.Contains(got, "proofs") || workflow.Jobs["proofs"].Uses != "./.github/workflows/ci.yaml" {
		t.Errorf("the release needs %q and proofs are %q, want all of ci.yaml", got, workflow.Jobs["proofs"].Uses)
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
	skip := regexp.MustCompile(`(?m)^SKIP="([^"]*)" .*\.ci/run$`).FindStringSubmatch(all)
	if skip == nil {
		t.Fatalf("no job runs .ci/run:\n%s", all)
	}
	if none := testutil.CorpusEnv + "=none"; strings.Contains(all, none) {
		t.Errorf("a job does without the real-world manifests: %s", none)
	}
	known := stepsThatCanBeLeftOut(t)
	for _, left := range strings.Fields(skip[1]) {
		if !slices.Contains(known, left) {
			t.Errorf("%s is left out of the gate, and .ci/run knows no such step: %q", left, known)
			continue
		}
		commands := commandsOf(t, left)
		if len(commands) == 0 {
			t.Errorf("%s is left out of the gate, and runs nothing that another job could run", left)
		}
		for _, command := range commands {
			if !regexp.MustCompile(`(?m)\b` + regexp.QuoteMeta(command) + `$`).MatchString(all) {
				t.Errorf("%s is left out of the gate, and no job runs %s", left, command)
			}
		}
	}
}

// commandsOf returns what .ci/run makes unless a step is left out. A job of its own has
// time for all attacks.
func commandsOf(t *testing.T, step string) []string {
	t.Helper()
	text, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	for _, block := range regexp.MustCompile(`(?ms)^if ! left_out `+step+`; then\n(.*?)^fi$`).FindAllStringSubmatch(string(text), -1) {
		for _, m := range regexp.MustCompile(`(?m)\bstep '[^']*' (make .*)$`).FindAllStringSubmatch(block[1], -1) {
			commands = append(commands, strings.TrimSuffix(m[1], " ATTACKFLAGS=-short"))
		}
	}
	return commands
}

// stepsThatCanBeLeftOut returns the steps that .ci/run says SKIP may name. They
// must be those that it asks for.
func stepsThatCanBeLeftOut(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	comment := regexp.MustCompile(`(?m)^# The steps that can be left out are (.*)\.$`).FindSubmatch(text)
	if comment == nil {
		t.Fatal(".ci/run must say which steps can be left out")
	}
	said := strings.FieldsFunc(strings.ReplaceAll(string(comment[1]), " and ", ", "), func(r rune) bool { return r == ',' || r == ' ' })
	var asked []string
	for _, m := range regexp.MustCompile(`(?m)^(?:if )?!? ?left_out (\w+)`).FindAllSubmatch(text, -1) {
		asked = append(asked, string(m[1]))
	}
	slices.Sort(said)
	slices.Sort(asked)
	if !slices.Equal(said, asked) {
		t.Errorf(".ci/run says that %q can be left out, and asks for %q", said, asked)
	}
	return said
}

// TestEveryActionIsPinned reads the workflows, and what users copy: a tag of an
// action can be moved by anyone who owns it, a commit cannot.
func TestEveryActionIsPinned(t *testing.T) {
	uses := regexp.MustCompile(`(?m)^\s*(?:- )?uses: (\S+)(.*)$`)
	pinned := regexp.MustCompile(`^[\w./-]+@[0-9a-f]{40}$`)
	version := regexp.MustCompile(`^ # v\d+\.\d+\.\d+$`)
	image, _ := release.Image()
	_, next, _ := strings.Cut(image, ":")
	all := func(string) bool { return true }
	n := 0
	for _, path := range slices.Concat([]string{"../../action.yml"},
		filesBelow(t, workflows, all), filesBelow(t, "../../examples/ci", all), filesBelow(t, "../../examples/flux", all)) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range uses.FindAllStringSubmatch(string(text), -1) {
			n++
			if strings.HasPrefix(m[1], "./") || m[1] == "rewrite-probes/rewrite-probes@"+next {
				continue
			}
			if !pinned.MatchString(m[1]) || !version.MatchString(m[2]) {
				t.Errorf("%s: %s must be pinned by its commit, with the version as a comment", path, m[1])
			}
		}
		if strings.HasPrefix(path, workflows) && !strings.Contains(string(text), "\npermissions:") {
			t.Errorf("%s must say its permissions", path)
		}
	}
	if n < 20 {
		t.Errorf("only %d actions were found", n)
	}
}

// TestWhatStartsGoroutinesIsTestedForRaces: the Makefile names the packages, since tests
// of the others, of one goroutine each, take ten times as long and find nothing.
func TestWhatStartsGoroutinesIsTestedForRaces(t *testing.T) {
	const root = "../.."
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^RACE_TESTS = (.*)$`).FindSubmatch(makefile)
	if list == nil {
		t.Fatal("the Makefile has no RACE_TESTS")
	}
	tested := strings.Fields(string(list[1]))
	starts := regexp.MustCompile(`(?m)^\s*go (func\b|[\w.]+\()`)
	found := 0
	for _, top := range []string{"cmd", "fn", "internal", "transformer"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil || !starts.Match(text) {
				return err
			}
			dir, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil || strings.HasPrefix(dir, "internal/testutil") {
				return err
			}
			found++
			if !slices.ContainsFunc(tested, func(p string) bool {
				all, below := strings.CutSuffix(p, "/...")
				return p == "./"+dir || below && strings.HasPrefix("./"+dir+"/", all+"/")
			}) && dir != "cmd/rewrite-probes" { // of which only some tests have to do with its goroutine
				t.Errorf("%s starts goroutines, and RACE_TESTS of the Makefile has %q", path, tested)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 5 {
		t.Errorf("only %d files that start goroutines were found", found)
	}
}
