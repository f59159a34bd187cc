package transformer_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/nearby"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A sampler makes manifests with all that a plan looks at, and the options for them, from a
// seed. One test alone uses it: a change here changes most of what that compares.
type sampler struct {
	*rand.Rand
	tame int // how much rarer everything unusual is
}

func (g sampler) pick(of ...string) string { return of[g.IntN(len(of))] }

// some returns each of the texts with a probability of 1 in n.
func (g sampler) some(n int, of ...string) (chosen []string) {
	for _, s := range of {
		if g.IntN(n*g.tame) == 0 {
			chosen = append(chosen, s)
		}
	}
	return chosen
}

// rarely returns one of the texts with a probability of 1 in n, else nothing.
func (g sampler) rarely(n int, of ...string) string {
	if g.IntN(n*g.tame) > 0 {
		return ""
	}
	return g.pick(of...)
}

// block returns lines below a key; "" if there are none.
func block(key string, lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return key + "\n  " + strings.Join(lines, "\n  ") + "\n"
}

var (
	sampleMeshes = []string{"auto", "auto", "auto", "istio", "istio", "linkerd", "kuma", "consul", "osm", "fsm"}
	// sampleSwitches put a pod into a mesh, or take it out.
	sampleLabels = []string{
		`sidecar.istio.io/inject: "true"`, `sidecar.istio.io/inject: "false"`, "sidecar.istio.io/inject: maybe", "istio.io/rev: canary", "istio.io/dataplane-mode: ambient", "istio.io/dataplane-mode: none",
		"kuma.io/sidecar-injection: enabled", "kuma.io/sidecar-injection: \"true\"", "kuma.io/sidecar-injection: disabled", "kuma.io/sidecar-injection: maybe",
	}
	sampleSwitches = []string{
		`sidecar.istio.io/inject: "false"`, "linkerd.io/inject: enabled", "linkerd.io/inject: ingress", "linkerd.io/inject: disabled", "linkerd.io/inject: maybe",
		`consul.hashicorp.com/connect-inject: "true"`, `consul.hashicorp.com/connect-inject: "0"`, "consul.hashicorp.com/connect-inject: maybe",
		"openservicemesh.io/sidecar-injection: enabled", "openservicemesh.io/sidecar-injection: \"no\"", "flomesh.io/sidecar-injection: \"True\"", "flomesh.io/sidecar-injection: maybe",
	}
	sampleAnnotations = map[string][]string{
		"istio": {
			`sidecar.istio.io/rewriteAppHTTPProbers: "true"`, `sidecar.istio.io/rewriteAppHTTPProbers: "F"`, "sidecar.istio.io/rewriteAppHTTPProbers: maybe",
			`sidecar.istio.io/nativeSidecar: "true"`, `sidecar.istio.io/nativeSidecar: "false"`, "sidecar.istio.io/nativeSidecar: maybe",
			`status.sidecar.istio.io/port: "15031"`, `status.sidecar.istio.io/port: "15099"`, `status.sidecar.istio.io/port: "15021"`, `status.sidecar.istio.io/port: " 80"`, `status.sidecar.istio.io/port: "0"`,
			`traffic.sidecar.istio.io/includeInboundPorts: "*"`, `traffic.sidecar.istio.io/includeInboundPorts: "80, 8080,x"`, `traffic.sidecar.istio.io/includeInboundPorts: "15099,15020,80"`, `traffic.sidecar.istio.io/includeInboundPorts: ""`,
			`traffic.sidecar.istio.io/excludeInboundPorts: "80"`, `traffic.sidecar.istio.io/excludeInboundPorts: "9, 15099,"`, "traffic.sidecar.istio.io/excludeInterfaces: eth1",
			`proxy.istio.io/config: "holdApplicationUntilProxyStarts: true"`, `proxy.istio.io/config: '{"statusPort": 15099, "interceptionMode": "NONE"}'`, `proxy.istio.io/config: "# interceptionMode: NONE\nstatusPort: 15020"`, "proxy.istio.io/config: 'interceptionMode: TPROXY'",
			"sidecar.istio.io/interceptionMode: NONE", "sidecar.istio.io/interceptionMode: TPROXY", `sidecar.istio.io/capNetBindService: "true"`,
			"inject.istio.io/templates: gateway", "inject.istio.io/templates: sidecar, own", "inject.istio.io/templates: own",
		},
		"linkerd": {
			`config.linkerd.io/skip-inbound-ports: "80"`, "config.linkerd.io/skip-inbound-ports: 8000-8090,4567", "config.linkerd.io/skip-inbound-ports: 80-70", `config.linkerd.io/skip-inbound-ports: ""`,
			"config.linkerd.io/default-inbound-policy: all-unauthenticated", "config.linkerd.io/default-inbound-policy: audit", "config.linkerd.io/default-inbound-policy: deny",
			"config.linkerd.io/opaque-ports: 80,9000-9100", `config.linkerd.io/opaque-ports: ""`, `config.linkerd.io/proxy-require-identity-inbound-ports: "8080"`,
		},
		"kuma": {
			"kuma.io/gateway: enabled", `kuma.io/application-probe-proxy-port: "0"`, `kuma.io/application-probe-proxy-port: "9001"`, "kuma.io/application-probe-proxy-port: zero",
			`traffic.kuma.io/exclude-inbound-ports: "80"`, `traffic.kuma.io/exclude-inbound-ports: "80,x"`, `kuma.io/virtual-probes-port: "9000"`, "kuma.io/virtual-probes: enabled",
		},
		"consul": {
			`consul.hashicorp.com/transparent-proxy: "false"`, `consul.hashicorp.com/transparent-proxy: "true"`, `consul.hashicorp.com/transparent-proxy-overwrite-probes: "f"`, `consul.hashicorp.com/transparent-proxy-overwrite-probes: "true"`,
			`consul.hashicorp.com/transparent-proxy-exclude-uids: "65532, 7"`, `consul.hashicorp.com/transparent-proxy-exclude-inbound-ports: "8080"`, "consul.hashicorp.com/connect-inject-status: injected",
			`consul.hashicorp.com/original-pod: '{"spec": {"containers": [{"name": "app", "livenessProbe": {"httpGet": {"port": "web"}}, "readinessProbe": {"httpGet": {"port": 80}}}]}}'`,
		},
		"osm": {`openservicemesh.io/inbound-port-exclusion-list: "80"`, `openservicemesh.io/inbound-port-exclusion-list: "80,x"`, "openservicemesh.io/sidecar-injection: disabled"},
		"fsm": {`flomesh.io/inbound-port-exclusion-list: "8080"`, "flomesh.io/sidecar-injection: \"false\""},
	}
	sampleOwn = []string{
		`rewrite-probes.io/rewrite: "false"`, `rewrite-probes.io/rewrite: "1"`, "rewrite-probes.io/rewrite: maybe", `rewrite-probes.io/skip-containers: "b,, app"`, "rewrite-probes.io/skip-containers: b",
		"kubectl.kubernetes.io/default-container: b", "a: b",
	}
)

