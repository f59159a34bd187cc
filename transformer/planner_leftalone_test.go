package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A leftAlone is a template that stays as it is, with the one reason for that.
type leftAlone struct {
	name, yaml, reason string
	outcome            world.Outcome
	field              string
	opts               []option
}

const tmpl = "spec.template.spec.containers[0]."

// namespace returns a Namespace, before another object, with the given metadata.
func namespace(labels, annotations string) string {
	return "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: n\n" + indent("labels:", labels, 2) + indent("annotations:", annotations, 2) + "---\n"
}

func TestATemplateThatHasOptedOutIsLeftAlone(t *testing.T) {
	own := podOf("", app(httpProbe))
	for _, c := range []leftAlone{
		{name: "Istio's annotation", reason: "istio-opt-out", outcome: world.Fails, yaml: podOf("annotations: {sidecar.istio.io/rewriteAppHTTPProbers: \"False\"}", app(httpProbe)),
			field: "spec.template.metadata.annotations[sidecar.istio.io/rewriteAppHTTPProbers]"},
		{name: "ours on the template", reason: "opt-out", outcome: world.Fails, yaml: podOf("annotations: {rewrite-probes.io/rewrite: \"f\"}", app(httpProbe)),
			field: "spec.template.metadata.annotations[rewrite-probes.io/rewrite]"},
		{name: "ours on the workload", reason: "opt-out", outcome: world.Fails, yaml: strings.Replace(own, "  name: web\n", "  name: web\n  annotations: {rewrite-probes.io/rewrite: \"0\"}\n", 1),
			field: "metadata.annotations[rewrite-probes.io/rewrite]"},
		{name: "ours on the Namespace", reason: "opt-out", outcome: world.Fails, yaml: namespace("", `rewrite-probes.io/rewrite: "false"`) + own},
		{name: "host network, and what a mesh says of the pod", reason: "istio-opt-out", outcome: world.Unaffected, yaml: podOf("annotations: {sidecar.istio.io/rewriteAppHTTPProbers: \"false\"}", "hostNetwork: true\n"+app(httpProbe)), field: "spec.template.metadata.annotations[sidecar.istio.io/rewriteAppHTTPProbers]"},
		{name: "host network", reason: "host-network", outcome: world.Unaffected, yaml: podOf("", "hostNetwork: true\n"+app(httpProbe)), field: "spec.template.spec.hostNetwork"},
		{name: "injection label", reason: "injection-off", outcome: world.Unaffected, yaml: podOf("labels: {sidecar.istio.io/inject: \"false\"}\nannotations: {sidecar.istio.io/inject: \"true\"}", app(httpProbe)),
			field: "spec.template.metadata.labels[sidecar.istio.io/inject]"},
		{name: "injection annotation", reason: "injection-off", outcome: world.Unaffected, yaml: podOf("annotations: {sidecar.istio.io/inject: \"false\"}", app(httpProbe)),
			field: "spec.template.metadata.annotations[sidecar.istio.io/inject]"},
		{name: "kube-system", reason: "namespace-not-injected", outcome: world.Unaffected, yaml: strings.Replace(own, "  name: web\n", "  name: web\n  namespace: kube-system\n", 1)},
		{name: "disabled namespace", reason: "namespace-not-injected", outcome: world.Unaffected, yaml: namespace("istio-injection: disabled", "") + podOf(injected, app(httpProbe))},
		{name: "ambient pod, if its Namespace has no sidecars injected", reason: "ambient", outcome: world.Fails, yaml: podOf("labels: {istio.io/dataplane-mode: ambient}", app(httpProbe)),
			field: "spec.template.metadata.labels[istio.io/dataplane-mode]"},
		{name: "ambient namespace", reason: "ambient", outcome: world.Unaffected, yaml: namespace("istio.io/dataplane-mode: ambient", "") + own},
		{name: "out of an ambient namespace", reason: "ambient", outcome: world.Unaffected, yaml: namespace("istio.io/dataplane-mode: ambient", "") + podOf("labels: {istio.io/dataplane-mode: none}", app(httpProbe)),
			field: "spec.template.metadata.labels[istio.io/dataplane-mode]"},
		{name: "Istio's injector rewrites", reason: "injector-rewrites", outcome: world.Unaffected, yaml: podOf(injected, app(httpProbe)), opts: []option{injectorRewrites}},
		{name: "Istio's injector rewrites a namespace", reason: "injector-rewrites", outcome: world.Unaffected, yaml: own, opts: []option{injectorRewrites, injects("*")}},
		{name: "windows", reason: "windows", outcome: world.Unaffected, yaml: podOf("", "os: {name: windows}\n"+app(httpProbe))},
		{name: "windows nodes, by affinity", reason: "windows", outcome: world.Unaffected, yaml: podOf("", nodeAffinity("matchExpressions: [{key: pool, operator: Exists}, {key: kubernetes.io/os, operator: In, values: [windows]}]", "matchExpressions: [{key: beta.kubernetes.io/os, operator: In, values: [windows]}]")+app(httpProbe))},
		{name: "windows nodes, by the older label", reason: "windows", outcome: world.Unaffected, yaml: podOf("", "nodeSelector: {beta.kubernetes.io/os: windows}\n"+app(httpProbe))},
		{name: "windows nodes, by the runtime class", reason: "windows", outcome: world.Unaffected, yaml: podOf("", "runtimeClassName: windows-2019\n"+app(httpProbe))},
		{name: "windows nodes of one build", reason: "windows", outcome: world.Unaffected, yaml: podOf("", "nodeSelector: {node.kubernetes.io/windows-build: 10.0.17763}\n"+app(httpProbe))},
		{name: "virtual nodes", reason: "virtual-node", outcome: world.Unaffected, yaml: podOf("", "nodeSelector: {type: virtual-kubelet}\n"+app(httpProbe))},
		{name: "virtual nodes, by affinity", reason: "virtual-node", outcome: world.Unaffected, yaml: podOf("", nodeAffinity("matchExpressions: [{key: type, operator: In, values: [virtual-kubelet]}]")+app(httpProbe))},
		{name: "windows nodes", reason: "windows", outcome: world.Unaffected, yaml: podOf("", "nodeSelector: {kubernetes.io/os: windows}\n"+app(httpProbe))},
		{name: "a gRPC application without a proxy", reason: "not-sidecar-template", outcome: world.Unaffected, yaml: podOf(injected+"\nannotations: {inject.istio.io/templates: \"grpc-simple\"}", app(httpProbe)),
			field: "spec.template.metadata.annotations[inject.istio.io/templates]"},
		{name: "a gRPC application with an agent", reason: "not-sidecar-template", outcome: world.Unaffected, yaml: podOf(injected+"\nannotations: {inject.istio.io/templates: \"grpc-agent, gateway\"}", app(httpProbe)),
			field: "spec.template.metadata.annotations[inject.istio.io/templates]"},
		{name: "skipped container", reason: "skipped-container", outcome: world.Fails, yaml: podOf("annotations: {rewrite-probes.io/skip-containers: \"app , \"}", app(httpProbe)), field: tmpl + "livenessProbe"},
		{name: "skipped by the workload", reason: "skipped-container", outcome: world.Fails, yaml: strings.Replace(own, "  name: web\n", "  name: web\n  annotations: {rewrite-probes.io/skip-containers: app}\n", 1), field: tmpl + "livenessProbe"},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, transformer.Info) })
	}
}

