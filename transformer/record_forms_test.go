package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// originals returns the value of the annotation rewrite-probes.io/originals.
func (r result) originals() string {
	_, v, _ := strings.Cut(r.text, "rewrite-probes.io/originals: '")
	v, _, _ = strings.Cut(v, "'\n")
	return v
}

// TestWhatTheEnvHasNoRoomForIsCarriedInOneAnnotation, only where there is such
// a thing, and comes back.
func TestWhatTheEnvHasNoRoomForIsCarriedInOneAnnotation(t *testing.T) {
	ports := "ports: [{name: http, containerPort: 8001}]\n"
	probe := func(handler string) string {
		return podOf("", app(ports+"livenessProbe:\n  "+handler))
	}
	carried := func(handler string) string {
		return `{"handlers":{"/app-health/app/livez":{` + handler + `}}}`
	}
	carriedAs := func(handler, written string) string {
		written = `"texts":{"/app-health/app/livez":{` + written + `}}}`
		if handler == "" {
			return "{" + written
		}
		return strings.TrimSuffix(carried(handler), "}") + "," + written
	}
	plain := app(httpProbe)
	for _, c := range []struct {
		name, yaml, want string
		opts             []option
	}{
		{"nothing", probe("httpGet: {path: /foo, port: 8001, scheme: HTTPS}"), "", nil},
		{"an absent scheme, and headers", probe("httpGet: {path: /foo, port: 8001, httpHeaders: [{name: A, value: secret}]}"), "", nil},
		{"tcpSocket", probe("tcpSocket:\n    port: 8001"), "", nil},
		{"grpc", probe("grpc:\n    port: 8001\n    service: a.B\n    mode: TLS"), "", nil},
		{"a protocol at the end", probe("httpGet: {path: /foo, port: 8001, protocol: HTTP2}"), "", nil},
		{"a named port, and no header", probe("httpGet: {path: /foo, httpHeaders: [{name: A, value: secret}], port: http}"), carried(`"httpGet":{"path":"/foo","port":"http"}`), nil},
		{"an absent path", probe("httpGet: {port: 8001}"), carried(`"httpGet":{"port":8001}`), nil},
		{"an empty path", probe("httpGet: {path: '', port: 8001}"), carried(`"httpGet":{"path":"","port":8001}`), nil},
		{"a null path", probe("httpGet: {path: null, port: 8001}"), carried(`"httpGet":{"path":null,"port":8001}`), nil},
		{"a named port of tcpSocket", probe("tcpSocket:\n    port: http"), carried(`"tcpSocket":{"port":"http"}`), nil},
		{"an order of its own", probe("grpc:\n    service: a.B\n    port: 8001"), carried(`"grpc":{"service":"a.B","port":8001}`), nil},
		{"an empty service", probe("grpc:\n    port: 8001\n    service: \"\""), carried(`"grpc":{"port":8001,"service":""}`), nil},
		{"quotes of a port's name", probe("httpGet: {path: /foo, port: \"http\"}"),
			carriedAs(`"httpGet":{"path":"/foo","port":"http"}`, `"port":"port: \"http\""`), nil},
		{"quotes that stay", probe("httpGet: {path: \"/foo\", port: 8001, scheme: \"HTTPS\"}"), "", nil},
		{"quotes of a service, and the comment behind it", probe("grpc:\n    port: 8001\n    service: \"a.B\" # why"),
			carriedAs("", `"service":"service: \"a.B\" # why"`), nil},
		{"a comment above a removed field", probe("grpc:\n    port: 8001\n    # why\n    service: a.B"), carriedAs("", `"service":"\nservice: a.B"`), nil},
		{"another word for a null path", probe("httpGet: {path: ~, port: 8001}"),
			carriedAs(`"httpGet":{"path":null,"port":8001}`, `"path":"path: ~"`), nil},
		{"a path over lines", probe("httpGet:\n    path: >-\n      /foo\n    port: 8001"), carriedAs("", `"path":"path: >-\n  /foo"`), nil},
		{"a tag", probe("httpGet: {path: /foo, port: !!int \"8001\"}"), carriedAs("", `"port":"port: !!int \"8001\""`), nil},
		{"an alias", podOf("", app("livenessProbe: &p\n  tcpSocket:\n    port: 8001\nreadinessProbe: *p")),
			`{"texts":{"/app-health/app/readyz":{"readinessProbe":"readinessProbe: *p"}}}`, nil},
		{"an alias of a handler", podOf("", app("livenessProbe:\n  tcpSocket: &h\n    port: 8001\nreadinessProbe:\n  tcpSocket: *h # the same")),
			`{"texts":{"/app-health/app/readyz":{"tcpSocket":"tcpSocket: *h"}}}`, nil},
		{"a protocol at the start", probe("httpGet: {protocol: HTTP2, path: /foo, port: 8001}"), carried(`"httpGet":{"protocol":"HTTP2","path":"/foo","port":8001}`), nil},
		{"a protocol in the middle", probe("httpGet: {path: /foo, protocol: HTTP2, port: 8001}"), carried(`"httpGet":{"path":"/foo","protocol":"HTTP2","port":8001}`), nil},
		{"a switch that says the default", podOf("annotations:\n  sidecar.istio.io/rewriteAppHTTPProbers: \"true\"\n", plain),
			`{"annotations":{"sidecar.istio.io/rewriteAppHTTPProbers":"true"}}`, []option{injects(), answeredBy("probe-proxy")}},
		{"a switch that is not touched", podOf("annotations:\n  sidecar.istio.io/rewriteAppHTTPProbers: \"true\"\n", plain), "", []option{inMesh("linkerd")}},
		{"an excluded port that is ours too", podOf("annotations:\n  traffic.sidecar.istio.io/excludeInboundPorts: \"80,15099\"\n", plain),
			`{"annotations":{"traffic.sidecar.istio.io/excludeInboundPorts":"80,15099"}}`, nil},
		{"an excluded port besides ours", podOf("annotations:\n  traffic.sidecar.istio.io/excludeInboundPorts: \"80\"\n", plain), "", nil},
		{"an empty exclusion", podOf("annotations:\n  traffic.sidecar.istio.io/excludeInboundPorts: \"\"\n", plain),
			`{"annotations":{"traffic.sidecar.istio.io/excludeInboundPorts":""}}`, nil},
		{"an empty list", podOf("", "initContainers: []\n"+plain), `{"empty":{"initContainers":[]}}`, nil},
		{"an empty list that stays so", podOf("", "initContainers: []\n"+plain), "", []option{asContainer}},
		{"another word for no list", podOf("", "initContainers: ~ # none\n"+plain), `{"empty":{"initContainers":null},"texts":{"initContainers":"initContainers: ~"}}`, nil},
		{"no word for no list", podOf("", "initContainers:\n"+plain), `{"empty":{"initContainers":null},"texts":{"initContainers":"initContainers:"}}`, nil},
		{"an empty env", podOf("", plain+"- name: istio-proxy\n  image: auto\n  env: []\n"), `{"empty":{"env":[]}}`, []option{answeredBy("istio-proxy")}},
		{"empty annotations", podOf("annotations: {}\n", plain), `{"empty":{"annotations":{}}}`, nil},
		{"null metadata", strings.Replace(podOf("", plain), "    spec:", "    metadata: null\n    spec:", 1),
			`{"empty":{"metadata":null}}`, nil},
		{"empty annotations that stay so", podOf("annotations: {}\n", plain), "", []option{inMesh("osm")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := plan(t, c.yaml, c.opts...)
			if len(r.Edits) == 0 {
				t.Fatalf("nothing was rewritten: %v", r.Findings)
			}
			if strings.Contains(r.originals(), "secret") {
				t.Error("a header's value was copied")
			}
			// The annotation is what fills empty annotations, and is then noted too.
			got := strings.Replace(r.originals(), `,"empty":{"annotations":{}}`, "", 1)
			if got != c.want {
				t.Errorf("annotation %s\nwant       %s", got, c.want)
			}
			wantNoEdits(t, plan(t, r.text, c.opts...))
			wantText(t, restore(t, r.text), c.yaml)
		})
	}
}

