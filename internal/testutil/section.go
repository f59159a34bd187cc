package testutil

import (
	"fmt"
	"os"
	"strings"
)

// ReplaceSection writes body between the lines "<!-- begin NAME -->" and
// "<!-- end NAME -->" of a page. A page without them is an error.
func ReplaceSection(page, name, body string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, _, after, err := cutSection(string(text), name)
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return os.WriteFile(page, []byte(before+strings.TrimSpace(body)+"\n"+after), 0o644)
}

// Section returns the text between the lines "<!-- begin NAME -->" and
// "<!-- end NAME -->" of a page.
func Section(page, name string) (string, error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return "", err
	}
	_, body, _, err := cutSection(string(text), name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", page, err)
	}
	return body, nil
}

// cutSection cuts a text so that before ends and after begins with a marker.
func cutSection(text, name string) (before, body, after string, err error) {
	begin, end := "<!-- begin "+name+" -->\n", "<!-- end "+name+" -->\n"
	before, rest, found := strings.Cut(text, begin)
	body, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return "", "", "", fmt.Errorf("must have the lines %q and, after it, %q", begin, end)
	}
	return before + begin, body, end + after, nil
}
