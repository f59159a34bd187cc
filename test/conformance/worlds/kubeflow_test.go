package worlds

import (
	"fmt"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

const root = "../../.." // the repository

// What decides about Kubeflow's probes, each read in the manifests by hand.
const (
	noLabel    = "the Namespace is in the render without an injection label, and others there have one: nothing is injected"
	permissive = "a PeerAuthentication has portLevelMtls 8443: PERMISSIVE for these pods, the Service declares the port HTTPS, and an AuthorizationPolicy lets everyone in: Envoy passes the kubelet's TLS on to the app"
	strict     = "the Namespace has istio-injection: enabled, no PeerAuthentication is about the port, and Istio is said to rewrite nothing: under the STRICT of the functionConfig's default the plain request is refused"
)

// kubeflow judges each probe of which check once said that it would fail.
var kubeflow = []struct {
	object, container string
	probes            []string
	fails             bool
	why               string
}{
	{"Deployment auth/dex", "containers[0]", []string{"readinessProbe"}, false, noLabel},
	{"Deployment cert-manager/cert-manager", "containers[0]", []string{"livenessProbe"}, false, noLabel},
	{"Deployment cert-manager/cert-manager-webhook", "containers[0]", []string{"readinessProbe", "livenessProbe"}, false, noLabel},
	{"Deployment oauth2-proxy/oauth2-proxy", "containers[0]", []string{"readinessProbe", "livenessProbe"}, false, noLabel},
	{"Deployment knative-serving/net-istio-webhook", "containers[0]", []string{"readinessProbe", "livenessProbe"}, false, permissive},
	{"Deployment knative-serving/webhook", "containers[0]", []string{"readinessProbe", "livenessProbe"}, false, permissive},
	{"Deployment knative-serving/activator", "containers[0]", []string{"readinessProbe", "livenessProbe"}, true, strict},
	{"Deployment knative-serving/autoscaler", "containers[0]", []string{"readinessProbe", "livenessProbe"}, true, strict},
	{"Deployment knative-serving/controller", "containers[0]", []string{"readinessProbe", "livenessProbe"}, true, strict},
	{"Deployment knative-serving/net-istio-controller", "containers[0]", []string{"readinessProbe", "livenessProbe"}, true, strict},
	{"Deployment kubeflow/centraldashboard", "containers[0]", []string{"livenessProbe"}, true, strict},
	{"Deployment kubeflow/kserve-models-web-application", "containers[0]", []string{"readinessProbe", "livenessProbe"}, true, strict},
	{"Deployment kubeflow/llmisvc-controller-manager", "containers[0]", []string{"readinessProbe", "livenessProbe"}, true, strict},
	{"Deployment kubeflow/notebook-controller-deployment", "containers[0]", []string{"readinessProbe", "livenessProbe"}, true, strict},
	{"Deployment kubeflow/profiles-deployment", "containers[0]", []string{"livenessProbe"}, true, strict},
	{"Deployment kubeflow/profiles-deployment", "containers[1]", []string{"readinessProbe", "livenessProbe"}, true, strict},
	{"Deployment kubeflow/pvcviewer-controller-manager", "containers[0]", []string{"readinessProbe", "livenessProbe"}, true, strict + "; excludeInboundPorts has 9443 and not 8081"},
	{"Deployment kubeflow/tensorboard-controller-deployment", "containers[0]", []string{"readinessProbe", "livenessProbe"}, true, strict},
}

// The render has Istio's installation, whose injector rewrites probes. If the functionConfig says that it does not,
// that counts.
func TestCheckOfKubeflowIsRightAboutEveryProbe(t *testing.T) {
	checkKubeflow(t, rewriting.Settings{}, false)
	checkKubeflow(t, rewriting.Settings{"istio": rewriting.Settings{"injectorRewrites": false}}, true)
}

func checkKubeflow(t *testing.T, settings rewriting.Settings, mayFail bool) {
	t.Helper()
	messages, _, err := check(testutil.CorpusFile(t, root, "kubeflow.yaml"), nil, settings)
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]transformer.Severity)
	for _, m := range messages {
		if m.Object != nil && isOfCheck(m.Reason.String()) {
			found[m.Object.String()+" "+m.Field.String()] = m.Severity
		}
	}
	judged, fail := 0, 0
	for _, row := range kubeflow {
		for _, probe := range row.probes {
			judged++
			field := fmt.Sprintf("%s spec.template.spec.%s.%s", row.object, row.container, probe)
			expected := transformer.Severity("")
			if row.fails && mayFail {
				expected = transformer.Error
			}
			if row.fails {
				fail++
			}
			if found[field] != expected {
				t.Errorf("%s: check says %q, and must say %q: %s", field, found[field], expected, row.why)
			}
			delete(found, field)
		}
	}
	for field, severity := range found {
		t.Errorf("%s: check says %q of a probe that nobody has judged", field, severity)
	}
	if judged != 32 || fail != 22 {
		t.Errorf("%d probes are judged, of which %d fail; must be 32 and 22", judged, fail)
	}
}
