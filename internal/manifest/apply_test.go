package manifest

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

func path(s string) field.Path {
	var p field.Path
	for k := range strings.SplitSeq(s, ".") {
		if i := strings.IndexByte(k, '['); i >= 0 {
			p = p.Key(k[:i])
			p = p.Index(int(k[i+1] - '0'))
			continue
		}
		p = p.Key(strings.ReplaceAll(k, "~", "."))
	}
	return p
}

func set(p string, v field.Value) field.Edit {
	return field.Edit{Op: field.Set, Path: path(p), Value: v}
}

func setBefore(p, before string, v field.Value) field.Edit {
	return field.Edit{Op: field.Set, Path: path(p), Before: before, Value: v}
}

func remove(p string) field.Edit { return field.Edit{Op: field.Delete, Path: path(p)} }

func insert(p string, v field.Value) field.Edit {
	return field.Edit{Op: field.Insert, Path: path(p), Value: v}
}

func rename(p, key string, v field.Value) field.Edit {
	return field.Edit{Op: field.Rename, Path: path(p), NewKey: key, Value: v}
}

var editTests = []struct {
	name    string
	in      string
	edits   []field.Edit
	want    string
	notices []int // the lines that were changed besides
}{
	{name: "a number is replaced and its comment stays",
		in:    "kind: A\nport: 8080 # the port\nz: 1\n",
		edits: []field.Edit{set("port", 15020)},
		want:  "kind: A\nport: 15020 # the port\nz: 1\n"},
	{name: "a key may be that of an entry which goes",
		in:    "kind: A\na: 1\nb: 2\n",
		edits: []field.Edit{remove("a"), rename("b", "a", 3)},
		want:  "kind: A\na: 3\n"},
	{name: "a key may be that which an entry gets before it goes",
		in:    "kind: A\na: 1\n",
		edits: []field.Edit{rename("a", "b", 2), remove("a"), set("b", 3)},
		want:  "kind: A\nb: 3\n"},
	{name: "the comment at the end of an item of several lines goes with it",
		in:    "kind: A\na:\n- b: 1\n  c: 2 # two\n- d\n",
		edits: []field.Edit{set("a[0]", "x")},
		want:  "kind: A\na:\n- x\n- d\n"},
	{name: "a list is indented as most lists below a key are, whatever lists of lists are",
		in:    "kind: A\na:\n- x\nb:\n- - x\n- - y\n- - z\nc:\n  - x\n",
		edits: []field.Edit{set("d", field.List{"x"})},
		want:  "kind: A\na:\n- x\nb:\n- - x\n- - y\n- - z\nc:\n  - x\nd:\n- x\n"},
	{name: "a string keeps its quotes",
		in:    "kind: A\na: 'x'\nb: \"y\"\nc: z\nd: e\n",
		edits: []field.Edit{set("a", "it's"), set("b", "p/q"), set("c", "/d"), set("d", "true")},
		want:  "kind: A\na: 'it''s'\nb: \"p/q\"\nc: /d\nd: \"true\"\n"},
	{name: "a key with escapes stays as it is, and so do its neighbours",
		in:    "kind: A\np: # of it\n  \"a\\tb\": 1 # tab\n  'it''s': [x, 'y']\n  \"\\u00e9\":\n    port: 1 # one\n  \"q\\\"\": 2\n",
		edits: []field.Edit{set("p.é.port", 2)},
		want:  "kind: A\np: # of it\n  \"a\\tb\": 1 # tab\n  'it''s': [x, 'y']\n  \"\\u00e9\":\n    port: 2 # one\n  \"q\\\"\": 2\n"},
	{name: "a key with escapes beside an anchor",
		in:    "kind: A\nx: &x 1 # x\np:\n  \"a\\tb\": *x # tab\n  \"a\\\\b\": 'c'\n  d: 1\n",
		edits: []field.Edit{set("p.d", 2)},
		want:  "kind: A\nx: &x 1 # x\np:\n  \"a\\tb\": *x # tab\n  \"a\\\\b\": 'c'\n  d: 2\n"},
	{name: "a string that would read as something else is quoted",
		in: "kind: A\n",
		edits: []field.Edit{set("a", "15020"), set("b", "y"), set("c", "0x1"), set("d", "1e3"), set("e", "null"), set("f", "1:20"), set("g", ""),
			set("h", "16Mi"), set("i", "5m"), set("j", "a: b"), set("k", "# c"), set("l", `{"a":1}`), set("m", "on"), set("n", "no\nyes"), set("o", " a"), set("y", "~"), set("q", "2001-12-14"), set("r", "."), set("s", "=")},
		want: "kind: A\na: \"15020\"\nb: \"y\"\nc: \"0x1\"\nd: \"1e3\"\ne: \"null\"\nf: \"1:20\"\ng: \"\"\nh: 16Mi\ni: 5m\nj: \"a: b\"\nk: \"# c\"\nl: '{\"a\":1}'\nm: \"on\"\n\"n\": |-\n  no\n  yes\no: \" a\"\n\"y\": \"~\"\nq: \"2001-12-14\"\nr: \".\"\ns: \"=\"\n"},
	{name: "an entry is added behind the last content, before comments and blank lines",
		in:    "kind: A\nspec:\n  a: 1 # one\n  # trailing\n\nstatus: {}\n",
		edits: []field.Edit{set("spec.b", field.Map{{Key: "c", Value: field.List{"d", 1}}})},
		want:  "kind: A\nspec:\n  a: 1 # one\n  b:\n    c:\n    - d\n    - 1\n  # trailing\n\nstatus: {}\n"},
	{name: "an entry before another goes above its comment",
		in:    "kind: A\nspec:\n  a: 1\n  # about c\n  # more\n  c: 2\n",
		edits: []field.Edit{setBefore("spec.b", "c", true)},
		want:  "kind: A\nspec:\n  a: 1\n  b: true\n  # about c\n  # more\n  c: 2\n"},
	{name: "an entry before the first on the line of a dash",
		in:    "kind: A\nl:\n- c: 2\n  d: 3\n",
		edits: []field.Edit{setBefore("l[0].b", "c", "x")},
		want:  "kind: A\nl:\n- b: x\n  c: 2\n  d: 3\n"},
	{name: "lists are indented as their neighbours are",
		in:    "kind: A\nspec:\n  x:\n    - 1\n",
		edits: []field.Edit{set("spec.y", field.List{"a", field.Map{{Key: "b", Value: field.List{"c"}}}})},
		want:  "kind: A\nspec:\n  x:\n    - 1\n  \"y\":\n    - a\n    - b:\n        - c\n"},
	{name: "items are inserted first, between and last",
		in:    "kind: A\nl:\n  # first\n  - a\n  - b: 1\n    c: 2\n  # end\nz: 0\n",
		edits: []field.Edit{insert("l[0]", "new0"), insert("l[1]", field.Map{{Key: "n", Value: 1}, {Key: "m", Value: nil}}), insert("l[2]", "x"), insert("l[2]", "y")},
		want:  "kind: A\nl:\n  - new0\n  # first\n  - a\n  - \"n\": 1\n    m: null\n  - b: 1\n    c: 2\n  - x\n  - \"y\"\n  # end\nz: 0\n"},
	{name: "an entry is added behind the last of a mapping that others follow",
		in:    "kind: A\na:\n  b: 1\nz: 0\n",
		edits: []field.Edit{set("a.c", 2)},
		want:  "kind: A\na:\n  b: 1\n  c: 2\nz: 0\n"},
	{name: "a missing list is created",
		in:    "kind: A\nspec:\n  containers:\n  - name: a\n",
		edits: []field.Edit{{Op: field.Insert, Path: path("spec.initContainers[0]"), Before: "containers", Value: field.Map{{Key: "name", Value: "p"}}}},
		want:  "kind: A\nspec:\n  initContainers:\n  - name: p\n  containers:\n  - name: a\n"},
	{name: "missing mappings on the way are created",
		in:    "kind: A\nmetadata:\n  name: a\n",
		edits: []field.Edit{set("metadata.annotations.a~b/c", "true"), set("metadata.annotations.d", "e")},
		want:  "kind: A\nmetadata:\n  name: a\n  annotations:\n    a.b/c: \"true\"\n    d: e\n"},
	{name: "null and empty mappings on the way are filled",
		in:    "kind: A\na:\nb: null # c\nc: {}\nd: ~\n",
		edits: []field.Edit{set("a.x", 1), set("b.x", 2), set("c.x", 3), set("d.x.y", 4)},
		want:  "kind: A\na:\n  x: 1\nb: # c\n  x: 2\nc:\n  x: 3\nd:\n  x:\n    \"y\": 4\n"},
	{name: "an entry is renamed in its place, and comments in it stay",
		in:    "kind: A\np:\n  # above\n  grpc: # of it\n    # the port\n    port: 1 # x\n    # the service\n    service: a # y\n    # end\n  z: 1\n",
		edits: []field.Edit{rename("p.grpc", "httpGet", field.Map{{Key: "path", Value: "/a"}, {Key: "port", Value: 15020}})},
		want:  "kind: A\np:\n  # above\n  httpGet: # of it\n    path: /a\n    # the port\n    port: 15020 # x\n    # the service\n    # end\n  z: 1\n"},
	{name: "of a mapping that is set only what differs is changed",
		in:    "kind: A\np:\n  a: 1 # one\n  # two\n  b: {c: 'x', # c\n    d: 2}\n  e: [1] # e\n  f: gone # f\n",
		edits: []field.Edit{set("p", field.Map{{Key: "n0", Value: 0}, {Key: "a", Value: 1}, {Key: "b", Value: field.Map{{Key: "c", Value: "x"}, {Key: "d", Value: 3}}}, {Key: "m0", Value: 4}, {Key: "e", Value: field.List{2}}})},
		want:  "kind: A\np:\n  n0: 0\n  a: 1 # one\n  # two\n  b: {c: 'x', # c\n    d: 3}\n  m0: 4\n  e: # e\n  - 2\n"},
	{name: "a mapping without any of the keys is replaced",
		in:    "kind: A\np: # p\n  a: 1 # one\n",
		edits: []field.Edit{set("p", field.Map{{Key: "b", Value: 1}})},
		want:  "kind: A\np: # p\n  b: 1\n"},
	{name: "behind a comment the bracket of a flow collection keeps its line",
		in:    "kind: A\np: {a: 1, # one\n  b: 2 } # two\nq: [1, # one\n  # above\n  2, 3]\nr:\n  s: {a: 1, # one\n    b: 2} # r\n",
		edits: []field.Edit{remove("p.b"), remove("q[1]"), remove("q[2]"), remove("r.s.b")},
		want:  "kind: A\np: {a: 1, # one\n   } # two\nq: [1, # one\n  # above\n  ]\nr:\n  s: {a: 1, # one\n    } # r\n"},
	{name: "a comma behind the last entry of a flow collection stays",
		in:    "kind: A\np: [\n  1, # one\n  2, # two\n]\nq: [\n  1, # one\n  2,\n]\nr: [\n  1, # one\n  2 , ]\n",
		edits: []field.Edit{remove("p[1]"), remove("q[1]"), remove("r[1]")},
		want:  "kind: A\np: [\n  1, # one\n]\nq: [\n  1, # one\n]\nr: [\n  1, # one\n   ]\n"},
	{name: "a null that has the new key gets the old one",
		in:    "kind: A\np:\n  httpGet: null # no\n  tcpSocket:\n    port: 1\nq: {tcpSocket: {port: 1}, httpGet: ~, z: 1}\n",
		edits: []field.Edit{rename("p.tcpSocket", "httpGet", field.Map{{Key: "port", Value: 2}}), rename("q.tcpSocket", "httpGet", 3)},
		want:  "kind: A\np:\n  tcpSocket: null # no\n  httpGet:\n    port: 2\nq: {httpGet: 3, tcpSocket: ~, z: 1}\n"},
	{name: "entries are deleted with their comments, and comments above stay",
		in:    "kind: A\na:\n  # above\n  b: 1 # gone\n  c:\n    d: 1\n    # gone\n    e: 2\n  # end\n  f: 3\n",
		edits: []field.Edit{remove("a.b"), remove("a.c")},
		want:  "kind: A\na:\n  # above\n  # end\n  f: 3\n"},
	{name: "the first entry on the line of a dash is deleted",
		in:    "kind: A\nl:\n- a: 1\n  b: 2\n- a: 1\n  # about c\n  c: 3\n- x: 1\n  y: 2\n  z: 3\n",
		edits: []field.Edit{remove("l[0].a"), remove("l[1].a"), remove("l[2].x"), remove("l[2].y"), setBefore("l[2].n0", "z", 0)},
		want:  "kind: A\nl:\n- b: 2\n- # about c\n  c: 3\n- n0: 0\n  z: 3\n"},
	{name: "an item is deleted, and the last entry too",
		in:    "kind: A\nl:\n- a\n- b\nm:\n- a: 1\ng:\n  h: 1\n",
		edits: []field.Edit{remove("l[0]"), remove("m[0]"), remove("g.h")},
		want:  "kind: A\nl:\n- b\nm: []\ng: {}\n"},
	{name: "block scalars are replaced as a whole",
		in:    "kind: A\na: |\n  x\n  y\nb: >-\n  z\n\nc: 1\n",
		edits: []field.Edit{set("a", "n"), set("b", field.Map{{Key: "k", Value: 1}})},
		want:  "kind: A\na: \"n\"\nb:\n  k: 1\n\nc: 1\n"},
	{name: "a scalar becomes a mapping and a mapping a scalar",
		in:    "kind: A\na: 1 # one\nb: # two\n  c: 1\nd:\n- e: 1\n- f\n",
		edits: []field.Edit{set("a", field.Map{{Key: "x", Value: 1}}), set("b", 5), set("d[0]", "g"), set("d[1]", field.Map{{Key: "h", Value: 1}, {Key: "i", Value: 2}})},
		want:  "kind: A\na: # one\n  x: 1\nb: 5 # two\nd:\n- g\n- h: 1\n  i: 2\n"},
	{name: "flow style stays flow style",
		in:    "kind: A\np: {httpGet: {path: /, port: 80}, t: 1}\nl: [a, b]\n",
		edits: []field.Edit{set("p.httpGet.port", 15020), set("p.httpGet.scheme", "HTTP"), setBefore("p.n", "t", "x y"), insert("l[0]", "c"), insert("l[2]", 1)},
		want:  "kind: A\np: {httpGet: {path: /, port: 15020, scheme: HTTP}, \"n\": \"x y\", t: 1}\nl: [c, a, b, 1]\n"},
	{name: "a plain scalar in a flow mapping stays plain, unless the collection would end in it",
		in:    "kind: A\np: {a: /a, b: /b, c: /c, d: '/d', e: 1}\n",
		edits: []field.Edit{set("p.a", "/%41 b"), set("p.b", "/b?c"), set("p.c", "/c, d"), set("p.d", "/d e"), set("p.e", "e &f")},
		want:  "kind: A\np: {a: /%41 b, b: \"/b?c\", c: \"/c, d\", d: '/d e', e: e &f}\n"},
	{name: "a renamed key stays in its quotes",
		in:    "kind: A\n\"b\":\n  c: 1\nd: {'e': 1, f: 2}\n",
		edits: []field.Edit{rename("b", "g", field.Map{{Key: "c", Value: 1}}), rename("d.e", "h", 1), rename("d.f", "i", 2)},
		want:  "kind: A\n\"g\":\n  c: 1\nd: {'h': 1, i: 2}\n"},
	{name: "entries of flow collections are deleted",
		in:    "kind: A\na: {b: 1, c: 2, d: 3}\ne: {f: 1}\nl: [a, b, c]\nm: [x]\n",
		edits: []field.Edit{remove("a.b"), remove("a.d"), remove("e.f"), remove("l[1]"), remove("l[2]"), remove("m[0]"), insert("m[1]", "y y")},
		want:  "kind: A\na: {c: 2}\ne: {}\nl: [a]\nm: [\"y y\"]\n"},
	{name: "compact JSON stays compact",
		in:    `{"kind":"A","spec":{"port":80,"l":[{"a":1}],"e":{},"n":null}}` + "\n",
		edits: []field.Edit{set("spec.port", 15020), set("spec.x", field.Map{{Key: "y", Value: field.List{1, "<&>"}}}), insert("spec.l[1]", field.Map{{Key: "b", Value: true}}), set("spec.e.z", "q"), set("spec.n.m", 1)},
		want:  `{"kind":"A","spec":{"port":15020,"l":[{"a":1},{"b":true}],"e":{"z":"q"},"n":{"m":1},"x":{"y":[1,"<&>"]}}}` + "\n"},
	{name: "pretty JSON stays pretty",
		in:    "{\n    \"kind\": \"A\",\n    \"spec\": {\n        \"l\": [\n            \"a\"\n        ],\n        \"port\": 80\n    },\n    \"e\": {}\n}\n",
		edits: []field.Edit{set("spec.port", 15020), set("spec.x", field.Map{{Key: "y", Value: 1}}), insert("spec.l[0]", "b"), set("e.f", "g"), setBefore("z", "kind", 1)},
		want:  "{\n    \"z\": 1,\n    \"kind\": \"A\",\n    \"spec\": {\n        \"l\": [\n            \"b\",\n            \"a\"\n        ],\n        \"port\": 15020,\n        \"x\": {\n            \"y\": 1\n        }\n    },\n    \"e\": {\n        \"f\": \"g\"\n    }\n}\n"},
	{name: "JSON inside YAML keeps its quotes",
		in:    "kind: A\np: {\"httpGet\": {\"port\": 80}}\n",
		edits: []field.Edit{set("p.httpGet.path", "/a")},
		want:  "kind: A\np: {\"httpGet\": {\"port\": 80, \"path\": \"/a\"}}\n"},
	{name: "inserted lines end as the file's lines do",
		in:    "kind: A\r\na:\r\n  b: 1\r\n  c: 2\r\n",
		edits: []field.Edit{set("a.d", field.Map{{Key: "e", Value: 1}}), setBefore("a.x", "c", 1), remove("a.b")},
		want:  "kind: A\r\na:\r\n  x: 1\r\n  c: 2\r\n  d:\r\n    e: 1\r\n"},
	{name: "a text without a last line end gets the entry on a line of its own",
		in:    "kind: A\na:\n  b: 1",
		edits: []field.Edit{set("a.c", 2)},
		want:  "kind: A\na:\n  b: 1\n  c: 2"},
	{name: "an object with aliases is edited in place",
		in:    "kind: A\na: &a {b: c}\nd: *a\ne: {image: r.example.com/i:1, on: \"8080\"}\nf: 'g'  # h\nport: 1 # p\n",
		edits: []field.Edit{set("port", 2)},
		want:  "kind: A\na: &a {b: c}\nd: *a\ne: {image: r.example.com/i:1, on: \"8080\"}\nf: 'g'  # h\nport: 2 # p\n"},
	{name: "an alias is written out where it is edited, and the anchor stays",
		in:      "kind: A\na: &p # x\n  b: 1 # y\n  c: 2\nd: *p # z\n",
		edits:   []field.Edit{set("d.b", 3)},
		want:    "kind: A\na: &p # x\n  b: 1 # y\n  c: 2\nd: # z\n  b: 3\n  c: 2\n",
		notices: []int{5}},
	{name: "an alias is written out where its anchor gets another value",
		in:      "kind: A\na: &p\n  b: 1 # y\nd: *p # z\ne: [*p, &q 1, *q]\n",
		edits:   []field.Edit{set("a.b", 3)},
		want:    "kind: A\na: &p\n  b: 3 # y\nd: # z\n  b: 1\ne: [{b: 1}, &q 1, *q]\n",
		notices: []int{4, 5}},
	{name: "an alias is written out with the line ends of its file",
		in:      "kind: A\r\na: &p\r\n  b: 1\r\nd: *p\r\n",
		edits:   []field.Edit{set("a.b", 2)},
		want:    "kind: A\r\na: &p\r\n  b: 2\r\nd:\r\n  b: 1\r\n",
		notices: []int{4}},
	{name: "an alias is written out where its anchor goes",
		in:      "kind: A\na:\n  b: &p {x: 'y'}\n  c: 1\nd: *p\n",
		edits:   []field.Edit{remove("a.b")},
		want:    "kind: A\na:\n  c: 1\nd:\n  x: \"y\"\n",
		notices: []int{5}},
	{name: "an alias is written out where its anchor is replaced",
		in:      "kind: A\na:\n  b: &p {x: 'y'}\n  c: 1\nd: *p\n",
		edits:   []field.Edit{set("a.b", 5)},
		want:    "kind: A\na:\n  b: 5\n  c: 1\nd:\n  x: \"y\"\n",
		notices: []int{5}},
	{name: "a tab before a value is no obstacle",
		in:    "kind: A\na:\t'b' # c\nd:\n- e\nport: 1\n",
		edits: []field.Edit{set("port", 2), set("a", "g")},
		want:  "kind: A\na:\t'g' # c\nd:\n- e\nport: 2\n"},
	{name: "a mapping is written out where a merged key is renamed",
		in:      "kind: A\nbase: &b {x: 1}\nc:\n  <<: *b\n  v: 3\n",
		edits:   []field.Edit{rename("c.x", "w", 2)},
		want:    "kind: A\nbase: &b {x: 1}\nc:\n  w: 2\n  v: 3\n",
		notices: []int{4}},
	{name: "an alias is not looked into if nothing in it is edited",
		in:    "kind: A\nbase: &b {x: 1}\nc:\n  d: *b\n  v: 3\ne: {f: *b}\n",
		edits: []field.Edit{set("c.d.x", 1), set("e.f.x", 1), set("c.v", 4), set("e.g", 5)},
		want:  "kind: A\nbase: &b {x: 1}\nc:\n  d: *b\n  v: 4\ne: {f: *b, g: 5}\n"},
	{name: "a mapping is written out where a merged key that is a number gets another value",
		in:      "kind: A\nbase: &b {3: 1}\nc:\n  <<: *b\n  v: 3\n",
		edits:   []field.Edit{set("c.3", 2)},
		want:    "kind: A\nbase: &b {3: 1}\nc:\n  \"3\": 2\n  v: 3\n",
		notices: []int{4}},
	{name: "a mapping that is edited is written out where what it merges gets another value",
		in:      "kind: A\nbase: &b {x: 1} # b\nc:\n  <<: *b\n  v: 3\n",
		edits:   []field.Edit{set("base.x", 2), set("c.v", 4)},
		want:    "kind: A\nbase: &b {x: 2} # b\nc:\n  x: 1\n  v: 4\n",
		notices: []int{4}},
	{name: "in a mapping with a merge key its own entries are edited in their place",
		in:    "kind: A\nbase: &b\n  x: 1\n  y: 2 # two\nc:\n  <<: *b # m\n  y: 3\nd: *b\n",
		edits: []field.Edit{set("c.y", 6), set("c.z", 7)},
		want:  "kind: A\nbase: &b\n  x: 1\n  y: 2 # two\nc:\n  <<: *b # m\n  y: 6\n  z: 7\nd: *b\n"},
	{name: "a mapping is written out where a merged key gets another value",
		in:      "kind: A\nbase: &b\n  x: 1\n  y: 2 # two\nc:\n  <<: *b # m\n  y: 3\nd: *b\n",
		edits:   []field.Edit{set("c.x", 5), set("c.y", 6), set("c.z", 7)},
		want:    "kind: A\nbase: &b\n  x: 1\n  y: 2 # two\nc:\n  x: 5\n  \"y\": 6\n  z: 7\nd: *b\n",
		notices: []int{6}},
	{name: "a mapping is written out where a merged key goes",
		in:      "kind: A\nbase: &b\n  x: 1\n  y: 2 # two\nc:\n  <<: *b\n  y: 3\nd: *b\n",
		edits:   []field.Edit{remove("c.x")},
		want:    "kind: A\nbase: &b\n  x: 1\n  y: 2 # two\nc:\n  \"y\": 3\nd: *b\n",
		notices: []int{6}},
	{name: "a mapping is written out where what it merges gets another value",
		in:      "kind: A\nbase: &b\n  x: {z: 1}\n  y: 2 # two\nc:\n  <<: [*b, {w: 1}]\n  y: 3\n",
		edits:   []field.Edit{set("base.x.z", 4)},
		want:    "kind: A\nbase: &b\n  x: {z: 4}\n  y: 2 # two\nc:\n  x:\n    z: 1\n  w: 1\n  \"y\": 3\n",
		notices: []int{6}},
	{name: "an alias is written out where its anchor goes with a mapping that is written out",
		in:      "kind: A\nbase: &b {x: 1}\nc:\n  <<: *b\n  k: &k 3\nd: *k\n",
		edits:   []field.Edit{set("base.x", 2)},
		want:    "kind: A\nbase: &b {x: 2}\nc:\n  x: 1\n  k: 3\nd: 3\n",
		notices: []int{4, 6}},
	{name: "tags of the core schema are no obstacle",
		in:    "kind: A\na: !!str 1 # c\nb: !!int \"2\"\n",
		edits: []field.Edit{set("b", 3)},
		want:  "kind: A\na: !!str 1 # c\nb: 3\n"},
	{name: "what stands in flow style with comments is edited in place",
		in:    "kind: A # k\nl: [\n  # above a\n  it's, # about a\n  --sel=\"x\", # about b\n  # above c\n  a#b # about c\n  ] # end\nm: { # first\n  a: 1, # one\n  b: 2, # two\n  # three\n  c: 3, # 3\n}\n",
		edits: []field.Edit{insert("l[3]", "d"), set("l[0]", "its"), remove("l[1]"), set("m.d", 4), remove("m.b")},
		want:  "kind: A # k\nl: [\n  # above a\n  its, # about a\n  # above c\n  a#b, d # about c\n  ] # end\nm: { # first\n  a: 1, # one\n  # three\n  c: 3, d: 4, # 3\n}\n"},
	{name: "the last entries of a flow collection go, and the comments of others stay",
		in:    "kind: A\nl: [\n  a, # about a\n  b, # about b\n  c # about c\n]\nm: [\n  a, # about a\n  b\n]\n",
		edits: []field.Edit{remove("l[1]"), remove("l[2]"), remove("m[1]"), insert("m[2]", "c")},
		want:  "kind: A\nl: [\n  a, # about a\n]\nm: [\n  a, c, # about a\n]\n"},
	{name: "an explicit key is no obstacle",
		in:    "kind: A # k\n# about b\n? b\n: 'c'\nd: 1 # e\n",
		edits: []field.Edit{set("d", 2)},
		want:  "kind: A # k\n# about b\n? b\n: 'c'\nd: 2 # e\n"},
	{name: "a value that is there already changes nothing",
		in:    "kind: A\na: b\nl: [1]\n",
		edits: []field.Edit{set("a", "b"), set("l", field.List{1})},
		want:  "kind: A\na: b\nl: [1]\n"},
	{name: "a text of several lines is a literal block, of which only the lines that differ are changed",
		in:    "kind: A\na: |- # why\n   x: 1\n\n   # c\n   y: 2\n\nb: |\n  p: 1\nz: {c: d}\n",
		edits: []field.Edit{set("a", "x: 1\n\n# c\nz: 3\n\ny: 2"), set("b", "p: 1\nq: 2\n"), set("m.n", "r:\n  s: t\n"), set("z.e", "1\n2")},
		want:  "kind: A\na: |- # why\n   x: 1\n\n   # c\n   z: 3\n\n   y: 2\n\nb: |\n  p: 1\n  q: 2\nz: {c: d, e: \"1\\n2\"}\nm:\n  \"n\": |\n    r:\n      s: t\n"},
	{name: "lines of a literal block that is edited are empty if they were blank",
		in:    "kind: A\na: |\n    x: 1\n  \n    y: 2\n    z: 3\nb: |-\n  first\n  last\n",
		edits: []field.Edit{set("a", "x: 1\n\nz: 3\n"), set("b", "first")},
		want:  "kind: A\na: |\n    x: 1\n\n    z: 3\nb: |-\n  first\n"},
	{name: "a text that no literal block of that form can hold is quoted",
		in:    "kind: A\na: |\n  x\nb: |\n  x\nc: |\n  x\nd: |+\n  x\n",
		edits: []field.Edit{set("a", "x\ny"), set("b", " x\ny\n"), set("c", "x\n \ny\n"), set("d", "y\n"), set("e", "\nx\n"), set("f", "x\n\n"), set("g", "x\r\ny\n")},
		want:  "kind: A\na: \"x\\ny\"\nb: \" x\\ny\\n\"\nc: \"x\\n \\ny\\n\"\nd: \"y\\n\"\ne: \"\\nx\\n\"\nf: \"x\\n\\n\"\ng: \"x\\r\\ny\\n\"\n"},
}

