package pipeline_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
)

// A list of ports that gets one more comes back as it was written, byte for byte, also after a second run with another port, in every mesh.
func TestAListOfPortsComesBackAsItWasWritten(t *testing.T) {
	lists := map[string]string{
		"istio": "traffic.sidecar.istio.io/excludeInboundPorts", "linkerd": "config.linkerd.io/skip-inbound-ports", "kuma": "traffic.kuma.io/exclude-inbound-ports",
		"consul": "consul.hashicorp.com/transparent-proxy-exclude-inbound-ports", "osm": "openservicemesh.io/inbound-port-exclusion-list", "fsm": "flomesh.io/inbound-port-exclusion-list",
	}
	meshes := []string{"istio", "linkerd", "kuma", "consul", "osm", "fsm"}
	written := 0
	for seed := range uint64(600) {
		d := drawer{rand.New(rand.NewPCG(seed, 61))}
		mesh := d.pick(meshes...)
		ports := d.pick("8080,9090", "8080, 9090", "8080")
		text := d.pick(`"`+ports+`"`, "'"+ports+"'", "!!str "+ports, `!!str "`+ports+`"`, "&ports '"+ports+"'", ">-\n      "+ports, "|-\n      "+ports, `"`+strings.Replace(ports, "9", `\x39`, 1)+`"`, "|\n      "+ports)
		if ports != "8080" && d.IntN(2) == 0 {
			text = d.pick(ports, "&ports "+ports, ">-\n      "+strings.ReplaceAll(ports, ",", ",\n      "), ports+"  # why")
		}
		key := d.pick(lists[mesh], `"`+lists[mesh]+`"`)
		in := "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  annotations:\n    a: b\n    " + key + ": " + text + "\n    c: d\n" +
			"spec: {containers: [{name: web, image: web, readinessProbe: {httpGet: {path: /, port: 80}}}]}\n"
		out, refused := runText(t, in, configOf(t, "mesh: "+mesh), pipeline.Rewrite)
		if refused || out == in {
			continue
		}
		if mesh != "osm" && mesh != "fsm" && d.IntN(2) == 0 {
			out, _ = runText(t, out, configOf(t, "mesh: "+mesh+", port: 15111"), pipeline.Rewrite)
		}
		written++
		if back, _ := runText(t, out, configOf(t, "mesh: "+mesh), pipeline.Restore); back != in {
			t.Errorf("%s: restore gives\n%s\ninstead of\n%s", mesh, back, in)
		}
	}
	if written < 400 {
		t.Errorf("only %d are rewritten", written)
	}
}
