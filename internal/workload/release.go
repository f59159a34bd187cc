package workload

import (
	"cmp"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
)

// A Release says which chart an object installs. Another program renders it, so its pods
// are not in the input. A field is "" if the object does not say it.
type Release struct {
	Chart      string // the name, or the path in a git repository
	Repository string // the URL
	// Source is the name of the Flux object that has the URL, and SourceKind its kind; "" is a HelmRepository.
	Source, SourceKind string
	// SourceNamespace is the namespace of that object; "" is the release's own.
	SourceNamespace string
	Version         string
	Values          bool // the object sets values for the chart
	// Name is what Helm calls it, "" for the name of the object. Namespace is where it is installed.
	Name, Namespace string
}

// releaseKinds are the kinds whose objects can name a chart. For the fields:
//   - fluxcd/helm-controller api/v2 HelmReleaseSpec; fluxcd/helm-operator of Flux 1
//   - argoproj/argo-cd pkg/apis/application/v1alpha1 ApplicationSource
//   - k3s-io/helm-controller pkg/apis/helm.cattle.io/v1 HelmChartSpec
//   - kubernetes-sigs/kustomize api/types HelmChartArgs and HelmChart
//   - crossplane-contrib/provider-helm apis/release ChartSpec
//   - kubernetes-sigs/cluster-api-addon-provider-helm HelmChartProxySpec
//   - GoogleContainerTools/kpt-config-sync pkg/api/configsync/v1beta1 HelmBase
//   - rancher/fleet pkg/apis/fleet.cattle.io/v1alpha1 HelmOptions
//   - projectsveltos/addon-controller api/v1beta1 HelmChart
//   - carvel-dev/kapp-controller pkg/apis AppFetchHelmChart and PackageRef
var releaseKinds = map[[2]string]func(*manifest.Object) (Release, bool){
	{"helm.toolkit.fluxcd.io", "HelmRelease"}:     fluxRelease,
	{"helm.fluxcd.io", "HelmRelease"}:             oldFluxRelease,
	{"argoproj.io", "Application"}:                argoRelease(field.NewPath("spec")),
	{"argoproj.io", "ApplicationSet"}:             argoRelease(field.NewPath("spec", "template", "spec")),
	{"helm.cattle.io", "HelmChart"}:               k3sRelease,
	{"", "HelmChartInflationGenerator"}:           kustomizeRelease,
	{"helm.crossplane.io", "Release"}:             crossplaneRelease,
	{"addons.cluster.x-k8s.io", "HelmChartProxy"}: clusterAPIRelease,

	{"configsync.gke.io", "RootSync"}:              nestedRelease,
	{"configsync.gke.io", "RepoSync"}:              nestedRelease,
	{"fleet.cattle.io", "Bundle"}:                  nestedRelease,
	{"fleet.cattle.io", "HelmOp"}:                  nestedRelease,
	{"config.projectsveltos.io", "ClusterProfile"}: sveltosRelease,
	{"config.projectsveltos.io", "Profile"}:        sveltosRelease,
	{"kappctrl.k14s.io", "App"}:                    carvelApp,
	{"packaging.carvel.dev", "PackageInstall"}:     carvelPackage,
}

// IsRelease reports whether objects of a kind hold the values of a chart, which
// somebody else renders.
func IsRelease(group, kind string) bool {
	return releaseKinds[[2]string{group, kind}] != nil
}

// IsReleaseKind is IsRelease for a kind whose group is not known.
func IsReleaseKind(kind string) bool {
	for k := range releaseKinds {
		if k[1] == kind {
			return true
		}
	}
	return false
}

// ReleaseOf returns the release that an object describes; false if it names no chart, as an
// Application that has manifests in a path.
func ReleaseOf(o *manifest.Object) (Release, bool) {
	read := releaseKinds[[2]string{o.Group(), o.Kind()}]
	if read == nil {
		return Release{}, false
	}
	return read(o)
}