func TestEditsChangeOnlyWhatMustChange(t *testing.T) {
	for _, tt := range editTests {
		t.Run(tt.name, func(t *testing.T) {
			s := mustRead(t, []byte(tt.in))
			o := s.Objects()[0]
			if err := o.Apply(tt.edits); err != nil {
				t.Fatal(err)
			}
			if got := string(output(t, s)); got != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
			var lines []int
			for _, n := range o.Notices() {
				lines = append(lines, n.Line)
			}
			if !slices.Equal(lines, tt.notices) {
				t.Errorf("lines changed besides: %v, want %v", o.Notices(), tt.notices)
			}
			if o.Changed() != (tt.in != tt.want) {
				t.Errorf("changed: %v", o.Changed())
			}
		})
	}
}

func TestTheSameEditsWorkOnItemsOfALists(t *testing.T) {
	for _, tt := range editTests {
		if !strings.HasPrefix(tt.in, "kind") || strings.Contains(tt.in, "\r") {
			continue
		}
		asItem := func(text string, pad string) string {
			var b strings.Builder
			for line := range strings.Lines(text) {
				if strings.TrimSpace(line) != "" {
					line = pad + line
				}
				b.WriteString(line)
			}
			return strings.TrimPrefix(b.String(), pad)
		}
		const before, between, after = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- kind: X # first\n# between\n- ", "- {kind: Y}\n", "functionConfig:\n  kind: Z\n"
		t.Run(tt.name, func(t *testing.T) {
			in, want := asItem(tt.in, "  "), asItem(tt.want, "  ")
			if !strings.HasSuffix(in, "\n") {
				in, want = in+"\n", want+"\n"
			}
			s := mustRead(t, []byte(before+in+between+after))
			if err := s.Objects()[1].Apply(tt.edits); err != nil {
				t.Fatal(err)
			}
			if got := string(output(t, s)); got != before+want+between+after {
				t.Errorf("got:\n%s\nwant:\n%s", got, before+want+between+after)
			}
		})
	}
}

