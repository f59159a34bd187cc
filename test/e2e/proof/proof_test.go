package proof

import (
	"os"
	"path/filepath"
	"testing"
)

func TestASectionIsReplacedAndTheOthersStay(t *testing.T) {
	page := filepath.Join(t.TempDir(), "docs", "proof.md")
	for _, w := range [][2]string{{"a", "one"}, {"b", "two"}, {"a", "three\n"}} {
		if err := Write(page, w[0], w[1]); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := head + "\n<!-- begin a -->\nthree\n<!-- end a -->\n\n<!-- begin b -->\ntwo\n<!-- end b -->\n"
	if string(got) != want {
		t.Errorf("the page is\n%s\nand must be\n%s", got, want)
	}
}

func TestASectionWithoutEndIsAnError(t *testing.T) {
	page := filepath.Join(t.TempDir(), "proof.md")
	if err := os.WriteFile(page, []byte("<!-- begin a -->\nby hand\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(page, "a", "text"); err == nil {
		t.Error("no error, and what stood there by hand would be lost")
	}
}
