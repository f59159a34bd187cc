// Command inject sends pods through Consul's injector. It is compiled inside the
// module of Consul's control plane.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	mapset "github.com/deckarep/golang-set"
	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/hashicorp/consul-k8s/control-plane/connect-inject/webhook"
	"github.com/hashicorp/consul-k8s/control-plane/consul"
)

// A manager has the parts of a controller manager that the webhook uses.
type manager struct {
	ctrl.Manager
	scheme *runtime.Scheme
}

func (m manager) GetScheme() *runtime.Scheme           { return m.scheme }
func (m manager) GetWebhookServer() ctrlwebhook.Server { return server{} }

type server struct{ ctrlwebhook.Server }

func (server) Register(string, http.Handler) {}

func main() {
	var pods []json.RawMessage
	if err := json.NewDecoder(os.Stdin).Decode(&pods); err != nil {
		panic(err)
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	// As the Helm chart sets it by default.
	w := &webhook.MeshWebhook{
		Log:                    logr.Discard(),
		Clientset:              fake.NewClientset(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}),
		AllowK8sNamespacesSet:  mapset.NewSetWith("*"),
		DenyK8sNamespacesSet:   mapset.NewSet(),
		RequireAnnotation:      false,
		EnableTransparentProxy: true,
		TProxyOverwriteProbes:  true,
		EnableCNI:              true, // its annotation has the redirection
		ConsulConfig:           &consul.Config{HTTPPort: 8500, GRPCPort: 8502},
		ImageConsulDataplane:   "consul-dataplane",
		ImageConsulK8S:         "consul-k8s",
	}
	w.SetupWithManager(manager{scheme: scheme})
	for i, pod := range pods {
		resp := w.Handle(context.Background(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			Namespace: "default", Object: runtime.RawExtension{Raw: pod},
		}})
		if !resp.Allowed || len(resp.Patches) == 0 {
			fmt.Fprintf(os.Stderr, "pod %d: not injected: %v\n", i, resp.Result)
			os.Exit(1)
		}
		patch, err := json.Marshal(resp.Patches)
		if err != nil {
			panic(err)
		}
		decoded, err := jsonpatch.DecodePatch(patch)
		if err != nil {
			panic(err)
		}
		if pods[i], err = decoded.Apply(pod); err != nil {
			panic(err)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(pods); err != nil {
		panic(err)
	}
}
