package transformer

import (
	"github.com/rewrite-probes/rewrite-probes/internal/field"

	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// checkJob reports where a Job counts an end of probe-proxy as one of the app's. It ends
// with 0 when it is told to, which no rule matches, but not if it is killed.
func checkJob(d *decision) (found []Finding) {
	if !d.answeredByUs() ||
		!d.in.JobLike ||
		!d.native() {
		return nil
	}
	spec := d.in.Path[:len(d.in.Path)-1] // of the Job, which the template is in
	value := func(keys ...string) field.Value {
		v, _ := d.in.Source(spec.Key(keys...))
		return v
	}
	rules, _ := value("podFailurePolicy", "rules").(field.List)
	for i, r := range rules {
		rule, _ := r.(field.Map)
		codes, counts := rule.Get("onExitCodes")
		on, _ := codes.(field.Map)
		if _, named := on.Get("containerName"); counts && !named {
			found = append(found, NewFinding(reason.JobExitCodes, spec.Key("podFailurePolicy").Item("rules", i).Key("onExitCodes"),
				"the rule has no `containerName`, so it also matches the exit code of a killed probe-proxy"))
		}
	}
	if value("backoffLimit") == 0 && d.in.Template.Spec.RestartPolicy == "OnFailure" {
		found = append(found, NewFinding(reason.JobRestarts, spec.Key("backoffLimit"),
			"it is 0 with `restartPolicy: OnFailure`, so the Job fails if any container restarts, also probe-proxy").
			Fix("Set it to 1 or more"))
	}
	return found
}

// checkFinishes refuses an ordinary probe-proxy in a pod that has to finish.
func checkFinishes(d *decision) []Finding {
	policy := d.in.Template.Spec.RestartPolicy
	if d.answeredByUs() &&
		!d.native() &&
		(policy == "Never" || policy == "OnFailure" || d.in.JobLike) {
		return []Finding{NewFinding(reason.JobNeverFinishes, d.spec,
			"an ordinary container probe-proxy would keep the pod from finishing")}
	}
	return nil
}
