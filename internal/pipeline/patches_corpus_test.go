package pipeline_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/patches"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// The sizes of a run: of every one, and of the one that docs/proof/patches.md has.
const fewChanges, manyChanges = 400, 10000

var changes = flag.Int("changes", fewChanges, "how many changes of the real-world manifests are drawn")

// realBase returns the objects of a real-world file of which patches may know something, and the patches for them. A change of
// any other builds.
func realBase(t *testing.T, file string, c *config.RewriteProbes) (objects []field.Value, set *patches.Set) {
	s, err := manifest.Read(file, testutil.CorpusFile(t, root, file))
	if err != nil {
		t.Fatal(err)
	}
	all := patchesFor(t, testutil.CorpusFile(t, root, file), c)
	guarded := slices.Concat(all.Guarded...)
	for _, o := range s.Objects() {
		if slices.Contains(guarded, patches.GroupKind{Group: o.Group(), Kind: o.Kind()}) {
			objects = append(objects, decode(t, o))
		}
	}
	return objects, patchesFor(t, textOf(objects), c)
}

func textOf(objects []field.Value) []byte {
	var all []field.Map
	for _, v := range objects {
		m, _ := v.(field.Map)
		all = append(all, m)
	}
	return manifest.Documents(all...)
}

// A real base that changes at any place fails to build with old patches, or gives what the function gives. Every place of its
// workloads, and of what their plans ask about, is as likely as any other.
func TestARealBaseThatChangesAnywhere(t *testing.T) {
	c := configOf(t, "")
	counts := make(map[string]int)
	for n, file := range realWorld {
		objects, set := realBase(t, file.file, c)
		d := &drawing{Rand: rand.New(rand.NewPCG(uint64(n), 2)), values: make(map[string][]field.Value)}
		total := 0
		for _, v := range slices.Concat(objects, objectsOf(t, strings.Join([]string{bases, rare, selecting}, "---\n"))) {
			d.gather(v)
		}
		for _, v := range objects {
			total += places(v)
		}
		for made := 0; made < *changes/len(realWorld); {
			index, i := d.IntN(total), 0
			for ; index >= places(objects[i]); i++ {
				index -= places(objects[i])
			}
			changed := slices.Clone(objects)
			var what string
			if changed[i], what = d.at(objects[i], &index, nil); what == "" || !isAccepted(changed[i]) {
				continue
			}
			verdict := judge(t, set, changed, c)
			if verdict == "invalid" || field.Equal(changed[i], objects[i]) {
				continue
			}
			made++
			if counts[verdict]++; verdict == "wrong" && counts[verdict] < 10 {
				t.Errorf("%s: object %d: %s: the patches give something else than the function", file.file, i, what)
			}
		}
	}
	t.Log(counts)
	table := "| what | how many |\n|---|---|\n"
	for _, x := range []struct{ what, verdict string }{
		{"right builds", "right"}, {"failed builds", "loud"}, {"needless failures", "needless"}, {"silently wrong", "wrong"},
	} {
		table += fmt.Sprintf("| %s | %d |\n", x.what, counts[x.verdict])
	}
	if *changes == manyChanges {
		if err := testutil.ProofPage(root, "patches").Prove("drawn", table); err != nil {
			t.Error(err)
		}
	}
}
