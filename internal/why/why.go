// Package why finds out why a pod's probes fail, or that they do not: from the pod, its events, and the log and the
// metrics of its probe-proxy. It asks for nothing else, runs nothing in a pod, and reads no Secret.
package why

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// A Cluster answers a GET of a path of the API server, as kubectl does.
type Cluster interface {
	Get(ctx context.Context, path string) ([]byte, error)
}

// owners are the kinds whose pods can be asked about, by the names that kubectl has for them.
var owners = map[string][]string{
	"/apis/apps/v1/namespaces/%s/deployments/%s":  {"deploy", "deployment", "deployments"},
	"/apis/apps/v1/namespaces/%s/statefulsets/%s": {"sts", "statefulset", "statefulsets"},
	"/apis/apps/v1/namespaces/%s/daemonsets/%s":   {"ds", "daemonset", "daemonsets"},
	"/apis/apps/v1/namespaces/%s/replicasets/%s":  {"rs", "replicaset", "replicasets"},
	"/apis/batch/v1/namespaces/%s/jobs/%s":        {"job", "jobs"},
}

// ErrKind says which references there are.
var ErrKind = errors.New("the kind must be pod, deploy, sts, ds, rs or job")

// ErrNoPods says that an object has no pods now.
var ErrNoPods = errors.New("it has no pods now")

// Gather reads what there is about a pod: POD, pod/POD, or deploy/NAME and the like, of whose pods it takes one that is
// not ready. What may not be read is noted; only the pod itself must be there. isMeshProxy is that of the [Evidence].
func Gather(
	ctx context.Context, c Cluster, namespace, reference string, isMeshProxy func(name, image string) bool,
) (*Evidence, error) {
	kind, name, hasKind := strings.Cut(reference, "/")
	if !hasKind {
		kind, name = "pod", reference
	}
	e := &Evidence{IsMeshProxy: isMeshProxy}
	var err error
	if slices.Contains([]string{"pod", "po", "pods"}, kind) {
		err = ask(ctx, c, fmt.Sprintf("/api/v1/namespaces/%s/pods/%s", url.PathEscape(namespace), url.PathEscape(name)), &e.Pod)
	} else {
		e.Pod, err = podOf(ctx, c, namespace, kind, name)
	}
	if err != nil {
		return nil, err
	}
	e.gatherRest(ctx, c)
	return e, ctx.Err()
}

func ask(ctx context.Context, c Cluster, path string, into any) error {
	text, err := c.Get(ctx, path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// podOf returns the pod of an object that is worst off.
func podOf(ctx context.Context, c Cluster, namespace, kind, name string) (Pod, error) {
	for path, names := range owners {
		if slices.Contains(names, kind) {
			return worstOf(ctx, c, namespace, fmt.Sprintf(path, url.PathEscape(namespace), url.PathEscape(name)))
		}
	}
	return Pod{}, ErrKind
}

// worstOf returns the pod that is worst off of those that the object of a path selects.
func worstOf(ctx context.Context, c Cluster, namespace, path string) (Pod, error) {
	var owner struct {
		Spec struct {
			Selector struct{ MatchLabels map[string]string }
		}
	}
	if err := ask(ctx, c, path, &owner); err != nil {
		return Pod{}, err
	}
	var labels []string
	for key, value := range owner.Spec.Selector.MatchLabels {
		labels = append(labels, key+"="+value)
	}
	slices.Sort(labels)
	query := url.Values{"labelSelector": {strings.Join(labels, ",")}, "limit": {"500"}}
	all := "/api/v1/namespaces/" + url.PathEscape(namespace) + "/pods?" + query.Encode()
	var pods struct{ Items []Pod }
	if err := ask(ctx, c, all, &pods); err != nil {
		return Pod{}, err
	}
	if len(pods.Items) == 0 {
		return Pod{}, ErrNoPods
	}
	return slices.MinFunc(pods.Items, func(a, b Pod) int { return a.health() - b.health() }), nil
}

// gatherRest reads what is about the pod. Each is optional.
func (e *Evidence) gatherRest(ctx context.Context, c Cluster) {
	namespace := "/api/v1/namespaces/" + url.PathEscape(e.Pod.Metadata.Namespace)
	pod := namespace + "/pods/" + url.PathEscape(e.Pod.Metadata.Name)
	query := url.Values{"fieldSelector": {"involvedObject.name=" + e.Pod.Metadata.Name}, "limit": {"500"}}
	var events struct{ Items []Event }
	err := ask(ctx, c, namespace+"/events?"+query.Encode(), &events)
	e.Events = events.Items
	e.noteUnseen("its events", err)
	h := e.proxy()
	if h == nil {
		return
	}
	for _, previous := range []bool{false, true} {
		if s := e.Pod.status(h.Name); previous && (s == nil || s.RestartCount == 0) {
			continue
		}
		query := url.Values{"container": {h.Name}, "tailLines": {"1000"}, "limitBytes": {"1000000"}}
		what := "the log of " + h.Name
		if previous {
			query.Set("previous", "true")
			what += " before its restart"
		}
		text, err := c.Get(ctx, pod+"/log?"+query.Encode())
		e.noteUnseen(what, err)
		if previous {
			e.Previous = string(text)
		} else {
			e.Log = string(text)
		}
	}
	metrics, err := c.Get(ctx, fmt.Sprintf("%s:%d/proxy/metrics", pod, h.port()))
	e.Metrics = string(metrics)
	e.noteUnseen("the metrics of "+h.Name, err)
}

func (e *Evidence) noteUnseen(what string, err error) {
	if err != nil {
		e.Unseen = append(e.Unseen, fmt.Sprintf("%s (%s)", what, strings.TrimPrefix(err.Error(), "kubectl: ")))
	}
}
