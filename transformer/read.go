package transformer

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/pod"
)

// read reads a template: first the holders of originals, then the probes and hooks, with their
// originals.
func read(o *Options, finders []originalFinder, in *Input) *template {
	t := &template{in: in, metadata: in.MetadataPath(), spec: in.SpecPath()}
	t.noteMetadata()
	t.names = pod.Names(in.Template.Spec.All())
	t.named = make(map[string]int, len(t.names))
	for _, name := range t.names {
		t.named[name]++
	}
	b := &reader{t, o, finders}
	b.findHolders()
	for at, c := range b.containers() {
		for _, s := range sitesOf(b.spec, at, c) {
			s.original = s.current
			s.source = b.sourceMap(s.path)
			s.form = s.readForm()
			b.recognise(s)
			b.sites = append(b.sites, s)
		}
	}
	for _, s := range b.sites {
		b.adoptEdits(s)
		s.made = t.madePort(s)
		s.port, s.portErr = s.original.Resolve(s.container)
	}
	b.keepOriginals()
	b.holders = slices.DeleteFunc(b.holders, func(h *holder) bool { return !h.isRemovable() })
	return t
}

// madePort returns the port that the controller of the template's kind gives to a probe; 0 if it leaves it. Knative gives
// that of the app to the probes of the container with ports, or of the only one (rewriteUserProbe in
// pkg/reconciler/revision/resources/deploy.go).
func (t *template) madePort(s *site) int {
	if t.in.Shape.ProbesMadeBy == "" || s.holder != nil || s.name.IsHook() || !s.current.Dials() {
		return 0
	}
	ports := s.container.Ports
	if len(ports) == 0 && len(t.in.Template.Spec.Containers) > 1 {
		return 0
	}
	if len(ports) == 0 {
		return 8080
	}
	return int(ports[0].ContainerPort)
}
