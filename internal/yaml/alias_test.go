package yaml

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// sharing are entries with aliases and merge keys, and some for which they matter.
var sharing = []string{
	"<<: *x", "<<: [*y, *x]", "<<: *m", "!!merge <<: *y", "!!str <<: *x", "'<<': *y", "<<: {a: in, d: {e: *t}}", "<<: [{a: in}, *x]", "<<: []", "<<: *l", "<<: *t", "<<: ~", "<<: [*x, *t]",
	"a: own", "b: *y", "c: *l", "*t : v", "*x : v", "&t *t : v", "&t f: *t", "d: &x {g: *x}", "h: &x {a: new, b: ~}", "e: *u", "? *t\n: *t", "? a\n:b: c", "? b", "i: &t ~", "!!int *t : v", "!!int 3: &n 4", "j: *n", "!!int a: v", "n: &q {*q : v}",
}

const shared = "k: &x {a: 1, b: &y {b: 2, c: [&t text, *t]}}\nm: &m {<<: *x, z: *y}\nl: &l [*x, *m]\n"

// Every two such entries, with some third one, in both styles, are read as the full parser reads them, or refused for a
// reason that one of them has.
func TestParse_aliases(t *testing.T) {
	reasons := map[string][]string{
		"a merge key (<<) must have a mapping or a list of mappings":                  {"<<: *l", "<<: *t", "<<: ~", "<<: [*x, *t]", "h: &x", "i: &t"},
		"an alias that is a key must be behind an anchor of a text":                   {"*x : v", "&t f: *t", "*q : v"},
		"the alias *x must not be within the value of its anchor, and not of a key's": {"&t f: *t", "d: &x {g: *x}"},
		"invalid YAML: an alias must not have an anchor or a tag":                     {"&t *t : v", "!!int *t : v"},
		"invalid YAML: the alias *x must be behind an anchor of this name":            {"e: *u", "j: *n"},
		"\"a\" must not have the tag !x":                                              {"!!int a: v"},
	}
	seen := map[string]bool{}
	all := len(sharing)
	for i := 0; i < all*all*all; i += 7 {
		entries := []string{sharing[i%all], sharing[i/all%all], sharing[i/all/all]}
		in := shared + "o:\n  " + strings.ReplaceAll(strings.Join(entries, "\n"), "\n", "\n  ") + "\n"
		if flow := strings.Join(entries, ", "); i%2 == 1 && !strings.Contains(flow, "?") {
			in = shared + "o: {" + flow + "}\n"
		}
		var tr Parser
		if tr.Parse([]byte(in), 0) {
			agreeOnTree(t, []byte(in))
			continue
		}
		why := tagOrAlias.ReplaceAllString(tr.Refused.Why, "${1}x")
		seen[why] = true
		if !slices.ContainsFunc(reasons[why], func(s string) bool { return strings.Contains(in, s) }) {
			t.Errorf("%q is refused: %s", in, tr.Refused.Why)
		}
	}
	for why := range reasons {
		if !seen[why] {
			t.Errorf("no text is refused: %s", why)
		}
	}
}

// An alias may expand to as many values as the limit has, and the last one too many is noticed wherever it is.
func TestAliasesExpandToTheLimitExactly(t *testing.T) {
	for _, tt := range []struct {
		items, aliases int
		want           bool
	}{{99_999, 2, true}, {66_666, 3, false}, {66_665, 3, true}} { // each alias has a list in a list
		in := "a: &a [[" + strings.Repeat("0,", tt.items) + "]]\nb: [" + strings.Repeat("*a,", tt.aliases) + "]\n"
		var tr Parser
		if got := tr.Parse([]byte(in), 0); got != tt.want {
			t.Errorf("%d times %d: %v %v", tt.aliases, tt.items+1, got, tr.Refused)
		}
	}
}

// What an alias and a merge key refer to is noted: the last anchor of the name before them.
func TestWhatAliasesReferToIsNoted(t *testing.T) {
	text := []byte("a: &y\n  b: &x {c: 1}\nd: *x\ne: [*x, &x {<<: *y, f: 2}]\ng: {<<: [*y, *x], h: *y}\n")
	var tr Parser
	if !tr.Parse(text, 0) {
		t.Fatal(tr.Refused)
	}
	var got []string
	for _, n := range tr.Aliases {
		v := tr.Written(n)
		got = append(got, fmt.Sprintf("%s at %d is that at %d", text[v.Start:v.End], v.Start, tr.Nodes[tr.Source[n]].Start))
	}
	for n := range int32(len(tr.Nodes)) {
		for _, source := range tr.Merges[n] {
			got = append(got, fmt.Sprintf("%s merges %d, %v", tr.Path(n), tr.Nodes[source].Start, tr.Nodes[n].Marks&HasMergeKey != 0))
		}
		if path := tr.Path(n).String(); path != "" && tr.Nodes[n].Marks&IsMerged != 0 {
			got = append(got, path+" is merged")
		}
	}
	want := `*x at 24 is that at 11
*x at 31 is that at 11
*y at 43 is that at 3
*y at 63 is that at 3
*x at 67 is that at 35
*y at 75 is that at 3
e[1] merges 3, true
g merges 3, true
g merges 35, true
e[1].b is merged
g.b is merged
g.f is merged`
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("%s\nwant\n%s", s, want)
	}
	checked, err := Check(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := checked.Documents(nil)
	d.Next()
	if _, err := d.Read(); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(d.Tree().Uses), "[{24 11 x} {31 11 x} {43 3 y} {63 3 y} {67 35 x} {75 3 y}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// anchored returns a random value in flow style, in which two names stand for one anchor after the other, at any depth.
func anchored(rnd *rand.Rand, depth int) string {
	name := string("xy"[rnd.IntN(2)])
	switch n := rnd.IntN(8); {
	case n == 0:
		return "*" + name
	case n < 3 || depth == 0:
		return fmt.Sprintf("&%s v%d", name, rnd.IntN(1000))
	}
	var entries []string
	isMapping := rnd.IntN(2) == 0
	for i := range 1 + rnd.IntN(3) {
		e := anchored(rnd, depth-1)
		if isMapping {
			e = fmt.Sprintf("k%d: %s", i, e)
		}
		if isMapping && rnd.IntN(6) == 0 {
			e = fmt.Sprintf("&%s ", name) + e
		}
		entries = append(entries, e)
	}
	brackets := "[]"
	if isMapping {
		brackets = "{}"
	}
	text := brackets[:1] + strings.Join(entries, ", ") + brackets[1:]
	if rnd.IntN(2) == 0 {
		text = "&" + name + " " + text
	}
	return text
}

// An alias has the value of the last anchor of its name before it, however these are nested. What it may not have is
// refused, and with the same words if aliases need no anchor.
func TestTheLastAnchorOfANameCounts(t *testing.T) {
	read, refused := 0, 0
	for seed := range uint64(5000) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		in := []byte(fmt.Sprintf("a: &x 1\nb: &y 2\nc: %s\nd: [*x, *y]\n", anchored(rnd, 3)))
		var tr Parser
		lenient := Parser{Lenient: true}
		if ok := tr.Parse(in, 0); lenient.Parse(in, 0) != ok || lenient.Refused != tr.Refused {
			t.Fatalf("%q: %v, and if aliases need no anchor: %v", in, tr.Refused, lenient.Refused)
		} else if !ok {
			refused++
			continue
		}
		read++
		agreeOnTree(t, in)
	}
	if read < 1000 || refused < 100 {
		t.Errorf("%d are read, %d refused", read, refused)
	}
}