func TestConflictingEditsAreRefusedAndChangeNothing(t *testing.T) {
	const in = "kind: A\na:\n  b: 1\nl:\n- c\n"
	for _, test := range []struct {
		edits []field.Edit
		want  string
	}{
		{[]field.Edit{set("a", 1), set("a.b", 2)}, "`a.b`: cannot be edited: an edit changes what another sets"},
		{[]field.Edit{remove("a"), set("a.b", 2)}, "`a.b`: cannot be edited: an edit deletes what another changes"},
		{[]field.Edit{remove("nothing")}, "`nothing`: cannot be edited: it does not exist"},
		{[]field.Edit{remove("l[3]")}, "`l[3]`: cannot be edited: it does not exist"},
		{[]field.Edit{remove("l[3].b")}, "`l[3].b`: cannot be edited: `l[3]` does not exist"},
		{[]field.Edit{remove("a.c.d")}, "`a.c.d`: cannot be edited: `a.c` does not exist"},
		{[]field.Edit{set("l[1]", "x")}, "`l[1]`: cannot be edited: it does not exist"},
		{[]field.Edit{insert("l[2]", "x")}, "`l[2]`: cannot be edited: index 2 is outside of the list"},
		{[]field.Edit{set("a.b.c", 1)}, "`a.b.c`: cannot be edited: must be a mapping, not the number 1"},
		{[]field.Edit{set("l.x", 1)}, "`l.x`: cannot be edited: must be a mapping, not a list"},
		{[]field.Edit{rename("a", "l", nil)}, "key \"l\" would be twice in its mapping"},
		{[]field.Edit{rename("a", "n", nil), rename("l", "n", nil)}, "key \"n\" would be twice in its mapping"},
	} {
		edits := test.edits
		s := mustRead(t, []byte(in))
		o := s.Objects()[0]
		if err := o.Apply(edits); err == nil {
			t.Errorf("%v must be refused, and gives\n%s", edits, o.source())
		} else if err.Error() != "<stdin>:1: A: "+test.want {
			t.Errorf("%v is refused with %q, want %q", edits, err, test.want)
		}
		if !bytes.Equal(output(t, s), []byte(in)) || s.Changed() {
			t.Errorf("%v is refused and changes the stream", edits)
		}
	}
}

