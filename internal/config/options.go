package config

import "github.com/rewrite-probes/rewrite-probes/transformer"

// Options returns the options of the planner.
func (s *Spec) Options() transformer.Options {
	o := transformer.Options{
		Mesh: s.Mesh, AnsweredBy: s.AnsweredBy, Port: s.Port, Rewrite: s.Rewrite,
		ProbeProxy: transformer.ProbeProxy(s.ProbeProxy),
		IstioProxy: transformer.IstioProxy(s.IstioProxy),
		Istio:      transformer.Istio(s.Istio),
	}
	if o.ProbeProxy.Image == "" {
		o.ProbeProxy.Image = transformer.Defaults().ProbeProxy.Image
	}
	return o
}