// switchFor returns how a pod is put into a mesh: a line of labels, or one of annotations.
func switchFor(mesh string) (label, annotation string) {
	switch mesh {
	case "istio":
		return `sidecar.istio.io/inject: "true"`, ""
	case "kuma":
		return "kuma.io/sidecar-injection: enabled", ""
	case "linkerd":
		return "", "linkerd.io/inject: enabled"
	case "consul":
		return "", `consul.hashicorp.com/connect-inject: "true"`
	}
	return "", ""
}

func (g sampler) options(mesh string) []option {
	o := []option{inMesh(mesh)}
	is := func(n int) bool { return g.IntN(n) == 0 }
	add := func(n int, more ...option) {
		if g.IntN(n) == 0 {
			o = append(o, more[g.IntN(len(more))])
		}
	}
	add(3, answeredBy("probe-proxy"), answeredBy("app"))
	if mesh == "istio" || mesh == "auto" {
		add(3, answeredBy("istio-proxy"))
	} else if mesh == "osm" {
		add(2, answeredBy("probe-proxy"))
	}
	if mesh != "osm" && mesh != "fsm" {
		add(6, port(15098), port(15020), port(80))
	}
	add(6, asContainer)
	add(8, func(o *transformer.Options) { o.Rewrite = []string{"httpGet", "lifecycle"} }, func(o *transformer.Options) { o.Rewrite = []string{"grpc", "tcpSocket"} })
	add(8, func(o *transformer.Options) { o.Platform = transformer.PlatformOpenShift }, func(o *transformer.Options) { o.Platform = transformer.PlatformKubernetes })
	add(8, nativeSidecars(true), nativeSidecars(false), holds)
	add(8, injectorRewrites, injectorRewritesNothing)
	add(8, mtls("PERMISSIVE"), mtls("DISABLE"))
	add(8, func(o *transformer.Options) { o.Istio.InjectedNamespaces = []string{"sh?p"} }, func(o *transformer.Options) { o.Istio.InjectedNamespaces = []string{"a", "b"} }, func(o *transformer.Options) { o.Istio.InjectedNamespaces = []string{"*"} })
	add(12, func(o *transformer.Options) { o.IstioProxy.Image = "example/istio:1" }, func(o *transformer.Options) { o.IstioProxy.Restricted = false },
		func(o *transformer.Options) { o.IstioProxy.Resources = mapOf("requests", mapOf("cpu", "100m")) })
	add(10, func(o *transformer.Options) {
		o.ProbeProxy.Resources = field.Map{{Key: "limits", Value: mapOf("memory", nil)}, {Key: "requests", Value: mapOf("cpu", "1")}}
	}, func(o *transformer.Options) { o.ProbeProxy.Resources = mapOf("limits", mapOf("cpu", "5m")) },
		func(o *transformer.Options) { o.ProbeProxy.SecurityContext = mapOf("runAsUser", nil) },
		func(o *transformer.Options) {
			o.ProbeProxy.SecurityContext = field.Map{{Key: "runAsUser", Value: 7}, {Key: "capabilities", Value: mapOf("drop", nil)}}
		})
	if is(8) {
		o = append(o, func(o *transformer.Options) {
			o.ProbeProxy.LivenessProbe, o.ProbeProxy.ReadinessProbe, o.ProbeProxy.Body, o.ProbeProxy.ImagePullPolicy = true, true, "all", "Always"
			o.ProbeProxy.Env = listOf(mapOf("name", "A"), mapOf("name", "POD_IP"))
		})
	}
	add(12, func(o *transformer.Options) { o.ProbeProxy.Name = "prober" }, func(o *transformer.Options) { o.ProbeProxy.Name = "b" })
	return o
}

