package transformer

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
)

var (
	known    = func(v bool) fact { return fact{is: certain.Of(v)} }
	notKnown = fact{}
)

func TestTheWorldsAreThoseThatTheFactsLeaveOpen(t *testing.T) {
	const in = true
	for _, c := range []struct {
		name  string
		facts facts
		want  []world
	}{
		{"not injected, and nothing else matters", facts{injected: known(false)}, []world{{}}},
		{"everything is known of a native sidecar", facts{known(true), known(true), notKnown, known(false), ""}, []world{{in, true, false, false}}},
		{"everything is known of a container that is waited for", facts{known(true), known(false), known(true), known(true), ""}, []world{{in, false, true, true}}},
		{"everything is known of a container that is not waited for", facts{known(true), known(false), known(false), known(false), ""}, []world{{in, false, false, false}}},
		{"no one says whether it is native", facts{known(true), notKnown, known(true), known(false), ""}, []world{{in, true, false, false}, {in, false, true, false}}},
		{"no one says whether it is waited for", facts{known(true), known(false), notKnown, known(false), ""}, []world{{in, false, false, false}, {in, false, true, false}}},
		{"no one says whether the injector rewrites", facts{known(true), known(true), known(true), notKnown, ""}, []world{{in, true, false, false}, {in, true, false, true}}},
		{"no one says whether it is injected", facts{notKnown, known(true), known(true), known(true), ""}, []world{{}, {in, true, false, true}}},
		{"nothing is known", facts{}, []world{
			{},
			{in, true, false, false}, {in, false, false, false}, {in, false, true, false},
			{in, true, false, true}, {in, false, false, true}, {in, false, true, true},
		}},
	} {
		if d := cmp.Diff(c.want, c.facts.worlds(), cmp.AllowUnexported(world{})); d != "" {
			t.Errorf("%s: -want +got\n%s", c.name, d)
		}
	}
}

