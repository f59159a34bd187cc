package transformer

import (
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/pod"
)

// injectedPaths are the paths of the probes that the injectors of Open Service Mesh and Flomesh
// rewrite. The name of the container may follow.
var injectedPaths = []string{
	"/osm-liveness-probe", "/osm-readiness-probe", "/osm-startup-probe",
	"/fsm-liveness-probe", "/fsm-readiness-probe", "/fsm-startup-probe",
}

// injectedHeaders are those with which the injectors say where a request to injectedHealthchecks
// goes.
var (
	injectedHealthchecks = []string{"/osm-healthcheck", "/fsm-healthcheck"}
	injectedHeaders      = []string{"original-http-port", "original-http-path", "original-tcp-port"}
)

// isInjected reports whether a request looks as one of these injectors writes it.
func isInjected(h *pod.HTTPGet) bool {
	if slices.Contains(injectedHealthchecks, h.Path) {
		return slices.ContainsFunc(h.HTTPHeaders, func(x pod.HTTPHeader) bool {
			return slices.Contains(injectedHeaders, strings.ToLower(x.Name))
		})
	}
	path := h.Path
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		path = path[:i]
	}
	return slices.Contains(injectedPaths, path)
}
