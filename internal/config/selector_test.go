package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// problemsOf returns what is wrong with the defaults after a change.
func problemsOf(change func(*Spec)) error {
	c := Default()
	change(&c.Spec)
	var p problems
	c.validate(&p)
	return errors.Join(p.errs...)
}

// TestLabelSelectorsMeanWhatTheyMeanToKubectl takes every short text of what they are made of, and
// random longer ones.
func TestLabelSelectorsMeanWhatTheyMeanToKubectl(t *testing.T) {
	words := []string{"app", "b", "=", "==", "!=", "!", " in ", " notin ", "(", ")", ",", " "}
	sets := []field.KeyValues{{}, {{Key: "app", Value: "b"}}, {{Key: "b", Value: "app"}}, {{Key: "app", Value: "c"}, {Key: "b", Value: ""}}, {{Key: "app", Value: ""}, {Key: "b", Value: "b"}}}
	seen := make(map[string]bool)
	valid := 0
	try := func(text string) {
		if strings.TrimSpace(text) == "" || seen[text] {
			return // not given
		}
		seen[text] = true
		judge, wrong := labels.Parse(text)
		selector := &Selector{LabelSelector: text}
		if errs := problemsOf(func(s *Spec) { s.Select = selector }); (errs == nil) != (wrong == nil) {
			t.Errorf("%q: %v; kubectl says %v", text, errs, wrong)
		}
		if wrong != nil {
			return
		}
		valid++
		for _, own := range sets {
			set := labels.Set{}
			for _, e := range own {
				set[e.Key] = e.Value
			}
			if got := selector.matcher()("", &field.Metadata{Labels: own}); got != judge.Matches(set) {
				t.Errorf("%q matches %v: %t", text, set, got)
			}
		}
	}
	for _, a := range append(words, "") {
		for _, b := range append(words, "") {
			for _, c := range append(words, "") {
				try(a + b + c)
			}
		}
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 10000 {
		text := ""
		for range 4 + rnd.IntN(6) {
			text += words[rnd.IntN(len(words))]
		}
		try(text)
	}
	space := func() string { return strings.Repeat(" ", rnd.IntN(3)) }
	for range 1000 {
		var values []string
		for range 1 + rnd.IntN(3) {
			value := []string{"app", "b", "c", ""}[rnd.IntN(4)]
			values = append(values, space()+value+space())
		}
		operator := []string{" in", " notin"}[rnd.IntN(2)]
		try(space() + "app" + operator + space() + "(" + strings.Join(values, ",") + ")" + space())
	}
	if valid < 250 {
		t.Errorf("only %d of %d selectors are valid", valid, len(seen))
	}
}

func TestWhatASelectorMustHave(t *testing.T) {
	const must = "functionConfig: `spec.select`: must have kinds, names, namespaces or labelSelector"
	for _, c := range []struct {
		s    *Selector
		want string
	}{
		{nil, ""}, {&Selector{}, must}, {&Selector{Kinds: []string{}, Names: []string{}}, must},
		{&Selector{Kinds: []string{"Pod"}}, ""}, {&Selector{Names: []string{"a*"}}, ""}, {&Selector{Namespaces: []string{"a?"}}, ""}, {&Selector{LabelSelector: "a"}, ""},
		{&Selector{Names: []string{"a", "[b"}}, "functionConfig: `spec.select.names[1]`: \"[b\" must be a name, where * and ? match as in a shell"},
		{&Selector{Names: []string{"a"}, Namespaces: []string{"[c"}, LabelSelector: "a b"}, "functionConfig: `spec.select.namespaces[0]`: \"[c\" must be a name, where * and ? match as in a shell\n" +
			"functionConfig: `spec.select.labelSelector`: \"a b\" must be made of a=b, a!=b, a in (b,c), a notin (b,c), a and !a, joined by commas"},
		{&Selector{Kinds: []string{"Pod"}, LabelSelector: "a,b c"}, "functionConfig: `spec.select.labelSelector`: \"a,b c\" must be made of a=b, a!=b, a in (b,c), a notin (b,c), a and !a, joined by commas"},
	} {
		got := fmt.Sprint(problemsOf(func(s *Spec) { s.Select = c.s }))
		if want := cmp.Or(c.want, "<nil>"); got != want {
			t.Errorf("%+v: %s, want %s", c.s, got, want)
		}
	}
}

// As the API server names containers (RFC 1123).
func TestTheNameOfAContainerIsADNSLabel(t *testing.T) {
	long := strings.Repeat("a", 63)
	for name, want := range map[string]bool{
		"a": true, "z": true, "0": true, "9": true, "a-b": true, "a--b": true, "0a9z": true, long: true,
		"": false, long + "a": false, "-": false, "-a": false, "a-": false, "A": false, "aB": false, "a_b": false, "a.b": false, "a b": false, "`": false, "{": false, "/": false, ":": false, "ä": false,
	} {
		if got := isDNSLabel(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}

func TestAnEnvVarOfTheContainerHasAName(t *testing.T) {
	for _, c := range []struct {
		env  field.Value
		want bool
	}{
		{field.Map{{Key: "name", Value: "A"}}, true}, {field.Map{{Key: "value", Value: "x"}, {Key: "name", Value: "A"}}, true},
		{field.Map{{Key: "name", Value: ""}}, false}, {field.Map{{Key: "name", Value: 1}}, false}, {field.Map{{Key: "name", Value: nil}}, false}, {field.Map{{Key: "value", Value: "x"}}, false},
		{field.Map{}, false}, {"A", false}, {nil, false}, {field.List{"name"}, false},
	} {
		want := "functionConfig: `spec.probeProxy.env[1]`: must be a mapping with a name"
		if c.want {
			want = "<nil>"
		}
		got := fmt.Sprint(problemsOf(func(s *Spec) { s.ProbeProxy.Env = field.List{field.Map{{Key: "name", Value: "first"}}, c.env} }))
		if got != want {
			t.Errorf("%v: %s, want %s", c.env, got, want)
		}
	}
}

// https://github.com/distribution/reference: names, tags and digests of images, and what a registry is.
func TestImagesAndRegistriesAreThoseThatRuntimesTake(t *testing.T) {
	hex := strings.Repeat("0af9", 16)
	path255 := strings.Repeat("a/", 127) + "b"
	for image, want := range map[string]bool{
		"auto": true, "a": true, "a/b": true, "example.com/a": true, "example.com:5000/a/b:v1": true, "localhost:5000/a": true, "[::1]:5000/a": true, "Example.com/a": true,
		"a:v1": true, "a:V_1.0-x": true, "a:" + strings.Repeat("x", 128): true, "a@sha256:" + hex: true, "a:v1@sha256:" + hex: true, "a@sha512:" + hex + hex: true,
		"a__b": true, "a--b": true, "a.b": true, "a_b": true, path255: true, "example.com/" + path255: true,
		"": false, "A": false, "a/": false, "/a": false, "a//b": false, "a:": false, "a:-v": false, "a:.v": false, "a:" + strings.Repeat("x", 129): false, "a b": false, "a\n": false, "a@sha256:" + hex[1:]: false,
		"a@sha256:" + hex + "0": false, "a@sha256:" + strings.ToUpper(hex): false, "a@md5:" + hex: false, "a___b": false, "a..b": false, "a-": false, "-a": false, "https://example.com/a": false, "example.com/" + path255 + "c": false,
	} {
		if got := isImage(image); got != want {
			t.Errorf("%q: %t", image, got)
		}
	}
	for registry, want := range map[string]bool{
		"": true, "registry.example.com": true, "registry.example.com:5000/mesh": true, "ghcr.io/example": true,
		"https://example.com": false, "example.com/": false, "example.com/a:v1": false, "example.com/A": false, " ": false,
	} {
		err := CheckRegistry(registry)
		if (err == nil) != want || err != nil && !strings.HasSuffix(err.Error(), " must be a registry, such as registry.example.com or ghcr.io/example: without a scheme, a tag or a slash at its end") {
			t.Errorf("%q: %v", registry, err)
		}
	}
}

// A tag with a form that is misspelt would check nothing.
func TestEveryFormThatATagNamesIsThere(t *testing.T) {
	used := make(map[string]bool)
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice:
			walk(typ.Elem())
		case reflect.Struct:
			for _, f := range reflect.VisibleFields(typ) {
				if form := f.Tag.Get("form"); form != "" {
					used[form] = true
				}
				walk(f.Type)
			}
		}
	}
	walk(reflect.TypeFor[RewriteProbes]())
	if got, want := slices.Sorted(maps.Keys(used)), slices.Sorted(maps.Keys(forms)); !slices.Equal(got, want) {
		t.Errorf("the tags name %q, and there are %q", got, want)
	}
}

// randomSelector returns a selector of some parts, or none.
func randomSelector(rnd *rand.Rand) *Selector {
	some := func(of ...string) (chosen []string) {
		for range max(rnd.IntN(4)-1, 0) {
			chosen = append(chosen, of[rnd.IntN(len(of))])
		}
		return chosen
	}
	if rnd.IntN(4) == 0 {
		return nil
	}
	s := &Selector{
		Kinds:         some("Pod", "Job"),
		Names:         some("a", "b*", "?c"),
		Namespaces:    some("shop", "s*", "x"),
		LabelSelector: []string{"", "", "app", "app=a", "tier!=b", "!app,tier in (a,b)"}[rnd.IntN(6)],
	}
	if len(s.Kinds)+len(s.Names)+len(s.Namespaces)+len(s.LabelSelector) == 0 {
		s.Kinds = []string{"Pod"}
	}
	return s
}

// TestAnObjectIsRewrittenIfSelectedAndNotExcluded compares each object of a few kinds, names, namespaces
// and labels with what the reference says, and what is said of kinds and labels alone with that.
func TestAnObjectIsRewrittenIfSelectedAndNotExcluded(t *testing.T) {
	var objects []field.Metadata
	for _, name := range []string{"a", "bx", "cc", "d"} {
		for _, namespace := range []string{"", "shop", "x"} {
			for _, own := range []field.KeyValues{nil, {{Key: "app", Value: "a"}}, {{Key: "tier", Value: "b"}}, {{Key: "app", Value: "b"}, {Key: "tier", Value: "a"}}} {
				objects = append(objects, field.Metadata{Name: name, Namespace: namespace, Labels: own})
			}
		}
	}
	matchesOne := func(patterns []string, name string) bool {
		return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
			before, after, _ := strings.Cut(p, "*")
			return name == p || strings.Contains(p, "*") && strings.HasPrefix(name, before) && strings.HasSuffix(name, after) || p == "?c" && len(name) == 2 && name[1] == 'c'
		})
	}
	matches := func(s *Selector, kind string, m field.Metadata) bool {
		judge, err := labels.Parse(s.LabelSelector)
		if err != nil {
			t.Fatal(err)
		}
		set := labels.Set{}
		for _, e := range m.Labels {
			set[e.Key] = e.Value
		}
		return (len(s.Kinds) == 0 || slices.Contains(s.Kinds, kind)) && matchesOne(s.Names, m.Name) && matchesOne(s.Namespaces, m.Namespace) && judge.Matches(set)
	}
	both := 0
	for seed := range uint64(500) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		s := &Spec{Select: randomSelector(rnd), Exclude: randomSelector(rnd)}
		selects := s.Selection()
		decide := s.SelectingLabels()
		for _, kind := range []string{"Pod", "Job", "CronJob"} {
			for _, m := range objects {
				want := (s.Select == nil || matches(s.Select, kind, m)) && !(s.Exclude != nil && matches(s.Exclude, kind, m))
				if got := selects(kind, &m); got != want {
					t.Errorf("seed %d: %s %+v: %t, want %t with %+v and %+v", seed, kind, m, got, want, s.Select, s.Exclude)
				}
				if want && !s.MaySelect(kind) {
					t.Errorf("seed %d: no %s may be selected, and %+v is", seed, kind, m)
				}
				if s.Select != nil && s.Exclude != nil && want {
					both++
				}
				for _, key := range []string{"app", "tier"} {
					other := m
					other.Labels = m.Labels.Without(key)
					if selects(kind, &other) != want && !slices.Contains(decide, key) {
						t.Errorf("seed %d: the label %s decides, and is not among %q", seed, key, decide)
					}
				}
			}
			isNamed := func(x *Selector) bool { return x != nil && slices.Contains(x.Kinds, kind) }
			onlyKinds := s.Exclude != nil && len(s.Exclude.Names)+len(s.Exclude.Namespaces)+len(s.Exclude.LabelSelector) == 0
			if never := s.Select != nil && len(s.Select.Kinds) > 0 && !isNamed(s.Select) || onlyKinds && isNamed(s.Exclude); s.MaySelect(kind) == never {
				t.Errorf("seed %d: %s may be selected: %t, with %+v and %+v", seed, kind, !never, s.Select, s.Exclude)
			}
		}
	}
	if both < 500 {
		t.Errorf("only %d objects are selected in spite of an exclude", both)
	}
}
