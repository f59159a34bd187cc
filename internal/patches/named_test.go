package patches_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/patches"
)

// kustomize prints the path of a test that fails, and nothing else. So the tests read a copy of what they have in common, which has the
// object's name; where they have nothing in common but the object, they read that.
func TestTheTestsReadACopyWithTheObjectsName(t *testing.T) {
	spec := field.NewPath("spec")
	template := spec.Key("template")
	container := template.Key("spec").Item("containers", 0)
	labels := field.NewPath("metadata", "labels")
	for _, c := range []struct {
		name, object string
		tests        []field.Path
		from         string
		want         []string
	}{
		{"a workload", "web.1", []field.Path{container.Key("name"), template.Key("metadata", "labels"), labels},
			"/spec/template", []string{"/web.1:/spec/containers/0/name", "/web.1:/metadata/labels", "/metadata/labels"}},
		{"one list", "web", []field.Path{container.Key("ports").Index(0), container.Key("ports").Index(1)},
			"/spec/template/spec", []string{"/web:/containers/0/ports/0", "/web:/containers/0/ports/1"}},
		{"one field", "web", []field.Path{template.Key("spec")}, "/spec/template", []string{"/web:/spec"}},
		{"a list of templates", "jobs", []field.Path{spec.Item("jobs", 0).Key("template"), spec.Item("jobs", 1).Key("template")},
			"/spec", []string{"/jobs:/jobs/0/template", "/jobs:/jobs/1/template"}},
		{"a template at the root", "web", []field.Path{field.NewPath("template", "spec", "a"), field.NewPath("template", "b")},
			"/template", []string{"/web:/spec/a", "/web:/b"}},
		{"the name of a field", "spec", []field.Path{spec.Key("a")}, "/spec", []string{"/spec:/a"}},
		{"a name to escape", "a/b~c", []field.Path{spec.Key("a")}, "/spec", []string{"/a~1b~0c:/a"}},
		{"metadata alone", "shop", []field.Path{labels}, "", []string{"/metadata/labels"}},
		{"a top-level field", "web", []field.Path{spec}, "", []string{"/spec"}},
		{"a top-level list", "web", []field.Path{field.NewPath("a").Index(0)}, "", []string{"/a/0"}},
		{"two top-level fields", "web", []field.Path{spec.Key("a"), field.NewPath("data", "a")}, "", []string{"/spec/a", "/data/a"}},
	} {
		var lines []string
		p := patches.Patch{Target: patches.Target{Version: "v1", Kind: "A", Name: c.object}, Comment: "why"}
		for i, path := range c.tests {
			p.Operations = append(p.Operations, field.Operation{Op: field.OpTest, Path: path, Value: i})
			lines = append(lines, string(field.Operation{Op: field.OpTest, Path: path, Value: i}.AppendJSON(nil)))
			lines[i] = strings.Replace(lines[i], path.Pointer(), c.want[i], 1)
		}
		if c.from != "" {
			copied, _, _ := strings.Cut(c.want[0], ":")
			lines = append([]string{`{"op":"copy","from":"` + c.from + `","path":"` + copied + `:"}`}, lines...)
			lines = append(lines, `{"op":"remove","path":"`+copied+`:"}`)
		}
		add := field.Operation{Op: field.OpAdd, Path: container.Key("a"), Value: 1}
		p.Operations = append(p.Operations, add)
		counted := "# the edits, if the " + string(rune('0'+len(c.tests))) + " tests above hold\n- "
		want := "# why\n- " + strings.Join(lines, "\n- ") + "\n" + counted + string(add.AppendJSON(nil)) + "\n"
		items := itemsOf(t, &patches.Set{Patches: []patches.Patch{p}})
		if got := field.As[string](items[0].(field.Map), "patch"); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, want)
		}
	}
}
