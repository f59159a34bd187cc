package transformer

import (
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// Notes are what was asked while a template was planned, besides what it
// always reads of the pod spec.
type Notes struct {
	Pods, Workload field.MetadataKeys
	surroundings.Asked
	Fields []field.Path // of probes, besides those that every plan reads
	// isOut is set if the whole template is left alone, whatever its probes and ports are.
	isOut bool
	// notAside has nothing asked aside, so that a test sees whether an edit depends on it.
	notAside bool
}

// Note has the planner note into n what it asks about the input.
func (in *Input) Note(n *Notes) {
	in.Notes = n
	in.Around = in.Around.Note(&n.Asked)
}

func (n *Notes) field(of field.Path, keys ...string) {
	if n != nil {
		n.Fields = append(n.Fields, of.Key(keys...))
	}
}

// aside asks something that changes no edit, as what only warns: it is not noted.
func (n *Notes) aside(ask func()) {
	if n == nil {
		ask()
		return
	}
	if n.notAside {
		return
	}
	before := *n
	ask()
	*n = before
}
