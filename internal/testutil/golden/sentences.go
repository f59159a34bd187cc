package golden

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// Sentences are what the tests of a package have seen the code say to people. Of those
// that differ only in paths, values and numbers they have the first in order.
type Sentences map[string]string

var variable = regexp.MustCompile("`[^`]*`|\"[^\"]*\"|[0-9]+")

// Say notes a text, unless it is empty, and what it is.
func (s Sentences) Say(what, text string) {
	if text == "" {
		return
	}
	text = what + ": " + text
	shape := variable.ReplaceAllString(text, "_")
	if before, known := s[shape]; !known || text < before {
		s[shape] = text
	}
}

// Compare reports how testdata/sentences.txt differs from what was said, in order. With -update
// it writes the file.
func (s Sentences) Compare() error {
	const file = "testdata/sentences.txt"
	got := strings.Join(slices.Sorted(maps.Values(s)), "\n") + "\n"
	if *Update {
		return os.WriteFile(file, []byte(got), 0o644)
	}
	want, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		return fmt.Errorf("%s has other sentences than the tests have seen; if the change is meant, run them with -update:\n%s", file, d)
	}
	return nil
}
