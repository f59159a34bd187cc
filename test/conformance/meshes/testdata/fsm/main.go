// Command inject rewrites the probes of pods as Flomesh Service Mesh's injector
// does. It is compiled inside FSM's own module.
package main

import (
	"encoding/json"
	"os"

	corev1 "k8s.io/api/core/v1"

	"github.com/flomesh-io/fsm/pkg/injector"
)

func main() {
	var pods []*corev1.Pod
	if err := json.NewDecoder(os.Stdin).Decode(&pods); err != nil {
		panic(err)
	}
	for _, pod := range pods {
		injector.RewriteHealthProbes(pod)
	}
	if err := json.NewEncoder(os.Stdout).Encode(pods); err != nil {
		panic(err)
	}
}
