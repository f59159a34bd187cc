package yaml

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil/yamljudge"
)

func FuzzPlainScalarsAreReadAsTheFullParserReadsThem(f *testing.F) {
	for _, s := range append(yamljudge.Strings, "1.2.3", ".inf", "-.INF", "+.Inf", ".nan", "0o17", "0b1", "1__0", "-0x1F", "0X1", "1e+3", "1E3", "-1.5e-3", "00", "-0", "0777", "1e", "_1", "0x", "1:2:3", "12e03") {
		f.Add(s)
	}
	f.Fuzz(agreeOnScalar)
}

// TestShortScalarsAreReadAsTheFullParserReadsThem reads every text of what numbers are made of.
func TestShortScalarsAreReadAsTheFullParserReadsThem(t *testing.T) {
	for s := range (shortSet{"%s", 4, []string{"0", "1", "8", "-", "+", ".", "e", "E", "x", "X", "o", "b", "_", "f", "n", "12", ".inf"}}).texts() {
		agreeOnScalar(t, s)
	}
	for _, word := range []string{"true", "false", "null", "~", ".inf", ".nan", "+.inf", "-.inf"} {
		for _, s := range []string{word, strings.ToUpper(word), strings.ToUpper(word[:1]) + word[1:], strings.Replace(word, ".i", ".I", 1), strings.Replace(word, ".n", ".N", 1), word + "x", "-" + word, word[:len(word)-1]} {
			agreeOnScalar(t, s)
		}
	}
}

func agreeOnScalar(t *testing.T, s string) {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return
		}
	}
	var want any
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: s}
	if s == "" || n.Decode(&want) != nil {
		return
	}
	got, ok := typed(s)
	if !ok {
		got = s
	}
	switch w := want.(type) {
	case string, int, bool, nil:
		if got != want {
			t.Errorf("%q is read as %#v, want %#v", s, got, want)
		}
	case float64:
		if g, ok := got.(float64); !ok || g != w && w == w {
			t.Errorf("%q is read as %#v, want %v", s, got, w)
		}
	}
}
