package transformer

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// The status of a controller shows that a pod was made from the template as it is, only if it is about this template (the generation) and
// nothing else runs (the counts), or if it names the pod's hash. What one status lacks leaves it unknown.
func TestAPodIsOfTheTemplateIfTheStatusShowsIt(t *testing.T) {
	rnd := rand.New(rand.NewPCG(61, 71))
	one := func(of ...string) string { return of[rnd.IntN(len(of))] }
	seen := map[string]int{}
	for range 20_000 {
		kind := one("Deployment", "DaemonSet", "StatefulSet", "CloneSet", "Rollout", "Job", "Pod")
		values := map[string]field.Value{}
		number := func(path string) (n int) {
			if n = rnd.IntN(4); n > 0 {
				values[path] = n
			}
			return n
		}
		generation, observed := number("metadata.generation"), number("status.observedGeneration")
		updated, replicas := number("status.updatedReplicas"), number("status.replicas")
		scheduled, current := number("status.updatedNumberScheduled"), number("status.currentNumberScheduled")
		revision, hash := one("", "abc", "web-abc", "web-xabc", "web-other"), one("", "abc")
		values["status.updateRevision"], values["status.currentPodHash"] = revision, revision
		isNamed := hash != "" && (revision == "abc" || revision == "web-abc")
		isObserved := generation > 0 && generation == observed
		want := map[string]bool{
			"Deployment": isObserved && updated > 0 && updated == replicas, "DaemonSet": isObserved && scheduled > 0 && scheduled == current,
			"StatefulSet": isObserved && isNamed, "CloneSet": isObserved && isNamed, "Rollout": isNamed, "Job": true,
		}[kind]
		label := "controller-revision-hash"
		if kind == "Rollout" {
			label = "rollouts-pod-template-hash"
		}
		in := &Input{Kind: kind, Source: func(path field.Path) (field.Value, bool) {
			v, found := values[path.String()]
			return v, found
		}}
		if got := (&template{in: in}).isCurrent(field.KeyValues{{Key: label, Value: hash}}); got != want {
			t.Fatalf("%s, %v, a pod of %q: %t", kind, values, hash, got)
		}
		seen[fmt.Sprint(kind, want)]++
	}
	for _, kind := range strings.Fields("Deployment DaemonSet StatefulSet CloneSet Rollout") {
		if seen[kind+"true"] < 30 || seen[kind+"false"] < 500 {
			t.Errorf("%s: %v", kind, seen)
		}
	}
	if (&template{in: &Input{Kind: "Job"}}).isCurrent(nil) {
		t.Error("something is current of an object that nobody has read")
	}
}
