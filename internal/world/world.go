// Package world has the ways in which a pod may run in a mesh, as far as they are not known, and
// what becomes of a probe in each.
package world

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/inbound"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// A Fact is one thing that decides what becomes of a pod's probes, as far as the
// manifests and the options say it.
type Fact struct {
	Is certain.Certainty
	At string // where it is said, for messages; "" if it is not known
	// Presumed is set if something that is not among the manifests may revoke what is said. A
	// probe is judged by it, and no plan relies on it.
	Presumed bool
}

func (f Fact) May(v bool) bool {
	return f.Is != certain.Of(!v)
}

func (f *Fact) Say(v bool, at string) {
	f.Is = certain.Of(v)
	f.At = at
}

// Declare says what somebody has written: true or false, perhaps in quotes. Anything else, such
// as auto, says nothing.
func (f *Fact) Declare(v any, at string) {
	switch v {
	case true, "true":
		f.Say(true, at)
	case false, "false":
		f.Say(false, at)
	}
}

// A World is one way in which a pod may run. Everything in it is known.
type World struct {
	Injected bool // the mesh's proxy is in the pod
	Native   bool // it is a native sidecar, which starts before all other containers
	Holds    bool // it starts before the other ordinary containers, and they wait for it
	Rewrites bool // the mesh's injector rewrites the probes
}

// IsSure reports whether a fact holds and nothing that is not among the manifests can revoke it.
func (f Fact) IsSure() bool {
	return f.Is == certain.Always && !f.Presumed
}

// Facts are what decides between worlds, each a field of [world].
type Facts struct {
	Injected, Native, Holds, Rewrites Fact
	InjectionCure                     string // how to declare whether it is injected; "" in meshes without worlds
}

// Worlds returns the worlds that the facts leave open. What does not matter in a
// world is false in it.
func (f *Facts) Worlds() []World {
	all := make([]World, 0, 4)
	if f.Injected.Is != certain.Always {
		all = append(all, World{})
	}
	if f.Injected.Is == certain.Never {
		return all
	}
	for _, rewrites := range [...]bool{false, true} {
		if !f.Rewrites.May(rewrites) {
			continue
		}
		for _, w := range [...]World{{Native: true}, {}, {Holds: true}} {
			if f.Native.May(w.Native) &&
				(w.Native || f.Holds.May(w.Holds)) {
				w.Injected = true
				w.Rewrites = rewrites
				all = append(all, w)
			}
		}
	}
	return all
}

// A Fate is what becomes of a probe in one world.
type Fate struct {
	Outcome Outcome
	Why     string // completes "since ..."; "" if the probe is unaffected
}

var Spared = Fate{Outcome: Unaffected}

// Failing returns the fate of a probe that fails; why completes "since ...".
func Failing(why string) Fate { return Fate{Fails, why} }

// FalselyPassing returns the fate of a probe that passes even if nothing listens.
func FalselyPassing(why string) Fate { return Fate{FalselyPasses, why} }

// A Case is a world, and what else may decide the fate of one probe in it.
type Case struct {
	World
	MTLS surroundings.MTLSMode // for the probe's port; the zero value if it does not matter
	// Early is set if Istio's CNI plugin redirects the pod's connections, before any of its
	// containers starts, and not its last init container, istio-init.
	Early bool
	// Elsewhere names what makes this case and is in another branch of the folders, so that it may
	// be about another cluster; "" if nothing does. Such a case counts only against a certain
	// failure.
	Elsewhere string
	// Answer is that of Istio's sidecar to the probe, or what its agent's own call may come to; nil if none comes so far.
	Answer *inbound.Reply
	// Uncaptured is set if the probe comes through an interface that the mesh excludes.
	Uncaptured bool
	// Unbound is set if Envoy does not listen on the probe's port, since a Sidecar that may have it listen is
	// not about the pod.
	Unbound bool
}

// Refusal returns why Istio's sidecar does not bring the probe to the app; "" if it does.
func (c *Case) Refusal() string {
	if c.Answer == nil {
		return ""
	}
	return c.Answer.Why
}

// A caseFate is a case with the fate of a probe in it.
type caseFate struct {
	*Case
	Fate
}

func (c caseFate) isSpared() bool { return c.Outcome == Unaffected }

