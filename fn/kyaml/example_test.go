package kyaml_test

import (
	"log"
	"os"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/rewrite-probes/rewrite-probes/fn/kyaml"
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

func ExampleFilter() {
	config := yaml.MustParse(`{apiVersion: rewrite-probes.io/v1alpha1, kind: RewriteProbes, spec: {answeredBy: istio-proxy}}`)
	err := kio.Pipeline{
		Inputs:  []kio.Reader{&kio.ByteReader{Reader: strings.NewReader(web), OmitReaderAnnotations: true}},
		Filters: []kio.Filter{kyaml.Filter{Config: config}},
		Outputs: []kio.Writer{kio.ByteWriter{Writer: os.Stdout}},
	}.Execute()
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// apiVersion: apps/v1
	// kind: Deployment
	// metadata:
	//   name: web
	// spec:
	//   template:
	//     metadata:
	//       labels:
	//         sidecar.istio.io/inject: "true"
	//       annotations:
	//         sidecar.istio.io/rewriteAppHTTPProbers: "false"
	//     spec:
	//       containers:
	//       - name: web
	//         image: example/web:v1
	//         readinessProbe: # is it up?
	//           httpGet:
	//             path: /app-health/web/readyz
	//             port: 15020
	//       - name: istio-proxy
	//         image: auto
	//         imagePullPolicy: IfNotPresent
	//         env:
	//         - name: ISTIO_KUBE_APP_PROBERS
	//           value: '{"/app-health/web/readyz":{"httpGet":{"path":"/ready","port":8080,"scheme":"HTTP"},"timeoutSeconds":1}}'
}