// It is who decodes the mapping that is told of its duplicate keys.
func TestADuplicateKeyOfTheInputIsNotThatOfAnEdit(t *testing.T) {
	s := mustRead(t, []byte("kind: A\na:\n  b: 1\n  b: 2\n"))
	if err := s.Objects()[0].Apply([]field.Edit{set("a.c", 3)}); err != nil {
		t.Fatal(err)
	}
	if got, want := string(output(t, s)), "kind: A\na:\n  b: 1\n  b: 2\n  c: 3\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// It is the object that is refused then, not the whole output.
func TestAValueThatIsNotUTF8IsRefused(t *testing.T) {
	const in = "kind: A\na: b\nc: 'd'\n"
	for _, p := range []string{"a", "c", "new"} {
		s := mustRead(t, []byte(in))
		if err := s.Objects()[0].Apply([]field.Edit{set(p, "x\xff")}); err == nil {
			t.Errorf("%s: it must be an error", p)
		}
		if got := string(output(t, s)); got != in {
			t.Errorf("%s: got\n%s", p, got)
		}
	}
	for value, want := range map[string]string{"\ufeffx": `"\ufeffx"`, "\ufffd": "\"\ufffd\"", "\u00e9\u00ad": "\"\u00e9\\u00ad\""} {
		s := mustRead(t, []byte(in))
		if err := s.Objects()[0].Apply([]field.Edit{set("a", value)}); err != nil {
			t.Fatal(err)
		}
		if got := string(output(t, s)); got != strings.Replace(in, "b\n", want+"\n", 1) {
			t.Errorf("%q: got\n%s", value, got)
		}
	}
}
