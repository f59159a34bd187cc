package fn_test

import (
	"fmt"
	"log"
	"os"
	"strings"

	sdk "github.com/kptdev/krm-functions-sdk/go/fn"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/kustomize/kyaml/kio"

	"github.com/rewrite-probes/rewrite-probes/fn"
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
	err := kio.Pipeline{
		Inputs:  []kio.Reader{&kio.ByteReader{Reader: strings.NewReader(web), OmitReaderAnnotations: true}},
		Filters: []kio.Filter{fn.Filter{Config: &fn.RewriteProbes{Spec: fn.RewriteProbesSpec{AnsweredBy: fn.AnsweredByIstioProxy}}}},
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

// A function's main is one line:
//
//	func main() { sdk.AsMain(sdk.ResourceListProcessorFunc(fn.Process)) }
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
	rl, err := sdk.ParseResourceList([]byte(list))
	if err != nil {
		log.Fatal(err)
	}
	success, err := sdk.Chain(sdk.ResourceListProcessorFunc(fn.Process)).Process(rl)
	fmt.Println(success, err)
	for _, result := range rl.Results {
		fmt.Println(result.Message)
	}
	// Output:
	// true <nil>
	// Deployment web: `spec.template.spec.containers[0].readinessProbe`: :15020/app-health/web/readyz, was httpGet :8080/ready [rewritten]
}

func template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"sidecar.istio.io/inject": "true"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "web", Image: "example/web:v1",
			ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(8080)}}},
			LivenessProbe:  &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}},
		}}},
	}
}

func ExampleMutate() {
	t := template()
	owner := fn.Owner{APIVersion: "apps/v1", Kind: "Deployment", Metadata: metav1.ObjectMeta{Name: "web"}}
	report, err := fn.Mutate(&t, owner, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Changed)
	for _, c := range t.Spec.Containers {
		if c.ReadinessProbe != nil {
			fmt.Println(c.Name, c.ReadinessProbe.HTTPGet.Port.String(), c.ReadinessProbe.HTTPGet.Path)
		}
		for _, e := range c.Env {
			fmt.Println(c.Name, e.Name, e.Value)
		}
	}
	// Output:
	// true
	// web 15020 /app-health/web/readyz
	// istio-proxy ISTIO_KUBE_APP_PROBERS {"/app-health/web/readyz":{"httpGet":{"path":"/ready","port":8080,"scheme":"HTTP"},"timeoutSeconds":1}}
}

func ExampleExplain() {
	t := template()
	report, err := fn.Explain(&t, fn.Owner{}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range report.Probes {
		fmt.Printf("%s: %s %q %q; under strict mTLS: %s\n", p.Field, p.State, p.After, p.Reason, p.StrictTLS)
	}
	// Output:
	// spec.template.spec.containers[0].readinessProbe: would rewrite ":15020/app-health/web/readyz" ""; under strict mTLS: fails
	// spec.template.spec.containers[0].livenessProbe: left alone "" "no-network"; under strict mTLS: unaffected
}

func ExampleRewriteProbes() {
	c := &fn.RewriteProbes{Spec: fn.RewriteProbesSpec{AnsweredBy: fn.AnsweredByProbeProxy}}
	c.Default()
	fmt.Println(c.Spec.Mesh, c.Spec.AnsweredBy, c.Spec.Port, c.Spec.Rewrite, c.Spec.ProbeProxy.Placement)
	c.Spec.Port, c.Spec.ProbeProxy.Name = 15006, "Proxy"
	fmt.Println(c.Validate())
	// Output:
	// auto probe-proxy 15020 [httpGet tcpSocket grpc lifecycle] native
	// functionConfig: `spec.probeProxy.name`: "Proxy" must be a container name: lower-case letters, digits and dashes, at most 63
}
