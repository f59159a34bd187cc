// Command inject sends pods through Kuma's injector. It is compiled inside Kuma's own
// module.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	conf "github.com/kumahq/kuma/v2/pkg/config/plugins/runtime/k8s"
	"github.com/kumahq/kuma/v2/pkg/plugins/resources/k8s"
	"github.com/kumahq/kuma/v2/pkg/plugins/resources/k8s/native/api/v1alpha1"
	"github.com/kumahq/kuma/v2/pkg/plugins/runtime/k8s/webhooks/injector"
)

func main() {
	var pods []*corev1.Pod
	if err := json.NewDecoder(os.Stdin).Decode(&pods); err != nil {
		panic(err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	client := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{"kuma.io/sidecar-injection": "enabled"}}},
		&v1alpha1.Mesh{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
	).Build()
	cfg := conf.DefaultKubernetesRuntimeConfig().Injector
	cfg.TransparentProxyConfigMapName = "" // the rules are then in the arguments of kuma-init
	k, err := injector.New(cfg, "http://kuma-control-plane.kuma-system:5681", client, false, k8s.NewSimpleConverter(), 9901, 9902, false, "kuma-system", nil, false)
	if err != nil {
		panic(err)
	}
	for i, pod := range pods {
		if err := k.InjectKuma(context.Background(), pod); err != nil {
			fmt.Fprintf(os.Stderr, "pod %d: %v\n", i, err)
			os.Exit(1)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(pods); err != nil {
		panic(err)
	}
}
