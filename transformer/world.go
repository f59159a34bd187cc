package transformer

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
)

// A fact is one thing that decides what becomes of a pod's probes, as far as the
// manifests and the options say it.
type fact struct {
	is certain.Certainty
	at string // where it is said, for messages; "" if it is not known
}

func (f fact) may(v bool) bool { return f.is != certain.Of(!v) }

func (f *fact) say(v bool, at string) { f.is, f.at = certain.Of(v), at }

// declare says what somebody has written: true or false, perhaps in quotes. Anything else, such
// as auto, says nothing.
func (f *fact) declare(v any, at string) {
	switch v {
	case true, "true":
		f.say(true, at)
	case false, "false":
		f.say(false, at)
	}
}

// A world is one way in which a pod may run. Everything in it is known.
type world struct {
	injected bool // the mesh's proxy is in the pod
	native   bool // it is a native sidecar, which starts before all other containers
	holds    bool // it starts before the other ordinary containers, and they wait for it
	rewrites bool // the mesh's injector rewrites the probes
}

// facts are what decides between worlds, each a field of [world].
type facts struct {
	injected, native, holds, rewrites fact
	injectionCure                     string // what would say whether it is injected; "" in meshes without worlds
}

// worlds returns the worlds that the facts leave open. What does not matter in a
// world is false in it.
func (f *facts) worlds() []world {
	all := make([]world, 0, 4)
	if f.injected.is != certain.Always {
		all = append(all, world{})
	}
	if f.injected.is == certain.Never {
		return all
	}
	for _, rewrites := range [...]bool{false, true} {
		if !f.rewrites.may(rewrites) {
			continue
		}
		for _, w := range [...]world{{native: true}, {}, {holds: true}} {
			if f.native.may(w.native) && (w.native || f.holds.may(w.holds)) {
				w.injected, w.rewrites = true, rewrites
				all = append(all, w)
			}
		}
	}
	return all
}

// A fate is what becomes of a probe in one world.
type fate struct {
	outcome Outcome
	why     string // completes "since ..."; "" if the probe is unaffected
}

var unaffected = fate{outcome: Unaffected}

// A foretold is a world together with the fate of a probe in it.
type foretold struct {
	world
	mtls MTLSMode // for the probe's port; the zero value if it does not matter
	// early is set if Istio's CNI plugin redirects the pod's connections, before any of its
	// containers starts, and not its last init container, istio-init.
	early bool
	// uncaptured is set if the probe comes through an interface that the mesh excludes.
	uncaptured bool
	fate
}

// verdictOn returns what the fates of one probe come to: the outcome, why, and, if it
// is so in some worlds only, the fact that decides.
func (f *facts) verdictOn(fates []foretold) (worst fate, unless string) {
	first := slices.IndexFunc(fates, func(x foretold) bool { return x.outcome != Unaffected })
	switch {
	case first < 0:
		return unaffected, ""
	case slices.ContainsFunc(fates, func(x foretold) bool { return x.outcome == Unaffected }):
		return fates[first].fate, f.deciding(fates)
	}
	return fates[0].fate, ""
}

// onlyTheCluster is in place of what declares a fact that nothing does.
const onlyTheCluster = "only the cluster"

// deciding words the fact on which it depends whether a probe is affected.
func (f *facts) deciding(fates []foretold) string {
	mode := "a single PeerAuthentication for it"
	if slices.ContainsFunc(fates, func(w foretold) bool { return w.mtls.Mode != "" && w.mtls.At == "" }) {
		mode = "the namespace, here and in the PeerAuthentications, or `istio.mtls`,"
	}
	for _, x := range []struct {
		holds, fails, cure string // holds and fails complete "if ...", and cure names what declares it
		of                 func(foretold) bool
	}{
		{"Istio injects its sidecar into the pod", "Istio does not inject its sidecar into the pod", f.injectionCure, func(w foretold) bool { return w.injected }},
		{"Istio's sidecar is a native one", "Istio's sidecar is no native one", "`istio.nativeSidecars`", func(w foretold) bool { return w.native }},
		{"the other containers wait for istio-proxy", "the other containers do not wait for istio-proxy", "`istio.holdApplicationUntilProxyStarts`", func(w foretold) bool { return w.native || w.holds }},
		{"Istio's CNI plugin redirects the pod's connections", "", onlyTheCluster, func(w foretold) bool { return w.early }},
		{"Istio's sidecar is a native one, or its CNI plugin redirects the pod's connections", "", onlyTheCluster, func(w foretold) bool { return w.native || w.early }},
		{"Istio's injector rewrites the probes", "Istio's injector does not rewrite the probes", "`istio.injectorRewrites`", func(w foretold) bool { return w.rewrites }},
		{"the kubelet's connections come through no excluded interface", "the kubelet's connections come through an excluded interface", onlyTheCluster, func(w foretold) bool { return !w.uncaptured }},
		{"mTLS is strict for its port", "mTLS is not strict for its port", mode, func(w foretold) bool { return w.mtls.Mode == MTLSStrict }},
	} {
		if value, decides := agree(fates, x.of); decides {
			words := x.holds
			if !value {
				words = x.fails
			}
			return words + ", which is not known (" + x.cure + " would say)"
		}
	}
	return "the mesh is set up in one way and not in another"
}

// agree reports whether a probe is affected in just the worlds in which something has
// one value, and that value. A world in which it is unaffected may have either value
// if it never is affected there for another reason.
func agree(fates []foretold, of func(foretold) bool) (value, decides bool) {
	for _, value := range [...]bool{true, false} {
		affected := func(x foretold) bool { return x.outcome != Unaffected && of(x) != value }
		spared := func(x foretold) bool { return x.outcome == Unaffected && of(x) != value }
		if !slices.ContainsFunc(fates, affected) && slices.ContainsFunc(fates, spared) {
			return value, true
		}
	}
	return false, false
}
