package kubelet

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	kyaml "sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/test/conformance/worlds/model"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/node"
)

// The containers of the pods below. The model judges them as they are; the
// kubelet gets them with the mesh stand-in behind Istio's names.
const (
	rules     = `{name: istio-init, args: [-b, "*", -d, "15020,15099"]},`
	capturing = `{name: istio-init, args: [-b, "*", -d, "15020"]},` // probe-proxy's port too
	excluding = `{name: istio-init, args: [-b, "*", -d, "15020,8080,8081"]},`
	native    = `{name: istio-proxy, restartPolicy: Always},`
	envoy     = `{name: istio-proxy},`
	db        = `{name: db, restartPolicy: Always, args: ["-http=:8082"], startupProbe: {httpGet: {path: /healthz, port: 8082, scheme: HTTP}, periodSeconds: 1, failureThreshold: 100}},`
	dbMoved   = `{name: db, restartPolicy: Always, args: ["-http=:8082"], startupProbe: {httpGet: {path: /app-health/db/startupz, port: 15099}, periodSeconds: 1, failureThreshold: 100}},`
	idle      = `{name: app},`
	agent     = `{name: agent, restartPolicy: Always, args: ["-http=:8083"], startupProbe: {exec: {command: [/app, -get, "http://127.0.0.1:8083/healthz"]}, periodSeconds: 1, failureThreshold: 100}},` // what the hooks ask listens before them
	hook      = `{name: app, lifecycle: {postStart: {httpGet: {path: /hook/post-start, port: 8083, scheme: HTTP}}}},`
	pause     = `{name: pause, args: ["-http=:8084"], lifecycle: {postStart: {sleep: {seconds: 3}}}},` // a busy machine may take as long to start probe-proxy, for which nobody waits
	hookMoved = `{name: app, lifecycle: {postStart: {httpGet: {path: /app-lifecycle/app/poststartz, port: 15099}}}},`
)

// twins are two apps of each kind: what they are told, and what they want to be
// asked. The second is broken. Only an answer of their own tells them apart.
var twins = map[string][2]struct{ args, asked string }{
	"http":  {{`"-http=:8080"`, `"httpGet":{"path":"/healthz","port":8080,"scheme":"HTTP"}`}, {`"-http=:8081", -fail`, `"httpGet":{"path":"/healthz","port":8081,"scheme":"HTTP"}`}},
	"https": {{`"-https=:8443"`, `"httpGet":{"path":"/healthz","port":8443,"scheme":"HTTPS"}`}, {`"-http=:8081", "-https=:8444", -fail`, `"httpGet":{"path":"/healthz","port":8444,"scheme":"HTTPS"}`}},
	"grpc":  {{`"-grpc=:9090"`, `"grpc":{"port":9090,"service":"ready"}`}, {`"-http=:8081", "-grpc=:9091", -fail`, `"grpc":{"port":9091,"service":"ready"}`}},
	"tcp":   {{`"-tcp=:7070"`, `"tcpSocket":{"port":7070}`}, {`"-http=:8081"`, `"tcpSocket":{"port":7071}`}},
}

// apps returns the twins, as their author wrote them or, with a port, rewritten.
func apps(kind string, port int) string {
	var b strings.Builder
	for i, name := range []string{"app", "broken"} {
		probe := twins[kind][i].asked
		if port != 0 {
			probe = fmt.Sprintf("httpGet: {path: /app-health/%s/readyz, port: %d}", name, port)
		}
		fmt.Fprintf(&b, "{name: %s, args: [%s], readinessProbe: {%s, periodSeconds: 1}},", name, twins[kind][i].args, probe)
	}
	return b.String()
}

// probeProxy returns the sidecar with the originals of the twins and of every
// other rewritten probe; more has further fields of its container.
func probeProxy(kind, more string) string {
	entries := fmt.Sprintf(`{"/app-health/app/readyz":{%s},"/app-health/broken/readyz":{%s},`, twins[kind][0].asked, twins[kind][1].asked) +
		`"/app-health/db/startupz":{"httpGet":{"path":"/healthz","port":8082,"scheme":"HTTP"}},` +
		`"/app-lifecycle/app/poststartz":{"httpGet":{"path":"/hook/post-start","port":8083,"scheme":"HTTP"}}}`
	return `{name: probe-proxy, ` + more + `env: [{name: ISTIO_KUBE_APP_PROBERS, value: '` + entries + `'}, {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]},`
}

const (
	sidecar = `restartPolicy: Always, `
	gated   = sidecar + `lifecycle: {postStart: {exec: {command: [/probe-proxy, wait, --port=15099]}}}, `
	asked   = sidecar + `startupProbe: {httpGet: {path: /healthz, port: 15099, scheme: HTTP}, periodSeconds: 1, failureThreshold: 100}, ` // as earlier versions had it
)

