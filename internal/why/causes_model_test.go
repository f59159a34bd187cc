package why

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// aContainer has what the model knows of a container: whether it is ready, how often it was restarted, how it ended now and before, and
// what the kubelet did to it.
type aContainer struct {
	name            string
	ready           bool
	restarts        int
	now, before     string // "", "OOMKilled" or "Error"
	killed, failing []string
}

func drawnContainer(rnd *rand.Rand, name string) aContainer {
	one := func(of ...string) string { return of[rnd.IntN(len(of))] }
	c := aContainer{name: name, ready: rnd.IntN(2) == 0, restarts: []int{0, 0, 1, 5}[rnd.IntN(4)]}
	if !c.ready {
		c.now = one("", "", "OOMKilled", "Error")
	}
	if c.restarts > 0 {
		c.before = one("", "OOMKilled", "Error")
	}
	for range rnd.IntN(2) {
		c.killed = append(c.killed, one("probe", "hook", "rollout"))
	}
	for range rnd.IntN(3) {
		c.failing = append(c.failing, one("Liveness", "Readiness", "Startup"))
	}
	return c
}

func (c *aContainer) state(reason string) (s State) {
	switch reason {
	case "":
		s.Running = &struct{}{}
	default:
		s.Terminated = &struct {
			ExitCode        int
			Reason, Message string
		}{ExitCode: map[string]int{"OOMKilled": 137, "Error": 1}[reason], Reason: reason}
	}
	return s
}

func (c *aContainer) addTo(e *Evidence) {
	probe := &Probe{TCPSocket: &struct{ Port any }{8080}}
	x := Container{Name: c.name, LivenessProbe: probe, ReadinessProbe: probe, StartupProbe: probe}
	x.Lifecycle.PostStart = probe
	e.Pod.Spec.Containers = append(e.Pod.Spec.Containers, x)
	s := Status{Name: c.name, Ready: c.ready, Started: &c.ready, RestartCount: c.restarts, State: c.state(c.now)}
	if c.before != "" {
		s.LastState = c.state(c.before)
	}
	e.Pod.Status.ContainerStatuses = append(e.Pod.Status.ContainerStatuses, s)
	add := func(reason, message string) {
		v := Event{Reason: reason, Message: message, LastTimestamp: fmt.Sprint(len(e.Events))}
		v.InvolvedObject.FieldPath = "spec.containers{" + c.name + "}"
		e.Events = append(e.Events, v)
	}
	for _, by := range c.killed {
		switch by {
		case "probe":
			add("Killing", "Container "+c.name+" failed liveness probe, will be restarted")
		case "hook":
			add("FailedPostStartHook", "PostStartHook failed")
		case "rollout":
			add("Killing", "Stopping container "+c.name)
		}
	}
	for _, probe := range c.failing {
		add("Unhealthy", probe+" probe failed: dial tcp 10.0.0.1:8080: connection refused")
	}
}

// causes returns what is to be said of the container: its own end, and then the probes and the hook that fail now.
func (c *aContainer) causes() (all []string) {
	byKubelet := slices.Contains(c.killed, "probe") || slices.Contains(c.killed, "hook")
	end := c.before
	if c.now != "" {
		end = c.now
	}
	if c.restarts > 0 && !byKubelet && end != "" {
		all = append(all, "no probe ended container "+c.name+": "+map[string]string{"OOMKilled": "memory", "Error": "exit code 1"}[end])
	}
	for _, probe := range c.failing {
		if !c.ready || probe == "Liveness" && c.restarts > 0 {
			all = append(all, "the "+strings.ToLower(probe)+" probe of "+c.name+" fails: Nothing listens")
		}
	}
	if slices.Contains(c.killed, "hook") {
		all = append(all, "the postStart hook of "+c.name+" fails: ")
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Over random states of two containers and events of each: a container that no probe ended is named with its own end, and a probe
// with what the kubelet says of it, as long as the status does not show that it passes.
func TestTheCausesAreThoseOfEachContainer(t *testing.T) {
	rnd := rand.New(rand.NewPCG(61, 41))
	seen := map[int]int{}
	for range 5000 {
		e := Evidence{IsMeshProxy: isMeshProxy}
		var want []string
		for _, name := range []string{"web", "worker"} {
			c := drawnContainer(rnd, name)
			c.addTo(&e)
			want = append(want, c.causes()...)
		}
		var got []string
		for _, c := range e.Causes() {
			why := ""
			for _, word := range []string{"memory", "exit code 1", "Nothing listens"} {
				if strings.Contains(c.Why, word) {
					why = word
				}
			}
			got = append(got, c.What+": "+why)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%+v\n%+v:\n%q, want\n%q", e.Pod.Status, e.Events, got, want)
		}
		seen[min(len(want), 3)]++
	}
	if min(seen[0], seen[1], seen[2], seen[3]) < 300 {
		t.Errorf("of each number of causes: %v", seen)
	}
}

// Of two pods the one is worse off of which fewer containers are ready and were never restarted.
func TestAPodWhoseContainersAreRestartedIsWorseOff(t *testing.T) {
	rnd := rand.New(rand.NewPCG(61, 42))
	for range 500 {
		var p Pod
		for range 1 + rnd.IntN(3) {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, Status{Ready: rnd.IntN(2) == 0, RestartCount: rnd.IntN(3)})
		}
		before := p.health()
		s := &p.Status.ContainerStatuses[rnd.IntN(len(p.Status.ContainerStatuses))]
		switch {
		case s.RestartCount == 0:
			s.RestartCount = 1 + rnd.IntN(5)
		case s.Ready:
			s.Ready = false
		default:
			continue
		}
		if after := p.health(); after >= before {
			t.Fatalf("%+v: %d, and %d before", p.Status.ContainerStatuses, after, before)
		}
	}
}

// Only a log that was not read is asked for: one that was read and says nothing shows that no request came.
func TestALogThatWasReadIsNotAskedFor(t *testing.T) {
	for _, log := range []string{"", "level=INFO msg=ready\n"} {
		for _, unseen := range [][]string{nil, {"the metrics: forbidden"}, {"the log: forbidden", "the metrics: forbidden"}} {
			for _, text := range []string{"context deadline exceeded", "read: connection reset by peer", "no such thing"} {
				e := Evidence{IsMeshProxy: isMeshProxy}
				e.Log, e.Unseen = log, unseen
				e.Pod.Spec.Containers = []Container{{Name: "istio-proxy"}, {Name: "probe-proxy", Env: []struct{ Name string }{{"ISTIO_KUBE_APP_PROBERS"}}}}
				cause := e.whyFails(&Probe{HTTPGet: &struct {
					Path string
					Port any
				}{"/app-health/web/readyz", 15099}}, text)
				asks, names := strings.Contains(cause.Fix, "read the log"), strings.Contains(cause.Why, "istio-proxy captures port 15099")
				isUnread := log == "" && unseen != nil
				if asks != isUnread || names != (!isUnread && text != "no such thing") {
					t.Errorf("%q, unseen %q, %q: %+v", log, unseen, text, cause)
				}
			}
		}
	}
}
