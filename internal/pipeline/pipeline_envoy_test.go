package pipeline_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// An envoySet is a set of objects near a pod, and what the kubelet's own probers got from the pod in a
// cluster of Kubernetes 1.37 and Istio 1.31, with an Envoy 1.40. testdata/envoy.jsonl has a set a line.
type envoySet struct {
	Name     string
	Pod      string            // a Pod called a, a Deployment dep or a StatefulSet st
	MTLS     string            // of the namespace; PERMISSIVE if it says nothing
	Services []json.RawMessage // one that declares three ports, if it says nothing
	Objects  []json.RawMessage
	Probes   []envoyProbe
}

// An envoyProbe is a probe's handler and the answer.
type envoyProbe struct {
	handler json.RawMessage
	refused bool
	broken  bool // it fails without a mesh too
}

func (p *envoyProbe) UnmarshalJSON(text []byte) error {
	all := make(map[string]json.RawMessage)
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	p.refused, p.broken = all["refused"] != nil, all["alone"] != nil
	delete(all, "refused")
	delete(all, "alone")
	var err error
	p.handler, err = json.Marshal(all)
	return err
}

// envoyShop is what is near the pod in all sets: %s are the mode and the Services.
const envoyShop = `{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {istio-injection: enabled}}}
---
{apiVersion: security.istio.io/v1, kind: PeerAuthentication, metadata: {name: default, namespace: istio-system}, spec: {mtls: {mode: STRICT}}}
---
{apiVersion: security.istio.io/v1, kind: PeerAuthentication, metadata: {name: default, namespace: shop}, spec: {mtls: {mode: %s}}}
`

const envoyService = `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "namespace": "shop"}, "spec": {
  "selector": {"app": "a"}, "ports": [{"name": "http", "port": 8080}, {"name": "auto", "port": 8081}, {"name": "tcp-raw", "port": 9000}]}}`

// envoyPods have the pods of the sets: %s are their containers.
var envoyPods = map[string]string{
	"": `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop, labels: {app: a, version: v1}}, spec: {containers: [%s]}}`,
	"dep": `{apiVersion: apps/v1, kind: Deployment, metadata: {name: dep, namespace: shop}, spec: {selector: {matchLabels: {app: dep}},
  template: {metadata: {labels: {app: dep}}, spec: {containers: [%s]}}}}`,
	"st": `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: st, namespace: shop}, spec: {selector: {matchLabels: {app: st}},
  template: {metadata: {labels: {app: st, set: st}}, spec: {containers: [%s]}}}}`,
}

var envoyMetadata = regexp.MustCompile(`"?metadata"?: ?\{`)

// manifests returns the set as a stream. Each probe is that of a container. The objects were made one after the other; with
// times they have those, as the API server prints them.
func (s *envoySet) manifests(times bool) string {
	if s.MTLS == "" {
		s.MTLS = "PERMISSIVE"
	}
	if s.Services == nil {
		s.Services = []json.RawMessage{[]byte(envoyService)}
	}
	stream := fmt.Sprintf(envoyShop, s.MTLS)
	for _, o := range slices.Concat(s.Services, s.Objects) {
		stream += "---\n" + string(o) + "\n"
	}
	containers := []string{`{name: app, image: x, ports: [{name: https, containerPort: 8443}, {name: web, containerPort: 8080}]}`}
	for i, p := range s.Probes {
		containers = append(containers, fmt.Sprintf(`{name: c%d, image: x, livenessProbe: %s}`, i, p.handler))
	}
	if times {
		second := -1
		stream = envoyMetadata.ReplaceAllStringFunc(stream, func(begin string) string {
			second++
			return fmt.Sprintf(`%s"creationTimestamp": "2026-11-28T10:00:%02dZ", `, begin, second)
		})
	}
	return stream + "---\n" + fmt.Sprintf(envoyPods[s.Pod], strings.Join(containers, ", ")) + "\n"
}

// unforeseeable are sets that hang on what no manifest says: other filters of Envoy, its own limits, and endpoints by
// address.
var unforeseeable = []string{"EnvoyFilter", "WasmPlugin", "odd paths", "EndpointSlice"}

// mayFailAtMost is how many of the probes may get a warning, without and with times: to warn of everything is no evaluation.
var mayFailAtMost = map[bool]int{false: 136, true: 125}

func isElsewhere(m report.Message) bool { return m.Reason == reason.AppElsewhere }

// TestEveryProbeGetsWhatEnvoyAnswers runs the sets through check. It must name every probe that Envoy refuses, and no other for
// certain.
func TestEveryProbeGetsWhatEnvoyAnswers(t *testing.T) {
	for _, times := range []bool{false, true} {
		t.Run(fmt.Sprintf("times=%t", times), func(t *testing.T) { everyProbeGetsWhatEnvoyAnswers(t, times) })
	}
}

func everyProbeGetsWhatEnvoyAnswers(t *testing.T, times bool) {
	text, err := os.ReadFile("testdata/envoy.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	probes, silent, accused, may := 0, 0, 0, 0
	for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
		var set envoySet
		if err := d.Decode(&set); err != nil {
			t.Fatal(err)
		}
		s, err := manifest.Read(set.Name, []byte(set.manifests(times)))
		if err != nil {
			t.Fatal(err)
		}
		c := config.Default()
		c.Spec.Istio.InjectorRewrites = false
		r := pipeline.Run([]*manifest.Stream{s}, c, pipeline.Inspect)
		if len(r.Templates) != 1 || len(r.Templates[0].Probes) != len(set.Probes) {
			t.Fatalf("%s: not every probe is judged: %v", set.Name, r.Messages)
		}
		for i, p := range set.Probes {
			got := r.Templates[0].Probes[i]
			probes++
			if got.If != "" {
				may++
			}
			// Where a Sidecar sends the call elsewhere, an error says so, and no verdict.
			known := !slices.ContainsFunc(r.Messages, isElsewhere) && !slices.ContainsFunc(unforeseeable, func(word string) bool { return strings.Contains(set.Name, word) })
			switch {
			case p.refused && !p.broken && got.StrictTLS == world.Unaffected && known:
				silent++
				t.Errorf("%s: silent: Envoy refuses %s", set.Name, p.handler)
			case !p.refused && got.StrictTLS == world.Fails && got.If == "":
				accused++
				t.Errorf("%s: false: Envoy answers %s; said: %s", set.Name, p.handler, got.Why)
			}
		}
	}
	t.Logf("of %d probes: silent %d, false %d, may fail %d", probes, silent, accused, may)
	if probes < 700 || may > mayFailAtMost[times] {
		t.Errorf("%d of %d probes may fail", may, probes)
	}
}
