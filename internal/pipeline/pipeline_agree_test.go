package pipeline_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A drawn is a random manifest of a pod, of whatever surrounds it, and a functionConfig for it.
type drawn struct {
	*rand.Rand
	text strings.Builder
}

func (d *drawn) one(n int) bool { return d.IntN(n) == 0 }

func (d *drawn) of(all []string) string { return all[d.IntN(len(all))] }

// some returns each of some lines once in n times, as items of a flow mapping.
func (d *drawn) some(n int, all []string) string {
	var chosen []string
	for _, line := range all {
		key, _, _ := strings.Cut(line, ": ")
		isSame := func(x string) bool { return strings.HasPrefix(x, key+": ") }
		if d.one(n) && !slices.ContainsFunc(chosen, isSame) {
			chosen = append(chosen, line)
		}
	}
	return "{" + strings.Join(chosen, ", ") + "}"
}

var (
	drawnLabels = []string{
		`sidecar.istio.io/inject: "true"`, `sidecar.istio.io/inject: "false"`, "istio.io/dataplane-mode: ambient", "istio.io/rev: stable",
		"kuma.io/sidecar-injection: enabled", "service.istio.io/canonical-name: web",
	}
	drawnAnnotations = []string{
		`sidecar.istio.io/rewriteAppHTTPProbers: "false"`, `sidecar.istio.io/rewriteAppHTTPProbers: "true"`, `sidecar.istio.io/inject: "true"`,
		"linkerd.io/inject: enabled", `consul.hashicorp.com/connect-inject: "true"`, "openservicemesh.io/sidecar-injection: enabled",
		"flomesh.io/sidecar-injection: enabled", `rewrite-probes.io/rewrite: "false"`, "rewrite-probes.io/skip-containers: web",
		"sidecar.istio.io/interceptionMode: NONE", "inject.istio.io/templates: gateway", "inject.istio.io/templates: custom",
		`status.sidecar.istio.io/port: "15030"`, `status.sidecar.istio.io/port: "0"`, `traffic.sidecar.istio.io/excludeInboundPorts: "8080"`,
		`traffic.sidecar.istio.io/excludeInboundPorts: "a"`, `traffic.sidecar.istio.io/includeInboundPorts: "8080"`,
		`traffic.sidecar.istio.io/includeInboundPorts: ""`, `traffic.sidecar.istio.io/excludeInterfaces: eth0`, `sidecar.istio.io/nativeSidecar: "true"`,
		`kuma.io/application-probe-proxy-port: "0"`, `traffic.kuma.io/exclude-inbound-ips: 10.0.0.0/8`, `kuma.io/gateway: enabled`,
		"config.linkerd.io/default-inbound-policy: deny", `config.linkerd.io/skip-inbound-ports: "8080"`, `dapr.io/enabled: "true"`,
		`proxy.istio.io/config: "holdApplicationUntilProxyStarts: true"`, `proxy.istio.io/config: "statusPort: 15030"`,
		`ambient.istio.io/bypass-inbound-capture: "true"`, `openservicemesh.io/sidecar-injection: disabled`,
	}
	drawnSpecs = []string{
		"hostNetwork: true", "os: {name: windows}", "nodeSelector: {type: virtual-kubelet}", "restartPolicy: Never",
	}
	drawnPorts    = []string{"8080", "8080", "8081", "http", "http", "nowhere", "15020", "15099", "15008", "15021", "9001", "0", "$PORT", `"${PORT}"`, `"8080"`, "not_a_name"}
	drawnHandlers = []string{
		"httpGet: {port: PORT}", "httpGet: {path: /ready, port: PORT}", "httpGet: {path: /ready, port: PORT, scheme: HTTPS}", "httpGet: {path: /a, port: PORT, host: 127.0.0.1}",
		"httpGet: {path: //a, port: PORT}", "httpGet: {path: '/a b', port: PORT}", "httpGet: {port: PORT, httpHeaders: [{name: Host, value: a}]}", "httpGet: {port: PORT, scheme: ftp}",
		"httpGet: {path: /a, port: PORT}, timeoutSeconds: -1", "httpGet: {path: '/${A}', port: PORT}", "httpGet: {path: /a}", "httpGet: {port: PORT, more: 1}",
		"tcpSocket: {port: PORT}", "tcpSocket: {port: PORT}", "tcpSocket: {port: PORT, host: a.example}", "grpc: {port: PORT}", "grpc: {port: PORT, mode: TLS}",
		"exec: {command: [a]}", "exec: {command: [curl, -f, 'http://localhost:8080']}", "sleep: {seconds: 1}", "", "httpGet: {port: PORT}, tcpSocket: {port: PORT}",
		"httpGet: {path: /app-health/web/livez, port: 15020}", "httpGet: {path: /app-health/web/readyz, port: 15099}",
	}
	drawnNamespaces = []string{
		"labels: {istio-injection: enabled}", "labels: {istio-injection: enabled}", "labels: {istio-injection: disabled}", "labels: {istio.io/rev: stable}",
		"labels: {istio.io/dataplane-mode: ambient}", "labels: {kuma.io/sidecar-injection: enabled}", "annotations: {linkerd.io/inject: enabled}",
		"labels: {flomesh.io/monitored-by: fsm}", "labels: {linkerd.io/inject: enabled}", "labels: {}",
	}
	drawnObjects = []string{
		"apiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata: {name: a, namespace: shop}\nspec: {mtls: {mode: STRICT}}",
		"apiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata: {name: a, namespace: istio-system}\nspec: {mtls: {mode: PERMISSIVE}}",
		"apiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata: {name: b, namespace: shop}\nspec: {selector: {matchLabels: {pod-template-hash: x}}, mtls: {mode: DISABLE}}",
		"apiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata: {name: a, namespace: shop}\nspec: {rules: [{from: [{source: {principals: ['*']}}]}]}",
		"apiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata: {name: b, namespace: shop}\nspec: {action: DENY, rules: [{to: [{operation: {paths: [/ready]}}]}]}",
		"apiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata: {name: c, namespace: shop}\nspec: {action: CUSTOM, provider: {name: a}, rules: [{}]}",
		"apiVersion: networking.istio.io/v1\nkind: Sidecar\nmetadata: {name: a, namespace: shop}\nspec: {ingress: [{port: {number: 8080, protocol: HTTP, name: http}, defaultEndpoint: '127.0.0.1:9090'}]}",
		"apiVersion: networking.istio.io/v1\nkind: Sidecar\nmetadata: {name: a, namespace: shop}\nspec: {ingress: [{port: {number: 8080, protocol: HTTP, name: http}, defaultEndpoint: '127.0.0.1:8080'}]}",
		"apiVersion: networking.istio.io/v1alpha3\nkind: EnvoyFilter\nmetadata: {name: a, namespace: shop}\nspec: {configPatches: [{applyTo: HTTP_FILTER, match: {context: SIDECAR_INBOUND}, patch: {operation: INSERT_BEFORE, value: {name: a}}}]}",
		"apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}",
		"apiVersion: v1\nkind: Service\nmetadata: {name: db, namespace: shop}\nspec: {selector: {app: web}, ports: [{name: https, port: 80, targetPort: 8080}]}",
		"apiVersion: v1\nkind: Service\nmetadata: {name: grpc, namespace: shop}\nspec: {selector: {app: web}, ports: [{name: grpc, port: 80, targetPort: 8081}]}",
		"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: a, namespace: shop}\nspec: {podSelector: {}}",
		"apiVersion: policy.linkerd.io/v1beta3\nkind: Server\nmetadata: {name: a, namespace: shop}\nspec: {podSelector: {matchLabels: {app: web}}, port: 8080}",
		"apiVersion: policy.linkerd.io/v1beta3\nkind: HTTPRoute\nmetadata: {name: a, namespace: shop}\nspec: {parentRefs: [{kind: Server, group: policy.linkerd.io, name: a}], rules: [{matches: [{path: {value: /x}}]}]}",
		"apiVersion: v1\nkind: LimitRange\nmetadata: {name: a, namespace: shop}\nspec: {limits: [{type: Container, max: {memory: 8Mi}}]}",
		"apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: disabled}}",
	}
	drawnConfigs = []string{
		"answeredBy: probe-proxy", "answeredBy: istio-proxy", "answeredBy: app", "mesh: istio", "mesh: linkerd", "mesh: kuma", "mesh: consul", "mesh: osm", "mesh: fsm",
		"rewrite: [httpGet]", "rewrite: [tcpSocket, grpc]", "probeProxy: {placement: container}", "port: 15031",
	}
	drawnIstio = []string{
		"injectorRewrites: true", "injectorRewrites: false", "nativeSidecars: true", "nativeSidecars: false", "holdApplicationUntilProxyStarts: true",
		"mtls: PERMISSIVE", "mtls: STRICT", "injectedNamespaces: [shop]", "injectedNamespaces: []",
	}
	drawnKinds = []string{"Pod", "Deployment", "Deployment", "Job", "CronJob", "Service"}
)

