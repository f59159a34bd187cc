package transformer

import (
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

const (
	osmDomain = "openservicemesh.io"
	fsmDomain = "flomesh.io"
	osmInject = "/sidecar-injection" // behind the domain: the annotation that switches injection
)

// openServiceMesh is the profile of Open Service Mesh (osm, main of July 2023).
var openServiceMesh = osmProfile(osmDomain, meshData{
	name: "osm", title: "Open Service Mesh", proxy: envoyName, osmForm: true,
	ownInjector: reason.OSMInjector, word: "openservicemesh", control: "osm-controller",
})

// osmProfile completes the profile of Open Service Mesh or its successor, whose labels and
// annotations differ in their domain. Neither injects two namespaces, besides its own
// (pkg/injector/webhook.go), nor captures its proxy's ports (admin, outbound, inbound and
// metrics) and those to which it sends the probes that it rewrites itself: probe-proxy is on
// the last one.
func osmProfile(domain string, data meshData) passiveProxy {
	data.commonName = true
	data.uid = 1500
	data.port = 15904
	data.excluded = portList{key: domain + "/inbound-port-exclusion-list"}
	inject := domain + osmInject
	data.inject = []mark{{key: inject}}
	return passiveProxy{
		meshData:                data,
		uncapturedPorts:         append([]int{15000, 15001, 15003, 15010}, prober.OSMPorts()...),
		uninjectedNamespaces:    []string{"kube-system", "kube-public"},
		excludedNamespaceLabels: field.KeyValues{{Key: domain + "/ignore"}, {Key: "control-plane"}},
		switched: func(v *view) membership {
			_, envoy := v.proxyOf(data.isProxy)
			answers := func(s *site) bool {
				return s.byEnvoy || s.holder != nil && s.holder.isAnnotation()
			}
			if data.osmForm &&
				envoy != nil &&
				slices.ContainsFunc(v.sites, answers) {
				return memberBy(envoy)
			}
			return v.switchIn("annotations", inject, "enabled, yes, true, disabled, no or false", func(value string) (on, ok bool) {
				return isEnabled(strings.ToLower(value))
			})
		},
		refine: refineOSM,
	}
}

// refineOSM: the mesh's injector rewrites the probes of the pods that it gets, and does not
// know rewritten ones.
func refineOSM(p passiveProxy, v *view, m *inspection) {
	said := p.membership(v)
	var injects *Finding
	if said.injected == certain.Always && !said.byName {
		injects = new(NewFinding(p.ownInjector, nil,
			"%s makes %s's injector rewrite this pod's probes", said.at, p.title).
			Why("That injector would send rewritten probes to themselves"))
	}
	defer func() { m.outcome = notExcluded(p, v, m.outcome) }()
	switch _, proxy := v.proxyOf(p.isProxy); {
	case injects != nil: // also beside a proxy of the template's own, which has the name of the injected one
		m.optOut, m.outcome = injects, m.capturedOutcome(v, func(s *site) (world.Fate, string) {
			if s.name.IsHook() || s.original.Kind() == pod.KindGRPC {
				return world.Failing(whyNoCertificate), ""
			}
			return world.Spared, "" // the mesh's injector rewrites it
		})
	case proxy != nil: // it is in the template, so its injection is switched off
		m.optOut = nil
	}
}

// notExcluded returns the outcomes for probes, but for those on ports that Open Service Mesh captures in no pod.
func notExcluded(p passiveProxy, v *view, outcome outcomeOf) outcomeOf {
	return func(s *site) (world.Fate, string) {
		if _, excludes := surroundings.OSMExcludes(&v.in.Around, s.dialed()); excludes && p.osmForm {
			return world.Spared, ""
		}
		return outcome(s)
	}
}
