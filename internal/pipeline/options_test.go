package pipeline

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// The reference of the functionConfig has the defaults of the config, and the
// planner has its own.
func TestAnEmptyConfigHasThePlannersDefaults(t *testing.T) {
	if d := cmp.Diff(transformer.Defaults(), options(config.Default())); d != "" {
		t.Errorf("-planner +config\n%s", d)
	}
}
