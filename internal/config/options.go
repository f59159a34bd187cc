package config

import (
	"strings"

	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// Options returns the options of the planner.
func (s *Spec) Options() transformer.Options {
	p, image := &s.ProbeProxy, transformer.Defaults().ProbeProxy.Image
	switch {
	case p.Image != "":
		image = p.Image
	case p.Registry != "":
		image = p.Registry + image[strings.LastIndexByte(image, '/'):]
	}
	return transformer.Options{
		Mesh: s.Mesh, AnsweredBy: s.AnsweredBy, Port: s.Port, Rewrite: s.Rewrite, Platform: s.Platform,
		ProbeProxy: transformer.ProbeProxy{
			Image: image, Name: p.Name, Placement: p.Placement, ImagePullPolicy: p.ImagePullPolicy, Body: p.Body,
			Resources: p.Resources, SecurityContext: p.SecurityContext, Env: p.Env,
			LivenessProbe: p.LivenessProbe, ReadinessProbe: p.ReadinessProbe,
		},
		IstioProxy: transformer.IstioProxy(s.IstioProxy),
		Istio: transformer.Istio{
			InjectorRewrites: declared(s.Istio.InjectorRewrites), InjectedNamespaces: s.Istio.InjectedNamespaces,
			NativeSidecars: declared(s.Istio.NativeSidecars), HoldApplication: s.Istio.HoldApplication,
			RootNamespace: s.Istio.RootNamespace, MTLS: s.Istio.MTLS,
		},
	}
}

// declared returns a value that is auto, true or false; nil for auto, and for a value
// that the validation refuses.
func declared(v any) *bool {
	on := v == true || v == "true"
	if !on && v != false && v != "false" {
		return nil
	}
	return &on
}
