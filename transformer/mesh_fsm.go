package transformer

import "github.com/rewrite-probes/rewrite-probes/internal/reason"

// flomesh is Flomesh Service Mesh, the successor of Open Service Mesh (fsm v1.5.1
// and commit f1b55bd84a78 of February 2026). The annotation that switches injection
// and its values are in pkg/constants/constants.go:221 and
// pkg/injector/webhook.go:316-333, the annotation of excluded ports in
// pkg/injector/exclusions.go:18, uid 1500 in pkg/constants/constants.go:42. The
// name of the proxy's container is a common one, so its image must be Flomesh's
// pipy. The webhook's selector leaves out Namespaces with one of two labels
// (pkg/injector/webhook.go).
//
// For every probe of a type, its proxy makes that of the first container
// (pkg/sidecar/v1/providers/pipy/repo/codebase/probes.js).
var flomesh = osmProfile(fsmDomain, meshData{
	name: "fsm", title: "Flomesh Service Mesh", proxy: "sidecar", image: "pipy",
	ownInjector: reason.FSMInjector, word: "flomesh", control: "fsm-controller", short: "Flomesh",
})