// Verdict returns what the fates of one probe in its cases come to: the outcome, why, and, if it is so
// in some cases only, the fact that decides.
func (f *Facts) Verdict(cases []Case, fate func(*Case) Fate) (worst Fate, unless string) {
	near := make([]caseFate, 0, len(cases))
	var far []caseFate
	for i := range cases {
		c := &cases[i]
		x := caseFate{c, fate(c)}
		if c.Elsewhere != "" {
			far = append(far, x)
		} else {
			near = append(near, x)
		}
	}
	if !slices.ContainsFunc(near, caseFate.isSpared) {
		near = append(near, far...) // it fails for certain, and what is far can make that open
	}
	first := slices.IndexFunc(near, func(x caseFate) bool { return !x.isSpared() })
	switch {
	case first < 0:
		return Spared, ""
	case slices.ContainsFunc(near, caseFate.isSpared):
		return near[first].Fate, f.deciding(near)
	}
	return near[0].Fate, ""
}

// InjectorAlone is what a verdict depends on if it depends only on whether Istio's injector rewrites
// the probes. That is one fact for the whole mesh, so it is declared once, and not at each probe.
const InjectorAlone = "Istio's injector rewrites no probes"

const (
	rewritesAll = "Istio's injector rewrites the probes"
	notNative   = "Istio's sidecar is not native"
	noWait      = "other containers do not wait for istio-proxy"
)

// A rewritten probe fails if istio-proxy starts too late to answer it.
const (
	lateInjector = InjectorAlone + ", or istio-proxy starts too late"
	lateFix      = "set `istio.injectorRewrites` and `istio.nativeSidecars`"
)

// onlyTheCluster is in place of how to declare a fact that nothing declares.
const onlyTheCluster = "look in the cluster"

// A question is something that may hold in a world, and decides whether a probe is affected.
type question struct {
	holds, fails string // complete "if ..."
	fix          string // how to declare it
	of           func(*Case) bool
}

// questions are asked in this order.
func (f *Facts) questions(mode string, fates []caseFate) []question {
	refusing, look := refusals(fates)
	return []question{
		{"Istio injects its sidecar", "Istio does not inject its sidecar", f.InjectionCure,
			func(c *Case) bool { return c.Injected }},
		{rewritesAll, InjectorAlone, "set `istio.injectorRewrites`",
			func(c *Case) bool { return c.Rewrites }},
		{"Istio's sidecar is native", notNative, "set `istio.nativeSidecars`",
			func(c *Case) bool { return c.Native }},
		{"other containers wait for istio-proxy", noWait, "set `istio.holdApplicationUntilProxyStarts`",
			func(c *Case) bool { return c.Native || c.Holds }},
		{"Istio's CNI plugin redirects the pod's connections", "", onlyTheCluster,
			func(c *Case) bool { return c.Early }},
		{"Istio's sidecar is native, or its CNI plugin redirects the pod's connections", "", onlyTheCluster,
			func(c *Case) bool { return c.Native || c.Early }},
		{"", lateInjector, lateFix, func(c *Case) bool { return c.Rewrites && c.Native }},
		{"", lateInjector, lateFix, func(c *Case) bool { return c.Rewrites && (c.Native || c.Holds) }},
		{"Istio's injector rewrites the probes, or its CNI plugin redirects the pod's connections", "", "set `istio.injectorRewrites`; " + onlyTheCluster,
			func(c *Case) bool { return c.Rewrites || c.Early }},
		{"the kubelet's connections come through no excluded interface", "the kubelet's connections come through an excluded interface", onlyTheCluster,
			func(c *Case) bool { return !c.Uncaptured && !c.Rewrites }},
		{"the Sidecar selects the pod", "the Sidecar does not select the pod", onlyTheCluster,
			func(c *Case) bool { return !c.Unbound }},
		{"mTLS is strict for its port", "mTLS is not strict for its port", mode,
			func(c *Case) bool { return c.MTLS.Mode == surroundings.MTLSStrict }},
		{refusing, "", look, func(c *Case) bool { return c.Refusal() != "" }},
		{"mTLS is strict for its port, or " + refusing, "", look,
			func(c *Case) bool {
				return c.Refusal() != "" || c.MTLS.Mode == surroundings.MTLSStrict
			}},
	}
}

