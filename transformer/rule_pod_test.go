package transformer

import (
	"reflect"
	"slices"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/beside"
)

// A ruleCase is a rule of the pod and a template in which it finds something.
type ruleCase struct {
	rule   podRule
	change func(o *Options, in *Input)
	want   string // the reason
}

// decisionAbout returns what is decided about a pod of one container with a livenessProbe, after a
// change, before any rule of the pod is asked.
func decisionAbout(t *testing.T, change func(o *Options, in *Input)) *decision {
	t.Helper()
	d := &decision{answering: *answeringAbout(t, change)}
	d.rule(siteRules)
	d.rewriteTheRest()
	return d
}

// answeringAbout returns what is known of the same pod and who answers, before any rule is asked.
func answeringAbout(t *testing.T, change func(o *Options, in *Input)) *answering {
	t.Helper()
	o := Defaults()
	o.AnsweredBy = AnsweredByProbeProxy
	app := pod.Container{Name: "app", Image: "app:1", LivenessProbe: &pod.Probe{Handler: getOf("/live", 8080)}}
	in := Input{Kind: "Deployment", Path: field.NewPath("spec", "template"), Template: pod.Template{Spec: pod.Spec{Containers: []pod.Container{app}}}}
	in.Template.Metadata.Labels = field.KeyValues{{Key: istioInject, Value: "true"}}
	in.Source = func(field.Path) (field.Value, bool) { return nil, false }
	if change != nil {
		change(&o, &in)
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return new(answer(know(p.settings, p.read(&in))))
}

func getOf(path string, port int) pod.Handler {
	return pod.Handler{HTTPGet: &pod.HTTPGet{Path: path, Port: field.Number(port)}}
}

// sourceOf returns a Source in which one field has a value.
func sourceOf(v field.Value, at string) Source {
	return func(path field.Path) (field.Value, bool) {
		if path.String() != at {
			return nil, false
		}
		return v, true
	}
}

var ruleCases = map[string]ruleCase{
	"the mesh captures the port of probe-proxy": {checkConflicts, func(o *Options, in *Input) {
		in.Template.Metadata.Annotations = field.KeyValues{{Key: istioIncludePorts, Value: "15099"}}
	}, "probe-port-captured"},
	"a path that is another probe's": {checkPaths, func(o *Options, in *Input) {
		other := pod.Container{Name: "other", LivenessProbe: &pod.Probe{Handler: getOf("/app-health/app/livez", 1)}}
		in.Template.Spec.Containers = append(in.Template.Spec.Containers, other)
	}, "originals-ambiguous"},
	"a container of the name": {checkTaken, func(o *Options, in *Input) {
		in.Template.Spec.Containers[0].Name = "probe-proxy"
	}, "name-taken"},
	"a container port": {checkTaken, func(o *Options, in *Input) {
		in.Template.Spec.Containers[0].Ports = []pod.ContainerPort{{ContainerPort: 15099}}
	}, "port-taken"},
	"a probe of the port": {checkOwnPort, func(o *Options, in *Input) {
		in.Template.Spec.Containers[0].ReadinessProbe = &pod.Probe{Handler: getOf("/", 15099)}
	}, "port-taken"},
	"resources that are no quantity": {checkResources, func(o *Options, in *Input) {
		requests := field.Map{{Key: "cpu", Value: "much"}}
		in.Source = sourceOf(field.Map{{Key: "requests", Value: requests}}, "spec.template.spec.containers[0].resources")
	}, "resources-unreadable"},
	"a limit of the namespace": {checkResources, func(o *Options, in *Input) {
		most := field.Map{{Key: "type", Value: "Container"}, {Key: "max", Value: field.Map{{Key: "memory", Value: "1Mi"}}}}
		in.Around = beside.Of(beside.LimitRange("small", most))
	}, "namespace-limits"},
	"exit codes of any container": {checkJob, func(o *Options, in *Input) {
		in.JobLike = true
		rules := field.List{field.Map{{Key: "onExitCodes", Value: field.Map{}}}}
		in.Source = sourceOf(rules, "spec.podFailurePolicy.rules")
	}, "job-exit-codes"},
	"an ordinary container in a pod that ends": {checkFinishes, func(o *Options, in *Input) {
		o.ProbeProxy.Placement = PlacementContainer
		in.Template.Spec.RestartPolicy = "Never"
	}, "job-never-finishes"},
	"the mesh's uid": {checkProxyUID, func(o *Options, in *Input) {
		o.ProbeProxy.SecurityContext = field.Map{{Key: "runAsUser", Value: nil}}
		in.Template.Spec.SecurityContext = &pod.SecurityContext{RunAsUser: new(int64(1337))}
	}, "proxy-uid"},
	"no place for annotations": {checkBareSpec, func(o *Options, in *Input) {
		in.Shape.BareSpec = true
	}, "annotations-unknown"},
	"a load balancer": {checkIngresses, func(o *Options, in *Input) {
		app := &in.Template.Spec.Containers[0]
		app.Ports = []pod.ContainerPort{{ContainerPort: 8080}}
		app.ReadinessProbe = &pod.Probe{Handler: getOf("/ready", 8080)}
		backend := surroundings.IngressBackend{}
		backend.Service.Name, backend.Service.Port.Number = "app", 8080
		ingress := &surroundings.Ingress{Neighbour: surroundings.Neighbour{Name: "app"}, IngressClassName: "gce", DefaultBackend: backend}
		service := &surroundings.Service{Neighbour: surroundings.Neighbour{Name: "app"}, Selector: in.Template.Metadata.Labels, Ports: []surroundings.ServicePort{{Port: 8080}}}
		in.Around = beside.Of(ingress, service)
	}, "ingress-health-check"},
	"a LimitRange that fills in the mesh's proxy": {checkProxyLimits, func(o *Options, in *Input) {
		o.AnsweredBy = AnsweredByIstioProxy
		defaults := field.Map{{Key: "type", Value: "Container"}, {Key: "default", Value: field.Map{{Key: "memory", Value: "1Gi"}}}}
		in.Around = beside.Of(beside.LimitRange("small", defaults))
	}, "proxy-limits"},
	"a postStart hook before istio-proxy": {checkPostStart, func(o *Options, in *Input) {
		o.AnsweredBy = AnsweredByIstioProxy
		in.Template.Spec.Containers[0].Lifecycle = &pod.Lifecycle{PostStart: new(getOf("/", 8080))}
	}, "post-start-order"},
	"a probe that only the injector serves": {checkLeftAlone, func(o *Options, in *Input) {
		other := pod.Container{Name: "other", LivenessProbe: &pod.Probe{Handler: getOf("/", 9090)}}
		in.Template.Spec.Containers = append(in.Template.Spec.Containers, other)
		in.Template.Metadata.Annotations = field.KeyValues{{Key: ownSkipContainers, Value: "other"}}
	}, "rewriter-needed"},
	"a webhook that adds probes": {checkWebhooks, func(o *Options, in *Input) {
		in.Template.Metadata.Annotations = field.KeyValues{{Key: "dapr.io/enabled", Value: "true"}}
	}, "rewriter-needed"},
	"a probe-proxy of a later version": {checkImage, func(o *Options, in *Input) {
		originals := "{}"
		env := []pod.EnvVar{{Name: "ISTIO_KUBE_APP_PROBERS", Value: &originals}}
		later := pod.Container{Name: "probe-proxy", Image: "ghcr.io/rewrite-probes/probe-proxy:v99.0.0", RestartPolicy: "Always", Env: env}
		in.Template.Spec.InitContainers = []pod.Container{later}
	}, "image-kept"},
	"a command that asks the pod": {findExecWorkarounds, func(o *Options, in *Input) {
		exec := pod.Handler{Exec: &pod.Exec{Command: []string{"curl", "-f", "http://localhost:8080/"}}}
		in.Template.Spec.Containers[0].ReadinessProbe = &pod.Probe{Handler: exec}
	}, "exec-workaround"},
	"an original that would be lost": {keepReplaced, func(o *Options, in *Input) {
		originals := `{"/app-health/app/readyz":{"httpGet":{"path":"/","port":8080}}}`
		app := &in.Template.Spec.Containers[0]
		app.ReadinessProbe = &pod.Probe{Handler: pod.Handler{Exec: &pod.Exec{Command: []string{"true"}}}}
		env := []pod.EnvVar{{Name: "ISTIO_KUBE_APP_PROBERS", Value: &originals}}
		in.Template.Spec.InitContainers = []pod.Container{{Name: "probe-proxy", Image: o.ProbeProxy.ImageToRun(), RestartPolicy: "Always", Env: env}}
	}, "original-replaced"},
}

func TestPodRules(t *testing.T) {
	for name, c := range ruleCases {
		var got []string
		for _, f := range c.rule(decisionAbout(t, c.change)) {
			got = append(got, f.Reason.String())
		}
		if !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
		isWarning := slices.ContainsFunc(podWarnings, func(r podRule) bool { return reflect.ValueOf(r).Pointer() == reflect.ValueOf(c.rule).Pointer() })
		if f := FirstError(c.rule(decisionAbout(t, c.change))); f != nil && isWarning {
			t.Errorf("%s: a rule among the warnings prevents the rewriting: %v", name, f)
		}
		if found := c.rule(decisionAbout(t, nil)); len(found) > 0 {
			t.Errorf("%s: found %v in a pod like any other", name, found)
		}
	}
}

func TestPodRules_eachHasACase(t *testing.T) {
	for i, rule := range slices.Concat(podRules, podWarnings) {
		has := false
		for _, c := range ruleCases {
			has = has || reflect.ValueOf(c.rule).Pointer() == reflect.ValueOf(rule).Pointer()
		}
		if !has {
			t.Errorf("rule %d of podRules has no case", i)
		}
	}
}