// worlds are pods that stand for the model's rules.
var worlds = []struct {
	name, mtls        string
	inits, containers string
}{
	{"no mesh", "STRICT", "", apps("http", 0)},
	{"no mesh, tcpSocket", "STRICT", "", apps("tcp", 0)},
	{"STRICT, httpGet", "STRICT", rules + native, apps("http", 0)},
	{"STRICT, https", "STRICT", rules + native, apps("https", 0)},
	{"STRICT, grpc", "STRICT", rules + native, apps("grpc", 0)},
	{"STRICT, tcpSocket", "STRICT", rules + native, apps("tcp", 0)},
	{"PERMISSIVE, httpGet", "PERMISSIVE", rules + native, apps("http", 0)},
	{"PERMISSIVE, https", "PERMISSIVE", rules + native, apps("https", 0)},
	{"PERMISSIVE, grpc", "PERMISSIVE", rules, envoy + apps("grpc", 0)},
	{"PERMISSIVE, tcpSocket", "PERMISSIVE", rules + native, apps("tcp", 0)},
	{"STRICT, ports excluded", "STRICT", excluding, envoy + apps("http", 0)},
	{"interceptionMode NONE", "STRICT", native, apps("tcp", 0)},

	{"rewritten, injected", "STRICT", rules + native + probeProxy("http", gated), apps("http", 15099)},
	{"rewritten, injected, tcpSocket", "STRICT", rules + native + probeProxy("tcp", gated), apps("tcp", 15099)},
	{"rewritten, injected, grpc", "STRICT", probeProxy("grpc", gated) + rules, apps("grpc", 15099) + envoy},
	{"rewritten, not injected", "STRICT", probeProxy("http", gated), apps("http", 15099)},
	{"rewritten, probe-proxy on another port", "STRICT", rules + native + probeProxy("http", sidecar+`args: ["--port=15100"], `), apps("http", 15099)},
	{"rewritten, own port captured", "STRICT", capturing + native + probeProxy("http", sidecar), apps("http", 15099)},
	{"rewritten, own port captured, with startupProbe", "STRICT", capturing + native + probeProxy("http", asked), apps("http", 15099)},
	{"rewritten, own port captured, with the hook", "STRICT", capturing + native + probeProxy("http", gated), apps("http", 15099)},
	{"rewritten, own port the app's too", "STRICT", rules + native + probeProxy("http", sidecar+`args: ["--port=8080"], `), apps("http", 8080)},

	{"startupProbe before istio-init", "STRICT", db + rules, idle + envoy},
	{"startupProbe after istio-proxy", "STRICT", rules + native + db, idle},
	{"rewritten startupProbe before probe-proxy", "STRICT", rules + native + dbMoved + probeProxy("http", gated), idle},
	{"rewritten startupProbe after probe-proxy", "STRICT", rules + native + probeProxy("http", gated) + dbMoved, idle},

	{"postStart before istio-proxy", "PERMISSIVE", rules + agent, hook + envoy},
	{"postStart after istio-proxy", "PERMISSIVE", rules + native + agent, hook},
	{"postStart after istio-proxy, STRICT", "STRICT", rules + native + agent, hook},
	{"rewritten postStart before probe-proxy", "STRICT", rules + native + agent, hookMoved + probeProxy("http", "")},
	{"rewritten postStart after probe-proxy", "STRICT", rules + native + agent, probeProxy("http", "") + pause + hookMoved},
	{"rewritten postStart after a native probe-proxy", "STRICT", rules + native + agent + probeProxy("http", gated), hookMoved},
}

// How a pod fares. With readiness probes a model.Fate follows comesUp.
const (
	staysDown = "does not come up"
	hookError = "PostStartHookError"
	comesUp   = "comes up"
)

func TestTheModelOfTheWorldsIsRight(t *testing.T) {
	t.Parallel()
	for i, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			text := "metadata: {namespace: default}\nspec: {initContainers: [" + w.inits + "], containers: [" + w.containers + "]}"
			pod := new(corev1.Pod)
			if err := kyaml.UnmarshalStrict([]byte(text), pod); err != nil {
				t.Fatal(err)
			}
			said, why := foretold(t, pod, w.mtls)
			name := fmt.Sprintf("world-%d", i)
			if err := theNode.Run(name, runnable(t, name, text, w.mtls)); err != nil {
				t.Fatal(err)
			}
			s, err := theNode.WaitFor(name, 90*time.Second, func(s node.State) bool { return fares(name, pod, s) == said })
			if err == nil {
				time.Sleep(8 * time.Second) // eight periods
				s = theNode.State(name)
			}
			saw := fares(name, pod, s)
			if saw != said {
				t.Errorf("the model: %s, since %s; the kubelet: %s: %s", said, why, saw, s)
			}
			if w.mtls == "PERMISSIVE" && strings.HasPrefix(said, comesUp) {
				if err := throughMesh(name, "/healthz"); err != nil {
					t.Errorf("with a certificate the app must answer, too: %v", err)
				}
			}
			t.Logf("%s: %s%s", saw, s, firstFailure(name))
			note(t, said, saw+firstFailure(name))
			if err := theNode.Remove(name, 60*time.Second); err != nil {
				t.Error(err)
			}
		})
	}
}

