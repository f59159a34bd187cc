package patches_test

import (
	"slices"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/patches"
)

func TestDestinationOf(t *testing.T) {
	const argo = "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a, namespace: argocd}, spec: "
	const flux = "{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: a, namespace: flux-system}, spec: "
	const helm = "{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: a, namespace: shop}, spec: "
	for _, c := range []struct {
		name, text string
		want       patches.Destination
	}{
		{"a destination fills in", argo + "{destination: {namespace: db}}}", patches.Destination{Namespace: "db", By: "Application argocd/a"}},
		{"kustomize overrides", argo + "{destination: {namespace: db}, source: {kustomize: {namespace: web}}}}", patches.Destination{Namespace: "web", By: "Application argocd/a", Overrides: true}},
		{"an Application says none", argo + "{source: {path: x}}}", patches.Destination{By: "Application argocd/a"}},
		{"Flux overrides", flux + "{targetNamespace: db}}", patches.Destination{Namespace: "db", By: "Kustomization flux-system/a", Overrides: true}},
		{"where Flux' own object is says nothing", flux + "{}}", patches.Destination{By: "Kustomization flux-system/a", Overrides: true}},
		{"a release is where it is", helm + "{values: {a: [{b: x}, y]}}}", patches.Destination{Namespace: "shop", By: "HelmRelease shop/a", Renders: true, Named: []string{"x", "y"}}},
		{"a release for elsewhere", helm + "{targetNamespace: db}}", patches.Destination{Namespace: "db", By: "HelmRelease shop/a", Renders: true}},
		{"a kustomization", "{resources: [a], namespace: db}", patches.Destination{Namespace: "db", By: "object", Overrides: true}},
	} {
		s, err := manifest.Read("home.yaml", []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		got := patches.DestinationOf(s.Objects()[0])
		if c.name == "a kustomization" {
			got.By = "object"
		}
		if got.Namespace != c.want.Namespace || got.By != c.want.By || got.Overrides != c.want.Overrides || got.Renders != c.want.Renders || !slices.Equal(got.Named, c.want.Named) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	if got := patches.DestinationOf(nil); got.Namespace != "" {
		t.Errorf("nothing goes to %q", got.Namespace)
	}
}
