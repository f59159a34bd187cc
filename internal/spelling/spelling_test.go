package spelling

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestTheDistanceOfWordsCountsLettersAndSwaps(t *testing.T) {
	for words, want := range map[[2]string]int{
		{"", ""}: 0, {"apps", "apps"}: 0, {"", "abc"}: 3, {"apps", "app"}: 1, {"apps", "appz"}: 1, {"apps", "APPS"}: 0,
		{"apps", "paps"}: 1, {"apps", "apsp"}: 1, {"ab", "ba"}: 1, {"abcd", "badc"}: 2, {"kitten", "sitting"}: 3,
	} {
		for n := range 5 {
			if a, b := Within(n, words[0], words[1]), Within(n, words[1], words[0]); a != (n >= want) || b != (n >= want) {
				t.Errorf("%q: within %d is %t and %t, want the distance %d", words, n, a, b, want)
			}
		}
	}
}

func TestTheNearestWordsAreMeant(t *testing.T) {
	known := []string{"check", "explain", "restore", "vm", "reasons", "consul-uid", "proxy-uid", "port", "Pod"}
	for word, want := range map[string]string{
		"chek": "check", "CHECK": "check", "restroe": "restore", "raesnos": "reasons", "uid": "consul-uid proxy-uid",
		"prt": "", "prot": "port", "pod": "Pod", "job": "", "vn": "", "v": "", "": "", "deploy": "", "x-uid": "",
	} {
		if got := strings.Join(Near(word, known), " "); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	if got := DidYouMean("uid", known); got != "did you mean consul-uid, proxy-uid?" {
		t.Error(got)
	}
	if got := DidYouMean("deploy", known); got != "" {
		t.Error(got)
	}
}

// distance returns how many letters are added, removed, replaced or swapped with their neighbour, by the
// usual table.
func distance(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		for j := range d[i] {
			if i == 0 || j == 0 {
				d[i][j] = i + j
				continue
			}
			differs := 1
			if a[i-1] == b[j-1] {
				differs = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+differs)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}

// Of random words the nearest are meant, in their order: two letters may be wrong of seven, one of four, none of three.
func TestNear_randomWords(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	word := func(most int) string {
		b := make([]byte, rnd.IntN(most+1))
		for i := range b {
			b[i] = "abcABC"[rnd.IntN(6)]
		}
		return string(b)
	}
	near, contain := 0, 0
	for range 20000 {
		a := word(9)
		known := []string{word(9), word(9), word(9), word(9), word(12)}
		lower := strings.ToLower(a)
		most := 0
		switch {
		case len(a) >= 7:
			most = 2
		case len(a) >= 4:
			most = 1
		}
		best := most + 1
		for _, k := range known {
			n := distance(lower, strings.ToLower(k))
			best = min(best, n)
			for within := range 4 {
				if got := Within(within, a, k); got != (n <= within) {
					t.Fatalf("%q and %q, within %d: %t, and the distance is %d", a, k, within, got, n)
				}
			}
		}
		var want []string
		for _, k := range known {
			isNear := best <= most && distance(lower, strings.ToLower(k)) == best
			contains := best > most && len(a) >= 3 && strings.Contains(strings.ToLower(k), lower)
			if isNear || contains {
				want = append(want, k)
			}
			if isNear {
				near++
			}
			if contains {
				contain++
			}
		}
		before := slices.Clone(known)
		if got := Near(a, known); !slices.Equal(got, want) || !slices.Equal(known, before) {
			t.Fatalf("%q among %q: %q, want %q", a, known, got, want)
		}
	}
	if near < 1000 || contain < 50 {
		t.Errorf("%d words are near, %d contain the word", near, contain)
	}
}

func TestASlipIsNoOtherName(t *testing.T) {
	for _, c := range []struct {
		name, meant string
		want        bool
	}{
		{"shpo", "shop", true}, {"deployment", "Deployment", true}, {"paymnets-api", "payments-api", true}, {"shop", "shop", false},
		{"shop", "shop2", false}, {"shop-1", "shop-2", false}, {"team-a", "team-b", false}, {"dev", "dew", false}, {"wbe", "web", true}, {"ewb", "web", true}, {"bew", "web", false}, {"ab", "ba", false}, {"payments", "payments-api", false},
	} {
		if got := IsSlip(c.name, c.meant); got != c.want {
			t.Errorf("%q for %q: %t", c.name, c.meant, got)
		}
	}
}
