package testutil

import (
	"reflect"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestObjectsAreReadWithoutTheirRecord(t *testing.T) {
	const text = `---
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: n, annotations: {rewrite-probes.io/originals: x}}
---
# nothing
---
apiVersion: v1
kind: Pod
metadata: {name: a, annotations: {rewrite-probes.io/originals: x, of: mine}}
items: [{annotations: {}}]
`
	got, err := Objects([]byte(text), yaml.Unmarshal)
	want := map[string]map[string]any{
		"v1 Pod n/a": {"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a", "namespace": "n"}},
		"v1 Pod <nil>/a": {
			"apiVersion": "v1",
			"kind":       "Pod",
			"metadata":   map[string]any{"name": "a", "annotations": map[string]any{"of": "mine"}},
			"items":      []any{map[string]any{}},
		},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for _, wrong := range []string{"a: [", text + text} {
		if got, err := Objects([]byte(wrong), yaml.Unmarshal); err == nil {
			t.Errorf("%q gives %v", wrong, got)
		}
	}
}
