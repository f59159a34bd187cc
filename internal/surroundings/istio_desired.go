package surroundings

import (
	"path"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// An istioDesired is an object that makes another program install Istio's chart istiod with some values: Flux, Argo CD,
// the Helm controller of k3s, kustomize, istioctl or the Sail operator.
type istioDesired struct {
	Object
	Spec       field.Map   `json:"spec"`
	HelmCharts []field.Map `json:"helmCharts"` // of a Kustomization
	Status     field.Map   `json:"status"`
	plane      plane
}

// A chartUse is what an object says of the chart.
type chartUse struct {
	values   field.Map
	version  string
	revision string
	// isOpen is set if other files may set what the values lack.
	isOpen bool
}

const istiodChart = "istiod"

func (d *istioDesired) complete() bool {
	var u chartUse
	ok := false
	switch d.Object.Kind {
	case "HelmRelease":
		u, ok = d.ofFlux()
	case "Application":
		u, ok = d.ofArgoCD()
	case "ApplicationSet":
		d.Spec, _ = dig(d.Spec, "template", "spec").(field.Map)
		u, ok = d.ofArgoCD()
	case "HelmChart":
		u, ok = d.ofK3s()
	case "HelmChartConfig":
		u, _ = d.ofK3s()
		u.isOpen, ok = true, strings.Contains(d.Name, istiodChart) && len(u.values) > 0
	case "ServiceMeshControlPlane":
		u, ok = d.ofMaistra(), true
	case "Kustomization":
		u, ok = d.ofKustomize()
	case "IstioOperator":
		u, ok = d.ofIstioctl(), true
	case "Istio":
		u, ok = d.ofSail()
	}
	if !ok || textOf(dig(u.values, "profile")) == "remote" {
		return false
	}
	d.plane = plane{Object: &d.Object, kind: d.Object.Kind, revision: revisionOf(u.revision)}
	if u.revision == "" {
		d.plane.revision = revisionOf(textOf(dig(u.values, "revision")))
	}
	d.plane.readChart(&u)
	return true
}

// readChart reads values of the chart: what they lack has the chart's default, if nothing else may set it.
func (p *plane) readChart(u *chartUse) {
	const hold = "holdApplicationUntilProxyStarts"
	p.readValues(u.values, certain.Always)
	mesh, _ := dig(u.values, "meshConfig").(field.Map)
	p.readMesh(mesh)
	if native := dig(u.values, "pilot", "env", "ENABLE_NATIVE_SIDECARS"); native == nil {
		p.native, p.auto = nativeByVersion(u.version)
		if dig(u.values, "compatibilityVersion") != nil || !isVersion(u.version) {
			p.native, p.auto = certain.Maybe, false
		}
	}
	if !u.isOpen {
		return
	}
	if dig(u.values, "sidecarInjectorWebhook", "rewriteAppHTTPProbe") == nil {
		p.rewrites = certain.Maybe
	}
	if dig(u.values, "pilot", "env", "ENABLE_NATIVE_SIDECARS") == nil {
		p.native, p.auto = certain.Maybe, false
	}
	if dig(u.values, "global", "proxy", hold) == nil {
		p.valuesHold = certain.Maybe
	}
	if dig(mesh, "defaultConfig", hold) == nil {
		p.meshHold = certain.Maybe
	}
	p.uncaptured, p.sendsTo, p.root = 0, 0, ""
}

// isVersion reports whether a version is one, and no range.
func isVersion(s string) bool { return strings.Trim(s, "v0123456789.x") == "" }

// isIstiod reports whether a chart's name or address is that of istiod.
func isIstiod(chart field.Value) bool { return path.Base(textOf(chart)) == istiodChart }

// ofFlux reads a HelmRelease: spec.valuesFrom, and over it spec.values. One without a chart may be a patch of another.
func (d *istioDesired) ofFlux() (u chartUse, ok bool) {
	u.values, _ = dig(d.Spec, "values").(field.Map)
	u.version = textOf(dig(d.Spec, "chart", "spec", "version"))
	chart, ref := dig(d.Spec, "chart", "spec", "chart"), dig(d.Spec, "chartRef", "name")
	u.isOpen = chart == nil || dig(d.Spec, "valuesFrom") != nil || dig(d.Spec, "postRenderers") != nil
	isPatch := chart == nil && ref == nil && strings.Contains(d.Name, istiodChart) && len(u.values) > 0
	return u, isIstiod(chart) || isIstiod(ref) || isPatch
}

// ofArgoCD reads an Application: valueFiles, values, valuesObject, parameters, of which the last counts.
func (d *istioDesired) ofArgoCD() (u chartUse, ok bool) {
	sources, _ := dig(d.Spec, "sources").(field.List)
	for _, s := range append(field.List{dig(d.Spec, "source")}, sources...) {
		source, _ := s.(field.Map)
		if source == nil || !isIstiod(dig(source, "chart")) {
			continue
		}
		u.version = textOf(dig(source, "targetRevision"))
		u.isOpen = dig(source, "helm", "valueFiles") != nil || dig(source, "helm", "fileParameters") != nil
		if u.values, ok = dig(source, "helm", "valuesObject").(field.Map); !ok {
			u.values, ok = mappingOf(dig(source, "helm", "values"))
			u.isOpen = u.isOpen || !ok
		}
		parameters, _ := dig(source, "helm", "parameters").(field.List)
		for _, p := range parameters {
			p, _ := p.(field.Map)
			u.set(textOf(dig(p, "name")), dig(p, "value"))
		}
		return u, true
	}
	return u, false
}

// ofK3s reads a HelmChart: valuesContent, and over it set.
func (d *istioDesired) ofK3s() (u chartUse, ok bool) {
	u.version = textOf(dig(d.Spec, "version"))
	u.values, ok = mappingOf(dig(d.Spec, "valuesContent"))
	u.isOpen = !ok || dig(d.Spec, "valuesSecrets") != nil
	set, _ := dig(d.Spec, "set").(field.Map)
	for _, e := range set {
		u.set(e.Key, e.Value)
	}
	return u, isIstiod(dig(d.Spec, "chart"))
}

// ofKustomize reads a Kustomization: files of values, and over them valuesInline, unless valuesMerge says otherwise.
func (d *istioDesired) ofKustomize() (u chartUse, ok bool) {
	for _, c := range d.HelmCharts {
		if !isIstiod(dig(c, "name")) {
			continue
		}
		u.version = textOf(dig(c, "version"))
		u.values, _ = dig(c, "valuesInline").(field.Map)
		u.isOpen = dig(c, "valuesFile") != nil || dig(c, "additionalValuesFiles") != nil
		if merge := textOf(dig(c, "valuesMerge")); u.isOpen && merge != "" && merge != "override" {
			u.values = nil
		}
		return u, true
	}
	return u, false
}

// ofIstioctl reads an IstioOperator.
func (d *istioDesired) ofIstioctl() (u chartUse) {
	u.values, _ = dig(d.Spec, "values").(field.Map)
	u.revision, u.version = textOf(dig(d.Spec, "revision")), textOf(dig(d.Spec, "tag"))
	u.isOpen = dig(d.Spec, "components", "pilot", "k8s", "overlays") != nil || dig(d.Spec, "unvalidatedValues") != nil
	if mesh, has := dig(d.Spec, "meshConfig").(field.Map); has {
		u.values = append(slices.Clone(u.values), field.Entry{Key: "meshConfig", Value: mesh})
	}
	env, _ := dig(d.Spec, "components", "pilot", "k8s", "env").(field.List)
	for _, e := range env {
		if e, _ := e.(field.Map); textOf(dig(e, "name")) == "ENABLE_NATIVE_SIDECARS" {
			u.set("pilot.env.ENABLE_NATIVE_SIDECARS", dig(e, "value"))
		}
	}
	return u
}

// ofSail reads an Istio of the Sail operator, whose revision has its name, or is in its status if each version has one.
func (d *istioDesired) ofSail() (u chartUse, ok bool) {
	u.values, _ = dig(d.Spec, "values").(field.Map)
	u.version, u.revision = textOf(dig(d.Spec, "version")), d.Name
	if textOf(dig(d.Spec, "updateStrategy", "type")) == "RevisionBased" {
		u.revision = textOf(dig(d.Status, "activeRevisionName"))
	}
	return u, u.revision != ""
}

// ofMaistra reads a ServiceMeshControlPlane of OpenShift Service Mesh 2, whose revision has its name. `readiness` without
// the field writes false, and without `readiness` only version 2.0 does (conversion/proxy.go in its operator).
func (d *istioDesired) ofMaistra() (u chartUse) {
	u.revision, u.isOpen = d.Name, true
	version := textOf(dig(d.Spec, "version"))
	readiness, has := dig(d.Spec, "proxy", "runtime", "readiness").(field.Map)
	rewrites := dig(readiness, "rewriteApplicationProbes")
	switch {
	case has && rewrites == nil, !has && version == "v2.0":
		rewrites = false
	case !has && version != "":
		rewrites = true
	}
	u.set("sidecarInjectorWebhook.rewriteAppHTTPProbe", rewrites)
	return u
}

// mappingOf returns the mapping in a text; ok is false if there is a text and it has none that is known.
func mappingOf(v field.Value) (m field.Map, ok bool) {
	text := textOf(v)
	if pod.IsVariable(text) {
		return nil, false
	}
	m, err := yaml.MappingIn(text)
	return m, err == nil
}

// set sets a value by its path, as `helm --set` does.
func (u *chartUse) set(name string, v field.Value) {
	keys := strings.Split(name, ".")
	for _, key := range slices.Backward(keys[1:]) {
		v = field.Map{{Key: key, Value: v}}
	}
	u.values = withEntry(u.values, keys[0], v)
}

// withEntry returns a mapping with one more entry: of two mappings under the same key, both.
func withEntry(m field.Map, key string, v field.Value) field.Map {
	old, _ := last(m, key)
	a, isMap := old.(field.Map)
	if b, both := v.(field.Map); both && isMap {
		for _, e := range b {
			a = withEntry(a, e.Key, e.Value)
		}
		v = a
	}
	return append(slices.Clone(m), field.Entry{Key: key, Value: v})
}