func (g sampler) handler() string {
	port := cmp.Or(g.rarely(3, "4567", "15020", "15099", "admin", `"80"`, "70000", "0", "'${PORT}'"), g.pick("80", "8080", "web", "9000"))
	switch g.IntN(16) {
	case 0, 1:
		return "tcpSocket: {port: " + port + g.rarely(8, ", host: 10.0.0.1", ", host: ''") + "}"
	case 2, 3:
		return "grpc: {port: " + g.pick("80", "9000", "web") + g.rarely(2, ", service: a.B", ", service: ''", ", service: null, mode: TLS", ", mode: Plaintext, service: x", ", mode: mTLS") + "}"
	case 5:
		return "httpGet: " + g.pick("{path: /8080/x, port: 9001}", "{path: /tcp/8080, port: 9001}", "{path: /grpc/9000, port: 9001, httpHeaders: [{name: X-Kuma-Probes-GRPC-Service, value: a.B}]}", "{path: /x, port: 20300}", "{port: 20400}",
			`{path: /osm-healthcheck, port: 15904, httpHeaders: [{name: Original-TCP-Port, value: "8080"}]}`, `{path: /fsm-healthcheck, port: 15901, httpHeaders: [{name: Original-Http-Port, value: "8080"}, {name: Original-Http-Path, value: /x}]}`,
			`{path: /fsm-healthcheck, port: 15901, httpHeaders: [{name: Original-Tcp-Port, value: "8080"}]}`, "{path: /osm-liveness-probe, port: 15901}", "{path: /app-health/app/livez, port: 15020}")
	case 4:
		return "exec: {command: [" + g.pick("x", `curl, -f, "http://localhost:8080/a"`, `sh, -c, "wget -qO- http://127.0.0.1/b || exit 1"`, "grpc_health_probe, '-addr=:9000'", `nc, -z, localhost, "80"`, "cat, /x") + "]}"
	}
	fields := g.rarely(2, "path: /healthz, ", "path: /, ", "path: healthz, ", "path: '', ", "path: null, ", "path: '/a?b=$(c)&d=<e>', ", "path: /app-health/app/livez, ", "path: /app-health/b/livezz, ", "path: /osm-liveness-probe, ", "path: /fsm-healthcheck, ", "path: /8080/x, ", "path: /tcp/8080, ", "path: /grpc/9000, ")
	fields += "port: " + port
	fields += g.rarely(3, ", scheme: HTTPS", ", scheme: HTTPS", ", scheme: HTTP", ", scheme: https")
	fields += g.rarely(10, ", host: example.com", ", host: ''")
	fields += g.rarely(6, ", httpHeaders: [{name: X-A, value: secret}]", ", httpHeaders: []", ", httpHeaders: null", ", httpHeaders: [{name: Host, value: shop}]", `, httpHeaders: [{name: X-Kuma-Probes-Scheme, value: HTTPS}]`,
		`, httpHeaders: [{name: Original-Http-Port, value: "8080"}, {name: Original-Http-Path, value: /x}]`, `, httpHeaders: [{name: Original-Tcp-Port, value: "8080"}]`, ", httpHeaders: [{name: A, value: b, new: c}]")
	fields += g.rarely(10, ", protocol: HTTP1", ", protocol: HTTP2", ", protocol: HTTP3", ", novel: 1")
	return "httpGet: {" + fields + "}"
}

func (g sampler) probe() string {
	h := g.handler() + g.rarely(25, ", "+g.handler(), ", novel: {}")
	h = cmp.Or(g.rarely(20, "periodSeconds: 1"), h)
	return "{" + h + g.rarely(5, ", timeoutSeconds: 5", ", timeoutSeconds: 0", ", periodSeconds: 3", ", timeoutSeconds: -1") + "}"
}

