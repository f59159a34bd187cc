package kubernetes

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// An Object is a manifest with the pod template that it holds.
type Object struct {
	Kind, Namespace, Name string
	Labels                map[string]string
	Template              *corev1.PodTemplateSpec // nil if it holds none
}

func (o Object) String() string { return o.Kind + " " + o.Namespace + "/" + o.Name }

// templatePaths says where the kinds of Kubernetes hold a pod template.
var templatePaths = map[string][]string{
	"Pod": {}, "PodTemplate": {"template"}, "CronJob": {"spec", "jobTemplate", "spec", "template"},
	"Deployment": {"spec", "template"}, "StatefulSet": {"spec", "template"}, "DaemonSet": {"spec", "template"},
	"ReplicaSet": {"spec", "template"}, "ReplicationController": {"spec", "template"}, "Job": {"spec", "template"},
}

// Objects decodes a stream of documents, the items of Lists among them.
func Objects(stream []byte) ([]Object, error) {
	var all []Object
	for _, document := range strings.Split("\n"+string(stream), "\n---") {
		var fields map[string]any
		if err := yaml.Unmarshal([]byte(document), &fields); err != nil {
			return nil, err
		}
		found, err := objectsIn(fields)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func objectsIn(fields map[string]any) ([]Object, error) {
	if items, ok := fields["items"].([]any); ok && strings.HasSuffix(fmt.Sprint(fields["kind"]), "List") {
		var all []Object
		for _, item := range items {
			found, err := objectsIn(item.(map[string]any))
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
		return all, nil
	}
	if fields["kind"] == nil {
		return nil, nil
	}
	meta, _ := fields["metadata"].(map[string]any)
	o := Object{Kind: text(fields["kind"]), Namespace: text(meta["namespace"]), Name: text(meta["name"])}
	if labels, ok := meta["labels"].(map[string]any); ok {
		o.Labels = make(map[string]string)
		for key, value := range labels {
			o.Labels[key] = text(value)
		}
	}
	group, _, _ := strings.Cut(text(fields["apiVersion"]), "/")
	path, known := templatePaths[o.Kind]
	if !known || strings.Contains(group, ".") {
		return []Object{o}, nil
	}
	var err error
	if o.Template, err = templateAt(fields, path); err != nil {
		return nil, fmt.Errorf("%s: %w", o, err)
	}
	return []Object{o}, nil
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// templateAt decodes the pod template at a path, strictly unless it is the object
// itself: a Pod has apiVersion, kind and status too.
func templateAt(fields map[string]any, path []string) (*corev1.PodTemplateSpec, error) {
	for _, key := range path {
		fields, _ = fields[key].(map[string]any)
	}
	raw, err := yaml.Marshal(fields)
	if err != nil {
		return nil, err
	}
	decode := yaml.UnmarshalStrict
	if len(path) == 0 {
		decode = yaml.Unmarshal
	}
	template := new(corev1.PodTemplateSpec)
	return template, decode(raw, template)
}
