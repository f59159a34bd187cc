package manifest

import (
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A text of several lines keeps its form if the new one can have it, and a renamed key its quotes.
func TestTheStyleOfAnEntryStays(t *testing.T) {
	for _, c := range []struct {
		in   string
		edit field.Edit
		want string
	}{
		{"x: |\n  b\nz: 1\n", set("x", "n\nm\n"), "x: |\n  n\n  m\nz: 1\n"},
		{"x: | # c\n    b\n\n    c\n# d\nz: 1\n", set("x", "n\n\nm\n"), "x: | # c\n    n\n\n    m\n# d\nz: 1\n"},
		{"x: |-\n  b\nz: 1\n", set("x", "n\nm"), "x: |-\n  n\n  m\nz: 1\n"},
		{"x: |-\n  b\nz: 1\n", set("x", "n\nm\n"), "x: \"n\\nm\\n\"\nz: 1\n"},
		{"x: |\n  b\nz: 1\n", set("x", "n\nm"), "x: \"n\\nm\"\nz: 1\n"},
		{"x: |\n  b\nz: 1\n", set("x", " n\nm\n"), "x: \" n\\nm\\n\"\nz: 1\n"},
		{"x: |+\n  b\nz: 1\n", set("x", "n\nm\n"), "x: \"n\\nm\\n\"\nz: 1\n"},
		{"x: |2\n   b\nz: 1\n", set("x", "n\nm\n"), "x: |2\n  n\n  m\nz: 1\n"},
		{"x: >\n  b\nz: 1\n", set("x", "n\nm\n"), "x: \"n\\nm\\n\"\nz: 1\n"},
		{"x: !!str |\n  b\nz: 1\n", set("x", "n\nm\n"), "x: \"n\\nm\\n\"\nz: 1\n"},
		{"x: &x |\n  b\nm: *x\nz: 1\n", set("x", "n\nm\n"), "x: \"n\\nm\\n\"\nm: \"b\\n\"\nz: 1\n"},
		{"m: {\"a\": 1, b: 2, 'd': 3}\n", rename("m.b", "c", 2), "m: {\"a\": 1, c: 2, 'd': 3}\n"},
		{"m: {\"a\": 1, b: 2, 'd': 3}\n", rename("m.d", "c", 2), "m: {\"a\": 1, b: 2, 'c': 2}\n"},
		{"m: {\"a\": 1, b: 2, 'd': 3}\n", rename("m.a", "c", 2), "m: {\"c\": 2, b: 2, 'd': 3}\n"},
		{"m: {a: 1, \"b\": 2}\n", rename("m.b", "c", 2), "m: {a: 1, \"c\": 2}\n"},
		{"'a': 1\n\"b\": 2\nc: 3\n", rename("a", "d", 1), "'d': 1\n\"b\": 2\nc: 3\n"},
		{"'a': 1\n\"b\": 2\nc: 3\n", rename("b", "d", 2), "'a': 1\n\"d\": 2\nc: 3\n"},
		{"'a': 1\n\"b\": 2\nc: 3\n", rename("c", "on", 3), "'a': 1\n\"b\": 2\n\"on\": 3\n"},
		{"m: {\"a\":, b: , c, d: 1}\n", set("m.b", 2), "m: {\"a\":, b: 2, c, d: 1}\n"},
		{"m: {\"a\":, b: , d: 1}\n", set("m.a", 2), "m: {\"a\": 2, b: , d: 1}\n"},
	} {
		s := mustRead(t, []byte(c.in))
		if err := s.Objects()[0].Apply([]field.Edit{c.edit}); err != nil {
			t.Errorf("%q: %v", c.in, err)
			continue
		}
		if got := string(output(t, s)); got != c.want {
			t.Errorf("%q gives\n%q\nwant\n%q", c.in, got, c.want)
		}
	}
}

// Notices are in the order of their lines, and then of their words.
func TestNoticesAreInTheOrderOfTheirLines(t *testing.T) {
	order := []Notice{{1, 1, "b"}, {1, 1, "c"}, {1, 2, "a"}, {1, 10, "a"}, {2, 2, "a"}, {10, 10, "a"}}
	for i, a := range order {
		for j, b := range order {
			if got := a.compare(b); (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("%v and %v: %d", a, b, got)
			}
		}
	}
}
