package transformer_test

import (
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// rootNamespace is Istio's.
const rootNamespace = "istio-system"

// near returns the surroundings of the first object of the text, which goes to the
// namespace.
func near(t *testing.T, namespace, yaml string) *transformer.Surroundings {
	t.Helper()
	s, err := manifest.Read("mesh.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return surroundings.Collect([]*manifest.Stream{s}, rootNamespace).Of(s, s.Objects()[0], namespace)
}

var webLabels = field.KeyValues{{Key: "app", Value: "web"}, {Key: "tier", Value: "front"}}