func fluxRelease(o *manifest.Object) (Release, bool) {
	chart := field.NewPath("spec", "chart", "spec")
	source := chart.Key("sourceRef")
	ref := field.NewPath("spec", "chartRef")
	_, byRef := o.Value(ref)
	if byRef {
		source = ref
	}
	r := Release{
		Chart:           TextAt(o, chart.Key("chart")),
		Source:          TextAt(o, source.Key("name")),
		SourceKind:      TextAt(o, source.Key("kind")),
		SourceNamespace: TextAt(o, source.Key("namespace")),
		Version:         TextAt(o, chart.Key("version")),
		Values:          hasAny(o, field.NewPath("spec"), "values", "valuesFrom"),
		Name:            TextAt(o, field.NewPath("spec", "releaseName")),
		Namespace:       TextAt(o, field.NewPath("spec", "targetNamespace")),
	}
	if r.Name == "" && r.Namespace != "" { // as helm-controller names it
		r.Name = r.Namespace + "-" + o.Name()
	}
	r.Namespace = cmp.Or(r.Namespace, o.Namespace())
	return r, byRef || r.Chart != ""
}

func oldFluxRelease(o *manifest.Object) (Release, bool) {
	chart := field.NewPath("spec", "chart")
	r := Release{
		Chart:      TextAt(o, chart.Key("name")),
		Repository: TextAt(o, chart.Key("repository")),
		Version:    TextAt(o, chart.Key("version")),
		Values:     hasAny(o, field.NewPath("spec"), "values", "valuesFrom"),
		Name:       TextAt(o, field.NewPath("spec", "releaseName")),
		Namespace:  cmp.Or(TextAt(o, field.NewPath("spec", "targetNamespace")), o.Namespace()),
	}
	if r.Chart == "" {
		r.Chart = TextAt(o, chart.Key("path"))
	}
	return r, r.Chart != ""
}

// argoRelease returns the first source of an Application that is a chart.
func argoRelease(spec field.Path) func(*manifest.Object) (Release, bool) {
	return func(o *manifest.Object) (Release, bool) {
		sources := []field.Path{spec.Key("source")}
		if list, _ := o.Value(spec.Key("sources")); list != nil {
			items, _ := list.(field.List)
			for i := range items {
				sources = append(sources, spec.Item("sources", i))
			}
		}
		for _, s := range sources {
			r := Release{
				Chart:      TextAt(o, s.Key("chart")),
				Repository: TextAt(o, s.Key("repoURL")),
				Version:    TextAt(o, s.Key("targetRevision")),
				Values:     hasAny(o, s, "helm"),
				Name:       TextAt(o, s.Key("helm", "releaseName")),
				Namespace:  TextAt(o, spec.Key("destination", "namespace")),
			}
			if r.Chart != "" {
				return r, true
			}
		}
		return Release{}, false
	}
}

func k3sRelease(o *manifest.Object) (Release, bool) {
	spec := field.NewPath("spec")
	r := Release{
		Chart:      TextAt(o, spec.Key("chart")),
		Repository: TextAt(o, spec.Key("repo")),
		Version:    TextAt(o, spec.Key("version")),
		Values:     hasAny(o, spec, "values", "valuesContent", "set"),
		Namespace:  TextAt(o, spec.Key("targetNamespace")),
	}
	return r, r.Chart != "" || hasAny(o, spec, "chartContent")
}

func kustomizeRelease(o *manifest.Object) (Release, bool) {
	r := Release{
		Chart:      TextAt(o, field.NewPath("name")),
		Repository: TextAt(o, field.NewPath("repo")),
		Version:    TextAt(o, field.NewPath("version")),
		Values:     hasAny(o, nil, "valuesFile", "valuesInline"),
		Name:       TextAt(o, field.NewPath("releaseName")),
		Namespace:  TextAt(o, field.NewPath("namespace")),
	}
	if r.Chart == "" {
		r.Chart = TextAt(o, field.NewPath("chartName"))
	}
	return r, r.Chart != ""
}

func crossplaneRelease(o *manifest.Object) (Release, bool) {
	chart := field.NewPath("spec", "forProvider", "chart")
	r := Release{
		Chart:      TextAt(o, chart.Key("name")),
		Repository: TextAt(o, chart.Key("repository")),
		Version:    TextAt(o, chart.Key("version")),
		Values:     hasAny(o, field.NewPath("spec", "forProvider"), "values", "valuesFrom", "set"),
		Namespace:  TextAt(o, field.NewPath("spec", "forProvider", "namespace")),
	}
	return r, r.Chart != ""
}

