package workload_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/workload"
)

// Over random objects of a kind that nobody knows: the probes of each pod spec are one holder, those of each container in no list one, and what
// only has the shape of probes one for each field of the object.
func TestEachProbeIsInTheHolderOfItsSpecOrField(t *testing.T) {
	rnd := rand.New(rand.NewPCG(61, 51))
	for range 2000 {
		want := map[string]int{}
		var fields []string
		for _, key := range []string{"spec", "status", "template"}[:1+rnd.IntN(3)] {
			var parts []string
			for i := range 1 + rnd.IntN(4) {
				part := fmt.Sprintf("p%d", i)
				switch rnd.IntN(4) {
				case 0: // a pod template
					n := 1 + rnd.IntN(2)
					parts = append(parts, part+": {spec: {containers: ["+strings.Repeat("{image: a, livenessProbe: {httpGet: {port: 80}}}, ", n)+"]}}")
					want["template "+key+"."+part] += n
				case 1: // a pod spec under another name
					parts = append(parts, part+": {pod: {initContainers: [{image: a, lifecycle: {preStop: {tcpSocket: {port: 1}}}}]}}")
					want["template "+key+"."+part+".pod"]++
				case 2: // a container
					parts = append(parts, part+": {readinessProbe: {tcpSocket: {port: 80}}}")
					want["container "+key+"."+part]++
				default: // values of a chart
					parts = append(parts, part+": {health: {httpGet: {port: 80}}}")
					want["shape "+key]++
				}
			}
			fields = append(fields, key+": {"+strings.Join(parts, ", ")+"}")
		}
		rnd.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
		text := "{apiVersion: example.com/v1, kind: Thing, " + strings.Join(fields, ", ") + "}"
		got := map[string]int{}
		for _, h := range workload.Unseen(object(t, text), nil) {
			switch {
			case h.Spec == nil:
				got["shape "+h.Path[0].Key] += len(h.Probes)
			case h.Nameable:
				got["template "+h.Path.String()] += len(h.Probes)
			default:
				got["container "+h.Path.String()] += len(h.Probes)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s:\n%v, want\n%v", text, got, want)
		}
	}
}

// A template that podTemplates declares is a patch if any of its containers has no image, or if its object is a rule that changes others.
func TestATemplateWithoutAnImageOrInARuleIsAPatch(t *testing.T) {
	rnd := rand.New(rand.NewPCG(61, 52))
	seen := map[bool]int{}
	for range 2000 {
		group := []string{"example.com", "kyverno.io", "policy.karmada.io", "notkyverno.io"}[rnd.IntN(4)]
		want := group == "kyverno.io" || group == "policy.karmada.io"
		var lists []string
		for _, list := range []string{"initContainers", "containers"} {
			var containers []string
			for i := range rnd.IntN(3) {
				image := []string{"image: a", "image: a", "image: a", "image: ''", "image: null", "name: x"}[rnd.IntN(6)]
				want = want || image != "image: a"
				containers = append(containers, fmt.Sprintf("{%s, livenessProbe: {tcpSocket: {port: %d}}}", image, i+1))
			}
			lists = append(lists, list+": ["+strings.Join(containers, ", ")+"]")
		}
		spec := "{" + strings.Join(lists, ", ") + "}"
		isBare := rnd.IntN(2) == 0
		custom := workload.Custom{Group: group, Kind: "Thing", Pattern: pattern(t, "spec.template")}
		template := "{spec: " + spec + "}"
		if isBare {
			template = spec
		}
		text := "{apiVersion: " + group + "/v1, kind: Thing, spec: {template: " + template + "}}"
		found, err := workload.Templates(object(t, text), []workload.Custom{custom})
		if err != nil || len(found) != 1 || found[0].Shape.IsPatch != want || found[0].Shape.BareSpec != isBare {
			t.Fatalf("%s: %+v, %v, want a patch: %t", text, found, err, want)
		}
		seen[want]++
	}
	if min(seen[true], seen[false]) < 300 {
		t.Errorf("of each: %v", seen)
	}
}

// Fleet: `namespace` is where everything goes, and `defaultNamespace` where what names none does.
func TestAFleetInstallsIntoItsNamespace(t *testing.T) {
	for _, namespace := range []string{"", "shop"} {
		for _, byDefault := range []string{"", "apps"} {
			for n := range 3 {
				text := "helm: {chart: a}\n"
				if namespace != "" {
					text += "namespace: shop\n"
				}
				if byDefault != "" {
					text += "defaultNamespace: apps\n"
				}
				text += "targetCustomizations: [" + strings.Repeat("{helm: {chart: b}}, ", n) + "]\n"
				want := namespace
				if want == "" {
					want = byDefault
				}
				all := workload.FleetReleases(object(t, text))
				if isOther := func(r workload.Release) bool { return r.Namespace != want }; len(all) != n+1 || slices.ContainsFunc(all, isOther) {
					t.Errorf("%s: %+v, want %d in %q", text, all, n+1, want)
				}
			}
		}
	}
}
