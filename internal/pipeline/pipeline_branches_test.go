package pipeline_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A tree has the texts of files by path.
type tree map[string]string

// A drawer draws the objects of a tree.
type drawer struct{ *rand.Rand }

func (d drawer) pick(of ...string) string { return of[d.IntN(len(of))] }

// object returns an object of a kind; the texts are drawn from the lists of its row.
func (d drawer) object() string {
	k := nearbyKinds[d.IntN(len(nearbyKinds))]
	if d.IntN(2) == 0 {
		k = nearbyKinds[d.IntN(3)] // which decide what becomes of a probe
	}
	name, namespace := d.pick("a", "b"), d.pick("shop", "shop", "shop", "", "other", "istio-system")
	if k.names != nil {
		name, namespace = d.pick(k.names...), ""
	}
	meta := "name: " + name
	if namespace != "" {
		meta += ", namespace: " + namespace
	}
	if k.meta != nil {
		meta += ", " + d.pick(k.meta...)
	}
	var spec []string
	for _, field := range k.spec {
		if v := d.pick(field...); v != "" {
			spec = append(spec, v)
		}
	}
	return "apiVersion: " + k.apiVersion + "\nkind: " + k.kind + "\nmetadata: {" + meta + "}\nspec: {" + strings.Join(spec, ", ") + "}\n"
}

// A nearbyKind is a kind that says something about others: what its metadata and each field of its
// spec may be; "" is an absent one.
type nearbyKind struct {
	apiVersion, kind string
	names            []string // of what has no namespace
	meta             []string
	spec             [][]string
}

var (
	selectors = []string{
		"", "", "selector: {matchLabels: {app: web}}", "selector: {matchLabels: {app: other}}",
		"selector: {matchLabels: {service.istio.io/canonical-name: web}}", "selector: {matchLabels: {pod-template-hash: x}}",
	}
	workloads = []string{"", "workloadSelector: {labels: {app: web}}", "workloadSelector: {labels: {app: other}}"}
	labelled  = nearbyKind{"v1", "Namespace", []string{"shop", "shop", "other", "'${NS}'"}, []string{
		"labels: {istio-injection: enabled}", "labels: {istio-injection: disabled}", "labels: {istio.io/rev: x}", "labels: {a: b}",
		"labels: {istio.io/dataplane-mode: ambient}", "labels: {kuma.io/sidecar-injection: enabled}",
		"annotations: {linkerd.io/inject: enabled}", "labels: {pod-security.kubernetes.io/enforce: restricted}",
		"labels: {flomesh.io/monitored-by: fsm}", "labels: {istio-injection: '${INJECT}'}",
	}, nil}
	peers = nearbyKind{"security.istio.io/v1", "PeerAuthentication", nil, nil, [][]string{
		selectors, {"mtls: {mode: STRICT}", "mtls: {mode: PERMISSIVE}", "mtls: {mode: DISABLE}", "mtls: {mode: UNSET}", ""},
		{"", "", "portLevelMtls: {'8080': {mode: PERMISSIVE}}", "portLevelMtls: {'8080': {mode: STRICT}}", "portLevelMtls: {'9': {mode: DISABLE}}"},
	}}
	authorizations = nearbyKind{"security.istio.io/v1", "AuthorizationPolicy", nil, nil, [][]string{
		selectors, {"action: ALLOW", "action: DENY", "action: CUSTOM", ""},
		{
			"rules: [{}]", "rules: [{to: [{operation: {paths: [/ready]}}]}]", "rules: [{to: [{operation: {ports: ['8080']}}]}]",
			"rules: [{from: [{source: {principals: ['*']}}]}]", "rules: [{from: [{source: {ipBlocks: [10.0.0.0/8]}}]}]",
			"rules: [{to: [{operation: {methods: [POST]}}]}]", "",
		},
	}}
)

