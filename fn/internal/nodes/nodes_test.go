package nodes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func TestAnObjectIsMergedWhereItChanged(t *testing.T) {
	for _, c := range []struct{ what, node, changed, want string }{
		{"nothing", "a: 1 # one\nb: [x, y] # list\n", "{a: 1, b: [x, y]}", "a: 1 # one\nb: [x, y] # list\n"},
		{"a value", "a: 1 # one\nb: 2 # two\n", "{a: 1, b: 3}", "a: 1 # one\nb: 3\n"},
		{"a value of another type", "a: 1\nb: \"2\" # two\n", "{a: 1, b: 2}", "a: 1\nb: 2\n"},
		{"an added key", "a: 1 # one\n", "{a: 1, b: 2}", "a: 1 # one\nb: 2\n"},
		{"a key that goes", "a: 1 # one\nb: 2 # two\n", "{b: 2}", "b: 2 # two\n"},
		{"a key put first", "b: 2 # two\n", "{a: 1, b: 2}", "a: 1\nb: 2 # two\n"},
		{"a key below", "a:\n  # deep\n  b: 1 # one\n  c: 2\n", "{a: {b: 1, c: 3}}", "a:\n  # deep\n  b: 1 # one\n  c: 3\n"},
		{"a mapping that becomes a list", "a: {b: 1} # x\nc: 1 # one\n", "{a: [b], c: 1}", "a: [b]\nc: 1 # one\n"},
		{"a list that becomes a mapping", "a: [b] # x\n", "{a: {b: 1}}", "a: {b: 1}\n"},
		{"a list that becomes a scalar", "a:\n- b # x\n", "{a: b}", "a: b\n"},
		{"a scalar that becomes a list", "a: b # x\n", "{a: [b]}", "a: [b]\n"},
		{"an item by its name", "a:\n- name: x # x\n  v: 1\n- name: y # y\n  v: 1 # one\n", "{a: [{name: x, v: 1}, {name: y, v: 1, w: 2}]}", "a:\n- name: x # x\n  v: 1\n- name: y # y\n  v: 1 # one\n  w: 2\n"},
		{"an item put before", "a:\n- name: x # x\n", "{a: [{name: new}, {name: x}]}", "a:\n- {name: new}\n- name: x # x\n"},
		{"an item put after", "a:\n- name: x # x\n", "{a: [{name: x}, {name: new}]}", "a:\n- name: x # x\n- {name: new}\n"},
		{"an item that goes", "a:\n- name: x # x\n- name: y # y\n", "{a: [{name: y}]}", "a:\n- name: y # y\n"},
		{"items without names", "a:\n- 1 # one\n- 2 # two\n- 3 # three\n", "{a: [1, 4, 3]}", "a:\n- 1 # one\n- 4\n- 3 # three\n"},
		{"equal items", "a:\n- 1 # first\n- 1 # second\n- 1 # third\n", "{a: [1, 1]}", "a:\n- 1 # first\n- 1 # second\n"},
		{"items whose key is no name", "a:\n- key: x # x\n  v: 1\n", "{a: [{key: x, v: 2}]}", "a:\n- {key: x, v: 2}\n"},
		{"items whose name is empty", "a:\n- name: \"\" # x\n  v: 1\n", "{a: [{name: \"\", v: 2}]}", "a:\n- {name: \"\", v: 2}\n"},
		{"lists in lists", "a:\n- - name: x # x\n", "{a: [[{name: x}, {name: y}]]}", "a:\n- [{name: x}, {name: y}]\n"},
		{"an object with anchors", "# head\na: &x 1 # one\nb: *x\nc: 1 # kept\n", "a: 2\nb: 1\nc: 1\n", "# head\na: 2\nb: 1\nc: 1\n"},
		{"an anchor below", "# head\na:\n  b:\n  - &x 1\nc: 1 # kept\n", "a:\n  b: [1]\nc: 2\n", "# head\na:\n  b: [1]\nc: 2\n"},
	} {
		node, changed := yaml.MustParse(c.node), yaml.MustParse(c.changed)
		base := yaml.MustParse(strings.NewReplacer("&x ", "", "*x", "1").Replace(c.node))
		merge(node.YNode(), base.YNode(), changed.YNode())
		if got := node.MustString(); got != c.want {
			t.Errorf("%s: merged to\n%swant\n%s", c.what, got, c.want)
		}
	}
}

// The text that base was read from may have another form than the node: it is then taken as a whole.
func TestAListOfAnotherLengthThanItsTextIsTakenAsAWhole(t *testing.T) {
	node, base, changed := yaml.MustParse("a:\n- 1 # one\n- 2 # two\n"), yaml.MustParse("a: [1]"), yaml.MustParse("a: [1, 3]")
	merge(node.YNode(), base.YNode(), changed.YNode())
	if got := node.MustString(); got != "a: [1, 3]\n" {
		t.Errorf("merged to\n%s", got)
	}
	for _, c := range []struct{ node, base, changed, want string }{
		{"a: [1]", "a: {b: 1}", "a: {b: 2}", "a: {b: 2}\n"},
		{"a: {b: 1}", "a: [1]", "a: [2]", "a: [2]\n"},
		{"a: {b: 1}", "a: x", "a: {b: 2}", "a: {b: 2}\n"},
		{"c: 1 # c", "a: 1\nc: 1", "a: 2\nc: 1", "a: 2\nc: 1 # c\n"},
		{"a: 1 # a\nc: 1", "c: 1", "a: 1\nc: 2", "a: 1\nc: 2\n"},
		{"a: 1 # a\nc: 1", "c: 1", "a: c\nc: 2", "a: c\nc: 2\n"},
	} {
		node, base, changed := yaml.MustParse(c.node), yaml.MustParse(c.base), yaml.MustParse(c.changed)
		merge(node.YNode(), base.YNode(), changed.YNode())
		if got := node.MustString(); got != c.want {
			t.Errorf("%s, read as %s, changed to %s: %q, want %q", c.node, c.base, c.changed, got, c.want)
		}
	}
}

