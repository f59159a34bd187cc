package patches_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/patches"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// kustomize takes a file without a kind for a Kustomization, and one without an apiVersion for its own.
func TestTheFormOfAnObjectIsItsKindInItsGroup(t *testing.T) {
	for text, want := range map[string]patches.Form{
		"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n": patches.Kustomization,
		"apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n":    patches.Component,
		"kind: Kustomization\n":                                             patches.Kustomization,
		"kind: Component\nresources: [a]\n":                                 patches.Component,
		"resources: [a]\n":                                                  patches.Kustomization,
		"bases: [a]\n":                                                      patches.Kustomization,
		"components: [a]\n":                                                 patches.Kustomization,
		"generators: [a]\n":                                                 patches.Kustomization,
		"helmCharts: [{name: a}]\n":                                         patches.Kustomization,
		"patches: [{path: a}]\n":                                            "",
		"resources: null\n":                                                 "",
		"apiVersion: v1\nresources: [a]\n":                                  "",
		"kind: Other\nresources: [a]\n":                                     "",
		"kind: HelmRelease\n":                                               "",
		"apiVersion: argoproj.io/v1alpha1\nkind: Application\n":             patches.ArgoCD,
		"apiVersion: app.k8s.io/v1beta1\nkind: Application\n":               "",
		"apiVersion: argoproj.io/v1alpha1\nkind: AppProject\n":              "",
		"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n": patches.FluxKustomization,
		"apiVersion: example.com/v1\nkind: Kustomization\n":                 "",
		"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n":        patches.HelmRelease,
		"apiVersion: helm.fluxcd.io/v1\nkind: HelmRelease\n":                "",
	} {
		if got := patches.FormOf(read(t, text)); got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}

// Argo CD applies the patches of an Application only with kustomize, and the only source's.
func TestAnApplicationWithoutKustomizeTakesNoPatches(t *testing.T) {
	for spec, wrong := range map[string]string{
		"{source: {path: a}}":                              "",
		"{source: {path: a, kustomize: {}}}":               "",
		"{source: {path: a, helm: null}}":                  "",
		"{source: {chart: a}}":                             "spec.source.chart",
		"{source: {path: a, helm: {releaseName: a}}}":      "spec.source.helm",
		"{source: {path: a, directory: {recurse: true}}}":  "spec.source.directory",
		"{source: {path: a, plugin: {name: a}}}":           "spec.source.plugin",
		"{source: {path: a, chart: a, plugin: {name: a}}}": "spec.source.chart",
		"{sources: [{path: a}]}":                           "spec.sources",
		"{source: {path: a}, sources: [{path: a}]}":        "spec.sources",
		"{destination: {}}":                                "spec.source",
		"{source: null}":                                   "spec.source",
	} {
		o := read(t, "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec: "+spec+"\n")
		edits, _, err := aSet().Into(o)
		if (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), "`"+wrong+"`: ") || (len(edits) > 0) != (wrong == "") {
			t.Errorf("%s: %v, want %q", spec, err, wrong)
		}
	}
}