// nodeAffinity returns the affinity of a pod that needs a node of one of the terms.
func nodeAffinity(terms ...string) string {
	return "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{" + strings.Join(terms, "}, {") + "}]}}}\n"
}

func TestAPodThatMayRunOnLinuxIsRewritten(t *testing.T) {
	const windows = "matchExpressions: [{key: kubernetes.io/os, operator: In, values: [windows]}]"
	for _, affinity := range []string{
		"runtimeClassName: kata-windows\n",
		"tolerations: [{key: virtual-kubelet.io/provider, operator: Exists}]\n",
		"nodeSelector: {type: fast}\n",
		"affinity: {podAffinity: {}}\n",
		"affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {" + windows + "}}]}}\n",
		nodeAffinity(windows, "matchExpressions: [{key: pool, operator: Exists}]"),
		nodeAffinity(windows, "matchFields: [{key: metadata.name, operator: In, values: [windows]}]"),
		nodeAffinity("matchExpressions: [{key: kubernetes.io/os, operator: In, values: [windows, linux]}]"),
		nodeAffinity("matchExpressions: [{key: kubernetes.io/os, operator: NotIn, values: [windows]}]"),
		nodeAffinity("matchExpressions: [{key: pool, operator: In, values: [windows]}]"),
	} {
		if r := plan(t, podOf("", affinity+app(httpProbe))); r.Probes[0].State != transformer.WouldRewrite {
			t.Errorf("%s%+v", affinity, r.Probes)
		}
	}
}

