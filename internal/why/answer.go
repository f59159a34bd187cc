package why

import (
	"fmt"
	"slices"
	"strings"
)

// Answer returns the lines for a user: each cause in three, or what was seen if nothing says a cause; then what could
// not be read. Texts of apps are in them as they are.
func (e *Evidence) Answer() (lines []string) {
	causes := e.Causes()
	for _, c := range causes {
		what := e.Pod.String() + ": " + c.What
		lines = append(lines, what, "  why: "+c.Why+".", "  fix: "+c.Fix+".")
	}
	switch {
	case len(causes) > 0:
	case e.isHealthy():
		lines = append(lines, e.Pod.String()+": all containers are ready, and no probe fails")
	default:
		lines = append(lines, e.Pod.String()+": nothing says why it is not healthy. Seen:")
		lines = append(lines, e.seen()...)
	}
	for _, u := range e.Unseen {
		lines = append(lines, "note: not read: "+u)
	}
	return lines
}

func (e *Evidence) isHealthy() bool {
	return len(e.Pod.Status.ContainerStatuses) > 0 &&
		!slices.ContainsFunc(e.Pod.Status.ContainerStatuses, func(s Status) bool { return !s.Ready })
}

// seen returns the state of the pod and of its containers, and the last events.
func (e *Evidence) seen() (lines []string) {
	p := &e.Pod.Status
	lines = append(lines, strings.TrimRight(fmt.Sprintf("  phase %s %s %s", p.Phase, p.Reason, p.Message), " "))
	for _, s := range slices.Concat(p.InitContainerStatuses, p.ContainerStatuses) {
		state := "running"
		if s.State.Running == nil {
			state = strings.Trim(inBrackets(&s), " ()")
		}
		lines = append(lines, fmt.Sprintf("  container %s: %s, ready %t, restarts %d", s.Name, state, s.Ready, s.RestartCount))
	}
	const most = 5
	events := e.lastFirst()
	for _, v := range events[:min(most, len(events))] {
		lines = append(lines, "  event "+v.Reason+": "+v.Message)
	}
	return lines
}
