// Command go builds a Deployment as an operator does, with the types of
// k8s.io/api, has its probes rewritten, and prints it as JSON for kubectl:
//
//	go run ./examples/go | kubectl apply -f -
package main

import (
	"encoding/json"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rewrite-probes/rewrite-probes/fn"
)

func main() {
	deployment, err := build("ledger", "example/ledger:v1")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(deployment); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// build returns the Deployment of an app. What was found in its probes goes to
// stderr.
func build(name, image string) (*appsv1.Deployment, error) {
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name:  "app",
					Image: image,
					Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
					ReadinessProbe: &corev1.Probe{
						ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromString("http")}},
						PeriodSeconds: 5,
					},
				}}},
			},
		},
	}
	config := &fn.RewriteProbes{Spec: fn.RewriteProbesSpec{
		AnsweredBy: fn.AnsweredByProbeProxy,
		ProbeProxy: fn.ProbeProxy{Image: "example/probe-proxy:v1"},
	}}
	owner := fn.Owner{APIVersion: d.APIVersion, Kind: d.Kind, Metadata: d.ObjectMeta}
	report, err := fn.Mutate(&d.Spec.Template, owner, config)
	if err != nil {
		return nil, err
	}
	for _, finding := range report.Findings {
		fmt.Fprintln(os.Stderr, finding)
	}
	return d, nil
}