func TestAProbeThatTheMeshDoesNotCaptureIsLeftAlone(t *testing.T) {
	for _, annotations := range []string{
		`traffic.sidecar.istio.io/excludeInboundPorts: "1, 8001"`,
		`traffic.sidecar.istio.io/includeInboundPorts: ""`,
		`traffic.sidecar.istio.io/includeInboundPorts: "80,443"`,
	} {
		c := leftAlone{reason: "port-not-captured", outcome: world.Unaffected, yaml: podOf("annotations:\n  "+annotations, app(httpProbe)), field: tmpl + "livenessProbe.httpGet.port"}
		t.Run(annotations, func(t *testing.T) { c.check(t, transformer.Info) })
	}
	// Where ports are included by name, those excluded are not looked at.
	r := plan(t, podOf("annotations:\n  traffic.sidecar.istio.io/includeInboundPorts: \"8001\"\n  traffic.sidecar.istio.io/excludeInboundPorts: \"8001\"", app(httpProbe)))
	if len(r.Edits) == 0 {
		t.Errorf("port 8001 is captured: %v", r.Findings)
	}
}

// The rules of istio-init leave 15021, 15090 and the port of the status server
// alone, wherever that is.
func TestCapture_portsOfIstio(t *testing.T) {
	const (
		moved  = "status.sidecar.istio.io/port: \"15030\"\n"
		listed = "traffic.sidecar.istio.io/includeInboundPorts: \"15020,15090\"\n"
	)
	for _, c := range []struct {
		annotations, port string
		captured          bool
	}{
		{"", "15020", false}, {"", "15021", false}, {"", "15090", false}, {"", "15030", true},
		{moved, "15020", true}, {moved, "15021", false}, {moved, "15030", false},
		{listed, "15020", true}, {listed, "15090", true}, {listed, "15021", false},
		{moved + listed, "15030", false},
	} {
		r := plan(t, podOf("annotations:\n  a: b\n  "+strings.ReplaceAll(c.annotations, "\n", "\n  "), app("livenessProbe: {httpGet: {path: /healthz/ready, port: "+c.port+"}}")),
			answeredBy("probe-proxy"))
		if _, left := r.has("port-not-captured"); left == c.captured || c.captured != (len(r.Edits) > 0) {
			t.Errorf("%q, port %s: findings %v", c.annotations, c.port, r.Findings)
		}
	}
}

