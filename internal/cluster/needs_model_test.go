package cluster

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/kubectl"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// Over random Pods and Jobs, in the order of a list: what a controller owns that is read itself is left out, and what has ended. Of the
// pods with Istio's sidecar three of each namespace and revision are kept as witnesses while something is open, but those that say
// something of rewriting themselves.
func TestOfPodsThoseAreKeptThatNobodyElseShows(t *testing.T) {
	rnd := rand.New(rand.NewPCG(61, 61))
	one := func(of ...string) string { return of[rnd.IntN(len(of))] }
	type object map[string]any
	seen := map[string]int{}
	for range 500 {
		r := &reader{listed: map[surroundings.GroupKind]bool{
			{Group: "apps", Kind: "Deployment"}: true, {Group: "apps", Kind: "ReplicaSet"}: rnd.IntN(2) == 0, {Group: "batch", Kind: "Job"}: true, {Kind: "Service"}: true,
		}}
		r.types = map[surroundings.GroupKind]kubectl.Type{}
		isOpen := rnd.IntN(2) == 0
		if isOpen { // there is an Istio, and nothing says how it is installed
			r.types[peerAuthentication] = kubectl.Type{}
		}
		n := need{GroupKind: podKind, phase: pods, beside: rnd.IntN(3) == 0}
		keep := r.keep(n)
		witnesses := map[string]int{}
		for range 20 {
			namespace, revision := one("a", "b"), one("", "canary")
			annotations := object{}
			if revision != "" {
				annotations["istio.io/rev"] = revision
			}
			isInjected, decides := rnd.IntN(2) == 0, rnd.IntN(4) == 0
			if isInjected {
				annotations[surroundings.InjectedMark] = "{}"
			}
			if decides {
				annotations["sidecar.istio.io/rewriteAppHTTPProbers"] = one("true", "false")
			}
			isOwned := false
			var owners []object
			for range rnd.IntN(3) {
				apiVersion, isController := one("apps/v1", "batch/v1", "v1", "example.com/v1"), rnd.IntN(2) == 0
				kind := map[string]string{"apps/v1": one("ReplicaSet", "StatefulSet"), "batch/v1": "Job", "v1": "Service", "example.com/v1": "Job"}[apiVersion]
				owners = append(owners, object{"apiVersion": apiVersion, "kind": kind, "controller": isController, "name": "x"})
				isRead := kind == "ReplicaSet" && r.listed[surroundings.GroupKind{Group: "apps", Kind: kind}] || apiVersion == "batch/v1" || apiVersion == "v1"
				isOwned = isOwned || isController && isRead
			}
			status, isOver := object{}, false
			switch phase := one("Running", "Running", "Succeeded", "Failed", "Pending"); phase {
			case "Succeeded", "Failed":
				status["phase"], isOver = phase, true
			default:
				status["phase"] = phase
			}
			if rnd.IntN(2) == 0 {
				condition, is := one("Complete", "Failed", "Ready"), one("True", "False")
				status["conditions"] = []object{{"type": "Ready", "status": "True"}, {"type": condition, "status": is}}
				isOver = isOver || condition != "Ready" && is == "True"
			}
			text, _ := json.Marshal(object{"metadata": object{"name": "x", "namespace": namespace, "annotations": annotations, "ownerReferences": owners}, "status": status})
			key := fmt.Sprint(namespace, revision)
			isWitness := isOpen && isInjected && !decides && !isOver && witnesses[key] < 3
			if isWitness {
				witnesses[key]++
			}
			want := isWitness || !n.beside && !isOwned && !isOver
			if got := keep(kubectl.Item(text)); got != want {
				t.Fatalf("%s\nis kept: %t, want %t (beside: %t, open: %t, witnesses so far: %v)", text, got, want, n.beside, isOpen, witnesses)
			}
			for name, is := range map[string]bool{"witness": isWitness, "owned": isOwned, "over": isOver, "kept": want && !isWitness} {
				if is {
					seen[name]++
				}
			}
		}
	}
	for _, name := range []string{"witness", "owned", "over", "kept"} {
		if seen[name] < 300 {
			t.Errorf("%s: only %d", name, seen[name])
		}
	}
}

