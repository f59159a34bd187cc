package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// An output that is read back is stepped over where it has been read before: where no edit touches it, and where
// an edit was read, unless what follows could be text of it.
func TestOfAnOutputOnlyWhatIsNewIsReadAgain(t *testing.T) {
	for in, want := range map[string]string{
		"kind: A\n---\nkind: B\na: b\n":                                             "A 0-8 col 0 checked, B 12-25 col 0 checked",
		"apiVersion: v1\nkind: List\nitems:\n- kind: A\n- kind: B\n  e: 1\n":        "A 35-43 col 2 checked, B 45-62 col 2",
		"kind: A\ne: 1\n---\nkind: B\n":                                             "A 0-15 col 0, B 19-27 col 0 checked",
		"kind: A\ne: 1\nz: |\n  b\n---\nkind: B\n":                                  "B 28-36 col 0 checked",
		"kind: A\ne: 1\nz: >-\n  b\n---\nkind: B\n":                                 "B 29-37 col 0 checked",
		"kind: A\nz: \u2028\n---\nkind: B\n":                                        "A 0-15 col 0, B 19-27 col 0 checked",
		"kind: List\nitems:\n- kind: A\n  a: &a b\n- kind: B\n  c: *a\n- kind: C\n": "C 58-66 col 2 checked",
		"{kind: A, e: 1}\n":                                                         "A 0-18 col 0",
	} {
		s := mustRead(t, []byte(in))
		for _, o := range s.Objects() {
			if _, found := o.Value(path("e")); found {
				if err := o.Apply([]field.Edit{set("e", "new")}); err != nil {
					t.Fatal(err)
				}
			}
		}
		var got []string
		for _, k := range composed(t, s).verified {
			is := fmt.Sprintf("%s %d-%d col %d", k.Kind, k.At, k.End, k.Col)
			if k.Checked {
				is += " checked"
			}
			got = append(got, is)
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%q: %s, want %s", in, s, want)
		}
	}
}

// An object that is edited twice has one text, which is read again.
func TestWhatIsEditedTwiceIsReadAgain(t *testing.T) {
	s := mustRead(t, []byte("kind: A\ne: 1\n"))
	for _, v := range []string{"x", "y"} {
		if err := s.Objects()[0].Apply([]field.Edit{set("e", v)}); err != nil {
			t.Fatal(err)
		}
	}
	if c := composed(t, s); len(c.verified) > 0 || string(c.text) != "kind: A\ne: \"y\"\n" {
		t.Errorf("%q, known %v", c.text, c.verified)
	}
}

func TestAnObjectOfAnOutputMustBeInItsPlace(t *testing.T) {
	again := mustRead(t, []byte("# c\nkind: A\n---\nx: y\nkind: B\n"))
	for _, tt := range []struct {
		at      int
		edited  bool
		differs bool
		want    string
	}{
		{at: 4}, {at: 4, edited: true}, {at: 0, edited: true}, {at: 2, edited: true, want: "the text before it differs"},
		{at: 0, want: "the text before it differs"}, {at: 5, want: "the text before it differs"}, {at: 5, edited: true, want: "the text before it differs"}, {at: 4, differs: true, want: "the text before it differs"},
	} {
		v := &verifier{again: again, text: again.in, at: tt.at, differs: tt.differs}
		o, err := v.nextObject(8, tt.edited)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.want || err == nil && (o.Kind() != "A" || v.at != tt.at+8 || v.next != 1) {
			t.Errorf("%+v: %v, %v", tt, o, err)
		}
	}
	v := &verifier{again: again, text: again.in, at: 4, next: 2}
	if _, err := v.nextObject(8, true); err == nil || err.Error() != "it is missing" {
		t.Errorf("a third object: %v", err)
	}
}