var nearbyKinds = []nearbyKind{
	labelled, peers, authorizations,
	{"v1", "Service", nil, nil, [][]string{
		{"selector: {app: web}", "selector: {app: web}", "selector: {app: other}", ""},
		{"ports: [{name: http, port: 80, targetPort: 8080}]", "ports: [{name: tcp, port: 8080}]", "ports: [{name: grpc, port: 80, targetPort: web}]"},
	}},
	{"networking.istio.io/v1", "ServiceEntry", nil, nil, [][]string{
		workloads, {"ports: [{number: 8080, protocol: TCP, name: x}]", "ports: [{number: 80, targetPort: 8080, protocol: HTTP, name: x}]"},
	}},
	{"networking.istio.io/v1", "Sidecar", nil, nil, [][]string{
		workloads, {
			"ingress: [{port: {number: 8080, protocol: HTTP, name: x}, defaultEndpoint: 127.0.0.1:8080}]",
			"ingress: [{port: {number: 8080, protocol: HTTP, name: x}, defaultEndpoint: '[::1]:8080'}]",
			"ingress: [{port: {number: 8080, protocol: HTTP, name: x}, defaultEndpoint: 127.0.0.1:9}]",
			"ingress: [{port: {number: 8080, protocol: HTTP, name: x}, captureMode: NONE, bind: 0.0.0.0}]", "",
		},
	}},
	{"v1", "LimitRange", nil, nil, [][]string{{
		"limits: [{type: Container, min: {cpu: 500m}}]", "limits: [{type: Container, default: {cpu: 1}}]",
		"limits: [{type: Container, max: {memory: 8Mi}}]", "limits: [{type: Pod, max: {cpu: 1}}]",
	}}},
	{"v1", "ResourceQuota", nil, nil, [][]string{{"hard: {limits.cpu: 1}", "hard: {pods: 1}", "hard: {requests.memory: 1Mi}"}}},
	{"route.openshift.io/v1", "Route", nil, nil, [][]string{{"to: {kind: Service, name: web}"}}},
	{"security.openshift.io/v1", "SecurityContextConstraints", []string{"restricted"}, nil, nil},
	{"project.openshift.io/v1", "Project", []string{"shop"}, nil, nil},
	{"networking.k8s.io/v1", "NetworkPolicy", nil, nil, [][]string{
		{"podSelector: {}", "podSelector: {matchLabels: {app: web}}"},
		{"ingress: []", "ingress: [{from: [{podSelector: {}}]}]", "policyTypes: [Egress]"},
	}},
	{"cilium.io/v2", "CiliumNetworkPolicy", nil, nil, [][]string{
		{"endpointSelector: {}", "endpointSelector: {matchLabels: {app: web}}"},
		{"ingress: [{}]", "ingress: [{fromEntities: [world]}]", "ingressDeny: [{fromEntities: [all]}]"},
	}},
	{"projectcalico.org/v3", "GlobalNetworkPolicy", nil, nil, [][]string{
		{"selector: all()", "selector: app == 'web'"},
		{"types: [Ingress]", "ingress: [{action: Allow}]", "ingress: [{action: Deny}]"},
	}},
	{"networking.k8s.io/v1", "Ingress", nil, nil, [][]string{
		{"ingressClassName: gce", "ingressClassName: azure-application-gateway", "ingressClassName: nginx"},
		{"defaultBackend: {service: {name: a, port: {number: 80}}}"},
	}},
	{"policy.linkerd.io/v1beta3", "Server", nil, nil, [][]string{{"podSelector: {matchLabels: {app: web}}"}, {"port: 8080"}}},
	{"policy.linkerd.io/v1beta3", "HTTPRoute", nil, nil, [][]string{
		{"parentRefs: [{kind: Server, name: a}]"}, {"", "rules: [{matches: [{path: {value: /ready}}]}]"},
	}},
	{"gateway.networking.k8s.io/v1", "HTTPRoute", nil, nil, [][]string{{"parentRefs: [{group: policy.linkerd.io, kind: Server, name: b}]"}}},
	{"kuma.io/v1alpha1", "MeshTrafficPermission", nil, nil, [][]string{{"targetRef: {kind: Mesh}"}}},
	{"kuma.io/v1alpha1", "Mesh", []string{"default"}, nil, [][]string{{"mtls: {enabledBackend: ca-1}"}}},
	{"consul.hashicorp.com/v1alpha1", "ServiceIntentions", nil, nil, [][]string{{"destination: {name: web}"}}},
}

// fill returns up to five files with an object each.
func (d drawer) fill(folders ...string) tree {
	files := make(tree)
	for i := range d.IntN(6) {
		files[fmt.Sprintf("%so%d.yaml", d.pick(folders...), i)] = d.object()
	}
	return files
}

// inFolder returns the files of a tree, all in one folder.
func inFolder(folder string, files tree) tree {
	moved := make(tree)
	for file, text := range files {
		moved[folder+strings.ReplaceAll(file, "/", "-")] = text
	}
	return moved
}

// randomTree returns a workload below a/, what its own branch says, and what another branch says.
func randomTree(rnd *rand.Rand) (own, other tree) {
	d := drawer{rnd}
	own, other = d.fill("", "a/", "a/app/"), d.fill("b/", "a/other/", "a/app/below/", "a/app2/")
	marks := d.pick("", "", ", sidecar.istio.io/inject: 'true'", ", istio.io/rev: x", ", kuma.io/sidecar-injection: enabled", ", istio.io/dataplane-mode: ambient")
	annotations := d.pick("{}", "{}", "{linkerd.io/inject: enabled}", "{sidecar.istio.io/inject: 'true'}", "{sidecar.istio.io/nativeSidecar: 'true'}")
	probe := d.pick("httpGet: {path: /ready, port: 8080}", "httpGet: {path: /ready, port: 8080, scheme: HTTPS}", "tcpSocket: {port: 8080}", "grpc: {port: 8080}")
	beside := d.pick("", "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: enabled}}\n")
	for range d.IntN(3) {
		beside += "---\n" + d.object()
	}
	own["a/app/web.yaml"] = "apiVersion: apps/v1\nkind: " + d.pick("Deployment", "Deployment", "StatefulSet") + "\nmetadata: {name: web" + d.pick("", ", namespace: shop") + "}\n" +
		"spec:\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web" + marks + "}, annotations: " + annotations + "}\n    spec:\n      containers:\n" +
		"      - name: web\n        image: w\n        ports: [{containerPort: 8080, name: web}]\n" +
		"        resources: " + d.pick("{requests: {cpu: 1, memory: 1G}, limits: {cpu: 1, memory: 1G}}", "{}", "{requests: {cpu: 10m}}") + "\n" +
		"        readinessProbe: {" + probe + "}\n" + beside
	return own, other
}

