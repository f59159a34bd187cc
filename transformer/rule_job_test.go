package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

func jobWith(spec, podSpec string) string {
	return "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: web\nspec:\n" +
		strings.TrimPrefix(indent("", spec, 0), "\n") + "  template:\n" + indent("spec:", podSpec+app(httpProbe), 4)
}

func TestWhatAJobCountsIsReported(t *testing.T) {
	const (
		named   = "podFailurePolicy:\n  rules:\n  - {action: FailJob, onExitCodes: {containerName: app, operator: In, values: [1]}}\n"
		unnamed = "podFailurePolicy:\n  rules:\n  - {action: Ignore, onPodConditions: [{type: DisruptionTarget}]}\n  - {action: FailJob, onExitCodes: {operator: NotIn, values: [1]}}\n"
	)
	for _, c := range []struct{ name, text, reason, want string }{
		{"a Deployment counts nothing", strings.Replace(podOf("", "restartPolicy: OnFailure\n"+app(httpProbe)), "spec:\n", "spec:\n  backoffLimit: 0\n  podFailurePolicy: {rules: [{onExitCodes: {}}]}\n", 1), "", ""},
		{"a rule that names its container", jobWith(named, "restartPolicy: Never\n"), "", ""},
		{"a rule that names none", jobWith(unnamed, "restartPolicy: Never\n"), "job-exit-codes", "`spec.podFailurePolicy.rules[1].onExitCodes`: The rule has no `containerName`"},
		{"no restart is allowed", jobWith("backoffLimit: 0\n", "restartPolicy: OnFailure\n"), "job-restarts", "`spec.backoffLimit`: It is 0"},
		{"one restart is allowed", jobWith("backoffLimit: 1\n", "restartPolicy: OnFailure\n"), "", ""},
		{"nothing is restarted", jobWith("backoffLimit: 0\n", "restartPolicy: Never\n"), "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := plan(t, c.text)
			for _, reason := range []string{"job-exit-codes", "job-restarts"} {
				f, found := r.has(reason)
				if found != (reason == c.reason) || found && (!strings.Contains(textOf(f), c.want) || f.Severity != transformer.Info) {
					t.Errorf("%s: %t: %q, want %q with %q", reason, found, textOf(f), c.reason, c.want)
				}
			}
			wantText(t, restore(t, r.text), c.text)
		})
	}
}

func TestAJobsProbeProxyStaysAsItIs(t *testing.T) {
	next := func(o *transformer.Options) {
		o.ProbeProxy.Image, o.ProbeProxy.ImagePullPolicy = "example/probe-proxy:v2", "Always"
		o.ProbeProxy.Resources = field.Map{{Key: "limits", Value: field.Map{{Key: "memory", Value: "64Mi"}}}}
		o.ProbeProxy.SecurityContext = field.Map{{Key: "runAsUser", Value: 7}}
	}
	job := jobWith("backoffLimit: 1\n", "restartPolicy: Never\n")
	first := plan(t, job)
	wantNoEdits(t, plan(t, first.text, next))
	// What the probes need still changes, and so does the image in any other kind.
	if moved := plan(t, first.text, next, port(15031)); !strings.Contains(moved.text, "--port=15031") || !strings.Contains(moved.text, "image: example/probe-proxy:v1\n") {
		t.Errorf("the port must change, and the image not:\n%s", moved.text)
	}
	set := strings.Replace(podOf("", "restartPolicy: Never\n"+app(httpProbe)), "spec:\n  template:\n", "spec:\n  replicatedJobs:\n  - name: workers\n    template:\n      spec:\n        template:\n", 1)
	begin, rest, _ := strings.Cut(set, "        template:\n")
	set = strings.Replace(begin, "apps/v1\nkind: Deployment", "jobset.x-k8s.io/v1alpha2\nkind: JobSet", 1) + "        template:\n" + "      " + strings.ReplaceAll(strings.TrimSuffix(rest, "\n"), "\n", "\n      ") + "\n"
	if first := plan(t, set); len(first.Edits) == 0 {
		t.Errorf("findings %v of\n%s", first.Findings, set)
	} else {
		wantNoEdits(t, plan(t, first.text, func(o *transformer.Options) { o.ProbeProxy.Image = "example/probe-proxy:v2" }))
	}
	other := plan(t, plan(t, podOf("", app(httpProbe))).text, next)
	if !strings.Contains(other.text, "image: example/probe-proxy:v2\n") {
		t.Errorf("a Deployment must get the new image:\n%s", other.text)
	}
}
