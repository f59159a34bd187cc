package transformer

import "github.com/rewrite-probes/rewrite-probes/internal/field"

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

// checkProbeProxy adds findings if probe-proxy cannot run in this pod.
func checkProbeProxy(b *decision, report func(Finding)) {
	if !b.answeredByUs() {
		return
	}
	spec := &b.in.Template.Spec
	checkResources(b, report)
	checkJob(b, report)
	if !b.native() {
		policy := spec.RestartPolicy
		if policy == "Never" || policy == "OnFailure" || b.in.JobLike {
			report(NewFinding("job-never-finishes", b.spec,
				"the pod has to finish, and with probe-proxy as an ordinary container it never would; probe-proxy must be a native sidecar (`placement: native`)"))
		}
	}
	if spec.SecurityContext == nil {
		return
	}
	context := b.sidecarContext()
	for _, id := range []struct {
		key   string
		value *int64
	}{{"runAsUser", spec.SecurityContext.RunAsUser}, {"runAsGroup", spec.SecurityContext.RunAsGroup}} {
		if _, set := context.Get(id.key); !set && id.value != nil && *id.value == b.mesh.uid {
			report(NewFinding("proxy-uid", b.spec.Key("securityContext", id.key),
				"is %d, the mesh's own, and probe-proxy would inherit it; `probeProxy.securityContext.%s` must be another", *id.value, id.key))
		}
	}
}