func (d *drawn) container(name string, isInit bool) string {
	types := []string{"readinessProbe", "livenessProbe", "startupProbe"}
	c := "{name: " + name
	if !d.one(15) {
		c += ", image: a"
	}
	if isInit && !d.one(4) {
		c += ", restartPolicy: Always"
	}
	if d.one(2) {
		c += ", ports: [{name: http, containerPort: " + d.of([]string{"8080", "8080", "15020", "15099"}) + "}]"
	}
	for _, probe := range types {
		if d.one(2) {
			c += ", " + probe + ": {" + d.handler() + "}"
		}
	}
	if d.one(4) {
		c += ", lifecycle: {" + d.of([]string{"preStop", "postStart"}) + ": {" + d.handler() + "}}"
	}
	return c + "}"
}

func (d *drawn) handler() string {
	return strings.ReplaceAll(d.of(drawnHandlers), "PORT", d.of(drawnPorts))
}

// spec returns a pod spec as a flow mapping.
func (d *drawn) spec() string {
	spec := d.some(30, drawnSpecs)
	spec = strings.TrimSuffix(spec, "}")
	if spec != "{" {
		spec += ", "
	}
	if d.one(3) {
		spec += "initContainers: [" + d.container("init", true) + "], "
	}
	containers := d.container(d.of([]string{"web", "web", "web", "istio-proxy", "a/b", "probe-proxy"}), false)
	if d.one(3) {
		containers += ", " + d.container(d.of([]string{"app", "web", "envoy", "istio-proxy"}), false)
	}
	return spec + "containers: [" + containers + "]}"
}

