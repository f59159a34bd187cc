package injector

import (
	"bytes"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// settings is the spec of a functionConfig.
type settings map[string]any

// proxyName is the container that rewrite-probes adds, and ownPort the port
// it is given where it runs beside Istio's sidecar.
const (
	proxyName = "probe-proxy"
	ownPort   = 15099
)

// rewrite sends manifests through rewrite-probes, as its command does.
func rewrite(input []byte, spec settings) (output []byte, r *report.Report, err error) {
	text, err := yaml.Marshal(map[string]any{"apiVersion": config.APIVersion, "kind": config.Kind, "metadata": map[string]any{"name": "test"}, "spec": spec})
	if err != nil {
		return nil, nil, err
	}
	c, err := manifest.Read("functionConfig", text)
	if err != nil {
		return nil, nil, err
	}
	decoded, err := config.Decode(c.Objects()[0])
	if err != nil {
		return nil, nil, err
	}
	inspection, _, err := run(input, decoded, pipeline.Inspect)
	if err != nil {
		return nil, nil, err
	}
	r, s, err := run(input, decoded, pipeline.Rewrite)
	if err != nil {
		return nil, nil, err
	}
	r.Templates = inspection.Templates // which a rewriting run does not keep
	if s.IsResourceList() {
		if err := s.AddResults(r.Results(true)); err != nil {
			return nil, nil, err
		}
	}
	var b bytes.Buffer
	_, err = s.WriteTo(&b)
	return b.Bytes(), r, err
}

// run takes manifests through the pipeline.
func run(input []byte, c *config.RewriteProbes, mode pipeline.Mode) (*report.Report, *manifest.Stream, error) {
	s, err := manifest.Read("input", bytes.Clone(input))
	if err != nil {
		return nil, nil, err
	}
	r, err := pipeline.Run([]*manifest.Stream{s}, c, mode)
	return r, s, err
}

// reasons returns the reason keys of the messages of one severity.
func reasons(messages []report.Message, severity transformer.Severity) []string {
	var keys []string
	for _, m := range messages {
		if m.Severity == severity {
			keys = append(keys, m.Reason)
		}
	}
	return keys
}

// An object is a manifest with the pod template that it holds.
type object struct {
	kind, namespace, name string
	labels                map[string]string
	template              *corev1.PodTemplateSpec // nil if it holds none
}

func (o object) String() string { return o.kind + " " + o.namespace + "/" + o.name }

// templatePaths says where the kinds of Kubernetes hold a pod template.
var templatePaths = map[string][]string{
	"Pod": {}, "PodTemplate": {"template"}, "CronJob": {"spec", "jobTemplate", "spec", "template"},
	"Deployment": {"spec", "template"}, "StatefulSet": {"spec", "template"}, "DaemonSet": {"spec", "template"},
	"ReplicaSet": {"spec", "template"}, "ReplicationController": {"spec", "template"}, "Job": {"spec", "template"},
}

// objects decodes a stream of documents with the libraries of Kubernetes.
func objects(stream []byte) ([]object, error) {
	var all []object
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

func objectsIn(fields map[string]any) ([]object, error) {
	if items, ok := fields["items"].([]any); ok && strings.HasSuffix(fmt.Sprint(fields["kind"]), "List") {
		var all []object
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
	text := func(v any) string { s, _ := v.(string); return s }
	o := object{kind: text(fields["kind"]), namespace: text(meta["namespace"]), name: text(meta["name"])}
	if labels, ok := meta["labels"].(map[string]any); ok {
		o.labels = make(map[string]string)
		for key, value := range labels {
			o.labels[key] = text(value)
		}
	}
	path, known := templatePaths[o.kind]
	group, _, _ := strings.Cut(text(fields["apiVersion"]), "/")
	if !known || strings.Contains(group, ".") {
		return []object{o}, nil
	}
	at := fields
	for _, key := range path {
		at, _ = at[key].(map[string]any)
	}
	raw, err := yaml.Marshal(at)
	if err != nil {
		return nil, err
	}
	o.template = new(corev1.PodTemplateSpec)
	if err := yaml.UnmarshalStrict(raw, o.template); err != nil && o.kind != "Pod" {
		return nil, fmt.Errorf("%s: %w", o, err)
	} else if err != nil { // a Pod has apiVersion, kind and status too
		return []object{o}, yaml.Unmarshal(raw, o.template)
	}
	return []object{o}, nil
}
