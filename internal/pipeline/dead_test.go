package pipeline_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

func TestExceptionsFromMutualTLSThatIstioNoLongerReadsAreWarnedOf(t *testing.T) {
	for _, c := range []struct {
		object, field string // "" if it is in order
		line          int
	}{
		{"apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  annotations:\n    auth.istio.io/8080: NONE\n", "metadata.annotations[auth.istio.io/8080]", 6},
		{"apiVersion: authentication.istio.io/v1alpha1\nkind: Policy\nmetadata: {name: web}\n", "kind", 2},
		{"apiVersion: authentication.istio.io/v1alpha1\nkind: MeshPolicy\nmetadata: {name: web}\n", "kind", 2},
		{"apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  annotations: {a: auth.istio.io/8080}\n", "", 0},
		{"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n  annotations: {auth.istio.io/8080: NONE}\n", "", 0},
		{"apiVersion: policy/v1\nkind: Policy\nmetadata: {name: web}\n", "", 0},
		{"apiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata: {name: web}\n", "", 0},
	} {
		for _, mode := range []pipeline.Mode{pipeline.Rewrite, pipeline.Inspect} {
			_, r := runWith(t, config.Default(), "web.yaml", []byte(c.object), mode)
			if (len(r.Messages) == 1) != (c.field != "") {
				t.Errorf("%v in\n%s", r.Messages, c.object)
				continue
			}
			for _, m := range r.Messages {
				if m.Reason != pipeline.ReasonDeadIstio || m.Severity != transformer.Warning || m.Field.String() != c.field || m.Line != c.line || !strings.Contains(m.String(), " web: `"+c.field+"`: ") {
					t.Errorf("%s, of the field %s", m, m.Field)
				}
			}
		}
	}
}
