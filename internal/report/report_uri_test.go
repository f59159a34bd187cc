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
