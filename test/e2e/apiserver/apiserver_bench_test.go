package apiserver

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/test/e2e/kube"
)

// What is in the cluster of the benchmark: Deployments with a ReplicaSet and two running pods each.
const (
	benchNamespaces  = 50
	benchDeployments = 5000
	benchPods        = 2 * benchDeployments
)

// BenchmarkCheckCluster measures `check --cluster` on a cluster with 5,000 Deployments and 10,000 pods, into which
// Istio has injected its sidecar. It reports the memory of rewrite-probes and of the kubectls that run beside it.
func BenchmarkCheckCluster(b *testing.B) {
	if err := fill(); err != nil {
		b.Fatal(err)
	}
	one, err := api.Call(http.MethodGet, "/api/v1/namespaces/team-0/pods/web-0-abc-0", nil)
	if err != nil {
		b.Fatal(err)
	}
	config := filepath.Join(b.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: bench\nclusters: [{name: bench, cluster: {server: '" + kube.URL + "', insecure-skip-tls-verify: true}}]\n" +
		"users: [{name: bench, user: {token: " + kube.Token + "}}]\ncontexts: [{name: bench, context: {cluster: bench, user: bench}}]\n"
	if err = os.WriteFile(config, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	var peak, own int
	var cpu time.Duration
	home := b.TempDir()
	for b.Loop() {
		cmd := exec.Command(filepath.Join(root, "bin/rewrite-probes"), "check", "--cluster", "--kubeconfig", config)
		cmd.Env = append(os.Environ(), "HOME="+home, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
		var said strings.Builder
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		done := make(chan struct{})
		var watch sync.WaitGroup
		watch.Go(func() {
			for {
				all, first := residents(cmd.Process.Pid)
				peak, own = max(peak, all), max(own, first)
				select {
				case <-done:
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
		})
		err := cmd.Wait()
		close(done)
		watch.Wait()
		if want := fmt.Sprintf("%d pod templates, %d probes", benchDeployments+1, 2*benchDeployments); !strings.Contains(said.String(), want) {
			b.Fatalf("%v: it does not say %q:\n%.3000s", err, want, said.String())
		}
		cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	b.ReportMetric(float64(peak)/1e6, "MB-all")
	b.ReportMetric(float64(own)/1e6, "MB-rewrite-probes")
	b.ReportMetric(cpu.Seconds()/float64(b.N), "CPU-s/op")
	b.ReportMetric(float64(len(one.Body))/1e3, "kB-pod")
}

// residents returns the resident memory of a process and its children, and of the process alone, in bytes.
func residents(pid int) (all, first int) {
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid)); err == nil {
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			pages, _ := strconv.Atoi(fields[1])
			first = pages * os.Getpagesize()
		}
	}
	all = first
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for child := range strings.FieldsSeq(string(text)) {
			n, _ := strconv.Atoi(child)
			below, _ := residents(n)
			all += below
		}
	}
	return all, first
}

// fill makes the objects of the cluster.
func fill() error {
	type object struct{ path, text string }
	put := func(o object) error {
		a, err := api.Call(http.MethodPost, o.path, []byte(o.text))
		if err == nil && !a.Accepted() && a.Status != http.StatusConflict {
			err = fmt.Errorf("%s: %s", o.path, a.Message)
		}
		return err
	}
	objects := []object{
		{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", peerAuthentications},
		{"/api/v1/namespaces", "apiVersion: v1\nkind: Namespace\nmetadata: {name: istio-system}\n"},
		{"/api/v1/namespaces/istio-system/configmaps", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio, labels: {istio.io/rev: default}}\ndata: {mesh: 'defaultConfig: {}'}\n"},
		{"/api/v1/namespaces/istio-system/configmaps", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio-sidecar-injector, labels: {istio.io/rev: default}}\n" +
			"data: {config: 'policy: enabled', values: '{\"sidecarInjectorWebhook\": {\"rewriteAppHTTPProbe\": false}}'}\n"},
		{"/apis/apps/v1/namespaces/istio-system/deployments", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: istiod, labels: {app: istiod, istio.io/rev: default}}\n" +
			"spec: {selector: {matchLabels: {app: istiod}}, template: {metadata: {labels: {app: istiod}}, spec: {containers: [{name: discovery, image: 'istio/pilot:1.31.0'}]}}}\n"},
	}
	for i := range benchNamespaces {
		objects = append(objects, object{"/api/v1/namespaces", fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: team-%d, labels: {istio-injection: enabled}}\n", i)})
	}
	for _, o := range objects {
		if err := put(o); err != nil {
			return err
		}
	}
	var next atomic.Int64
	failed := make(chan error, 8)
	for range cap(failed) {
		go func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= benchDeployments {
					failed <- nil
					return
				}
				for path, text := range workloadsOf(i) {
					if err := put(object{path, text}); err != nil {
						failed <- err
						return
					}
				}
			}
		}()
	}
	for range cap(failed) {
		if err := <-failed; err != nil {
			return err
		}
	}
	return nil
}

const peerAuthentications = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: peerauthentications.security.istio.io}
spec:
  group: security.istio.io
  names: {kind: PeerAuthentication, plural: peerauthentications}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// workloadsOf yields the path and the manifest of a Deployment, and of what its controllers and Istio make of it.
func workloadsOf(i int) func(yield func(path, text string) bool) {
	name, namespace := fmt.Sprintf("web-%d", i), fmt.Sprintf("team-%d", i%benchNamespaces)
	const app = "containers: [{name: web, image: 'shop/web:1.0', livenessProbe: {httpGet: {path: /live, port: 8080}}, readinessProbe: {httpGet: {path: /ready, port: 8080}}}"
	labels := "{app: " + name + ", pod-template-hash: abc}"
	owned := func(group, kind, name string) string {
		return "ownerReferences: [{apiVersion: " + group + ", kind: " + kind + ", name: " + name + ", uid: 00000000-0000-0000-0000-000000000001, controller: true}]"
	}
	var env strings.Builder // what istio-proxy has, to the 16 kB of a real pod
	for n := range 80 {
		fmt.Fprintf(&env, "{name: SETTING_%d, value: '%s'}, ", n, strings.Repeat("x", 90))
	}
	return func(yield func(path, text string) bool) {
		const apps = "/apis/apps/v1/namespaces/"
		ok := yield(apps+namespace+"/deployments", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: "+name+"}\n"+
			"spec: {replicas: 2, selector: {matchLabels: {app: "+name+"}}, template: {metadata: {labels: {app: "+name+"}}, spec: {"+app+"]}}}\n")
		ok = ok && yield(apps+namespace+"/replicasets", "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: "+name+"-abc, labels: "+labels+", "+owned("apps/v1", "Deployment", name)+"}\n"+
			"spec: {replicas: 2, selector: {matchLabels: "+labels+"}, template: {metadata: {labels: "+labels+"}, spec: {"+app+"]}}}\n")
		for pod := range benchPods / benchDeployments {
			ok = ok && yield("/api/v1/namespaces/"+namespace+"/pods", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: "+name+"-abc-"+strconv.Itoa(pod)+"\n"+
				"  labels: {app: "+name+", pod-template-hash: abc, security.istio.io/tlsMode: istio}\n"+
				"  annotations: {istio.io/rev: default, sidecar.istio.io/status: '{\"containers\":[\"istio-proxy\"],\"revision\":\"default\"}'}\n"+
				"  "+owned("apps/v1", "ReplicaSet", name+"-abc")+"\nspec: {"+app+", {name: istio-proxy, image: 'istio/proxyv2:1.31.0', env: ["+env.String()+"]}]}\n")
		}
	}
}