// TestTheEnvWinsOverAnAnnotationThatSaysOtherwise: the entry was edited since.
func TestTheEnvWinsOverAnAnnotationThatSaysOtherwise(t *testing.T) {
	ports := "ports: [{name: http, containerPort: 8001}]\n"
	for _, c := range []struct{ handler, from, to, want string }{
		{"httpGet: {path: /foo, port: http}", `"path":"/foo","port":8001`, `"path":"/bar","port":9`, "httpGet: {path: /bar, port: 9}"},
		{"httpGet: {port: http}", `"path":"/"`, `"path":"/bar"`, "httpGet: {path: /bar, port: 8001}"},
		{"httpGet: {path: /foo, protocol: HTTP2, port: http}", `,"protocol":"HTTP2"`, "", "httpGet: {path: /foo, port: 8001}"},
		{"tcpSocket:\n    port: http", `"tcpSocket":{"port":8001}`, `"grpc":{"port":9,"service":""}`, "grpc:\n    port: 9"},
		{"grpc:\n    service: a\n    port: 8001", `"service":"a"`, `"service":"b"`, "grpc:\n    port: 8001\n    service: b"},
	} {
		r := plan(t, podOf("", app(ports+"livenessProbe:\n  "+c.handler)))
		head, tail, _ := strings.Cut(r.text, "ISTIO_KUBE_APP_PROBERS")
		edited := head + "ISTIO_KUBE_APP_PROBERS" + strings.Replace(tail, c.from, c.to, 1)
		wantText(t, restore(t, edited), podOf("", app(ports+"livenessProbe:\n  "+c.want)))
	}
	// A name means the port that the container has now.
	r := plan(t, podOf("", app(ports+"livenessProbe:\n  tcpSocket:\n    port: http")))
	moved := plan(t, strings.Replace(r.text, "containerPort: 8001", "containerPort: 9001", 1))
	if !strings.Contains(moved.env(), `{"tcpSocket":{"port":9001}`) {
		t.Errorf("env %s", moved.env())
	}
	// The container was renamed.
	back := restore(t, strings.Replace(r.text, "name: app\n", "name: new\n", 1))
	if !strings.Contains(back.text, "port: http\n") {
		t.Errorf("restored:\n%s", back.text)
	}
}

