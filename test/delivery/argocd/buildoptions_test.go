package argocd

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/git"
	"github.com/argoproj/argo-cd/v3/util/kustomize"
	"github.com/argoproj/argo-cd/v3/util/settings"
)

// TestOptionsOfOneKustomizeVersionAreNotPassedOn renders an application as Argo
// CD's repo-server does. Once this fails, Argo CD passes kustomize.buildOptions.VERSION
// on, and the warning argocd-build-options has to go.
func TestOptionsOfOneKustomizeVersionAreNotPassedOn(t *testing.T) {
	repo := repository(t)
	run(t, root(t), "make", "bin/kustomize")
	const flags = "--enable-alpha-plugins --enable-exec"
	source := v1alpha1.ApplicationSource{Kustomize: &v1alpha1.ApplicationSourceKustomize{Version: "v5.8"}}
	version := v1alpha1.KustomizeVersion{Name: "v5.8", Path: filepath.Join(root(t), "bin", "kustomize"), BuildOptions: flags}
	for _, c := range []struct {
		plain string
		want  bool
	}{{"", false}, {flags, true}} {
		options := &v1alpha1.KustomizeOptions{BuildOptions: c.plain, Versions: []v1alpha1.KustomizeVersion{version}}
		binary, err := settings.GetKustomizeBinaryPath(options, source)
		if err != nil {
			t.Fatal(err)
		}
		_, _, commands, err := kustomize.NewKustomizeApp(repo, repo, git.NopCreds{}, "", binary, "", "").Build(source.Kustomize, options, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(commands, func(s string) bool { return strings.Contains(s, "--enable-exec") }); got != c.want {
			t.Errorf("with kustomize.buildOptions %q Argo CD runs %q", c.plain, commands)
		}
	}
}
