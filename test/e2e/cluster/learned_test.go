package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/kube"
)

// mayReadPods is a user who reads workloads and policies, and nothing by which Istio is installed: what the
// injector does, running pods alone can tell him.
const mayReadPods = `
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: reads-pods}, rules: [
  {apiGroups: [""], resources: [pods, replicationcontrollers, namespaces, services, nodes, limitranges, resourcequotas], verbs: [list]},
  {apiGroups: [apps], resources: ["*"], verbs: [list]},
  {apiGroups: [batch, networking.k8s.io, security.istio.io, networking.istio.io], resources: ["*"], verbs: [list]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: reads-pods},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reads-pods},
  subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: reads-pods}]}`

// TestCheckOfTheClusterSaysWhatBecomesOfItsPods runs the shop as it is, checks the cluster, and
// compares with its pods: as the administrator, and as one whom only running pods tell what the
// injector does. Then it rewrites the shop, and checks again.
func TestCheckOfTheClusterSaysWhatBecomesOfItsPods(t *testing.T) {
	t.Parallel()
	if err := api.apply(mayReadPods); err != nil {
		t.Fatal(err)
	}
	for title, c := range map[string]struct {
		name  string // of the namespace
		label string
		ready bool // as the shop is, since its injector rewrites probes
		says  string
	}{
		"an injector that rewrites":         {"learned", "istio-injection: enabled", true, "unaffected"},
		"an injector that does not rewrite": {"learned-off", "istio.io/rev: " + otherRevision, false, "fails"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			name := c.name
			shop := strings.ReplaceAll(shopIn(t, name), "istio-injection: enabled", c.label)
			if err := api.applyTo(name, shop); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := api.removeNamespace(name); err != nil {
					t.Error(err)
				}
			})
			await := func() error { return unready(name, "web", "reviews") }
			if c.ready {
				await = func() error { return ready(name, "web", "reviews") }
			}
			if err := await(); err != nil {
				t.Fatal(err)
			}
			if says := checkedCluster(t, name, ""); !slices.Equal(says, []string{c.says}) {
				t.Errorf("check says %q of the probes, want %q", says, c.says)
			}
			if err := witnessed(t, name, c.says); err != nil {
				t.Error(err)
			}
			if err := api.apply(rewrite(t, shop)); err != nil {
				t.Fatal(err)
			}
			if err := ready(name, "web", "reviews"); err != nil {
				t.Fatal(err)
			}
			for _, user := range []string{"", "reads-pods"} {
				if says := checkedCluster(t, name, user); !slices.Equal(says, []string{"unaffected"}) {
					t.Errorf("as %q check says %q of the rewritten probes", user, says)
				}
			}
			saw := "never Ready, and check says that probes fail; rewritten: Ready, and no finding"
			if c.ready {
				saw = "Ready, and check finds nothing; rewritten: the same"
			}
			note(t, saw, saw)
		})
	}
}

// witnessed waits until check says the same to the user whom running pods tell it. A pod that is about as old as
// istiod itself shows nothing, so newer ones are made.
func witnessed(t *testing.T, namespace, want string) error {
	t.Helper()
	return testutil.Eventually(2*time.Minute, func() error {
		says := checkedCluster(t, namespace, "reads-pods")
		if slices.Equal(says, []string{want}) {
			return nil
		}
		for _, name := range []string{"web", "reviews"} {
			if err := api.restart(namespace, name); err != nil {
				return err
			}
		}
		return fmt.Errorf("from running pods check says %q of the probes, want %q", says, want)
	})
}

// ready waits until Deployments are.
func ready(namespace string, names ...string) error {
	for _, name := range names {
		if err := api.deploymentReady(namespace, name, 4*time.Minute); err != nil {
			return err
		}
	}
	return nil
}

// unready waits until the kubelet has said of a pod of each Deployment that a probe fails, and fails if one is ready.
func unready(namespace string, names ...string) error {
	for _, name := range names {
		err := testutil.Eventually(4*time.Minute, func() error {
			list, err := api.CoreV1().Events(namespace).List(context.Background(), metav1.ListOptions{FieldSelector: "reason=Unhealthy"})
			if err != nil {
				return err
			}
			for _, e := range list.Items {
				if strings.HasPrefix(e.InvolvedObject.Name, name+"-") {
					return nil
				}
			}
			return fmt.Errorf("no probe of %s/%s has failed", namespace, name)
		})
		if err != nil {
			return err
		}
		d, err := api.AppsV1().Deployments(namespace).Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if d.Status.ReadyReplicas > 0 {
			return fmt.Errorf("the Deployment %s/%s is ready", namespace, name)
		}
	}
	return nil
}

// checkedCluster returns what `check --cluster` says of the probes of a namespace, each word once.
func checkedCluster(t *testing.T, namespace, user string) []string {
	t.Helper()
	if err := writeKubeconfig(kube.Token); err != nil {
		t.Fatal(err)
	}
	args := []string{"check", "--cluster", "--kubeconfig", kubeconfig(kube.Token), "-n", namespace, "-o", "json"}
	if user != "" {
		args = append(args, "--as", user)
	}
	cmd := exec.Command(filepath.Join(root, "bin/rewrite-probes"), args...)
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	var says []string
	for _, p := range slices.Concat(judgements(t, cmd, 2)...) {
		word := p.Today
		if p.If != "" {
			word += ", if " + p.If
		}
		says = append(says, word)
	}
	slices.Sort(says)
	return slices.Compact(says)
}
