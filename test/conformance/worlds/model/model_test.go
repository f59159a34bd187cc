package model_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/test/conformance/worlds/model"
)

// The parts of pods. An injected pod has istio-init and istio-proxy.
const (
	http   = `{name: app, image: app, readinessProbe: {httpGet: {path: /a, port: 8080}}}`
	https  = `{name: app, image: app, readinessProbe: {httpGet: {path: /a, port: 8080, scheme: HTTPS}}}`
	tcp    = `{name: app, image: app, readinessProbe: {tcpSocket: {port: 8080}}}`
	grpc   = `{name: app, image: app, readinessProbe: {grpc: {port: 8080}}}`
	moved  = `{name: app, image: app, readinessProbe: {httpGet: {path: /app-health/app/readyz, port: 15020}}}`
	begin  = `{name: app, image: app, lifecycle: {postStart: {httpGet: {path: /a, port: 8080}}}}`
	gate   = `{name: db, image: db, restartPolicy: Always, startupProbe: {httpGet: {path: /a, port: 8080}}}`
	gated  = `{name: db, image: db, restartPolicy: Always, startupProbe: {httpGet: {path: /app-health/db/startupz, port: 15020}}}`
	late   = `{name: db, image: db, restartPolicy: Always, readinessProbe: {httpGet: {path: /app-health/db/readyz, port: 15020}}}`
	alive  = `{name: db, image: db, restartPolicy: Always, livenessProbe: {httpGet: {path: /app-health/db/livez, port: 15020}}}`
	stop   = `{name: db, image: db, restartPolicy: Always, lifecycle: {preStop: {httpGet: {path: /app-lifecycle/db/prestopz, port: 15020}}}}`
	rules  = `{name: istio-init, args: [istio-iptables, -m, REDIRECT, -b, "*", -d, "15090,15021,15020"]}`
	listed = `{name: istio-init, args: [istio-iptables, -m, REDIRECT, -b, "8080, 15020", -d, "15090,15021,15020"]}`
	proxy  = `{name: istio-proxy, image: proxyv2}`
	waits  = `{name: istio-proxy, image: proxyv2, lifecycle: {postStart: {exec: {command: [pilot-agent, wait]}}}}`
	hooked = `{name: istio-proxy, image: proxyv2, lifecycle: {postStart: {exec: {command: ["true"]}}}}`
	native = `{name: istio-proxy, image: proxyv2, restartPolicy: Always}`
	entry  = `{name: ISTIO_KUBE_APP_PROBERS, value: '{"/app-health/app/readyz":{"httpGet":{"path":"/a","port":8080,"scheme":"HTTP"}},"/app-health/db/startupz":{"httpGet":{"path":"/a","port":8080,"scheme":"HTTP"}},"/app-health/db/readyz":{"httpGet":{"path":"/a","port":8080}},"/app-health/db/livez":{"httpGet":{"path":"/a","port":8080}},"/app-lifecycle/db/prestopz":{"httpGet":{"path":"/a","port":8080}}}'}`
	other  = `{name: ISTIO_KUBE_APP_PROBERS, value: '{"/app-health/app/readyz":{"httpGet":{"path":"/b","port":8080}}}'}`
	timed  = `{name: ISTIO_KUBE_APP_PROBERS, value: '{"/app-health/app/readyz":{"grpc":{"port":8080,"service":""},"timeoutSeconds":1}}'}`
	dials  = `{name: app, image: app, readinessProbe: {tcpSocket: {host: 127.0.0.1, port: 8080}}}`
	dialed = `{name: ISTIO_KUBE_APP_PROBERS, value: '{"/app-health/app/readyz":{"tcpSocket":{"port":8080}}}'}`
	never  = `{name: ISTIO_KUBE_APP_PROBERS, value: '{"/app-health/app/readyz":{"grpc":{"port":8080,"service":""}}}'}`
)

func with(container, env string) string {
	return container[:len(container)-1] + `, env: [` + env + `]}`
}

