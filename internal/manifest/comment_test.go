package manifest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// commentLine fails with words if the search does not end.
func commentLine(t *testing.T, o *Object) int {
	t.Helper()
	found := make(chan int, 1)
	go func() { found <- o.CommentLine("#@") }()
	select {
	case line := <-found:
		return line
	case <-time.After(30 * time.Second):
		t.Fatalf("the search for a comment does not end in %q", o.source())
		return 0
	}
}

// A comment belongs to the object that it is in, or that follows. What looks like one in a text is none.
func TestTheLineOfACommentIsFound(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []int // for each object
	}{
		{"kind: A\n", []int{0}},
		{"#@ x\nkind: A\n", []int{1}},
		{"\n  #@ x\nkind: A\n", []int{2}},
		{"kind: A #@ x\n", []int{1}},
		{"kind: A\t#@ x\n", []int{1}},
		{"kind: A\r\n#@ x\r\n", []int{2}},
		{"kind: A#@ x\nb: c\n", []int{0}},
		{"# #@ x\nkind: A\n", []int{1}}, // a comment in a comment
		{"#x@\nkind: A\n", []int{0}},
		{"kind: A\nb: 'c #@ d'\n", []int{0}},
		{"kind: A\nb: \"c\n  #@ d\"\n", []int{0}},
		{"kind: A\nb: |\n  #@ c\n", []int{0}},
		{"# a comment that is above\nkind: A\nb: 'c #@ d'\n", []int{0}},
		{"kind: Z\n---\n# a comment that is above\n\nkind: A\nb: 'c #@ d'\ne: |\n  #@ f\n", []int{0, 0}},
		{"# one\n#@ x\nkind: 'a text that is long, and goes on'\n", []int{2}},
		{"kind: Z\n---\n# one\n#@ x\nkind: 'a text that is long, and goes on'\n", []int{0, 4}},
		{"kind: A\nb: |\n  #@ c\n#@ d\n", []int{4}},
		{"kind: A\nb: 'c #@ d' #@ e\n", []int{2}},
		{"kind: A\nb: 'c #@ d'\n#@ e\n#@ f\n", []int{3}},
		{"kind: A\nb: [c, #@ d\n  e]\n", []int{2}},
		{"{kind: A, #@ x\n b: c}\n", []int{1}},
		{"#@ x\nkind: A\n---\nkind: B\n---\n#@ z\nkind: C\n", []int{1, 0, 6}},
		{"kind: A\n---\n#@ y\n---\nkind: B\nc: d\n", []int{0, 3}},
		{"kind: A\n# x\n---\nkind: B\n#@ y\nc: d\n---\nkind: C #@ z\n", []int{0, 5, 8}},
		{"kind: List\nitems:\n- kind: A\n  b: c #@ x\n- kind: B\n#@ y\n- kind: C\n  d: |\n    #@ z\n", []int{4, 6, 0}},
		{"kind: List\nitems:\n- kind: A\n- #@ y\n  kind: B\n", []int{0, 4}},
	} {
		s := mustRead(t, []byte(c.in))
		var got []int
		for _, o := range s.Objects() {
			got = append(got, commentLine(t, o))
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%q: %v, want %v", c.in, got, c.want)
		}
		again := mustRead(t, []byte(strings.ReplaceAll(c.in, "#@", "#!")))
		for i, o := range again.Objects() {
			if line := commentLine(t, o); line != 0 {
				t.Errorf("%q: object %d has the comment in line %d", c.in, i, line)
			}
		}
	}
}

// A token stands for a value where a line has nothing else behind its key, or behind the dash of its item.
func TestATokenIsFoundInThePlaceOfAnyValue(t *testing.T) {
	for _, name := range []string{"A", "a.b", "X-1", "", "a b", "a:b"} {
		for before, isPlace := range map[string]bool{"b: ": true, "b:   ": true, "b:\n- ": true, "b:\n  - ": true, "b:\n- c: ": true, "b:\n- - ": true, "b: c ": false, "b:\n- c ": false, "b: # x ": false, "": false} {
			isName := name != "" && !strings.ContainsAny(name, " :")
			in := "kind: A\n" + before + "#{" + name + "}\n"
			want := 0
			if isPlace && isName {
				want = strings.Count(in, "\n")
			}
			if got := mustRead(t, []byte(in)).Objects()[0].TokenLine(); got != want {
				t.Errorf("%q: line %d, want %d", in, got, want)
			}
		}
	}
}
