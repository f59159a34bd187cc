package transformer

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// checkJob reports where a Job counts an end of probe-proxy as one of the app's. It ends
// with 0 when it is told to, which no rule matches, but not if it is killed.
func checkJob(b *decision, report func(Finding)) {
	if !b.in.JobLike || !b.native() {
		return
	}
	spec := b.in.Path[:len(b.in.Path)-1] // of the Job, which the template is in
	value := func(keys ...string) field.Value {
		v, _ := b.in.Source(spec.Key(keys...))
		return v
	}
	rules, _ := value("podFailurePolicy", "rules").(field.List)
	for i, r := range rules {
		rule, _ := r.(field.Map)
		codes, counts := rule.Get("onExitCodes")
		on, _ := codes.(field.Map)
		if _, named := on.Get("containerName"); counts && !named {
			report(NewFinding("job-exit-codes", spec.Key("podFailurePolicy").Item("rules", i).Key("onExitCodes"),
				"has no `containerName`, so the rule also matches the exit code of a probe-proxy that is killed; it should name the container that it means"))
		}
	}
	if value("backoffLimit") == 0 && b.in.Template.Spec.RestartPolicy == "OnFailure" {
		report(NewFinding("job-restarts", spec.Key("backoffLimit"),
			"is 0 with `restartPolicy: OnFailure`, so the Job fails if any container restarts, probe-proxy among them; 1 or more allows that"))
	}
}

// immutableKeys are the fields of a Job's probe-proxy that stay as they are.
var immutableKeys = []string{"image", "imagePullPolicy", "resources", "securityContext"}

// withImmutable returns the container with what an existing probe-proxy has, if that is a
// Job's or a JobSet's: the API server refuses every change of a Job's template, and the
// webhook of JobSet (pkg/webhooks/jobset_webhook.go, ValidateUpdate) that of one that is
// not suspended, so that another version of probe-proxy would keep the manifest from being
// applied.
func (b *template) withImmutable(want, have field.Map) field.Map {
	if b.in.Kind != "Job" && b.in.Kind != "JobSet" {
		return want
	}
	want = slices.DeleteFunc(want, func(e field.Entry) bool { return slices.Contains(immutableKeys, e.Key) })
	for _, e := range have {
		if slices.Contains(immutableKeys, e.Key) {
			want = append(want, e)
		}
	}
	return want
}
