package manifest

import (
	"fmt"
	"strings"
	"testing"
)

// Results are read back piece by piece: the value is that of the whole list,
// also where a text looks like an item.
func TestPiecesOfResultsHaveTheDigestOfTheWhole(t *testing.T) {
	var b strings.Builder
	b.WriteString("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nresults:\n")
	for i := range 4000 {
		fmt.Fprintf(&b, "- message: result %d\n  severity: info\n  about: |\n    text\n    - no item\n  tags: {a: [1, x]}\n", i)
	}
	s, err := Read("list", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	o := s.resultsObject()
	pieces, ok := s.digestPieces(o)
	whole, err := o.load()
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if want := whole.digest(whole.get(1, "results")); pieces != want {
		t.Errorf("digest %x, want %x", pieces, want)
	}
}
