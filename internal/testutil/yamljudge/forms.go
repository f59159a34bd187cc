package yamljudge

import (
	"regexp"
	"strings"
)

// Forms are the ways of writing YAML that have broken line-based readers, and
// the forms in which tools hand over their lists.
var Forms = []string{
	"apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n",
	"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n- apiVersion: v1\n  kind: Service\n",
	"kind: List\napiVersion: v1\nitems:\n  - apiVersion: v1\n    kind: Pod\n  -   kind: A\n      apiVersion: b\n",
	"items:\n- # comment\n  kind: Pod\n-\n  kind: A\n# c\n- {kind: B, apiVersion: c}\nkind: List\n",
	"kind: List\nitems:\n- {a: b}\n- c: d\n- {e: f} # g\n# h\n- {i: j}\n-",
	"kind: List\nitems:\n- |\n  - kind: Pod\n  kind: a\n- a: |-\n    - b\n    kind: c\n\n   # d\n  e: f\n",
	"a: |\n  text\n  # no comment\n # comment\nb: >-\n  folded\n  text\n\n    more\n  end\nc: |+\n  keep\n\n\nd: |2\n    two\n",
	"a: \"x\n  y\\\n  z\"\nb: 'it''s\n  long'\nc: plain\n  goes\n\n  on\nd: {a: b, c: [d, \"e\"]}\ne: [\n  a,\n  b\n]\n",
	"- a\n- b\n", "a\n", "{}\n", "[]\n", "---\n", "", "# c\n", "--- a\n", "...\n---\na: b\n...\n",
	"a: &x\n  b: c\nd: *x\ne:\n  <<: *x\n", "? a\n: b\n", "%YAML 1.1\n---\na: b\n", "a: !!str 1\nb: !x y\n", "!!map {a: b}\n",
	"a:\n\tb: c\n", "a:\tb\n", "a: b\t# c\n", "a: b #c\n", "a: b#c\n", "a: #c\n  b\n", "a:\n  b\n", "a:\n  'b'\n", "a:\n  b: c\n d: e\n",
	"a: b: c\n", "a: - b\n", "a: -b\n", "a: ?b\n", "a: :b\n", "a:b\n", "a:b: c\n", "\"a\": b\n'c': d\n\"e f\" : g\n", "a b: c\n", "a : b\n",
	"a: 'b' c\n", "a: \"b\"c\n", "a: {b: c} d\n", "a: {}\nb: []\nc: {} # d\n", "a: {b}\n", "a: {b: }\n", "a: [b,]\n", "a: [,b]\n", "a: [b c, d]\n",
	"a:\n- b\n- c:\n  - d\n  - - e\n    - f\n  g: h\nz: y\n", "a:\n  - b\n   - c\n", "a:\n- b\n c: d\n", "- - a: b\n    c: d\n",
	"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"kind\":\"Pod\",\"apiVersion\":\"v1\"},{\"a\":1}]}\n",
	"{\n\t\"kind\": \"Pod\",\n\t\"a\": [\n\t\t1,\n\t\t-2.5e3,\n\t\ttrue,\n\t\tnull,\n\t\t\"\\u00e9\\/\\n\"\n\t]\n}\n{\"kind\": \"A\"}\n",
	"a: http://b:80/c#d\nb: ~\nc: null\nd: 0x1F\ne: 1_000\nf: 1e3\ng: yes\nh: 2001-01-01\n",
	"a:\r\n- b: |\r\n    c\r\n    d\r\n  e: \"f\"\r\n", "a: b\rc: d\n", "\ufeffa: b\n", "a: \u0085b\n", "a: \u2028b\n",
	"kind: Pod\nkind: Pod\n", "kind:\n  Pod\n", "kind: Po\n  d\n", "kind: |\n  Pod\n", "kind: [Pod]\n", "kind: \"Po\\u0064\"\n",
	"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: a\nfunctionConfig:\n  apiVersion: a/v1\n  kind: B\nresults:\n- message: m\n",
	"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n", "kind: ResourceList\napiVersion: config.kubernetes.io/v1\nitems: [{kind: A, b: c}, {kind: D}]\n",
	"kind: List\nitems:\n- kind: List\n  items:\n  - kind: Pod\n- kind: PodList\n  items: [{a: b}]\n",
	"kind: List\nitems:\n- items:\n    - kind: A\n      b: c\n       d\n    # c\n    - {e: f}\n  # g\n  kind: B\n  results: h\n# i\n- kind: List\n  items:\n  - items:\n    - j: |\n        k\n  -\n    l: m\nn: o\n",
	"kind: List\nitems:\n- kind: A\n  items: &a\n  - b: c\n- items:\n  d: e\n- items:\n  - f\n g: h\n", "kind: List\nitems:\n- items: 'a\n  b'\n- items: a\n   b\n  kind: c\n- kind: a\n  items:\n  - b: c\n   d: e\n- f: g\n",
	"a: 1\n  \n   \nb: 2\n", "a: |\n\n\n  b\n\nc: d\n", "a: |\n   \n  b\n", "a: |-\n\n", "a: |", "a: |1\n  b\n", "a: b\n---\nc: d\n--- # x\ne: f\n",
	"a: b\n\n# c\n  # d\ne: f\n", "a: 'b\n---\nc'\n", "a:\n- b: c\n  # x\n- d\n", "a:\n  - \n  - b\n  -\n", "- a: b\n- c", "a: b\n c\n d: e\n",
	"\"a\\\"b\": c\n", "a: \"b\\\"c\" # d\n", "a: \"\\x41\\q\"\n", "~: a\nnull: b\n1: c\ntrue: d\n", "=: a\n<<: b\n", "a: @b\n", "a: `b\n", "a: %b\n", "%a: b\n",
	"a: [\"b\":c]\n", "a: {\"b\":c}\n", "a: {b:c}\n", "a: {b: c:d}\n", "a: {? b}\n", "a: [-]\n", "a: [- b]\n", "a: [-1]\n", "a: [#b]\n", "a: [b #c\n]\n", "a: {b: |\n c}\n",
	"a: [it's, a#b, --sel=\"x\", a\"b'c, x=y]\n", "a: [b, # c\n  d # e\n  # f\n  ]\n", "{# c\n a: b}\n", "{ # c\n a: b # d\n, c: d,\n}\n",
	"a: [b\n  c, \"d\n\n  e\", 'f\n  g']\n", "a: {b: , c:\n, d: }\n", "a: {it's: b, c d: e, f#g: h}\n", "a: {<<: b}\n", "a: [a:b, c:, d: e]\n", "a: [<<, =, a?b]\n", "a: {\"b\":, 'c': }\n",
	"&a\n&b\n", "&a\n&b c: d\n", "&a\n!!map\nc: d\n", "!!map\n!!map\nc: d\n", "--- &a\n&b\nc: d\n",
	"{kind: Pod, # c\n apiVersion: v1, it's: [a,],}\n", "{kind: List, items: [ # c\n {kind: it's, # d\n a: b}, {kind: B}, ]}\n", "{kind: A\n B, c: d}\n", "{kind: , items: , a: }\n",
}