func TestNodesAreEqualIfTheirValuesAre(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"{a: 1}", "a: 1 # one\n", true}, {"a: \"1\"", "a: '1'", true}, {"[a, b]", "- a\n- b\n", true},
		{"a: 1", "a: \"1\"", false}, {"a: 1", "a: 2", false}, {"a: 1", "b: 1", false}, {"a: [1]", "a: [1, 2]", false}, {"a: []", "a: {}", false}, {"a: [[1]]", "a: [[2]]", false}, {"a: null", "a: \"\"", false},
	} {
		if got := equal(yaml.MustParse(c.a).YNode(), yaml.MustParse(c.b).YNode()); got != c.want {
			t.Errorf("%q and %q are equal: %t", c.a, c.b, got)
		}
	}
}

func TestObjectsOfTheOutputAreFoundInTheInput(t *testing.T) {
	objects := func(names string) (all []*yaml.RNode) {
		for _, name := range strings.Fields(names) {
			name, value, _ := strings.Cut(name, "=")
			parts := strings.Split(name, "/")
			all = append(all, yaml.MustParse("apiVersion: "+parts[0]+"\nkind: "+parts[1]+"\nmetadata: {namespace: "+parts[2]+", name: "+parts[3]+"}\nvalue: \""+value+"\"\n"))
		}
		return all
	}
	for _, c := range []struct{ in, out, want string }{
		{"", "", ""},
		{"", "v1/A/n/a", "added"},
		{"v1/A/n/a", "", ""},
		{"v1/A/n/a", "v1/A/n/a", "0"},
		{"v1/A/n/a", "v1/A/n/a=x", "0 changed"},
		{"v1/A/n/a v1/A/n/b", "v1/A/n/a v1/C/n/c v1/A/n/b", "0, added, 1"},
		{"v1/A/n/a v1/A/n/b", "v1/A/n/a v1/A/n/b v1/C/n/c", "0, 1, added"},
		{"v1/A/n/a v1/A/n/b v1/A/n/c", "v1/A/n/a v1/A/n/c=x", "0, 2 changed"},
		{"v1/A/n/a v1/A/n/b v1/A/n/c", "v1/A/n/c", "2"},
		{"v1/A/n/a v1/A/n/a=2 v1/A/n/a=3", "v1/A/n/a v1/C/n/c v1/A/n/a=2 v1/A/n/a=4", "0, added, 1, 2 changed"},
		{"v1/A/n/a", "v2/A/n/a", "added"},
		{"v1/A/n/a", "v1/B/n/a", "added"},
		{"v1/A/n/a", "v1/A/m/a", "added"},
		{"v1/A/n/a", "v1/A/n/b", "added"},
	} {
		in, out := objects(c.in), objects(c.out)
		var got []string
		for i, change := range align(in, out) {
			words := fmt.Sprint(change.old)
			kept, ok := change.Kept()
			switch {
			case change.old < 0:
				words = "added"
			case change.new != nil:
				words += " changed"
			}
			if ok != (change.new == nil) || ok && kept != change.old {
				t.Errorf("%s to %s: kept is %d, %t", c.in, c.out, kept, ok)
			}
			if change.new != nil && change.new != out[i] || change.base != nil && change.base != in[change.old] {
				t.Errorf("%s to %s: %s is made of others", c.in, c.out, words)
			}
			got = append(got, words)
		}
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("%s to %s: %s, want %s", c.in, c.out, got, c.want)
		}
	}
}

func TestTheListOfNodesHasNoCommentsAtTheirHeads(t *testing.T) {
	nodes := []*yaml.RNode{yaml.MustParse("# head\n\n# more\na: 1 # one\nb:\n  # inside\n  c: |\n    x\n\n    y\n"), yaml.MustParse("d: 1\n")}
	text, err := listOf(nodes)
	const want = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- a: 1 # one\n  b:\n    # inside\n    c: |\n      x\n\n      y\n- d: 1\n"
	if err != nil || string(text) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, text, want)
	}
	if text, err := listOf(nil); err != nil || string(text) != "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n" {
		t.Errorf("%v\n%s", err, text)
	}
	items, err := itemsOf(string(text))
	if err != nil || len(items) != 2 || !slices.EqualFunc(items, nodes, func(a, b *yaml.RNode) bool { return equal(a.YNode(), b.YNode()) }) {
		t.Errorf("%v, %d items", err, len(items))
	}
	if text, err := listOf([]*yaml.RNode{yaml.NewRNode(&yaml.Node{Kind: 99})}); err == nil {
		t.Errorf("a node of no kind: %q", text)
	}
	for _, bad := range []string{"a: [", "items: 1\n"} {
		if _, err := itemsOf(bad); err == nil || !strings.HasPrefix(err.Error(), "internal error: a list of the objects cannot be read: ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
