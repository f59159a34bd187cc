package field_test

import (
	"fmt"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

func TestAPathReadsAsTheAPIServerWritesIt(t *testing.T) {
	spec := field.NewPath("spec")
	for _, c := range []struct {
		path field.Path
		want string
	}{
		{nil, ""},
		{spec, "spec"},
		{spec.Key("containers").Index(0).Key("livenessProbe", "httpGet"), "spec.containers[0].livenessProbe.httpGet"},
		{field.NewPath("metadata", "annotations", "sidecar.istio.io/inject"), "metadata.annotations[sidecar.istio.io/inject]"},
		{field.NewPath("metadata", "labels", "team/web"), "metadata.labels[team/web]"},
		{field.NewPath("data", "app.yaml"), "data[app.yaml]"},
		{field.NewPath("data", "a\nb"), `data["a\nb"]`},
		{spec.Join(field.NewPath("template")), "spec.template"},
	} {
		if got := c.path.String(); got != c.want {
			t.Errorf("String returns %q, must be %q", got, c.want)
		}
	}
}

func TestExtendingAPathLeavesItAsItWas(t *testing.T) {
	base := field.NewPath("spec").Key("containers")
	a, b := base.Index(0).Key("env"), base.Index(1)
	if base.String() != "spec.containers" || a.String() != "spec.containers[0].env" || b.String() != "spec.containers[1]" {
		t.Errorf("paths are %s, %s, %s", base, a, b)
	}
}

func TestAPathHasItsBeginningsAsPrefixes(t *testing.T) {
	path := field.NewPath("spec").Item("containers", 1).Key("env")
	for i := range len(path) + 1 {
		if !path.HasPrefix(path[:i]) {
			t.Errorf("%s must begin with %s", path, path[:i])
		}
	}
	for _, other := range []field.Path{path.Key("x"), field.NewPath("spec").Item("containers", 0), field.NewPath("metadata")} {
		if path.HasPrefix(other) {
			t.Errorf("%s does not begin with %s", path, other)
		}
	}
}

func TestADottedPathIsKeysAlone(t *testing.T) {
	p, err := field.Parse("spec.worker.podTemplate")
	if err != nil || p.String() != "spec.worker.podTemplate" || len(p) != 3 {
		t.Errorf("Parse returns %v, %v", p, err)
	}
	if root, err := field.Parse("."); err != nil || len(root) != 0 {
		t.Errorf("Parse returns %v, %v for the object itself", root, err)
	}
	for _, s := range []string{"", "..", "spec.", ".spec", "spec..x", "a[0]", "a b", "a\tb", "a\nb", "a.\"b\"", "a.'b'", "[a", "a]"} {
		want := fmt.Sprintf(`path %q must be keys joined by dots, such as "spec.template", with [] after the key of a list, such as "spec.jobs[].template"`, s)
		if _, err := field.Parse(s); err == nil || err.Error() != want {
			t.Errorf("Parse(%q) returns the error %v, must be %s", s, err, want)
		}
	}
}

func TestAPortKeepsItsKind(t *testing.T) {
	number, name := field.IntOrString{Int: 8080}, field.IntOrString{Str: "http", IsString: true}
	if number.Value() != 8080 || number.String() != "8080" || name.Value() != "http" || name.String() != "http" {
		t.Errorf("values are %v and %v", number.Value(), name.Value())
	}
}

func TestAMapFindsItsKeys(t *testing.T) {
	m := field.Map{{Key: "a", Value: 1}, {Key: "b", Value: nil}}
	if v, ok := m.Get("b"); v != nil || !ok {
		t.Errorf("Get(b) returns %v, %v", v, ok)
	}
	if _, ok := m.Get("c"); ok {
		t.Error("Get finds a key that is not there")
	}
	if field.As[int](m, "a") != 1 || field.As[string](m, "a") != "" || field.As[field.Map](m, "b") != nil || field.As[bool](m, "c") {
		t.Error("As returns another value than that of its type, or none")
	}
}
