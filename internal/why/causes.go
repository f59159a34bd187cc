package why

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// A Cause is why a pod is not healthy, in three parts without the full stop at their end.
type Cause struct{ What, Why, Fix string }

// Causes returns why the pod is not healthy, the decisive first; none if nothing says it. The rows are those of the table
// in docs/operations.md.
func (e *Evidence) Causes() []Cause {
	byEvents := func() []Cause { return slices.Concat(e.endedByItself(), e.probesThatFail()) }
	for _, find := range []func() []Cause{e.notScheduled, e.notStarted, e.proxyDown, byEvents, e.probesInLog} {
		if all := find(); len(all) > 0 {
			return all // the rest follows from it
		}
	}
	return nil
}

func (e *Evidence) notScheduled() (all []Cause) {
	for _, c := range e.Pod.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "False" {
			all = append(all, Cause{"the pod has no node yet, so no probe is made", c.Message, "Give the cluster room, or change what the pod asks for"})
		}
	}
	return all
}

// waitsFor are the reasons for which a container does not start, besides those of a probe or hook.
var waitsFor = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError", "CreateContainerError", "RunContainerError"}

// notStarted names containers that the kubelet cannot start.
func (e *Evidence) notStarted() (all []Cause) {
	for _, c := range e.Pod.containers() {
		s := e.Pod.status(c.Name)
		if s == nil || s.State.Waiting == nil || !slices.Contains(waitsFor, s.State.Waiting.Reason) {
			continue
		}
		fix := "Correct the image, or what the message names"
		switch proxy := e.proxy(); {
		case c.Image == "auto":
			fix = "Turn on the mesh's injection, which completes this container, or set `answeredBy: probe-proxy`"
		case proxy != nil && proxy.Name == c.Name:
			fix = "Set `probeProxy.image` to an image that the node can pull"
		}
		w := s.State.Waiting
		all = append(all, Cause{"container " + c.Name + " does not start: " + w.Reason, w.Message, fix})
	}
	return all
}

// proxyEnds are what probe-proxy or Go says before it ends at its start.
var proxyEnds = []struct{ says, fix string }{
	{"is taken", "Set another `port` in the functionConfig, and render again"},
	{"malformed GOMEMLIMIT", "Correct the env var `GOMEMLIMIT`, or leave probe-proxy out of what adds it"},
	{"must be a JSON object", "Render again: the env var `" + prober.EnvName + "` is damaged"},
	{"must be the pod's IP", "Render again: the env var `POD_IP` is gone"},
}

// proxyDown says why probe-proxy does not run.
func (e *Evidence) proxyDown() []Cause {
	proxy := e.proxy()
	if proxy == nil {
		return nil
	}
	s := e.Pod.status(proxy.Name)
	if s == nil || s.State.Running != nil && (s.Started == nil || *s.Started) {
		return nil
	}
	what := proxy.Name + " is not up, so it answers no probe"
	log := cmp.Or(strings.TrimSpace(e.Log), e.Previous)
	for text := range strings.Lines(log) { // Go writes more below what it says
		for _, end := range proxyEnds {
			if strings.Contains(text, end.says) {
				return []Cause{{what, "Its log has: " + strings.TrimSpace(text), end.fix}}
			}
		}
	}
	last := lastLine(log)
	if s.State.Waiting == nil && s.RestartCount == 0 || s.State.Waiting != nil && s.State.Waiting.Reason == "PodInitializing" {
		return nil // its turn has not come
	}
	why := "Its log ends with: " + last
	if last == "" {
		why = "Its log is empty" + inBrackets(s)
	}
	return []Cause{{what, why, "See " + e.previousLog(proxy.Name)}}
}

// previousLog returns the command that shows what a container said before its restart.
func (e *Evidence) previousLog(container string) string {
	m := e.Pod.Metadata
	return fmt.Sprintf("`kubectl logs %s -n %s -c %s --previous`", m.Name, m.Namespace, container)
}

