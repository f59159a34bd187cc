package why

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A stub has the answers of an API server by path; any other path is forbidden.
type stub map[string]string

func (s stub) Get(_ context.Context, path string) ([]byte, error) {
	for prefix, text := range s {
		if path == prefix || strings.HasPrefix(path, prefix+"?") {
			return []byte(text), nil
		}
	}
	return nil, errors.New("kubectl: forbidden")
}

const (
	pods   = "/api/v1/namespaces/shop/pods"
	events = "/api/v1/namespaces/shop/events"
	web    = pods + "/web-1"
)

// aPod is a pod in JSON as the API server writes it: rewritten, with the state of the app's container.
func aPod(state string) string {
	return `{"metadata": {"name": "web-1", "namespace": "shop"}, "spec": {
  "initContainers": [{"name": "probe-proxy", "image": "probe-proxy", "restartPolicy": "Always", "env": [{"name": "ISTIO_KUBE_APP_PROBERS", "value": "{}"}],
    "lifecycle": {"postStart": {"exec": {"command": ["/probe-proxy", "wait", "--port=15100"]}}}}],
  "containers": [{"name": "web", "image": "web", "readinessProbe": {"timeoutSeconds": 1, "httpGet": {"path": "/app-health/web/readyz", "port": 15100}}}]},
  "status": {"phase": "Running",
    "initContainerStatuses": [{"name": "probe-proxy", "ready": true, "started": true, "state": {"running": {}}}],
    "containerStatuses": [{"name": "web", "ready": false, "started": true, "state": ` + state + `}]}}`
}

const unready = `{"items": [{"reason": "Unhealthy", "message": "Readiness probe failed: HTTP probe failed with statuscode: 503", "lastTimestamp": "2026-11-29T10:00:00Z", "involvedObject": {"fieldPath": "spec.containers{web}"}}]}`

const failsWith503 = `time=2026-11-29T10:00:00Z level=WARN msg="probe fails" probe=/app-health/web/readyz status=503 reason="app answered with status 503" app="no database"` + "\n"

func isMeshProxy(name, image string) bool {
	return name == "istio-proxy" || name == "linkerd-proxy" || name == "sidecar" && strings.Contains(image, "pipy")
}

func gather(t *testing.T, c Cluster, reference string) []string {
	t.Helper()
	e, err := Gather(context.Background(), c, "shop", reference, isMeshProxy)
	if err != nil {
		return []string{"error: " + err.Error()}
	}
	return e.Answer()
}

func TestThePodIsTheOneThatIsWorstOff(t *testing.T) {
	c := stub{
		"/apis/apps/v1/namespaces/shop/deployments/web": `{"spec": {"selector": {"matchLabels": {"app": "web", "a": "b"}}}}`,
		pods + "?labelSelector=a%3Db%2Capp%3Dweb":       "",
		pods:                         `{"items": [` + strings.ReplaceAll(aPod(`{"running": {}}`), `"ready": false`, `"ready": true`) + `,` + aPod(`{"running": {}}`) + `]}`,
		events:                       unready,
		web + "/log":                 failsWith503,
		web + ":15100/proxy/metrics": "",
	}
	delete(c, pods+"?labelSelector=a%3Db%2Capp%3Dweb")
	want := []string{
		"Pod shop/web-1: the readiness probe of web fails",
		"  why: The app answers 503: no database.",
		"  fix: Mend what the app names, or the path of the original probe.",
	}
	if d := cmp.Diff(want, gather(t, c, "deploy/web")); d != "" {
		t.Error(d)
	}
	c[pods] = `{"items": []}`
	for reference, want := range map[string]string{
		"deploy/web": "error: it has no pods now", "cm/web": "error: the kind must be pod, deploy, sts, ds, rs or job", "pod/other": "error: kubectl: forbidden",
	} {
		if got := gather(t, c, reference); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, want %q", reference, got, want)
		}
	}
}

func TestWhatMayNotBeReadIsSaid(t *testing.T) {
	want := []string{
		"Pod shop/web-1: nothing says why it is not healthy. Seen:",
		"  phase Running",
		"  container probe-proxy: running, ready true, restarts 0",
		"  container web: Completing, ready false, restarts 0",
		"note: not read: its events (forbidden)",
		"note: not read: the log of probe-proxy (forbidden)",
		"note: not read: the metrics of probe-proxy (forbidden)",
	}
	text := aPod(`{"waiting": {"reason": "Completing"}}`)
	again := strings.Replace(text, `"started": true`, `"started": true, "restartCount": 1`, 1)
	if got := gather(t, stub{web: again}, "web-1"); !slices.Contains(got, "note: not read: the log of probe-proxy before its restart (forbidden)") {
		t.Errorf("%q", got)
	}
	if d := cmp.Diff(want, gather(t, stub{web: text}, "web-1")); d != "" {
		t.Error(d)
	}
}

