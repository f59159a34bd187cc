package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestLinesOf(t *testing.T) {
	source := strings.Join([]string{
		"package p // a comment",
		"",
		"var s = \"text\" + `raw",
		"text`; var t int",
		"\tx := f(\"ä\")",
	}, "\n")
	want := []line{
		{"p.go", 1, 2, len("package p ")},
		{"p.go", 3, 6, len("var s =  + ")},
		{"p.go", 4, 4, len("; var t int")},
		{"p.go", 5, 6, len("\tx := f()")},
	}
	if got := linesOf("p.go", []byte(source)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// read returns what a folder of these files has.
func read(t *testing.T, files map[string]string) code {
	t.Helper()
	folder := t.TempDir()
	for name, source := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("package p\n\n"+source), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c, err := readFolders([]string{folder}, false)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCyclomatic(t *testing.T) {
	for source, want := range map[string]int{
		"func f() {}": 1,
		"func f() { if a { } else if b && c || d { } else { } }":    5,
		"func f() { for range a { for { } } }":                      3,
		"func f() { switch x { case 1, 2: case 3: default: } }":     3,
		"func f() { select { case <-a: default: } }":                2,
		"func f() { go func() { if a { } }() }":                     2,
		"func f() { switch x := y.(type) { case int: _ = x > 1 } }": 2,
	} {
		if got := read(t, map[string]string{"a.go": source}).functions; len(got) != 1 || got[0].cyclomatic != want {
			t.Errorf("%s: got %v, want %d", source, got, want)
		}
	}
}

func TestHeight(t *testing.T) {
	for source, want := range map[string]int{
		"func f() {\n\n// text\n}":                                          4,
		"func f() {\n\t_ = []int{\n1,\n2,\n}\n}":                            3,
		"func f() {\n\t_ = map[string]func(){\n\"a\": func() {\n\n},\n}\n}": 6, // 3, and the function's
		"func f() {\n\t_ = point{\nx: 1,\n}\n}":                             5,
		"func f() {\n\tg([]int{\n1,\n},\n2)\n}":                             4,
		"func f() {\n\t_ = [][]int{\n{\n1,\n},\n}\n\t_ = []int{\n1,\n}\n}":  4,
	} {
		if got := read(t, map[string]string{"a.go": source}).functions; len(got) != 1 || got[0].lines != want {
			t.Errorf("%s: got %v, want %d", source, got, want)
		}
	}
}

func TestMethods(t *testing.T) {
	c := read(t, map[string]string{
		"a.go":      "func (t T) a() {}\nfunc (t *T) b() {}\nfunc c() {}\nfunc (l List[E]) d() {}\nfunc (m *Map[K, V]) e() {}",
		"b.go":      "func (t T) x() {}",
		"other.go":  "func (t T) x() {}",
		"a_test.go": "func (t T) y() {}",
	})
	got := map[string]int{}
	for _, s := range c.types {
		got[s.name] = len(s.methods)
	}
	if len(got) != 3 || got["T"] != 3 || got["List"] != 1 || got["Map"] != 1 {
		t.Errorf("got %v", got)
	}
}

func TestSpread(t *testing.T) {
	long := strings.Repeat("x", 90)
	for source, want := range map[string]string{
		"var a = f(\n\t1,\n\t2,\n)":                           "var a = f(1, 2)",
		"var a = []int{\n\t1, 2,\n}":                          "var a = []int{1, 2}",
		"var a = f.\n\tg().\n\th(1)":                          "var a = f.g().h(1)",
		"var a = f(1 +\n\t2)":                                 "var a = f(1 + 2)",
		"var a = f(g(\n\t1,\n), []int{\n\t2,\n})":             "var a = f(g(1), []int{2})",
		"var a = f(\n\t1, // why\n\t2,\n)":                    "",
		"var a = f(func() {\n\tg()\n})":                       "",
		"var a = f(`\n`)":                                     "",
		"var a = []T{\n\t{1},\n\t{2},\n}":                     "", // a table
		"var a = f(\n\t1,\n\t\"" + long + "\",\n)":            "", // too wide
		"var a = f(\n\t1" + strings.Repeat("+1", 20) + ",\n)": "", // too dense
	} {
		c := read(t, map[string]string{"a.go": source + "\n"})
		if (len(c.spreads) > 0) != (want != "") {
			t.Errorf("%q: found %v, want %q", source, c.spreads, want)
		}
		if want == "" {
			want = source
		}
		got, err := joinAll("a.go", "package p\n\n"+source+"\n")
		if got != "package p\n\n"+want+"\n" || err != nil {
			t.Errorf("%q: became %q, %v, want %q", source, got, err, want)
		}
	}
}

func TestMeasures(t *testing.T) {
	methods := map[string]bool{}
	for len(methods) <= mostMethods {
		methods[strings.Repeat("m", len(methods))] = true
	}
	c := code{
		lines:     []line{{tokens: 36, columns: 120}, {tokens: 35, columns: 121}, {tokens: 1}},
		functions: []function{{cyclomatic: 16, lines: 60}, {cyclomatic: 15, lines: 61}},
		types:     []methodSet{{methods: methods}, {}},
		spreads:   []spread{{}},
	}
	for _, m := range c.measures(0, 0, 0, 0, 0, 0) {
		if len(m.over) != 1 {
			t.Errorf("%s: got %q, want one", m.what, m.over)
		}
	}
}