func TestWhatCannotBeRewrittenFaithfullyIsLeftAlone(t *testing.T) {
	for _, c := range []leftAlone{
		{name: "host", reason: "host-set", outcome: world.Fails, yaml: podOf("", app("livenessProbe: {httpGet: {host: 10.0.0.1, port: 80}}")), field: tmpl + "livenessProbe.httpGet.host"},
		{name: "tcp host", reason: "host-set", outcome: world.Unaffected, yaml: podOf("", app("livenessProbe: {tcpSocket: {host: localhost, port: 80}}")), field: tmpl + "livenessProbe.tcpSocket.host"},
		{name: "port name", reason: "port-unresolved", outcome: world.Unaffected, yaml: podOf("", app("ports: [{name: http, containerPort: 1}]\nlivenessProbe: {httpGet: {port: web}}")), field: tmpl + "livenessProbe.httpGet.port"},
		{name: "no ports", reason: "port-unresolved", outcome: world.Unaffected, yaml: podOf("", app("livenessProbe: {httpGet: {port: web}}")), field: tmpl + "livenessProbe.httpGet.port"},
		{name: "digits", reason: "port-unresolved", outcome: world.Unaffected, yaml: podOf("", app("livenessProbe: {httpGet: {port: \"8080\"}}")), field: tmpl + "livenessProbe.httpGet.port"},
		{name: "grpc by name", reason: "port-unresolved", outcome: world.Unaffected, yaml: podOf("", app("livenessProbe: {grpc: {port: web}}")), field: tmpl + "livenessProbe.grpc.port"},
		{name: "grpc by a name of the container", reason: "port-unresolved", outcome: world.Unaffected, yaml: podOf("", app("ports: [{name: web, containerPort: 80}]\nlivenessProbe: {grpc: {port: web}}")), field: tmpl + "livenessProbe.grpc.port"},
		{name: "no port", reason: "port-invalid", outcome: world.Unaffected, yaml: podOf("", app("livenessProbe: {httpGet: {path: /}}")), field: tmpl + "livenessProbe.httpGet.port"},
		{name: "high port", reason: "port-invalid", outcome: world.Unaffected, yaml: podOf("", app("ports: [{name: web, containerPort: 65536}]\nlivenessProbe: {tcpSocket: {port: web}}")), field: tmpl + "livenessProbe.tcpSocket.port"},
		{name: "scheme", reason: "scheme-invalid", outcome: world.Fails, yaml: podOf("", app("livenessProbe: {httpGet: {scheme: https, port: 1}}")), field: tmpl + "livenessProbe.httpGet.scheme"},
		{name: "no handler", reason: "not-one-handler", outcome: world.Unaffected, yaml: podOf("", app("livenessProbe: {periodSeconds: 1}")), field: tmpl + "livenessProbe"},
		{name: "two handlers", reason: "not-one-handler", outcome: world.Unaffected, yaml: podOf("", app("livenessProbe: {httpGet: {port: 1}, exec: {command: [x]}}")), field: tmpl + "livenessProbe"},
		{name: "tcp hook", reason: "hook-never-works", outcome: world.Unaffected, yaml: podOf("", app("lifecycle: {preStop: {tcpSocket: {port: 1}}}")), field: tmpl + "lifecycle.preStop.tcpSocket"},
		{name: "own probe on the probe port", reason: "aims-at-probe-port", outcome: world.Fails, yaml: podOf("", app("livenessProbe: {httpGet: {path: /x, port: 15099}}")), field: tmpl + "livenessProbe.httpGet.port"},
		{name: "init container", reason: "init-container", outcome: world.Unaffected, yaml: podOf("", "initContainers:\n- name: i\n  image: i\n  livenessProbe: {httpGet: {port: 1}}\ncontainers:\n- name: app\n  image: a\n"), field: "spec.template.spec.initContainers[0].livenessProbe"},
		{name: "native sidecar, istio-proxy", reason: "starts-before-answerer", outcome: world.Fails, yaml: podOf(injected, "initContainers:\n- name: i\n  image: i\n  restartPolicy: Always\n  livenessProbe: {httpGet: {port: 1}}\ncontainers:\n- name: app\n  image: a\n"), field: "spec.template.spec.initContainers[0].livenessProbe", opts: []option{answeredBy("istio-proxy")}},
		{name: "native sidecar, ordinary probe-proxy", reason: "starts-before-answerer", outcome: world.Fails, yaml: podOf("", "initContainers:\n- name: i\n  image: i\n  restartPolicy: Always\n  livenessProbe: {httpGet: {port: 1}}\ncontainers:\n- name: app\n  image: a\n"), field: "spec.template.spec.initContainers[0].livenessProbe", opts: []option{asContainer}},
		{name: "name with a slash", reason: "container-name", outcome: world.Fails, yaml: podOf("", "containers:\n- name: a/b\n  image: a\n  livenessProbe: {httpGet: {port: 1}}\n"), field: tmpl + "name"},
		{name: "name given twice", reason: "container-name", outcome: world.Fails, yaml: podOf("", "containers:\n- name: a\n  image: a\n  livenessProbe: {httpGet: {port: 1}}\n- name: a\n  image: a\n"), field: tmpl + "name"},
		{name: "dangling", reason: "dangling", outcome: world.Fails, yaml: podOf("", app("livenessProbe: {httpGet: {path: /app-health/app/livez, port: 15020}}")), field: tmpl + "livenessProbe"},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, transformer.Warning) })
	}
}