// container returns an item of a list of containers.
func (g sampler) container(name string, init bool) string {
	lines := []string{"- name: " + name, "  image: " + name}
	if init && g.IntN(3) > 0 {
		lines = append(lines, "  restartPolicy: Always")
	}
	lines = append(lines, "  ports: "+cmp.Or(g.rarely(2, "[]", "[{name: web, containerPort: 8080}, {containerPort: 80}]", "[{name: web, containerPort: 70000}]", "[{containerPort: 15099}]", "[{name: web, containerPort: 15020, protocol: UDP}, {name: other, containerPort: 4567}]"), "[{name: web, containerPort: 8080}]"))
	for _, key := range []string{"readinessProbe", "livenessProbe", "startupProbe"} {
		if g.IntN(3) == 0 || key == "livenessProbe" && g.IntN(2) == 0 {
			lines = append(lines, "  "+key+": "+g.probe())
		}
	}
	if g.IntN(5) == 0 {
		lines = append(lines, "  lifecycle: {"+g.pick("preStop", "postStart")+": {"+g.pick(g.handler(), "httpGet: {path: /stop, port: 80}", "sleep: {seconds: 1}")+"}}")
	}
	lines = append(lines, g.some(2, "  "+strings.TrimSpace(g.pick(dropAll, fullContext)))...)
	lines = append(lines, g.some(3, "  resources: "+g.pick("{requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1, memory: 1Gi}}", "{limits: {cpu: 100m, memory: 64Mi}}", "{requests: {cpu: 10m}}", "{}", "{limits: {cpu: lots}}", "{requests: {cpu: 1, memory: 1Gi}, limits: {memory: 1Gi}}"))...)
	lines = append(lines, g.some(6, "  env: "+g.pick("[{name: A, value: b}]", `[{name: ISTIO_KUBE_APP_PROBERS, value: "{}"}]`, `[{name: ISTIO_KUBE_APP_PROBERS, value: '{"/app-health/app/livez":{"httpGet":{"port":80}}}'}]`, `[{name: ISTIO_KUBE_APP_PROBERS, value: "{"}]`, `[{name: ISTIO_KUBE_APP_PROBERS, value: '{"/x":null}'}]`))...)
	return strings.Join(lines, "\n") + "\n"
}

func (g sampler) spec(x theme) string {
	spec := g.rarely(25, "hostNetwork: true\n", "os: {name: windows}\n", "nodeSelector: {kubernetes.io/os: windows}\n", "hostUsers: false\n",
		"affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/os, operator: In, values: [windows]}]}]}}}\n")
	spec += g.rarely(5, podContext, "securityContext: {runAsUser: 1337}\n", "securityContext: {runAsGroup: 0, runAsUser: 2000}\n", "securityContext: {runAsNonRoot: true}\n", "securityContext: {appArmorProfile: {type: Localhost}}\n", "securityContext: {seccompProfile: {type: Unconfined}}\n")
	spec += g.rarely(12, "resources: {requests: {cpu: 2, memory: 2Gi}}\n", "resources: {limits: {cpu: 2, memory: 2Gi}}\n")
	spec += g.rarely(10, "restartPolicy: OnFailure\n", "restartPolicy: Never\n")
	switch g.IntN(6) {
	case 0:
		spec += g.pick("initContainers: []\n", "initContainers: null\n")
	case 1, 2:
		spec += "initContainers:\n" + g.container("i", true)
	}
	spec += "containers:\n" + g.container("app", false)
	if g.IntN(3) == 0 {
		spec += g.container(g.pick("b", "b", "b", "c", "app", "probe-proxy"), false)
	}
	if g.IntN(6*g.tame) == 0 {
		spec += "- name: " + g.pick("istio-proxy\n  image: auto\n", "istio-proxy\n  image: auto\n  lifecycle: {postStart: {exec: {command: [x]}}}\n", "istio-proxy\n  image: example/istio:1\n", "linkerd-proxy\n  image: l\n", "kuma-sidecar\n  image: k\n", "consul-dataplane\n  image: c\n", "envoy\n  image: e\n", "sidecar\n  image: flomesh/pipy\n") +
			g.rarely(2, "  env: [{name: A, value: b}]\n", "  env: []\n", "  resources: {}\n", "  livenessProbe: {httpGet: {port: 80}}\n")
	}
	if x.container != "" {
		spec += "- name: extra\n  image: extra\n  " + strings.ReplaceAll(x.container, "\n", "\n  ") + "\n"
	}
	return spec
}

// A theme is what makes sense only together: lines of metadata, options, and what is near.
type theme struct {
	labels, annotations []string
	opts                []option
	near, container     string
}

// object returns one of a namespace, after a separator.
func object(apiVersion, kind, namespace, rest string) string {
	return "---\napiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata:\n  name: near\n  namespace: " + namespace + "\n" + rest + "\n"
}

