package surroundings

import (
	"slices"
	"strings"
	"testing"
)

// A prefix of Gateway API's is one of whole segments of the path; a slash at its end does not matter.
func TestAPrefixMatchesWholeSegments(t *testing.T) {
	words := []string{"", "a", "ab", "a/b", "a/bc", "ab/c", "b"}
	for _, prefix := range words {
		for _, path := range words {
			begin, all := strings.Split("/"+prefix, "/"), strings.Split("/"+path, "/")
			want := prefix == "" || len(begin) <= len(all) && slices.Equal(begin, all[:len(begin)])
			for _, m := range []PathMatch{{"", "/" + prefix}, {"PathPrefix", "/" + prefix}, {"PathPrefix", strings.TrimSuffix("/"+prefix, "/") + "/"}} {
				if got := m.mayMatch("/" + path); got != want {
					t.Errorf("%q matches /%s: %t", m, path, got)
				}
			}
			if exact := (&PathMatch{"Exact", "/" + prefix}); exact.mayMatch("/"+path) != (prefix == path) {
				t.Errorf("exactly /%s matches /%s: %t", prefix, path, prefix != path)
			}
		}
	}
	if m := (&PathMatch{"RegularExpression", "/a"}); !m.mayMatch("/b") {
		t.Error("a regular expression is known")
	}
	if m := new(PathMatch); !m.mayMatch("/b") {
		t.Error("no path does not match all")
	}
}