func (c leftAlone) check(t *testing.T, severity transformer.Severity) {
	t.Helper()
	r := plan(t, c.yaml, c.opts...)
	if got := r.reasons(); len(got) != 1 || got[0] != c.reason || r.Findings[0].Severity != severity {
		t.Fatalf("findings %+v, want the one %s %s", r.Findings, severity, c.reason)
	}
	if f := r.Findings[0]; f.Field.String() != c.field || c.field != "" && !strings.Contains(textOf(f), "`"+c.field+"`") {
		t.Errorf("field %s, message %q; want %s", f.Field, textOf(f), c.field)
	}
	if v := r.Probes[0]; v.State != transformer.LeftAlone || v.Reason.String() != c.reason || v.StrictTLS != c.outcome || v.After != "" {
		t.Errorf("verdict %+v, want %s, %s", v, c.reason, c.outcome)
	}
	if cause := r.Findings[0].Reason.Doc().Cause; !strings.Contains(c.yaml, "lifecycle") && c.outcome == world.Unaffected && strings.Contains(cause, "without a mesh") {
		t.Errorf("a mesh changes nothing for the probe, no failure is counted, and the cause of %s is %q", c.reason, cause)
	}
	if r.text != c.yaml {
		t.Errorf("must be left alone:\n%s", r.text)
	}
}

func TestATemplateWithNothingToRewriteHasNothingToSay(t *testing.T) {
	for _, yaml := range []string{
		podOf("", "containers:\n- name: app\n  image: a\n"),
		podOf("annotations: {rewrite-probes.io/rewrite: \"false\"}", app("livenessProbe: {exec: {command: [x]}}")),
		podOf("", "hostNetwork: true\n"+app("livenessProbe: null")),
	} {
		if r := plan(t, yaml); len(r.Findings) != 0 || len(r.Edits) != 0 {
			t.Errorf("%v %v for\n%s", r.Findings, r.Edits, yaml)
		}
	}
}

func TestOurAnnotationThatSaysTrueIsNoOptOut(t *testing.T) {
	r := plan(t, namespace("", `rewrite-probes.io/rewrite: "true"`)+podOf("annotations:\n  rewrite-probes.io/rewrite: \"1\"", app(httpProbe)))
	if len(r.Findings) != 0 || len(r.Edits) == 0 {
		t.Errorf("%v", r.Findings)
	}
}

// Whether such a pod is injected does not matter: if it is, Istio's injector rewrites the probes,
// and if it is not, they work as they are.
func TestRewriter_askedForInEveryWorld(t *testing.T) {
	for _, value := range []string{"true", "True", "TRUE", "t", "T", "1"} {
		const key = "sidecar.istio.io/rewriteAppHTTPProbers"
		asks := podOf("annotations:\n  "+key+": \""+value+"\"\n", app(httpProbe))
		unmarked := podOf("", app(httpProbe))
		for name, c := range map[string]struct {
			around string
			opts   []option
		}{
			"nothing is known":             {"", nil},
			"probe-proxy is to answer":     {"", []option{answeredBy("probe-proxy")}},
			"the app is to answer":         {"", []option{answeredBy("app")}},
			"the options deny it":          {"", []option{injectorRewritesNothing}},
			"the Namespace says nothing":   {namespace("", ""), nil},
			"the Namespace has a variable": {namespace("istio-injection: ${INJECTION}", ""), nil},
			"injected":                     {namespace("istio-injection: enabled", ""), nil},
			"injected by the options":      {"", []option{injects("*")}},
		} {
			before := c.around + inNamespace(asks)
			r := plan(t, before, c.opts...)
			wantReason(t, r, "injector-rewrites")
			wantText(t, r, before)
			if v := r.Probes[0]; v.State != transformer.LeftAlone || v.StrictTLS != world.Unaffected {
				t.Errorf("%s, %s: %+v", value, name, v)
			}
			// What was rewritten before somebody asked for it goes back.
			rewritten := plan(t, inNamespace(unmarked), answeredBy("probe-proxy")).text
			rewritten = c.around + strings.Replace(rewritten, key+": \"false\"", key+": \""+value+"\"", 1)
			wantText(t, plan(t, rewritten, c.opts...), before)
		}
	}
}

