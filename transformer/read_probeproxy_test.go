package transformer_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// authors returns a container as an author may write it, with what may look like ours: anything
// but probe-proxy's hook and image, and the originals in a declared istio-proxy.
func (g generator) authors(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- name: %s\n  image: %s\n", name, g.pick("auto", "example/web:1", "probe-proxy", "example.com/probe-proxy:v1"))
	for _, field := range []string{
		"  imagePullPolicy: " + g.pick("IfNotPresent", "Always"),
		"  restartPolicy: Always",
		"  args: [" + g.pick("--port=15099", "--hooks-within=10s", "--form=osm", "wait") + "]",
		"  startupProbe: {httpGet: {path: " + g.pick("/healthz", "/readyz", "/", "/app-health/app/livez") + ", port: " + g.pick("15099", "15020", "8080") + "}}",
		"  livenessProbe: {httpGet: {path: " + g.pick("/healthz", "/app-health/app/livez", "/app-health/"+name+"/livez") + ", port: " + g.pick("15099", "8080") + "}}",
		"  lifecycle: {postStart: {exec: {command: [" + g.pick("/probe-proxy", "/probe-proxy, check", "/wait, wait", "sleep, wait") + "]}}}",
		"  securityContext: {runAsUser: 65532}",
		"  resources: {}",
	} {
		if g.IntN(3) == 0 {
			b.WriteString(field + "\n")
		}
	}
	switch g.IntN(4) {
	case 0:
		return b.String()
	case 1:
		b.WriteString("  env:\n  - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}\n")
	default:
		b.WriteString("  env:\n")
	}
	originals := "{}"
	if name != "istio-proxy" { // a declared one with originals is what we write, word for word
		originals = g.pick("{}", `{"/app-health/app/livez":{"httpGet":{"port":8001}}}`, `{"/app-health/gone/readyz":{"tcpSocket":{"port":80}}}`)
	}
	fmt.Fprintf(&b, "  - {name: ISTIO_KUBE_APP_PROBERS, value: '%s'}\n", originals)
	return b.String()
}

// A container that its author wrote is never removed, whatever it looks like.
func TestNoContainerOfAnAuthorsIsRemoved(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(59, 1))}
	const runs = 1000
	changed := 0
	for range runs {
		names := []string{"app"}
		spec := app(g.pick(httpProbe, "livenessProbe: {tcpSocket: {port: 80}}"))
		for _, name := range []string{"probe-proxy", "web", "istio-proxy"} {
			if g.IntN(2) == 0 {
				names = append(names, name)
				spec += g.authors(name)
			}
		}
		if g.IntN(2) == 0 {
			names = append(names, "init")
			spec += "initContainers:\n" + g.authors("init")
		}
		before := podOf(g.pick(injected, "annotations: {x: y}", "labels: {linkerd.io/inject: enabled}"), spec)
		opts := []option{answeredBy(g.pick("auto", "auto", "probe-proxy", "istio-proxy", "app")), func(o *transformer.Options) {
			o.ProbeProxy.Name = g.pick("probe-proxy", "probe-proxy", "web", "init")
		}}
		if g.IntN(4) == 0 {
			opts = append(opts, asContainer)
		}
		rewritten := plan(t, before, opts...).text
		texts := map[string]string{
			"rewritten":              rewritten,
			"rewritten twice":        plan(t, rewritten, opts...).text,
			"rewritten and restored": restore(t, rewritten, opts...).text,
			"restored":               restore(t, before, opts...).text,
		}
		for what, text := range texts {
			for _, name := range names {
				if !strings.Contains(text, "- name: "+name+"\n") {
					t.Fatalf("%s has no container %s any more:\n%s\nbefore:\n%s", what, name, text, before)
				}
			}
		}
		if rewritten != before {
			changed++
		}
	}
	if changed < runs/20 {
		t.Errorf("only %d of %d templates were changed", changed, runs)
	}
}
