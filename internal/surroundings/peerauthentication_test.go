package surroundings

import (
	"slices"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

func TestOnePolicyThatIsSureLeavesTheWiderScopeOut(t *testing.T) {
	web, later := field.KeyValues{{Key: "app", Value: "web"}}, field.KeyValues{{Key: "istio.io/rev", Value: "canary"}}
	sure := PeerAuthentication{Name: "sure", Namespace: "shop", MatchLabels: web, Mode: MTLSStrict}
	maybe := PeerAuthentication{Name: "maybe", Namespace: "shop", MatchLabels: later, Mode: MTLSPermissive}
	wide := PeerAuthentication{Name: "wide", Namespace: "shop", Mode: MTLSDisable}
	unset := func(name string) PeerAuthentication {
		return PeerAuthentication{Name: name, Namespace: "shop", Mode: mtlsUnset}
	}
	root := PeerAuthentication{Name: "root", Namespace: "istio-system", Mode: MTLSStrict}
	for name, c := range map[string]struct {
		policies []PeerAuthentication
		want     []MTLSMode
	}{
		"none":             {nil, []MTLSMode{{Mode: MTLSPermissive}}},
		"one that is sure": {[]PeerAuthentication{wide, sure}, []MTLSMode{{Mode: MTLSStrict, At: "PeerAuthentication shop/sure"}}},
		"one that may be about the pod": {[]PeerAuthentication{wide, maybe}, []MTLSMode{
			{Mode: MTLSDisable, At: "PeerAuthentication shop/wide"}, {Mode: MTLSPermissive, At: "PeerAuthentication shop/maybe"}}},
		"both": {[]PeerAuthentication{wide, sure, maybe}, []MTLSMode{
			{Mode: MTLSPermissive, At: "PeerAuthentication shop/maybe"}, {Mode: MTLSStrict, At: "PeerAuthentication shop/sure"}}},
		"two that leave it to the mesh": {[]PeerAuthentication{root, unset("a"), unset("b")}, []MTLSMode{{Mode: MTLSStrict, At: "PeerAuthentication istio-system/root"}}},
	} {
		for range 2 {
			s := Surroundings{PeerAuthentications: c.policies}
			got := s.MTLS("istio-system", &Pods{Namespace: "shop", Kind: "Deployment", Labels: web}, 8080, MTLSPermissive)
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
			slices.Reverse(c.policies)
		}
	}
}
