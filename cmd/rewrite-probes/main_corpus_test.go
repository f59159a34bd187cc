package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

const corpusScript = "../../build/corpus.sh"

// pin is a line of build/corpus.sh: name, repository, commit, checksum, paths.
var pin = regexp.MustCompile(`(?m)^(\w+) (\S+/\S+) ([0-9a-f]{40}) ([0-9a-f]{64}) `)

// TestTheRealWorldManifestsAreThoseOfThePins: everyone tests with the same files.
func TestTheRealWorldManifestsAreThoseOfThePins(t *testing.T) {
	script, err := os.ReadFile(corpusScript)
	if err != nil {
		t.Fatal(err)
	}
	pins := pin.FindAllSubmatch(script, -1)
	if len(pins) != 4 {
		t.Fatalf("build/corpus.sh has %d pins", len(pins))
	}
	for _, m := range pins {
		name := string(m[1]) + ".yaml"
		if got := checksum(testutil.CorpusFile(t, "../..", name)); got != string(m[4]) {
			t.Errorf("%s has the checksum %s, and build/corpus.sh wants %s", name, got, m[4])
		}
	}
}

// TestTheRealWorldManifestsAreFetched runs build/corpus.sh with small repositories of
// the same layout, at their own commits.
func TestTheRealWorldManifestsAreFetched(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", os.Getenv("PATH")+string(os.PathListSeparator)+filepath.Join(root, "bin"))
	for _, program := range []string{"bash", "git", "sha256sum", "kustomize"} {
		testutil.Need(t, program)
	}
	const pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n"
	sources := map[string]map[string]string{
		"argocd":   {"manifests/install.yaml": "argo: cd\n"},
		"msdemo":   {"release/kubernetes-manifests.yaml": "ms: demo\n"},
		"kubeprom": {"manifests/a.yaml": "a: 1\n", "manifests/Z.yaml": "Z: 1\n", "manifests/setup/A.yaml": "A: 1\n"},
		"kubeflow": {
			"example/kustomization.yaml": "resources:\n- ../common/pod\n- ../applications/pipeline/overlays  # elsewhere\n- ../applications/trainer/overlays\n",
			"common/pod/pod.yaml":        pod, "common/pod/kustomization.yaml": "resources: [pod.yaml]\n",
			"applications/README.md": "Pipelines and Trainer.\n",
		},
	}
	want := map[string]string{
		"argocd": "argo: cd\n", "msdemo": "ms: demo\n", "kubeflow": pod,
		"kubeprom": "---\nZ: 1\n\n---\na: 1\n\n---\nA: 1\n\n",
	}
	script, err := os.ReadFile(corpusScript)
	if err != nil {
		t.Fatal(err)
	}
	remote, dir, changed := t.TempDir(), filepath.Join(t.TempDir(), "corpus"), filepath.Join(t.TempDir(), "corpus.sh")
	text := pin.ReplaceAllStringFunc(string(script), func(line string) string {
		m := pin.FindStringSubmatch(line)
		commit := commitFiles(t, filepath.Join(remote, m[2]), sources[m[1]])
		return fmt.Sprintf("%s %s %s %s ", m[1], m[2], commit, checksum([]byte(want[m[1]])))
	})
	if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	fetch := func(remote string) (string, error) {
		cmd := exec.Command("bash", changed, dir)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "CORPUS_REMOTE=file://"+remote)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	file := func(name string) string { return filepath.Join(dir, name+".yaml") }

	if out, err := fetch(remote); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, want := range want {
		if got, err := os.ReadFile(file(name)); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v, want %q", name, got, err, want)
		}
	}
	nowhere := filepath.Join(remote, "nowhere")
	if out, err := fetch(nowhere); err != nil {
		t.Errorf("with all files in place: %v: %s", err, out)
	}
	if err := os.WriteFile(file("msdemo"), []byte("ms: changed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := fetch(nowhere); err == nil || !strings.Contains(out, "nowhere/GoogleCloudPlatform/microservices-demo") {
		t.Errorf("with a changed file and no server: %v: %s", err, out)
	}

	// The repository has another file than the checksum says.
	right, wrong := checksum([]byte(want["msdemo"])), checksum([]byte("ms: expected\n"))
	if err := os.WriteFile(changed, []byte(strings.Replace(text, right, wrong, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file("msdemo")); err != nil {
		t.Fatal(err)
	}
	message := fmt.Sprintf("%s is not written: the checksum of what GoogleCloudPlatform/microservices-demo has is %s, want %s\n", file("msdemo"), right, wrong)
	if out, err := fetch(remote); err == nil || !strings.HasSuffix(out, message) {
		t.Errorf("with a wrong checksum: %v: %s, want %s", err, out, message)
	}
	if _, err := os.Stat(file("msdemo")); !os.IsNotExist(err) {
		t.Errorf("a file with a wrong checksum is left: %v", err)
	}
}

// commitFiles makes a repository of files, and returns its only commit.
func commitFiles(t *testing.T, repository string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(repository, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) string {
		out, err := testutil.Output(exec.Command("git", append([]string{"-C", repository}, args...)...))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	git("config", "uploadpack.allowFilter", "true")
	git("add", ".")
	git("-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgSign=false", "commit", "-q", "-m", "test")
	return git("rev-parse", "HEAD")
}

func checksum(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }
