package transformer_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/nearby"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A crowd makes what a [sampler] makes, with much more around it: objects of every kind that plans
// look at, in the workload's file, in a folder above it, and in another branch.
type crowd struct{ sampler }

var (
	crowdNamespaces = []string{"shop", "shop", "shop", "istio-system", "other"}
	crowdSelectors  = []string{"{app: web}", "{app: web}", "{app: other}", "{pod-template-hash: x}", "{app: web, tier: x}"}
	// crowdMetadata are lines of a template that the samples do not have.
	crowdMetadata = []string{
		"proxy.istio.io/config: '{\"holdApplicationUntilProxyStarts\": true, \"statusPort\": 15021}'", "proxy.istio.io/config: 'extraStatTags: [IPTABLES_TRACE_LOGGING]'", "inject.istio.io/templates: kube-gateway, waypoint",
		`traffic.sidecar.istio.io/includeInboundPorts: " * "`, `traffic.sidecar.istio.io/excludeInboundPorts: "*"`, `status.sidecar.istio.io/port: "15006"`, `traffic.sidecar.istio.io/excludeInterfaces: "eth1"`,
		`dapr.io/enabled: "On"`, `vault.hashicorp.com/agent-inject: "true"`, `rewrite-probes.io/rewrite: "0"`, "sidecar.istio.io/status: '{}'", `sidecar.istio.io/rewriteAppHTTPProbers: "true"`, `sidecar.istio.io/inject: "true"`,
		"config.linkerd.io/opaque-ports: 80-90", `config.linkerd.io/proxy-require-identity-inbound-ports: "80"`, `consul.hashicorp.com/transparent-proxy-exclude-uids: "7, 5996"`, `kuma.io/gateway: "yes"`,
	}
	crowdLabels = []string{"istio.io/dataplane-mode: ambient", "tier: x", "sidecar.istio.io/inject: ${INJECT}", "appmesh.k8s.aws/sidecarInjectorWebhook: enabled", "linkerd.io/inject: ingress", "istio.io/rev: stable", "service.istio.io/canonical-name: web"}
)

