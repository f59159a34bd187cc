// Command inject sends pods through Linkerd's injector. It is compiled inside
// Linkerd's own module.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	jsonpatch "github.com/evanphx/json-patch"
	l5dcharts "github.com/linkerd/linkerd2/pkg/charts/linkerd2"
	"github.com/linkerd/linkerd2/pkg/inject"
)

func main() {
	var pods []json.RawMessage
	if err := json.NewDecoder(os.Stdin).Decode(&pods); err != nil {
		panic(err)
	}
	for i, pod := range pods {
		injected, err := injectPod(pod)
		if err != nil {
			fmt.Fprintf(os.Stderr, "pod %d: %v\n", i, err)
			os.Exit(1)
		}
		pods[i] = injected
	}
	if err := json.NewEncoder(os.Stdout).Encode(pods); err != nil {
		panic(err)
	}
}

// injectPod does what Linkerd's webhook does with a pod in a namespace that is
// injected.
func injectPod(pod []byte) ([]byte, error) {
	values, err := l5dcharts.NewValues()
	if err != nil {
		return nil, err
	}
	values.IdentityTrustAnchorsPEM = "none"
	conf := inject.NewResourceConfig(values, inject.OriginWebhook, "linkerd").
		WithNsAnnotations(map[string]string{"linkerd.io/inject": "enabled"}).WithKind("Pod")
	report, err := conf.ParseMetaAndYAML(pod)
	if err != nil {
		return nil, err
	}
	if ok, reasons := report.Injectable(); !ok {
		return nil, fmt.Errorf("not injectable: %v", reasons)
	}
	inject.AppendNamespaceAnnotations(conf.GetOverrideAnnotations(), conf.GetNsAnnotations(), conf.GetWorkloadAnnotations())
	patch, err := conf.GetPodPatch(true, inject.GetOverriddenValues)
	if err != nil {
		return nil, err
	}
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, fmt.Errorf("%w in %s", err, patch)
	}
	return decoded.Apply(pod)
}