// rewritten is the evidence of a pod whose probe-proxy runs and whose app is not ready.
func rewritten(t *testing.T, change func(e *Evidence)) *Evidence {
	t.Helper()
	e, err := Gather(context.Background(), stub{web: aPod(`{"running": {}}`), events: unready, web + "/log": "", web + ":15100/proxy/metrics": ""}, "shop", "pod/web-1", isMeshProxy)
	if err != nil {
		t.Fatal(err)
	}
	change(e)
	return e
}

func says(text string) func(e *Evidence) {
	return func(e *Evidence) { e.Events[0].Message = "Readiness probe failed: " + text }
}

func logs(status int, reason, app string) func(e *Evidence) {
	return func(e *Evidence) {
		e.Log = fmt.Sprintf("time=2026-11-29T10:00:00Z level=WARN msg=\"probe fails\" probe=/app-health/web/readyz status=%d reason=%q", status, reason)
		if app != "" {
			e.Log += fmt.Sprintf(" app=%q", app)
		}
	}
}

func both(first, second func(e *Evidence)) func(e *Evidence) {
	return func(e *Evidence) {
		first(e)
		second(e)
	}
}

func inMesh(e *Evidence) {
	e.Pod.Spec.Containers = append(e.Pod.Spec.Containers, Container{Name: "istio-proxy"})
}

// asItIs has the pod without rewriting.
func asItIs(e *Evidence) {
	e.Pod.Spec.InitContainers, e.Pod.Status.InitContainerStatuses = nil, nil
	e.Pod.Spec.Containers[0].ReadinessProbe.HTTPGet.Path = "/ready"
}

func ended(code int, reason string) func(e *Evidence) {
	return func(e *Evidence) {
		e.Events = nil
		s := &e.Pod.Status.ContainerStatuses[0]
		s.RestartCount = 3
		s.LastState.Terminated = &struct {
			ExitCode        int
			Reason, Message string
		}{code, reason, ""}
	}
}

func waits(list func(e *Evidence) *Status, reason, message string) func(e *Evidence) {
	return func(e *Evidence) {
		s := list(e)
		s.State = State{Waiting: &struct{ Reason, Message string }{reason, message}}
		s.RestartCount = 2
	}
}

func theApp(e *Evidence) *Status   { return &e.Pod.Status.ContainerStatuses[0] }
func theProxy(e *Evidence) *Status { return &e.Pod.Status.InitContainerStatuses[0] }

