package pipeline

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// TestAnEmptyConfigHasThePlannersDefaults: what the reference of the
// functionConfig states is what happens.
func TestAnEmptyConfigHasThePlannersDefaults(t *testing.T) {
	if d := cmp.Diff(transformer.Defaults(), options(config.Default())); d != "" {
		t.Errorf("-planner +config\n%s", d)
	}
}
