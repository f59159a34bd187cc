package cluster

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// TestThePolicyDeniesWhatCheckNames comes before the tests that run at once, whose pods it
// would deny.
func TestThePolicyDeniesThePodsThatCheckNamesAfterTheirInjection(t *testing.T) {
	out, err := testutil.Output(exec.Command(filepath.Join(root, "bin/rewrite-probes"), "policy", "--action", "deny"))
	if err != nil {
		t.Fatal(err)
	}
	policies := string(out)
	raw := manifestsOf(t, row{pod: "http", mode: strictMode}, asItIs)
	if err := api.apply(policies); err != nil {
		t.Fatal(err)
	}
	// The API server learns of a policy a moment after it took it, and of its end too.
	defer waitForPolicy(t, raw.pod(t), false)
	defer func() {
		if err := api.remove(policies); err != nil {
			t.Error(err)
		}
	}()
	waitForPolicy(t, raw.pod(t), true)
	denied, admitted := 0, 0
	for _, r := range rows {
		if r.mode.policy != "" {
			continue // the policy knows of no PeerAuthentication
		}
		for _, v := range variants {
			f, found := r.fates[v.name]
			if !found {
				continue
			}
			err := dryRun(manifestsOf(t, r, v).pod(t))
			isRaw := v == asItIs || r.pod == "hooks" && v.leavesHooks()
			if (err != nil) != (f.said != "" && isRaw) || err != nil && !deniedByPolicy(err) {
				t.Errorf("%s, of which check says %q: %v", r.key(v), f.said, err)
			}
			if err != nil {
				denied++
			} else {
				admitted++
			}
		}
	}
	note(t, fmt.Sprintf("%d denied, %d admitted", denied, admitted), fmt.Sprintf("%d denied, %d admitted", denied, admitted))
}

func deniedByPolicy(err error) bool {
	return strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'rewrite-probes'")
}

// waitForPolicy waits until the policy denies a pod, or no longer does.
func waitForPolicy(t *testing.T, pod string, denies bool) {
	t.Helper()
	err := testutil.Eventually(time.Minute, func() error {
		err := dryRun(pod)
		if denies == (err != nil && deniedByPolicy(err)) {
			return nil
		}
		return errors.Join(err, fmt.Errorf("the policy denies pods: %t", !denies))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// dryRun asks the API server whether it would take an object, past all webhooks.
func dryRun(manifest string) error {
	all, err := objects(manifest)
	if err != nil {
		return err
	}
	resource, err := api.resource(all[0])
	if err != nil {
		return err
	}
	_, err = resource.Create(context.Background(), all[0], metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}