// manifest draws an object that makes pods, and what is around it.
func (d *drawn) manifest() []byte {
	labels := strings.Replace(d.some(12, drawnLabels), "{", "{app: web, ", 1)
	annotations := d.some(30, drawnAnnotations)
	template := "metadata: {labels: " + labels + ", annotations: " + annotations + "}\nspec: " + d.spec()
	indented := func(n int) string {
		return strings.ReplaceAll("\n"+template, "\n", "\n"+strings.Repeat(" ", n)) + "\n"
	}
	const meta = "metadata: {name: web, namespace: shop}\n"
	switch kind := d.of(drawnKinds); kind {
	case "Pod":
		template = strings.Replace(template, "metadata: {", "metadata: {name: web, namespace: shop, ", 1)
		d.text.WriteString("apiVersion: v1\nkind: Pod" + indented(0))
	case "Deployment":
		d.text.WriteString("apiVersion: apps/v1\nkind: Deployment\n" + meta + "spec:\n  template:" + indented(4))
	case "Job":
		d.text.WriteString("apiVersion: batch/v1\nkind: Job\n" + meta + "spec:\n  template:" + indented(4))
	case "CronJob":
		d.text.WriteString("apiVersion: batch/v1\nkind: CronJob\n" + meta + "spec:\n  jobTemplate:\n    spec:\n      template:" + indented(8))
	case "Service":
		d.text.WriteString("apiVersion: serving.knative.dev/v1\nkind: Service\n" + meta + "spec:\n  template:" + indented(4))
	}
	if !d.one(4) {
		d.text.WriteString("---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop, " + d.of(drawnNamespaces) + "}\n")
	}
	for _, o := range drawnObjects {
		if d.one(len(drawnObjects)) {
			d.text.WriteString("---\n" + o + "\n")
		}
	}
	return []byte(d.text.String())
}

// config draws a functionConfig.
func (d *drawn) config() string {
	spec := strings.TrimSuffix(d.some(25, drawnConfigs), "}")
	if spec != "{" {
		spec += ", "
	}
	return "{apiVersion: rewrite-probes.io/v1alpha1, kind: RewriteProbes, metadata: {name: a}, spec: " + spec + "istio: " + d.some(8, drawnIstio) + "}}"
}

// drawnCase returns a case by its seed; c is nil if nobody may have such a functionConfig. Some manifests were rewritten before, and
// some of these edited since.
func drawnCase(t testing.TB, seed uint64) (text []byte, settings string, c *config.RewriteProbes) {
	d := &drawn{Rand: rand.New(rand.NewPCG(seed, 9))}
	text, settings = d.manifest(), d.config()
	c, err := config.DecodeText([]byte(settings))
	if err != nil {
		return nil, "", nil
	}
	if d.one(3) {
		s, _ := runWith(t, c, "in.yaml", bytes.Clone(text), pipeline.Rewrite)
		text = written(t, s)
		if d.one(2) {
			if edited := testutil.Mutated(text, []string{"8080", "1", "web", "HTTPS", "httpGet", "host: a, "}, seed); isManifest(edited) {
				text = edited
			}
		}
	}
	return text, settings, c
}

func isManifest(text []byte) bool {
	_, err := manifest.Read("in.yaml", bytes.Clone(text))
	return err == nil
}

// signs are those of explain, with what check must say of such a probe at least.
var signs = []string{"✗", "?", "✓", "–"}

