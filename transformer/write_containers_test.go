package transformer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

func entry(key string, value field.Value) field.Map { return field.Map{{Key: key, Value: value}} }

func TestChangesAreMergedDeeplyAndNullRemoves(t *testing.T) {
	cpu := entry("cpu", "1")
	for name, c := range map[string]struct{ base, changes, want field.Map }{
		"another value":                            {entry("a", 1), entry("a", 2), entry("a", 2)},
		"another key":                              {entry("a", 1), entry("b", 2), field.Map{{Key: "a", Value: 1}, {Key: "b", Value: 2}}},
		"a key that goes":                          {field.Map{{Key: "a", Value: 1}, {Key: "b", Value: 2}}, entry("a", nil), entry("b", 2)},
		"a key that is not there, to go":           {entry("a", 1), entry("b", nil), entry("a", 1)},
		"a key in a mapping":                       {entry("limits", cpu), entry("limits", entry("memory", "2")), entry("limits", field.Map{cpu[0], {Key: "memory", Value: "2"}})},
		"a key that goes from a mapping":           {entry("limits", field.Map{cpu[0], {Key: "memory", Value: "2"}}), entry("limits", entry("memory", nil)), entry("limits", cpu)},
		"a new mapping":                            {nil, entry("limits", cpu), entry("limits", cpu)},
		"a new mapping without what is null":       {nil, entry("limits", field.Map{{Key: "memory"}, cpu[0]}), entry("limits", cpu)},
		"a new mapping in which all is null":       {entry("a", 1), entry("limits", entry("memory", nil)), entry("a", 1)},
		"a new mapping in which all is null, deep": {entry("a", 1), entry("x", entry("limits", entry("memory", nil))), entry("a", 1)},
		"a new mapping that is empty":              {nil, entry("emptyDir", field.Map{}), entry("emptyDir", field.Map{})},
		"a mapping instead of a scalar":            {entry("a", 1), entry("a", cpu), entry("a", cpu)},
		"a scalar instead of a mapping":            {entry("a", cpu), entry("a", 1), entry("a", 1)},
		"a list instead of a list":                 {entry("a", field.List{1, 2}), entry("a", field.List{3}), entry("a", field.List{3})},
	} {
		before := cmp.Diff(c.base, c.want) // base must not change
		if d := cmp.Diff(c.want, field.Merge(c.base, c.changes)); d != "" {
			t.Errorf("%s: -want +got\n%s", name, d)
		}
		if cmp.Diff(c.base, c.want) != before {
			t.Errorf("%s: what was merged into has changed: %v", name, c.base)
		}
	}
}

func TestEnvVarsAreMergedByName(t *testing.T) {
	env := func(names ...string) (list field.List) {
		for _, name := range names {
			list = append(list, field.Map{{Key: "name", Value: name[:1]}, {Key: "value", Value: name}})
		}
		return list
	}
	if d := cmp.Diff(env("A1", "B2", "C1", "D2"), mergeEnv(env("A1", "B1", "C1"), env("D2", "B2"))); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestAnEmptyListIsNotWhatHasNoItems(t *testing.T) {
	at := field.NewPath("spec")
	for _, c := range []struct{ have, want field.Value }{
		{"2", field.List{}}, {field.List{}, "2"}, {nil, field.List{}}, {field.Map{}, field.List{}}, {field.List{}, field.Map{}}, {"2", field.Map{}}, {field.Map{}, "2"},
	} {
		if d := cmp.Diff([]field.Edit{{Op: field.Set, Path: at, Value: c.want}}, diff(at, c.have, c.want, nil)); d != "" {
			t.Errorf("%#v to %#v: -want +got\n%s", c.have, c.want, d)
		}
	}
}

// The defaults are those of Kubernetes' pkg/apis/core/v1/defaults.go, and {} for resources.
func TestWhatTheAPIServerFillsInIsNoDifference(t *testing.T) {
	at := field.NewPath("spec", "containers").Index(0)
	all := func(string) bool { return true }
	written := entry("image", "shop/proxy:v1")
	defaults := field.Map{
		{Key: "apiVersion", Value: "v1"}, {Key: "divisor", Value: "0"}, {Key: "failureThreshold", Value: 3}, {Key: "periodSeconds", Value: 10}, {Key: "resources", Value: field.Map{}},
		{Key: "scheme", Value: "HTTP"}, {Key: "successThreshold", Value: 1}, {Key: "terminationMessagePath", Value: "/dev/termination-log"}, {Key: "terminationMessagePolicy", Value: "File"},
		{Key: "timeoutSeconds", Value: 1}, {Key: "imagePullPolicy", Value: "IfNotPresent"},
	}
	if edits := diff(at, append(defaults, written...), written, all); edits != nil {
		t.Errorf("edits %v", edits)
	}
	for _, e := range defaults {
		e.Value = "other"
		want := []field.Edit{{Op: field.Delete, Path: at.Key(e.Key)}}
		if d := cmp.Diff(want, diff(at, append(field.Map{e}, written...), written, all)); d != "" {
			t.Errorf("another %s: -want +got\n%s", e.Key, d)
		}
		// Where it is written, it has the value that is written.
		want = []field.Edit{{Op: field.Set, Path: at.Key(e.Key), Value: "mine"}}
		if d := cmp.Diff(want, diff(at, append(defaults, written...), append(entry(e.Key, "mine"), written...), all)); d != "" {
			t.Errorf("%s: -want +got\n%s", e.Key, d)
		}
	}
}

func TestAnImageIsPulledAsItsTagSays(t *testing.T) {
	const digest = "@sha256:0000000000000000000000000000000000000000000000000000000000000000"
	for image, want := range map[string]string{
		"proxy": "Always", "proxy:latest": "Always", "shop/proxy": "Always", "localhost:5000/proxy": "Always", "localhost:5000/proxy:latest": "Always", "proxy:latest" + digest: "Always",
		"proxy:v1": "IfNotPresent", "localhost:5000/shop/proxy:v1": "IfNotPresent", "proxy" + digest: "IfNotPresent", "localhost:5000/proxy" + digest: "IfNotPresent", "proxy:v1" + digest: "IfNotPresent",
		"proxy:latest-1": "IfNotPresent",
	} {
		if got := defaultPullPolicy(image); got != want {
			t.Errorf("%s: %s, want %s", image, got, want)
		}
	}
}
