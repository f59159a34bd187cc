// Package patches has what `rewrite-probes patches` writes built by the programs that its users have: kustomize, kubectl,
// the kustomize library of Flux' kustomize-controller, and the code of Argo CD's repo-server.
package patches

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/git"
	argocd "github.com/argoproj/argo-cd/v3/util/kustomize"
	flux "github.com/fluxcd/pkg/kustomize"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	kubectl "k8s.io/kubectl/pkg/cmd/kustomize"
	"sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// A renderer builds a folder of a repository, for what a resource of it says: an Application, a Kustomization, or
// nothing.
type renderer struct {
	name  string
	build func(t *testing.T, repository, folder string, resource []byte) []byte
}

var renderers = []renderer{{"kustomize", withKustomize}, {"kubectl", withKubectl}, {"Flux", withFlux}, {"Argo CD", withArgoCD}}

func withKustomize(t *testing.T, repository, folder string, _ []byte) []byte {
	return run(t, repository, nil, kustomize(t), "build", folder)
}

func withKubectl(t *testing.T, repository, folder string, _ []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	cmd := kubectl.NewCmdKustomize(genericiooptions.IOStreams{Out: &out, ErrOut: os.Stderr})
	cmd.SetArgs([]string{filepath.Join(repository, folder)})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// withFlux does what kustomize-controller does with a Kustomization: its generator writes the patches into the
// kustomization of a copy of the folder, which its own restricted kustomize builds.
func withFlux(t *testing.T, repository, folder string, resource []byte) []byte {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS(repository)); err != nil {
		t.Fatal(err)
	}
	object := unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	if resource != nil {
		decode(t, resource, &object.Object)
	}
	dir := filepath.Join(root, folder)
	if _, err := flux.NewGenerator(root, object).WriteFile(dir); err != nil {
		t.Fatal(err)
	}
	built, err := flux.SecureBuild(root, dir, false)
	if err != nil {
		t.Fatal(err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// withArgoCD does what the repo-server does with the source of an Application.
func withArgoCD(t *testing.T, repository, folder string, resource []byte) []byte {
	t.Helper()
	root := t.TempDir() // the repo-server edits kustomizations in place
	if err := os.CopyFS(root, os.DirFS(repository)); err != nil {
		t.Fatal(err)
	}
	var application v1alpha1.Application
	options := new(v1alpha1.ApplicationSourceKustomize)
	if resource != nil {
		if err := yaml.UnmarshalStrict(resource, &application); err != nil {
			t.Fatal(err)
		}
		if options = application.Spec.Source.Kustomize; options == nil {
			t.Fatal("the Application has no patches")
		}
	}
	app := argocd.NewKustomizeApp(root, filepath.Join(root, folder), git.NopCreds{}, "", kustomize(t), "", "")
	objects, _, _, err := app.Build(options, nil, nil, &argocd.BuildOpts{})
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	for _, o := range objects {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "---\n%s", text)
	}
	return all.Bytes()
}

// TestRenderers_wrapped has the finished build of every real-world render wrapped by the patches for it.
func TestRenderers_wrapped(t *testing.T) {
	forEachBase(t, func(t *testing.T, repository string, render, want []byte) {
		wrapper := filepath.Join(repository, "prod-probes", "kustomization.yaml")
		write(t, wrapper, run(t, repository, render, program(t), "patches", "--config", "none", "--resource", "../prod", "-"))
		for _, r := range renderers {
			compare(t, r.name, r.build(t, repository, "prod-probes", nil), want)
		}
	})
}

// TestRenderers_into has the patches in the resource that users of Argo CD and Flux have already.
func TestRenderers_into(t *testing.T) {
	resources := map[string]string{
		"Argo CD": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec:\n  destination: {namespace: shop}\n  project: default\n" +
			"  source:\n    repoURL: file:///prod\n    path: prod\n",
		"Flux": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: web}\nspec: {path: ./prod, prune: true, interval: 10m, sourceRef: {kind: GitRepository, name: prod}}\n",
	}
	forEachBase(t, func(t *testing.T, repository string, render, want []byte) {
		for _, r := range renderers {
			text, found := resources[r.name]
			if !found {
				continue
			}
			file := filepath.Join(t.TempDir(), "resource.yaml")
			write(t, file, []byte(text))
			run(t, repository, render, program(t), "patches", "--config", "none", "--into", file, "-")
			patched, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, r.name, r.build(t, repository, "prod", patched), want)
			run(t, repository, render, program(t), "patches", "--config", "none", "--into", file, "-l", "--exit-code", "-")
			run(t, repository, nil, program(t), "restore", "-w", file)
			if restored, err := os.ReadFile(file); err != nil || !sameValue(t, restored, []byte(text)) {
				t.Errorf("%s: restore leaves\n%s", r.name, restored)
			}
		}
	})
}

// forEachBase runs a test on a repository with the folder prod for each render of others, with what kustomize builds of
// it, and with what the function makes of that.
func forEachBase(t *testing.T, test func(t *testing.T, repository string, render, want []byte)) {
	for _, file := range bases(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			repository := t.TempDir()
			write(t, filepath.Join(repository, "prod", "all.yaml"), text)
			write(t, filepath.Join(repository, "prod", "kustomization.yaml"), []byte("resources: [all.yaml]\n"))
			render := run(t, repository, nil, kustomize(t), "build", "prod")
			test(t, repository, render, run(t, repository, render, program(t), "--config", "none", "-"))
		})
	}
}

// bases returns the real-world renders.
func bases(t *testing.T) []string {
	t.Helper()
	dir := os.Getenv("REWRITE_PROBES_CORPUS")
	if dir == "" {
		dir = filepath.Join(root(t), "..", "shared", "corpus")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("no real-world manifests in %s: make corpus fetches them, REWRITE_PROBES_CORPUS says where they are", dir)
	}
	return files
}

func compare(t *testing.T, name string, got, want []byte) {
	t.Helper()
	if diff := cmp.Diff(objects(t, want), objects(t, got)); diff != "" {
		t.Errorf("%s builds something else than the function writes (-want +got):\n%.4000s", name, diff)
	}
}

// objects returns the objects of a stream by their names, without the annotation for restore, which patches do not write.
func objects(t *testing.T, text []byte) map[string]map[string]any {
	t.Helper()
	all, err := testutil.Objects(text, func(doc []byte, into any) error { return yaml.Unmarshal(doc, into) })
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func sameValue(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	decode(t, a, &x)
	decode(t, b, &y)
	return cmp.Equal(x, y)
}

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func kustomize(t *testing.T) string { return filepath.Join(root(t), "bin", "kustomize") }

var built string // the folder with the program

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "renderers")
	if err != nil {
		panic(err)
	}
	built = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// program returns the command, which is built once.
func program(t *testing.T) string {
	t.Helper()
	file := filepath.Join(built, "rewrite-probes")
	if _, err := os.Stat(file); err != nil {
		run(t, root(t), nil, "go", "build", "-o", file, "./cmd/rewrite-probes")
	}
	return file
}

func run(t *testing.T, dir string, input []byte, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(input)
	out, err := testutil.Output(cmd)
	if err != nil {
		t.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	return out
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o666); err != nil {
		t.Fatal(err)
	}
}
