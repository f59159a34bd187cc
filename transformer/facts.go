package transformer

import (
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// IstioFacts are what [Planner.Plan] knows about Istio and about rewritten pods. With
// them, a program that cannot call a planner judges a pod as the planner does.
// Labels and annotations are given by their keys.
type IstioFacts struct {
	// Injection.
	Inject, Injection, Revision, Templates string
	Interception, ProxyConfig              string
	NeverInjected                          []string // namespaces
	NoCapture                              []string // injection templates
	ProxyName, AutoImage                   string   // AutoImage is that of an istio-proxy that waits for the injector

	// What is captured.
	IncludePorts, ExcludePorts, StatusPort string
	StatusDefault                          int
	NeverCaptured                          []int

	// Rewritten probes. PathPattern, a regular expression without anchors, matches
	// the path of every rewritten probe. The third element of such a path is the
	// container's name, and all begin with PathStart.
	EnvName, PathPattern, PathStart string
	HealthPath                      string
	ProbeProxyNames                 []string

	// Opt-outs.
	IstioRewrite, OwnRewrite, OwnSkipContainers string
	False, True                                 []string // how a boolean annotation says no, and yes
}

// FactsOfIstio returns what this version, with the options, knows about Istio.
func FactsOfIstio(o Options) IstioFacts {
	names := []string{Defaults().ProbeProxy.Name}
	if o.ProbeProxy.Name != names[0] {
		names = append(names, o.ProbeProxy.Name)
	}
	return IstioFacts{
		Inject: istioInject, Injection: istioInjection, Revision: istioRevision, Templates: istioTemplates,
		Interception: istioInterception, ProxyConfig: istioProxyConfig,
		NeverInjected: istioNeverInjected, NoCapture: istioNoCapture, ProxyName: istioProxyName, AutoImage: autoImage,
		IncludePorts: istioIncludePorts, ExcludePorts: istioExcludePorts, StatusPort: istioStatusPort,
		StatusDefault: prober.StatusPort, NeverCaptured: istioNeverCaptured,
		EnvName: prober.EnvName, PathPattern: pathPattern(), PathStart: "/app-", HealthPath: prober.HealthPath, ProbeProxyNames: names,
		IstioRewrite: istioRewrite, OwnRewrite: ownRewrite, OwnSkipContainers: ownSkipContainers,
		False: []string{"0", "f", "F", "false", "FALSE", "False"},
		True:  []string{"1", "t", "T", "true", "TRUE", "True"},
	}
}

// pathPattern returns a regular expression for the paths that [prober.ParseKey]
// accepts.
func pathPattern() string {
	paths := make([]string, 0, 5)
	for _, t := range prober.ProbeTypes() {
		paths = append(paths, prober.Key(`[^/"]+`, t))
	}
	return "(" + strings.Join(paths, "|") + ")"
}