// theme returns one for a mesh; half of them have nothing.
func (g sampler) theme(mesh string) (x theme) {
	if g.IntN(2) == 0 {
		return x
	}
	service := object("v1", "Service", "shop", "spec: {selector: {app: web}, ports: [{name: "+g.pick("http-web", "tcp", "grpc")+", port: 80, targetPort: "+g.pick("web", "80", "8080", "''")+"}]}")
	switch g.IntN(11) {
	case 0:
		x.labels = []string{"istio.io/dataplane-mode: ambient"}
	case 1, 2:
		x.labels, x.opts = []string{`sidecar.istio.io/inject: "true"`}, []option{mtls(g.pick("PERMISSIVE", "DISABLE"))}
		x.near = object("security.istio.io/v1", "AuthorizationPolicy", g.pick("shop", "istio-system"), "spec: "+g.pick("{}", "{action: DENY, rules: [{}]}", "{action: DENY, rules: [{to: [{operation: {ports: ['80', '8080']}}]}]}", "{action: DENY, rules: [{from: [{source: {notPrincipals: ['*']}}]}]}",
			"{rules: [{from: [{source: {principals: ['*']}}]}]}", "{rules: [{when: [{key: destination.port, notValues: ['80']}]}]}", "{rules: [{to: [{operation: {paths: [/x]}}]}]}", "{action: AUDIT, rules: [{}]}")) + g.rarely(1, "", service)
	case 3:
		x.labels = []string{`sidecar.istio.io/inject: "true"`}
		x.near = object("security.istio.io/v1", "PeerAuthentication", g.pick("shop", "istio-system"), "spec: "+g.pick("{mtls: {mode: PERMISSIVE}}", "{mtls: {mode: UNSET}}", "{mtls: {mode: STRICT}}", "{selector: {matchLabels: {app: web}}, portLevelMtls: {80: {mode: DISABLE}}}", "{selector: {matchLabels: {app: other}}, mtls: {mode: DISABLE}}"))
	case 4:
		x.opts, x.near = []option{answeredBy("app")}, service
	case 5:
		x.near = service + object("networking.k8s.io/v1", "Ingress", "shop", "spec: {ingressClassName: "+g.pick("gce", "azure-application-gateway", "nginx")+", defaultBackend: {service: {name: near, port: {"+g.pick("number: 80", "name: http-web")+"}}}}")
		x.opts = []option{answeredBy("probe-proxy")}
	case 6:
		x.near = object("v1", "LimitRange", "shop", "spec: {limits: [{type: "+g.pick("Container, default: {cpu: 1, memory: 1Gi}", "Container, min: {cpu: 100m}, max: {memory: 24Mi}", "Container, maxLimitRequestRatio: {memory: 1, cpu: 1.5}", "Pod, max: {cpu: 1, memory: 1Gi}", "Container, defaultRequest: {memory: 64Mi}")+"}]}") +
			g.rarely(1, "", object("v1", "ResourceQuota", "shop", "spec: {hard: {"+g.pick("limits.cpu: 1", "requests.memory: 1Gi", "cpu: 4")+"}}"))
	case 7:
		x.near = g.pick(object("route.openshift.io/v1", "Route", "shop", ""), "---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: other\n  labels: {istio-injection: enabled}\n")
	case 8:
		x.container = "readinessProbe: {httpGet: {path: " + g.pick("/healthz", "/healthz", "/") + ", port: " + g.pick("ready", "8090") + g.rarely(3, ", httpHeaders: [{name: Host, value: h}]", ", httpHeaders: [{name: A, value: b}]") + "}}\nports: [{name: ready, containerPort: 8090}]"
		x.near = object("v1", "Service", "shop", g.pick("", "  annotations: {cloud.google.com/backend-config: own}\n")+"spec: {selector: {app: "+g.pick("web", "web", "other")+"}, ports: [{name: http, port: 80, targetPort: "+g.pick("ready", "8090", "1")+"}]}") +
			object("networking.k8s.io/v1", "Ingress", "shop", g.pick("", "", "  annotations: {appgw.ingress.kubernetes.io/health-probe-path: /h}\n", "  annotations: {networking.gke.io/managed-certificates: c}\n")+"spec: {"+g.pick("ingressClassName: gce, ", "ingressClassName: azure-application-gateway, ", "")+"defaultBackend: {service: {name: near, port: {"+g.pick("number: 80", "name: http")+"}}}}")
	case 9:
		x.annotations = []string{g.pick(`kuma.io/application-probe-proxy-port: "9001"`, `kuma.io/virtual-probes-port: "9001"`), "kuma.io/virtual-probes: enabled"}
		x.container = "livenessProbe: {httpGet: {path: " + g.pick("/8080/x", "/8080", "/x") + ", port: 9001, httpHeaders: [{name: X-Kuma-Probes-Scheme, value: HTTPS}, {name: X-Kuma-Probes-Host, value: h}, {name: A, value: b}]}}\nreadinessProbe: {httpGet: {path: " + g.pick("/tcp/8080", "/tcp/x") + ", port: 9001}}\n" +
			"startupProbe: {httpGet: {path: /grpc/9000, port: 9001" + g.rarely(1, "", ", httpHeaders: [{name: X-Kuma-Probes-GRPC-Service, value: a.B}]") + "}}"
	case 10:
		x.annotations = []string{"consul.hashicorp.com/connect-inject-status: injected", "consul.hashicorp.com/original-pod: '{\"spec\": {\"containers\": [{\"name\": \"extra\", \"livenessProbe\": {\"httpGet\": {\"port\": \"web\"}}, \"readinessProbe\": {\"httpGet\": {\"port\": 81}}}]}}'"}[g.IntN(2):]
		x.container = "livenessProbe: {httpGet: {path: /x, port: 20301}}\nreadinessProbe: {httpGet: {port: 20401}}\nstartupProbe: {httpGet: {port: " + g.pick("20501", "20601") + "}}\nports: [{name: web, containerPort: 8080}]"
	}
	return x
}

