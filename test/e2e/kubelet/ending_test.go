package kubelet

import (
	"fmt"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/test/e2e/node"
)

// endings are the pods whose end is measured, each with the default grace
// period of 30 s, which a sidecar that waits in vain would use up.
var endings = []struct {
	name, pod, config string
	finishes          bool          // it ends by itself, as a Job's pod; else it is deleted
	hooks             time.Duration // for which an ordinary probe-proxy stays
}{
	{"deleted, probes only", "http", "default", false, 0},
	{"deleted, probes only, placement container", "http", "container", false, 0},
	{"deleted, preStop hook", "pre-stop", "default", false, 0},
	{"deleted, preStop hook, placement container", "pre-stop", "container", false, 10 * time.Second},
	{"finished Job", "job", "default", true, 0},
}

// tolerance is how much longer a pod with probe-proxy may take to end.
const tolerance = time.Second

// TestEndingAPodTakesNoLongerThanWithoutUs compares the fastest of some pods
// with probe-proxy to the fastest of as many without, and a second and a third
// time before it calls them slower: the machine may be busy, and only makes
// things slower. It runs alone, for the same reason.
func TestEndingAPodTakesNoLongerThanWithoutUs(t *testing.T) {
	const tries = 3
	without := map[string]time.Duration{} // by pod
	for i, c := range endings {
		t.Run(c.name, func(t *testing.T) {
			if _, ok := without[c.pod]; !ok {
				without[c.pod] = fastestEnd(t, fmt.Sprintf("end-%d-without", i), c.finishes, func() map[string]any { return bare(t, c.pod) })
			}
			most := without[c.pod] + tolerance + c.hooks
			with := longest
			for try := 0; try < tries && with > most; try++ {
				with = min(with, fastestEnd(t, fmt.Sprintf("end-%d-with-%d", i, try), c.finishes, func() map[string]any { return pod(t, c.pod, c.config) }))
			}
			if with > most {
				t.Errorf("took %s, and without rewrite-probes %s", with, without[c.pod])
			}
			note(t, fmt.Sprintf("at most %.0f s longer than without rewrite-probes, with the default grace of 30 s", (tolerance+c.hooks).Seconds()),
				fmt.Sprintf("%.1f s; without rewrite-probes and probes %.1f s", with.Seconds(), without[c.pod].Seconds()))
		})
	}
}

const longest = time.Duration(1<<63 - 1)

// bare returns a pod without its probes and hooks: under the mesh they fail,
// and a pod that is restarted is nothing to compare with.
func bare(t *testing.T, name string) map[string]any {
	t.Helper()
	p := pod(t, name, "")
	spec := p["spec"].(map[string]any)
	for _, c := range spec["containers"].([]any) {
		for _, field := range []string{"startupProbe", "readinessProbe", "livenessProbe", "lifecycle"} {
			delete(c.(map[string]any), field)
		}
	}
	return p
}

// fastestEnd runs a pod some times and ends one after the other. It returns the
// shortest time that one took to end.
func fastestEnd(t *testing.T, name string, finishes bool, manifest func() map[string]any) time.Duration {
	t.Helper()
	const times = 3
	names := []string{}
	for i := range times {
		names = append(names, fmt.Sprintf("%s-%d", name, i))
		p := manifest()
		spec := p["spec"].(map[string]any)
		if _, set := spec["terminationGracePeriodSeconds"]; set {
			t.Fatal("the pod must have the default grace period")
		}
		if finishes {
			app := spec["containers"].([]any)[0].(map[string]any)
			app["args"] = []any{fmt.Sprintf("-exit-after=%ds", 6+4*i)}
		}
		start(t, names[i], p)
	}
	fastest := longest
	for _, name := range names {
		took, err := end(name, finishes)
		if err != nil {
			t.Fatal(err, firstFailure(name))
		}
		fastest = min(fastest, took)
	}
	return fastest
}

// end deletes a pod, or waits until it has finished, and returns how long that
// took: from the deletion, or from when the kubelet knew that the app had ended,
// to the end of the last container.
func end(name string, finishes bool) (time.Duration, error) {
	if !finishes {
		if _, err := theNode.WaitFor(name, 90*time.Second, func(s node.State) bool { return s.Ready }); err != nil {
			return 0, err
		}
		began := time.Now()
		err := theNode.Remove(name, 60*time.Second)
		return time.Since(began), err
	}
	s, err := theNode.WaitFor(name, 120*time.Second, func(s node.State) bool { return s.Phase == "Succeeded" })
	if err != nil {
		return 0, err
	}
	known := s.At
	for _, h := range theNode.History(name) {
		if app := h.Containers["app"]; !app.Running && app.Reason == "Completed" && h.At.Before(known) {
			known = h.At
		}
	}
	return s.At.Sub(known), theNode.Remove(name, 60*time.Second)
}
