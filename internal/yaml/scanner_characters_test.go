package yaml

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
)

// placesOfCharacters are texts in which a character (%c) may decide how they are read.
var placesOfCharacters = []string{
	"%ca: b\n", "a%c: b\n", "a%cb: c\n", "%c: b\n", "a:%cb\n", "a:%c\n", "a: b%c\n", "\"a\"%c: b\n", "'a'%c b\n", "a: b\n%cc: d\n", "{a: b}%c\n", "{a: b} %cc\n", "{a: b}\n%cc\n",
	"k: %c\n", "k: %ca\n", "k: %c a\n", "k: a%cb\n", "k: a %c b\n", "k: a %cb\n", "k: a%c b\n", "k: a\n  %cb\n", "k: a\n  %c b\n", "k: a\n%cb\n", "k:\n%ca\n", "k:\n %c a\n", "k:\n- %ca\n", "k:\n-%ca\n", "k:\n- %c a\n", "k:\n -%c\n",
	"k: 'a'%c\n", "k: \"a\"%cb\n", "k: \"a\" %c\n", "k: 'a%cb'\n", "k: \"a%cb\"\n", "k: \"a%c\nb\"\n", "k: 'a\n%cb'\n", "k: \"\\x4%c\"\n", "k: \"\\x%c1\"\n", "k: \"\\u00%c1\"\n", "k: \"\\U0001f60%c\"\n",
	"k: []%c\n", "k: {}%ca\n", "k: [] %ca\n", "k: [%c]\n", "k: [%ca]\n", "k: [%c a]\n", "k: [a%c]\n", "k: [a%cb]\n", "k: [a %c b]\n", "k: [a %cb]\n", "k: [a%c b]\n", "k: [a,%cb]\n", "k: ['a'%c]\n", "k: ['a'%cb]\n", "k: ['a'%c b]\n", "k: [[]%c b]\n", "k: [a\n%cb]\n", "k: [a\n  %c b]\n", "k: [\n%c]\n",
	"k: {%c}\n", "k: {%ca: b}\n", "k: {%c a: b}\n", "k: {a%c: b}\n", "k: {a%c b}\n", "k: {a%cb: c}\n", "k: {a: %c}\n", "k: {a: %cb}\n", "k: {a: b%c}\n", "k: {a: b %cc}\n", "k: {a:%c}\n", "k: {a:%cb}\n", "k: {'a'%cb}\n", "k: {'a':%cb}\n", "k: {a: 'b'%c}\n", "k: {a: b,%c}\n", "k: {a: b\n%c, c: d}\n",
	"k: &a%c x\nl: *a\n", "k: &%c x\nl: *%c\n", "k: &a%c x\nl: *a%c\n", "k: &a x\nl: *a%c\n", "k: &a x\nl: [*a%c]\n", "k: &a x\nl: {*a%c: b}\n", "k: [&a%c]\n", "k: [&a%cb]\n", "k: &a %c\n", "k: [&a %c]\n", "k: &a x\n*a %c b\n", "&a%c k: x\n", "k: *%c\n",
	"k: !%c\n", "k: !%c x\n", "k: !a%c x\n", "k: !!%c x\n", "k: !!str%c x\n", "k: !!str %c\n", "k: !<a%c> x\n", "k: !<%c> x\n", "k: !<a>%c x\n", "k: !%c<a> x\n", "k: [!a%c]\n", "k: [!!str%c]\n", "k: [!!str %c]\n", "!!str%c k: x\n", "!!map%c{k: x}\n",
	"k: |%c\n  a\n", "k: >%c\n  a\n", "k: |-%c\n  a\n", "k: |2%c\n   a\n", "k: | %c\n  a\n", "k: |%ca\n  b\n", "k: |\n%ca\n", "k: |\n %ca\n", "k: |\n  a\n%cb\n", "k: |\n  a\n %cb\n", "k: >\n  a\n  %cb\n", "k: |\n  a\n  %c\n", "k: |2\n %ca\n", "k: |\n   %c\n  a\n", "k:\n- |\n  a\n %cb\n",
	"? a%c\n: b\n", "? %ca\n: b\n", "?%ca\n: b\n", "? a\n:%cb\n", "? a\n%c b\n",
	"%c\n", "--%c\n", "---%ca: b\n", "--- %ca\n", "..%c\n", "...%c\n", "%cYAML 1.1\n---\na: b\n", "a: b\n---%c\nc: d\n",
}

// What each printable character, a tab and a letter that is not ASCII does in each place is in
// testdata/characters.txt: which of them are read, as the full parser reads them; which only the full parser
// reads, and why not the reader; and the sum of the offsets at which the others are refused.
func TestEachCharacterIsReadAsTheFullParserReadsIt(t *testing.T) {
	var out strings.Builder
	for _, place := range placesOfCharacters {
		var refused, places int
		var classes []string
		chars := map[string]string{}
		for c := '\t'; c <= 'é'; c++ {
			if c > '\t' && c < '!' || c > '~' && c < 'é' {
				continue
			}
			in := strings.ReplaceAll(place, "%c", string(c))
			var tr Parser
			class := "read"
			if !tr.Parse([]byte(in), 0) {
				if yaml.Unmarshal([]byte(in), new(yaml.Node)) != nil {
					refused++
					places += tr.Refused.At
					continue
				}
				class = fmt.Sprintf("only the full parser, %d: %s", tr.Refused.At, tagOrAlias.ReplaceAllString(tr.Refused.Why, "${1}x"))
			} else if agreeOnTree(t, []byte(in)); tr.ReadOnly.Why != "" {
				class = fmt.Sprintf("read, not edited, %d: %s", tr.ReadOnly.At, tr.ReadOnly.Why)
			}
			if chars[class] == "" {
				classes = append(classes, class)
			}
			chars[class] += string(c)
		}
		fmt.Fprintf(&out, "%q\n", place)
		slices.Sort(classes)
		for _, class := range classes {
			fmt.Fprintf(&out, "  %-40s %s\n", ranges(chars[class]), class)
		}
		fmt.Fprintf(&out, "  %d characters, places %d: refused by both\n", refused, places)
	}
	golden.Compare(t, "testdata/characters.txt", []byte(out.String()))
}

var alphabets = strings.NewReplacer("\t", "TAB ", "0123456789", "0-9", "abcdefghijklmnopqrstuvwxyz", "a-z", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "A-Z",
	"0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~", "0 to ~",
	"!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~", "all but blanks ")

func ranges(chars string) string { return alphabets.Replace(chars) }
