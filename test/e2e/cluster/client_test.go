package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	clients "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/kube"
)

// A client speaks to the API server as its administrator.
type client struct {
	*clients.Clientset
	config  *rest.Config
	dynamic dynamic.Interface

	mu     sync.Mutex                              // guards mapper
	mapper *restmapper.DeferredDiscoveryRESTMapper // asked for by kind
}

func newClient() (*client, error) {
	config := &rest.Config{
		Host: "https://" + nodeAddress + ":6443", BearerToken: kube.Token, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(dir, kube.Certificate)},
	}
	typed, err := clients.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(typed.Discovery()))
	return &client{Clientset: typed, config: config, dynamic: untyped, mapper: mapper}, nil
}

// objects returns the objects of a stream of YAML documents.
func objects(text string) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	var all []*unstructured.Unstructured
	for {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if len(o.Object) > 0 {
			all = append(all, o)
		}
	}
}

// apply does what `kubectl apply --server-side` does with manifests.
func (c *client) apply(manifests string) error {
	all, err := objects(manifests)
	if err != nil {
		return fmt.Errorf("%w in\n%s", err, manifests)
	}
	for _, o := range all {
		resource, err := c.resource(o)
		if err != nil {
			return err
		}
		_, err = resource.Apply(context.Background(), o.GetName(), o, metav1.ApplyOptions{FieldManager: "e2e", Force: true})
		if err != nil {
			return fmt.Errorf("%s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err)
		}
	}
	return nil
}

// remove deletes what apply made, and does not wait until it is gone.
func (c *client) remove(manifests string) error {
	all, err := objects(manifests)
	if err != nil {
		return err
	}
	for _, o := range all {
		resource, err := c.resource(o)
		if err != nil {
			return err
		}
		if err := resource.Delete(context.Background(), o.GetName(), metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// resource returns where an object is, or is to be.
func (c *client) resource(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := o.GroupVersionKind()
	c.mu.Lock()
	defer c.mu.Unlock()
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		c.mapper.Reset() // it may have come since
	}
	if err != nil {
		return nil, err
	}
	resource := c.dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return resource, nil
	}
	if o.GetNamespace() == "" {
		return nil, fmt.Errorf("%s %s has no namespace", o.GetKind(), o.GetName())
	}
	return resource.Namespace(o.GetNamespace()), nil
}

// deploymentReady waits until all pods of a Deployment are those of its template,
// and ready.
func (c *client) deploymentReady(namespace, name string, limit time.Duration) error {
	return testutil.Eventually(limit, func() error {
		d, err := c.AppsV1().Deployments(namespace).Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		s := d.Status
		want := *d.Spec.Replicas
		if s.ObservedGeneration < d.Generation || s.Replicas != want || s.UpdatedReplicas != want || s.ReadyReplicas != want {
			return fmt.Errorf("the Deployment %s/%s is not ready: %+v", namespace, name, s)
		}
		return nil
	})
}

// serviceAnswers waits until a Service takes connections.
func (c *client) serviceAnswers(namespace, name string, port int, limit time.Duration) error {
	return testutil.Eventually(limit, func() error {
		s, err := c.CoreV1().Services(namespace).Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(s.Spec.ClusterIP, strconv.Itoa(port)), time.Second)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// patchDeployment merges a patch, in JSON, into a Deployment.
func (c *client) patchDeployment(namespace, name, patch string) error {
	_, err := c.AppsV1().Deployments(namespace).Patch(context.Background(), name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// restart does what `kubectl rollout restart` does with a Deployment.
func (c *client) restart(namespace, name string) error {
	const annotation = `{"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": %q}}}}}`
	return c.patchDeployment(namespace, name, fmt.Sprintf(annotation, time.Now().Format(time.RFC3339)))
}

// applyTo applies the Namespace that is the first of some manifests, and when pods can be
// made in it, the others.
func (c *client) applyTo(namespace, manifests string) error {
	first, rest, _ := strings.Cut(manifests, "\n---\n")
	if err := c.apply(first); err != nil {
		return err
	}
	if err := c.namespaceReady(namespace); err != nil {
		return err
	}
	return c.apply(rest)
}

// removeNamespace deletes a namespace with what is in it, and waits until its pods are
// gone.
func (c *client) removeNamespace(name string) error {
	if err := c.CoreV1().Namespaces().Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return testutil.Eventually(2*time.Minute, func() error {
		list, err := c.CoreV1().Pods(name).List(context.Background(), metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("%d pods are left in namespace %s", len(list.Items), name)
		}
		return err
	})
}

// podGone waits until a pod that is about to end has.
func (c *client) podGone(namespace, name string) error {
	return testutil.Eventually(time.Minute, func() error {
		_, err := c.CoreV1().Pods(namespace).Get(context.Background(), name, metav1.GetOptions{})
		if err == nil {
			return fmt.Errorf("the pod %s/%s has not ended", namespace, name)
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

// podsOf returns the pods with a label that are not about to end.
func (c *client) podsOf(namespace, selector string) ([]corev1.Pod, error) {
	list, err := c.CoreV1().Pods(namespace).List(context.Background(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	var live []corev1.Pod
	for _, p := range list.Items {
		if p.DeletionTimestamp == nil {
			live = append(live, p)
		}
	}
	if len(live) == 0 {
		return nil, fmt.Errorf("no pod %s in namespace %s", selector, namespace)
	}
	return live, nil
}

// exec runs a command in a container, and returns what it writes to stdout.
func (c *client) exec(namespace, pod, container string, command ...string) (string, error) {
	return c.execFor(30*time.Second, namespace, pod, container, command...)
}

// execFor is exec for a command that may take that long.
func (c *client) execFor(limit time.Duration, namespace, pod, container string, command ...string) (string, error) {
	request := c.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: container, Command: command, Stdout: true, Stderr: true}, scheme.ParameterCodec)
	executor, err := remotecommand.NewWebSocketExecutor(c.config, "GET", request.URL().String())
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var stdout, stderr bytes.Buffer
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &stdout, Stderr: &stderr})
	if err != nil {
		err = fmt.Errorf("%s in %s/%s: %w: %s", strings.Join(command, " "), namespace, pod, err, &stderr)
	}
	return stdout.String(), err
}

// namespaceReady waits until pods can be made in a namespace: its service account
// and istiod's root certificate are there.
func (c *client) namespaceReady(name string) error {
	return testutil.Eventually(time.Minute, func() error {
		_, err := c.CoreV1().ServiceAccounts(name).Get(context.Background(), "default", metav1.GetOptions{})
		if err != nil {
			return err
		}
		_, err = c.CoreV1().ConfigMaps(name).Get(context.Background(), "istio-ca-root-cert", metav1.GetOptions{})
		return err
	})
}
