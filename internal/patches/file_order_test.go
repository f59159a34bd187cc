package patches_test

import (
	"slices"
	"strings"
	"testing"
)

// kustomize applies patches in their order: the same ones in another order are another set.
func TestTheOrderOfThePatchesCounts(t *testing.T) {
	set := aSet()
	other := set.Patches[0]
	other.Target.Name += "-other"
	set.Patches = append(set.Patches, other)
	const release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: a\nspec:\n  interval: 1m\n"
	o := read(t, release)
	edits, changes, err := set.Into(o)
	if err != nil || len(changes) == 0 {
		t.Fatal(changes, err)
	}
	o = read(t, applied(t, o, edits))
	if edits, changes, err := set.Into(o); err != nil || len(edits) > 0 || len(changes) > 0 {
		t.Errorf("the same set changes %q, %v", changes, err)
	}
	items := strings.Split(applied(t, o, nil), "- target:") // patches of spec.postRenderers[0].kustomize
	at := slices.IndexFunc(items, func(item string) bool { return strings.Contains(item, "-other\n") })
	if at < 2 {
		t.Fatalf("the other patch is item %d of\n%q", at, items)
	}
	items[at-1], items[at] = items[at], items[at-1]
	o = read(t, strings.Join(items, "- target:"))
	edits, changes, err = set.Into(o)
	if err != nil || len(edits) == 0 || !slices.Equal(changes, []string{"the order of the patches"}) {
		t.Errorf("a list in another order changes %q, %v", changes, err)
	}
	o = read(t, applied(t, o, edits))
	if edits, changes, err := set.Into(o); err != nil || len(edits) > 0 || len(changes) > 0 {
		t.Errorf("once written, it changes %q, %v", changes, err)
	}
}
