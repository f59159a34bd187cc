package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// If one probe goes to where istio-proxy answers, now or by the configuration before, a port that another one goes to is an edit.
func TestAPortBesideOneOfIstioProxysIsAnEdit(t *testing.T) {
	before := podOf("annotations: {a: b}\n", threeProbes)
	for name, c := range map[string]struct {
		opts, next []option
		annotation string // that comes later
		port       string // where the probes go
	}{
		"the port of the options":                        {[]option{port(15031)}, []option{port(15031)}, "a: b", "15031"},
		"the mesh's port":                                {nil, nil, "a: b", "15020"},
		"the mesh's port, and an annotation has another": {nil, nil, "a: b, status.sidecar.istio.io/port: \"15025\"", "15020"},
		"the mesh's port, and the options have another":  {nil, []option{port(15031)}, "a: b", "15020"},
	} {
		byProxy := answeredBy("istio-proxy")
		text := plan(t, before, append(c.opts, byProxy)...).text
		if strings.Count(text, "port: "+c.port) != 3 {
			t.Fatalf("%s:\n%s", name, text)
		}
		text = strings.Replace(text, "a: b", c.annotation, 1)
		if strings.Contains(text, "annotations: {") == false { // it is in lines of its own
			text = strings.Replace(text, ", status", "\n        status", 1)
		}
		edited := strings.Replace(text, "port: "+c.port, "port: 7000", 1)
		f := wantReason(t, plan(t, edited, append(c.next, byProxy)...), "probe-edited")
		if !strings.Contains(textOf(f), "Rewritten probes ask port "+c.port+",") {
			t.Errorf("%s: %s", name, textOf(f))
		}
		for _, f := range plan(t, text, append(c.next, byProxy)...).Findings {
			if f.Reason.String() == "probe-edited" {
				t.Errorf("%s, without an edit: %v", name, f)
			}
		}
	}
}

// The original of a probe keeps its number when the name of its port goes.
func TestAProbeIsAnsweredAfterItsPortLostItsName(t *testing.T) {
	text := plan(t, podOf("", app("ports: [{name: web, containerPort: 8080}]\nlivenessProbe: {httpGet: {path: /x, port: web}}"))).text
	for ports, fails := range map[string]bool{"{name: web, containerPort: 8080}": false, "{name: other, containerPort: 8080}": false, "{name: web, containerPort: 8081}": true} {
		v := plan(t, strings.Replace(text, "{name: web, containerPort: 8080}", ports, 1)).Probes[0]
		if (v.StrictTLS == world.Fails) != fails || v.If != "" {
			t.Errorf("%s: %+v", ports, v)
		}
	}
}

// A tcpSocket hook works only where Istio's injector may make another of it.
func TestATCPHookIsSaidToWorkWhereIstioMayInject(t *testing.T) {
	for metadata, may := range map[string]bool{"labels: {sidecar.istio.io/inject: \"true\"}": true, "": true, "labels: {sidecar.istio.io/inject: \"false\"}": false, "annotations: {sidecar.istio.io/rewriteAppHTTPProbers: \"false\"}": false} {
		r := plan(t, podOf(metadata, app("lifecycle: {preStop: {tcpSocket: {port: 80}}}")), answeredBy("probe-proxy"))
		f, found := r.has("hook-never-works")
		if found && strings.Contains(textOf(f), "unless Istio 1.25") != may {
			t.Errorf("%q: %s", metadata, textOf(f))
		}
		if !found && metadata != "annotations: {sidecar.istio.io/rewriteAppHTTPProbers: \"false\"}" {
			t.Errorf("%q: %v", metadata, r.Findings)
		}
	}
	for _, mesh := range []string{"linkerd", "kuma", "consul"} {
		if f := wantReason(t, plan(t, podOf(meshFacts[mesh].mark, app("lifecycle: {preStop: {tcpSocket: {port: 80}}}")), inMesh(mesh)), "hook-never-works"); strings.Contains(textOf(f), "Istio") {
			t.Errorf("%s: %s", mesh, textOf(f))
		}
	}
}

// Resources of which the options only take defaults away are no resources: a BestEffort pod stays one.
func TestABestEffortPodStaysOneWithoutResources(t *testing.T) {
	for _, given := range []field.Map{nil, {}, {{Key: "limits", Value: nil}}, {{Key: "limits", Value: nil}, {Key: "requests", Value: nil}}} {
		r := plan(t, podOf("", app(httpProbe)), answeredBy("probe-proxy"), func(o *transformer.Options) { o.ProbeProxy.Resources = given })
		if strings.Contains(r.text, "resources:") {
			t.Errorf("%v:\n%s", given, r.text)
		}
	}
}
