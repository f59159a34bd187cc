package surroundings

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// An istioDesired is an object that makes istioctl or an operator install Istio: an IstioOperator, an Istio or an
// IstioRevision of the Sail operator, or a ServiceMeshControlPlane.
type istioDesired struct {
	Neighbour
	Spec   field.Map `json:"spec"`
	Status field.Map `json:"status"`
	plane  plane
}

func (d *istioDesired) complete() bool {
	var u chartUse
	ok := true
	switch d.Neighbour.Kind {
	case "ServiceMeshControlPlane":
		u = d.ofMaistra()
	case "IstioOperator":
		u = d.ofIstioctl()
	case "Istio", "IstioRevision":
		u, ok = d.ofSail()
	}
	if !ok {
		return false
	}
	u.chart = istiodChart
	d.plane, ok = u.plane()
	return ok
}

// plane returns what the values of the chart istiod state; ok is false for another chart, and if the control plane is
// elsewhere.
func (u *chartUse) plane() (p plane, ok bool) {
	if u.chart != istiodChart || textOf(dig(u.values, "profile")) == "remote" {
		return p, false
	}
	p.revision = revisionOf(u.revision)
	if u.revision == "" {
		p.revision = revisionOf(textOf(dig(u.values, "revision")))
	}
	p.readChart(u)
	return p, true
}

// readChart reads values of the chart: what they lack has the chart's default, if nothing else may set it.
func (p *plane) readChart(u *chartUse) {
	const hold = "holdApplicationUntilProxyStarts"
	p.readValues(u.values, certain.Always)
	if isVersion(u.version) {
		p.version = u.version
	}
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

// ofSail reads an Istio or an IstioRevision of the Sail operator. The revision has the name of the object. If each version
// has one, it is that of the Istio and the version, which may stand for another until the operator has resolved it
// (getActiveRevisionName in its controllers/istio/istio_controller.go).
func (d *istioDesired) ofSail() (u chartUse, ok bool) {
	u.values, _ = dig(d.Spec, "values").(field.Map)
	u.version, u.revision = textOf(dig(d.Spec, "version")), d.Name
	if textOf(dig(d.Spec, "updateStrategy", "type")) == "RevisionBased" {
		u.revision = textOf(dig(d.Status, "activeRevisionName"))
		if u.revision == "" && u.version != "" && isVersion(u.version) {
			u.revision = d.Name + "-" + strings.ReplaceAll(u.version, ".", "-")
		}
	}
	return u, u.revision != ""
}

// An istioTag is an IstioRevisionTag of the Sail operator: its name is a tag for an IstioRevision, or for that of an Istio.
type istioTag struct {
	Neighbour
	Spec struct {
		Target struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
		} `json:"targetRef"`
	} `json:"spec"`
	Status struct {
		Revision string `json:"istioRevision"`
	} `json:"status"`
}

// of returns the revision that the tag means; "" if that is not known.
func (t *istioTag) of(s *Surroundings) string {
	target := t.Spec.Target
	if t.Status.Revision != "" || target.Kind == "IstioRevision" {
		return cmp.Or(t.Status.Revision, target.Name)
	}
	for _, d := range istioDesireds.all(s) {
		if d.Neighbour.Kind == target.Kind && d.Name == target.Name {
			return cmp.Or(d.plane.revision, defaultTag)
		}
	}
	return ""
}

// tagged returns the revision that a tag of the Sail operator's means; isTag is false if no object has that name. What is
// far counts only where no control plane is near.
func tagged(s *Surroundings, name string) (c choice, isTag bool) {
	tags := istioTags.near(s)
	if len(tags) == 0 && len(planes(s, near)) == 0 {
		tags = istioTags.far(s)
	}
	for i := range tags {
		if tags[i].Name != cmp.Or(name, defaultTag) {
			continue
		}
		revision := tags[i].of(s)
		if revision == "" {
			return choice{}, true
		}
		c.revisions = append(c.revisions, revisionOf(revision))
	}
	return c, len(c.revisions) > 0
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
