package pipeline_test

import (
	"bytes"
	"regexp"
	"slices"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// Whatever is deleted of a rewritten pod template, each probe gets one error or warning at most, from check and from a
// run alike: a lost original is said once.
func TestALostOriginalIsSaidOnce(t *testing.T) {
	const sound = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: enabled}}\n---\n" +
		"apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  namespace: shop\nspec:\n  containers:\n  - name: web\n    image: nginx\n" +
		"    ports:\n    - {name: http, containerPort: 8080}\n    livenessProbe:\n      httpGet: {path: /healthz, port: http}\n" +
		"    readinessProbe:\n      tcpSocket: {port: 8080}\n"
	parts := []*regexp.Regexp{
		regexp.MustCompile(`(?s)  initContainers:.*  containers:`), // becomes the list of containers
		regexp.MustCompile(`ISTIO_KUBE_APP_PROBERS`),
		regexp.MustCompile(`(?m)^ +rewrite-probes\.io/originals:.*\n`),
		regexp.MustCompile(`(?m)^ +traffic\.sidecar\.istio\.io/excludeInboundPorts:.*\n`),
		regexp.MustCompile(`(?m)^ +sidecar\.istio\.io/rewriteAppHTTPProbers:.*\n`),
	}
	replacements := []string{"  containers:", "OTHER", "", "", ""}
	c := config.Default()
	c.Spec.AnsweredBy = transformer.AnsweredByProbeProxy
	lost := 0
	for deleted := range 1 << len(parts) {
		s, _ := runWith(t, c, "in", []byte(sound), pipeline.Rewrite)
		text := written(t, s)
		for i, part := range parts {
			if deleted&(1<<i) == 0 {
				continue
			}
			if !part.Match(text) && deleted&1 == 0 {
				t.Fatalf("%s is not in\n%s", part, text)
			}
			text = part.ReplaceAll(text, []byte(replacements[i]))
		}
		for _, wants := range []pipeline.Wants{pipeline.Gate, pipeline.Rewrite} {
			_, r := runWith(t, c, "in", text, wants)
			told := map[string][]report.Message{}
			for _, m := range r.Messages {
				if m.Severity != transformer.Info && len(m.Field) > 0 {
					told[m.Field.String()] = append(told[m.Field.String()], m)
				}
				if slices.Contains([]reason.Key{reason.WouldFail, reason.Dangling, reason.OriginalReplaced}, m.Reason) {
					lost++
				}
			}
			for at, messages := range told {
				if len(messages) > 1 {
					t.Errorf("deleted %05b: of %s: %v\n%s", deleted, at, messages, text)
				}
			}
		}
	}
	if lost < 20 {
		t.Errorf("only %d messages are about what is lost", lost)
	}
}

// docs/operations.md names what a 404 of probe-proxy comes from. A renamed container is none of it: neither path nor env var
// change, so no probe fails.
func TestARenamedProbeProxyStillAnswers(t *testing.T) {
	const sound = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: enabled}}\n---\n" +
		"apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\nspec:\n  containers:\n" +
		"  - {name: web, image: nginx, livenessProbe: {httpGet: {port: 80}}}\n"
	c := config.Default()
	c.Spec.AnsweredBy = transformer.AnsweredByProbeProxy
	s, _ := runWith(t, c, "in", []byte(sound), pipeline.Rewrite)
	renamed := bytes.Replace(written(t, s), []byte("- name: probe-proxy\n"), []byte("- name: renamed\n"), 1)
	if !bytes.Contains(renamed, []byte("name: renamed")) {
		t.Fatalf("there is no probe-proxy in\n%s", renamed)
	}
	_, r := runWith(t, c, "in", renamed, pipeline.Gate)
	if len(r.Messages) != 1 || r.Messages[0].Reason != reason.ProbeProxyEdited {
		t.Errorf("%v, want one warning that it was edited", r.Messages)
	}
}
