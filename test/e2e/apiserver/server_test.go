package apiserver

import (
	"fmt"
	"net/http"

	"go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/test/e2e/kube"
)

// A server is the API server, with the namespaces that exist.
type server struct {
	*kube.Server
	namespaces map[string]bool
}

func startServer(bin, dir string) (*server, error) {
	s, err := kube.Start(bin, dir)
	return &server{s, map[string]bool{"default": true}}, err
}

// resources are the workloads the API server itself knows, by apiVersion
// and kind.
var resources = map[string]string{
	"v1/Pod":                   "/api/v1/namespaces/%s/pods",
	"v1/PodTemplate":           "/api/v1/namespaces/%s/podtemplates",
	"v1/ReplicationController": "/api/v1/namespaces/%s/replicationcontrollers",
	"apps/v1/Deployment":       "/apis/apps/v1/namespaces/%s/deployments",
	"apps/v1/ReplicaSet":       "/apis/apps/v1/namespaces/%s/replicasets",
	"apps/v1/StatefulSet":      "/apis/apps/v1/namespaces/%s/statefulsets",
	"apps/v1/DaemonSet":        "/apis/apps/v1/namespaces/%s/daemonsets",
	"batch/v1/Job":             "/apis/batch/v1/namespaces/%s/jobs",
	"batch/v1/CronJob":         "/apis/batch/v1/namespaces/%s/cronjobs",
}

// dryRun asks what kubectl apply --dry-run=server asks, with the strict
// validation of fields that kubectl asks for.
func (s *server) dryRun(o object) (kube.Answer, error) {
	if !s.namespaces[o.namespace] {
		if err := s.createNamespace(o.namespace, fmt.Appendf(nil, "apiVersion: v1\nkind: Namespace\nmetadata: {name: %q}\n", o.namespace)); err != nil {
			return kube.Answer{}, err
		}
	}
	path := fmt.Sprintf(resources[o.kind], o.namespace) + "?dryRun=All&fieldValidation=Strict"
	return s.Call(http.MethodPost, path, o.text)
}

// createNamespace makes a namespace from its manifest; one that exists stays.
func (s *server) createNamespace(name string, text []byte) error {
	var read struct {
		Metadata struct {
			Labels, Annotations map[string]string
		}
	}
	if err := yaml.Unmarshal(text, &read); err != nil || name == "" {
		return err // one without a name is none
	}
	// One that was read from a cluster has more, which none that is made may have.
	text, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
		"name": name, "labels": read.Metadata.Labels, "annotations": read.Metadata.Annotations}})
	if err != nil {
		return err
	}
	a, err := s.Call(http.MethodPost, "/api/v1/namespaces", text)
	if err == nil && !a.Accepted() && a.Status != http.StatusConflict {
		err = fmt.Errorf("namespace %q: %s", name, a.Message)
	}
	if err == nil {
		s.namespaces[name] = true
	}
	return err
}
