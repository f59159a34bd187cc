package config

import (
	"strings"

	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// Options returns the options of the planner.
func (s *Spec) Options() transformer.Options {
	return transformer.Options{
		Mesh: s.Mesh, AnsweredBy: s.AnsweredBy, Port: s.Port, Rewrite: s.Rewrite,
		ProbeProxy: s.ProbeProxy.options(),
		IstioProxy: transformer.IstioProxy(s.IstioProxy),
		Istio: transformer.Istio{
			InjectorRewrites: declared(s.Istio.InjectorRewrites), InjectedNamespaces: s.Istio.InjectedNamespaces,
			NativeSidecars: declared(s.Istio.NativeSidecars), HoldApplication: s.Istio.HoldApplication,
			RootNamespace: s.Istio.RootNamespace, MTLS: s.Istio.MTLS,
		},
		Platform: s.Platform,
	}
}

func (p *ProbeProxy) options() transformer.ProbeProxy {
	o := transformer.ProbeProxy{
		Image: p.Image, Name: p.Name, Placement: p.Placement, ImagePullPolicy: p.ImagePullPolicy, Body: p.Body,
		Resources: p.Resources, SecurityContext: p.SecurityContext, Env: p.Env,
		LivenessProbe: p.LivenessProbe, ReadinessProbe: p.ReadinessProbe,
	}
	if o.Image == "" {
		o.Image = transformer.Defaults().ProbeProxy.Image
		if p.Registry != "" {
			o.Image = p.Registry + o.Image[strings.LastIndexByte(o.Image, '/'):]
		}
	}
	return o
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
