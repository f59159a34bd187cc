package transformer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// PolicyFacts returns what [Planner.Plan], with the options, knows about Istio and about
// rewritten pods, each fact a string or a list of strings. With them, a program that cannot
// call a planner judges a pod as the planner does. Labels and annotations are given by their
// keys.
func PolicyFacts(o Options) map[string]any {
	names := slices.Compact([]string{Defaults().ProbeProxy.Name, o.ProbeProxy.Name})
	return map[string]any{
		// Injection.
		"Inject": istioInject, "Injection": istioInjection, "Revision": istioRevision,
		"Templates": istioTemplates, "NoCapture": istioNoCapture,
		"Interception": istioInterception, "ProxyConfig": istioProxyConfig,
		"NeverInjected": istioNeverInjected, // namespaces
		"ProxyName":     istioProxyName,
		"AutoImage":     autoImage, // of an istio-proxy that waits for the injector

		// What is captured.
		"IncludePorts": istioIncludePorts, "ExcludePorts": istioExcludePorts,
		"StatusPort": istioStatusPort, "StatusDefault": strconv.Itoa(prober.StatusPort),
		"NeverCaptured": strings.Split(joinPorts(istioNeverCaptured), ", "),
		"Tunnel":        strconv.Itoa(istioTunnel),

		// Rewritten probes: the path of one, how all paths begin, and the key of an original in
		// the env var. The third element of such a path is the container's name.
		"PathPattern": "^" + pathPattern() + "$", "PathStart": "/app-", "KeyPattern": `"` + pathPattern() + `":`,
		"EnvName": prober.EnvName, "ProbeProxyNames": names,
		// What else a probe-proxy is known by.
		"HealthPath": prober.HealthPath, "Waits": prober.Program + " " + prober.WaitCommand + " ",

		// Opt-outs.
		"IstioRewrite": istioRewrite, "OwnRewrite": ownRewrite, "OwnSkipContainers": ownSkipContainers,
		"False": []string{"0", "f", "F", "false", "FALSE", "False"},
		"True":  []string{"1", "t", "T", "true", "TRUE", "True"},
	}
}

// pathPattern returns a regular expression, without anchors, for the paths that
// [prober.ParseKey] accepts.
func pathPattern() string {
	var paths []string
	for _, t := range prober.ProbeTypes() {
		paths = append(paths, prober.Key(`[^/"]+`, t))
	}
	return "(" + strings.Join(paths, "|") + ")"
}
