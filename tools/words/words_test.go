package main

import (
	"os"
	"path/filepath"
	"reflect"
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

// A page may get better than its limit and not worse; one without a limit must be plain.
func TestRun_limits(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	long := strings.Repeat("word ", 31) + "end."
	plain, bad := write("plain.md", "Plain words are read at once."), write("bad.md", long)
	limits := filepath.Join(dir, "limits.txt")
	var out strings.Builder
	if rc, err := run(&out, []string{plain, bad}, limits, false, 1); rc != 1 || err != nil || !strings.Contains(out.String(), "32 words  "+bad) {
		t.Errorf("%d, %v, %s", rc, err, &out)
	}
	if _, err := run(&out, []string{plain, bad}, limits, true, 0); err != nil {
		t.Fatal(err)
	}
	if rc, err := run(&out, []string{plain, bad}, limits, false, 0); rc != 0 || err != nil {
		t.Errorf("%d, %v", rc, err)
	}
	write("bad.md", long+" "+long)
	if rc, _ := run(&out, []string{plain, bad}, limits, false, 0); rc != 1 {
		t.Errorf("a second long sentence: %d", rc)
	}
	write("limits.txt", "bad.md 3")
	if _, err := run(&out, []string{plain}, limits, false, 0); err == nil {
		t.Error("a limit without all its numbers is read")
	}
}