// explained returns the sign of each probe in the text of explain.
func explained(t testing.TB, r *report.Report) (all []string, text string) {
	var b strings.Builder
	if err := report.ExplainFormats[0].Write(&b, r, report.Invocation{Screen: report.Screen{Verbose: true}}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		for _, sign := range signs {
			if strings.HasPrefix(line, "  ") && strings.Contains(line, "  "+sign+" ") {
				all = append(all, sign)
			}
		}
	}
	return all, b.String()
}

// ofCheck are the reasons by which check says what happens to a probe in the mesh.
var ofCheck = map[string]string{
	"would-fail": "✗", "would-falsely-pass": "✗", "opted-out": "✗", "may-fail": "?", "may-falsely-pass": "?", "injector-unknown": "?",
}

// contradiction returns how explain, check and the function contradict each other; "" if they do not.
func contradiction(t testing.TB, text []byte, c *config.RewriteProbes) string {
	_, judged := runWith(t, c, "in.yaml", bytes.Clone(text), pipeline.Judge)
	_, inspected := runWith(t, c, "in.yaml", bytes.Clone(text), pipeline.Inspect)
	_, rewritten := runWith(t, c, "in.yaml", bytes.Clone(text), pipeline.Rewrite)
	rows, page := explained(t, inspected)
	var probes []transformer.Verdict
	for _, of := range inspected.Templates {
		probes = append(probes, of.Probes...)
	}
	said := func(more string, args ...any) string {
		var b strings.Builder
		report.Print(&b, judged.Messages, true, false)
		return fmt.Sprintf(more, args...) + "\n\nexplain:\n" + page + "\ncheck:\n" + b.String()
	}
	if len(rows) != len(probes) {
		return said("explain shows %d of %d probes", len(rows), len(probes))
	}
	fails := 0
	for i, p := range probes {
		var here []string
		worst := transformer.Info
		for _, m := range judged.Messages {
			if m.Field.String() != p.Field.String() && !strings.HasPrefix(m.Field.String(), p.Field.String()+".") {
				continue
			}
			if sign, isVerdict := ofCheck[m.Reason.String()]; isVerdict {
				if m.Reason.String() == "opted-out" && m.Severity == transformer.Info {
					sign = "?"
				}
				here = append(here, sign)
				stays := p.State == transformer.LeftAlone && p.Reason.String() != "excluded-port" || p.State == transformer.Refused
				if stays && (m.Fix() == "Run rewrite-probes." || strings.Contains(m.Fix(), "works either way")) && m.Reason.String() != "injector-unknown" {
					return said("%s: a run changes nothing, and %q is the fix", p.Field, m.Fix())
				}
			}
			if m.Severity.Rank() < worst.Rank() {
				worst = m.Severity
			}
		}
		if rows[i] == "✗" {
			fails++
		}
		switch {
		case p.NeverWorks != "" && (len(here) > 0 || worst == transformer.Info):
			return said("%s never works, says explain, and check %v, %v", p.Field, here, worst)
		case p.NeverWorks != "":
		case rows[i] == "✗" || rows[i] == "?":
			if len(here) != 1 || here[0] != rows[i] {
				return said("%s is %s in explain, and %v in check", p.Field, rows[i], here)
			}
		case len(here) > 0:
			return said("%s is %s in explain, and %v in check", p.Field, rows[i], here)
		}
		if (p.State == transformer.Refused) != (report.Count(rewritten.Messages, transformer.Error) > 0) && p.State != transformer.LeftAlone && p.State != transformer.Rewritten {
			return said("%s is %q, and a run has %d errors", p.Field, p.State, report.Count(rewritten.Messages, transformer.Error))
		}
	}
	if n, _ := strconv.Atoi(strings.Fields(page)[0]); strings.Contains(page, " today") && fails > 0 && n != fails {
		return said("%d probes fail, and the verdict has another number", fails)
	}
	return ""
}

// TestExplainAndCheckAgree holds what explain shows of a probe against what check says of it, and against what a run does, for
// many inputs that nobody chose. REWRITE_PROBES_AGREE has another number of them.
func TestExplainAndCheckAgree(t *testing.T) {
	n := uint64(10_000)
	if testing.Short() {
		n = 500
	}
	if more, err := strconv.ParseUint(os.Getenv("REWRITE_PROBES_AGREE"), 10, 32); err == nil {
		n = more
	}
	wrong := 0
	for seed := range n {
		text, settings, c := drawnCase(t, seed)
		if c == nil {
			continue
		}
		if why := contradiction(t, text, c); why != "" {
			wrong++
			if wrong <= 3 {
				t.Errorf("seed %d: %s\nconfig: %s\n%s", seed, why, settings, text)
			}
		}
	}
	if wrong > 3 {
		t.Errorf("%d more contradictions", wrong-3)
	}
}