// Something is open while one of the three facts of a revision is, whichever.
func TestAnyOpenFactOfARevisionAsksForPods(t *testing.T) {
	const values = `{"sidecarInjectorWebhook": {"rewriteAppHTTPProbe": %s}, "pilot": {"env": {"ENABLE_NATIVE_SIDECARS": "%s"}}, "global": {"proxy": {"holdApplicationUntilProxyStarts": %s}}}`
	config := func(rewrites, native, holds string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio-sidecar-injector, namespace: istio-system}\ndata: {values: '" + fmt.Sprintf(values, rewrites, native, holds) + "'}\n---\n" +
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: istiod, namespace: istio-system, labels: {app: istiod}}\nspec: {template: {spec: {containers: [{name: discovery, image: 'x/pilot:1.31.0', env: [{name: ENABLE_NATIVE_SIDECARS, value: '" + native + "'}]}]}}}\n---\n" +
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio, namespace: istio-system}\ndata: {mesh: 'defaultConfig: {}'}\n"
	}
	for _, rewrites := range []string{"true", "false", `"${X}"`} {
		for _, native := range []string{"true", "false", "${X}"} {
			for _, holds := range []string{"true", "false", `"${X}"`} {
				text := config(rewrites, native, holds)
				r := &reader{Reading: *serve(t, text, Wish{RootNamespace: "istio-system"}), Wish: Wish{RootNamespace: "istio-system"}}
				want := rewrites == `"${X}"` || native == "${X}" || holds == `"${X}"`
				if got := r.isOpen(); got != want {
					t.Errorf("rewrites %s, native %s, holds %s: open: %t", rewrites, native, holds, got)
				}
			}
		}
	}
}

// All of a kind was read if a list of it was, whatever else was read beside workloads and in which order, unless one was refused; a kind that
// the cluster does not have has no objects, if its group told its types.
func TestAllOfAKindWasReadIfItsListWas(t *testing.T) {
	rnd := rand.New(rand.NewPCG(61, 62))
	for range 2000 {
		r := &reader{listed: map[surroundings.GroupKind]bool{}, untold: map[string]bool{}}
		r.types = map[surroundings.GroupKind]kubectl.Type{}
		isServed, isTold, isNamespaced := rnd.IntN(4) > 0, rnd.IntN(2) == 0, rnd.IntN(2) == 0
		r.untold["apps"] = !isTold
		if rnd.IntN(2) == 0 {
			r.Namespace = "shop"
		}
		if isServed {
			r.types[deployment] = kubectl.Type{Namespaced: isNamespaced}
		}
		want := !isServed && isTold
		steps := ""
		for range rnd.IntN(4) {
			j := job{need: need{GroupKind: deployment, beside: rnd.IntN(2) == 0}}
			isRefused := rnd.IntN(4) == 0
			if isRefused {
				j.err = &kubectl.Error{Reason: "Forbidden", Text: "no"}
			}
			if err := r.add(&j); err != nil {
				t.Fatal(err)
			}
			steps += fmt.Sprintf("beside: %t, refused: %t; ", j.beside, isRefused)
			if isServed {
				want = !isRefused && (want || !j.beside)
			}
		}
		if isServed && isNamespaced && r.Namespace != "" {
			want = false
		}
		if got := r.hasAll("apps", "Deployment"); got != want {
			t.Fatalf("served: %t, told: %t, namespaced: %t, of %q, %s: %t, want %t", isServed, isTold, isNamespaced, r.Namespace, steps, got, want)
		}
	}
}

// Of each kind the version is the preferred one that has it, whatever another kind of the group needs.
func TestAKindIsReadInTheFirstVersionThatHasIt(t *testing.T) {
	rnd := rand.New(rand.NewPCG(61, 63))
	for range 12 {
		text, want := "", map[string]string{}
		for _, version := range []string{"v1", "v1beta1", "v1alpha1"} {
			for _, kind := range []string{"First", "Second", "Third"} {
				if rnd.IntN(2) == 0 {
					continue
				}
				text += "apiVersion: example.com/" + version + "\nkind: " + kind + "\nmetadata: {name: one}\n---\n"
				if want[kind] == "" {
					want[kind] = version
				}
			}
		}
		if text == "" {
			continue
		}
		w := Wish{RootNamespace: "istio-system"}
		for kind := range want {
			w.Custom = append(w.Custom, surroundings.GroupKind{Group: "example.com", Kind: kind})
		}
		got := map[string]string{}
		for _, s := range serve(t, text, w).Streams {
			for _, o := range s.Objects() {
				if o.Group() == "example.com" {
					got[o.Kind()] = strings.TrimPrefix(o.APIVersion(), "example.com/")
				}
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s\n%v, want %v", text, got, want)
		}
	}
}
