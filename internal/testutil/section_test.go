package testutil

import (
	"os"
	"path/filepath"
	"testing"
)

func TestASectionIsReplacedAndTheRestStays(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	const before, after = "# Page\n\n<!-- begin a -->\n", "<!-- end a -->\n\n<!-- begin b -->\ntwo\n<!-- end b -->\n"
	write(t, page, before+"one\n"+after)
	if err := ReplaceSection(page, "a", "\nthree"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if want := before + "three\n" + after; string(got) != want {
		t.Errorf("the page is\n%s\nwant\n%s", got, want)
	}
	if body, err := Section(page, "b"); err != nil || body != "two\n" {
		t.Errorf("section b is %q (%v), want %q", body, err, "two\n")
	}
}

func TestAPageWithoutTheMarkersIsAnErrorAndStays(t *testing.T) {
	for _, text := range []string{"by hand\n", "<!-- begin a -->\nby hand\n", "<!-- end a -->\n<!-- begin a -->\n"} {
		page := filepath.Join(t.TempDir(), "page.md")
		write(t, page, text)
		if err := ReplaceSection(page, "a", "new"); err == nil {
			t.Errorf("%q: no error", text)
		}
		if got, err := os.ReadFile(page); err != nil || string(got) != text {
			t.Errorf("%q has become %q (%v)", text, got, err)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
