package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
)

var proposedEntry = regexp.MustCompile("`(\\{group:.*?\\})`")

// An entry of podTemplates, proposed or not, never makes pods worse: a template that lacks an image stays as it is, and
// so does one to which an operator adds probes, unless Istio's rewriter is off. No entry is proposed for a rule or a patch.
func TestAnEntryThatIsFollowedBreaksNoPod(t *testing.T) {
	groups := []string{"rabbitmq.com", "kibana.k8s.elastic.co", "kyverno.io", "trino.stackable.tech", "monitoring.coreos.com", "example.com"}
	places := []string{"spec.template", "spec.override.statefulSet.spec.template", "spec.workers.podOverrides", "spec.podTemplate", "spec.rules[].template"}
	probes := []string{"tcpSocket: {port: 80}", "httpGet: {port: 80}", "grpc: {port: 80}"}
	rewritten := 0
	for seed := range uint64(400) {
		d := drawer{rand.New(rand.NewPCG(seed, 56))}
		group := d.pick(groups...)
		place := d.pick(places...)
		patch := false
		containers := ""
		for i := range 1 + d.IntN(3) {
			image := d.pick("image: a, ", "image: a, ", "image: \"\", ", "")
			patch = patch || image != "image: a, "
			containers += fmt.Sprintf("{name: c%d, %slivenessProbe: {%s}}, ", i, image, d.pick(probes...))
		}
		template := "{metadata: {labels: {sidecar.istio.io/inject: \"true\"}}, spec: {containers: [" + containers + "]}}"
		object := template
		steps := strings.Split(place, ".")
		for i := len(steps) - 1; i >= 0; i-- {
			if key, isList := strings.CutSuffix(steps[i], "[]"); isList {
				object = "{" + key + ": [" + object + "]}"
			} else {
				object = "{" + steps[i] + ": " + object + "}"
			}
		}
		text := "apiVersion: " + group + "/v1\nkind: Thing\nmetadata: {name: a, namespace: shop}\n" + strings.TrimSuffix(strings.TrimPrefix(object, "{"), "}") + "\n"
		rewriter := d.pick("", "istio: {injectorRewrites: false}, ")

		isRule := group == "kyverno.io"
		told := messagesOf(t, text, configOf(t, ""))
		if proposed := proposedEntry.FindStringSubmatch(told); (proposed != nil) == (patch || isRule) {
			t.Errorf("%s: proposed is %q in\n%s", text, proposed, told)
		}
		entry := "{group: " + group + ", kind: Thing, path: \"" + place + "\"}"
		out, _ := runText(t, text, configOf(t, rewriter+"podTemplates: ["+entry+"]"), pipeline.Rewrite)
		stays := patch || isRule || group != "example.com" && rewriter == ""
		if (out == text) != stays {
			t.Errorf("with %q: changed is %t:\n%s", rewriter+entry, out != text, out)
		}
		if out != text {
			rewritten++
		}
	}
	if rewritten == 0 {
		t.Error("no entry has an effect")
	}
}
