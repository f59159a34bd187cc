package transformer

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// An originalFinder understands probes that a mesh's own tool has rewritten, and for
// which no container of the template carries originals. found reports whether a
// probe is one; original is nil if the template does not say what it was.
type originalFinder func(b *planBuilder, s *handlerSite) (original *Handler, found bool)

// findMeshOriginal sets the original of a probe to the one that a mesh's own tool has left in
// the template.
func (b *planBuilder) findMeshOriginal(s *handlerSite) {
	for _, d := range serviceMeshes {
		if d.findOriginal == nil {
			continue
		}
		original, found := d.findOriginal(b, s)
		if !found {
			continue
		}
		s.lost = original == nil
		if original != nil {
			s.original, s.alreadyRewritten, s.foreign = original, true, true
			s.form = namedForm(original, s.form)
		}
		return
	}
}

// namedForm returns the form of an original whose port is a name, which the env
// var cannot carry; nil if it can carry the original. read is the form of the
// probe as it was read.
func namedForm(original *Handler, read field.Map) field.Map {
	if original.HTTPGet == nil || !original.HTTPGet.Port.IsString {
		return nil
	}
	form := slices.Clone(read)
	for i := range form {
		if form[i].Key == "port" {
			form[i].Value = original.HTTPGet.Port.Str
		}
	}
	return form
}