// A look is what a run makes of the workload of a tree.
type look struct {
	text     string              // after rewriting
	messages []string            // of the rewriting and of check, but for what becomes of the probe
	verdict  transformer.Verdict // on its probe
}

// fates are the reasons of check that say what becomes of a probe.
var fates = []reason.Key{reason.InjectorUnknown, reason.WouldFail, reason.MayFail, reason.WouldFalselyPass, reason.MayFalselyPass}

// isOf reports whether a message is about an object of a file.
func isOf(m report.Message, file string) bool { return m.Object != nil && m.Object.File == file }

// severity returns that of what check says of the probe.
func (l look) severity() reason.Severity {
	switch v := l.verdict; {
	case v.StrictTLS == world.Unaffected:
		return ""
	case v.If != "":
		return reason.Warning
	}
	return reason.Error
}

func lookAt(t *testing.T, c *config.RewriteProbes, trees ...tree) (l look) {
	t.Helper()
	for _, mode := range []pipeline.Wants{pipeline.Judge, pipeline.Rewrite} {
		var streams []*manifest.Stream
		var web *manifest.Stream
		for _, files := range trees {
			for _, path := range slices.Sorted(maps.Keys(files)) {
				s, err := manifest.Read(path, []byte(files[path]))
				if err != nil {
					t.Fatalf("%v in\n%s", err, files[path])
				}
				streams = append(streams, s)
				if path == "a/app/web.yaml" {
					web = s
				}
			}
		}
		r := pipeline.Run(streams, c, mode)
		for _, m := range r.Messages {
			if m.Reason != reason.PortExposedElsewhere &&
				isOf(m, "a/app/web.yaml") &&
				!slices.Contains(fates, m.Reason) {
				l.messages = append(l.messages, words(m))
			}
		}
		if mode == pipeline.Judge {
			l.verdict = r.Templates[0].Probes[0]
			continue
		}
		out, err := web.Text()
		if err != nil {
			t.Fatal(err)
		}
		l.text = string(out)
	}
	return l
}

// What another branch of the folders says may be about another cluster: it changes nothing of
// what is written, and turns at most an error of check into a warning, which names its file.
func TestAnotherBranchOnlyMakesAnErrorAWarning(t *testing.T) {
	changed, heard, seen := 0, 0, make(map[reason.Severity]int)
	for seed := range uint64(1600) {
		rnd := rand.New(rand.NewPCG(seed, 43))
		own, other := randomTree(rnd)
		pick := drawer{rnd}.pick
		c := config.Default()
		c.Spec.AnsweredBy = pick("auto", "auto", "probe-proxy", "app")
		c.Spec.Mesh = pick("auto", "auto", "auto", "istio", "linkerd", "kuma", "consul")
		c.Spec.Istio.MTLS = pick("STRICT", "STRICT", "PERMISSIVE")
		if rnd.IntN(8) > 0 {
			c.Spec.Istio.InjectorRewrites = false
		}
		alone, both := lookAt(t, c, own), lookAt(t, c, own, other)
		seen[alone.severity()]++
		if near := lookAt(t, c, own, inFolder("a/app/", other)); near.text != alone.text {
			heard++
		}
		if both.text != alone.text || !slices.Equal(both.messages, alone.messages) {
			t.Errorf("seed %d: another branch changes what is written:\n%s\n%q\n%s\n%q\nfor\n%v\nbeside\n%v", seed, alone.text, alone.messages, both.text, both.messages, own, other)
		}
		if both.severity() == alone.severity() {
			continue
		}
		changed++
		names := slices.ContainsFunc(slices.Collect(maps.Keys(other)), func(path string) bool { return strings.Contains(both.verdict.If, path) })
		if alone.severity() != reason.Error || both.severity() != reason.Warning || !names {
			t.Errorf("seed %d: %q becomes %q (%+v) for\n%v\nbeside\n%v", seed, alone.severity(), both.severity(), both.verdict, own, other)
		}
	}
	t.Logf("%d verdicts changed, of %v; %d would near by", changed, seen, heard)
	if changed < 8 || heard < 80 || seen[""] < 100 || seen[reason.Warning] < 100 || seen[reason.Error] < 100 {
		t.Errorf("%d verdicts changed, of %v; in the workload's own folder %d would change the text", changed, seen, heard)
	}
}
