package delivery

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// TestCommandsOfTheDocumentationRun executes every block of commands (```sh)
// of the documentation, one document after the other, each in a copy of the
// checkout. What a block adds to PATH is there for the blocks after it. README begins
// as a reader does, with Go, make and git; all other documents, where the programs and
// kustomize are installed. A comment on the line before a block says what is special about it:
//
//	<!-- run in: FOLDER -->     not in the checkout's root; relative to it
//	<!-- with: helm4 -->        `helm` is Helm 4
//	<!-- not run: REASON -->    it cannot run here
func TestCommandsOfTheDocumentationRun(t *testing.T) {
	h := setUp(t)
	for _, doc := range documents(t, h.source) {
		name, err := filepath.Rel(h.source, doc)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		blocks, err := commandBlocks(string(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(blocks) == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			copy := filepath.Join(t.TempDir(), "rewrite-probes")
			if err := os.CopyFS(copy, os.DirFS(h.source)); err != nil {
				t.Fatal(err)
			}
			path := h.bin + string(os.PathListSeparator) + os.Getenv("PATH")
			if name == "README.md" {
				path = bare(t, copy)
			}
			for _, b := range blocks {
				t.Run(fmt.Sprintf("line %d", b.line), func(t *testing.T) { path = b.run(t, h, copy, path) })
			}
		})
	}
}

