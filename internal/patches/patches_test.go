package patches_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/patches"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/jsonpatch"
)

// kustomize reads each number as a float64, which has 53 bits.
func TestTheNumbersThatKustomizeKeeps(t *testing.T) {
	for _, wide := range []int64{0, 8080, -1, 1 << 53, -1 << 53, 1<<53 + 1, -1<<53 - 1, 1<<53 + 2, 1 << 54, math.MaxInt64, math.MinInt64 + 1} {
		n := int(wide)
		if int64(n) != wide {
			continue // on 32 bits
		}
		want := wide >= -1<<53 && wide <= 1<<53
		for _, v := range []field.Value{n, field.List{"a", n}, field.Map{{Key: "a"}, {Key: "b", Value: field.List{field.Map{{Key: "c", Value: n}}}}}} {
			if got := patches.IsExact(v); got != want {
				t.Errorf("%v: %t, want %t", v, got, want)
			}
		}
	}
	for v, want := range map[field.Value]bool{1.5: true, 1e300: false, -1e300: false, "9007199254740993": true, true: true, nil: true} {
		if got := patches.IsExact(v); got != want {
			t.Errorf("%v: %t, want %t", v, got, want)
		}
	}
}

// A list is tested by the names of its items and their number, and whole where one has no name.
func TestTheItemsOfAListAreTestedByTheirNames(t *testing.T) {
	named := func(name string) field.Value { return field.Map{{Key: "name", Value: name}} }
	list := func(items ...field.Value) field.Value {
		return field.Map{{Key: "a", Value: field.List(items)}}
	}
	for _, c := range []struct {
		object field.Value
		tested int
	}{
		{list(named("x"), named("y")), 3},
		{list(named("x")), 2},
		{list(named("x"), field.Map{{Key: "image", Value: "y"}}), 1},
		{list(named(""), named("y")), 1},
		{list(), 1},
	} {
		got := patches.Reading{Names: []field.Path{field.NewPath("a")}}.Tests(c.object)
		if len(got) != c.tested || !applies(got, c.object) {
			t.Errorf("%v: %d tests, want %d: %v", c.object, len(got), c.tested, got)
		}
	}
}

// applies reports whether all tests hold for a value.
func applies(tests []field.Operation, v field.Value) bool {
	for _, o := range tests {
		if _, err := jsonpatch.Apply(v, o); err != nil {
			return false
		}
	}
	return true
}

func named(names ...string) field.Value {
	list := field.List{}
	for _, name := range names {
		item := field.Map{{Key: "image", Value: "x"}}
		if name != "" {
			item = append(item, field.Entry{Key: "name", Value: name})
		}
		list = append(list, item)
	}
	return field.Map{{Key: "spec", Value: field.Map{{Key: "list", Value: list}}}}
}

// An item more or less, in any place, another name and another order are found; another field is not.
func TestAListWhoseNamesWereReadMustKeepThem(t *testing.T) {
	path := field.NewPath("spec", "list")
	for _, names := range [][]string{{}, {"a"}, {"a", "b"}, {"a", "b", "c"}, {"a", "b", "a"}, {"", "b"}} {
		tests := patches.Reading{Names: []field.Path{path}}.Tests(named(names...))
		if !applies(tests, named(names...)) {
			t.Errorf("%q: the tests fail on the list itself: %v", names, tests)
		}
		var others [][]string
		for i := range len(names) + 1 {
			others = append(others, slices.Insert(slices.Clone(names), i, "new"))
			if i < len(names) {
				renamed := slices.Clone(names)
				renamed[i] = "other"
				others = append(others, renamed, slices.Delete(slices.Clone(names), i, i+1))
			}
			if i > 0 && i < len(names) && names[i] != names[i-1] {
				swapped := slices.Clone(names)
				swapped[i], swapped[i-1] = names[i-1], names[i]
				others = append(others, swapped)
			}
		}
		for _, other := range others {
			if applies(tests, named(other...)) {
				t.Errorf("%q: no test finds that they are %q now", names, other)
			}
		}
	}
}

// read returns the object of a text.
func read(t *testing.T, text string) *manifest.Object {
	t.Helper()
	s, err := manifest.Read("in", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s.Objects()[0]
}

func applied(t *testing.T, o *manifest.Object, edits []field.Edit) string {
	t.Helper()
	if err := o.Apply(edits); err != nil {
		t.Fatal(err)
	}
	text, err := o.Stream().Text()
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.Clone(text))
}

