package manifest

import (
	"testing"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil/yamljudge"
)

func FuzzAPlainStringIsReadAsOne(f *testing.F) {
	for _, s := range yamljudge.Strings {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !isPlain(s, true) && !isPlain(s, false) {
			return
		}
		var got any
		if err := (&yamlv3.Node{Kind: yamlv3.ScalarNode, Value: s}).Decode(&got); err != nil || got != s {
			t.Errorf("%q would be written without quotes, and is read as %#v: %v", s, got, err)
		}
	})
}
