package yaml

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	apiserver "go.yaml.in/yaml/v2" // by way of sigs.k8s.io/yaml

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// Texts with each line break that YAML has, at drawn places and in every style, are read as the API server's parser reads them.
func TestLineBreaksAreReadAsTheAPIServerReadsThem(t *testing.T) {
	const texts = 20_000
	read := map[string]int{}
	for seed := range uint64(texts) {
		style, in := drawnBreaks(rand.New(rand.NewPCG(seed, 56)))
		agreeWithAPIServer(t, style, in, read)
	}
	for _, style := range append(styles, "flow") {
		if read[style] < texts/200 {
			t.Errorf("only %d of the texts in the style %s were read", read[style], style)
		}
	}
}

var styles = []string{"plain", "'", `"`, "|", ">"}

var breaks = []string{"\u2028", "\u2029", "\u0085", "\r", "\r\n", "\n", "\u2028", "\n  "}

var asLineFeeds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// drawnBreaks returns a document with a text that has line breaks, and its style.
func drawnBreaks(r *rand.Rand) (style, in string) {
	one := func(of []string) string { return of[r.IntN(len(of))] }
	style = one(styles)
	var text strings.Builder
	for range 1 + r.IntN(7) {
		switch r.IntN(5) {
		case 0, 1:
			text.WriteString(one(breaks))
		case 2:
			text.WriteString(one([]string{" ", "  ", "   ", "\t", " \t"}))
		case 3:
			text.WriteString(one([]string{"a", "b c", "é", "\u2027", "-", "#", "\\", ":", "'", "\"", `\L`, `\x41`, "\u00a0", "- ", "c: "}))
		default:
			text.WriteString("a")
		}
	}
	value := text.String()
	switch style {
	case "'":
		value = "'" + value + "'"
	case `"`:
		value = `"` + value + `"`
	case "|", ">":
		value = style + one([]string{"", "-", "+", "2", "2-"}) + one([]string{"\n", "\r\n", "\u2028", "\u2029", "\u0085", " \u2028", " #c\u2029"}) + "  " + value
	}
	end := one(breaks[:6])
	in = one([]string{"k: " + value, "k:" + end + "  " + value, "m:" + end + "  k: " + value, "l:" + end + "- " + value}) + end + "z: end" + end
	if r.IntN(4) == 0 && value[0] != '|' && value[0] != '>' {
		style = "flow"
		in = one([]string{"{k: " + value + "}", "l: [" + value + ", b]", "{ \"k\":" + value + " ,\u2028 b: c}"}) + end
	}
	return style, in
}

// agreeWithAPIServer compares what two readers make of a text, and counts those that are read, by style.
func agreeWithAPIServer(t *testing.T, style, in string, read map[string]int) {
	var want any
	wantErr := apiserver.Unmarshal([]byte(in), &want)
	var p Parser
	ok := p.Parse([]byte(in), 0)
	switch {
	case !ok && wantErr == nil:
		_, isMap := want.(map[any]any)
		if usual := asLineFeeds.Replace(in); isMap && p.Parse([]byte(usual), 0) {
			t.Errorf("%q is refused (%s), but not %q", in, p.Refused.Why, usual)
		}
	case ok && p.ReadOnly.Why == "":
		if got := plainly(p.Any(1)); wantErr != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q is read\n%#v, the API server reads\n%#v %v", in, got, want, wantErr)
		}
		read[style]++
	}
}

// plainly returns a value in the types of the API server's parser.
func plainly(v field.Value) any {
	switch v := v.(type) {
	case field.Map:
		m := map[any]any{}
		for _, e := range v {
			m[e.Key] = plainly(e.Value)
		}
		return m
	case field.List:
		l := []any{}
		for _, e := range v {
			l = append(l, plainly(e))
		}
		return l
	}
	return v
}