func TestOptOut_unreadable(t *testing.T) {
	for name, yaml := range map[string]string{
		"Istio's":   podOf("annotations: {sidecar.istio.io/rewriteAppHTTPProbers: \"no\"}", app(httpProbe)),
		"empty":     podOf("annotations: {sidecar.istio.io/rewriteAppHTTPProbers: \"\"}", app(httpProbe)),
		"ours":      podOf("annotations: {rewrite-probes.io/rewrite: disabled}", app(httpProbe)),
		"Namespace": namespace("", "rewrite-probes.io/rewrite: off") + podOf("", app(httpProbe)),
	} {
		f := wantReason(t, plan(t, yaml), "annotation-invalid")
		if !strings.Contains(textOf(f), "neither true nor false") {
			t.Errorf("%s: %q", name, textOf(f))
		}
	}
}

// A port that is missing is no port 0, in the probe's description and as the
// value that is reported.
func TestAnOmittedPortIsNotReportedAsZero(t *testing.T) {
	for probe, want := range map[string]string{
		"{httpGet: {path: /x}}":          "httpGet :<no port>/x",
		"{tcpSocket: {}}":                "tcpSocket :<no port>",
		"{grpc: {service: a}}":           "grpc :<no port> a",
		"{httpGet: {port: 0, path: /x}}": "httpGet :<no port>/x",
	} {
		r := plan(t, podOf("", app("livenessProbe: "+probe)))
		if f := wantReason(t, r, "port-invalid"); r.Probes[0].Before != want || f.Current != nil || !strings.Contains(textOf(f), "is missing or 0") {
			t.Errorf("%s: %q, current value %v: %s", probe, r.Probes[0].Before, f.Current, textOf(f))
		}
	}
	high := plan(t, podOf("", app("livenessProbe: {tcpSocket: {port: 65536}}")))
	if f := wantReason(t, high, "port-invalid"); f.Current != 65536 || high.Probes[0].Before != "tcpSocket :65536" {
		t.Errorf("%q, current value %v", high.Probes[0].Before, f.Current)
	}
}

func TestAnnotation_onTheWorkload(t *testing.T) {
	own := podOf("", app(httpProbe))
	r := plan(t, strings.Replace(own, "  name: web\n", "  name: web\n  annotations: {sidecar.istio.io/rewriteAppHTTPProbers: \"false\"}\n", 1))
	f := wantReason(t, r, "annotation-misplaced")
	if !strings.Contains(textOf(f), "Move it to `spec.template.metadata.annotations`") || len(r.Edits) == 0 {
		t.Errorf("%q, %d edits", textOf(f), len(r.Edits))
	}
	if want := "metadata.annotations[sidecar.istio.io/rewriteAppHTTPProbers]"; f.Field.String() != want || f.Current != "false" {
		t.Errorf("it is reported at %s with the value %v, want %s and false", f.Field, f.Current, want)
	}
	bare := plan(t, "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  annotations: {sidecar.istio.io/rewriteAppHTTPProbers: \"false\"}\nspec:\n"+indent("", app(httpProbe), 0)[1:])
	if got := bare.reasons(); len(got) != 1 || got[0] != "istio-opt-out" {
		t.Errorf("a Pod's own metadata is its template's: %v", got)
	}
}

func TestASkippedContainerThatIsNotThereIsWarnedOf(t *testing.T) {
	r := plan(t, podOf("annotations: {rewrite-probes.io/skip-containers: \"ap\"}", app(httpProbe)))
	if f := wantReason(t, r, "unknown-container"); !strings.Contains(textOf(f), `"ap"`) || len(r.Edits) == 0 {
		t.Errorf("%q, %d edits", textOf(f), len(r.Edits))
	}
}

func TestAPortListThatHoldsSomethingElseIsWarnedOf(t *testing.T) {
	r := plan(t, podOf("annotations: {traffic.sidecar.istio.io/excludeInboundPorts: \"80,http\"}", app(httpProbe)))
	if f := wantReason(t, r, "port-list-invalid"); !strings.Contains(textOf(f), `"http"`) || len(r.Edits) == 0 {
		t.Errorf("%q, %d edits", textOf(f), len(r.Edits))
	}
}

