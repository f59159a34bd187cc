package manifest

import (
	"strings"
	"testing"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil/yamljudge"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// What a string in double quotes must escape it does, and nothing that can be seen: people read it.
func TestInDoubleQuotesOnlyWhatCannotBeSeenIsEscaped(t *testing.T) {
	for s, want := range map[string]string{
		"a\u00a0b": "a\u00a0b", "\u3000": "\u3000", "\u00e9\u4e2d": "\u00e9\u4e2d", "\U0001f600": "\U0001f600",
		"a\tb": `a\tb`, "\"\\": `\"\\`, "\u200b": `\u200b`, "\ufeff": `\ufeff`, "\x01": `\x01`, "\u2028": `\u2028`,
	} {
		text := string(appendString(nil, s, yaml.Double, false))
		if text != `"`+want+`"` {
			t.Errorf("%q is written as %s", s, text)
		}
		for _, old := range []yaml.Style{yaml.Plain, yaml.Single, yaml.Double, yaml.Absent} {
			for _, inFlow := range []bool{false, true} {
				text := string(appendString(nil, s, old, inFlow))
				var got string
				if err := yamlv3.Unmarshal([]byte(text), &got); err != nil || got != s || strings.Contains(text, "\n") {
					t.Errorf("%q is written as %s, and read as %q: %v", s, text, got, err)
				}
			}
		}
	}
}

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
