package fn_test

import (
	"fmt"
	"log"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

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
	for _, c := range slices.Concat(t.Spec.InitContainers, t.Spec.Containers) {
		if c.ReadinessProbe != nil {
			fmt.Println(c.Name, c.ReadinessProbe.HTTPGet.Port.String(), c.ReadinessProbe.HTTPGet.Path)
		}
		for _, e := range c.Env[max(0, len(c.Env)-1):] {
			fmt.Println(c.Name, e.Name, e.Value)
		}
	}
	// Output:
	// true
	// probe-proxy ISTIO_KUBE_APP_PROBERS {"/app-health/web/readyz":{"httpGet":{"path":"/ready","port":8080,"scheme":"HTTP"},"timeoutSeconds":1}}
	// web 15099 /app-health/web/readyz
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
	// spec.template.spec.containers[0].readinessProbe: would rewrite ":15099/app-health/web/readyz" ""; under strict mTLS: fails
	// spec.template.spec.containers[0].livenessProbe: left alone "" "no-network"; under strict mTLS: unaffected
}

func ExampleRewriteProbes() {
	c := &fn.RewriteProbes{Spec: fn.RewriteProbesSpec{AnsweredBy: fn.AnsweredByProbeProxy}}
	c.Default()
	fmt.Println(c.Spec.Mesh, c.Spec.AnsweredBy, c.Spec.Port, c.Spec.Rewrite, c.Spec.ProbeProxy.Placement)
	c.Spec.Port, c.Spec.ProbeProxy.Name = 15006, "Proxy"
	fmt.Println(c.Validate())
	// Output:
	// auto probe-proxy 15099 [httpGet tcpSocket grpc lifecycle] native
	// functionConfig: `spec.probeProxy.name`: "Proxy" must be a container name: lower-case letters, digits and dashes, at most 63
	// functionConfig: `spec.port`: "15006" is one of Istio's own ports (15000, 15001, 15004, 15006, 15008, 15021, 15053, 15090) and must be another
}
