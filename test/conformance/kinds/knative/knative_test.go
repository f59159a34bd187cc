package knative

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"knative.dev/pkg/apis"
	v1 "knative.dev/serving/pkg/apis/serving/v1"
	"knative.dev/serving/pkg/reconciler/revision/resources"
	"sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
)

// app is a pod spec; its container has no name, which Knative fills in.
const app = `
      containers:
      - image: example/app:v1
        ports: [{containerPort: 8080}]
        readinessProbe:
          httpGet: {path: /ready, port: 8080}
        livenessProbe:
          httpGet: {path: /live, port: 8080}
`

func object(apiVersion, kind, name string) string {
	return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata:\n  name: web\nspec:\n  template:\n    spec:" + strings.Replace(app, "- image", "- "+name+"image", 1)
}

// rewrite sends a manifest through rewrite-probes.
func rewrite(t *testing.T, text string, change func(*config.Spec)) string {
	t.Helper()
	s, err := manifest.Read("input", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	change(&c.Spec)
	pipeline.Run([]*manifest.Stream{s}, c, pipeline.Rewrite)
	out, err := s.Text()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// service reads a Service as Knative's webhook does: decoded strictly, its
// defaults filled in.
func service(t *testing.T, text string) *v1.Service {
	t.Helper()
	s := &v1.Service{}
	if err := yaml.UnmarshalStrict([]byte(text), s); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	s.SetDefaults(context.Background())
	return s
}

func TestWhatIsWrittenForKnativeIsAccepted(t *testing.T) {
	in := object("serving.knative.dev/v1", "Service", "")
	for _, who := range []string{"auto", "probe-proxy", "istio-proxy"} {
		out := rewrite(t, in, func(s *config.Spec) { s.AnsweredBy = who })
		if err := service(t, out).Validate(context.Background()).Filter(apis.ErrorLevel); err != nil || out != in {
			t.Errorf("answeredBy %s: %v; written\n%s", who, err, out)
		}
	}
}

// Knative refuses or breaks what rewrite-probes writes for a Deployment. This is
// why its kinds are left alone.
func TestKnativeRefusesAProbeProxy(t *testing.T) {
	for placement, want := range map[string]string{
		"native":    "spec.template.spec.initContainers",
		"container": "fieldRef",
	} {
		out := rewrite(t, object("apps/v1", "Deployment", "name: app\n        "), func(s *config.Spec) {
			s.AnsweredBy, s.ProbeProxy.Placement = "probe-proxy", placement
		})
		err := service(t, strings.NewReplacer("apps/v1", "serving.knative.dev/v1", "Deployment", "Service").Replace(out)).Validate(context.Background()).Filter(apis.ErrorLevel)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error about %s", placement, err, want)
		}
	}
}

func TestKnativeGivesALivenessProbeThePortOfTheAppAndTakesAReadinessProbeAway(t *testing.T) {
	out := rewrite(t, object("apps/v1", "Deployment", "name: app\n        "), func(s *config.Spec) { s.AnsweredBy = "istio-proxy" })
	s := service(t, strings.NewReplacer("apps/v1", "serving.knative.dev/v1", "Deployment", "Service").Replace(out))
	revision := &v1.Revision{Spec: s.Spec.Template.Spec}
	for _, c := range resources.BuildUserContainers(revision) {
		if c.Name != "app" {
			continue
		}
		if c.ReadinessProbe != nil {
			t.Errorf("the kubelet makes the readiness probe %v", c.ReadinessProbe)
		}
		if h := c.LivenessProbe.HTTPGet; h.Port != intstr.FromInt32(8080) || h.Path != "/app-health/app/livez" {
			t.Errorf("the liveness probe goes to %v%s: a rewritten one would reach its answerer", h.Port.String(), h.Path)
		}
		return
	}
	t.Error("the container app is gone")
}
