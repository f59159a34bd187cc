// Package istio is Istio's sidecar injector in this process: the webhook's
// own handler, with the injection template, the mesh config and the values
// that Istio's charts render by default.
package istio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	meshconfig "istio.io/api/mesh/v1alpha1"
	"istio.io/istio/operator/pkg/manifest"
	"istio.io/istio/operator/pkg/render"
	"istio.io/istio/pilot/pkg/features"
	"istio.io/istio/pilot/pkg/model"
	"istio.io/istio/pkg/config/mesh"
	"istio.io/istio/pkg/config/mesh/meshwatcher"
	"istio.io/istio/pkg/kube/inject"
	"istio.io/istio/pkg/log"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ProxyName is the name of the container that is injected, and EnvName its
// env var with the originals of rewritten probes.
const (
	ProxyName = inject.ProxyContainerName
	EnvName   = "ISTIO_KUBE_APP_PROBERS"
)

// A Mode says where the injector puts istio-proxy.
type Mode string

// The modes.
const (
	Ordinary Mode = "ordinary" // under containers
	Native   Mode = "native"   // under initContainers, a native sidecar
)

// Modes returns both.
var Modes = []Mode{Ordinary, Native}

// An Injector is a webhook. It may be used by several goroutines at once.
type Injector struct {
	handler http.Handler
}

// switches guards Istio's feature switch: it is a variable of the process.
var switches sync.Mutex

// New renders Istio's charts, which are embedded in its module, with settings
// in the form of istioctl's --set, and starts the webhook with the result.
func New(t testing.TB, settings ...string) *Injector {
	t.Helper()
	i, err := start(settings)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func start(settings []string) (*Injector, error) {
	for _, scope := range log.Scopes() {
		scope.SetOutputLevel(log.NoneLevel) // it logs every request
	}
	config, values, meshText, err := rendered(settings)
	if err != nil {
		return nil, err
	}
	m, err := mesh.ApplyMeshConfig(meshText, mesh.DefaultMeshConfig())
	if err != nil {
		return nil, fmt.Errorf("the mesh config of Istio: %w", err)
	}
	c, err := inject.UnmarshalConfig([]byte(config))
	if err != nil {
		return nil, fmt.Errorf("the injection config of Istio: %w", err)
	}
	// With the switch off the webhook asks no cluster for the versions of its
	// nodes, and reads the switch at each request.
	switches.Lock()
	defer switches.Unlock()
	features.EnableNativeSidecars = features.NativeSidecarModeDisabled
	mux := http.NewServeMux()
	_, err = inject.NewWebhook(inject.WebhookParameters{Watcher: fixed{&c, values}, Env: environment(m), Mux: mux})
	return &Injector{mux}, err
}

// Render returns the objects of Istio's charts, as manifests, with settings as in [New].
func Render(t testing.TB, settings ...string) []manifest.Manifest {
	t.Helper()
	all, err := objects(settings)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func objects(settings []string) (all []manifest.Manifest, err error) {
	sets, _, err := render.GenerateManifest(nil, append([]string{"profile=empty", "components.pilot.enabled=true"}, settings...), false, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("render Istio's charts: %w", err)
	}
	for _, set := range sets {
		all = append(all, set.Manifests...)
	}
	return all, nil
}

// rendered returns what istiod reads from its two ConfigMaps, of whichever revision.
func rendered(settings []string) (config, values, meshConfig string, err error) {
	all, err := objects(settings)
	if err != nil {
		return "", "", "", err
	}
	for _, m := range all {
		switch {
		case m.GetKind() != "ConfigMap":
		case strings.HasPrefix(m.GetName(), "istio-sidecar-injector"):
			config, values = data(m, "config"), data(m, "values")
		case data(m, "mesh") != "":
			meshConfig = data(m, "mesh")
		}
	}
	if config == "" || values == "" || meshConfig == "" {
		return "", "", "", errors.New("the charts of Istio have no injection config, values or mesh config")
	}
	return config, values, meshConfig, nil
}

func data(m manifest.Manifest, key string) string {
	fields, _ := m.Object["data"].(map[string]any)
	text, _ := fields[key].(string)
	return text
}

func environment(m *meshconfig.MeshConfig) *model.Environment {
	store := model.NewFakeStore()
	env := &model.Environment{Watcher: meshwatcher.NewTestWatcher(m), ConfigStore: store}
	env.SetPushContext(&model.PushContext{ProxyConfigs: model.GetProxyConfigs(store, m)})
	return env
}

// fixed is a config that never changes.
type fixed struct {
	config *inject.Config
	values string
}

var _ inject.Watcher = fixed{}

func (fixed) SetHandler(func(*inject.Config, string) error) {}
func (fixed) Run(<-chan struct{})                           {}
func (f fixed) Get() (*inject.Config, string, error)        { return f.config, f.values, nil }

// Inject sends the pod through the webhook, as the API server does when the pod
// is created, and returns the result. A pod that the webhook refuses is an
// error; one that it does not inject is returned unchanged.
func (i *Injector) Inject(pod *corev1.Pod, mode Mode) (*corev1.Pod, error) {
	before, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "1", Namespace: pod.Namespace, Operation: admissionv1.Create,
			Kind:   metav1.GroupVersionKind{Version: "v1", Kind: "Pod"},
			Object: runtime.RawExtension{Raw: before},
		},
	}
	body, err := json.Marshal(review)
	if err != nil {
		return nil, err
	}
	response, err := i.post(body, mode)
	if err != nil || len(response.Patch) == 0 {
		return pod.DeepCopy(), err
	}
	patch, err := jsonpatch.DecodePatch(response.Patch)
	if err != nil {
		return nil, fmt.Errorf("the webhook's patch: %w", err)
	}
	after, err := patch.Apply(before)
	if err != nil {
		return nil, fmt.Errorf("the webhook's patch: %w", err)
	}
	injected := new(corev1.Pod)
	return injected, json.Unmarshal(after, injected)
}

func (i *Injector) post(body []byte, mode Mode) (*admissionv1.AdmissionResponse, error) {
	request := httptest.NewRequest(http.MethodPost, "/inject", bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	switches.Lock()
	features.EnableNativeSidecars = features.NativeSidecarModeDisabled
	if mode == Native {
		features.EnableNativeSidecars = features.NativeSidecarModeEnabled
	}
	i.handler.ServeHTTP(recorder, request)
	switches.Unlock()
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil {
		return nil, fmt.Errorf("the webhook answered %d %s", recorder.Code, recorder.Body)
	}
	switch r := review.Response; {
	case r == nil:
		return nil, fmt.Errorf("the webhook answered %d without a response", recorder.Code)
	case !r.Allowed:
		return nil, fmt.Errorf("the webhook refused the pod: %s", strings.TrimSpace(r.Result.Message))
	default:
		return r, nil
	}
}

// Probers decodes an env value with the types of Istio's own injector.
func Probers(value string) (inject.KubeAppProbers, error) {
	if value == "" {
		return nil, nil
	}
	var probers inject.KubeAppProbers
	return probers, json.Unmarshal([]byte(value), &probers)
}
