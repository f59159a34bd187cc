package surroundings

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

func peerNamed(namespace, name string) Neighbour {
	o := named(namespace, name)
	o.Kind = "PeerAuthentication"
	return o
}

func TestOnePolicyThatIsSureLeavesTheWiderScopeOut(t *testing.T) {
	web, later := field.KeyValues{{Key: "app", Value: "web"}}, field.KeyValues{{Key: "istio.io/rev", Value: "canary"}}
	of := func(namespace, name string, labels field.KeyValues, mode string) PeerAuthentication {
		return PeerAuthentication{Neighbour: peerNamed(namespace, name), Selector: WorkloadSelector{labels}, MTLS: PeerMTLS{mode}}
	}
	sure, maybe := of("shop", "sure", web, MTLSStrict), of("shop", "maybe", later, MTLSPermissive)
	wide, root := of("shop", "wide", nil, MTLSDisable), of("istio-system", "root", nil, MTLSStrict)
	unset := func(name string) PeerAuthentication { return of("shop", name, nil, mtlsUnset) }
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
			s := around(c.policies...)
			got := s.MTLS("istio-system", &Pods{Namespace: "shop", Kind: "Deployment", Labels: web}, 8080, MTLSPermissive)
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
			slices.Reverse(c.policies)
		}
	}
}

// The modes are those of every way in which the policies can be in the cluster: of a scope Istio takes the oldest, which may
// be any; one that may be about the pod is or is not; and the pod may be in the namespace that the policies have, or in another.
func TestTheModesAreThoseOfEveryCluster(t *testing.T) {
	rnd := rand.New(rand.NewPCG(28, 11))
	web := field.KeyValues{{Key: "app", Value: "web"}}
	labels := []field.KeyValues{nil, web, {{Key: "istio.io/rev", Value: "canary"}}, {{Key: "app", Value: "other"}}}
	draw := func() string {
		return []string{"", mtlsUnset, MTLSStrict, MTLSStrict, MTLSStrict, MTLSPermissive, MTLSDisable}[rnd.IntN(7)]
	}
	const port, byDefault = 8080, "the default"
	several, open, many := 0, 0, 0
	for range 8000 {
		pods := &Pods{Namespace: []string{"shop", "shop", ""}[rnd.IntN(3)], Kind: "Deployment", Labels: web}
		var all, near []PeerAuthentication
		for i := range rnd.IntN(9) {
			p := PeerAuthentication{Neighbour: peerNamed([]string{pods.Namespace, pods.Namespace, "istio-system", "other"}[rnd.IntN(4)], fmt.Sprint("p", i))}
			p.Selector.MatchLabels, p.MTLS.Mode, p.Far = labels[rnd.IntN(4)], draw(), rnd.IntN(4) == 0
			if rnd.IntN(2) == 0 {
				p.ports = map[int]string{port: draw(), 9090: MTLSStrict}
			}
			if all = append(all, p); !p.Far {
				near = append(near, p)
			}
		}
		want := modesOfEveryCluster(near, pods, port, byDefault)
		if len(near) < len(all) {
			for _, m := range modesOfEveryCluster(all, pods, port, byDefault) {
				if !slices.ContainsFunc(want, func(n MTLSMode) bool { return n.Mode == m.Mode }) {
					m.Far = true
					want = append(want, m)
					open++
				}
			}
		}
		s := around(all...)
		if got := s.MTLS("istio-system", pods, port, byDefault); !slices.Equal(got, want) {
			t.Fatalf("%+v\nin %q: %v, want %v", all, pods.Namespace, got, want)
		}
		for _, m := range want {
			if strings.Contains(m.At, " more") {
				many++
			}
		}
		several += len(want) - 1
	}
	if several < 2000 || open < 200 || many < 5 {
		t.Errorf("%d modes beside the first, %d by what is far, %d with many policies", several, open, many)
	}
}

// modesOfEveryCluster goes through all ways, as ComposePeerAuthentication in Istio decides in each.
func modesOfEveryCluster(policies []PeerAuthentication, pods *Pods, port int, byDefault string) (modes []MTLSMode) {
	isSet := func(mode string) bool { return mode != "" && mode != mtlsUnset }
	// What a scope may have: nil is that it has no policy about the pod.
	var mesh, wide, own []*PeerAuthentication
	sure := false
	for i := range policies {
		p := &policies[i]
		switch about := pods.selects(p.Selector.MatchLabels); {
		case p.Namespace == "istio-system" && len(p.Selector.MatchLabels) == 0:
			mesh = append(mesh, p)
		case p.Namespace == "istio-system" || p.Namespace != pods.Namespace:
		case len(p.Selector.MatchLabels) == 0:
			wide = append(wide, p)
		case about != certain.Never:
			own = append(own, p)
			sure = sure || about == certain.Always
		}
	}
	if len(mesh) == 0 {
		mesh = append(mesh, nil)
	}
	if len(wide) == 0 || pods.Namespace == "" {
		wide = slices.Insert(wide, 0, nil)
	}
	if !sure || pods.Namespace == "" {
		own = slices.Insert(own, 0, nil)
	}
	said := map[string][]string{}
	for _, o := range own {
		for _, w := range wide {
			for _, m := range mesh {
				mode, by := byDefault, m
				if m != nil {
					if mode = MTLSPermissive; isSet(m.MTLS.Mode) {
						mode = m.MTLS.Mode
					}
				}
				if w != nil && isSet(w.MTLS.Mode) {
					mode, by = w.MTLS.Mode, w
				}
				if o != nil && isSet(o.MTLS.Mode) {
					mode, by = o.MTLS.Mode, o
				}
				if o != nil && isSet(o.ports[port]) {
					mode, by = o.ports[port], o
				}
				said[mode] = append(said[mode], "")
				if by != nil {
					said[mode] = append(said[mode], "PeerAuthentication "+strings.TrimPrefix(by.Namespace+"/", "/")+by.Name)
				}
			}
		}
	}
	for _, mode := range slices.Sorted(maps.Keys(said)) {
		var words []string
		for _, w := range said[mode] {
			if w != "" && !slices.Contains(words, w) {
				words = append(words, w)
			}
		}
		at := ""
		switch n := len(words); {
		case n == 1:
			at = words[0]
		case n > 3:
			at = fmt.Sprintf("%s, %s and %d more", words[0], words[1], n-2)
		case n > 0:
			at = strings.Join(words[:n-1], ", ") + " and " + words[n-1]
		}
		modes = append(modes, MTLSMode{Mode: mode, At: at})
	}
	return modes
}
