package patches_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/patches"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// itemsOf returns the set as a list of patches.
func itemsOf(t *testing.T, set *patches.Set) field.List {
	t.Helper()
	v, _ := read(t, string(set.Text(patches.Component, ""))).Value(field.NewPath("patches"))
	return v.(field.List)
}

func randomSet(rnd *rand.Rand) *patches.Set {
	target := func() patches.Target {
		return patches.Target{
			Group: []string{"", "apps"}[rnd.IntN(2)], Version: "v1", Kind: []string{"Pod", "Deployment", "Namespace"}[rnd.IntN(3)],
			Namespace: []string{"", "shop"}[rnd.IntN(2)], Name: []string{"a", "b.c"}[rnd.IntN(2)],
		}
	}
	set := &patches.Set{}
	if rnd.IntN(2) == 0 { // a set has a mark or a guard at least
		set.Known = append(set.Known, target())
	} else {
		set.Guarded = append(set.Guarded, []surroundings.GroupKind{{Group: "apps", Kind: "Kind"}})
	}
	for range rnd.IntN(3) {
		set.Known = append(set.Known, target())
		set.Guarded = append(set.Guarded, []surroundings.GroupKind{{Group: "apps", Kind: fmt.Sprint("Kind", rnd.IntN(3))}})
		set.Required = append(set.Required, target())
		set.Patches = append(set.Patches, patches.Patch{Target: target(), Comment: "why", Operations: []field.Operation{
			{Op: field.OpTest, Path: field.NewPath("spec"), Value: rnd.IntN(3)}, {Op: field.OpReplace, Path: field.NewPath("spec"), Value: 3},
		}})
	}
	return set
}

// What an earlier run wrote is found beside the patches of others, even if somebody has taken some of it out or written it
// with other blanks. A new set takes its place; without it the patches of others are left.
func TestThePatchesOfOthersStayWhereTheyAre(t *testing.T) {
	other := func(name string) field.Value {
		return field.Map{{Key: "path", Value: name}}
	}
	forms := map[patches.Form]func(field.List) field.Map{
		patches.Kustomization: func(l field.List) field.Map {
			return field.Map{{Key: "kind", Value: "Kustomization"}, {Key: "resources", Value: field.List{"a"}}, {Key: "patches", Value: l}}
		},
		patches.HelmRelease: func(l field.List) field.Map {
			with := func(l field.List) field.Map {
				return field.Map{{Key: "kustomize", Value: field.Map{{Key: "patches", Value: l}, {Key: "images", Value: field.List{}}}}}
			}
			renderers := field.List{with(field.List{other("first")}), with(l), with(field.List{other("last")})}
			return field.Map{{Key: "apiVersion", Value: "helm.toolkit.fluxcd.io/v2"}, {Key: "kind", Value: "HelmRelease"},
				{Key: "spec", Value: field.Map{{Key: "postRenderers", Value: renderers}}}}
		},
	}
	changed := 0
	for seed := range uint64(100) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		before, behind := field.List{}, field.List{}
		for i := range rnd.IntN(3) {
			before = append(before, other(fmt.Sprint("before", i)))
		}
		for i := range rnd.IntN(3) {
			behind = append(behind, other(fmt.Sprint("behind", i)))
		}
		was, is := itemsOf(t, randomSet(rnd)), randomSet(rnd)
		ours, onlyEnd := field.List{}, rnd.IntN(8) == 0
		for i, v := range was {
			if i > 0 && i < len(was)-1 && rnd.IntN(4) == 0 {
				continue // somebody took it out
			}
			if onlyEnd && i < len(was)-1 {
				continue
			}
			m := slices.Clone(v.(field.Map))
			for j, e := range m {
				if text, isText := e.Value.(string); isText && e.Key == "patch" && rnd.IntN(2) == 0 {
					m[j].Value = strings.NewReplacer(`":"`, `": "`, `","`, `", "`).Replace(text)
				}
			}
			ours = append(ours, m)
		}
		for form, home := range forms {
			whole := func(ours field.List) string {
				return string(manifest.Documents(home(slices.Concat(before, ours, behind))))
			}
			o := read(t, whole(ours))
			if patches.FormOf(o) != form || !patches.Holds(o) {
				t.Fatalf("seed %d: %q has no patches:\n%s", seed, patches.FormOf(o), whole(ours))
			}
			edits, changes, err := is.Into(o)
			if err != nil || (len(changes) == 0) != (len(edits) == 0) {
				t.Fatalf("seed %d: %v %v", seed, changes, err)
			}
			if len(edits) > 0 {
				changed++
				got, _ := read(t, applied(t, o, edits)).Value(nil)
				want, _ := read(t, whole(itemsOf(t, is))).Value(nil)
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("seed %d: %s becomes\n%v\nwant\n%v", seed, form, got, want)
				}
			}
			if o = read(t, whole(ours)); len(before)+len(behind) > 0 {
				got, _ := read(t, applied(t, o, patches.Removal(o))).Value(nil)
				want, _ := read(t, whole(nil)).Value(nil)
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("seed %d: %s without ours is\n%v\nwant\n%v", seed, form, got, want)
				}
			}
		}
	}
	if changed < 120 {
		t.Errorf("%d were changed", changed)
	}
}

