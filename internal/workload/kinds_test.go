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
