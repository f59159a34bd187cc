package worlds

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/istio"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/worlds/model"
)

// movedStatusPort has a %s for the annotations.
const movedStatusPort = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: moved
  namespace: shop
spec:
  selector: {matchLabels: {app: moved}}
  template:
    metadata:
      labels: {app: moved}
      annotations: {%s}
    spec:
      containers:
      - name: app
        image: app
        ports: [{name: http, containerPort: 8080}]
        readinessProbe: {httpGet: {path: /ready, port: http}}
        livenessProbe: {tcpSocket: {port: 8080}}
        startupProbe: {grpc: {port: 9090}}
---
apiVersion: v1
kind: Namespace
metadata:
  name: shop
  labels: {istio-injection: enabled}
`

// A way of saying that Istio's status server is on another port.
var ways = []struct {
	name        string
	annotations string
	mesh        []string           // settings of Istio's charts
	config      rewriting.Settings // what has to be declared
	alone       bool               // Istio's own rewriting follows the port
}{
	{name: "the annotation moves listener, rewriter and redirection", alone: true,
		annotations: `status.sidecar.istio.io/port: "15030"`},
	{name: "the proxy config moves the listener only, and nobody answers on 15020",
		annotations: `proxy.istio.io/config: "statusPort: 15030"`},
	{name: "the same in JSON",
		annotations: `proxy.istio.io/config: '{"statusPort": 15030}'`},
	{name: "the annotation wins over the proxy config", alone: true,
		annotations: `status.sidecar.istio.io/port: "15031", proxy.istio.io/config: "statusPort: 15030"`},
	{name: "the annotation may say the default, and wins", alone: true,
		annotations: `status.sidecar.istio.io/port: "15020", proxy.istio.io/config: "statusPort: 15030"`},
	{name: "the proxy config's port may be excluded, and Istio still rewrites to 15020",
		annotations: `proxy.istio.io/config: "statusPort: 15030", traffic.sidecar.istio.io/excludeInboundPorts: "15030"`},
	{name: "the mesh has moved it, and so must the functionConfig", alone: true,
		mesh:   []string{"meshConfig.defaultConfig.statusPort=15030", "values.global.proxy.statusPort=15030"},
		config: rewriting.Settings{"answeredBy": "istio-proxy", "port": 15030}},
	{name: "the mesh has moved it, and probe-proxy does not mind", alone: true,
		mesh:   []string{"meshConfig.defaultConfig.statusPort=15030", "values.global.proxy.statusPort=15030"},
		config: rewriting.Settings{"answeredBy": "probe-proxy"}},
	{name: "the annotation wins over the mesh", alone: true,
		annotations: `status.sidecar.istio.io/port: "15031"`,
		mesh:        []string{"meshConfig.defaultConfig.statusPort=15030", "values.global.proxy.statusPort=15030"}},
}

func TestEveryProbeIsAnsweredWhereverIstiosStatusPortIs(t *testing.T) {
	k := &knowledge{namespace: map[string]string{"istio-injection": "enabled"}}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			c := &cluster{injectors: make(map[setting]*istio.Injector), injected: make(map[string]arrival)}
			for _, rewrites := range both {
				c.injectors[setting{rewrites: rewrites}] = istio.New(t, append(slices.Clone(way.mesh), fmt.Sprintf("values.sidecarInjectorWebhook.rewriteAppHTTPProbe=%t", rewrites))...)
			}
			input, err := newSide(fmt.Appendf(nil, movedStatusPort, way.annotations))
			if err != nil {
				t.Fatal(err)
			}
			configs := []rewriting.Settings{way.config}
			if way.config == nil {
				configs = []rewriting.Settings{{}, {"answeredBy": "probe-proxy"}, {"answeredBy": "istio-proxy"}}
			}
			for _, native := range both {
				w := world{injected: true, native: native, rewrites: true}
				if alone, _ := input.life(c, k, w); everyAnswer(alone) != way.alone {
					t.Errorf("%s: Istio's own rewriting: %v", w, alone.Why)
				}
				for _, config := range configs {
					for _, w.rewrites = range both {
						answered(t, c, k, input, config, w)
					}
				}
			}
		})
	}
}

func everyAnswer(l model.Life) bool {
	for at := range l.Fates {
		if l.Bad(at) {
			return false
		}
	}
	return len(l.Fates) > 0
}

// answered rewrites the workload, or it is refused with answeredBy: istio-proxy.
func answered(t *testing.T, c *cluster, k *knowledge, input *side, config rewriting.Settings, w world) {
	t.Helper()
	spec, err := rewriting.Config(config)
	if err != nil {
		t.Fatal(err)
	}
	text, r, err := rewriting.Run(input.text, spec, pipeline.Rewrite)
	if err != nil {
		t.Fatal(err)
	}
	if refused(r.Messages) {
		if config["answeredBy"] != "istio-proxy" || !bytes.Equal(text, input.text) {
			t.Errorf("config %v: %v\n%s", config, r.Messages, text)
		}
		return
	}
	output, err := newSide(text)
	if err != nil {
		t.Fatal(err)
	}
	output.asked = asked(input, output)
	l, _ := output.life(c, k, w)
	for _, at := range input.order() {
		h := input.sites[at]
		if l.Bad(at) || reflect.DeepEqual(output.sites[at], h) {
			t.Errorf("config %v, %s: %v %s, since %s%s\n%s", config, w, at, l.Fates[at], l.Down, l.Why[at], text)
			return
		}
	}
}

// Of a value that is neither "true" nor "false", Istio's template makes a native sidecar,
// and the injector does not always move the container istio-proxy that a pod declares.
func TestEveryProbeIsAnsweredWhateverIsSaidOfNativeSidecars(t *testing.T) {
	k := &knowledge{namespace: map[string]string{"istio-injection": "enabled"}}
	for _, value := range []string{"yes", "True", ""} {
		input, err := newSide(fmt.Appendf(nil, movedStatusPort, fmt.Sprintf("sidecar.istio.io/nativeSidecar: %q", value)))
		if err != nil {
			t.Fatal(err)
		}
		c := &cluster{injectors: make(map[setting]*istio.Injector), injected: make(map[string]arrival)}
		for _, rewrites := range both {
			c.injectors[setting{rewrites: rewrites}] = istio.New(t, fmt.Sprintf("values.sidecarInjectorWebhook.rewriteAppHTTPProbe=%t", rewrites))
		}
		for _, native := range both {
			for _, config := range []rewriting.Settings{{}, {"answeredBy": "probe-proxy"}, {"answeredBy": "istio-proxy"}} {
				answered(t, c, k, input, config, world{injected: true, native: native, rewrites: true})
			}
		}
	}
}
