package testutil

import (
	"fmt"
	"os"
	"strings"
)

// ModuleVersion returns the version of a module that a go.mod requires.
func ModuleVersion(gomod, module string) (string, error) {
	text, err := os.ReadFile(gomod)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == module {
			return f[1], nil
		}
	}
	return "", fmt.Errorf("%s does not require %s", gomod, module)
}
