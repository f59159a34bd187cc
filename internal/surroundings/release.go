package surroundings

import (
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// The charts that install a mesh.
const (
	istiodChart  = "istiod"
	linkerdChart = "linkerd-control-plane"
	kumaChart    = "kuma"
	kongChart    = "kong-mesh" // has Kuma's values below `kuma`
	consulChart  = "consul"
	osmChart     = "osm"
)

var meshCharts = []string{istiodChart, linkerdChart, kongChart, kumaChart, consulChart, osmChart}

// A release is an object that makes another program install charts with some values: Flux, Argo CD, the Helm
// controller of k3s, or kustomize. Only those count that install a mesh.
type release struct {
	Neighbour
	Spec       field.Map   `json:"spec"`
	HelmCharts []field.Map `json:"helmCharts"` // of a Kustomization
	charts     []chartUse
	planes     []plane // of the charts that are istiod
}

// A chartUse is what an object says of a chart that it installs.
type chartUse struct {
	chart    string // one of meshCharts
	values   field.Map
	version  string
	revision string // of Istio; "" if only the values may say it
	// isOpen is set if other files may set what the values lack.
	isOpen bool
}

func (d *release) complete() bool {
	switch d.Neighbour.Kind {
	case "HelmRelease":
		d.use(d.ofFlux())
	case "Application":
		d.ofArgoCD(d.Spec)
	case "ApplicationSet":
		spec, _ := dig(d.Spec, "template", "spec").(field.Map)
		d.ofArgoCD(spec)
	case "HelmChart":
		d.use(d.ofK3s())
	case "HelmChartConfig":
		u := d.ofK3s()
		u.chart, u.isOpen = d.patched(u.values), true
		d.use(u)
	case "Kustomization":
		d.ofKustomize()
	}
	d.Spec, d.HelmCharts = nil, nil
	for i := range d.charts {
		if p, ok := d.charts[i].plane(); ok {
			d.planes = append(d.planes, p)
		}
	}
	return len(d.charts) > 0
}

// use notes the use of a chart, if it installs a mesh. A chart of the user's can have the name of the one that it
// wraps, whose values are then below that name.
func (d *release) use(u chartUse) {
	u.chart = path.Base(u.chart)
	if !slices.Contains(meshCharts, u.chart) {
		return
	}
	if below, isWrapped := dig(u.values, u.chart).(field.Map); isWrapped && u.chart != osmChart {
		u.values, u.version, u.isOpen = below, "", true
	}
	d.charts = append(d.charts, u)
}

// patched returns the chart of another object, of which this one has the name and changes the values; "" if it does not
// tell.
func (d *release) patched(values field.Map) string {
	i := slices.IndexFunc(meshCharts, func(chart string) bool { return strings.Contains(d.Name, chart) })
	if i < 0 || len(values) == 0 {
		return ""
	}
	return meshCharts[i]
}

// ofFlux reads a HelmRelease: spec.valuesFrom, and over it spec.values. One without a chart may be a patch of another.
// A chart in a repository of git may differ from the one that has its name.
func (d *release) ofFlux() (u chartUse) {
	u.values, _ = dig(d.Spec, "values").(field.Map)
	chart, ref := textOf(dig(d.Spec, "chart", "spec", "chart")), textOf(dig(d.Spec, "chartRef", "name"))
	source := textOf(dig(d.Spec, "chart", "spec", "sourceRef", "kind"))
	isOurs := source == "GitRepository" || source == "Bucket"
	u.isOpen = chart == "" || isOurs || dig(d.Spec, "valuesFrom") != nil || dig(d.Spec, "postRenderers") != nil
	if !isOurs {
		u.version = textOf(dig(d.Spec, "chart", "spec", "version"))
	}
	switch {
	case chart != "":
		u.chart = chart
	case ref != "":
		u.chart = ref
	default:
		u.chart = d.patched(u.values)
	}
	return u
}

// ofArgoCD reads an Application: valueFiles, values, valuesObject, parameters, of which the last counts.
func (d *release) ofArgoCD(spec field.Map) {
	sources, _ := dig(spec, "sources").(field.List)
	for _, s := range append(field.List{dig(spec, "source")}, sources...) {
		source, _ := s.(field.Map)
		u := chartUse{chart: textOf(dig(source, "chart")), version: textOf(dig(source, "targetRevision"))}
		u.isOpen = dig(source, "helm", "valueFiles") != nil || dig(source, "helm", "fileParameters") != nil
		ok := false
		if u.values, ok = dig(source, "helm", "valuesObject").(field.Map); !ok {
			u.values, ok = mappingOf(dig(source, "helm", "values"))
			u.isOpen = u.isOpen || !ok
		}
		parameters, _ := dig(source, "helm", "parameters").(field.List)
		for _, p := range parameters {
			p, _ := p.(field.Map)
			u.set(textOf(dig(p, "name")), dig(p, "value"))
		}
		d.use(u)
	}
}

// ofK3s reads a HelmChart: valuesContent, and over it set.
func (d *release) ofK3s() (u chartUse) {
	u.chart, u.version = textOf(dig(d.Spec, "chart")), textOf(dig(d.Spec, "version"))
	ok := false
	u.values, ok = mappingOf(dig(d.Spec, "valuesContent"))
	u.isOpen = !ok || dig(d.Spec, "valuesSecrets") != nil
	set, _ := dig(d.Spec, "set").(field.Map)
	for _, e := range set {
		u.set(e.Key, e.Value)
	}
	return u
}

// ofKustomize reads a Kustomization: files of values, and over them valuesInline, unless valuesMerge says otherwise.
// Without a repository the chart is a folder, which may differ from the one that has its name.
func (d *release) ofKustomize() {
	for _, c := range d.HelmCharts {
		u := chartUse{chart: textOf(dig(c, "name")), version: textOf(dig(c, "version"))}
		u.values, _ = dig(c, "valuesInline").(field.Map)
		u.isOpen = dig(c, "valuesFile") != nil || dig(c, "additionalValuesFiles") != nil
		if textOf(dig(c, "repo")) == "" {
			u.isOpen, u.version = true, ""
		}
		if merge := textOf(dig(c, "valuesMerge")); u.isOpen && merge != "" && merge != "override" {
			u.values = nil
		}
		d.use(u)
	}
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

// isVersion reports whether a version is one, and no range.
func isVersion(s string) bool { return strings.Trim(s, "v0123456789.x") == "" }

// at names the object.
func (d *release) at() string { return d.words(d.Neighbour.Kind) }

// chartsOf yields the uses of some charts by objects that are near, and who says so.
func chartsOf(s *Surroundings, charts ...string) iter.Seq2[*chartUse, string] {
	return func(yield func(*chartUse, string) bool) {
		for _, d := range releases.near(s) {
			for i := range d.charts {
				if u := &d.charts[i]; slices.Contains(charts, u.chart) && !yield(u, d.at()) {
					return
				}
			}
		}
	}
}

// scalarOf returns the text of a scalar, as a template prints it; known is false for a variable, and if there is none.
func scalarOf(v field.Value) (text string, known bool) {
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v), true
	case int:
		return strconv.Itoa(v), true
	case string:
		text = textOf(v)
		return text, !pod.IsVariable(text)
	}
	return "", false
}
