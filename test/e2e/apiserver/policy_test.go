package apiserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/policy/verdict"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/kube"
)

// policyConfig says that Istio's sidecar is injected wherever nothing switches
// that off.
const policyConfig = "test/e2e/pods/config/policy.yaml"

const admission = "/apis/admissionregistration.k8s.io/v1/"

// refused is a pod with a probe that fails, and one that falsely passes.
const refused = "apiVersion: v1\nkind: Pod\nmetadata: {name: refused, namespace: default}\nspec:\n  containers:\n" +
	"  - name: web\n    image: web\n    readinessProbe: {httpGet: {port: 8080}}\n    livenessProbe: {tcpSocket: {port: 8080}}\n"

// guard puts the policy into the API server, and takes it away after the test.
func guard(t *testing.T, action string) {
	t.Helper()
	text, err := testutil.Output(exec.Command(filepath.Join(root, "bin/rewrite-probes"), "policy", "--config", filepath.Join(root, policyConfig), "--action", action))
	if err != nil {
		t.Fatal(err)
	}
	pod := objects([]byte(refused))[0]
	says := func() (bool, error) {
		a, err := api.dryRun(pod)
		return strings.Contains(a.Message+strings.Join(a.Warnings, ""), "web: livenessProbe tcpSocket :8080 passes"), err
	}
	t.Cleanup(func() { // the last of them: the API server learns of it a moment later
		err := testutil.Eventually(time.Minute, func() error {
			if still, err := says(); err != nil || still {
				return fmt.Errorf("the policy is still there (%v)", err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	documents := bytes.Split(text, []byte("---\n")) // the last two are about WorkloadGroups
	for path, object := range map[string][]byte{"validatingadmissionpolicies": documents[0], "validatingadmissionpolicybindings": documents[1]} {
		a, err := api.Call(http.MethodPost, admission+path, object)
		if err != nil || !a.Accepted() || len(a.Warnings) > 0 {
			t.Fatalf("%s: %v, %+v", path, err, a)
		}
		t.Cleanup(func() {
			if a, err := api.Call(http.MethodDelete, admission+path+"/rewrite-probes", nil); err != nil || !a.Accepted() {
				t.Errorf("%s: %v, %+v", path, err, a)
			}
		})
	}
	err = testutil.Eventually(time.Minute, func() error {
		if already, err := says(); err != nil || !already {
			return fmt.Errorf("the policy says nothing yet (%v)", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// policed returns what the policy's warning says.
func policed(a kube.Answer) []string {
	for _, w := range a.Warnings {
		if _, message, found := strings.Cut(w, "with binding 'rewrite-probes': "); found {
			return verdict.FindingsIn(message)
		}
	}
	return nil
}

// A comparison counts pods about which check and the policy were compared.
type comparison struct{ pods, found, equal, explained int }

func (c *comparison) compare(t *testing.T, o object, spec *config.RewriteProbes) {
	t.Helper()
	a, err := api.dryRun(o)
	if err != nil {
		t.Fatal(err)
	}
	if !a.Accepted() {
		return
	}
	c.pods++
	pod, namespace := new(corev1.Pod), new(corev1.Namespace)
	ns, err := api.Call(http.MethodGet, "/api/v1/namespaces/"+o.namespace, nil)
	if err := errors.Join(err, json.Unmarshal(a.Body, pod), json.Unmarshal(ns.Body, namespace)); err != nil {
		t.Fatal(err)
	}
	checked, r, err := verdict.Check(pod, namespace, spec)
	if err != nil {
		t.Fatal(err)
	}
	said := policed(a)
	if len(said) > 0 {
		c.found++
	}
	if slices.Equal(checked, said) {
		c.equal++
	} else if e := verdict.Explain(pod, r, checked, said); e != nil {
		c.explained++
		t.Logf("%s/%s: %s", o.namespace, o.name, e.Name)
	} else {
		t.Errorf("%s/%s: check says %q, the policy %q\n%s", o.namespace, o.name, checked, said, o.text)
	}
}

// TestThePolicySaysOfEveryPodWhatCheckSays compares the two for the pods of all
// manifests, as they are and rewritten, as the API server has completed them.
func TestThePolicySaysOfEveryPodWhatCheckSays(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, policyConfig))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := rewriting.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	all, err := sources(root)
	if err != nil {
		t.Fatal(err)
	}
	guard(t, "warn")
	var ofTests comparison
	for _, s := range all {
		n := &proven
		if isTest(s.name) {
			n = &ofTests
		}
		for _, o := range s.objects {
			if o.kind == namespaceKind {
				if err := api.createNamespace(o.name, o.text); err != nil {
					t.Error(err)
				}
				continue
			}
			versions := []object{o}
			for _, args := range configs {
				rewritten := o
				if rewritten.text, err = function(o.text, args...); err == nil && !bytes.Equal(rewritten.text, o.text) {
					versions = append(versions, rewritten)
				}
			}
			for _, v := range versions {
				if pod, ok := v.pod(); ok {
					v = pod
				}
				if v.kind == "v1/Pod" {
					n.compare(t, v, spec)
				}
			}
		}
	}
	t.Logf("%+v, of the tests' own %+v", proven, ofTests)
	if proven.found+ofTests.found < 100 || proven.equal+ofTests.equal < 300 {
		t.Errorf("too little was compared: %+v, of the tests' own %+v", proven, ofTests)
	}
}

// proven is what the results page says.
var proven comparison

func TestThePolicyDenies(t *testing.T) {
	guard(t, "deny")
	pod := objects([]byte(refused))[0]
	a, err := api.dryRun(pod)
	if err != nil || a.Accepted() || !strings.Contains(a.Message, "web: readinessProbe httpGet :8080/ fails under strict mTLS [would-fail]; web: livenessProbe tcpSocket :8080 passes under strict mTLS although nothing may listen [would-falsely-pass]") {
		t.Errorf("%v, %+v", err, a)
	}
	for config, args := range configs {
		rewritten := pod
		if rewritten.text, err = function(pod.text, args...); err != nil {
			t.Fatal(err)
		}
		if a, err := api.dryRun(rewritten); err != nil || !a.Accepted() {
			t.Errorf("config %q: %v, %+v", config, err, a)
		}
	}
}
