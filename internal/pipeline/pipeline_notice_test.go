package pipeline_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

func TestLinesThatHadToChangeAreNamed(t *testing.T) {
	const pod = `apiVersion: v1
kind: Pod
metadata:
  name: p
  annotations:
    rewrite-probes.io/skip-containers: b
spec:
  containers:
  - name: a
    image: i
    livenessProbe: &alive
      httpGet: {path: /, port: 80} # a's
  - name: b
    image: i
    livenessProbe: *alive # b's
`
	item := "- " + strings.ReplaceAll(strings.TrimSuffix(pod, "\n"), "\n", "\n  ") + "\n"
	for _, tt := range []struct {
		name, in, text string
		line           int
	}{
		{"document", "# first\n---\n" + pod, "Line 17: the alias *alive was written out, since its anchor's value changed", 17},
		{"ResourceList", "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n" + item, "Line 15 of the object: the alias *alive was written out, since its anchor's value changed", 0},
		{"explicit key", strings.Replace(pod, "  name: p\n", "  ? name\n  : p\n", 1), "Line 16: the alias *alive was written out, since its anchor's value changed", 16},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := config.Default()
			c.Spec.Istio.InjectorRewrites = false // container b may stay as it is
			s, r := runWith(t, c, "in", []byte(tt.in), pipeline.Rewrite)
			var found []report.Message
			for _, m := range r.Messages {
				if m.Reason.String() == "written-anew" {
					found = append(found, m)
				}
			}
			if len(found) != 1 || found[0].Text.What != tt.text || found[0].Line != tt.line {
				t.Errorf("messages are %+v, must be %q at line %d\n%s", found, tt.text, tt.line, written(t, s))
			}
		})
	}
}