// Surrogate matches the escapes that JSON allows and the full parser refuses: halves of pairs, and of a slash.
var Surrogate = regexp.MustCompile(`\\(u[dD][89a-fA-F]|/)`)

// Numbered are texts with characters by their numbers.
var Numbered = []string{
	"kind: Pod\na: \"\\u00e9\\U0001f600\"\n", "\"\\u0061\": \"\\U0000006b\"\nb: \"\\u0020\"\n", "a: \"\\u0000\"\n", "a: \"\\u00\"\n", "a: \"\\U00110000\"\n", "a: \"\\U0000d800\"\n", "a: \"\\Uffffffff\"\n",
	"{\"\\u006bind\": \"\\u0050od\", \"a\\u002fb\": [\"\\u2028\", \"\\ufeff\"]}\n",
}

// Strings are those that are hard to write or to read as scalars.
var Strings = []string{"", "a", "true", "15020", "y", "0x1", "1e3", "null", "~", "- a", "a: b", "a #b", "#", "'", "\"", "\\", "a\nb", " a ", "{", "}", "[a]", ",", "a,b", "&a", "*a", "!a", "|", ">", "%", "@", "`",
	"é", "\u2028", "\U0001f600", "\x01", "\ufeff", "<<", "=", "a:", ":a", "?", "-", "---", "...", `{"/app-health/a/livez":{"httpGet":{"port":80}}}`, "1:20", "2001-01-01", "5m", "100Mi", ".5", "+1", "1_0", "no", "http://a:80/b?c=d&e", "it's", "a\tb", "a:\n  b: c\n", "a\n\n# b\nc", strings.Repeat("long ", 40)}

// Pieces are what YAML is made of.
var Pieces = []string{
	" ", "  ", "\n", "\t", "\r", "-", "- ", ":", ": ", "?", "? ", ",", "#", " #", "[", "]", "{", "}", "'", "\"", "''", "\\", "\\\n", "\\x41", "&a ", "*a", "!!str ", "!a ",
	"|", "|-\n", "|2\n", ">", ">+\n", "<<: ", "~", "null", "a", "a: b", "1", "0x1", "1e3", "yes", ".", "---", "\n\n", "\n  ", "\n  - ", "\n    ", "é", "\u2028",
}