// near returns one object for the workload's surroundings.
func (g crowd) near(n int) string {
	one := func(apiVersion, kind, namespace, meta, spec string) string {
		text := fmt.Sprintf("---\napiVersion: %s\nkind: %s\nmetadata:\n  name: n%d\n", apiVersion, kind, n%3)
		if namespace != "" {
			text += "  namespace: " + namespace + "\n"
		}
		if meta != "" {
			text += "  " + meta + "\n"
		}
		if spec != "" {
			text += "spec: " + spec + "\n"
		}
		return text
	}
	namespace := g.pick(crowdNamespaces...)
	selector := g.pick(crowdSelectors...)
	match := "{matchLabels: " + selector + "}"
	port := g.pick("80", "8080", "9000", "8001", "15020", "15099")
	switch g.IntN(15) {
	case 0:
		name := g.pick("shop", "shop", "other")
		return "---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: " + name + "\n  labels: {" + g.pick("istio-injection: enabled", "istio-injection: disabled", "istio-injection: '${X}'", "istio.io/rev: a", "istio.io/dataplane-mode: ambient", "kuma.io/sidecar-injection: enabled", "linkerd.io/inject: enabled", "a: b", "flomesh.io/ignore: x", "control-plane: x") +
			"}\n  annotations: {" + g.pick("a: b", "linkerd.io/inject: enabled", "rewrite-probes.io/rewrite: \"false\"", "rewrite-probes.io/rewrite: x", "rewrite-probes.io/skip-containers: app", "config.linkerd.io/skip-inbound-ports: '80,x'", "config.linkerd.io/default-inbound-policy: deny", "config.linkerd.io/opaque-ports: '8080'", "kuma.io/sidecar-injection: enabled") + "}\n"
	case 1:
		return one("security.istio.io/v1", "PeerAuthentication", namespace, "", g.pick("{mtls: {mode: PERMISSIVE}}", "{mtls: {mode: STRICT}}", "{mtls: {mode: UNSET}}", "{selector: "+match+", mtls: {mode: DISABLE}}", "{selector: "+match+", portLevelMtls: {"+port+": {mode: PERMISSIVE}}}"))
	case 2, 3:
		rule := g.pick("{}", "{to: [{operation: {ports: ['"+port+"']}}]}", "{to: [{operation: {paths: [/healthz, '/app-health*'], methods: [GET]}}]}", "{to: [{operation: {notPaths: [/x]}}]}", "{to: [{operation: {hosts: ['*:80']}}]}", "{from: [{source: {principals: ['*']}}]}", "{from: [{source: {ipBlocks: [10.0.0.0/8]}}]}", "{when: [{key: 'request.headers[user-agent]', values: ['kube-*']}]}",
			"{when: [{key: 'request.headers[X-A]', values: [secret]}]}", "{to: [{operation: {methods: [POST], paths: ['/grpc.health.v1.Health/*']}}]}", "{when: [{key: 'request.headers[content-type]', values: [application/grpc]}]}", "{when: [{key: 'request.headers[accept]', values: ['*/*']}]}", "{when: [{key: 'request.headers[te]', values: [trailers]}]}", "{to: [{operation: {hosts: [shop]}}]}")
		return one("security.istio.io/v1", "AuthorizationPolicy", namespace, "", "{"+g.rarely(2, "selector: "+match+", ")+"action: "+g.pick("ALLOW", "ALLOW", "DENY", "DENY", "CUSTOM", "AUDIT")+", rules: ["+rule+"]}")
	case 4, 5:
		ports := "{name: " + g.pick("http-web", "grpc", "tcp-x", "mysql", "x", "http2-a") + ", port: " + port + g.rarely(2, ", targetPort: web", ", targetPort: 80", ", targetPort: 8080", ", protocol: UDP", ", appProtocol: kubernetes.io/h2c", ", appProtocol: https") + "}"
		meta := g.rarely(4, "annotations: {cloud.google.com/backend-config: x}")
		return one("v1", "Service", g.pick(namespace, namespace, ""), meta, "{selector: "+g.pick(selector, selector, "{}")+", "+g.rarely(8, "type: ExternalName, ")+"ports: ["+ports+"]}")
	case 6:
		return one("networking.istio.io/v1", "ServiceEntry", namespace, "", "{workloadSelector: {labels: "+selector+"}, ports: [{number: "+port+", protocol: "+g.pick("HTTP", "GRPC", "TCP", "TLS")+"}]}")
	case 7, 8:
		listener := "{port: {number: " + port + "}, " + g.rarely(3, "captureMode: NONE, ", "captureMode: IPTABLES, ", "bind: 127.0.0.1, ", "bind: 0.0.0.0, captureMode: NONE, ") + "defaultEndpoint: " + g.pick("127.0.0.1:"+port, "127.0.0.1:"+port, "'[::1]:"+port+"'", "0.0.0.0:"+port, "127.0.0.1:9999", "unix:///run/x") + "}"
		return one("networking.istio.io/v1", "Sidecar", namespace, "", "{"+g.rarely(2, "workloadSelector: {labels: "+selector+"}, ")+"ingress: ["+listener+", {port: {number: 7}, defaultEndpoint: '[::1]:8001'}]}")
	case 9:
		return one("apps.kruise.io/v1alpha1", "SidecarSet", "", "", "{"+g.pick("namespace: shop, ", "namespace: shop, ", "namespaceSelector: {matchLabels: {a: b}}, ", "")+"selector: "+match+", initContainers: [{name: istio-init, args: [-b, "+g.pick("'*'", "'80,8080'", "'15099'")+g.pick("", ", -d, '15090,15021,15020,15099'", ", -d, '80'")+"]}], containers: [{name: istio-proxy}]}")
	case 10:
		meta := g.rarely(3, "annotations: {appgw.ingress.kubernetes.io/health-probe-path: /h}", "annotations: {kubernetes.io/ingress.class: gce}", "annotations: {kubernetes.io/ingress.global-static-ip-name: x}")
		return one("networking.k8s.io/v1", "Ingress", namespace, meta, "{"+g.pick("ingressClassName: gce-internal, ", "ingressClassName: azure-application-gateway, ", "ingressClassName: nginx, ", "")+"rules: [{http: {paths: [{backend: {service: {name: n1, port: {name: http-web}}}}, {backend: {service: {name: n0, port: {number: "+port+"}}}}]}}]}")
	case 11:
		return one("networking.k8s.io/v1", "NetworkPolicy", namespace, "", "{podSelector: "+g.pick(match, match, "{}", "{matchExpressions: [{key: app, operator: In, values: [web]}]}")+", ingress: ["+g.pick("", "{}", "{ports: [{port: "+port+"}]}", "{from: [{ipBlock: {cidr: 169.254.0.0/16}}], ports: [{port: 79, endPort: 8080}]}", "{from: [{podSelector: {}}]}")+"]}")
	case 12:
		return one("policy.linkerd.io/v1beta3", "Server", namespace, "", "{podSelector: "+match+", port: "+port+"}") +
			one("policy.linkerd.io/v1beta3", "HTTPRoute", namespace, "", fmt.Sprintf("{parentRefs: [{kind: Server, name: n%d}], rules: [%s]}", n%3, g.pick("{}", "{matches: [{path: {value: /healthz}}]}", "{matches: [{path: {type: Exact, value: /x}}]}")))
	case 13:
		return one("v1", "LimitRange", namespace, "", "{limits: [{type: "+g.pick("Container, default: {cpu: 1, memory: 1Gi}", "Container, min: {cpu: 100m}", "Pod, max: {memory: 40Mi}", "Container, defaultRequest: {cpu: 50m}")+"}]}") +
			g.rarely(2, one("v1", "ResourceQuota", namespace, "", "{hard: {"+g.pick("limits.cpu: 1", "requests.cpu: 1")+"}}"))
	}
	return one(g.pick("route.openshift.io/v1"), "Route", "shop", "", "")
}

