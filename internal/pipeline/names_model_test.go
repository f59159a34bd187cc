package pipeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

// A name that is nowhere is a mistake if an object has nearly that name, and nothing else in the list is about this object: neither its name nor
// a pattern.
func TestANameIsMisspeltIfAnObjectThatNobodyNamesIsNear(t *testing.T) {
	rnd := rand.New(rand.NewPCG(61, 102))
	words := []string{"gateway", "gatewey", "checkout", "chekout", "orders"}
	patterns := map[string]string{"gate*": "gate", "check*": "check", "*": ""}
	near := map[string]string{"gateway": "gatewey", "gatewey": "gateway", "checkout": "chekout", "chekout": "checkout"}
	seen := map[bool]int{}
	for range 3000 {
		var have, names []string
		text := ""
		for _, w := range words {
			if rnd.IntN(2) == 0 {
				have = append(have, w)
				text += "apiVersion: v1\nkind: Pod\nmetadata: {name: " + w + "}\n---\n"
			}
		}
		if text == "" {
			continue
		}
		for range 1 + rnd.IntN(3) {
			names = append(names, []string{"gateway", "gatewey", "checkout", "chekout", "orders", "gate*", "check*", "*"}[rnd.IntN(8)])
		}
		names = slices.Compact(names)
		isAbout := func(n, object string) bool {
			begin, isPattern := patterns[n]
			return n == object || isPattern && strings.HasPrefix(object, begin)
		}
		var want []string
		for _, n := range names {
			isThere := slices.ContainsFunc(have, func(h string) bool { return isAbout(n, h) })
			isNamed := slices.ContainsFunc(names, func(o string) bool { return isAbout(o, near[n]) })
			if !isThere && near[n] != "" && slices.Contains(have, near[n]) && !isNamed {
				want = append(want, n)
			}
		}
		s, err := manifest.Read("in.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		r := &run{inputs: &inputs{streams: []*manifest.Stream{s}}, out: new(report.Report)}
		r.reportMisspeltIn("exclude.names", names, (*manifest.Object).Name)
		var got []string
		for _, m := range r.out.Messages {
			for _, n := range names {
				if strings.Contains(fmt.Sprint(m.Text), fmt.Sprintf("names %q", n)) && !slices.Contains(got, n) {
					got = append(got, n)
				}
			}
		}
		want = slices.Compact(want)
		if slices.Sort(got); !slices.Equal(got, slices.Compact(slices.Sorted(slices.Values(want)))) {
			t.Fatalf("%q of %q: %q, want %q", names, have, got, want)
		}
		seen[len(want) > 0]++
	}
	if seen[true] < 100 {
		t.Errorf("%v", seen)
	}
}
