package nearby

import (
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// CollectKinds is Collect for given kinds.
var CollectKinds = collect

// Source returns what answers about an object.
func (x *Index) Source(o *manifest.Object, namespace string) surroundings.Source {
	x.Of(o, namespace)
	return source{x, question{placeOf(o), namespace}}
}
