package transformer

import (
	"cmp"
	"slices"
	"sync"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// A setting is the options next to one mesh: what is the same for all templates.
type setting struct {
	opts *Options
	mesh *serviceMesh
	// The container probe-proxy without what a template adds to it, made when it is needed.
	sidecar, ordinary onceMap
}

// An onceMap is a mapping that is made once.
type onceMap struct {
	sync.Once
	m field.Map
}

// answerPort returns the port on which probe-proxy answers.
func (s *setting) answerPort() int {
	return cmp.Or(s.mesh.port, s.opts.Port)
}

// listensOn reports whether an answerer listens on a port.
func (s *setting) listensOn(a answerer, port int) bool {
	switch {
	case a.port == port:
		return true
	case !s.mesh.osmForm:
		return false
	case a.who == AnsweredByEnvoy:
		return port != prober.OSMHealthcheckPort && slices.Contains(prober.OSMPorts(), port)
	}
	return a.who == AnsweredByProbeProxy && slices.Contains(prober.OSMPorts(), port)
}

// A view is a template in a setting: all that a mesh's profile sees.
type view struct {
	*template
	*setting
	userAnnotations field.Noted // without what was added for past answerers in any mesh
	proxyAt         pod.Ref
	proxy           *pod.Container          // of the mesh, in the template; nil if it has none
	installed       *surroundings.Installed // what judges probes, and not what plans; nil while planning
}

func newView(s *setting, t *template, user field.Noted) *view {
	v := &view{template: t, setting: s, userAnnotations: user}
	v.proxyAt, v.proxy = t.proxyOf(s.mesh.isProxy)
	return v
}

// firstIsApp reports whether the first container is taken for the app.
func (v *view) firstIsApp() bool {
	return v.in.Shape.FirstIsApp || v.mesh.firstIsApp
}

func (v *view) onOpenShift() bool {
	if p := v.opts.Platform; p == PlatformOpenShift || p == PlatformKubernetes {
		return p == PlatformOpenShift
	}
	return surroundings.IsOpenShift(v.in.APIVersion, v.in.Kind) || v.in.Around.IsOpenShift()
}
