package spelling

import (
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