// A text holds the set where an object of its form has it, and nothing else but what a file needs.
func TestATextHasTheSetWhereItsFormHasIt(t *testing.T) {
	set := &patches.Set{
		Known:    []patches.Target{{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "a.b"}, {Version: "v1", Kind: "Pod", Name: "x"}},
		Guarded:  [][]surroundings.GroupKind{{{Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: "Deployment"}, {Group: "", Kind: "Pod"}}},
		Required: []patches.Target{{Version: "v1", Kind: "Namespace", Name: "1e3"}, {Group: "a.b", Version: "v1", Kind: "C", Namespace: "no", Name: "n"}},
		Patches: []patches.Patch{
			{Target: patches.Target{Version: "v1", Kind: "Pod", Name: "x"}, Comment: "second\nline", Operations: []field.Operation{{Op: field.OpRemove, Path: field.NewPath("a/b")}}},
			{Target: patches.Target{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "a.b"}, Comment: "why", Operations: []field.Operation{{Op: field.OpTest, Path: field.NewPath("spec"), Value: "&"}}},
			{Target: patches.Target{Version: "v1", Kind: "Pod", Namespace: "bank", Name: "y"}, Comment: "why"},
			{Target: patches.Target{Version: "v1", Kind: "Apple", Namespace: "shop", Name: "y"}, Comment: "why"},
		},
	}
	const text = `- target: {group: "^$", version: v1, kind: Pod, name: x, namespace: default}
  patch: "# rewrite-probes patches knows these\n- {\"op\":\"add\",\"path\":\"/metadata/annotations/rewrite-probes.io~1seen\",\"value\":\"\"}\n"
- target: {group: apps, version: v1, kind: Deployment, name: 'a\.b', namespace: shop}
  patch: "# rewrite-probes patches knows these\n- {\"op\":\"add\",\"path\":\"/metadata/annotations/rewrite-probes.io~1seen\",\"value\":\"\"}\n"
- target: {group: "^$|apps", kind: "Deployment|Pod", annotationSelector: "!rewrite-probes.io/seen,config.kubernetes.io/local-config!=true,helm.sh/hook notin (test,test-success,test-failure)"}
  patch: "# an object that is new since the patches were written fails the build\n- {\"op\":\"test\",\"path\":\"/this object is new; run rewrite-probes patches again\",\"value\":true}\n"
- patch: "# the plans depend on this object\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: \"1e3\"\n"
- patch: "# the plans depend on this object\napiVersion: a.b/v1\nkind: C\nmetadata:\n  name: \"n\"\n  namespace: \"no\"\n"
- target: {group: "^$", version: v1, kind: Apple, name: "y", namespace: shop}
  patch: "# why\n"
- target: {group: "^$", version: v1, kind: Pod, name: x, namespace: default}
  patch: "# second line\n- {\"op\":\"remove\",\"path\":\"/a~1b\"}\n"
- target: {group: "^$", version: v1, kind: Pod, name: "y", namespace: bank}
  patch: "# why\n"
- target: {group: apps, version: v1, kind: Deployment, name: 'a\.b', namespace: shop}
  patch: "# why\n- {\"op\":\"test\",\"path\":\"/spec\",\"value\":\"&\"}\n"
- target: {annotationSelector: rewrite-probes.io/seen}
  patch: "# the end of what rewrite-probes patches wrote\n- {\"op\":\"remove\",\"path\":\"/metadata/annotations/rewrite-probes.io~1seen\"}\n"
`
	list, _ := read(t, "list:\n"+text).Value(field.NewPath("list"))
	one := func(key string, v field.Value) field.Map { return field.Map{{Key: key, Value: v}} }
	file := func(version, kind string) field.Map {
		return field.Map{{Key: "apiVersion", Value: "kustomize.config.k8s.io/" + version}, {Key: "kind", Value: kind}}
	}
	kustomization := append(file("v1beta1", "Kustomization"), one("resources", field.List{"all.yaml"})[0])
	for form, want := range map[patches.Form]field.Map{
		patches.Kustomization:     append(kustomization, one("patches", list)[0]),
		patches.Component:         append(file("v1alpha1", "Component"), one("patches", list)[0]),
		patches.ArgoCD:            one("spec", one("source", one("kustomize", one("patches", list)))),
		patches.FluxKustomization: one("spec", one("patches", list)),
		patches.HelmRelease:       one("spec", one("postRenderers", field.List{one("kustomize", one("patches", list))})),
	} {
		got := string(set.Text(form, "all.yaml"))
		v, _ := read(t, got).Value(nil)
		if !field.Same(v, field.Value(want)) {
			t.Errorf("%s: got\n%s\nwant\n%s", form, got, manifest.Documents(want))
		}
		if !strings.HasPrefix(got, "# Written by \"rewrite-probes patches\".\n") || !strings.HasSuffix(got, "\n") || strings.HasSuffix(got, "\n\n") {
			t.Errorf("%s: %q", form, got)
		}
	}
}

// kustomize gives every object annotations while it builds; what has no metadata is none of its objects.
func TestAnObjectHasAnnotationsWhileItIsBuilt(t *testing.T) {
	for text, want := range map[string]string{
		"{metadata: {name: a}}":                              "{metadata: {name: a, annotations: {}}}",
		"{metadata: {name: a, annotations: null}, spec: {}}": "{metadata: {name: a, annotations: {}}, spec: {}}",
		"{metadata: {annotations: {a: b}}}":                  "{metadata: {annotations: {a: b}}}",
		"{metadata: {annotations: {}}}":                      "{metadata: {annotations: {}}}",
		"{spec: {}}":                                         "{spec: {}}",
		"{metadata: null}":                                   "{metadata: null}",
	} {
		before, _ := read(t, text).Value(nil)
		same, _ := read(t, text).Value(nil)
		after, _ := read(t, want).Value(nil)
		if got := patches.Built(before); !field.Equal(got, after) {
			t.Errorf("%s: %v", text, got)
		}
		if !field.Same(before, same) {
			t.Errorf("%s has become %v", text, before)
		}
	}
}
