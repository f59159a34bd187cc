package workload

import (
	"os"
	"strings"
	"testing"
)

func TestThePageOfRulesNamesEveryKind(t *testing.T) {
	const page = "../../docs/rules.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Which pod templates\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, k := range kinds {
		if !strings.Contains(section, k.Name) {
			t.Errorf("%s does not name %s of the group %q", page, k.Name, k.Group)
		}
	}
}

func TestTheDistanceOfWordsCountsLettersAndSwaps(t *testing.T) {
	for words, want := range map[[2]string]int{
		{"", ""}: 0, {"apps", "apps"}: 0, {"", "abc"}: 3, {"apps", "app"}: 1, {"apps", "appz"}: 1,
		{"apps", "paps"}: 1, {"apps", "apsp"}: 1, {"ab", "ba"}: 1, {"abcd", "badc"}: 2, {"kitten", "sitting"}: 3,
	} {
		for n := range 5 {
			if a, b := within(n, words[0], words[1]), within(n, words[1], words[0]); a != (n >= want) || b != (n >= want) {
				t.Errorf("%q: within %d is %t and %t, want the distance %d", words, n, a, b, want)
			}
		}
	}
}