func TestACollisionIsAnErrorThatLeavesTheObjectAlone(t *testing.T) {
	hostile := func(o *transformer.Options) {
		o.ProbeProxy.SecurityContext = field.Map{{Key: "runAsUser", Value: nil}, {Key: "runAsGroup", Value: nil}}
	}
	for _, c := range []struct {
		name, yaml, reason, says string
		opts                     []option
	}{
		{"name", podOf("", app(httpProbe)+"- name: probe-proxy\n  image: mine\n"), "name-taken", "probeProxy.name", nil},
		{"port of istio-proxy, which the config wants", podOf(injected, app(httpProbe+"ports: [{containerPort: 15020}]")), "port-taken", "answeredBy: probe-proxy", []option{answeredBy("istio-proxy")}},
		{"port", podOf("", app(httpProbe+"ports: [{containerPort: 15099}]")), "port-taken", "15099", nil},
		{"port of a sidecar", podOf("", app(httpProbe)+"- name: b\n  image: b\n  ports: [{containerPort: 15098, protocol: TCP}]\n"), "port-taken", "15098", []option{port(15098)}},
		{"port of a probe that goes there", podOf("", app(httpProbe)+"- name: b\n  image: b\n  livenessProbe: {tcpSocket: {port: 15099}}\n"), "port-taken", "15099", []option{injectorRewritesNothing}},
		{"port beside istio-proxy", podOf(injected, app(httpProbe+"ports: [{containerPort: 15020}]")), "port-taken", "15020", nil},
		{"both on one port", podOf(injected, app(httpProbe)), "port-collision", "answeredBy: istio-proxy", []option{answeredBy("probe-proxy"), port(15020)}},
		{"both on one port, if Istio injects", podOf("", app(httpProbe)), "port-collision", "such as 15099", []option{port(15020)}},
		{"both on one port, if Istio injects, by config", podOf("annotations: {proxy.istio.io/config: \"statusPort: 15098\"}", app(httpProbe)), "port-collision", "15098", []option{port(15098)}},
		{"on the moved status port", podOf(injected+"annotations: {status.sidecar.istio.io/port: \"15099\"}", app(httpProbe)), "port-collision", "such as 15098", []option{answeredBy("probe-proxy")}},
		{"status port 0", podOf(injected+"annotations: {status.sidecar.istio.io/port: \"0\"}", app(httpProbe)), "status-port-invalid", "1 to 65535", nil},
		{"status port text", podOf(injected+"annotations: {status.sidecar.istio.io/port: \"x\"}", app(httpProbe)), "status-port-invalid", "1 to 65535", nil},
		{"status port with a space", podOf(injected+"annotations: {status.sidecar.istio.io/port: \" 15099\"}", app(httpProbe)), "status-port-invalid", "1 to 65535", nil},
		{"status port of Envoy", podOf(injected+"annotations: {status.sidecar.istio.io/port: \"15021\"}", app(httpProbe)), "status-port-invalid", "must be from 1 to 65535, and none of 15000, 15001, ", nil},
		{"captured", podOf("annotations: {traffic.sidecar.istio.io/includeInboundPorts: \"8001,15099\"}", app(httpProbe)), "probe-port-captured", "15099", nil},
		{"job", "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: j\nspec:\n  template:\n    spec:\n" + indent("", app(httpProbe), 4)[5:], "job-never-finishes", "placement: native", []option{asContainer}},
		{"pod that ends", podOf("", "restartPolicy: OnFailure\n"+app(httpProbe)), "job-never-finishes", "placement: native", []option{asContainer}},
		{"pod that ends, whatever happens", podOf("", "restartPolicy: Never\n"+app(httpProbe)), "job-never-finishes", "placement: native", []option{asContainer}},
		{"uid", podOf("", "securityContext: {runAsUser: 1337}\n"+app(httpProbe)), "proxy-uid", "1337", []option{hostile}},
		{"gid", podOf("", "securityContext: {runAsGroup: 1337}\n"+app(httpProbe)), "proxy-uid", "1337", []option{hostile}},
		{"unreadable", podOf("", app(httpProbe)+"- name: istio-proxy\n  image: auto\n  env: [{name: ISTIO_KUBE_APP_PROBERS, value: \"{\"}]\n"), "env-unreadable", "JSON", nil},
		{"one bad entry", podOf("", app(httpProbe)+"- name: istio-proxy\n  image: auto\n  env: [{name: ISTIO_KUBE_APP_PROBERS, value: '{\"/x\":null}'}]\n"), "env-unreadable", "/x", nil},
		{"elsewhere", podOf("", app(httpProbe)+"- name: istio-proxy\n  image: auto\n  env: [{name: ISTIO_KUBE_APP_PROBERS, valueFrom: {configMapKeyRef: {name: a, key: b}}}]\n"), "env-unreadable", "elsewhere", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := plan(t, c.yaml, c.opts...)
			f := wantReason(t, r, c.reason)
			if f.Severity != transformer.Error || !strings.Contains(textOf(f), c.says) {
				t.Errorf("%+v must be an error and say %q", f, c.says)
			}
			if r.text != c.yaml {
				t.Errorf("must be left alone:\n%s", r.text)
			}
			if v := r.Probes[0]; v.State != transformer.Refused || v.Reason.String() == "" || v.StrictTLS != world.Fails {
				t.Errorf("verdict %+v", v)
			}
		})
	}
}