// manifest returns a workload for a mesh, the first object, with others around it.
func (g sampler) manifest(mesh string, x theme) string {
	if mesh == "auto" {
		mesh = sampleMeshes[g.IntN(len(sampleMeshes))]
	}
	labels, annotations := []string{"app: web"}, g.some(6, g.pick(sampleOwn...))
	if label, annotation := switchFor(mesh); g.IntN(2) == 0 && label != "" {
		labels = append(labels, label)
	} else if annotation != "" && g.IntN(2) == 0 {
		annotations = append(annotations, annotation)
	} else if g.IntN(4) == 0 {
		labels = append(labels, g.pick(sampleLabels...))
	} else if g.IntN(4) == 0 {
		annotations = append(annotations, g.pick(sampleSwitches...))
	}
	annotations = append(annotations, x.annotations...)
	if x.labels != nil {
		labels = append(labels[:1], x.labels...)
	}
	for key := ""; len(annotations) < 4 && g.IntN(5) < 2 && len(sampleAnnotations[mesh]) > 0; {
		if a := g.pick(sampleAnnotations[mesh]...); !strings.HasPrefix(a, key+":") || key == "" {
			key, _, _ = strings.Cut(a, ":")
			if !slices.ContainsFunc(annotations, func(other string) bool { return strings.HasPrefix(other, key+":") }) {
				annotations = append(annotations, a)
			}
		}
	}
	metadata := block("labels:", labels)
	if g.IntN(8) == 0 {
		metadata = "" // no labels
	}
	metadata += block("annotations:", annotations) + map[bool]string{true: g.rarely(2, "annotations: {}\n", "annotations: null\n")}[len(annotations) == 0]
	template := indent("metadata:", metadata, 4) + indent("spec:", g.spec(x), 4)
	meta := "metadata:\n  name: web\n" + g.rarely(6, "", "  namespace: kube-system\n") + g.rarely(12, "  annotations: {rewrite-probes.io/rewrite: \"false\"}\n", "  annotations: {sidecar.istio.io/rewriteAppHTTPProbers: \"false\", rewrite-probes.io/skip-containers: nobody}\n")
	if !strings.Contains(meta, "namespace:") {
		meta = strings.Replace(meta, "  name: web\n", "  name: web\n  namespace: shop\n", 1)
	}
	var workload string
	switch g.IntN(16) {
	case 0:
		workload = "apiVersion: batch/v1\nkind: Job\n" + meta + "spec:\n  " + g.pick("backoffLimit: 0\n", "podFailurePolicy: {rules: [{onExitCodes: {}}]}\n") + "  template:\n" + template
	case 1:
		workload = "apiVersion: v1\nkind: Pod\n" + indent("metadata:", "name: web\nnamespace: shop\n"+metadata, 0) + strings.ReplaceAll("\n"+strings.TrimSuffix(indent("spec:", g.spec(x), 4), "\n"), "\n    ", "\n")[1:] + "\n"
	case 2:
		workload = "apiVersion: kubeflow.org/v1\nkind: Notebook\n" + indent("metadata:", "name: web\nnamespace: shop\n"+metadata, 0) + "spec:\n  template:\n" + indent("spec:", g.spec(x), 4)
	case 3:
		workload = "apiVersion: serving.knative.dev/v1\nkind: Service\n" + meta + "spec:\n  template:\n" + template
	case 4:
		workload = "apiVersion: example.com/v1\nkind: Bare\n" + meta + "spec:\n" + indent("pod:", g.spec(x), 2)
	default:
		workload = "apiVersion: apps/v1\nkind: Deployment\n" + meta + "spec:\n  template:\n" + template
	}
	namespace := ""
	if g.IntN(3) == 0 {
		namespace = "---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n" + indent("labels:", g.rarely(2, "istio-injection: enabled\n", "istio-injection: disabled\n", "istio.io/rev: x\n", "istio.io/dataplane-mode: ambient\n", "kuma.io/sidecar-injection: \"true\"\n", "a: b\n", "openservicemesh.io/ignore: \"\"\n", "config.linkerd.io/admission-webhooks: disabled\n", "consul.hashicorp.com/transparent-proxy: \"false\"\n"), 2) +
			indent("annotations:", g.rarely(3, "linkerd.io/inject: enabled\n", "linkerd.io/inject: maybe\n", "rewrite-probes.io/rewrite: \"false\"\n", "config.linkerd.io/skip-inbound-ports: \"9000\"\n", "flomesh.io/sidecar-injection: enabled\n"), 2)
	}
	return workload + namespace + x.near
}

