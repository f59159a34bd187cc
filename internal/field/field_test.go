package field_test

import (
	"fmt"
	"slices"
	"strings"
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

// A pattern is read as it is written, and stands for the paths that differ from it in indexes.
func TestAPatternIsReadAsItIsWritten(t *testing.T) {
	every := field.EveryItem
	for text, want := range map[string]field.Path{
		"spec.jobs[].template": {{Key: "spec"}, {Key: "jobs"}, every, {Key: "template"}},
		"a[]":                  {{Key: "a"}, every},
		"a[][].b":              {{Key: "a"}, every, every, {Key: "b"}},
		"a[][][].b[].c":        {{Key: "a"}, every, every, every, {Key: "b"}, every, {Key: "c"}},
	} {
		p, err := field.Parse(text)
		if err != nil || !slices.Equal(p, want) || p.String() != text {
			t.Errorf("%s is read as %#v (%s), %v", text, p, p, err)
		}
		indexed := slices.Clone(p)
		for i := range indexed {
			if indexed[i] == every {
				indexed[i].Index = int32(7 + i)
			}
		}
		before := indexed.String()
		if got := indexed.Pattern(); !slices.Equal(got, want) || indexed.String() != before {
			t.Errorf("the pattern of %s is %s, and it is %s now", before, got, indexed)
		}
	}
	for _, s := range []string{"[]", "a.[]", "a[]b", "a[].", "a[ ]", "a[].[].b"} {
		if p, err := field.Parse(s); err == nil {
			t.Errorf("%q is read as %#v", s, p)
		}
	}
}

func TestTheBeginningThatPathsShareIsAPathOfItsOwn(t *testing.T) {
	at := func(words string) (p field.Path) {
		for _, w := range strings.Fields(words) {
			if w[0] >= '0' && w[0] <= '9' {
				p = p.Index(int(w[0] - '0'))
			} else {
				p = p.Key(w)
			}
		}
		return p
	}
	for _, c := range [][3]string{{"a b c", "a b d", "a b"}, {"a b", "a b c", "a b"}, {"a", "b", ""}, {"", "a", ""}, {"a 0 b", "a 1 b", "a"}, {"a 0 b", "a 0 c", "a 0"}, {"a 0", "a 0", "a 0"}} {
		p, q := at(c[0]), at(c[1])
		got := p.Common(q)
		if !slices.Equal(got, at(c[2])) || !slices.Equal(q.Common(p), got) {
			t.Errorf("%s and %s share %s", p, q, got)
		}
		_ = append(got, field.Step{Key: "x"}, field.Step{Key: "y"})
		if !slices.Equal(p, at(c[0])) || !slices.Equal(q, at(c[1])) {
			t.Errorf("%v have become %s and %s", c, p, q)
		}
	}
}

// Several may extend one path, which has room for more.
func TestSeveralMayExtendOnePath(t *testing.T) {
	base := append(make(field.Path, 0, 8), field.NewPath("a", "b")...)
	type named struct {
		want string
		path field.Path
	}
	all := []named{
		{"a.b.c", base.Key("c")}, {"a.b.d.e", base.Key("d", "e")}, {"a.b", base.Key()}, {"a.b[1]", base.Index(1)}, {"a.b[2]", base.Index(2)},
		{"a.b.f[3]", base.Item("f", 3)}, {"a.b.g[4]", base.Item("g", 4)}, {"a.b.h", base.Join(field.NewPath("h"))}, {"a.b.i", base.Join(field.NewPath("i"))}, {"a.b", base},
	}
	for _, n := range all {
		if got := n.path.String(); got != n.want {
			t.Errorf("%s has become %s", n.want, got)
		}
	}
}

func TestWordsAreEnumeratedAsInASentence(t *testing.T) {
	for want, words := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}, "a, b, c or d": {"a", "b", "c", "d"}} {
		if got := field.Enumerate(words, "or"); got != want {
			t.Errorf("%q: %q", words, got)
		}
	}
}

func TestAnObjectIsNamedAsFarAsItsNameIsKnown(t *testing.T) {
	for _, c := range [][4]string{{"Pod", "a", "b", "x Pod a/b"}, {"Pod", "", "b", "x Pod b"}, {"Pod", "a", "", "x Pod"}, {"", "a", "b", "x "}, {"", "", "", "x "}} {
		if got := string(field.AppendName([]byte("x "), c[0], c[1], c[2])); got != c[3] {
			t.Errorf("%q: %q", c, got)
		}
	}
}

// Labels are the entries of a mapping that have texts, even empty ones.
func TestOnlyTextsAreKeyValues(t *testing.T) {
	m := field.Map{{Key: "a", Value: "x"}, {Key: "b", Value: 1}, {Key: "c", Value: ""}, {Key: "d"}, {Key: "e", Value: field.Map{}}, {Key: "f", Value: "y"}}
	if got := m.KeyValues(); !slices.Equal(got, field.KeyValues{{Key: "a", Value: "x"}, {Key: "c", Value: ""}, {Key: "f", Value: "y"}}) {
		t.Errorf("%v", got)
	}
	if got := field.AppendSet(field.AppendSet(nil, "a", ""), "b", "x"); !field.Same(got, field.Map{{Key: "b", Value: "x"}}) {
		t.Errorf("%v", got)
	}
}