func TestWhatOnlyLooksLikeACollisionIsNone(t *testing.T) {
	for name, yaml := range map[string]string{
		"udp":              podOf("", app(httpProbe+"ports: [{containerPort: 15099, protocol: UDP}]")),
		"sctp":             podOf("", app(httpProbe+"ports: [{containerPort: 15099, protocol: SCTP}]")),
		"own uid":          podOf("", "securityContext: {runAsUser: 1337}\n"+app(httpProbe)),
		"nothing to do":    podOf("", "containers:\n- name: probe-proxy\n  image: mine\n"),
		"istio's own port": podOf("", app(httpProbe)+"- name: istio-proxy\n  image: auto\n  ports: [{containerPort: 15020}]\n"),
	} {
		if r := plan(t, yaml); len(r.Findings) != 0 {
			t.Errorf("%s: %v", name, r.Findings)
		}
	}
}

// What is proposed for a port in quotes is a number that is a port.
func TestANumberInQuotesIsProposedWithoutThem(t *testing.T) {
	for quoted, want := range map[string]any{"8080": 8080, "0": nil, "99999999999999999999": nil, "web": nil} {
		f := wantReason(t, plan(t, podOf("", app("livenessProbe: {httpGet: {port: \""+quoted+"\"}}"))), "port-unresolved")
		if f.Proposed != want || f.Current != quoted {
			t.Errorf("%q: current %v, proposed %v", quoted, f.Current, f.Proposed)
		}
	}
}

// An empty name is that of no port and of no container.
func TestAnEmptyNameIsNone(t *testing.T) {
	r := plan(t, podOf("", app("ports: [{containerPort: 80}]\nlivenessProbe: {httpGet: {port: \"\"}}")))
	if wantReason(t, r, "port-unresolved"); len(r.Edits) > 0 {
		t.Errorf("edits %v", r.Edits)
	}
	r = plan(t, podOf("", "containers:\n- image: app\n  livenessProbe: {httpGet: {port: 80}}\n"))
	if wantReason(t, r, "container-name"); len(r.Edits) > 0 {
		t.Errorf("edits %v", r.Edits)
	}
}

// Containers are named for each workload, and not for a whole Namespace.
func TestANamespaceSkipsNoContainers(t *testing.T) {
	r := plan(t, namespace("", "rewrite-probes.io/skip-containers: app, other")+inNamespace(podOf("", app(httpProbe))))
	if wantReason(t, r, "annotation-misplaced"); r.Probes[0].State != transformer.WouldRewrite {
		t.Errorf("%+v", r.Probes[0])
	}
}

// A pod that says that it is for Linux is one like any other.
func TestAPodForLinuxIsRewritten(t *testing.T) {
	for _, spec := range []string{"os: {name: linux}\n", "nodeSelector: {kubernetes.io/os: linux}\n"} {
		if r := plan(t, podOf("", spec+app(httpProbe))); r.Probes[0].State != transformer.WouldRewrite {
			t.Errorf("%s: %+v", spec, r.Probes[0])
		}
	}
}
