package world

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/inbound"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

var (
	known    = func(v bool) Fact { return Fact{Is: certain.Of(v)} }
	notKnown = Fact{}
)

func TestTheWorldsAreThoseThatTheFactsLeaveOpen(t *testing.T) {
	const in = true
	for _, c := range []struct {
		name  string
		facts Facts
		want  []World
	}{
		{"not injected, and nothing else matters", Facts{Injected: known(false)}, []World{{}}},
		{"everything is known of a native sidecar", Facts{known(true), known(true), notKnown, known(false), ""}, []World{{in, true, false, false}}},
		{"everything is known of a container that is waited for", Facts{known(true), known(false), known(true), known(true), ""}, []World{{in, false, true, true}}},
		{"everything is known of a container that is not waited for", Facts{known(true), known(false), known(false), known(false), ""}, []World{{in, false, false, false}}},
		{"no one says whether it is native", Facts{known(true), notKnown, known(true), known(false), ""}, []World{{in, true, false, false}, {in, false, true, false}}},
		{"no one says whether it is waited for", Facts{known(true), known(false), notKnown, known(false), ""}, []World{{in, false, false, false}, {in, false, true, false}}},
		{"no one says whether the injector rewrites", Facts{known(true), known(true), known(true), notKnown, ""}, []World{{in, true, false, false}, {in, true, false, true}}},
		{"no one says whether it is injected", Facts{notKnown, known(true), known(true), known(true), ""}, []World{{}, {in, true, false, true}}},
		{"nothing is known", Facts{}, []World{
			{},
			{in, true, false, false}, {in, false, false, false}, {in, false, true, false},
			{in, true, false, true}, {in, false, false, true}, {in, false, true, true},
		}},
	} {
		if d := cmp.Diff(c.want, c.facts.Worlds(), cmp.AllowUnexported(World{})); d != "" {
			t.Errorf("%s: -want +got\n%s", c.name, d)
		}
	}
}

// Each fact that is made known takes worlds away and adds none.
func TestWhatIsKnownOnlyTakesWorldsAway(t *testing.T) {
	values := []Fact{notKnown, known(false), known(true)}
	for i := range 81 {
		f := Facts{values[i%3], values[i/3%3], values[i/9%3], values[i/27], ""}
		all := f.Worlds()
		if len(all) == 0 {
			t.Errorf("%+v leaves no world", f)
		}
		for _, more := range []*Fact{&f.Injected, &f.Native, &f.Holds, &f.Rewrites} {
			if more.Is != certain.Maybe {
				continue
			}
			for _, v := range []bool{false, true} {
				*more = known(v)
				for _, w := range f.Worlds() {
					if !slices.Contains(all, w) {
						t.Errorf("%+v has the world %+v, which was not open before", f, w)
					}
				}
			}
			*more = notKnown
		}
	}
}

func TestAFactMayHaveAValueUnlessTheOtherIsKnown(t *testing.T) {
	for _, c := range []struct {
		f                 Fact
		mayTrue, mayFalse bool
	}{
		{notKnown, true, true},
		{known(true), true, false},
		{known(false), false, true},
	} {
		if c.f.May(true) != c.mayTrue || c.f.May(false) != c.mayFalse {
			t.Errorf("%+v", c.f)
		}
	}
	var f Fact
	f.Say(true, "there")
	if f != (Fact{Is: certain.Always, At: "there"}) {
		t.Errorf("%+v", f)
	}
}

