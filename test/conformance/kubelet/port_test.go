package kubelet_test

import (
	"math/rand/v2"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubernetes/pkg/probe"
	httpprobe "k8s.io/kubernetes/pkg/probe/http"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
)

// A port without a number is left alone (port-unresolved, port-invalid). The kubelet makes no request then: its
// prober throws the error away (pkg/kubelet/prober/worker.go, doProbe), so that no failure is counted.
func TestPorts_resolved(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 47))
	names := []string{"", "web", "http", "WEB", "web-2"}
	numbers := []int32{-1, 0, 1, 80, 65535, 65536, 70000}
	resolved, refused := 0, 0
	for range 5000 {
		theirs := v1.Container{Name: "app"}
		ours := pod.Container{Name: "app"}
		for range rnd.IntN(3) {
			name, number := names[rnd.IntN(len(names))], numbers[rnd.IntN(len(numbers))]
			theirs.Ports = append(theirs.Ports, v1.ContainerPort{Name: name, ContainerPort: number})
			ours.Ports = append(ours.Ports, pod.ContainerPort{Name: name, ContainerPort: int64(number)})
		}
		number := numbers[rnd.IntN(len(numbers))]
		port, own := intstr.FromInt32(number), field.Number(number)
		if name := names[1+rnd.IntN(len(names)-1)]; rnd.IntN(2) == 0 {
			port, own = intstr.FromString(name), field.IntOrString{Str: name, IsString: true}
		}
		want, err := probe.ResolveContainerPort(port, &theirs)
		got, ownErr := (&pod.Handler{HTTPGet: &pod.HTTPGet{Port: own}}).Resolve(&ours)
		if (err == nil) != (ownErr == nil) || err == nil && got != want {
			t.Fatalf("port %s of %v: the kubelet resolves %d, %v; we %d, %v", port.String(), theirs.Ports, want, err, got, ownErr)
		}
		_, noRequest := httpprobe.NewRequestForHTTPGetAction(&v1.HTTPGetAction{Port: port}, &theirs, "127.0.0.1", "probe")
		if (noRequest != nil) != (err != nil) {
			t.Fatalf("port %s of %v: the kubelet's request: %v", port.String(), theirs.Ports, noRequest)
		}
		if err == nil {
			resolved++
		} else {
			refused++
		}
	}
	if resolved < 1000 || refused < 1000 {
		t.Errorf("%d ports are resolved, %d are not", resolved, refused)
	}
}