// foretold returns how the pod fares by the model, and why.
func foretold(t *testing.T, pod *corev1.Pod, mtls string) (said, why string) {
	t.Helper()
	l := model.Judge(pod, authored(t, pod), model.World{
		MTLS:     func(int) string { return mtls },
		Protocol: func(int) string { return "" },
		Denied:   func(int, corev1.ProbeHandler, bool) bool { return false },
	})
	app, start := model.Site{Container: "app", Type: "readyz"}, model.Site{Container: "app", Type: "poststartz"}
	if broken := (model.Site{Container: "broken", Type: "readyz"}); l.Fates[app] != l.Fates[broken] {
		t.Fatalf("the twins must share their fate: %v", l)
	}
	switch {
	case l.Down != "":
		return staysDown, l.Down
	case l.Fates[start] == model.Fails:
		return hookError, l.Why[start]
	case l.Why[app] != "":
		return comesUp + ", " + l.Fates[app].String(), l.Why[app]
	}
	return comesUp, "nothing is in its way"
}

// authored returns what the pod's authors want to be asked.
func authored(t *testing.T, pod *corev1.Pod) map[model.Site]corev1.ProbeHandler {
	t.Helper()
	originals := make(map[string]corev1.ProbeHandler)
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if c.Name == "probe-proxy" {
			if err := json.Unmarshal([]byte(c.Env[0].Value), &originals); err != nil {
				t.Fatal(err)
			}
		}
	}
	all := model.Sites(pod)
	for at, h := range all {
		if original, found := originals[path(h)]; found {
			all[at] = original
		}
	}
	return all
}

func path(h corev1.ProbeHandler) string {
	if h.HTTPGet == nil {
		return ""
	}
	return h.HTTPGet.Path
}

// runnable returns the pod with images, and the stand-in's for Istio's.
func runnable(t *testing.T, name, text, mtls string) map[string]any {
	t.Helper()
	var p map[string]any
	if err := yaml.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	p["apiVersion"], p["kind"] = "v1", "Pod"
	p["metadata"].(map[string]any)["name"] = name
	spec := p["spec"].(map[string]any)
	for _, list := range []string{"initContainers", "containers"} {
		for _, c := range spec[list].([]any) {
			fill(c.(map[string]any), mtls, list == "containers")
		}
	}
	withCertificates(spec)
	return p
}

// fill puts into a container what it needs to run.
func fill(c map[string]any, mtls string, ordinary bool) {
	name := c["name"]
	switch name {
	case "istio-init":
		redirect, _ := standIn(istio, c["args"].([]any)[3].(string))
		maps.Copy(c, redirect)
		delete(c, "args")
	case model.IstioProxy:
		_, proxy := standIn(istio, "")
		maps.Copy(c, proxy)
		if mtls == "PERMISSIVE" {
			c["env"] = append(c["env"].([]any), map[string]any{"name": mtls, "value": "1"})
		}
		if ordinary {
			delete(c, "restartPolicy")
		}
	case "probe-proxy":
		c["image"], c["imagePullPolicy"] = proxyImage, "Never"
	default:
		c["image"], c["imagePullPolicy"] = appImage, "Never"
	}
	c["name"] = name
}

// fares returns how the pod fares by the kubelet; "" if that is not known yet.
func fares(name string, pod *corev1.Pod, s node.State) string {
	up, probed := true, false
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		up = up && (strings.HasPrefix(c.Name, "istio-") || s.Containers[c.Name].Running)
		probed = probed || c.ReadinessProbe != nil
	}
	switch {
	case logged(name, hookError):
		return hookError
	case restarts(s) > 0, !up && logged(name, `"Probe failed"`):
		return staysDown
	case up && probed:
		return fates[[2]string{readiness(name, "app", s), readiness(name, "broken", s)}]
	case up && s.Ready:
		return comesUp
	}
	return ""
}

// fates are what the readiness probes of the twins give away.
var fates = map[[2]string]string{
	{"passes", "fails"}:  comesUp + ", " + model.Answered.String(),
	{"passes", "passes"}: comesUp + ", " + model.FalselyPasses.String(),
	{"fails", "fails"}:   comesUp + ", " + model.Fails.String(),
}

// readiness returns what the kubelet has said of a container's probe.
func readiness(pod, container string, s node.State) string {
	switch {
	case s.Containers[container].Ready:
		return "passes"
	case logged(pod, `"Probe failed"`, `containerName="`+container+`"`):
		return "fails"
	}
	return ""
}

// logged reports whether the kubelet's log has a line about the pod with all words.
func logged(pod string, words ...string) bool {
	for line := range strings.Lines(theNode.Log("kubelet")) {
		missing := func(word string) bool { return !strings.Contains(line, word) }
		if strings.Contains(line, pod+"-"+node.Name) && !slices.ContainsFunc(words, missing) {
			return true
		}
	}
	return false
}