// bare returns a PATH without any program that the text has to install, and takes out of
// a copy of the checkout what was built, but for kustomize, which takes minutes.
func bare(t *testing.T, checkout string) string {
	t.Helper()
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	dirs := []string{filepath.Join(strings.TrimSpace(string(goroot)), "bin"), "/usr/bin", "/bin"}
	for _, program := range []string{"rewrite-probes", "kustomize"} {
		for _, dir := range dirs {
			if _, err := os.Stat(filepath.Join(dir, program)); err == nil {
				t.Fatalf("%s must not be in %s, or README is not tested as a reader finds it", program, dir)
			}
		}
	}
	built, err := filepath.Glob(filepath.Join(checkout, "bin", "probe-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(built, filepath.Join(checkout, "bin", "rewrite-probes")) {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Join(dirs, string(os.PathListSeparator))
}

// documents lists what people read.
func documents(t *testing.T, root string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch rel {
			case ".git", "bin", "testdata", "test":
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) == ".md" {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A block is one block of commands.
type block struct {
	line     int // of its first command
	commands string
	folder   string
	helm4    bool
	notRun   string
}

var (
	directive = regexp.MustCompile(`^\s*<!-- (run in|with|not run): (.+) -->$`)
	fence     = regexp.MustCompile("^(\\s*)```(\\w*)$")
	// A command in an indented block would escape the test.
	escaped = regexp.MustCompile(`^    (make|go|kustomize|kubectl|kpt|helm|docker|podman|rewrite-probes) `)
)

// commandBlocks finds the blocks of commands in a document.
func commandBlocks(text string) ([]block, error) {
	var blocks []block
	var next block // what the directives said of the next block
	var open *block
	inFence, indent := false, ""
	for i, line := range strings.Split(text, "\n") {
		if m := fence.FindStringSubmatch(line); m != nil {
			if inFence && open != nil {
				blocks = append(blocks, *open)
			}
			if inFence = !inFence; !inFence {
				open = nil
				continue
			}
			indent = m[1]
			if m[2] == "bash" || m[2] == "shell" || m[2] == "console" {
				return nil, fmt.Errorf("line %d: a block of commands must be marked sh", i+1)
			}
			if m[2] == "sh" {
				b := next
				b.line = i + 2
				open = &b
			}
			next = block{}
			continue
		}
		switch m := directive.FindStringSubmatch(line); {
		case open != nil:
			open.commands += strings.TrimPrefix(line, indent) + "\n"
		case inFence:
		case m != nil && m[1] == "run in":
			next.folder = m[2]
		case m != nil && m[1] == "not run":
			next.notRun = m[2]
		case m != nil && m[2] == "helm4":
			next.helm4 = true
		case m != nil:
			return nil, fmt.Errorf("line %d: %q must be helm4", i+1, m[2])
		case escaped.MatchString(line):
			return nil, fmt.Errorf("line %d: commands must stand in a block marked sh, so that they are tested", i+1)
		case strings.TrimSpace(line) != "":
			next = block{}
		}
	}
	if inFence {
		return nil, fmt.Errorf("a fence is not closed")
	}
	return blocks, nil
}

// needs lists what must be installed or built for commands that match.
var needs = []struct {
	command *regexp.Regexp
	program string
	build   func(*harness) error
}{
	{regexp.MustCompile(`\bkpt\b`), "kpt", nil},
	{regexp.MustCompile(`--image\b|/container\b|\b(docker|podman|kpt fn doc)\b`), "podman", func(h *harness) error { return h.images() }},
	{regexp.MustCompile(`ENGINE=podman`), "podman", nil},
	{regexp.MustCompile(`\bhelm\b`), "", func(h *harness) error { return h.helms() }},
	{regexp.MustCompile(`/releases/download/`), "", func(h *harness) error { return h.release() }},
}

// goInstall installs a release of this module.
var goInstall = regexp.MustCompile(`\bgo install\b`)

// run runs the commands with a PATH, and returns the PATH as they leave it.
func (b *block) run(t *testing.T, h *harness, checkout, path string) string {
	if b.notRun != "" {
		t.Skip(b.notRun)
	}
	for _, n := range needs {
		if !n.command.MatchString(b.commands) {
			continue
		}
		if n.program != "" {
			testutil.Need(t, n.program)
		}
		if n.build != nil {
			if err := n.build(h); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	after := filepath.Join(t.TempDir(), "path")
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", b.commands+"\nprintf %s \"$PATH\" >'"+after+"'\n")
	cmd.Dir = filepath.Join(checkout, b.folder)
	// What commands leave in the user's home stays in the copy, except for what
	// Go has downloaded and built.
	env := append(os.Environ(), h.env()...)
	for _, v := range []string{"GOPATH", "GOMODCACHE", "GOCACHE"} {
		value, err := h.run(checkout, "go", "env", v)
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, v+"="+strings.TrimSpace(value))
	}
	env = append(env, "HOME="+filepath.Dir(checkout), "PATH="+path)
	if goInstall.MatchString(b.commands) {
		more, err := h.proxyEnv()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, more...)
	}
	if b.helm4 {
		env = append(env, "PATH="+filepath.Join(h.dir, "helm4")+string(os.PathListSeparator)+path)
	}
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s\nprinted:\n%s", err, b.commands, out)
		return path
	}
	if b.helm4 {
		return path
	}
	return string(readFile(t, after))
}

// TestLinksOfTheDocumentationLeadSomewhere follows the relative links.
func TestLinksOfTheDocumentationLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	h := setUp(t)
	for _, doc := range documents(t, h.source) {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(doc), m[1])); err != nil {
				t.Errorf("%s: the link leads nowhere: %v", strings.TrimPrefix(doc, h.source+"/"), err)
			}
		}
	}
}

func TestCommandsAreFoundInDocuments(t *testing.T) {
	const text = "Text\n\n```sh\nmake a\n```\n\n<!-- not run: needs a cluster -->\n```sh\nmake b\n```\n\n" +
		"```yaml\nmake: c\n```\n\n<!-- run in: examples -->\n\n- list\n\n<!-- run in: docs -->\n  ```sh\n  make d |\n    cat\n  ```\n"
	got, err := commandBlocks(text)
	if err != nil {
		t.Fatal(err)
	}
	want := []block{
		{line: 4, commands: "make a\n"},
		{line: 9, commands: "make b\n", notRun: "needs a cluster"},
		{line: 22, commands: "make d |\n  cat\n", folder: "docs"},
	}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	for _, bad := range []string{"```bash\nls\n```\n", "a\n\n    make test\n", "```sh\nls\n"} {
		if _, err := commandBlocks(bad); err == nil {
			t.Errorf("%q must be refused", bad)
		}
	}
}
