package krm_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/rewrite-probes/rewrite-probes/fn/krm"
)

const web = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  template:
    metadata:
      labels:
        sidecar.istio.io/inject: "true"
    spec:
      containers:
      - name: web
        image: example/web:v1
        readinessProbe: # is it up?
          httpGet:
            path: /ready
            port: 8080
`

func ExampleProcess() {
	list := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- " + strings.ReplaceAll(web, "\n", "\n  ") + `
functionConfig:
  apiVersion: rewrite-probes.io/v1alpha1
  kind: RewriteProbes
  metadata:
    name: config
  spec:
    answeredBy: istio-proxy
`
	rl, err := fn.ParseResourceList([]byte(list))
	if err != nil {
		log.Fatal(err)
	}
	success, err := fn.Chain(fn.ResourceListProcessorFunc(krm.Process)).Process(rl)
	fmt.Println(success, err)
	for _, result := range rl.Results {
		fmt.Println(result.Message)
	}
	// Output:
	// true <nil>
	// Deployment web: readiness probe of web: :15020/app-health/web/readyz, was httpGet :8080/ready [rewritten]
}