// A cause names what to do for each row of the table in docs/operations.md.
func TestEachCause(t *testing.T) {
	const readiness = "the readiness probe of web fails"
	const deadline = "Get \"http://10.0.0.1:15100/app-health/web/readyz\": context deadline exceeded"
	logsOfWeb := "See `kubectl logs web-1 -n shop -c web --previous`"
	for _, c := range []struct {
		name   string
		change func(e *Evidence)
		want   []Cause
	}{
		{"the app answers without a word", logs(404, "app answered with status 404", ""),
			[]Cause{{readiness, "The app answers 404", "See the app's log, or correct the path of the original probe"}}},
		{"nothing listens", logs(502, "dial tcp 127.0.0.1:80: connect: connection refused", ""),
			[]Cause{{readiness, "Nothing listens where the probe asks: dial tcp 127.0.0.1:80: connect: connection refused", "Correct the port of the original probe, or add a startupProbe if the app still starts"}}},
		{"an event is missing", both(logs(502, "app speaks no HTTP", ""), func(e *Evidence) { e.Events = nil }),
			[]Cause{{readiness, "probe-proxy says: app speaks no HTTP", "Correct the app, or the original probe"}}},
		{"another failure", logs(502, "app speaks no HTTP", ""), []Cause{{readiness, "probe-proxy says: app speaks no HTTP", "Correct the app, or the original probe"}}},
		{"too slow", both(logs(504, "too late", ""), func(e *Evidence) {
			e.Metrics = `probe_proxy_probe_duration_seconds_bucket{probe="/app-health/web/readyz",le="1"} 1` + "\n" +
				`probe_proxy_probe_duration_seconds_bucket{probe="/app-health/web/readyz",le="5"} 9` + "\n"
		}), []Cause{{readiness, "The app is too slow: timeoutSeconds is 1, and half of its answers take up to 5 s", "Raise `timeoutSeconds`, or make the health check of the app faster"}}},
		{"the kubelet left in time", logs(0, "caller left after 1.002s, before the app answered", ""),
			[]Cause{{readiness, "The app is too slow: timeoutSeconds is 1", "Raise `timeoutSeconds`, or make the health check of the app faster"}}},
		{"no CPU", logs(0, "caller left after 510ms, before the app answered", ""),
			[]Cause{{readiness, "probe-proxy got no CPU in time: of 1 s it had 510ms", "Raise `probeProxy.resources`, or the CPU of the node"}}},
		{"too many calls", logs(429, "too many calls", ""), []Cause{{readiness, "Too many calls of this probe wait for the app", "Find out why the app hangs, or who else calls the port"}}},
		{"another render", says("HTTP probe failed with statuscode: 404"), []Cause{{readiness,
			"probe-proxy does not know /app-health/web/readyz: the probe and `ISTIO_KUBE_APP_PROBERS` are from different renders, or were edited", "Render again, with rewrite-probes as the last step"}}},
		{"a bad entry", says("HTTP probe failed with statuscode: 500"),
			[]Cause{{readiness, "Its entry of `ISTIO_KUBE_APP_PROBERS` cannot be used", "Render again. The log of probe-proxy has the error at its start"}}},
		{"the mesh captures the port", both(says(deadline), inMesh), []Cause{{readiness,
			"istio-proxy captures port 15100: no request reaches probe-proxy, whose log does not have the probe (" + deadline + ")",
			"Exclude port 15100 from the mesh's inbound capture. rewrite-probes writes the annotation for it"}}},
		{"a NetworkPolicy", says(deadline), []Cause{{readiness, "No request reaches probe-proxy on port 15100: " + deadline, "Look for a NetworkPolicy that keeps the node out"}}},
		{"the log may not be read", both(says(deadline), func(e *Evidence) { e.Unseen = []string{"the log of probe-proxy (forbidden)"} }),
			[]Cause{{readiness, "The kubelet says: " + deadline, "Let this command read the log of probe-proxy, which has the cause"}}},
		{"words that nobody knows", says("strange"), []Cause{{readiness, "The kubelet says: strange", "See the log of probe-proxy"}}},
		{"Istio's agent answers", both(says("HTTP probe failed with statuscode: 500"), both(inMesh, func(e *Evidence) { e.Pod.Spec.InitContainers = nil })), []Cause{{readiness,
			"The mesh's agent answers it, and says: HTTP probe failed with statuscode: 500", "See the log of istio-proxy. With `answeredBy: probe-proxy` the log names the cause"}}},
		{"as it is, in a mesh", both(says("Get \"http://10.0.0.1:8080/ready\": EOF"), both(asItIs, inMesh)), []Cause{{readiness,
			"istio-proxy captures the probe, and the kubelet has no client certificate: Get \"http://10.0.0.1:8080/ready\": EOF", "Run rewrite-probes on the manifests. `rewrite-probes check` names what else fails"}}},
		{"a policy", both(says("HTTP probe failed with statuscode: 403"), both(asItIs, inMesh)),
			[]Cause{{readiness, "A policy of the mesh refuses the kubelet (403)", "Run rewrite-probes on the manifests, or let the request in by a policy"}}},
		{"as it is, nothing listens", both(says("dial tcp 10.0.0.1:80: connect: connection refused"), asItIs),
			[]Cause{{readiness, "Nothing listens where the probe asks: dial tcp 10.0.0.1:80: connect: connection refused", "Correct the port, or add a startupProbe if the app still starts"}}},
		{"as it is, too slow", both(says(deadline), asItIs), []Cause{{readiness, "The app is too slow: timeoutSeconds is 1", "Raise `timeoutSeconds`, or make the health check of the app faster"}}},
		{"as it is, the app fails", both(says("HTTP probe failed with statuscode: 503"), asItIs), []Cause{{readiness, "The app answers 503", "See the app's log, or correct the path of the probe"}}},
		{"as it is, strange", both(says("strange"), asItIs), []Cause{{readiness, "The kubelet says: strange", "See the app's log"}}},
		{"a hook", func(e *Evidence) {
			e.Events[0].Reason, e.Events[0].Message = "FailedPostStartHook", "refused"
			e.Pod.Spec.Containers[0].Lifecycle.PostStart = e.Pod.Spec.Containers[0].ReadinessProbe
		}, []Cause{{"the postStart hook of web fails", "No request reaches probe-proxy on port 15100: refused", "Look for a NetworkPolicy that keeps the node out"}}},
		{"the other hook", func(e *Evidence) {
			e.Events[0].Reason, e.Events[0].Message = "FailedPreStopHook", "statuscode: 404"
			e.Pod.Spec.Containers[0].Lifecycle.PreStop = &Probe{}
		}, []Cause{{"the preStop hook of web fails", "The app answers 404", "See the app's log, or correct the path of the probe"}}},
		{"no memory", ended(137, "OOMKilled"), []Cause{{"no probe ended container web", "It used more memory than its limit (OOMKilled)", "Raise its memory limit, or find the leak"}}},
		{"an exit", ended(3, "Error"), []Cause{{"no probe ended container web", "Its process ended by itself with exit code 3", logsOfWeb}}},
		{"an exit that a probe caused", both(ended(137, "Error"), func(e *Evidence) {
			e.Events = []Event{{Reason: "Killing", Message: "Container web failed liveness probe, will be restarted"}}
			e.Events[0].InvolvedObject.FieldPath = "spec.containers{web}"
		}), nil},
		{"no node", func(e *Evidence) {
			e.Pod.Status.Conditions = []Condition{{"PodScheduled", "False", "Unschedulable", "0/1 nodes are available"}}
		}, []Cause{{"the pod has no node yet, so no probe is made", "0/1 nodes are available", "Give the cluster room, or change what the pod asks for"}}},
		{"no image", waits(theApp, "ErrImagePull", "not found"), []Cause{{"container web does not start: ErrImagePull", "not found", "Correct the image, or what the message names"}}},
		{"no image of probe-proxy", waits(theProxy, "ImagePullBackOff", "not found"),
			[]Cause{{"container probe-proxy does not start: ImagePullBackOff", "not found", "Set `probeProxy.image` to an image that the node can pull"}}},
		{"no injector", both(waits(theApp, "InvalidImageName", "auto"), func(e *Evidence) { e.Pod.Spec.Containers[0].Image = "auto" }),
			[]Cause{{"container web does not start: InvalidImageName", "auto", "Turn on the mesh's injection, which completes this container, or set `answeredBy: probe-proxy`"}}},
		{"the port is taken", both(waits(theProxy, "CrashLoopBackOff", ""), func(e *Evidence) { e.Previous = "probe-proxy: port 15099 is taken\n" }), []Cause{{
			"probe-proxy is not up, so it answers no probe", "Its log has: probe-proxy: port 15099 is taken", "Set another `port` in the functionConfig, and render again"}}},
		{"a bad GOMEMLIMIT", both(waits(theProxy, "CrashLoopBackOff", ""), func(e *Evidence) { e.Log = "malformed GOMEMLIMIT; see `go doc runtime/debug.SetMemoryLimit`" }), []Cause{{
			"probe-proxy is not up, so it answers no probe", "Its log has: malformed GOMEMLIMIT; see `go doc runtime/debug.SetMemoryLimit`", "Correct the env var `GOMEMLIMIT`, or leave probe-proxy out of what adds it"}}},
		{"a damaged env var", both(waits(theProxy, "CrashLoopBackOff", ""), func(e *Evidence) { e.Log = "must be a JSON object" }), []Cause{{
			"probe-proxy is not up, so it answers no probe", "Its log has: must be a JSON object", "Render again: the env var `ISTIO_KUBE_APP_PROBERS` is damaged"}}},
		{"no POD_IP", both(waits(theProxy, "CrashLoopBackOff", ""), func(e *Evidence) { e.Log = "must be the pod's IP" }), []Cause{{
			"probe-proxy is not up, so it answers no probe", "Its log has: must be the pod's IP", "Render again: the env var `POD_IP` is gone"}}},
		{"probe-proxy says something else", both(waits(theProxy, "CrashLoopBackOff", ""), func(e *Evidence) { e.Log = "first\nlast\n" }), []Cause{{
			"probe-proxy is not up, so it answers no probe", "Its log ends with: last", "See `kubectl logs web-1 -n shop -c probe-proxy --previous`"}}},
		{"probe-proxy says nothing", waits(theProxy, "PostStartHookError", ""), []Cause{{
			"probe-proxy is not up, so it answers no probe", "Its log is empty (PostStartHookError)", "See `kubectl logs web-1 -n shop -c probe-proxy --previous`"}}},
		{"its turn has not come", both(waits(theProxy, "PodInitializing", ""), func(e *Evidence) { e.Events = nil }), nil},
		{"it is ready again", func(e *Evidence) { theApp(e).Ready = true }, nil},
	} {
		if d := cmp.Diff(c.want, rewritten(t, c.change).Causes()); d != "" {
			t.Errorf("%s: -want +got\n%s", c.name, d)
		}
	}
}

func TestAHealthyPodIsSaidToBe(t *testing.T) {
	e := rewritten(t, func(e *Evidence) { theApp(e).Ready = true })
	if want := []string{"Pod shop/web-1: all containers are ready, and no probe fails"}; !slices.Equal(e.Answer(), want) {
		t.Errorf("%q", e.Answer())
	}
}

func TestAProbeThatSucceedsAgainFailsNoMore(t *testing.T) {
	if l := failing(failsWith503+`time=x level=INFO msg="probe succeeds" probe=/app-health/web/readyz status=200`, "/app-health/web/readyz"); l != nil {
		t.Errorf("%v", l)
	}
}