func TestTheVerdictNamesTheFactThatDecides(t *testing.T) {
	refused := inbound.Answer{Why: "x", If: "the policy and its rule are about it", Fix: "look in the cluster"}
	another := inbound.Answer{Why: "y", If: "its token is not valid", Fix: "ask who issued it"}
	var (
		fails   = Fate{Fails, "so"}
		falsely = Fate{FalselyPasses, "otherwise"}
		out     = World{}
		native  = World{Injected: true, Native: true}
		plain   = World{Injected: true}
		held    = World{Injected: true, Holds: true}
		does    = World{Injected: true, Rewrites: true}
	)
	in := func(w World, x Fate) WorldFate { return WorldFate{World: w, Fate: x} }
	mtls := func(mode string, x Fate) WorldFate {
		return WorldFate{World: plain, MTLS: surroundings.MTLSMode{Mode: mode, At: "a policy"}, Fate: x}
	}
	f := Facts{InjectionCure: "a Namespace"}
	for _, c := range []struct {
		name   string
		fates  []WorldFate
		want   Fate
		unless string
	}{
		{"there is no world", nil, Spared, ""},
		{"it is affected in none", []WorldFate{in(out, Spared), in(plain, Spared)}, Spared, ""},
		{"it is affected in all", []WorldFate{in(native, fails), in(plain, fails)}, fails, ""},
		{"it is affected in all, for several reasons", []WorldFate{in(native, falsely), in(plain, fails)}, falsely, ""},
		{"injection decides", []WorldFate{in(out, Spared), in(native, fails), in(plain, fails)}, fails, "Istio injects its sidecar (unknown: a Namespace)"},
		{"the lack of injection decides", []WorldFate{in(out, fails), in(native, Spared)}, fails, "Istio does not inject its sidecar (unknown: a Namespace)"},
		{"injection and the kind of sidecar decide together", []WorldFate{in(out, Spared), in(native, Spared), in(plain, fails)}, fails,
			"Istio injects its sidecar, and Istio's sidecar is not native (unknown: a Namespace; set `istio.nativeSidecars`)"},
		{"injection and the mode decide together", []WorldFate{in(out, Spared), mtls(surroundings.MTLSPermissive, Spared), mtls(surroundings.MTLSStrict, fails)}, fails,
			"Istio injects its sidecar, and mTLS is strict for its port (unknown: a Namespace; write a single PeerAuthentication for it)"},
		{"the kind of sidecar decides", []WorldFate{in(native, Spared), in(plain, fails), in(held, fails)}, fails, "Istio's sidecar is not native (unknown: set `istio.nativeSidecars`)"},
		{"the kind of sidecar decides, the other way", []WorldFate{in(native, falsely), in(plain, Spared)}, falsely, "Istio's sidecar is native (unknown: set `istio.nativeSidecars`)"},
		{"waiting decides", []WorldFate{in(plain, fails), in(held, Spared)}, fails, "other containers do not wait for istio-proxy (unknown: set `istio.holdApplicationUntilProxyStarts`)"},
		{"waiting decides, and a native sidecar is waited for too", []WorldFate{in(native, fails), in(plain, Spared), in(held, fails)}, fails, "other containers wait for istio-proxy (unknown: set `istio.holdApplicationUntilProxyStarts`)"},
		{"the injector decides", []WorldFate{in(plain, fails), in(does, Spared)}, fails, "Istio's injector rewrites no probes"},
		{"the injector decides, the other way", []WorldFate{in(plain, Spared), in(does, fails)}, fails, "Istio's injector rewrites the probes (unknown: set `istio.injectorRewrites`)"},
		{"the injector decides, unless its agent starts too late", []WorldFate{in(plain, fails), in(native, fails), in(held, fails), in(does, fails), in(World{Injected: true, Rewrites: true, Holds: true}, Spared), in(World{Injected: true, Rewrites: true, Native: true}, Spared)}, fails,
			"Istio's injector rewrites no probes, or istio-proxy starts too late (unknown: set `istio.injectorRewrites` and `istio.nativeSidecars`)"},
		{"all of the injector decide", []WorldFate{in(World{}, Spared), in(plain, Spared), in(held, Spared), in(native, Spared), in(does, fails), in(World{Injected: true, Rewrites: true, Holds: true}, Spared), in(World{Injected: true, Rewrites: true, Native: true}, Spared)}, fails,
			"Istio injects its sidecar and rewrites the probes, but it is neither native nor waited for (unknown: a Namespace; set `istio.injectorRewrites` and `istio.nativeSidecars` and `istio.holdApplicationUntilProxyStarts`)"},
		{"mTLS decides", []WorldFate{mtls(surroundings.MTLSPermissive, Spared), mtls(surroundings.MTLSStrict, fails), mtls(surroundings.MTLSDisable, Spared)}, fails,
			"mTLS is strict for its port (unknown: write a single PeerAuthentication for it)"},
		{"mTLS decides, and one mode is that of the options", []WorldFate{mtls(surroundings.MTLSPermissive, Spared), {World: plain, MTLS: surroundings.MTLSMode{Mode: surroundings.MTLSStrict}, Fate: fails}}, fails,
			"mTLS is strict for its port (unknown: set the namespace, here and in the PeerAuthentications, or `istio.mtls`)"},
		{"the interface decides", []WorldFate{mtls(surroundings.MTLSStrict, fails), {World: plain, Uncaptured: true, Fate: Spared}}, fails,
			"the kubelet's connections come through no excluded interface (unknown: look in the cluster)"},
		{"the Sidecar decides", []WorldFate{mtls(surroundings.MTLSStrict, fails), {World: plain, Unbound: true, Fate: Spared}}, fails,
			"the Sidecar is about the pod (unknown: look in the cluster)"},
		{"the Sidecar decides, the other way", []WorldFate{mtls(surroundings.MTLSStrict, Spared), {World: plain, Unbound: true, MTLS: surroundings.MTLSMode{Mode: surroundings.MTLSStrict, At: "a policy"}, Fate: fails}}, fails,
			"the Sidecar is not about the pod (unknown: look in the cluster)"},
		{"the app decides", []WorldFate{in(does, Spared), {World: does, Local: true, Fate: fails}}, fails,
			"the app listens on the loopback interface alone (unknown: look at the app)"},
		{"another folder decides", []WorldFate{in(plain, fails), {World: plain, Elsewhere: "Namespace x", Fate: Spared}, {World: native, Elsewhere: "Namespace x", Fate: Spared}}, fails,
			"Namespace x is about another cluster (unknown: it is in another folder; run on one stream of all that you apply together)"},
		{"another folder does not decide alone", []WorldFate{in(plain, fails), {World: native, Elsewhere: "Namespace x", Fate: Spared}, in(native, Spared)}, fails,
			"Istio's sidecar is not native (unknown: set `istio.nativeSidecars`)"},
		{"what fails because of another folder does not decide", []WorldFate{{World: plain, Elsewhere: "Namespace x", Fate: fails}, in(native, Spared)}, fails,
			"Istio's sidecar is not native (unknown: set `istio.nativeSidecars`)"},
		{"the kind of sidecar or the CNI plugin decides", []WorldFate{in(native, fails), {World: plain, Early: true, Fate: fails}, in(plain, Spared)}, fails,
			"Istio's sidecar is native, or its CNI plugin redirects the pod's connections (unknown: look in the cluster)"},
		{"the CNI plugin decides", []WorldFate{{World: plain, Early: true, Fate: fails}, in(plain, Spared)}, fails, "Istio's CNI plugin redirects the pod's connections (unknown: look in the cluster)"},
		{"the mode or the policy decides", []WorldFate{mtls(surroundings.MTLSStrict, fails), {World: plain, Answer: &refused, Fate: fails}, mtls(surroundings.MTLSPermissive, Spared)}, fails,
			"mTLS is strict for its port, or the policy and its rule are about it (unknown: look in the cluster)"},
		{"the policy decides", []WorldFate{{World: plain, Answer: &refused, Fate: fails}, mtls(surroundings.MTLSPermissive, Spared)}, fails,
			"the policy and its rule are about it (unknown: look in the cluster)"},
		{"the policy or the token decides", []WorldFate{{World: plain, Answer: &refused, Fate: fails}, {World: plain, Answer: &another, Fate: fails}, in(plain, Spared)}, fails,
			"its token is not valid, or the policy and its rule are about it (unknown: ask who issued it; look in the cluster)"},
		{"the interface and the Sidecar decide together, and both are seen in the cluster", []WorldFate{in(plain, fails), {World: plain, Uncaptured: true, Fate: Spared}, {World: plain, Unbound: true, Fate: Spared}}, fails,
			"the kubelet's connections come through no excluded interface, and the Sidecar is about the pod (unknown: look in the cluster)"},
		{"the kind of sidecar and the mode of the options decide together", []WorldFate{in(native, Spared), {World: plain, MTLS: surroundings.MTLSMode{Mode: surroundings.MTLSStrict}, Fate: fails}, {World: plain, MTLS: surroundings.MTLSMode{Mode: surroundings.MTLSPermissive}, Fate: Spared}}, fails,
			"Istio's sidecar is not native, and mTLS is strict for its port (unknown: set `istio.nativeSidecars` and the namespace, here and in the PeerAuthentications, or `istio.mtls`)"},
		{"nothing decides alone", []WorldFate{in(native, fails), in(held, Spared), in(plain, fails), in(out, fails), in(does, fails), mtls(surroundings.MTLSStrict, fails), {World: held, Uncaptured: true, Fate: fails}, in(native, Spared), in(plain, Spared), in(out, Spared), in(does, Spared), mtls(surroundings.MTLSStrict, Spared), {World: held, Uncaptured: true, Fate: Spared}}, fails,
			"the mesh is set up in one way and not in another"},
	} {
		got, unless := f.VerdictOn(c.fates)
		if got != c.want || unless != c.unless {
			t.Errorf("%s: %+v %q, want %+v %q", c.name, got, unless, c.want, c.unless)
		}
		// The order of the worlds does not matter to what decides.
		slices.Reverse(c.fates)
		if _, unless := f.VerdictOn(c.fates); unless != c.unless {
			t.Errorf("%s, in another order: %q, want %q", c.name, unless, c.unless)
		}
	}
}

