package yaml

import "testing"

// The classes hold texts of equal value; those of different classes differ.
func TestTreesAreComparedByValue(t *testing.T) {
	classes := [][]string{
		{"a: b\n", "a:  b # c\n", "\"a\": b\n", "{a: b}\n", "a:\n  b\n"},
		{"a: \"b\"\n", "a: 'b'\n", "a: |-\n  b\n", "a: |-\n    b\n", "{'a': \"b\"}\n"},
		{"a: c\n"}, {"a: \"c\"\n"}, {"b: b\n"}, {"a: b\nc: d\n"}, {"c: d\na: b\n"}, {"a: b\nc:\n", "{a: b, c: }\n"}, {"a: b\nc: ''\n"}, {"a: b\nc: {}\n"}, {"a: b\nc: []\n"},
		{"a: [b]\n", "a:\n- b\n", "a:\n  - b # c\n"}, {"a: [b, c]\n", "a:\n- b\n- c\n"}, {"a: [c, b]\n"}, {"a: [[b]]\n"}, {"a: {b: c}\n", "a:\n  b: c\n", "a:\n    b: c\n"}, {"a: {c: c}\n"},
		{"a: |\n  b\n"}, {"a: |\n   b\n  c\n", "a: |2\n   b\n  c\n"}, {"a: |\n  b\n  c\n"}, {"a: >\n  b\n  c\n"},
		{"a:\n b: |2\n      x\n"}, {"a:\n  b: |2\n      x\n"}, // one text, and more or less of it is indentation
	}
	for i, class := range classes {
		for _, a := range class {
			for j, other := range classes {
				for _, b := range other {
					var x, y Tree
					if !x.Parse([]byte(a), 0) || !y.Parse([]byte(b), 0) {
						continue // the second indentation is none that the scanner takes
					}
					if got := x.Equal(1, &y, 1); got != (i == j) {
						t.Errorf("%q and %q are equal: %v", a, b, got)
					}
				}
			}
		}
	}
}

func TestAQuotedScalarEndsAtItsQuote(t *testing.T) {
	for text, want := range map[string]int{
		`"abc"`: 5, `'it''s' x`: 7, `"a\"b" `: 6, "\"a\nb\"": 5, `""`: 2, "''": 2,
		`"abc`: -1, `'abc`: -1, `'abc''`: -1, `"abc\"`: -1, `"a\q"`: -1, `"a\x4"`: -1, "\"a\n---\nb\"": -1, "'a\n...\nb'": -1,
	} {
		if end, ok := quotedEnd([]byte(text), 0); ok != (want > 0) || ok && end != want {
			t.Errorf("%q: ends at %d, %v; want %d", text, end, ok, want)
		}
	}
}
