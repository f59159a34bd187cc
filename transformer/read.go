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
		s.port, s.portErr = s.original.Resolve(s.container)
	}
	b.keepOriginals()
	b.holders = slices.DeleteFunc(b.holders, func(h *holder) bool { return !h.isRemovable() })
	return t
}
