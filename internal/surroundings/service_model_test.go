package surroundings

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
)

// A port of pods is exposed if a Service may lead to it. The Service is near or far, or its namespace is not known yet. One without a
// selector may get one, and one that is a name for another leads to no pod.
func TestAServiceThatMayLeadToThePortExposesIt(t *testing.T) {
	rnd := rand.New(rand.NewPCG(61, 7))
	one := func(of ...string) string { return of[rnd.IntN(len(of))] }
	selectors := map[string]field.KeyValues{
		"none": nil, "web": {{Key: "app", Value: "web"}}, "other": {{Key: "app", Value: "other"}}, "later": {{Key: "pod-template-hash", Value: "x"}},
		"both": {{Key: "tier", Value: "b"}, {Key: "app", Value: "web"}},
	}
	spec := &pod.Spec{Containers: []pod.Container{{Ports: []pod.ContainerPort{{Name: "http", ContainerPort: 8080}, {Name: "dns", ContainerPort: 8080, Protocol: "UDP"}}}}}
	seen := map[string]int{}
	for range 20_000 {
		pods := &Pods{Namespace: "shop", Kind: one("Deployment", "DaemonSet"), Labels: selectors["web"], Spec: spec}
		if rnd.IntN(5) == 0 {
			pods.Labels = nil
		}
		var objects, unplaced []any
		near, far, open := "", "", "" // the first that leads there
		for i := range rnd.IntN(5) {
			by, target, protocol := one("none", "web", "web", "other", "later", "both"), one("", "http", "dns", "8080", "9090"), one("", "TCP", "UDP")
			v := &Service{Neighbour: named("shop", fmt.Sprint("s", i)), Type: one("", "ClusterIP", "ExternalName"), Selector: selectors[by]}
			p := ServicePort{Port: []int{8080, 80}[rnd.IntN(2)], Protocol: protocol, TargetPort: field.IntOrString{IsString: true, Str: target}}
			if target == "8080" || target == "9090" {
				p.TargetPort = map[string]field.IntOrString{"8080": field.Number(8080), "9090": field.Number(9090)}[target]
			}
			v.Ports = []ServicePort{{Port: 1}, p}
			selects := map[string]bool{"none": true, "web": true, "later": pods.Kind == "Deployment" || pods.Labels == nil, "other": pods.Labels == nil, "both": pods.Labels == nil}[by]
			leads := map[string]bool{"": p.Port == 8080, "http": true, "8080": true}[target] && protocol != "UDP"
			words := "Service shop/" + v.Name
			condition := " (if it goes to the pod's namespace)"
			if by == "none" {
				condition = " (if kustomize gives it a selector)"
				words += condition
			}
			exposes := selects && leads && v.Type != "ExternalName"
			switch rnd.IntN(4) {
			case 0:
				unplaced = append(unplaced, v)
				if exposes && open == "" {
					open = "Service shop/" + v.Name + condition
				}
			case 1:
				v.Far = true
				objects = append(objects, v)
				if exposes && far == "" {
					far = words
				}
			default:
				objects = append(objects, v)
				if exposes && near == "" {
					near = words
				}
			}
		}
		want := near
		if want == "" {
			want = open
		}
		s := New(given{objects: objects, unplaced: unplaced})
		if got, elsewhere := s.Exposed(pods, 8080), s.ExposedElsewhere(pods, 8080); got != want || elsewhere != far {
			t.Fatalf("%+v, %+v: exposed by %q and %q, want %q and %q", objects, unplaced, got, elsewhere, want, far)
		}
		for name, is := range map[string]bool{"near": near != "", "far": far != "", "open": near == "" && open != "", "none": want+far == "" && len(objects) > 1} {
			if is {
				seen[name]++
			}
		}
	}
	for _, name := range []string{"near", "far", "open", "none"} {
		if seen[name] < 500 {
			t.Errorf("%s: only %d", name, seen[name])
		}
	}
}
