package transformer

import (
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// osm is the profile of Open Service Mesh and of its successor, which differ only in
// names.
type osm struct {
	meshData
	switchKey      string // the annotation that switches injection
	never          uninjected
	injectorReason string // the reason to leave a pod to the mesh's injector
}

// openServiceMesh is Open Service Mesh (osm, main of July 2023).
var openServiceMesh = osm{
	meshData: meshData{
		name: "osm", title: "Open Service Mesh", proxyAnswerer: AnsweredByEnvoy,
		proxy: "envoy", commonName: true, uid: prober.OSMProxyID,
		excluded: portList{key: "openservicemesh.io/inbound-port-exclusion-list"},
	},
	switchKey:      "openservicemesh.io/sidecar-injection",
	never:          uninjected{names: osmUninjected, labels: field.KeyValues{{Key: "openservicemesh.io/ignore"}, {Key: "control-plane"}}},
	injectorReason: "osm-injector",
}

// osmHealthcheckName is the name of probe-proxy if it answers only tcpSocket probes
// and Envoy the others. OSM's own container for that has the same name.
const osmHealthcheckName = "osm-healthcheck"

// osmUninjected are the namespaces that neither mesh injects, besides its own
// (pkg/injector/webhook.go).
var osmUninjected = []string{"kube-system", "kube-public"}

// osmReserved are the ports of the mesh's own proxy: admin, outbound, inbound
// and metrics.
var osmReserved = []int{15000, 15001, 15003, 15010}

// undo and annotate: the mesh never captures the ports of rewritten probes.
func (osm) undo(annotations field.KeyValues, _ []answerer, _ field.KeyValues) field.KeyValues {
	return annotations
}

func (osm) annotate(user, _ field.KeyValues, _ answerer) field.KeyValues { return user }

// membership: a proxy in the template says nothing, since other containers may have
// its name.
func (d osm) membership(b *planBuilder) membership {
	return d.never.narrow(b, b.switchIn("annotations", d.switchKey, osmSwitchValues, readOSMSwitch))
}

func (d osm) inspect(b *planBuilder) inspection {
	_, proxy := b.proxyOf(d.isProxy)
	m := inspection{answerer: answerer{AnsweredByProbeProxy, prober.OSMHealthcheckPort}}
	if who := b.p.opts.AnsweredBy; who == AnsweredByEnvoy || who == AnsweredByApp {
		m.answerer.who = who
	}
	m.captures = func(port int) bool {
		return !slices.Contains(osmReserved, port) && !slices.Contains(osmPorts, port) && !d.excluded.has(b.userAnnotations, port)
	}
	if item, bad := d.excluded.badItem(b.userAnnotations); bad {
		b.addFinding(b.annotationFinding("port-list-invalid", d.excluded.key, "%s, and %q is none", d.excluded.allowed(), item))
	}
	m.outcome = m.capturedOutcome(b, atStrictProxy)
	said := d.membership(b)
	switch f := d.injects(said); {
	case proxy != nil && f != nil:
		m.warnings = append(m.warnings, *f)
	case proxy != nil: // the proxy is in the template, so its injection is switched off
	case f != nil:
		m.optOut, m.outcome = f, m.capturedOutcome(b, func(s *handlerSite) fate {
			if s.name.IsHook() || s.original.Kind() == kindGRPC {
				return fate{Fails, whyNoCertificate}
			}
			return unaffected // the mesh's injector rewrites it
		})
	default:
		m.optOut = d.never.optOut(b, said)
		m.passesProbes = m.optOut != nil
	}
	return m
}

// osmSwitchValues are the values of the injection switch, for messages.
const osmSwitchValues = "enabled, yes, true, disabled, no or false"

// readOSMSwitch reads a value of the injection switch; ok is false if the mesh's
// injector does not know it.
func readOSMSwitch(value string) (on, ok bool) {
	switch strings.ToLower(value) {
	case "enabled", "yes", "true":
		return true, true
	case "disabled", "no", "false":
		return false, true
	}
	return false, false
}

// injects returns a finding if the mesh's injector gets the pod: it rewrites the
// probes itself and does not know rewritten ones.
func (d osm) injects(m membership) *Finding {
	if m.injected != always {
		return nil
	}
	return new(NewFinding(d.injectorReason, nil, "%s has %s's own injector rewrite the probes of this pod; it would send rewritten ones to themselves", m.at, d.title))
}