var initLists = regexp.MustCompile(`(?m)^( *)initContainers:\n`)

// workload returns one with more of what is rare.
func (g crowd) workload(mesh string) (string, []option) {
	x := g.theme(mesh)
	if g.IntN(2) == 0 {
		x.annotations = append(x.annotations, g.pick(crowdMetadata...))
	}
	if g.IntN(3) == 0 {
		x.labels = append(slices.Clone(x.labels), g.pick(crowdLabels...))
	}
	text := g.manifest(mesh, x)
	if g.IntN(3) == 0 {
		init := g.pick("istio-init\n${1}  image: i\n${1}  args: [-p, x, -b, '*', -d, "+g.pick("'15090,15021,15020'", "'15020,15099'", "'80'")+"]",
			"istio-init\n${1}  image: i\n${1}  args: [-b, "+g.pick("'80'", "'8080,15099'", "'15020'")+"]",
			"istio-proxy\n${1}  image: "+g.pick("auto", "i")+"\n${1}  restartPolicy: Always", "first\n${1}  image: f\n${1}  restartPolicy: Always\n${1}  startupProbe: {tcpSocket: {port: 80}}\n${1}  livenessProbe: {httpGet: {port: 8080}}\n${1}  lifecycle: {postStart: {httpGet: {port: 80}}, preStop: {tcpSocket: {port: 80}}}")
		text = initLists.ReplaceAllString(text, "${1}initContainers:\n${1}- name: "+init+"\n")
	}
	return text, append(g.options(mesh), x.opts...)
}

// edited returns the manifest as somebody, or an earlier version, may have left it.
func (g crowd) edited(text string) string {
	edits := [][2]string{
		{"command: [probe-proxy, wait, --port=15099]", "command: [probe-proxy, wait, --port=15098]"}, {"--port=15099", "--port=15100"}, {`"inherited":{`, `"inherited":{"a":"b",`}, {`"excluded":{`, `"excluded":{"x":"80",`},
		{"timeoutSeconds\":1}", "timeoutSeconds\":0}"}, {"timeoutSeconds\":5}", "timeoutSeconds\":1}"}, {"port: 15099", "port: web"}, {"port: 15099", "port: 80"}, {"port: 15020", "port: 15021"}, {"scheme: HTTP\n", "scheme: HTTPS\n"},
		{"image: auto\n", "image: other\n"}, {"imagePullPolicy: IfNotPresent\n", "imagePullPolicy: Always\n"}, {"/app/livez", "/gone/livez"}, {`"/app-health/app/livez":{`, `"/app-health/gone/livez":{`}, {"/app-health/app/readyz", "/app-health/app/livez"},
		{"name: app\n", "name: gone\n"}, {"restartPolicy: Always\n", ""}, {"'15099'", "'15099,80'"}, {`"15099"`, `"80,15099"`}, {"\"handlers\":{", "\"handlers\":{\"/app-health/x/livez\":{},"}, {"hostNetwork: true\n", ""}, {`"port":8080`, `"port":9000`},
	}
	for range 2 {
		text = g.byHand(text)
		for range 8 {
			if e := edits[g.IntN(len(edits))]; strings.Contains(text, e[0]) {
				text = strings.Replace(text, e[0], e[1], 1+g.IntN(2))
				break
			}
		}
	}
	return text
}

