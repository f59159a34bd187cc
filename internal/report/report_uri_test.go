package report

import "testing"

func TestAFileOfAFindingIsAURI(t *testing.T) {
	for name, want := range map[string]string{
		"deploy/a b.yaml": "deploy/a%20b.yaml",
		"/srv/a#1.yaml":   "file:///srv/a%231.yaml",
	} {
		if got := fileURI(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

// In the page of explain a file is a link to its line. What was read from stdin has no place.
func TestOnlyAFileIsALink(t *testing.T) {
	for _, c := range []struct {
		file string
		line int
		want string
	}{
		{"", 0, ""}, {"<stdin>", 0, "&lt;stdin&gt;"}, {"<stdin>", 7, "&lt;stdin&gt;:7"},
		{"a.yaml", 0, `<a href="a.yaml">a.yaml</a>`}, {"d/a.yaml", 12, `<a href="d/a.yaml#L12">d/a.yaml:12</a>`},
		{`a&"b.yaml`, 1, `<a href="a&amp;%22b.yaml#L1">a&amp;&#34;b.yaml:1</a>`}, {"a\x1b[31m.yaml", 1, `<a href="a%1B%5B31m.yaml#L1">a\x1b[31m.yaml:1</a>`},
	} {
		if got := link(c.file, c.line); string(got) != c.want {
			t.Errorf("%q, line %d: %s, want %s", c.file, c.line, got, c.want)
		}
	}
}
