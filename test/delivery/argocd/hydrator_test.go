package argocd

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	committer "github.com/argoproj/argo-cd/v3/commitserver/apiclient"
	"github.com/argoproj/argo-cd/v3/commitserver/commit"
	"github.com/argoproj/argo-cd/v3/commitserver/metrics"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/git"
	"sigs.k8s.io/yaml"
)

// TestTheSourceHydratorCommitsRewrittenManifests takes the application of the
// example through what Argo CD does with it: the plugin server renders the dry
// source, and the commit server pushes what came out to a repository.
func TestTheSourceHydratorCommitsRewrittenManifests(t *testing.T) {
	app := exampleApplication(t)
	dry := app.Spec.SourceHydrator.GetDrySource()
	repo := repositoryWithConfig(t)
	s := startServer(t)
	if dry.Plugin.Name != pluginName || !s.matches(t, repo, dry.Plugin.Name) {
		t.Fatalf("the application names the plugin %q, want %q", dry.Plugin.Name, pluginName)
	}
	manifests, err := s.generate(t, repo, dry.Plugin.Parameters)
	if err != nil {
		t.Fatal(err)
	}
	request := &committer.CommitHydratedManifestsRequest{
		Repo:          &v1alpha1.Repository{Repo: "file://" + bareRepository(t)},
		SyncBranch:    app.Spec.SourceHydrator.SyncSource.TargetBranch,
		TargetBranch:  app.Spec.GetHydrateToSource().TargetRevision,
		DrySha:        strings.Repeat("1", 40),
		CommitMessage: "hydrate",
		Paths:         []*committer.PathDetails{{Path: app.Spec.SourceHydrator.SyncSource.Path}},
	}
	for _, m := range manifests {
		request.Paths[0].Manifests = append(request.Paths[0].Manifests, &committer.HydratedManifestDetails{ManifestJSON: m})
	}
	server := commit.NewService(git.NoopCredsStore{}, metrics.NewMetricsServer())
	if _, err := server.CommitHydratedManifests(context.Background(), request); err != nil {
		t.Fatal(err)
	}

	clone := filepath.Join(t.TempDir(), "clone")
	run(t, "", "git", "clone", "--quiet", "--branch", request.TargetBranch, strings.TrimPrefix(request.Repo.Repo, "file://"), clone)
	committed := filepath.Join(clone, request.Paths[0].Path, commit.ManifestYaml)
	text, err := os.ReadFile(committed)
	if err != nil {
		t.Fatal(err)
	}
	// The port is that of the functionConfig that the application names.
	for _, want := range []string{"path: /app-health/web/readyz", "port: 15099", "ISTIO_KUBE_APP_PROBERS"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the committed manifest must hold %q:\n%s", want, text)
		}
	}
	// The reviewers' gate on that branch.
	run(t, clone, filepath.Join(root(t), "bin", "rewrite-probes"), "check", "--strict", request.Paths[0].Path)
}

// exampleApplication returns the application of the example, read as strictly as
// the API server reads it.
func exampleApplication(t *testing.T) *v1alpha1.Application {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "examples", "argocd", "hydrator.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var app v1alpha1.Application
	if err := yaml.UnmarshalStrict(text, &app); err != nil {
		t.Fatal(err)
	}
	return &app
}

// repositoryWithConfig is an application with the functionConfig that the
// example names.
func repositoryWithConfig(t *testing.T) string {
	t.Helper()
	return write(t, map[string]string{
		"kustomization.yaml": "resources:\n- web.yaml\n- namespace.yaml\n", "web.yaml": web, "namespace.yaml": namespace,
		"rewrite-probes.yaml": config,
	})
}

// bareRepository returns a repository with one commit, as a server would have it.
func bareRepository(t *testing.T) string {
	t.Helper()
	bare, work := filepath.Join(t.TempDir(), "shop.git"), filepath.Join(t.TempDir(), "work")
	run(t, "", "git", "init", "--quiet", "--bare", "--initial-branch=main", bare)
	run(t, "", "git", "clone", "--quiet", bare, work)
	run(t, work, "git", "-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "--quiet", "--allow-empty", "--message", "dry")
	run(t, work, "git", "push", "--quiet", "origin", "HEAD:main")
	return bare
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}
