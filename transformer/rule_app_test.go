package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/beside"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// What the user wrote comes back as it was, whatever the list that we appended to looked
// like; what somebody else added since stays.
func TestTheAppsPortsAreTakenOutOfTheListAgain(t *testing.T) {
	const key = "traffic.sidecar.istio.io/excludeInboundPorts"
	probes := app("livenessProbe: {httpGet: {port: 8001}}\nreadinessProbe: {tcpSocket: {port: 8002}}")
	for _, c := range []struct{ user, written, edited string }{ // edited is what is left of a list with 7000 at its end
		{"9100", "9100,8002,8001", "9100,7000"},
		{" 9100 , ", " 9100 , 8002,8001", " 9100 ,7000"},
		{"", "8002,8001", "7000"},
		{"8002", "8002,8001", "8002,7000"},
		{"8001, 8002", "8001, 8002", "8001, 8002,7000"},
	} {
		before := podOf("annotations: {"+key+": \""+c.user+"\"}\n", probes)
		r := plan(t, before, answeredBy("app"))
		wantParts(t, r.text, key+": \""+c.written+"\"")
		wantText(t, restore(t, r.text), before)
		edited := strings.Replace(r.text, c.written+"\"", c.written+",7000\"", 1)
		wantParts(t, restore(t, edited).text, key+": \""+c.edited+"\"")
	}
}

// In each mesh the app answers itself on ports that its mesh is told to leave alone,
// unless a Service leads there.
func TestTheAppAnswersWhereNoServiceLeads(t *testing.T) {
	for mesh, key := range map[string]string{
		"istio": "traffic.sidecar.istio.io/excludeInboundPorts", "linkerd": "config.linkerd.io/skip-inbound-ports",
		"kuma": "traffic.kuma.io/exclude-inbound-ports", "consul": "consul.hashicorp.com/transparent-proxy-exclude-inbound-ports",
		"osm": "openservicemesh.io/inbound-port-exclusion-list", "fsm": "flomesh.io/inbound-port-exclusion-list",
	} {
		before := podOf("labels: {app: web}\n", app("livenessProbe: {httpGet: {port: 8001}}\nreadinessProbe: {tcpSocket: {port: 8002}}"))
		byApp := []option{inMesh(mesh), answeredBy("app")}
		r := plan(t, before, byApp...)
		wantParts(t, r.text, key+": \"8002,8001\"\n", "livenessProbe: {httpGet: {port: 8001}}")
		for _, v := range r.Probes {
			if v.Reason.String() != "excluded-port" || v.State != transformer.LeftAlone {
				t.Errorf("%s: %+v", mesh, v)
			}
		}
		again := plan(t, r.text, byApp...)
		wantNoEdits(t, again)
		if again.Probes[0].StrictTLS != world.Unaffected {
			t.Errorf("%s: once excluded: %+v", mesh, again.Probes[0])
		}
		wantText(t, restore(t, r.text), before)
		leads := &surroundings.Service{Neighbour: surroundings.Neighbour{Name: "web"}, Selector: field.KeyValues{{Key: "app", Value: "web"}}, Ports: []surroundings.ServicePort{{Port: 8002}}}
		r = among(t, beside.With(leads), before, byApp...)
		if f := wantReason(t, r, "port-exposed"); !strings.Contains(textOf(f), "8002") || !strings.Contains(f.Field.String(), "readinessProbe") || r.text != before {
			t.Errorf("%s: %s in\n%s", mesh, textOf(f), r.text)
		}
		// In another branch of the folders it is a warning, and the same is written.
		leads.Far = true
		r = among(t, beside.With(leads), before, byApp...)
		if f := wantReason(t, r, "port-exposed-elsewhere"); !strings.Contains(textOf(f), "Service web") || !strings.Contains(r.text, "8002,8001") {
			t.Errorf("%s: %s in\n%s", mesh, textOf(f), r.text)
		}
	}
}

// A plan that is refused says of nobody that it answers.
func TestARefusedPlanNamesNoAnswerer(t *testing.T) {
	probes := app("livenessProbe: {httpGet: {port: 8001}}\nreadinessProbe: {tcpSocket: {port: 8002}}")
	if r := plan(t, podOf("", probes), answeredBy("app")); r.Answer.By != "app" || len(r.Answer.AddsAnnotations) == 0 {
		t.Errorf("%+v", r.Answer)
	}
	unreadable := "- name: istio-proxy\n  image: auto\n  env: [{name: ISTIO_KUBE_APP_PROBERS, value: \"{\"}]\n"
	r := plan(t, podOf("", probes+unreadable), answeredBy("app"))
	wantReason(t, r, "env-unreadable")
	if r.Answer.By != "" || len(r.Answer.AddsAnnotations) != 0 || len(r.Edits) != 0 {
		t.Errorf("%+v", r.Answer)
	}
}

// Whoever else may start late, the app answers its own probes.
func TestTheAppAnswersTheStartupProbeOfItsNativeSidecar(t *testing.T) {
	for mesh, annotation := range map[string]string{"istio": "traffic.sidecar.istio.io/excludeInboundPorts", "kuma": "traffic.kuma.io/exclude-inbound-ports"} {
		before := podOf("", "initContainers:\n- name: i\n  image: i\n  restartPolicy: Always\n  startupProbe: {httpGet: {port: 81}}\n"+app(httpProbe))
		r := plan(t, before, inMesh(mesh), answeredBy("app"))
		if r.Probes[0].Reason.String() != "excluded-port" || !strings.Contains(r.text, annotation+": \"81,8001\"") {
			t.Errorf("%s: %+v in\n%s", mesh, r.Probes[0], r.text)
		}
		wantText(t, restore(t, r.text), before)
	}
}

// Linkerd skips the port by default, unless an annotation of the pod or its Namespace says otherwise.
func TestThePortsOfTheNamespaceAreRepeatedForTheAppToo(t *testing.T) {
	const key = "config.linkerd.io/skip-inbound-ports"
	before := strings.Replace(namespace("", "linkerd.io/inject: enabled"), "enabled\n", "enabled\n    "+key+": \"9\"\n", 1) + inNamespace(podOf("", app(httpProbe)))
	r := plan(t, before, answeredBy("app"))
	wantParts(t, r.text, key+": \"9,8001\"\n", "rewrite-probes.io/originals: '{\"inherited\":{\""+key+"\":\"9\"},\"excluded\":{\""+key+"\":\"8001\"}}'")
	wantNoEdits(t, plan(t, r.text, answeredBy("app")))
	wantText(t, restore(t, r.text), before)
	galera := podOf("annotations: {linkerd.io/inject: enabled}", app("ports: [{containerPort: 4567}]\nlivenessProbe: {tcpSocket: {port: 4567}}"))
	wantText(t, plan(t, galera, answeredBy("app")), galera)
}