// byHand returns the manifest as somebody may have edited it.
func (g sampler) byHand(text string) string {
	edits := [][2]string{
		{"livez\n", "livezz\n"}, {"/app/", "/b/"}, {"port: 15099\n", "port: 15098\n"}, {"port: 15020\n", "port: 80\n"}, {"name: app\n", "name: main\n"}, {"readinessProbe:", "startupProbe:"}, {`"port":80`, `"port":81`}, {`{"/app`, `{/app`},
		{"name: probe-proxy\n", "name: prober\n"}, {"timeoutSeconds\":1", "timeoutSeconds\":2"}, {"\"false\"\n", "\"true\"\n"}, {"15099\"\n", "15099, 9\"\n"}, {"/app-health/app/livez\n", "/mine\n"}, {"liveness-probe", "readiness-probe"}, {"value: \"8080\"", "value: \"8081\""},
		{"image: example/probe-proxy:v1\n", "image: example/probe-proxy:v0\n"}, {"rewrite-probes.io/originals: '{", "rewrite-probes.io/originals: '"}, {"\"handlers\"", "\"other\""}, {"restartPolicy: Always\n        env", "restartPolicy: Always\n        imagePullPolicy: IfNotPresent\n        env"},
		{"image: auto\n        imagePullPolicy", "image: auto\n        resources: {}\n        imagePullPolicy"}, {"httpGet:", "exec: {command: [x]}\n          httpGet:"}, {"ISTIO_KUBE_APP_PROBERS", "OTHER"},
	}
	for range 20 {
		if e := edits[g.IntN(len(edits))]; strings.Contains(text, e[0]) {
			return strings.Replace(text, e[0], e[1], 1)
		}
	}
	return text
}

// samples writes down what becomes of manifests.
type samples struct {
	t   *testing.T
	out bytes.Buffer
}

// of writes down a plan for the first object, and how the text that comes of it, which it
// returns, differs from that or, if it is not "", another one.
func (x *samples) of(what, text, compare string, opts []option, do func(*transformer.Planner, transformer.Input) transformer.Plan) string {
	s, err := manifest.Read("near.yaml", []byte(text))
	if err != nil {
		fmt.Fprintf(&x.out, "%s: %v\n", what, err)
		return text
	}
	p, err := transformer.New(options(opts...))
	if err != nil {
		fmt.Fprintf(&x.out, "%s: %v\n", what, err)
		return text
	}
	o := s.Objects()[0]
	meta, err := o.Metadata()
	if err != nil {
		x.t.Fatalf("%v in\n%s", err, text)
	}
	refs, err := workload.Templates(o, []workload.Custom{{Group: "example.com", Kind: "Bare", Pattern: field.NewPath("spec", "pod")}})
	if err != nil || len(refs) != 1 {
		x.t.Fatalf("%d templates, %v in\n%s", len(refs), err, text)
	}
	in := transformer.Input{
		Kind: o.Kind(), APIVersion: o.APIVersion(), Workload: *meta, NamespaceName: meta.Namespace, Source: o.Value,
		Around: nearby.Collect([]*manifest.Stream{s}, rootNamespace).Of(o, meta.Namespace),
		Path:   refs[0].Path, JobLike: refs[0].JobLike, Shape: refs[0].Shape,
	}
	var into any = &in.Template
	if in.Shape.BareSpec {
		into = &in.Template.Spec
	}
	if _, err := o.Decode(in.Path, into); err != nil {
		fmt.Fprintf(&x.out, "%s: %v\n", what, err)
		return text
	}
	if in.Shape.WorkloadMetadata {
		in.Template.Metadata = *meta
	}
	plan := transformer.WithTexts(func(texts []field.WrittenText) transformer.Plan {
		in.Texts = texts
		return do(p, in)
	}, o.Texts)
	if err := o.Apply(plan.Edits); err != nil {
		x.t.Fatalf("%v: %v in\n%s", plan.Edits, err, text)
	}
	out, err := s.Text()
	if err != nil {
		x.t.Fatal(err)
	}
	x.write(what, cmp.Or(compare, text), string(out), plan)
	return string(out)
}

