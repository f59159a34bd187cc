package transformer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// osm is the profile of Open Service Mesh (osm, main of July 2023).
type osm struct{}

// The annotations of Open Service Mesh.
const (
	osmInjection    = "openservicemesh.io/sidecar-injection"
	osmExcludePorts = "openservicemesh.io/inbound-port-exclusion-list"
)

// osmHealthcheckName is the name of probe-proxy if Envoy answers all probes but
// tcpSocket. OSM's own container for that has the same name.
const osmHealthcheckName = "osm-healthcheck"

const osmProxyName = "envoy"

// osmReserved are the ports of the mesh's own proxy: admin, outbound, inbound
// and metrics.
var osmReserved = []int{15000, 15001, 15003, 15010}

func (osm) proxyAnswerer() string { return AnsweredByEnvoy }

// proxyAnswers: a container of the mesh's own makes tcpSocket probes.
func (osm) proxyAnswers(s *handlerSite) bool { return s.original.TCPSocket == nil }

func (osm) sidecarName(answeredBy, byDefault string) string {
	if answeredBy == AnsweredByEnvoy {
		return osmHealthcheckName
	}
	return byDefault
}

// reservedPorts: the convention fixes the ports.
func (osm) reservedPorts() []int { return nil }

// proxyPorts: Envoy is told by a companion, so it carries no originals itself.
func (osm) proxyPorts(*planBuilder) []int { return osmPorts }

// undo and annotate: the mesh never captures the ports of rewritten probes.
func (osm) undo(annotations field.KeyValues, _ mesh, _ []answerer, _ field.KeyValues) field.KeyValues {
	return annotations
}

func (osm) annotate(user, _ field.KeyValues, _ mesh, _ answerer) field.KeyValues { return user }

func (osm) answerers() []string {
	return []string{AnsweredByAuto, AnsweredByProbeProxy, AnsweredByEnvoy}
}

func (osm) proxyID() int64 { return prober.OSMProxyID }

func (osm) isProxy(c *Container) bool { return c.Name == osmProxyName }

// proxyPlaceholder: only probe-proxy reads the env var, so no proxy is declared.
func (osm) proxyPlaceholder() field.Map { return nil }

func (osm) privileged(field.KeyValues) bool { return false }

func (d osm) inspect(b *planBuilder) mesh {
	ports, _, _ := listedPorts(b.annotations(), osmExcludePorts)
	d.checkPortList(b)
	who := AnsweredByProbeProxy
	if b.p.opts.AnsweredBy == AnsweredByEnvoy {
		who = AnsweredByEnvoy
	}
	optOut := d.optOut(b)
	return mesh{
		answerer:     answerer{who, prober.OSMHealthcheckPort},
		present:      d.isPresent(b),
		optOut:       optOut,
		passesProbes: optOut != nil,
		captures: func(port int) bool {
			return !slices.Contains(osmReserved, port) && !slices.Contains(osmPorts, port) && !slices.Contains(ports, port)
		},
		warnings: d.warnings(b),
	}
}

func (d osm) isPresent(b *planBuilder) bool {
	found := false
	eachContainer(&b.in.Template.Spec, func(_ containerRef, c *Container) { found = found || d.isProxy(c) })
	return found
}

// osmSwitch returns the injection switch in annotations; set is false if the
// mesh's injector does not know its value.
func osmSwitch(annotations field.KeyValues) (on, set bool) {
	switch strings.ToLower(annotations.Get(osmInjection)) {
	case "enabled", "yes", "true":
		return true, true
	case "disabled", "no", "false":
		return false, true
	}
	return false, false
}

// optOut finds why the mesh is not in the pod. In a template that already has the
// proxy, injection is switched off for that reason.
func (d osm) optOut(b *planBuilder) *Finding {
	if d.isPresent(b) {
		return nil
	}
	const what = "the mesh does not capture this pod"
	on, set := osmSwitch(b.annotations())
	if set && !on {
		f := b.annotationFinding("injection-off", osmInjection, "switches injection off, so "+what)
		return &f
	}
	if ns := b.in.Namespace; !set && ns != nil {
		if on, set := osmSwitch(ns.Annotations); set && !on {
			f := b.finding("namespace-not-injected", nil, "", "Namespace %q has the annotation `%s: %s`, so %s", ns.Name, osmInjection, ns.Annotations.Get(osmInjection), what)
			return &f
		}
	}
	return nil
}

// warnings warns of the mesh's injector: it does not know rewritten probes and
// would point them at themselves.
func (osm) warnings(b *planBuilder) []Finding {
	const what = "OSM's own injector rewrites probes too, knows no rewritten ones and sends them to themselves; leave this object to the injector (`rewrite-probes.io/rewrite: \"false\"`), or switch the injection off"
	on, set := osmSwitch(b.annotations())
	if on {
		return []Finding{b.annotationFinding("osm-injector", osmInjection, "has the proxy injected, and "+what)}
	}
	if ns := b.in.Namespace; !set && ns != nil {
		if on, _ := osmSwitch(ns.Annotations); on {
			return []Finding{b.finding("osm-injector", nil, "", "Namespace %q has the annotation `%s: %s`, and %s", ns.Name, osmInjection, ns.Annotations.Get(osmInjection), what)}
		}
	}
	return nil
}

func (osm) checkPortList(b *planBuilder) {
	v, set := b.annotations().Lookup(osmExcludePorts)
	for item := range strings.SplitSeq(v, ",") {
		if n, err := strconv.Atoi(strings.TrimSpace(item)); set && (err != nil || n < 1 || n > 65535) {
			b.addFinding(b.annotationFinding("port-list-invalid", osmExcludePorts, "must be ports joined by commas, and %q is none", item))
			return
		}
	}
}
