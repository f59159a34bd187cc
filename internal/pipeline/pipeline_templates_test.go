package pipeline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// TestOneMalformedTemplateOfSeveralRefusesTheObject has kinds with a template for each item of a list,
// or with two. Of three templates each, one or more are malformed, wherever they are. Patches, check and
// the rewriting agree.
func TestOneMalformedTemplateOfSeveralRefusesTheObject(t *testing.T) {
	const good = "{spec: {containers: [{name: web, image: web, readinessProbe: {httpGet: {port: 80}}}]}}"
	c := configOf(t, "  podTemplates: [{group: example.com, kind: Fleet, path: 'spec.groups[].jobs[].template'}]\n")
	kinds := map[string]func(templates []string) string{
		"JobSet": func(templates []string) string {
			return "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\nspec: {replicatedJobs: [" +
				each(templates, "{name: j%d, template: {spec: {template: %s}}}") + "]}\n"
		},
		"Fleet": func(templates []string) string {
			return "apiVersion: example.com/v1\nkind: Fleet\nmetadata: {name: a}\nspec: {groups: [{jobs: [" + each(templates[:1], "{name: j%d, template: %s}") +
				"]}, {jobs: [" + each(templates[1:], "{name: k%d, template: %s}") + "]}]}\n"
		},
		"LeaderWorkerSet": func(templates []string) string {
			return "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: a}\nspec: {leaderWorkerTemplate: {leaderTemplate: " +
				templates[0] + ", workerTemplate: " + templates[2] + "}}\n"
		},
	}
	for kind, text := range kinds {
		for name, bad := range map[string]string{
			"no mapping":         "[]",
			"a wrong type":       "{spec: {containers: {name: web}}}",
			"a wrong port":       "{spec: {containers: [{name: web, readinessProbe: {httpGet: {port: []}}}]}}",
			"a key twice":        "{spec: {containers: [{name: web, name: web}]}}",
			"no mapping of spec": "{spec: {containers: [x]}}",
		} {
			for which := range 8 {
				templates := []string{good, good, good}
				isBad := false
				for i := range templates {
					if which&(1<<i) != 0 {
						templates[i] = bad
						isBad = isBad || kind != "LeaderWorkerSet" || i != 1
					}
				}
				in := text(templates)
				for _, mode := range []pipeline.Wants{pipeline.Rewrite, pipeline.Gate, pipeline.Inspect} {
					s, r := runWith(t, c, "in", []byte(in), mode)
					refused := 0
					for _, m := range r.Messages {
						if m.Reason == reason.InvalidManifest {
							refused++
						}
					}
					out := string(written(t, s))
					if wantRefused := map[bool]int{true: 1}[isBad]; refused != wantRefused || isBad && (!r.Failed() || out != in || r.Changed != 0) {
						t.Errorf("%s, %s in %03b, mode %v: %d refusals, %v\n%s", kind, name, which, mode, refused, r.Messages, out)
					}
					if !isBad && mode == pipeline.Rewrite && strings.Count(out, `path: "/app-health/web/readyz"`)+strings.Count(out, "path: /app-health/web/readyz") < 2 {
						t.Errorf("%s is not rewritten:\n%s", kind, out)
					}
				}
			}
		}
	}
}

// each joins the texts that a format makes of the number and the text of each template.
func each(templates []string, format string) string {
	var items []string
	for i, text := range templates {
		items = append(items, fmt.Sprintf(format, i, text))
	}
	return strings.Join(items, ", ")
}