// write writes down a plan and the lines that it changes.
func (x *samples) write(what, before, after string, plan transformer.Plan) {
	line := func(format string, args ...any) {
		fmt.Fprintln(&x.out, " "+strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
	a := plan.Answer
	fmt.Fprintf(&x.out, "\n%s: %s %s %d %s\n", what, a.By, a.Mesh, a.Port, a.AddsContainer)
	if said := a.Because + plan.Known; said != "" || a.AppWouldDo || a.Injected {
		line("%s %t %t", said, a.AppWouldDo, a.Injected)
	}
	for _, v := range plan.Probes {
		line("%s %s %s %s %s > %s; %s %s %s", v.Container, v.ProbeType.Field(), v.State, v.Reason.String(), v.Before, v.After, v.StrictTLS, v.Why, v.If)
	}
	for _, f := range slices.Concat(plan.Findings, plan.Repairs) {
		line("%s %s %s %v %v", f.Severity, f.Reason.String(), f.Container, cmp.Or(f.Current, any("")), cmp.Or(f.Proposed, any("")))
	}
	for _, line := range changedLines(before, after) {
		fmt.Fprintln(&x.out, line)
	}
}

// changedLines returns the lines that a text loses, after a minus, and gets, after a plus.
func changedLines(before, after string) (changed []string) {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	common := make([][]int, len(a)+1) // the length of what the rests have in common
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common[i+1][j] >= common[i][j+1]):
			changed, i = append(changed, "-"+a[i]), i+1
		default:
			changed, j = append(changed, "+"+b[j]), j+1
		}
	}
	return changed
}

// sample writes down what becomes of the manifest of a seed: when it is rewritten, by a second run, by restore, with
// other options, and after an edit by hand. It returns "" for most manifests that stay what they are, since they are many.
func sample(t *testing.T, seed uint64) string {
	x := &samples{t: t}
	g := sampler{rand.New(rand.NewPCG(seed, 1)), 1 + int(seed%3)*2}
	mesh := sampleMeshes[g.IntN(len(sampleMeshes))]
	what := g.theme(mesh)
	opts := append(g.options(mesh), what.opts...)
	text := g.manifest(mesh, what)
	fmt.Fprintf(&x.out, "# The options:\n%s\n%s", notDefault(t, opts), text)
	rewritten := x.of("rewritten", text, "", opts, (*transformer.Planner).Plan)
	if rewritten == text {
		if seed%3 > 0 {
			return ""
		}
		return x.out.String()
	}
	x.of("again", rewritten, "", opts, (*transformer.Planner).Plan)
	x.of("restored", rewritten, text, opts, (*transformer.Planner).Restore)
	others := g.options(sampleMeshes[g.IntN(len(sampleMeshes))])
	fmt.Fprintf(&x.out, "\n# Other options:\n%s", notDefault(t, others))
	x.of("with other options", rewritten, "", others, (*transformer.Planner).Plan)
	if edited := g.byHand(rewritten); edited != rewritten {
		x.of("edited", edited, rewritten, opts, (*transformer.Planner).Plan)
		x.of("edited and restored", edited, text, opts, (*transformer.Planner).Restore)
	}
	return x.out.String()
}

// notDefault returns the options that are not the defaults, one a line.
func notDefault(t *testing.T, opts []option) string {
	given, defaults := fieldsOf(t, options(opts...)), fieldsOf(t, options())
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if string(given[key]) != string(defaults[key]) {
			fmt.Fprintf(&b, "# %s: %s\n", key, given[key])
		}
	}
	return b.String()
}

func fieldsOf(t *testing.T, o transformer.Options) (fields map[string]json.RawMessage) {
	b, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(b, &fields)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

// What becomes of manifests, each with something of all that plans look at, is in testdata/samples, without the words of
// the messages, which testdata/sentences.txt has. The rest must be planned for and written.
func TestSamples(t *testing.T) {
	const readable, all = 200, 2400
	compareSamples(t, "testdata/samples/", readable, all, sample)
}

// compareSamples compares what is written down for the first seeds with the files of a folder.
func compareSamples(t *testing.T, folder string, readable, all uint64, of func(*testing.T, uint64) string) {
	t.Helper()
	if *golden.Update { // a manifest that stays what it is has no file any more
		if err := errors.Join(os.RemoveAll(folder), os.Mkdir(folder, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	files := 0
	for seed := range all {
		text := of(t, seed)
		if text != "" && seed < readable {
			files++
			golden.Compare(t, fmt.Sprintf("%s%03d.txt", folder, seed), []byte(text))
		}
	}
	if found, err := os.ReadDir(folder); err != nil || len(found) != files {
		t.Errorf("%d files in %s, want %d: %v", len(found), folder, files, err)
	}
}
