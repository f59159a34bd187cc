package yaml

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// read returns what the documents of a text are, and the error that ends them.
func read(in string, verified []Verified) (found []string, err error) {
	text, err := Check([]byte(in), verified)
	if err != nil {
		return nil, err
	}
	for d := text.Documents(verified); d.Next(); {
		empty, err := d.Read()
		if err != nil {
			return found, err
		}
		if empty {
			found = append(found, "nothing")
			continue
		}
		of := func(key string) string {
			if n := d.Tree().Get(1, key); n != 0 {
				return d.Tree().Str(n)
			}
			return "-"
		}
		found = append(found, fmt.Sprintf("%s %s %d %d", of("apiVersion"), of("kind"), d.Start, d.End))
	}
	return found, nil
}

func TestDocumentsAreFoundWithTheirPlaces(t *testing.T) {
	for in, want := range map[string]string{
		"":                                 "",
		"# c\n---\n---\n":                  "",
		"!":                                "nothing",
		"&a !!map":                         "nothing",
		"kind: A\n":                        "- A 0 8",
		"\ufeffkind: A\n":                  "- A 3 11",
		"kind: A\n---\nkind: B\n":          "- A 0 8, - B 12 20",
		"kind: A\n...\n---\nkind: B\n":     "- A 0 8, - B 16 24",
		"--- # c\nkind: A\n":               "- A 8 16",
		"%YAML 1.2\n--- &a\nkind: A\n":     "- A 0 25",
		"--- {kind: A}\n--- null\n":        "- A 0 14, nothing",
		"!!map\nkind: A\n":                 "- A 0 14",
		"{\"kind\":\"A\"}{\"kind\":\"B\"}": "- A 0 12, - B 12 24",
		"kind: A\r\napiVersion: b\r\n":     "b A 0 24",
		"~\n---\nkind: 'A B'\n":            "nothing, - A B 6 18",
	} {
		found, err := read(in, nil)
		if got := strings.Join(found, ", "); got != want || err != nil {
			t.Errorf("%q: %s %v, want %s", in, got, err, want)
		}
	}
}

// Binary data has a NUL byte near its start, as Git sees it; one that comes late is a mistake in a text.
func TestBinaryDataHasANULNearItsStart(t *testing.T) {
	for at, want := range map[int]string{
		0: "is binary data: it has a NUL byte", 100: "is binary data: it has a NUL byte", 7999: "is binary data: it has a NUL byte", 8000: "has a NUL byte here", 20000: "has a NUL byte here",
	} {
		text := []byte(strings.Repeat("a: 1234\n", 4000))
		text[at] = 0
		_, err := Check(text, nil)
		if e, ok := errors.AsType[*Refusal](err); !ok || e.At != at || e.Open != -1 || !errors.Is(err, ErrNotText) || err.Error() != "must be UTF-8 text, and "+want {
			t.Errorf("a NUL at %d: %v", at, err)
		}
		text[at], text[30000] = 'x', 0xff // what is wrong first counts
		if at < 8000 {
			text[at] = 0x1b
			want = "has the control character 0x1b here"
		} else {
			at, want = 30000, "has the byte 0xff here, which is none"
		}
		_, err = Check(text, nil)
		if e, ok := errors.AsType[*Refusal](err); !ok || e.At != at || err.Error() != "must be UTF-8 text, and "+want {
			t.Errorf("another byte at %d: %v", at, err)
		}
	}
}

