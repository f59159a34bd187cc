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
	refused := inbound.Reply{Why: "x", If: "the policy and its rule are about it", Fix: "look in the cluster"}
	local := inbound.Reply{Why: "z", If: "the app listens only there", Fix: "look at the app"}
	another := inbound.Reply{Why: "y", If: "its token is not valid", Fix: "ask who issued it"}
	chained := inbound.Reply{Why: "z", If: "Service x counts and the app does not speak it", Fix: "look in the cluster; look at the app"}
	var (
		fails   = Fate{Fails, "so"}
		falsely = Fate{FalselyPasses, "otherwise"}
		out     = World{}
		native  = World{Injected: true, Native: true}
		plain   = World{Injected: true}
		held    = World{Injected: true, Holds: true}
		does    = World{Injected: true, Rewrites: true}
	)
	in := func(w World, x Fate) caseFate { return caseFate{&Case{World: w}, x} }
	mtls := func(mode string, x Fate) caseFate {
		return caseFate{&Case{World: plain, MTLS: surroundings.MTLSMode{Mode: mode, At: "a policy"}}, x}
	}
	f := Facts{InjectionCure: "a Namespace"}
	for _, c := range []struct {
		name   string
		fates  []caseFate
		want   Fate
		unless string
	}{
		{"there is no world", nil, Spared, ""},
		{"it is affected in none", []caseFate{in(out, Spared), in(plain, Spared)}, Spared, ""},
		{"it is affected in all", []caseFate{in(native, fails), in(plain, fails)}, fails, ""},
		{"it is affected in all, for several reasons", []caseFate{in(native, falsely), in(plain, fails)}, falsely, ""},
		{"injection decides", []caseFate{in(out, Spared), in(native, fails), in(plain, fails)}, fails, "Istio injects its sidecar (unknown: a Namespace)"},
		{"the lack of injection decides", []caseFate{in(out, fails), in(native, Spared)}, fails, "Istio does not inject its sidecar (unknown: a Namespace)"},
		{"injection and the kind of sidecar decide together", []caseFate{in(out, Spared), in(native, Spared), in(plain, fails)}, fails,
			"Istio injects its sidecar, and Istio's sidecar is not native (unknown: a Namespace; set `istio.nativeSidecars`)"},
		{"injection and the mode decide together", []caseFate{in(out, Spared), mtls(surroundings.MTLSPermissive, Spared), mtls(surroundings.MTLSStrict, fails)}, fails,
			"Istio injects its sidecar, and mTLS is strict for its port (unknown: a Namespace; write a single PeerAuthentication for it)"},
		{"the kind of sidecar decides", []caseFate{in(native, Spared), in(plain, fails), in(held, fails)}, fails, "Istio's sidecar is not native (unknown: set `istio.nativeSidecars`)"},
		{"the kind of sidecar decides, the other way", []caseFate{in(native, falsely), in(plain, Spared)}, falsely, "Istio's sidecar is native (unknown: set `istio.nativeSidecars`)"},
		{"waiting decides", []caseFate{in(plain, fails), in(held, Spared)}, fails, "other containers do not wait for istio-proxy (unknown: set `istio.holdApplicationUntilProxyStarts`)"},
		{"waiting decides, and a native sidecar is waited for too", []caseFate{in(native, fails), in(plain, Spared), in(held, fails)}, fails, "other containers wait for istio-proxy (unknown: set `istio.holdApplicationUntilProxyStarts`)"},
		{"the injector decides", []caseFate{in(plain, fails), in(does, Spared)}, fails, "Istio's injector rewrites no probes"},
		{"the injector decides, the other way", []caseFate{in(plain, Spared), in(does, fails)}, fails, "Istio's injector rewrites the probes (unknown: set `istio.injectorRewrites`)"},
		{"the injector decides, unless its agent starts too late", []caseFate{in(plain, fails), in(native, fails), in(held, fails), in(does, fails), in(World{Injected: true, Rewrites: true, Holds: true}, Spared), in(World{Injected: true, Rewrites: true, Native: true}, Spared)}, fails,
			"Istio's injector rewrites no probes, or istio-proxy starts too late (unknown: set `istio.injectorRewrites` and `istio.nativeSidecars`)"},
		{"all of the injector decide", []caseFate{in(World{}, Spared), in(plain, Spared), in(held, Spared), in(native, Spared), in(does, fails), in(World{Injected: true, Rewrites: true, Holds: true}, Spared), in(World{Injected: true, Rewrites: true, Native: true}, Spared)}, fails,
			"Istio injects its sidecar and rewrites the probes, but it is neither native nor waited for (unknown: a Namespace; set `istio.injectorRewrites` and `istio.nativeSidecars` and `istio.holdApplicationUntilProxyStarts`)"},
		{"mTLS decides", []caseFate{mtls(surroundings.MTLSPermissive, Spared), mtls(surroundings.MTLSStrict, fails), mtls(surroundings.MTLSDisable, Spared)}, fails,
			"mTLS is strict for its port (unknown: write a single PeerAuthentication for it)"},
		{"mTLS decides, and one mode is that of the options", []caseFate{mtls(surroundings.MTLSPermissive, Spared), {&Case{World: plain, MTLS: surroundings.MTLSMode{Mode: surroundings.MTLSStrict}}, fails}}, fails,
			"mTLS is strict for its port (unknown: set the namespace, here and in the PeerAuthentications, or `istio.mtls`)"},
		{"the interface decides", []caseFate{mtls(surroundings.MTLSStrict, fails), {&Case{World: plain, Uncaptured: true}, Spared}}, fails,
			"the kubelet's connections come through no excluded interface (unknown: look in the cluster)"},
		{"the Sidecar decides", []caseFate{mtls(surroundings.MTLSStrict, fails), {&Case{World: plain, Unbound: true}, Spared}}, fails,
			"the Sidecar selects the pod (unknown: look in the cluster)"},
		{"the Sidecar decides, the other way", []caseFate{mtls(surroundings.MTLSStrict, Spared), {&Case{World: plain, Unbound: true, MTLS: surroundings.MTLSMode{Mode: surroundings.MTLSStrict, At: "a policy"}}, fails}}, fails,
			"the Sidecar does not select the pod (unknown: look in the cluster)"},
		{"the app decides", []caseFate{in(does, Spared), {&Case{World: does, Answer: &local}, fails}}, fails,
			"the app listens only there (unknown: look at the app)"},
		{"another folder decides", []caseFate{in(plain, fails), {&Case{World: plain, Elsewhere: "Namespace x"}, Spared}, {&Case{World: native, Elsewhere: "Namespace x"}, Spared}}, fails,
			"Namespace x is about another cluster (unknown: it is in another folder; run on one stream of all that you apply together)"},
		{"another folder does not decide alone", []caseFate{in(plain, fails), {&Case{World: native, Elsewhere: "Namespace x"}, Spared}, in(native, Spared)}, fails,
			"Istio's sidecar is not native (unknown: set `istio.nativeSidecars`)"},
		{"what fails because of another folder does not decide", []caseFate{{&Case{World: plain, Elsewhere: "Namespace x"}, fails}, in(native, Spared)}, Spared, ""},
		{"the kind of sidecar or the CNI plugin decides", []caseFate{in(native, fails), {&Case{World: plain, Early: true}, fails}, in(plain, Spared)}, fails,
			"Istio's sidecar is native, or its CNI plugin redirects the pod's connections (unknown: look in the cluster)"},
		{"the CNI plugin decides", []caseFate{{&Case{World: plain, Early: true}, fails}, in(plain, Spared)}, fails, "Istio's CNI plugin redirects the pod's connections (unknown: look in the cluster)"},
		{"the mode or the policy decides", []caseFate{mtls(surroundings.MTLSStrict, fails), {&Case{World: plain, Answer: &refused}, fails}, mtls(surroundings.MTLSPermissive, Spared)}, fails,
			"mTLS is strict for its port, or the policy and its rule are about it (unknown: look in the cluster)"},
		{"the policy decides", []caseFate{{&Case{World: plain, Answer: &refused}, fails}, mtls(surroundings.MTLSPermissive, Spared)}, fails,
			"the policy and its rule are about it (unknown: look in the cluster)"},
		{"the policy or the token decides", []caseFate{{&Case{World: plain, Answer: &refused}, fails}, {&Case{World: plain, Answer: &another}, fails}, in(plain, Spared)}, fails,
			"its token is not valid, or the policy and its rule are about it (unknown: ask who issued it; look in the cluster)"},
		{"the chain and the app decide, or the token", []caseFate{{&Case{World: plain, Answer: &chained}, fails}, {&Case{World: plain, Answer: &refused}, fails}, in(plain, Spared)}, fails,
			"Service x counts and the app does not speak it, or the policy and its rule are about it (unknown: look at the app; look in the cluster)"},
		{"the interface and the Sidecar decide together, and both are seen in the cluster", []caseFate{in(plain, fails), {&Case{World: plain, Uncaptured: true}, Spared}, {&Case{World: plain, Unbound: true}, Spared}}, fails,
			"the kubelet's connections come through no excluded interface, and the Sidecar selects the pod (unknown: look in the cluster)"},
		{"the kind of sidecar and the mode of the options decide together", []caseFate{in(native, Spared), {&Case{World: plain, MTLS: surroundings.MTLSMode{Mode: surroundings.MTLSStrict}}, fails}, {&Case{World: plain, MTLS: surroundings.MTLSMode{Mode: surroundings.MTLSPermissive}}, Spared}}, fails,
			"Istio's sidecar is not native, and mTLS is strict for its port (unknown: set `istio.nativeSidecars` and the namespace, here and in the PeerAuthentications, or `istio.mtls`)"},
		{"nothing decides alone", []caseFate{in(native, fails), in(held, Spared), in(plain, fails), in(out, fails), in(does, fails), mtls(surroundings.MTLSStrict, fails), {&Case{World: held, Uncaptured: true}, fails}, in(native, Spared), in(plain, Spared), in(out, Spared), in(does, Spared), mtls(surroundings.MTLSStrict, Spared), {&Case{World: held, Uncaptured: true}, Spared}}, fails,
			"the mesh is set up in one way and not in another"},
	} {
		got, unless := verdictOn(&f, c.fates)
		if got != c.want || unless != c.unless {
			t.Errorf("%s: %+v %q, want %+v %q", c.name, got, unless, c.want, c.unless)
		}
		// The order of the worlds does not matter to what decides.
		slices.Reverse(c.fates)
		if _, unless := verdictOn(&f, c.fates); unless != c.unless {
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
	fates := []caseFate{{&Case{}, Failing("x")}, {&Case{Elsewhere: "a"}, Spared}, {&Case{Elsewhere: "b"}, Spared}}
	if got := elsewhere(fates); got != "a" {
		t.Errorf("%q is elsewhere", got)
	}
}

// verdictOn has each case get the fate that is listed with it.
func verdictOn(f *Facts, fates []caseFate) (Fate, string) {
	var cases []Case
	for _, x := range fates {
		cases = append(cases, *x.Case)
	}
	next := 0
	return f.Verdict(cases, func(*Case) Fate {
		next++
		return fates[next-1].Fate
	})
}