func aSet() *patches.Set {
	web := patches.Target{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	return &patches.Set{
		Known:   []patches.Target{web},
		Guarded: [][]surroundings.GroupKind{{{Group: "apps", Kind: "Deployment"}}},
		Patches: []patches.Patch{{Target: web, Comment: "c", Operations: []field.Operation{{Op: field.OpTest, Path: field.NewPath("spec"), Value: 1}}}},
	}
}

// homes have places for patches: with nothing there, with an empty list's beginning, with patches of others.
var homes = []string{
	"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a]\n",
	"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a]\npatches:\n- path: other.yaml\n",
	"apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- path: one.yaml\n- path: two.yaml\n",
	"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec:\n  source:\n    repoURL: x\n    path: y\n",
	"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec:\n  source:\n    path: y\n    kustomize:\n      images: [a]\n",
	"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\nspec:\n  path: y\n",
	"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\n",
	"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\n",
	"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\nspec:\n  interval: 1m\n",
	"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\nspec:\n  postRenderers:\n  - kustomize:\n      images: [{name: a}]\n  - kustomize:\n      patches:\n      - patch: x\n",
}

func TestWhatIsWrittenIsFoundReplacedAndRemoved(t *testing.T) {
	for _, before := range homes {
		o := read(t, before)
		if patches.Holds(o) || patches.Removal(o) != nil {
			t.Errorf("has patches before they are written:\n%s", before)
		}
		edits, changes, err := aSet().Into(o)
		if err != nil || len(edits) == 0 || len(changes) == 0 {
			t.Fatalf("%v %v %v\n%s", edits, changes, err, before)
		}
		with := applied(t, o, edits)
		o = read(t, with)
		if edits, _, err := aSet().Into(o); !patches.Holds(o) || len(edits) > 0 || err != nil {
			t.Errorf("the same set changes it again: %v, %v\n%s", edits, err, with)
		}
		other := aSet()
		other.Patches[0].Operations[0].Value = 2
		edits, changes, err = other.Into(o)
		if err != nil || len(changes) != 1 || !strings.Contains(changes[0], `"value":2}, was {`) {
			t.Errorf("another set: %q, %v\n%s", changes, err, with)
		}
		replaced := applied(t, o, edits)
		if want := strings.Replace(with, `"value":1`, `"value":2`, 1); replaced != want {
			t.Errorf("got\n%s\nwant\n%s", replaced, want)
		}
		o = read(t, replaced)
		if got := applied(t, o, patches.Removal(o)); got != before {
			t.Errorf("removed, it is\n%s\nand was\n%s", got, before)
		}
	}
}

// What Argo CD has in a source, if nothing but the patches, stays a source.
func TestTheSourceOfAnApplicationStays(t *testing.T) {
	o := read(t, "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec:\n  source: {}\n")
	edits, _, err := aSet().Into(o)
	if err != nil {
		t.Fatal(err)
	}
	o = read(t, applied(t, o, edits))
	if got := applied(t, o, patches.Removal(o)); !strings.Contains(got, "source:") || strings.Contains(got, "kustomize") {
		t.Errorf("removed, it is\n%s", got)
	}
}

func TestADollarIsUnfitWhereFluxSubstitutes(t *testing.T) {
	for value, substituted := range map[string]bool{"a": false, "$a": false, "$$": true, "${A}": true, "a$": false, "$${A}": true} {
		set := aSet()
		set.Patches[0].Operations[0].Value = value
		for _, form := range patches.Forms() {
			isFlux := form == string(patches.HelmRelease) || form == string(patches.FluxKustomization)
			if why := set.Unfit(patches.Form(form), nil); (why != "") != (isFlux && substituted) {
				t.Errorf("%s in %s: %q", value, form, why)
			}
		}
		for _, kind := range []string{"annotations", "labels"} {
			o := read(t, "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a, "+kind+": {kustomize.toolkit.fluxcd.io/substitute: disabled}}\n")
			if why := set.Unfit(patches.HelmRelease, o); why != "" {
				t.Errorf("%s, with %s: %s", value, kind, why)
			}
		}
	}
}

func TestWhetherTheHooksOfAChartArePatched(t *testing.T) {
	for strategy, want := range map[string]string{
		"": "true", "combined": "true", "nohooks": "false", "separate": "error", "null": "true",
	} {
		text := "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\nspec:\n  interval: 1m\n"
		if strategy != "" {
			text += "  postRenderStrategy: " + strategy + "\n"
		}
		sends, err := patches.SendsHooks(read(t, text))
		got := fmt.Sprint(sends)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: %s (%v), want %s", strategy, got, err, want)
		}
	}
}

