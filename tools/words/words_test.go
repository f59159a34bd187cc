package main

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestSentencesOf(t *testing.T) {
	page := strings.Join([]string{
		"---", "title: front matter of a page is no prose", "---", "# A heading has no words that count here",
		"One sentence with `some code` in it. Another one (with", "[a link](https://example.com/a.b)) over two lines!",
		"", "- an item without a full stop", "- too short here", "",
		"| cell | a cell of a table that has at least eight words |", "|---|---|", `| a \| b | short cell |`,
		"", "```sh", "code is not prose. It has no sentences.", "```", "",
		"<!-- begin table -->", "What a benchmark writes is not prose at all.", "<!-- end table -->",
		"<!-- begin reference -->", "The reference is for people to read.", "<!-- end reference -->",
	}, "\n")
	want := []sentence{
		{6, "One sentence with CODE in it."}, {8, "Another one (with a link) over two lines!"},
		{6, "an item without a full stop"},
		{11, "a cell of a table that has at least eight words"},
		{7, "The reference is for people to read."},
	}
	if got := sentencesOf(page); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
}

func TestCommentsOf(t *testing.T) {
	text := "# A comment of two lines\n# is a paragraph.\nkey: value # beside a value\nurl: https://example.com/#none\n"
	if got, want := commentsOf(text), "A comment of two lines\nis a paragraph.\nbeside a value\n\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLiteralsOf(t *testing.T) {
	code := "package p\n\nimport \"some path\"\n\n// A comment of Go is for developers.\nvar _ = f(\"a text of \"+n+\" words\", \"word\", 1+2)\n\n" +
		"type t struct {\n\tf int `json:\"f\" doc:\"the tag's words\"`\n}\n"
	got, err := literalsOf("p.go", code)
	if want := "some path\n\na text of VALUE words\n\nthe tag's words\n\n"; got != want || err != nil {
		t.Errorf("%q, want %q, %v", got, want, err)
	}
	if _, err := literalsOf("p.go", "no Go"); err == nil {
		t.Error("what is no Go is read")
	}
}

func TestBetweenTags(t *testing.T) {
	html := "<p class=\"x\">A text {{.N}} with <b>tags</b></p><style>p { color: red }</style>"
	if got, want := strings.Fields(betweenTags(html)), strings.Fields("A text with tags"); !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAvoidedIn(t *testing.T) {
	for text, want := range map[string]int{
		"The cure is no secret.":             2,
		"There is no proxy in this pod.":     0,
		"In order to read, open the file.":   1,
		"All is in order here.":              1,
		"Nobody knows of which probe it is.": 2,
		"Set another port.":                  0,
		"It leaves the others to fail.":      1,
		"Open Service Mesh leaves it open.":  1,
	} {
		if got := avoidedIn(text); len(got) != want {
			t.Errorf("%q: %q, want %d", text, got, want)
		}
	}
}

// A page must be plain, and so must a file of messages, of which none is too long.
func TestRun_problems(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := write("plain.md", "Plain words are read at once.")
	says := "key: `a.b`: Plain words are read at once. " + strings.Repeat("Write `x: y z`. ", 7)
	messages := write("messages.txt", says+"\n"+says+"\n")
	for name, c := range map[string]struct {
		page, messages string
		want           []string // nil if nothing is wrong
	}{
		"nothing is wrong":     {plain, messages, nil},
		"a long sentence":      {write("long.md", "Plain. "+strings.Repeat("word ", 31)+"end."), messages, []string{"32 words", "1 sentences over 30 words"}},
		"sentences of 16":      {write("many.md", strings.Repeat(strings.Repeat("word ", 15)+"end. ", 9)), messages, []string{"16.0 words a sentence (15 allowed)"}},
		"a word in Go":         {write("avoid.go", "package p\n\nvar _ = \"which nobody reads at once\"\n"), messages, []string{"avoid.go: 1 words to avoid (nobody)"}},
		"a word of a page":     {write("avoid.html", "<p>which nobody reads at once</p>"), messages, []string{"avoid.html: 1 words to avoid (nobody)"}},
		"a word to avoid":      {write("avoid.md", "Nobody reads this at once."), messages, []string{"1 words to avoid (Nobody)"}},
		"a message that is so": {plain, write("avoid.txt", "key: Nobody reads this at once.\n"), []string{"avoid.txt: 1 words to avoid (Nobody)"}},
		"messages of 22":       {plain, write("many.txt", strings.Repeat("key: "+strings.Repeat("Six words are in `this one`. Five words are in \"this\". ", 2)+"Two more.\n", 3)), []string{"22.0 words a message (20 allowed)"}},
		"a message of 46":      {plain, write("long.txt", "key: `a.b`: "+strings.Repeat("Six words are in this one. ", 7)+"And four more words.\n"), []string{"1 messages over 45 words"}},
	} {
		var out strings.Builder
		rc, err := run(&out, []string{c.page}, []string{c.messages}, 1)
		if err != nil || rc != min(1, len(c.want)) {
			t.Errorf("%s: %d, %v\n%s", name, rc, err, &out)
		}
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %s\nhas no %q", name, &out, want)
			}
		}
	}
	if _, err := run(io.Discard, []string{filepath.Join(dir, "none.md")}, nil, 0); err == nil {
		t.Error("a page that is not there is measured")
	}
}

// Of a manual page people read the description and the flags, and command lines are no sentences.
func TestManualOf_readsDescriptionAndFlags(t *testing.T) {
	page := manualOf(".SH NAME\nfind - Find it, and say a lot of words about that\n.SH DESCRIPTION\nfind reads files and\nprints the \\(aqbytes\\(aq of them.\n\n.PP\n" +
		"Forms:\n  tar   one file with all of the others\n    find --into tar a b c d e f\n.SH OPTIONS\n\\fB--color\\fP=\"auto\"\n\t\\fBWHEN\\fR to write in colour\n" +
		".SH SEE ALSO\n\\fBother(1)\\fP of the same kind as this\n")
	var got []string
	for _, s := range sentencesOf(page) {
		got = append(got, s.text)
	}
	want := []string{"find reads files and prints the 'bytes' of them.", "tar   one file with all of the others", "WHEN to write in colour"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