func TestAnAnnotationThatCannotBeReadIsAnError(t *testing.T) {
	for _, value := range []string{"", "x", "[]", "{} {}", `{"handlers":`} {
		yaml := podOf("annotations: {rewrite-probes.io/originals: '"+value+"'}", app(httpProbe))
		for _, r := range []result{plan(t, yaml), restore(t, yaml)} {
			f := wantReason(t, r, "env-unreadable")
			if f.Severity != transformer.Error || r.text != yaml || !strings.Contains(f.Field.String(), "rewrite-probes.io/originals") {
				t.Errorf("%q: %v\n%s", value, f, r.text)
			}
		}
	}
	// One that belongs to nothing goes.
	r := plan(t, podOf("annotations: {rewrite-probes.io/originals: '{}', a: b}", app("livenessProbe: {exec: {command: [x]}}")))
	wantText(t, r, podOf("annotations: {a: b}", app("livenessProbe: {exec: {command: [x]}}")))
}

// TestAnOptOutOfIstioAfterwardsIsOne: where Istio's annotation is not ours, it
// is the user's, though the template was rewritten before.
func TestAnOptOutOfIstioAfterwardsIsOne(t *testing.T) {
	rewritten := onIstiosPort(t, podOf("annotations:\n  a: b\n", app(httpProbe)))
	off := strings.NewReplacer("        a: b\n", "        a: b\n        sidecar.istio.io/rewriteAppHTTPProbers: \"false\"\n")
	wantText(t, plan(t, off.Replace(rewritten)), off.Replace(podOf("annotations:\n  a: b\n", app(httpProbe))))
}

// TestATextIsPutBackByOneEdit: a field that restore changes anyway needs no second edit
// for its text.
func TestATextIsPutBackByOneEdit(t *testing.T) {
	for _, handler := range []string{"httpGet:\n    path: \"/foo\"\n    port: 'web' # c\n", "grpc:\n    port: 0x1F90\n    service: \"x\" # c\n"} {
		original := podOf("", app("ports: [{name: web, containerPort: 80}]\nlivenessProbe:\n  "+handler))
		text := plan(t, original, port(15097)).text
		wantText(t, restore(t, text), original)
		wantText(t, restore(t, strings.Replace(text, "livez\n            port: 15097", "livez\n            port: 15020", 1)), original)
	}
}

// Nothing is noted that restore does not need.
func TestAnEmptyListThatStaysSoIsNotNoted(t *testing.T) {
	for _, c := range []struct {
		spec string
		opts []option
	}{
		{app("livenessProbe: {httpGet: {path: /x, port: 80, httpHeaders: []}}"), []option{answeredBy("istio-proxy")}},
		{"initContainers: []\n" + app("livenessProbe: {httpGet: {path: /x, port: 80}}"), []option{answeredBy("istio-proxy")}},
	} {
		before := podOf("", c.spec)
		r := plan(t, before, c.opts...)
		if strings.Contains(r.text, "rewrite-probes.io/originals") || len(r.Edits) == 0 {
			t.Errorf("it is noted in\n%s", r.text)
		}
		wantText(t, restore(t, r.text), before)
	}
}

// What somebody did to a rewritten field is not how its author wrote it.
func TestTheTextOfARewrittenFieldIsNotNoted(t *testing.T) {
	inIstio := plan(t, podOf("", app(httpProbe)), answeredBy("istio-proxy")).text
	edited := strings.Replace(inIstio, "path: /app-health/app/livez\n", "path: >-\n              /app-health/app/livez\n", 1)
	if edited == inIstio {
		t.Fatalf("not rewritten:\n%s", edited)
	}
	for _, next := range []string{"istio", "linkerd", "osm", "fsm"} {
		if moved := plan(t, edited, inMesh(next), answeredBy("probe-proxy")); moved.originals() != "" {
			t.Errorf("in %s it is noted: %s", next, moved.originals())
		}
	}
}