// A probe-proxy, and who asks it on its own port.
const (
	ours     = `{name: probe-proxy, image: ours, restartPolicy: Always, startupProbe: {httpGet: {path: /healthz, port: 15099}}, env: [` + entry + `]}`
	without  = `{name: probe-proxy, image: ours, restartPolicy: Always, env: [`
	flagged  = `{name: probe-proxy, image: ours, restartPolicy: Always, args: ["--port=15020"], env: [` + entry + `]}`
	stolen   = `{name: probe-proxy, image: ours, restartPolicy: Always, startupProbe: {httpGet: {path: /app-health/probe-proxy/startupz, port: 15020}}, env: [` + entry + `]}`
	movedTo  = `{name: app, image: app, readinessProbe: {httpGet: {path: /app-health/app/readyz, port: 15099}}}`
	excluded = `{name: istio-init, args: [istio-iptables, -m, REDIRECT, -b, "*", -d, "15090,15021,15020,15099"]}`
)

const down = model.Fate(-1)

func TestTheRulesOfTheModel(t *testing.T) {
	app := model.Site{Container: "app", Type: "readyz"}
	start, db := model.Site{Container: "app", Type: "poststartz"}, model.Site{Container: "db", Type: "startupz"}
	for _, test := range []struct {
		name             string
		inits, all, mesh string // containers, and the pod's annotations
		mode             string
		http, uncaptured bool
		at               model.Site
		authored         string // the container as its author wrote it, if it was rewritten
		want             model.Fate
	}{
		{"without a mesh the app answers", ``, http, ``, "STRICT", false, false, app, "", model.Answered},
		{"under STRICT the kubelet is refused", rules, http + "," + proxy, ``, "STRICT", false, false, app, "", model.Fails},
		{"under PERMISSIVE it is not", rules, http + "," + proxy, ``, "PERMISSIVE", false, false, app, "", model.Answered},
		{"nor with DISABLE", rules, grpc + "," + proxy, ``, "DISABLE", false, false, app, "", model.Answered},
		{"grpc under STRICT", rules, grpc + "," + proxy, ``, "STRICT", false, false, app, "", model.Fails},
		{"plain HTTP, denied", rules, http + "," + proxy, ``, "PERMISSIVE", false, false, app, "", model.Fails},
		{"TLS, denied", rules, https + "," + proxy, ``, "DISABLE", false, false, app, "", model.Fails},
		{"Envoy accepts what is then denied", rules, tcp + "," + proxy, ``, "DISABLE", false, false, app, "", model.FalselyPasses},
		{"TLS passes through", rules, https + "," + proxy, ``, "PERMISSIVE", false, false, app, "", model.Answered},
		{"but not on a port that is HTTP", rules, https + "," + proxy, ``, "PERMISSIVE", true, false, app, "", model.Fails},
		{"grpc on a port that is HTTP/1", rules, grpc + "," + proxy, ``, "PERMISSIVE", true, false, app, "", model.Fails},
		{"nor under STRICT", rules, https + "," + proxy, ``, "STRICT", false, false, app, "", model.Fails},
		{"Envoy accepts every connection", rules, tcp + "," + proxy, ``, "DISABLE", false, false, app, "", model.FalselyPasses},
		{"without istio-init nothing is captured", ``, tcp + "," + proxy, ``, "STRICT", false, false, app, "", model.Answered},
		{"an interface that is not captured", rules, tcp + "," + proxy, ``, "STRICT", false, true, app, "", model.Answered},
		{"an excluded port is not captured", `{name: istio-init, args: [-b, "*", -d, "8080"]}`, http + "," + proxy, ``, "STRICT", false, false, app, "", model.Answered},
		{"a list has nothing else", `{name: istio-init, args: [-b, "9090", -d, ""]}`, http + "," + proxy, ``, "STRICT", false, false, app, "", model.Answered},
		{"a list ignores exclusions", listed, moved + "," + with(proxy, entry), ``, "STRICT", false, false, app, http, model.Fails},

		{"istio-proxy has the entry", rules, moved + "," + with(proxy, entry), ``, "STRICT", false, false, app, http, model.Answered},
		{"istio-proxy has another entry", rules, moved + "," + with(proxy, other), ``, "STRICT", false, false, app, http, model.Fails},
		{"the last env var counts", rules, moved + "," + with(proxy, entry+","+other), ``, "STRICT", false, false, app, http, model.Fails},
		{"istio-proxy has none", rules, moved + "," + proxy, ``, "STRICT", false, false, app, http, model.Fails},
		{"Istio's agent needs a timeout for grpc", rules, moved + "," + with(proxy, never), ``, "STRICT", false, false, app, grpc, model.Fails},
		{"Istio's agent has a timeout for grpc", rules, moved + "," + with(proxy, timed), ``, "STRICT", false, false, app, grpc, model.Answered},
		{"Istio's agent drops the host of a tcpSocket", rules, moved + "," + with(proxy, dialed), ``, "STRICT", false, false, app, dials, model.Answered},
		{"probe-proxy does not", without + dialed + `]}`, movedTo, ``, "STRICT", false, false, app, dials, model.Fails},
		{"nobody is on the port", ``, moved, ``, "STRICT", false, false, app, http, model.Fails},
		{"the annotation moves the agent", rules, moved + "," + with(proxy, entry), `status.sidecar.istio.io/port: "15030"`, "STRICT", false, false, app, http, model.Fails},
		{"the proxy config moves the agent", rules, moved + "," + with(proxy, entry), `proxy.istio.io/config: "statusPort: 15030"`, "STRICT", false, false, app, http, model.Fails},
		{"the annotation wins", rules, moved + "," + with(proxy, entry), `status.sidecar.istio.io/port: "15020", proxy.istio.io/config: "statusPort: 15030"`, "STRICT", false, false, app, http, model.Answered},
		{"the mesh moves the agent", rules, moved + "," + with(proxy, entry+`, {name: PROXY_CONFIG, value: '{"statusPort": 15030}'}`), ``, "STRICT", false, false, app, http, model.Fails},

		{"probe-proxy without a mesh", ours, movedTo, ``, "STRICT", false, false, app, http, model.Answered},
		{"probe-proxy beside Istio", excluded + "," + ours, movedTo + "," + proxy, ``, "STRICT", false, false, app, http, model.Answered},
		{"probe-proxy captured", rules + "," + native + "," + ours, movedTo, ``, "STRICT", false, false, app, http, down},
		{"a startupProbe that the agent would have to answer first", stolen + "," + rules, movedTo + "," + with(proxy, entry), ``, "STRICT", false, false, app, http, down},
		{"two on one port", flagged + "," + rules, moved + "," + proxy, ``, "STRICT", false, false, app, http, down},
		{"the app on the agent's port", rules, `{name: app, image: app, ports: [{containerPort: 15020}]},` + proxy, ``, "STRICT", false, false, app, "", down},
		{"UDP does not matter", rules, `{name: app, image: app, ports: [{containerPort: 15020, protocol: UDP}], readinessProbe: {exec: {}}},` + proxy, ``, "STRICT", false, false, app, "", model.Answered},
		{"nobody has replaced the image", ``, `{name: istio-proxy, image: auto},` + http, ``, "STRICT", false, false, app, "", down},
		{"two of one name", native + "," + rules, http + "," + proxy, ``, "STRICT", false, false, app, "", down},

		{"a native sidecar before istio-init is not captured when it starts", gate + "," + rules, http + "," + proxy, ``, "STRICT", false, false, db, "", model.Answered},
		{"it is captured by Istio's CNI", gate + "," + rules, http + "," + proxy, ``, "PERMISSIVE", false, false, db, "", down},
		{"a native sidecar after istio-proxy is", rules + "," + native + "," + gate, http, ``, "STRICT", false, false, app, "", down},
		{"a gate that the agent answers later", gated + "," + rules, http + "," + with(proxy, entry), ``, "PERMISSIVE", false, false, app, gate, down},
		{"a gate that the agent answers before", rules + "," + with(native, entry) + "," + gated, http, ``, "PERMISSIVE", false, false, db, gate, model.Answered},
		{"readiness does not count until all have started", late + "," + rules, http + "," + with(proxy, entry), ``, "PERMISSIVE", false, false, model.Site{Container: "db", Type: "readyz"}, `{name: db, restartPolicy: Always, readinessProbe: {httpGet: {path: /a, port: 8080}}}`, model.Answered},
		{"liveness does", alive + "," + rules, http + "," + with(proxy, entry), ``, "PERMISSIVE", false, false, model.Site{Container: "db", Type: "livez"}, `{name: db, restartPolicy: Always, livenessProbe: {httpGet: {path: /a, port: 8080}}}`, model.Fails},
		{"all run when the pod stops", stop + "," + rules, http + "," + with(proxy, entry), ``, "PERMISSIVE", false, false, model.Site{Container: "db", Type: "prestopz"}, `{name: db, restartPolicy: Always, lifecycle: {preStop: {httpGet: {path: /a, port: 8080}}}}`, model.Answered},

		{"a postStart hook before istio-proxy", rules, begin + "," + proxy, ``, "PERMISSIVE", false, false, start, "", model.Fails},
		{"a postStart hook after an istio-proxy that nobody waits for", rules, proxy + "," + begin, ``, "PERMISSIVE", false, false, start, "", model.Fails},
		{"a postStart hook after an istio-proxy whose own hook does not wait", rules, hooked + "," + begin, ``, "PERMISSIVE", false, false, start, "", model.Fails},
		{"a postStart hook after an istio-proxy that is waited for", rules, waits + "," + begin, ``, "PERMISSIVE", false, false, start, "", model.Answered},
		{"a postStart hook after a native one", rules + "," + native, begin, ``, "PERMISSIVE", false, false, start, "", model.Answered},
		{"the kubelet has no such hook", ``, `{name: app, image: app, lifecycle: {postStart: {tcpSocket: {port: 8080}}}}`, ``, "STRICT", false, false, start, "", model.Fails},

		{"exec needs no network", rules, `{name: app, image: app, readinessProbe: {exec: {command: ["true"]}}},` + proxy, ``, "STRICT", false, false, app, "", model.Answered},
		{"a host is elsewhere", rules, `{name: app, image: app, readinessProbe: {httpGet: {host: 127.0.0.1, port: 8080}}},` + proxy, ``, "STRICT", false, false, app, "", model.Answered},
		{"a host is not rewritten", rules, `{name: app, image: app, readinessProbe: {httpGet: {host: 127.0.0.1, path: /app-health/app/readyz, port: 15020}}},` + with(proxy, entry), ``, "STRICT", false, false, app, http, model.Fails},
		{"a port of that name", ``, `{name: app, image: app, ports: [{name: web, containerPort: 80}], readinessProbe: {httpGet: {port: web}}}`, ``, "STRICT", false, false, app, "", model.Answered},
		{"no port of that name", ``, `{name: app, image: app, readinessProbe: {httpGet: {port: web}}}`, ``, "STRICT", false, false, app, "", model.Fails},
	} {
		t.Run(test.name, func(t *testing.T) {
			pod := decode(t, test.inits, test.all, test.mesh)
			asked := model.Sites(pod)
			if test.authored != "" {
				for at, h := range model.Sites(decode(t, "", test.authored, "")) {
					asked[at] = h
				}
				for at, h := range model.Sites(decode(t, test.authored, "", "")) {
					asked[at] = h
				}
			}
			protocol := func(int) string {
				if test.http {
					return "http"
				}
				return ""
			}
			denied := func(int, corev1.ProbeHandler, bool) bool { return strings.HasSuffix(test.name, "denied") }
			w := model.World{MTLS: func(int) string { return test.mode }, Protocol: protocol, Denied: denied, Early: strings.HasSuffix(test.name, "CNI"), Uncaptured: test.uncaptured}
			l := model.Judge(pod, asked, w)
			switch {
			case test.want == down && l.Down == "":
				t.Errorf("the pod starts: %v", l)
			case test.want != down && (l.Down != "" || l.Fates[test.at] != test.want || l.Why[test.at] == ""):
				t.Errorf("%v %s %s, since %s; must be %s", test.at, l.Down, l.Fates[test.at], l.Why[test.at], test.want)
			}
		})
	}
}

func decode(t *testing.T, inits, containers, annotations string) *corev1.Pod {
	t.Helper()
	pod := new(corev1.Pod)
	text := "metadata: {annotations: {" + annotations + "}}\nspec: {initContainers: [" + inits + "], containers: [" + containers + "]}"
	if err := yaml.UnmarshalStrict([]byte(text), pod); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return pod
}