// deciding words the facts on which it depends whether a probe is affected: all that must come
// together.
func (f *Facts) deciding(fates []caseFate) string {
	if far := elsewhere(fates); far != "" {
		return far + " is about another cluster (unknown: it is in another folder; run on one stream of all that you apply together)"
	}
	mode := "write a single PeerAuthentication for it"
	if slices.ContainsFunc(fates, func(x caseFate) bool { return x.MTLS.Mode != "" && x.MTLS.At == "" }) {
		mode = "set the namespace, here and in the PeerAuthentications, or `istio.mtls`"
	}
	var words, fixes []string
	for _, q := range f.questions(mode, fates) {
		value, decides := agree(fates, q.of)
		if !decides {
			continue
		}
		word := q.fails
		if value {
			word = q.holds
		}
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
		if !slices.Contains(fixes, q.fix) {
			fixes = append(fixes, q.fix)
		}
		// What is left are the worlds in which that is so.
		fates = slices.DeleteFunc(slices.Clone(fates), func(x caseFate) bool { return q.of(x.Case) != value })
		if !slices.ContainsFunc(fates, caseFate.isSpared) {
			break
		}
	}
	if slices.Equal(words, []string{InjectorAlone}) {
		return InjectorAlone
	}
	if len(words) == 0 {
		return "the mesh is set up in one way and not in another"
	}
	return shorter.Replace(strings.Join(words, ", and ")) + " (unknown: " + inOrder(fixes) + ")"
}

// refusals words on what it depends that Istio's sidecar refuses the probe, and how to find out.
func refusals(fates []caseFate) (words, fix string) {
	var all, fixes []string
	for i := range fates {
		a := fates[i].Answer
		if a == nil || a.If == "" || slices.Contains(all, a.If) {
			continue
		}
		all = append(all, a.If)
		for f := range strings.SplitSeq(a.Fix, inbound.FixSeparator) {
			if !slices.Contains(fixes, f) {
				fixes = append(fixes, f)
			}
		}
	}
	slices.Sort(all) // the worlds have no order
	slices.Sort(fixes)
	words = cmp.Or(strings.Join(all, ", or "), "the policy and its rule are about it")
	return words, cmp.Or(strings.Join(fixes, inbound.FixSeparator), onlyTheCluster)
}

// shorter has the words for facts that often come together.
var shorter = strings.NewReplacer(
	"sidecar, and "+InjectorAlone, "sidecar but rewrites no probes",
	"sidecar, and "+rewritesAll+", and "+notNative+", and "+noWait, "sidecar and rewrites the probes, but it is neither native nor waited for",
	"sidecar, and "+rewritesAll, "sidecar and rewrites the probes",
)

// inOrder joins the ways to declare facts. Two single options follow one "set".
func inOrder(fixes []string) string {
	text := fixes[0]
	for i, c := range fixes[1:] {
		option, sets := strings.CutPrefix(c, "set ")
		if sets &&
			strings.HasPrefix(fixes[i], "set ") &&
			strings.Count(fixes[i], " ") == 1 {
			text += " and " + option
			continue
		}
		text += "; " + c
	}
	return text
}

// elsewhere names what alone makes worlds in which a probe is unaffected, and is in another
// branch of the folders; "" if there is no such thing.
func elsewhere(fates []caseFate) (name string) {
	for _, x := range fates {
		if !x.isSpared() {
			continue
		}
		if x.Elsewhere == "" {
			return ""
		}
		name = cmp.Or(name, x.Elsewhere)
	}
	return name
}

// agree reports whether a probe is affected in just the worlds in which something has
// one value, and that value. A world in which it is unaffected may have either value
// if it never is affected there for another reason.
func agree(fates []caseFate, of func(*Case) bool) (value, decides bool) {
	for _, value := range [...]bool{true, false} {
		affected := func(x caseFate) bool { return !x.isSpared() && of(x.Case) != value }
		spared := func(x caseFate) bool { return x.isSpared() && of(x.Case) != value }
		if !slices.ContainsFunc(fates, affected) && slices.ContainsFunc(fates, spared) {
			return value, true
		}
	}
	return false, false
}