// A value of the functionConfig may be a boolean or, as in a ConfigMap, a text.
func TestWhatIsDeclaredIsABooleanOrItsName(t *testing.T) {
	for _, c := range []struct {
		v    any
		want Fact
	}{
		{true, known(true)}, {"true", known(true)}, {false, known(false)}, {"false", known(false)},
		{"auto", notKnown}, {nil, notKnown}, {"yes", notKnown}, {1, notKnown}, {"", notKnown},
	} {
		if c.want != notKnown {
			c.want.At = "x"
		}
		var got Fact
		if got.Declare(c.v, "x"); got != c.want {
			t.Errorf("%v is declared as %+v", c.v, got)
		}
	}
}

// Two options that are declared alike follow one verb; a longer advice has its own.
func TestWaysToDeclareFactsAreJoined(t *testing.T) {
	for _, c := range []struct {
		fixes []string
		want  string
	}{
		{[]string{"set `a`"}, "set `a`"},
		{[]string{"set `a`", "set `b`"}, "set `a` and `b`"},
		{[]string{"set `a`", "set `b`", "set `c`"}, "set `a` and `b` and `c`"},
		{[]string{"set the namespace, or `a`", "set `b`"}, "set the namespace, or `a`; set `b`"},
		{[]string{"look there", "set `a`", "set `b`"}, "look there; set `a` and `b`"},
		{[]string{"set `a`", "look there"}, "set `a`; look there"},
		{[]string{"see there", "set `a`"}, "see there; set `a`"},
	} {
		if got := inOrder(c.fixes); got != c.want {
			t.Errorf("%q: %q, want %q", c.fixes, got, c.want)
		}
	}
}

// No plan relies on what may be revoked, or is not known; of several things elsewhere the first is named.
func TestOnlyWhatCannotBeRevokedIsSure(t *testing.T) {
	for _, c := range []struct {
		f    Fact
		want bool
	}{
		{Fact{Is: certain.Always}, true}, {Fact{Is: certain.Always, Presumed: true}, false}, {Fact{Is: certain.Maybe}, false}, {Fact{Is: certain.Never}, false},
	} {
		if got := c.f.IsSure(); got != c.want {
			t.Errorf("%+v: %t", c.f, got)
		}
	}
	fates := []WorldFate{{Fate: Failing("x")}, {Elsewhere: "a", Fate: Spared}, {Elsewhere: "b", Fate: Spared}}
	if got := elsewhere(fates); got != "a" {
		t.Errorf("%q is elsewhere", got)
	}
}
