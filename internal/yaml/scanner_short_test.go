package yaml

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
)

// A shortSet is all texts of so many pieces, with what is around them.
type shortSet struct {
	around string
	pieces int
	of     []string
}

func (set shortSet) texts() iter.Seq[string] {
	return func(yield func(string) bool) {
		all := 1
		for range set.pieces {
			all *= len(set.of)
		}
		for i := range all {
			text := ""
			for range set.pieces {
				text += set.of[i%len(set.of)]
				i /= len(set.of)
			}
			if !yield(strings.Replace(set.around, "%s", text, 1)) {
				return
			}
		}
	}
}

var shortTexts = []shortSet{
	{"%s\n", 4, []string{"a", "b:", ": ", "\n", "  ", "- ", "? ", " #", "&x ", "*x ", "\t"}},
	{"%s\n", 3, []string{"a: b", "b:", "'c'", "\"c\"", "\n", "- ", "#", "!!str ", "!!map\n", "&x\n", ">-\n", "{a: b}", "[c]", "%", "@", "`", ",", "}", "..."}},
	{"k: &x y\nl:\n%s\nz: *x\n", 3, []string{"a", "b:", ": ", "\n", "  ", "- ", "-", "? ", " #", "'", "&x ", "*x", "!!str ", "!!map ", "|", "\t", "{", "}", "[", "]", "<<: ", "<<", "---"}},
	{"k: {%s}\n", 4, []string{"[", "{", "]", "}", ",", ":", ": ", "a", "? ", "'b'", "&x "}},
	{"k: [%s]\n", 3, []string{"[", "{", "]", "}", ",", ":", ": ", "a", "? ", "'b'", " ", "\n ", "#", "-", "&x ", "*x"}},
	{"k: {%s}\n", 3, []string{"a", ":", ": ", "\n", "\t", "\n ", "\n  ", "---", "...", "\"", "'", "#", " #", ",", "!", "!!int ", "!<a> ", "@", "%", "-", "<<: "}},
	{"k:\n  l: %s\n", 4, []string{"|", ">", "-", "2", " ", "    ", "\n", "a", "#", "\t"}},
	{"k:\n  l: %s", 3, []string{"|", ">", "+", "-", "2", " ", "    ", "\n", "a", "#", "\t", "\r\n", "'", "\"", "{", "}", ":", "? ", "- ", "\\"}},
	{"k:\n- |%s\n  m: n\n", 5, []string{"+", "3", "   ", "\n", "a", "\r"}},
	{"k: %s\n", 4, []string{"\"", "'", "\\", "x4", "1", " ", "\n ", "\t", "#", ":"}},
	{"k: %s\n", 3, []string{"!", "<", ">", "%", "a", "-", ",", "[]", ":", " ", "!!str", "!!int", "!!null", "!!map", "!!seq", "!!float", "!!bool", "{}", " 1", " true", " 1.5"}},
}

// A countShort is how many texts are refused, or not edited, for a reason, and how many of them the full
// parser reads. The number of places is a sum over the texts: of where they are refused, or of all
// that is noted of their nodes.
type countShort struct {
	texts, read, places int
	first               string
}

// Each short text that is accepted is read as the full parser reads it. How many are refused, why and
// where is in testdata/short.txt: the full parser should read few of them.
func TestShortTextsAreReadAsTheFullParserReadsThem(t *testing.T) {
	var out strings.Builder
	for _, set := range shortTexts {
		counts := map[string]*countShort{}
		for in := range set.texts() {
			isRead := yaml.Unmarshal([]byte(in), new(yaml.Node)) == nil
			var tr Parser
			if !tr.Parse([]byte(in), 0) {
				count(counts, withoutTexts(tr.Refused.Why), in, isRead, tr.Refused.At)
				continue
			}
			places := tr.ReadOnly.At
			for _, n := range tr.Nodes {
				places += int(n.Kind) + int(n.Style) + int(n.Marks) + int(n.Col) + int(n.Key) + int(n.KeyEnd) + int(n.Start) + int(n.End) + int(n.Child) + int(n.Next)
			}
			count(counts, cmp.Or(tr.ReadOnly.Why, "accepted"), in, isRead, places)
			agreeOnTree(t, []byte(in))
		}
		writeCounts(&out, set.around, counts)
	}
	golden.Compare(t, "testdata/short.txt", []byte(out.String()))
}

func count(counts map[string]*countShort, why, in string, isRead bool, places int) {
	c := counts[why]
	if c == nil {
		c = &countShort{}
		counts[why] = c
	}
	c.texts++
	c.places += places
	if isRead {
		if c.read++; c.first == "" {
			c.first = in
		}
	}
}

func writeCounts(out *strings.Builder, around string, counts map[string]*countShort) {
	fmt.Fprintf(out, "%q\n", around)
	for _, why := range slices.Sorted(maps.Keys(counts)) {
		c := counts[why]
		fmt.Fprintf(out, "  %s: %d texts, places %d; the full parser reads %d", why, c.texts, c.places, c.read)
		if c.first != "" {
			fmt.Fprintf(out, ", first %q", c.first)
		}
		out.WriteString("\n")
	}
}

// As above, of streams of documents.
func TestShortStreamsAreRefusedForTheirReasons(t *testing.T) {
	var out strings.Builder
	for _, set := range []shortSet{
		{"%s", 4, []string{"---", "...", " ", "\n", "\t", "&a", "!!map", "a: b", "{a: b}", "#", "%YAML 1.2\n", "~", "- c"}},
		{"a: b\n%s", 3, []string{"---\n", "--- ", "...\n", "\n", "\r", "\r\n", "\u2028", "\ufeff", "\x00", "\x1f", "\x7f", "\x80", "\u0080", "\u0085", "'d'", "c: d", "[", "? e", "!!str ", "# c\n"}},
		{"%s", 2, strings.Split("\n\t !\"#$%&'()*+,-./0:;<=>?@A[\\]^_`a{|}~", "")},
		{"%sa\x00\xff", 2, []string{"\xff\xfe", "\xfe\xff", "\xef\xbb\xbf", "\xfe", "\xff", "a"}},
	} {
		counts := map[string]*countShort{}
		for in := range set.texts() {
			found, err := read(in, nil)
			why, places := "accepted", 0
			if e := (*Refusal)(nil); errors.As(err, &e) {
				why, places = withoutTexts(e.Error()), e.At
			}
			for _, f := range found {
				var version, kind string
				var start, end int
				_, _ = fmt.Sscanf(f, "%s %s %d %d", &version, &kind, &start, &end)
				places += 1 + start + end
			}
			count(counts, why, in, isStream(in), places)
		}
		writeCounts(&out, set.around, counts)
	}
	golden.Compare(t, "testdata/streams.txt", []byte(out.String()))
}

var quoted = regexp.MustCompile(`".*"|(number|boolean) \S+`)

// withoutTexts returns a reason that is the same for all texts.
func withoutTexts(why string) string {
	return tagOrAlias.ReplaceAllString(quoted.ReplaceAllString(why, `${1} x`), "${1}x")
}

// isStream reports whether the full parser reads a stream.
func isStream(in string) bool {
	for dec := yaml.NewDecoder(strings.NewReader(in)); ; {
		var n yaml.Node
		if err := dec.Decode(&n); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}
