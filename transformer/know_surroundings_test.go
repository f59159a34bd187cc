package transformer_test

import (
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/nearby"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// rootNamespace is Istio's.
const rootNamespace = "istio-system"

// near returns the surroundings of the first object of the text, which goes to the
// namespace.
func near(t *testing.T, namespace, yaml string) *surroundings.Surroundings {
	t.Helper()
	s, err := manifest.Read("mesh.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return new(nearby.Collect([]*manifest.Stream{s}, rootNamespace).Of(s.Objects()[0], namespace))
}

var webLabels = field.KeyValues{{Key: "app", Value: "web"}, {Key: "tier", Value: "front"}}

// Nothing is known of an object whose spec is none.
func TestWhatCannotBeReadDoesNotCount(t *testing.T) {
	yaml := ""
	for _, kind := range []string{"v1\nkind: Service", "v1\nkind: LimitRange", "v1\nkind: ResourceQuota", "networking.k8s.io/v1\nkind: Ingress", "security.istio.io/v1\nkind: PeerAuthentication", "security.istio.io/v1\nkind: AuthorizationPolicy"} {
		yaml += "apiVersion: " + kind + "\nmetadata: {name: web}\nspec: 5\n---\n"
	}
	s := near(t, "", yaml)
	unlabelled := &surroundings.Pods{Kind: "Pod", Spec: new(pod.Spec)}
	modes := s.MTLS(rootNamespace, unlabelled, 80, surroundings.MTLSPermissive)
	if limits := s.Limits(); len(limits.Ranges)+len(limits.Quotas) != 0 || s.HasServices() || len(modes) != 1 || modes[0].At != "" {
		t.Errorf("an object is known: %+v, %+v", limits, modes)
	}
}