func inBrackets(s *Status) string {
	switch {
	case s.State.Waiting != nil:
		return " (" + s.State.Waiting.Reason + ")"
	case s.State.Terminated != nil:
		return fmt.Sprintf(" (exit code %d)", s.State.Terminated.ExitCode)
	}
	return ""
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// endedByItself names containers that no probe has ended.
func (e *Evidence) endedByItself() (all []Cause) {
	for _, c := range e.Pod.containers() {
		s := e.Pod.status(c.Name)
		if s == nil || s.RestartCount == 0 || e.isKilled(c.Name) {
			continue
		}
		end := s.LastState.Terminated
		if s.State.Terminated != nil {
			end = s.State.Terminated
		}
		what := "no probe ended container " + c.Name
		switch {
		case end == nil:
		case end.Reason == "OOMKilled":
			all = append(all, Cause{what, "It used more memory than its limit (OOMKilled)", "Raise its memory limit, or find the leak"})
		default:
			code := fmt.Sprintf("Its process ended by itself with exit code %d", end.ExitCode)
			all = append(all, Cause{what, code, "See " + e.previousLog(c.Name)})
		}
	}
	return all
}

// isKilled reports whether the kubelet ended a container for a probe or hook.
func (e *Evidence) isKilled(container string) bool {
	return slices.ContainsFunc(e.Events, func(v Event) bool {
		byProbe := v.Reason == "Killing" && strings.Contains(v.Message, "probe")
		return v.container() == container && (byProbe || v.Reason == "FailedPostStartHook")
	})
}

// probeFails finds the type and the text of an event of a probe.
var probeFails = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^(Liveness|Readiness|Startup) probe (?:failed|errored)[^:]*: (.*)`)
})

// lastFirst returns the events, the last one first.
func (e *Evidence) lastFirst() []Event {
	return slices.SortedStableFunc(slices.Values(e.Events), func(a, b Event) int {
		return strings.Compare(b.LastTimestamp, a.LastTimestamp)
	})
}

// probesInLog explains the probes that fail by the log of probe-proxy alone: the kubelet does not send every event.
func (e *Evidence) probesInLog() (all []Cause) {
	for _, c := range e.Pod.containers() {
		s := e.Pod.status(c.Name)
		for _, p := range []struct {
			name  string
			probe *Probe
		}{{"Startup", c.StartupProbe}, {"Liveness", c.LivenessProbe}, {"Readiness", c.ReadinessProbe}} {
			key, ours := p.probe.isOurs()
			if !ours || s == nil || s.passes(p.name) {
				continue
			}
			if l := failing(e.Log, key); l != nil {
				cause := e.fromLog(l, p.probe, key)
				cause.What = "the " + strings.ToLower(p.name) + " probe of " + c.Name + " fails"
				all = append(all, cause)
			}
		}
	}
	return all
}

// probesThatFail explains the last event of each probe and hook that fails now.
func (e *Evidence) probesThatFail() (all []Cause) {
	var seen []string
	for _, v := range e.lastFirst() {
		c, s := e.Pod.container(v.container()), e.Pod.status(v.container())
		if c == nil || s == nil {
			continue
		}
		what, text := "", v.Message
		var probe *Probe
		m := probeFails().FindStringSubmatch(v.Message)
		switch {
		case v.Reason == "FailedPostStartHook":
			what, probe = "the postStart hook", c.Lifecycle.PostStart
		case v.Reason == "FailedPreStopHook":
			what, probe = "the preStop hook", c.Lifecycle.PreStop
		case v.Reason == "Unhealthy" && m != nil && !s.passes(m[1]):
			what, text = "the "+strings.ToLower(m[1])+" probe", m[2]
			probe = map[string]*Probe{"Liveness": c.LivenessProbe, "Readiness": c.ReadinessProbe, "Startup": c.StartupProbe}[m[1]]
		}
		what += " of " + c.Name + " fails"
		if probe == nil || slices.Contains(seen, what) {
			continue
		}
		seen = append(seen, what)
		cause := e.whyFails(probe, strings.TrimSpace(text))
		cause.What = what
		all = append(all, cause)
	}
	return all
}

// passes reports whether a container's status shows that a probe of a type passes now.
func (s *Status) passes(probe string) bool {
	switch probe {
	case "Readiness":
		return s.Ready
	case "Startup":
		return s.Started != nil && *s.Started
	}
	return s.Ready && s.RestartCount == 0
}

// whyFails explains what the kubelet says of a probe or hook.
func (e *Evidence) whyFails(p *Probe, text string) Cause {
	key, ours := p.isOurs()
	proxy := e.proxy()
	switch {
	case !ours:
		return e.atApp(p, text)
	case proxy == nil:
		return Cause{Why: "The mesh's agent answers it, and says: " + text, Fix: "See the log of " + cmp.Or(e.mesh(), "the mesh's proxy") + ". With `answeredBy: probe-proxy` the log names the cause"}
	}
	if l := failing(e.Log, key); l != nil {
		return e.fromLog(l, p, key)
	}
	port := proxy.port()
	switch {
	case strings.Contains(text, "statuscode: 404"):
		return Cause{Why: proxy.Name + " does not know " + key + ": the probe and `" + prober.EnvName + "` are from different renders, or were edited",
			Fix: "Render again, with rewrite-probes as the last step"}
	case strings.Contains(text, "statuscode: 500"):
		return Cause{Why: "Its entry of `" + prober.EnvName + "` cannot be used", Fix: "Render again. The log of " + proxy.Name + " has the error at its start"}
	case e.Log == "" && len(e.Unseen) > 0:
		return Cause{Why: "The kubelet says: " + text, Fix: "Let this command read the log of " + proxy.Name + ", which has the cause"}
	case cuts(text) && e.mesh() != "":
		return Cause{Why: fmt.Sprintf("%s captures port %d: no request reaches %s, whose log does not have the probe (%s)", e.mesh(), port, proxy.Name, text),
			Fix: fmt.Sprintf("Exclude port %d from the mesh's inbound capture. rewrite-probes writes the annotation for it", port)}
	case cuts(text):
		return Cause{Why: fmt.Sprintf("No request reaches %s on port %d: %s", proxy.Name, port, text), Fix: "Look for a NetworkPolicy that keeps the node out"}
	}
	return Cause{Why: "The kubelet says: " + text, Fix: "See the log of " + proxy.Name}
}

// cuts reports whether a text of the kubelet says that there was no answer.
func cuts(text string) bool {
	for _, word := range []string{"deadline exceeded", "timeout", "connection reset", "EOF", "malformed HTTP", "refused"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

func tooSlow(p *Probe) Cause {
	return Cause{
		Why: fmt.Sprintf("The app is too slow: timeoutSeconds is %d", max(p.TimeoutSeconds, 1)),
		Fix: "Raise `timeoutSeconds`, or make the health check of the app faster",
	}
}

// fromLog explains a line of probe-proxy's log.
func (e *Evidence) fromLog(l line, p *Probe, key string) Cause {
	reason, status := l["reason"], l["status"]
	timeout := max(p.TimeoutSeconds, 1)
	slow := tooSlow(p)
	if le := median(e.Metrics, key); le != "" {
		slow.Why += ", and half of its answers take up to " + le + " s"
	}
	switch after, isGone := strings.CutPrefix(reason, "caller left after "); {
	case isGone:
		text, _, _ := strings.Cut(after, ",")
		took, err := time.ParseDuration(text)
		if err == nil && took < time.Duration(timeout)*900*time.Millisecond {
			return Cause{Why: fmt.Sprintf("probe-proxy got no CPU in time: of %d s it had %s", timeout, text), Fix: "Raise `probeProxy.resources`, or the CPU of the node"}
		}
		return slow
	case status == "504":
		return slow
	case status == "429":
		return Cause{Why: "Too many calls of this probe wait for the app", Fix: "Find out why the app hangs, or who else calls the port"}
	case strings.Contains(reason, "refused"):
		return Cause{Why: "Nothing listens where the probe asks: " + reason, Fix: "Correct the port of the original probe, or add a startupProbe if the app still starts"}
	case l["app"] != "":
		return Cause{Why: "The app answers " + status + ": " + l["app"], Fix: "Mend what the app names, or the path of the original probe"}
	case strings.HasPrefix(reason, "app answered with status"):
		return Cause{Why: "The app answers " + status, Fix: "See the app's log, or correct the path of the original probe"}
	}
	return Cause{Why: "probe-proxy says: " + reason, Fix: "Correct the app, or the original probe"}
}

// atApp explains a probe that asks the app itself.
func (e *Evidence) atApp(p *Probe, text string) Cause {
	mesh := e.mesh()
	switch {
	case mesh != "" && strings.Contains(text, "statuscode: 403"):
		return Cause{Why: "A policy of the mesh refuses the kubelet (403)", Fix: "Run rewrite-probes on the manifests, or let the request in by a policy"}
	case mesh != "" && cuts(text) && !strings.Contains(text, "refused"):
		return Cause{Why: mesh + " captures the probe, and the kubelet has no client certificate: " + text, Fix: "Run rewrite-probes on the manifests. `rewrite-probes check` names what else fails"}
	case strings.Contains(text, "refused"):
		return Cause{Why: "Nothing listens where the probe asks: " + text, Fix: "Correct the port, or add a startupProbe if the app still starts"}
	case strings.Contains(text, "deadline exceeded") || strings.Contains(text, "timeout"):
		return tooSlow(p)
	case strings.Contains(text, "statuscode: "):
		_, status, _ := strings.Cut(text, "statuscode: ")
		return Cause{Why: "The app answers " + status, Fix: "See the app's log, or correct the path of the probe"}
	}
	return Cause{Why: "The kubelet says: " + text, Fix: "See the app's log"}
}
