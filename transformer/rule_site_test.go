package transformer

import (
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// siteFor returns a probe or hook of the container "app" with a handler.
func siteFor(name prober.ProbeType, h pod.Handler) *site {
	return &site{container: &pod.Container{Name: "app"}, name: name, current: &h, original: &h, timeout: 1}
}

func TestSiteRules_handler(t *testing.T) {
	o := Options{Mesh: MeshAuto, Rewrite: []string{"httpGet"}}
	k := &knowledge{view: &view{setting: &setting{opts: &o, mesh: meshOf(&o)}}}
	get := pod.Handler{HTTPGet: &pod.HTTPGet{Port: field.Number(80)}}
	for name, c := range map[string]struct {
		rule siteRule
		site *site
		want string
	}{
		"a handler that is selected":    {notSelected, siteFor(prober.Liveness, get), ""},
		"a hook that is not":            {notSelected, siteFor(prober.PreStop, get), "not-selected"},
		"a handler that dials":          {noNetwork, siteFor(prober.Liveness, get), ""},
		"a command":                     {noNetwork, siteFor(prober.Liveness, pod.Handler{Exec: &pod.Exec{}}), "no-network"},
		"a hook that the kubelet lacks": {hookNeverWorks, siteFor(prober.PostStart, pod.Handler{TCPSocket: &pod.TCPSocket{}}), "hook-never-works"},
		"another host":                  {goesToHost, siteFor(prober.Liveness, pod.Handler{HTTPGet: &pod.HTTPGet{Host: "h"}}), "host-set"},
		"a scheme that there is not":    {schemeInvalid, siteFor(prober.Liveness, pod.Handler{HTTPGet: &pod.HTTPGet{Scheme: "ftp"}}), "scheme-invalid"},
		"a path with a variable":        {textIsVariable, siteFor(prober.Liveness, pod.Handler{HTTPGet: &pod.HTTPGet{Path: "/${X}"}}), "variable"},
		"no handler":                    {notOneHandler, siteFor(prober.Liveness, pod.Handler{}), "not-one-handler"},
	} {
		if got := c.rule(k, c.site).reason.String(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