// The text of marks and guards, by kind and namespace. A Namespace is in none.
func TestWhatASetKnowsIsMarkedByKindAndNamespace(t *testing.T) {
	target := func(group, kind, namespace, name string) patches.Target {
		return patches.Target{Group: group, Version: "v1", Kind: kind, Namespace: namespace, Name: name}
	}
	set := &patches.Set{Known: []patches.Target{
		target("apps", "Deployment", "shop", "b"), target("apps", "Deployment", "", "c"), target("apps", "Deployment", "shop", "a.x"),
		target("apps", "Deployment", "bank", "a"), target("apps", "StatefulSet", "shop", "a"), target("", "Namespace", "", "shop"),
		target("extensions", "Deployment", "shop", "a"), target("example.com", "Namespace", "shop", "x"), target("example.com", "Namespace", "", "y"),
	}}
	text := string(set.Text(patches.Component, ""))
	var got []string
	for _, item := range strings.Split(text, "- target:\n")[1:] {
		var words []string
		for line := range strings.Lines(item) {
			if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && slices.Contains([]string{"group", "kind", "name", "namespace"}, key) {
				words = append(words, strings.Trim(value, `"'`))
			}
		}
		got = append(got, strings.Join(words, " "))
	}
	want := []string{
		"^$ Namespace shop", "apps Deployment c default", "apps Deployment a bank", `apps Deployment a\.x|b shop`,
		"apps StatefulSet a shop", `example\.com Namespace y default`, `example\.com Namespace x shop`, "extensions Deployment a shop", "",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q\n%s", got, want, text)
	}
}

// A set in any order has one text, so that a second run changes no file, and stays as its maker has it.
func TestASetOfAnyOrderHasOneText(t *testing.T) {
	var all []patches.Target
	for _, kind := range []string{"Deployment", "StatefulSet"} {
		for _, namespace := range []string{"", "bank", "shop"} {
			for _, name := range []string{"a", "b.c"} {
				all = append(all, patches.Target{Group: "apps", Version: "v1", Kind: kind, Namespace: namespace, Name: name})
			}
		}
	}
	want := ""
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		known, kinds := slices.Clone(all), []surroundings.GroupKind{{Group: "apps", Kind: "Deployment"}, {Group: "", Kind: "Pod"}, {Group: "apps", Kind: "StatefulSet"}}
		rnd.Shuffle(len(known), func(i, j int) { known[i], known[j] = known[j], known[i] })
		rnd.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
		set := &patches.Set{Known: known, Guarded: [][]surroundings.GroupKind{kinds}}
		for _, i := range rnd.Perm(len(all)) {
			set.Patches = append(set.Patches, patches.Patch{Target: all[i], Operations: []field.Operation{{Op: field.OpTest, Path: field.NewPath("spec"), Value: i}}})
		}
		before := fmt.Sprint(*set)
		got := string(set.Text(patches.Component, ""))
		if want = cmp.Or(want, got); got != want {
			t.Errorf("seed %d: got\n%s\nwant\n%s", seed, got, want)
		}
		if after := fmt.Sprint(*set); after != before {
			t.Errorf("seed %d: the set has become\n%s\nand was\n%s", seed, after, before)
		}
	}
}

// Of random tests those stay that no other implies: the first of each path, unless the whole value above it is tested, or
// that there is none. A mapping that is null has nothing below it that kustomize could test.
func TestATestThatAnotherImpliesIsLeftOut(t *testing.T) {
	for seed := range uint64(500) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		lists := make([][]field.Operation, 3)
		for i := range 8 {
			keys := []string{"a", "ab", "a/b"}
			path := field.NewPath(keys[rnd.IntN(3)])
			for range rnd.IntN(3) {
				path = path.Key(keys[rnd.IntN(3)])
			}
			value := []field.Value{nil, 1, "x", field.Map{{Key: "a", Value: 1}}, field.List{}}[rnd.IntN(5)]
			lists[i%3] = append(lists[i%3], field.Operation{Op: field.OpTest, Path: path, Value: value})
		}
		var want []field.Operation
		all := slices.Concat(lists...)
		for i, o := range all {
			isImplied := func(other field.Operation) bool {
				_, isNumber := other.Value.(int)
				_, isText := other.Value.(string)
				return !isNumber && !isText && len(other.Path) < len(o.Path) && o.Path.HasPrefix(other.Path)
			}
			isAgain := slices.ContainsFunc(all[:i], func(other field.Operation) bool { return slices.Equal(other.Path, o.Path) })
			if !isAgain && !slices.ContainsFunc(all, isImplied) {
				want = append(want, o)
			}
		}
		if got := patches.Merged(lists...); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("seed %d: of\n%v\nstay\n%v\nwant\n%v", seed, all, got, want)
		}
	}
}

// Flux leaves an object alone whose label or annotation says disabled, and no other word.
func TestOnlyDisabledKeepsFluxFromSubstituting(t *testing.T) {
	set := aSet()
	set.Patches[0].Operations[0].Value = "${NAME}"
	for _, place := range []string{"labels", "annotations"} {
		for value, fits := range map[string]bool{"disabled": true, "enabled": false, "": false, "Disabled": false} {
			o := read(t, fmt.Sprintf("apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a, %s: {kustomize.toolkit.fluxcd.io/substitute: %q}}\nspec: {path: y}\n", place, value))
			if got := set.Unfit(patches.FluxKustomization, o); (got == "") != fits {
				t.Errorf("%s say %q: %q", place, value, got)
			}
		}
	}
}