// A scene is a workload in its file, what is in a folder above it, and what is in another branch.
type scene struct{ own, above, elsewhere string }

// planners has those that have planned before, by their options: no plan may depend on earlier ones.
type planners map[string]*transformer.Planner

// input returns what a planner gets of a scene, and the object.
func (x scene) input() (in transformer.Input, o *manifest.Object, err error) {
	var streams []*manifest.Stream
	for i, text := range []string{x.own, x.above, x.elsewhere} {
		if text == "" {
			continue
		}
		s, err := manifest.Read([]string{"a/b/web.yaml", "a/above.yaml", "c/other.yaml"}[i], []byte(text))
		if err != nil {
			return in, nil, err
		}
		streams = append(streams, s)
	}
	o = streams[0].Objects()[0]
	meta, err := o.Metadata()
	if err != nil {
		return in, nil, err
	}
	metadata := field.NewPath("spec", "podMetadata")
	bare := []workload.Custom{{Group: "example.com", Kind: "Bare", Pattern: field.NewPath("spec", "pod"), Metadata: metadata}}
	refs, err := workload.Templates(o, bare)
	if err != nil || len(refs) != 1 {
		return in, nil, fmt.Errorf("%d templates: %w", len(refs), err)
	}
	in = transformer.Input{
		Kind: o.Kind(), APIVersion: o.APIVersion(), Workload: *meta, NamespaceName: meta.Namespace, Source: o.Value,
		Around: nearby.Collect(streams, rootNamespace).Of(o, meta.Namespace),
		Path:   refs[0].Path, Metadata: refs[0].Metadata, JobLike: refs[0].JobLike, Shape: refs[0].Shape,
	}
	var into any = &in.Template
	if in.Shape.BareSpec {
		into = &in.Template.Spec
		if _, err := o.Decode(metadata, &in.Template.Metadata); err != nil {
			return in, nil, err
		}
	}
	if _, err := o.Decode(in.Path, into); err != nil {
		return in, nil, err
	}
	if in.Shape.WorkloadMetadata {
		in.Template.Metadata = *meta
	}
	return in, o, nil
}

// crowded writes down all that a planner says about a scene, and returns the text that comes of it.
func (x *samples) crowded(what string, at scene, opts []option, known planners, do func(*transformer.Planner, transformer.Input) transformer.Plan) string {
	line := func(format string, args ...any) { fmt.Fprintf(&x.out, " "+format+"\n", args...) }
	in, o, err := at.input()
	if err != nil {
		line("%s: %v", what, err)
		return at.own
	}
	p, err := transformer.New(options(opts...))
	if err != nil {
		line("%s: %v", what, err)
		return at.own
	}
	before := fmt.Sprintf("%+v", in.Template) + fmt.Sprint(o.Value(nil))
	again, _, _ := at.input()
	with := func(p *transformer.Planner, in transformer.Input) transformer.Plan {
		return transformer.WithTexts(func(texts []field.WrittenText) transformer.Plan {
			in.Texts = texts
			return do(p, in)
		}, o.Texts)
	}
	plan := with(p, in)
	key := notDefault(x.t, opts)
	if known[key] == nil {
		known[key] = p
	} else if other := with(known[key], again); !reflect.DeepEqual(other, plan) {
		x.t.Errorf("a planner that has planned before gives another plan for\n%s%s", key, at.own)
	}
	only := in
	only.OnlyEdits = true
	if edits := with(p, only).Edits; !reflect.DeepEqual(edits, plan.Edits) {
		x.t.Errorf("the edits differ if nobody wants to know more:\n%v\nnot\n%v\nof\n%s", edits, plan.Edits, at.own)
	}
	x.tells(p, in)
	if after := fmt.Sprintf("%+v", in.Template) + fmt.Sprint(o.Value(nil)); after != before {
		x.t.Errorf("planning changes what is planned for:\n%s\nbecomes\n%s", before, after)
	}
	if err := o.Apply(plan.Edits); err != nil {
		x.t.Fatalf("%v: %v in\n%s", plan.Edits, err, at.own)
	}
	out, err := o.Stream().Text()
	if err != nil {
		x.t.Fatal(err)
	}
	x.write(what, at.own, string(out), plan)
	for _, v := range plan.Probes {
		line("%s %t %t %t", v.Field, v.Init, v.MayBeServed, v.Absent)
	}
	line("%v %t", plan.Answer.AddsAnnotations, plan.WasRewritten)
	return string(out)
}