// Each fact that is made known takes worlds away and adds none.
func TestWhatIsKnownOnlyTakesWorldsAway(t *testing.T) {
	values := []fact{notKnown, known(false), known(true)}
	for i := range 81 {
		f := facts{values[i%3], values[i/3%3], values[i/9%3], values[i/27], ""}
		all := f.worlds()
		if len(all) == 0 {
			t.Errorf("%+v leaves no world", f)
		}
		for _, more := range []*fact{&f.injected, &f.native, &f.holds, &f.rewrites} {
			if more.is != certain.Maybe {
				continue
			}
			for _, v := range []bool{false, true} {
				*more = known(v)
				for _, w := range f.worlds() {
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
		f                 fact
		mayTrue, mayFalse bool
	}{
		{notKnown, true, true},
		{known(true), true, false},
		{known(false), false, true},
	} {
		if c.f.may(true) != c.mayTrue || c.f.may(false) != c.mayFalse {
			t.Errorf("%+v", c.f)
		}
	}
	var f fact
	f.say(true, "there")
	if f != (fact{is: certain.Always, at: "there"}) {
		t.Errorf("%+v", f)
	}
}

func TestTheVerdictNamesTheFactThatDecides(t *testing.T) {
	var (
		fails   = fate{Fails, "so"}
		falsely = fate{FalselyPasses, "otherwise"}
		out     = world{}
		native  = world{injected: true, native: true}
		plain   = world{injected: true}
		held    = world{injected: true, holds: true}
		does    = world{injected: true, rewrites: true}
	)
	in := func(w world, x fate) foretold { return foretold{world: w, fate: x} }
	mtls := func(mode string, x fate) foretold {
		return foretold{world: plain, mtls: MTLSMode{mode, "a policy"}, fate: x}
	}
	f := facts{injectionCure: "a Namespace"}
	for _, c := range []struct {
		name   string
		fates  []foretold
		want   fate
		unless string
	}{
		{"there is no world", nil, unaffected, ""},
		{"it is affected in none", []foretold{in(out, unaffected), in(plain, unaffected)}, unaffected, ""},
		{"it is affected in all", []foretold{in(native, fails), in(plain, fails)}, fails, ""},
		{"it is affected in all, for several reasons", []foretold{in(native, falsely), in(plain, fails)}, falsely, ""},
		{"injection decides", []foretold{in(out, unaffected), in(native, fails), in(plain, fails)}, fails, "Istio injects its sidecar into the pod, which is not known (a Namespace would say)"},
		{"the lack of injection decides", []foretold{in(out, fails), in(native, unaffected)}, fails, "Istio does not inject its sidecar into the pod, which is not known (a Namespace would say)"},
		{"injection and one thing more, of which injection is named", []foretold{in(out, unaffected), in(native, unaffected), in(plain, fails)}, fails, "Istio injects its sidecar into the pod, which is not known (a Namespace would say)"},
		{"the kind of sidecar decides", []foretold{in(native, unaffected), in(plain, fails), in(held, fails)}, fails, "Istio's sidecar is no native one, which is not known (`istio.nativeSidecars` would say)"},
		{"the kind of sidecar decides, the other way", []foretold{in(native, falsely), in(plain, unaffected)}, falsely, "Istio's sidecar is a native one, which is not known (`istio.nativeSidecars` would say)"},
		{"waiting decides", []foretold{in(plain, fails), in(held, unaffected)}, fails, "the other containers do not wait for istio-proxy, which is not known (`istio.holdApplicationUntilProxyStarts` would say)"},
		{"waiting decides, and a native sidecar is waited for too", []foretold{in(native, fails), in(plain, unaffected), in(held, fails)}, fails, "the other containers wait for istio-proxy, which is not known (`istio.holdApplicationUntilProxyStarts` would say)"},
		{"the injector decides", []foretold{in(plain, fails), in(does, unaffected)}, fails, "Istio's injector does not rewrite the probes, which is not known (`istio.injectorRewrites` would say)"},
		{"the injector decides, the other way", []foretold{in(plain, unaffected), in(does, fails)}, fails, "Istio's injector rewrites the probes, which is not known (`istio.injectorRewrites` would say)"},
		{"mTLS decides", []foretold{mtls(MTLSPermissive, unaffected), mtls(MTLSStrict, fails), mtls(MTLSDisable, unaffected)}, fails,
			"mTLS is strict for its port, which is not known (a single PeerAuthentication for it would say)"},
		{"mTLS decides, and one mode is that of the options", []foretold{mtls(MTLSPermissive, unaffected), {world: plain, mtls: MTLSMode{Mode: MTLSStrict}, fate: fails}}, fails,
			"mTLS is strict for its port, which is not known (the namespace, here and in the PeerAuthentications, or `istio.mtls`, would say)"},
		{"the interface decides", []foretold{mtls(MTLSStrict, fails), {world: plain, uncaptured: true, fate: unaffected}}, fails,
			"the kubelet's connections come through no excluded interface, which is not known (only the cluster would say)"},
		{"nothing decides alone", []foretold{in(native, fails), in(held, unaffected), in(plain, fails), in(out, fails), in(does, fails), mtls(MTLSStrict, fails), {world: held, uncaptured: true, fate: fails}, in(native, unaffected), in(plain, unaffected), in(out, unaffected), in(does, unaffected), mtls(MTLSStrict, unaffected), {world: held, uncaptured: true, fate: unaffected}}, fails,
			"the mesh is set up in one way and not in another"},
	} {
		got, unless := f.verdictOn(c.fates)
		if got != c.want || unless != c.unless {
			t.Errorf("%s: %+v %q, want %+v %q", c.name, got, unless, c.want, c.unless)
		}
		// The order of the worlds does not matter to what decides.
		slices.Reverse(c.fates)
		if _, unless := f.verdictOn(c.fates); unless != c.unless {
			t.Errorf("%s, in another order: %q, want %q", c.name, unless, c.unless)
		}
	}
}

func TestAFieldOfAProxyConfigIsReadInYAMLAndJSON(t *testing.T) {
	for config, want := range map[string]string{
		"statusPort: 15030":                                  "15030",
		"  statusPort:   15030  \n":                          "15030",
		"tracing: {}\nstatusPort: 15030 # why\nother: 1":     "15030",
		"{statusPort: 15030, other: 1}":                      "15030",
		`{"other":1,"statusPort":15030}`:                     "15030",
		`{"statusPort" : "15030"}`:                           "15030",
		"'statusPort': '15030'":                              "15030",
		"\tstatusPort: 15030":                                "15030",
		"statusPorts: 1\nstatusPort: 15030":                  "15030",
		"myStatusPort: 1\nxstatusPort: 2\nstatusPort: 15030": "15030",
		"xstatusPort: 2":                                     "",
		"statusPorts: 2":                                     "",
		"# statusPort: 2\nstatusPort: 15030":                 "15030",
		"x: a#b\n{other: a#b, statusPort: 15030}":            "15030",
		"#\tstatusPort: 2":                                   "",
		"other: 1 # or statusPort: 2":                        "",
		"other: 1\t# statusPort: 2":                          "",
		"  # statusPort: 2\nother: 1":                        "",
		"other: statusPort":                                  "",
		"":                                                   "",
		"statusPort:":                                        "",
	} {
		if got := istioConfigField(config, "statusPort"); got != want {
			t.Errorf("%q has %q, want %q", config, got, want)
		}
	}
	for _, next := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./" {
		longer := "statusPort" + string(next)
		if got := istioConfigField(longer+": 1\nstatusPort: 15030", "statusPort"); got != "15030" {
			t.Errorf("beside %s it is %q", longer, got)
		}
	}
	if got := istioConfigField(strings.Repeat("statusPort ", 1000), "statusPort"); got != "" {
		t.Errorf("got %q", got)
	}
}

// A value of the functionConfig may be a boolean or, as in a ConfigMap, a text.
func TestWhatIsDeclaredIsABooleanOrItsName(t *testing.T) {
	for _, c := range []struct {
		v    any
		want fact
	}{
		{true, known(true)}, {"true", known(true)}, {false, known(false)}, {"false", known(false)},
		{"auto", notKnown}, {nil, notKnown}, {"yes", notKnown}, {1, notKnown}, {"", notKnown},
	} {
		if c.want != notKnown {
			c.want.at = "x"
		}
		var got fact
		if got.declare(c.v, "x"); got != c.want {
			t.Errorf("%v is declared as %+v", c.v, got)
		}
	}
}
