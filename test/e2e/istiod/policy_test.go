package istiod

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/kube"
)

// withPolicy puts the policy for WorkloadGroups into the API server, for the
// time of the test.
func withPolicy(t *testing.T) {
	t.Helper()
	text, err := exec.Command(filepath.Join(root, "bin/rewrite-probes"), "policy", "--action", "deny").Output()
	documents := bytes.Split(text, []byte("---\n"))
	if err != nil || len(documents) != 4 {
		t.Fatalf("%v: %d documents", err, len(documents))
	}
	const path, name = "/apis/admissionregistration.k8s.io/v1/", "/rewrite-probes-workloadgroups"
	kinds := []string{"validatingadmissionpolicies", "validatingadmissionpolicybindings"}
	wait := func(denies bool) error { // the API server learns of it a moment later
		return testutil.Eventually(time.Minute, func() error {
			a, err := api.Call(http.MethodPost, groups+"?dryRun=All", []byte(machineGroup("policed", "exec: {command: []}")))
			if err == nil && strings.Contains(a.Message, "[vm-no-handler]") != denies {
				err = fmt.Errorf("%d %s", a.Status, a.Message)
			}
			return err
		})
	}
	t.Cleanup(func() {
		for _, kind := range kinds {
			if a, err := api.Call(http.MethodDelete, path+kind+name, nil); err != nil || !a.Accepted() {
				t.Errorf("%v, %+v", err, a)
			}
		}
		if err := wait(false); err != nil {
			t.Errorf("the policy is still there: %v", err)
		}
	})
	for i, kind := range kinds {
		if a, err := api.Call(http.MethodPost, path+kind, documents[2+i]); err != nil || !a.Accepted() || len(a.Warnings) > 0 {
			t.Fatalf("%v, %+v", err, a)
		}
	}
	if err := wait(true); err != nil {
		t.Fatalf("the policy says nothing: %v", err)
	}
}

func TestThePolicyDeniesGroupsThatIstiosAgentGetsWrong(t *testing.T) {
	withPolicy(t)
	const grpc, https = "grpc: {port: 9000}", "httpGet: {port: 8443, scheme: HTTPS}"
	for probe, want := range map[string]string{
		grpc:                                  "spec.probe.grpc: istiod refuses a grpc probe, and Istio's agent crashes if the service is not serving [vm-grpc-refused]",
		https:                                 "spec.probe.httpGet.scheme: Istio's agent verifies the certificate of an HTTPS probe, which the kubelet does not [vm-https-verified]",
		"httpGet: {port: 80, host: 10.0.0.1}": "spec.probe.httpGet.host: must be the machine itself: Istio's agent reaches no other host [vm-host-remote]",
		"httpGet: {port: 80, httpHeaders: [{name: host, value: a}]}": "spec.probe.httpGet.httpHeaders: must be written Host: Istio's agent sends two Host headers otherwise [vm-header-case]",
		"httpGet: {path: /app-health/policed/readyz, port: 15020}":   "[dangling]",
		"periodSeconds: 5":                                           "spec.probe: must be exactly one handler, and exec must name a program [vm-no-handler]",
		"httpGet: {port: 80, host: 127.0.0.1}":                       "",
		"tcpSocket: {port: 80}":                                      "",
		"exec: {command: [a]}":                                       "",
		"httpGet: {port: 80, httpHeaders: [{name: Host, value: a}]}": "",
	} {
		a, err := api.Call(http.MethodPost, groups+"?dryRun=All", []byte(machineGroup("policed", probe)))
		if err != nil || a.Accepted() != (want == "") || !strings.Contains(a.Message, want) {
			t.Errorf("%s: %v, %d %s; want %q", probe, err, a.Status, a.Message, want)
		}
	}
	for name, probe := range map[string]string{"policed-grpc": grpc, "policed-https": https} {
		take(t, name, rewrite(t, machineGroup(name, probe)))
		a, err := putProbe(name, map[string]any{"failureThreshold": 3, "httpGet": map[string]any{"port": 8443, "scheme": "HTTPS"}})
		if err != nil || a.Accepted() || !strings.Contains(a.Message, "[vm-https-verified]") {
			t.Errorf("a change that takes the rewriting back: %v, %d %s", err, a.Status, a.Message)
		}
	}
}

// putProbe replaces the probe of a group.
func putProbe(name string, probe map[string]any) (kube.Answer, error) {
	a, err := api.Call(http.MethodGet, groups+"/"+name, nil)
	if err != nil {
		return a, err
	}
	var group map[string]any
	if err := json.Unmarshal(a.Body, &group); err != nil {
		return a, err
	}
	group["spec"].(map[string]any)["probe"] = probe
	text, err := json.Marshal(group)
	if err != nil {
		return a, err
	}
	return api.Call(http.MethodPut, groups+"/"+name, text)
}
