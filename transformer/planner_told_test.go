package transformer_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/nearby"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// told returns what a plan finds, whole, one finding a line.
func told(p transformer.Plan) string {
	var lines []string
	for _, f := range p.Findings {
		lines = append(lines, fmt.Sprintf("%s %s %s: %s", f.Severity, f.Reason.String(), cmp.Or(f.Container, "-"), textOf(f)))
	}
	return strings.Join(lines, "\n")
}

// wantTold checks all that a plan finds.
func wantTold(t *testing.T, p transformer.Plan, want ...string) {
	t.Helper()
	if got := told(p); got != strings.Join(want, "\n") {
		t.Errorf("is told\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// planNear plans the first object of the text, a Deployment, with all others around it.
func planNear(t *testing.T, yaml string, opts ...option) transformer.Plan {
	t.Helper()
	s, err := manifest.Read("mesh.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	p, err := transformer.New(options(opts...))
	if err != nil {
		t.Fatal(err)
	}
	o := s.Objects()[0]
	meta, err := o.Metadata()
	if err != nil {
		t.Fatal(err)
	}
	around := nearby.Collect([]*manifest.Stream{s}, rootNamespace).Of(o, meta.Namespace)
	in := transformer.Input{
		Kind: o.Kind(), APIVersion: o.APIVersion(), Workload: *meta, NamespaceName: meta.Namespace,
		Around: around, Path: field.NewPath("spec", "template"), Source: o.Value,
	}
	if _, err := o.Decode(in.Path, &in.Template); err != nil {
		t.Fatal(err)
	}
	plan := p.Plan(in)
	note(plan)
	for _, f := range plan.Findings {
		seen[f.Reason.String()] = true
	}
	return plan
}

// bare returns an object in which a pod's spec has no metadata.
func bare(spec string) string {
	return "apiVersion: example.com/v1\nkind: Bare\nmetadata:\n  name: web\nspec:\n" + indent("pod:", spec, 2)
}

func TestApp_noPlaceForAnAnnotation(t *testing.T) {
	r := plan(t, bare(app(httpProbe)), answeredBy("app"))
	wantTold(t, r.Plan, "error annotations-unknown -: `spec.pod`: This pod spec has no metadata, so the annotation `traffic.sidecar.istio.io/excludeInboundPorts` has no place. Give the entry of `podTemplates` its `metadata` path, such as spec.podMetadata. Or exclude the object.")
	wantTold(t, plan(t, bare(app("livenessProbe: {exec: {command: [x]}}")), answeredBy("app")).Plan)
}

// What Istio never injects needs none.
func TestWhereIstioInjectsNothingNoAnnotationIsNeeded(t *testing.T) {
	before := bare(app(httpProbe))
	r := plan(t, before, answeredBy("probe-proxy"), injects())
	if len(r.Findings) > 0 || len(r.Answer.AddsAnnotations) > 0 || r.Probes[0].State != transformer.WouldRewrite {
		t.Errorf("%v, %+v", r.Findings, r.Probes)
	}
	wantNoEdits(t, plan(t, r.text, answeredBy("probe-proxy"), injects()))
	wantText(t, restore(t, r.text), before)
	for _, options := range [][]option{{answeredBy("probe-proxy")}, {answeredBy("probe-proxy"), injects("*")}} {
		if r := plan(t, before, options...); r.text != before {
			t.Errorf("it is rewritten without its annotation:\n%s", r.text)
		} else {
			wantReason(t, r, "annotations-unknown")
		}
	}
}

// An annotation of the template takes the place of its Namespace's, so that it must have
// what that has.
func TestTheAppsPortsComeAfterThoseOfTheNamespace(t *testing.T) {
	const key = "config.linkerd.io/skip-inbound-ports"
	opts := []option{answeredBy("app"), inMesh("linkerd")}
	before := namespace("", key+`: "9000"`) + inNamespace(podOf("", app(httpProbe)))
	r := plan(t, before, opts...)
	wantParts(t, r.text, "      annotations:\n        "+key+`: "9000,8001"`+"\n        rewrite-probes.io/originals: '{\"inherited\":{\""+key+`":"9000"},"excluded":{"`+key+`":"8001"}}'`+"\n")
	wantNoEdits(t, plan(t, r.text, opts...))
	wantText(t, restore(t, r.text, opts...), before)
}

// Istio ignores an exclusion where the ports that it captures are listed.
func TestApp_portListedAsCaptured(t *testing.T) {
	before := podOf("annotations: {traffic.sidecar.istio.io/includeInboundPorts: \"8001\", traffic.sidecar.istio.io/excludeInboundPorts: \"8001\"}", app(httpProbe))
	r := plan(t, before, answeredBy("app"))
	if f := wantReason(t, r, "probe-port-captured"); textOf(f) != "`spec.template.metadata.annotations[traffic.sidecar.istio.io/includeInboundPorts]`: \"8001\" has the port of a probe, so Istio ignores `traffic.sidecar.istio.io/excludeInboundPorts`. Remove the port here, or set another `answeredBy`." {
		t.Errorf("%s", textOf(f))
	}
	wantText(t, r, before)
}

func TestJob_ordinaryProbeProxy(t *testing.T) {
	r := plan(t, jobWith("backoffLimit: 0\npodFailurePolicy: {rules: [{onExitCodes: {}}]}\n", "restartPolicy: OnFailure\n"), asContainer)
	wantTold(t, r.Plan, "error job-never-finishes -: `spec.template.spec`: An ordinary container probe-proxy would keep the pod from finishing. Set `probeProxy.placement: native`.")
}

// peerAuthentication returns one of the namespace shop, from another file than others.
func peerAuthentication(name, spec string) string {
	return "---\napiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata: {name: " + name + ", namespace: shop}\nspec: " + spec + "\n"
}

func TestWhatIsKnownOfMutualTLSIsSaidOnceForEachMode(t *testing.T) {
	const is = "known: injected: the label `sidecar.istio.io/inject: true`"
	probes := func(lines string) string {
		return goesTo("shop", podOf("labels: {app: web, sidecar.istio.io/inject: \"true\"}", app(lines)))
	}
	for _, c := range []struct{ name, yaml, want string }{
		{"nothing says it", probes(httpProbe), is},
		{"one mode for two probes", probes(httpProbe+"readinessProbe: {httpGet: {port: 80}}\n") + peerAuthentication("a", "{mtls: {mode: STRICT}}"), is + "; mTLS STRICT: PeerAuthentication shop/a at mesh.yaml:20"},
		{"one that is about the second port", probes(httpProbe+"readinessProbe: {httpGet: {port: 80}}\n") + peerAuthentication("a", "{selector: {matchLabels: {app: web}}, portLevelMtls: {8001: {mode: DISABLE}}}"), is + "; mTLS DISABLE: PeerAuthentication shop/a at mesh.yaml:20"},
		{"a probe that connects to nothing", probes("livenessProbe: {exec: {command: [x]}}\n") + peerAuthentication("a", "{mtls: {mode: STRICT}}"), is},
		{"two that contradict each other", probes(httpProbe) + peerAuthentication("a", "{mtls: {mode: STRICT}}") + peerAuthentication("a", "{mtls: {mode: DISABLE}}"), is + "; mTLS DISABLE: PeerAuthentication shop/a at mesh.yaml:24, or STRICT: PeerAuthentication shop/a at mesh.yaml:19"},
	} {
		if got := planNear(t, c.yaml).Known; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestOfTwoMeshesThatAreSwitchedOffTheFirstIsNamed(t *testing.T) {
	r := plan(t, podOf("annotations: {linkerd.io/inject: disabled, consul.hashicorp.com/connect-inject: \"false\"}", app(httpProbe)))
	wantTold(t, r.Plan, "info injection-off -: `spec.template.metadata.annotations[linkerd.io/inject]`: \"disabled\" turns off injection, so the mesh does not capture this pod. Probes not rewritten")
}

func TestTwoMeshesOfOnePodAreBothNamed(t *testing.T) {
	r := plan(t, podOf("labels: {sidecar.istio.io/inject: \"true\"}\nannotations: {linkerd.io/inject: enabled, consul.hashicorp.com/connect-inject: \"true\"}", app(httpProbe)))
	if f := wantReason(t, r, "two-meshes"); textOf(f) != "The pod is in Istio (the label `sidecar.istio.io/inject: true`) and in Linkerd (the annotation `linkerd.io/inject: enabled`). Remove one of the two." {
		t.Errorf("%s", textOf(f))
	}
}

func TestAPortOfAProbeThatCannotBeResolvedIsExplained(t *testing.T) {
	ports := "ports: [{name: a, containerPort: 80}, {containerPort: 81}, {name: high, containerPort: 70000}]\n"
	for _, c := range []struct{ ports, probe, want string }{
		{ports, "httpGet: {port: web}", "port-unresolved app: `%s.httpGet.port`: Not rewritten: container \"app\" has no port \"web\". Write `a`, `high` or a number, or declare \"web\" under `ports`."},
		{"", "httpGet: {port: web}", "port-unresolved app: `%s.httpGet.port`: Not rewritten: container \"app\" has no port \"web\". Write a number, or declare \"web\" under `ports`."},
		{ports, "httpGet: {port: \"\"}", "port-unresolved app: `%s.httpGet.port`: Not rewritten: container \"app\" has no port \"\". Write `a`, `high` or a number."},
		{ports, "httpGet: {port: '${PORT}'}", "port-unresolved app: `%s.httpGet.port`: Not rewritten: the port \"${PORT}\" looks like it has a variable. Run rewrite-probes after the substitution."},
		{ports, "tcpSocket: {port: \"80\"}", "port-unresolved app: `%s.tcpSocket.port`: Not rewritten: the API server refuses the string \"80\" as a port. Write the number without quotes."},
		{ports, "grpc: {port: a}", "port-unresolved app: `%s.grpc.port`: Not rewritten: the API server refuses the port name \"a\" in a grpc probe. Write the number, 80."},
		{ports, "grpc: {port: high}", "port-invalid app: `%s.grpc.port`: Not rewritten: the port 70000 is not from 1 to 65535. Write the app's port."},
		{ports, "httpGet: {port: high}", "port-invalid app: `%s.httpGet.port`: Not rewritten: the port 70000 is not from 1 to 65535. Write the app's port."},
		{ports, "httpGet: {port: 65536}", "port-invalid app: `%s.httpGet.port`: Not rewritten: the port 65536 is not from 1 to 65535. Write the app's port."},
		{ports, "httpGet: {port: -1}", "port-invalid app: `%s.httpGet.port`: Not rewritten: the port -1 is not from 1 to 65535. Write the app's port."},
		{ports, "httpGet: {port: 0}", "port-invalid app: `%s.httpGet.port`: Not rewritten: the port is missing or 0. Write the app's port."},
	} {
		r := plan(t, podOf("", app(c.ports+"livenessProbe: {"+c.probe+"}")))
		wantTold(t, r.Plan, "warning "+fmt.Sprintf(c.want, tmpl+"livenessProbe"))
	}
	for _, port := range []string{"1", "65535", "a"} {
		wantTold(t, plan(t, podOf("", app(ports+"livenessProbe: {httpGet: {port: "+port+"}}"))).Plan)
	}
}

func TestTheContainersToSkipAreReadWithBlanksAndGaps(t *testing.T) {
	const at = "`spec.template.metadata.annotations[rewrite-probes.io/skip-containers]`: \"b,, app,zz\" names the container "
	r := plan(t, podOf("annotations: {rewrite-probes.io/skip-containers: \"b,, app,zz\"}", app(httpProbe)+"- name: other\n  image: o\n"))
	wantTold(t, r.Plan, "warning unknown-container -: "+at+"\"b\", but the pod has only app, other. Correct the name.", "warning unknown-container -: "+at+"\"zz\", but the pod has only app, other. Correct the name.",
		"info skipped-container app: `spec.template.spec.containers[0].livenessProbe`: The annotation `rewrite-probes.io/skip-containers` names container \"app\". Remove the name from the annotation to rewrite the probes.")
}