func clusterAPIRelease(o *manifest.Object) (Release, bool) {
	spec := field.NewPath("spec")
	r := Release{
		Chart:      TextAt(o, spec.Key("chartName")),
		Repository: TextAt(o, spec.Key("repoURL")),
		Version:    TextAt(o, spec.Key("version")),
		Values:     hasAny(o, spec, "valuesTemplate"),
		Name:       TextAt(o, spec.Key("releaseName")),
		Namespace:  TextAt(o, spec.Key("namespace")),
	}
	return r, r.Chart != ""
}

// nestedRelease returns what an object of Config Sync or Fleet has in spec.helm.
func nestedRelease(o *manifest.Object) (Release, bool) {
	spec := field.NewPath("spec", "helm")
	r := Release{
		Chart:      TextAt(o, spec.Key("chart")),
		Repository: TextAt(o, spec.Key("repo")),
		Version:    TextAt(o, spec.Key("version")),
		Values:     hasAny(o, spec, "values", "valuesFrom", "valuesFiles", "valuesFileRefs"),
		Name:       TextAt(o, spec.Key("releaseName")),
		Namespace:  TextAt(o, spec.Key("namespace")),
	}
	return r, r.Chart != ""
}

// sveltosRelease returns the first chart of a profile. Its name begins with that of the repository there.
func sveltosRelease(o *manifest.Object) (Release, bool) {
	chart := field.NewPath("spec").Item("helmCharts", 0)
	name := TextAt(o, chart.Key("chartName"))
	r := Release{
		Chart:      name[strings.LastIndexByte(name, '/')+1:],
		Repository: TextAt(o, chart.Key("repositoryURL")),
		Version:    TextAt(o, chart.Key("chartVersion")),
		Values:     hasAny(o, chart, "values", "valuesFrom"),
		Name:       TextAt(o, chart.Key("releaseName")),
		Namespace:  TextAt(o, chart.Key("releaseNamespace")),
	}
	return r, r.Chart != ""
}

// carvelApp returns the first chart that an App fetches.
func carvelApp(o *manifest.Object) (Release, bool) {
	list, _ := o.Value(field.NewPath("spec", "fetch"))
	fetched, _ := list.(field.List)
	for i := range fetched {
		chart := field.NewPath("spec").Item("fetch", i).Key("helmChart")
		r := Release{
			Chart:      TextAt(o, chart.Key("name")),
			Repository: TextAt(o, chart.Key("repository", "url")),
			Version:    TextAt(o, chart.Key("version")),
			Namespace:  o.Namespace(),
		}
		if r.Chart != "" {
			return r, true
		}
	}
	return Release{}, false
}

// carvelPackage returns a release without a chart: what a package is made of stands elsewhere.
func carvelPackage(o *manifest.Object) (Release, bool) {
	return Release{Namespace: o.Namespace()}, TextAt(o, field.NewPath("spec", "packageRef", "refName")) != ""
}

// FleetReleases returns the charts that a fleet.yaml of Fleet installs, in all clusters or in some
// (https://fleet.rancher.io/ref-fleet-yaml). It has no kind.
func FleetReleases(o *manifest.Object) (all []Release) {
	helms := []field.Path{field.NewPath("helm")}
	list, _ := o.Value(field.NewPath("targetCustomizations"))
	customizations, _ := list.(field.List)
	for i := range customizations {
		helms = append(helms, field.Path(nil).Item("targetCustomizations", i).Key("helm"))
	}
	namespace := cmp.Or(TextAt(o, field.NewPath("namespace")), TextAt(o, field.NewPath("defaultNamespace")))
	for _, helm := range helms {
		r := Release{
			Chart:      TextAt(o, helm.Key("chart")),
			Repository: TextAt(o, helm.Key("repo")),
			Version:    TextAt(o, helm.Key("version")),
			Values:     hasAny(o, helm, "values", "valuesFrom", "valuesFiles"),
			Name:       TextAt(o, helm.Key("releaseName")),
			Namespace:  namespace,
		}
		if r.Chart != "" {
			all = append(all, r)
		}
	}
	return all
}

// TextAt returns the string at a path; "" if there is none.
func TextAt(o *manifest.Object, path field.Path) string {
	v, _ := o.Value(path)
	text, _ := v.(string)
	return text
}

func hasAny(o *manifest.Object, at field.Path, keys ...string) bool {
	for _, key := range keys {
		if v, _ := o.Value(at.Key(key)); v != nil {
			return true
		}
	}
	return false
}
