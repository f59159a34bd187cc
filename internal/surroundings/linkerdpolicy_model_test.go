package surroundings

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
)

// Linkerd's rule: all that an authorization requires must hold. The kubelet has no identity, an address that is not known, and what another
// namespace has is not known either.
func TestAnAuthorizationRequiresAllThatItRefersTo(t *testing.T) {
	rnd := rand.New(rand.NewPCG(61, 82))
	one := func(of ...string) string { return of[rnd.IntN(len(of))] }
	networks := map[string][]network{
		"none": nil, "all": {{CIDR: "0.0.0.0/0"}, {CIDR: "::/0"}}, "four": {{CIDR: "0.0.0.0/0"}}, "some": {{CIDR: "10.0.0.0/8"}},
		"but": {{CIDR: "::/0"}, {CIDR: "0.0.0.0/0", Except: []string{"10.0.0.0/8"}}},
	}
	admits := map[string]certain.Certainty{"none": certain.Never, "all": certain.Always, "four": certain.Maybe, "some": certain.Maybe, "but": certain.Maybe, "missing": certain.Maybe}
	seen := map[certain.Certainty]int{}
	for range 5000 {
		var objects []any
		for _, name := range []string{"none", "all", "four", "some", "but"} {
			objects = append(objects, &NetworkAuthentication{Neighbour: named("shop", name), Networks: networks[name]})
		}
		rnd.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
		a := LinkerdAuthorization{Neighbour: named("shop", "a"), TargetRef: Ref{Kind: "Server", Name: "web"}}
		want := certain.Always
		for range rnd.IntN(4) {
			ref := Ref{Kind: one("NetworkAuthentication", "NetworkAuthentication", "NetworkAuthentication", "MeshTLSAuthentication"), Name: one("all", "all", "none", "four", "some", "but", "missing"), Namespace: one("", "shop", "other")}
			is := admits[ref.Name]
			if ref.Namespace == "other" {
				is = certain.Maybe
			}
			if ref.Kind != "NetworkAuthentication" {
				is = certain.Never
			}
			want = min(want, is)
			a.Required = append(a.Required, ref)
		}
		s := New(given{objects: append(slices.Clone(objects), &a)})
		server := &LinkerdServer{Neighbour: named("shop", "web")}
		if got := server.LetsIn(&s); got != want {
			t.Fatalf("%+v: %d, want %d", a.Required, got, want)
		}
		seen[want]++
	}
	if min(seen[certain.Always], seen[certain.Maybe], seen[certain.Never]) < 300 {
		t.Errorf("of each: %v", seen)
	}
}
