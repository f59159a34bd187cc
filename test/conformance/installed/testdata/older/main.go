// Command older asks the sidecar injector of an older Istio what it makes of pods.
//
// It reads a JSON array of questions from stdin. Each has the settings that Istio's charts are rendered with, in the
// form of istioctl's --set, and pods. It writes the array of answers: the charts' objects, and the pods as the
// webhook leaves them. The env var ENABLE_NATIVE_SIDECARS, true or false, says which sidecar it makes.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"istio.io/istio/operator/pkg/manifest"
	"istio.io/istio/operator/pkg/render"
	"istio.io/istio/pilot/pkg/features"
	"istio.io/istio/pilot/pkg/model"
	"istio.io/istio/pkg/config/mesh"
	"istio.io/istio/pkg/kube/inject"
	"istio.io/istio/pkg/kube/multicluster"
	"istio.io/istio/pkg/log"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// A question is pods for a control plane with settings.
type question struct {
	Settings []string
	Pods     []json.RawMessage
}

type answer struct {
	Auto    bool // whether istiod chooses the sidecar by its nodes if ENABLE_NATIVE_SIDECARS is not set
	Objects []json.RawMessage
	Pods    []json.RawMessage
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	for _, scope := range log.Scopes() {
		scope.SetOutputLevel(log.NoneLevel) // it logs every request
	}
	var questions []question
	if err := json.NewDecoder(os.Stdin).Decode(&questions); err != nil {
		return err
	}
	answers := make([]answer, len(questions))
	for i, q := range questions {
		var err error
		if answers[i], err = ask(q); err != nil {
			return fmt.Errorf("%v: %w", q.Settings, err)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

func ask(q question) (a answer, err error) {
	// What has no third value is off where nobody sets it.
	_, isSwitch := any(features.EnableNativeSidecars).(interface{ Get() bool })
	a.Auto = !isSwitch
	set := append([]string{"profile=empty", "components.pilot.enabled=true"}, q.Settings...)
	rendered, _, err := render.GenerateManifest(nil, set, false, nil, nil)
	if err != nil {
		return a, err
	}
	var config, values, meshText string
	for _, s := range rendered {
		for _, m := range s.Manifests {
			object, err := json.Marshal(m.Object)
			if err != nil {
				return a, err
			}
			a.Objects = append(a.Objects, object)
			switch {
			case m.GetKind() != "ConfigMap":
			case strings.HasPrefix(m.GetName(), "istio-sidecar-injector"):
				config, values = data(m, "config"), data(m, "values")
			case data(m, "mesh") != "":
				meshText = data(m, "mesh")
			}
		}
	}
	webhook, err := start(config, values, meshText)
	if err != nil {
		return a, err
	}
	for _, pod := range q.Pods {
		injected, err := send(webhook, pod)
		if err != nil {
			return a, err
		}
		a.Pods = append(a.Pods, injected)
	}
	return a, nil
}

func data(m manifest.Manifest, key string) string {
	fields, _ := m.Object["data"].(map[string]any)
	text, _ := fields[key].(string)
	return text
}

// start returns the webhook with what istiod reads from its two ConfigMaps.
func start(config, values, meshText string) (http.Handler, error) {
	c, err := inject.UnmarshalConfig([]byte(config))
	if err != nil {
		return nil, err
	}
	m, err := mesh.ApplyMeshConfig(meshText, mesh.DefaultMeshConfig())
	if err != nil {
		return nil, err
	}
	store := model.NewFakeStore()
	env := &model.Environment{Watcher: newWatcher(m), ConfigStore: store}
	push := model.NewPushContext()
	push.ProxyConfigs = model.GetProxyConfigs(store, m)
	env.SetPushContext(push)
	mux := http.NewServeMux()
	_, err = inject.NewWebhook(inject.WebhookParameters{
		Watcher: fixed{&c, values}, Env: env, Mux: mux, MultiCluster: multicluster.NewFakeController(),
	})
	return mux, err
}

// fixed is a config that never changes.
type fixed struct {
	config *inject.Config
	values string
}

func (fixed) SetHandler(func(*inject.Config, string) error) {}
func (fixed) Run(<-chan struct{})                           {}
func (f fixed) Get() (*inject.Config, string, error)        { return f.config, f.values, nil }

// send sends a pod through the webhook, as the API server does when it is created, and returns the result.
func send(webhook http.Handler, pod []byte) ([]byte, error) {
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "1", Namespace: "shop", Operation: admissionv1.Create,
			Kind:   metav1.GroupVersionKind{Version: "v1", Kind: "Pod"},
			Object: runtime.RawExtension{Raw: pod},
		},
	})
	if err != nil {
		return nil, err
	}
	request := httptest.NewRequest(http.MethodPost, "/inject", bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	webhook.ServeHTTP(recorder, request)
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil {
		return nil, fmt.Errorf("the webhook answered %d %s", recorder.Code, recorder.Body)
	}
	switch r := review.Response; {
	case r == nil:
		return nil, errors.New("the webhook answered without a response")
	case !r.Allowed:
		return nil, fmt.Errorf("the webhook refused the pod: %s", r.Result.Message)
	case len(r.Patch) == 0:
		return pod, nil
	default:
		patch, err := jsonpatch.DecodePatch(r.Patch)
		if err != nil {
			return nil, err
		}
		return patch.Apply(pod)
	}
}