func TestARefusedTextSaysWhere(t *testing.T) {
	for in, want := range map[string]string{
		"a: b\n\x00":                            "5: must be UTF-8 text, and is binary data: it has a NUL byte",
		strings.Repeat("a: b\n", 1600) + "\x00": "8000: must be UTF-8 text, and has a NUL byte here",
		"a: b\r\x00":                            "5: must be UTF-8 text, and is binary data: it has a NUL byte",
		"a: \xff\n":                             "3: must be UTF-8 text, and has the byte 0xff here, which is none",
		"a: b\n\ufeffc: d\n":                    "5: must not have a byte order mark but at its start: this line starts with one",
		"\xff\xfea\x00":                         "0: must be UTF-8 text, and is UTF-16 or UTF-32: convert it, for example with iconv -t UTF-8",
		"a: b\n---\n- c\n":                      "9: a document must be a Kubernetes object, which is a mapping, not a list",
		"a: b\n---\nc d\n":                      "9: a document must be a Kubernetes object, which is a mapping, not \"c d\"",
		"a: b\n c: d\n":                         "6: invalid YAML: a text of several lines must not have a colon and a space, or this line is indented too far",
		"a: b\n... c\n":                         "5: invalid YAML: nothing must come behind the end of a document (...)",
		"%YAML 1.2\na: b\n":                     "0: invalid YAML: a directive (%) must be followed by the marker of its document (---)",
		"--- a: b\n":                            "4: invalid YAML: a key must not be on the line of its document's marker",
		"!!map\t&a\n&b\nc: d\n":                 "9: invalid YAML: an anchor or a tag must be in front of a value",
		"--- !!map\n!\na: b\n":                  "10: invalid YAML: an anchor or a tag must be in front of a value",
		"--- !!map\n!\n{a: b}\n":                "10: invalid YAML: the anchor and the tag of an object must be on one line, with names of letters, digits, - and _",
		"!!map\n! ~\n":                          "6: invalid YAML: the anchor and the tag of an object must be on one line, with names of letters, digits, - and _",
		"a:\nb\n":                               "3: invalid YAML: a value must be indented further than its key, and come once only",
		"a":                                     "0: a document must be a Kubernetes object, which is a mapping, not \"a\"",
		"a: b\nc\n":                             "5: invalid YAML: a key, a colon and a space must come here, or the indentation is wrong",
		"a: b\n'c'\n":                           "5: invalid YAML: a key, a colon and a space must come here, or the indentation is wrong",
		"\ta: b\n":                              "1: invalid YAML: a tab must not be indentation",
		"a: {\"b\": \"c\"\n":                    "3: invalid YAML: a bracket must be closed before the document ends",
		"a: *b\n":                               "3: invalid YAML: the alias *b must be behind an anchor of this name",
		"{a: b} c\n":                            "7: invalid YAML: nothing must be behind the closing bracket, not even a tab at the start of a line",
		"a: b\n---\nc: \"\\q\"":                 "12: invalid YAML: a text in quotes has no end, or a bad escape",
	} {
		_, err := read(in, nil)
		e := (*Refusal)(nil)
		said.Say("document", fmt.Sprint(err))
		if !errors.As(err, &e) || fmt.Sprintf("%d: %v", e.At, e) != want {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
}

// What is in front of what is verified, and behind it, is looked at.
func TestATextIsLookedAtAroundWhatIsKnown(t *testing.T) {
	for at, want := range []string{"0", "1", "2", "none", "none", "5", "6"} {
		in := []byte("a: b: c\n")
		in[at] = 1
		_, err := Check(in, []Verified{{At: 3, End: 5, Checked: true}, {At: 6, End: 8}})
		got := "none"
		if e := (*Refusal)(nil); errors.As(err, &e) {
			got = fmt.Sprint(e.At)
		}
		if got != want {
			t.Errorf("what is wrong at %d is found at %s, want %s", at, got, want)
		}
	}
}

// What is verified is stepped over only where it is: a wrong place, column or end is read.
func TestWhatIsKnownIsSteppedOver(t *testing.T) {
	const in = "kind: A\n---\nkind: B\nc: [d]\n"
	for _, tt := range []struct {
		verified Verified
		want     string
	}{
		{Verified{At: 12, End: 27, APIVersion: "v", Kind: "K"}, "- A 0 8, - - 12 27"},
		{Verified{At: 12, End: 27, Col: 1}, "- A 0 8, - B 12 27"},
		{Verified{At: 12, End: 26}, "- A 0 8, - B 12 27"},
		{Verified{At: 12, End: 28}, "- A 0 8, - B 12 27"},
		{Verified{At: 13, End: 27}, "- A 0 8, - B 12 27"},
	} {
		found, err := read(in, []Verified{tt.verified})
		if got := strings.Join(found, ", "); got != tt.want || err != nil {
			t.Errorf("%+v: %s %v, want %s", tt.verified, got, err, tt.want)
		}
		if k := Find([]Verified{{At: 3}, tt.verified}, tt.verified.At); k == nil || *k != tt.verified || Find([]Verified{tt.verified}, 1) != nil {
			t.Errorf("found %v", k)
		}
	}
}
