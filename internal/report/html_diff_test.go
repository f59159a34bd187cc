package report

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// diffOf has the first diff of a page, and that of another workload with these texts.
func diffsOf(texts ...[2]string) (all []string) {
	d := &pageDiffs{}
	for i, text := range texts {
		t := &PlannedTemplate{Object: &ObjectRef{Kind: "Pod", Name: fmt.Sprint("web", i)}}
		t.Text = func() (before, after []byte, err error) { return []byte(text[0]), []byte(text[1]), nil }
		all = append(all, string(d.of(t)))
	}
	return all
}

// A diff has the old and the new lines and a few around them, and nothing in it is a tag.
func TestTheDiffOfAPage(t *testing.T) {
	got := diffsOf([2]string{"a\nb\nc\nd\n<e>\nf\ng\nh\ni\nj\nk\nl\n", "a\nb\nc\nd\n\"E\"\nf\ng\nh\ni\nj\nk\nl\nm&\n"}, [2]string{"same\n", "same\n"})
	const want = " b\n c\n d\n<del>-&lt;e&gt;</del>\n<ins>+\"E\"</ins>\n f\n g\n h\n⋮\n j\n k\n l\n<ins>+m&amp;</ins>\n"
	if got[0] != want || got[1] != "" {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	if (&pageDiffs{}).of(&PlannedTemplate{}) != "" {
		t.Error("what does not change has a diff")
	}
	failing := &PlannedTemplate{Text: func() (before, after []byte, err error) { return nil, nil, errors.New("<odd>") }}
	if got := (&pageDiffs{}).of(failing); got != "&lt;odd&gt;" {
		t.Errorf("of what cannot be edited: %q", got)
	}
}

// Lines that an earlier diff adds are written again only if they are few.
func TestTheAddedContainerIsWrittenOnce(t *testing.T) {
	for n := 1; n < 12; n++ {
		lines := ""
		for i := range n {
			lines += fmt.Sprintf("line %d of the container\n", i)
		}
		got := diffsOf([2]string{"a\n", "a\n" + lines}, [2]string{"b\n", "b\nits own\n" + lines + "its end\n"})
		for i := range n {
			line := fmt.Sprintf("line %d of the container", i)
			again := n < leastCommon || i < shownAgain
			if !strings.Contains(got[0], line) || strings.Contains(got[1], line) != again {
				t.Errorf("%d lines: %q", n, got)
			}
		}
		if want := fmt.Sprintf("\n+ … %d lines as in Pod web0\n+its end", n-shownAgain); strings.Contains(got[1], want) != (n >= leastCommon) || !strings.Contains(got[1], "+its own\n+line 0") {
			t.Errorf("%d lines: %q lacks %q", n, got[1], want)
		}
	}
}