// tells writes down what else a planner tells of a template.
func (x *samples) tells(p *transformer.Planner, in transformer.Input) {
	originals, findings := p.Rewritten(in)
	probes, err := p.ReadinessProbes(in)
	if originals != nil || len(probes) > 0 || err != nil {
		fmt.Fprintf(&x.out, " %s %d %v %v\n", prober.Encode(originals), len(findings), probes, err)
	}
}

// crowdSample writes down what becomes of the scene of a seed: once rewritten, by another run and by restore, after edits, and
// with other options. Most scenes are of a workload that is rewritten.
func crowdSample(t *testing.T, seed uint64, known planners) string {
	x := &samples{t: t}
	g := crowd{sampler{rand.New(rand.NewPCG(seed, 7)), 1 + int(seed%4)}}
	var at scene
	var opts []option
	var rewritten string
	doPlan, doRestore := (*transformer.Planner).Plan, (*transformer.Planner).Restore
	for range 4 {
		mesh := sampleMeshes[g.IntN(len(sampleMeshes))]
		at, opts = g.scene(mesh)
		x.out.Reset()
		fmt.Fprintf(&x.out, "# The options:\n%s\n%s\n# Above:\n%s\n# Elsewhere:\n%s", notDefault(t, opts), at.own, at.above, at.elsewhere)
		if rewritten = x.crowded("rewritten", at, opts, known, doPlan); rewritten != at.own {
			break
		}
	}
	if rewritten == at.own {
		return x.out.String()
	}
	at.own = rewritten
	x.crowded("again", at, opts, known, doPlan)
	x.crowded("restored", at, opts, known, doRestore)
	others := g.options(sampleMeshes[g.IntN(len(sampleMeshes))])
	fmt.Fprintf(&x.out, "\n# Other options:\n%s", notDefault(t, others))
	x.crowded("with other options", at, others, known, doPlan)
	for range 3 {
		if at.own = g.edited(rewritten); at.own != rewritten {
			after := x.crowded("edited", at, opts, known, doPlan)
			x.crowded("edited and restored", at, others, known, doRestore)
			at.own = after
			x.crowded("edited, with other options", at, others, known, doPlan)
		}
	}
	return x.out.String()
}

// scene returns a workload with what is around it, and options.
func (g crowd) scene(mesh string) (at scene, opts []option) {
	at.own, opts = g.workload(mesh)
	for n := range g.IntN(5) {
		at.own += g.near(n)
	}
	for n := range g.IntN(3) {
		at.above += g.near(n)
	}
	for n := range g.IntN(4) {
		at.elsewhere += g.near(n)
	}
	return at, opts
}

// What becomes of workloads in the middle of many objects is in testdata/crowds, as in [TestSamples]. No plan depends on earlier ones
// of its planner, and none changes what it is made from.
func TestCrowds(t *testing.T) {
	const readable, all = 10, 410
	known := make(planners)
	compareSamples(t, "testdata/crowds/", readable, all, func(t *testing.T, seed uint64) string {
		return crowdSample(t, seed, known)
	})
}
