package patches

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
)

// A Form is where patches are written to.
type Form string

// The forms.
const (
	Kustomization     Form = "kustomization"      // a kustomization of a finished build
	Component         Form = "component"          // a Component of kustomize
	ArgoCD            Form = "argocd"             // an Application of Argo CD
	FluxKustomization Form = "flux-kustomization" // a Kustomization of Flux
	HelmRelease       Form = "helmrelease"        // a HelmRelease of Flux
)

// Forms returns all forms, the default first.
func Forms() []string {
	return []string{
		string(Kustomization),
		string(Component),
		string(ArgoCD),
		string(FluxKustomization),
		string(HelmRelease),
	}
}

const kustomizeGroup = "kustomize.config.k8s.io"

// homes says what objects of each form are, and where their patches are.
var homes = []struct {
	form  Form
	group string
	kind  string
	path  field.Path // of the list of patches
}{
	{Kustomization, kustomizeGroup, "Kustomization", field.NewPath("patches")},
	{Component, kustomizeGroup, "Component", field.NewPath("patches")},
	{ArgoCD, "argoproj.io", "Application", field.NewPath("spec", "source", "kustomize", "patches")},
	{FluxKustomization, "kustomize.toolkit.fluxcd.io", "Kustomization", field.NewPath("spec", "patches")},
	{HelmRelease, "helm.toolkit.fluxcd.io", "HelmRelease", field.NewPath("spec", "postRenderers")},
}

// FormOf returns the form of an object that can have patches; "" for any other. A kustomization
// need not say what it is, or in which group.
func FormOf(o *manifest.Object) Form {
	group := o.Group()
	kind := o.Kind()
	if o.APIVersion() == "" && (kind != "" || isBuilt(o)) {
		group, kind = homes[0].group, cmp.Or(kind, homes[0].kind)
	}
	for _, h := range homes {
		if h.group == group && h.kind == kind {
			return h.form
		}
	}
	return ""
}

// isBuilt reports whether an object says, as a kustomization does, what its build starts from.
func isBuilt(o *manifest.Object) bool {
	keys := []string{"resources", "bases", "components", "generators", "helmCharts"}
	return slices.ContainsFunc(
		keys,
		func(key string) bool {
			return has(o, field.NewPath(key))
		},
	)
}

// pathOf returns where the objects of a form have their patches, or their post-renderers.
func pathOf(form Form) field.Path {
	for _, h := range homes {
		if h.form == form {
			return h.path
		}
	}
	return nil
}

// Without returns the file of a form if no patch is needed: a kustomization of the resource, or nothing.
func Without(form Form, resource string) []byte {
	if form != Kustomization {
		return nil
	}
	return manifest.Documents(kustomizationOf(resource))
}

// kustomizationOf returns a kustomization that has a resource and nothing else.
func kustomizationOf(resource string) field.Map {
	return field.Map{
		{Key: "apiVersion", Value: kustomizeGroup + "/v1beta1"}, {Key: "kind", Value: "Kustomization"},
		{Key: "resources", Value: field.List{resource}},
	}
}

// Text returns the set in a form: a whole file, or the part of an object that has the patches.
// A kustomization takes the resource.
func (s *Set) Text(form Form, resource string) []byte {
	items := s.items()
	var v field.Map
	switch form {
	case Kustomization:
		v = append(kustomizationOf(resource), field.Entry{Key: "patches", Value: items})
	case Component:
		v = field.Map{
			{Key: "apiVersion", Value: kustomizeGroup + "/v1alpha1"},
			{Key: "kind", Value: "Component"},
			{Key: "patches", Value: items},
		}
	case HelmRelease:
		spec := field.Map{{Key: "postRenderers", Value: field.List{postRenderer(items)}}}
		v = field.Map{{Key: "spec", Value: spec}}
	default:
		path := pathOf(form)
		var inner field.Value = items
		for _, step := range slices.Backward(path) {
			inner = field.Map{{Key: step.Key, Value: inner}}
		}
		v, _ = inner.(field.Map)
	}
	text := []byte("# Written by \"rewrite-probes patches\".\n")
	if form == Component {
		text = append(text, "# A kustomization's own patches run after those of its Components, and may hit probe-proxy.\n"...)
	}
	text = append(text, manifest.Documents(v)...)
	return append(bytes.TrimRight(text, "\n"), '\n')
}

func postRenderer(items field.List) field.Map {
	return field.Map{{Key: "kustomize", Value: field.Map{{Key: "patches", Value: items}}}}
}

// Substitute is the label or annotation with which Flux leaves an object's text alone, if it is disabled.
const Substitute = "kustomize.toolkit.fluxcd.io/substitute"

// Unfit returns the object whose patch an object of a form cannot have, because Flux would change a `$` there; ""
// if it can have them all. The object is nil if the set is printed.
//
// A Kustomization of Flux that has postBuild substitutes ${NAME} and halves $$ in the objects that it
// applies, and so in patches that are in them. Whether there is one is not known.
func (s *Set) Unfit(form Form, o *manifest.Object) string {
	if form != HelmRelease && form != FluxKustomization {
		return ""
	}
	if o != nil &&
		(o.Annotations().Get(Substitute) == "disabled" ||
			o.Labels().Get(Substitute) == "disabled") {
		return ""
	}
	for _, v := range s.items() {
		item, _ := v.(field.Map)
		text := field.As[string](item, "patch")
		if !strings.Contains(text, "$$") && !strings.Contains(text, "${") {
			continue
		}
		return describe(item)
	}
	return ""
}

// Misplaced says why Argo CD would not apply patches that are in an Application; nil if it would.
func Misplaced(application *manifest.Object) error {
	source := field.NewPath("spec", "source")
	if sources := field.NewPath("spec", "sources"); has(application, sources) {
		return application.Errorf(sources, "are several sources: write the patches into the kustomization of one of them (-o kustomization)")
	}
	if !has(application, source) {
		return application.Errorf(source, "is missing: Argo CD patches what a source has; use -o kustomization")
	}
	for _, key := range []string{"chart", "helm", "directory", "plugin"} {
		if path := source.Key(key); has(application, path) {
			return application.Errorf(path, "makes Argo CD render without kustomize, which applies the patches: "+
				"write a kustomization of that render (-o kustomization), and name its folder in `spec.source.path`")
		}
	}
	return nil
}

func has(o *manifest.Object, path field.Path) bool {
	v, _ := o.Value(path)
	return v != nil
}

// SendsHooks reports whether a HelmRelease has the hooks of its chart rendered with the patches. It
// is an error if it has them rendered apart.
func SendsHooks(release *manifest.Object) (bool, error) {
	v, _ := release.Value(field.NewPath("spec", "postRenderStrategy"))
	switch v {
	case nil, "combined":
		return true, nil
	case "nohooks":
		return false, nil
	}
	return false, release.Errorf(field.NewPath("spec", "postRenderStrategy"),
		"is %v: the guard against new workloads would fail on the stream of hooks; write combined or nohooks", v)
}