func TestWhatChangesInASetIsSaid(t *testing.T) {
	target := func(kind, name string) patches.Target {
		return patches.Target{Group: "apps", Version: "v1", Kind: kind, Namespace: "shop", Name: name}
	}
	one := func(tested ...field.Value) patches.Patch {
		p := patches.Patch{Target: target("Deployment", "web.a"), Comment: "c"}
		for _, v := range tested {
			p.Operations = append(p.Operations, field.Operation{Op: field.OpTest, Path: field.NewPath("spec"), Value: v})
		}
		return p
	}
	namespace := patches.Target{Version: "v1", Kind: "Namespace", Name: "shop"}
	for _, c := range []struct {
		name    string
		was, is patches.Set
		want    []string
	}{
		{"nothing", patches.Set{Patches: []patches.Patch{one(1)}}, patches.Set{Patches: []patches.Patch{one(1)}}, nil},
		{"only the comment", patches.Set{Patches: []patches.Patch{one(1)}}, patches.Set{Patches: []patches.Patch{{Target: target("Deployment", "web.a"), Comment: "another", Operations: one(1).Operations}}}, nil},
		{"a value", patches.Set{Patches: []patches.Patch{one(1, 2)}}, patches.Set{Patches: []patches.Patch{one(1, 3)}},
			[]string{`Deployment shop/web.a: {"op":"test","path":"/spec","value":3}, was {"op":"test","path":"/spec","value":2}`}},
		{"an operation more", patches.Set{Patches: []patches.Patch{one(1)}}, patches.Set{Patches: []patches.Patch{one(1, 2)}},
			[]string{`Deployment shop/web.a: {"op":"test","path":"/spec","value":2}, was nothing`}},
		{"an operation less", patches.Set{Patches: []patches.Patch{one(1, 2)}}, patches.Set{Patches: []patches.Patch{one(1)}},
			[]string{`Deployment shop/web.a: nothing, was {"op":"test","path":"/spec","value":2}`}},
		{"the first of two patches of an object", patches.Set{Patches: []patches.Patch{one(1), one(2)}}, patches.Set{Patches: []patches.Patch{one(3), one(2)}},
			[]string{
				`Deployment shop/web.a: {"op":"test","path":"/spec","value":3}, was {"op":"test","path":"/spec","value":1}`,
				`Deployment shop/web.a: {"op":"test","path":"/spec","value":3}, was {"op":"test","path":"/spec","value":1}`,
			}},
		{"the version of the object", patches.Set{Patches: []patches.Patch{one(1)}}, patches.Set{Patches: []patches.Patch{{Target: patches.Target{Group: "apps", Version: "v2", Kind: "Deployment", Namespace: "shop", Name: "web.a"}, Comment: "c", Operations: one(1).Operations}}},
			[]string{`Deployment shop/web.a: {"group":"apps","version":"v2","kind":"Deployment","name":"web\\.a","namespace":"shop"}, was {"group":"apps","version":"v1","kind":"Deployment","name":"web\\.a","namespace":"shop"}`}},
		{"another object", patches.Set{Patches: []patches.Patch{one(1)}}, patches.Set{Patches: []patches.Patch{{Target: target("Deployment", "api"), Operations: one(1).Operations}}},
			[]string{"Deployment shop/api: new", "Deployment shop/web.a: gone"}},
		{"what is known", patches.Set{}, patches.Set{Known: []patches.Target{target("Deployment", "web.a")}}, []string{"the known objects of kind Deployment in shop: new"}},
		{"what is guarded", patches.Set{Guarded: [][]surroundings.GroupKind{{{Group: "apps", Kind: "Deployment"}}}}, patches.Set{}, []string{"the guard against new objects of kind Deployment: gone"}},
		{"what is required", patches.Set{Required: []patches.Target{target("Sidecar", "s")}}, patches.Set{Required: []patches.Target{namespace}},
			[]string{"the required Namespace shop: new", "the required Sidecar shop/s: gone"}},
		{"the order", patches.Set{Required: []patches.Target{target("Sidecar", "s"), namespace}}, patches.Set{Required: []patches.Target{namespace, target("Sidecar", "s")}},
			[]string{"the order of the patches"}},
	} {
		for _, set := range []*patches.Set{&c.was, &c.is} { // a set has a mark at least
			set.Known = append(set.Known, target("StatefulSet", "db"))
		}
		o := read(t, "kind: Component\npatches: []\n")
		edits, _, err := c.was.Into(o)
		if err != nil {
			t.Fatal(err)
		}
		_, got, err := c.is.Into(read(t, applied(t, o, edits)))
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", c.name, err, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// The count is of the patches that do more than test, and counting takes nothing away.
func TestOnlyPatchesThatChangeTheirObjectCount(t *testing.T) {
	test := field.Operation{Op: field.OpTest, Path: field.NewPath("spec"), Value: 1}
	add := field.Operation{Op: field.OpAdd, Path: field.NewPath("a"), Value: 1}
	set := &patches.Set{Patches: []patches.Patch{{Operations: []field.Operation{test}}, {Operations: []field.Operation{test, add, test, add}}, {}}}
	want := fmt.Sprint(*set)
	if n := set.Changes(); n != 1 {
		t.Errorf("%d change their objects", n)
	}
	if edits := set.Patches[1].Edits(); !reflect.DeepEqual(edits, []field.Operation{add, add}) {
		t.Errorf("the edits are %v", edits)
	}
	if got := fmt.Sprint(*set); got != want {
		t.Errorf("the set has become %s", got)
	}
}
