package manifest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// specialForms are entries of a mapping with anchors, tags, explicit keys and the
// like, which are edited around.
var specialForms = []string{
	"s: &x {a: b}\nt: *x\n",
	"s: !!str 1\n",
	"s: &x\n  a: b\nt:\n  <<: *x\n",
	"? s\n: t\n",
	"s: \"a\"\t# b\n",
}

// scalars returns a value in every style, with every chomping and indentation
// indicator, behind a key in column col.
func scalars(col int) []string {
	all := []string{"plain", "plain\n  more\n\n  lines", "'single ''quotes'''", "'on\n\n  lines'", "\"double \\\" \\n\\u00e9 \"", "\"on\\\n   lines\\n\"", "é ü", "\"é\\t\"", ""}
	for _, style := range []string{"|", ">"} {
		for _, chomp := range []string{"", "-", "+"} {
			for indent := 0; indent <= 4; indent++ {
				for _, content := range []string{"a\n", "a\n\n b\n\n\n", "\n\na\n", " a\nb\n\n", "# a\n---\n\n"} {
					if indent == 0 && strings.HasPrefix(content, " ") {
						continue // its indentation must be said
					}
					header, pad := style+chomp, spaces(col+2)
					if indent > 0 {
						header, pad = fmt.Sprintf("%s%d%s", style, indent, chomp), spaces(col+indent)
					}
					text := header + "\n"
					for line := range strings.Lines(content) {
						if line != "\n" {
							line = pad + line
						}
						text += line
					}
					all = append(all, strings.TrimSuffix(text, "\n"))
					if indent > 0 { // the indicators in the other order
						all = append(all, strings.TrimSuffix(strings.Replace(text, header, style+chomp+fmt.Sprint(indent), 1), "\n"))
					}
				}
			}
		}
	}
	return all
}

func TestEveryScalarKeepsItsValueBesideSpecialForms(t *testing.T) {
	decode := func(text string) map[string]any {
		var v map[string]any
		// The end of a text ends its last line.
		if err := yamlv3.Unmarshal([]byte(strings.TrimSuffix(text, "\n")+"\n"), &v); err != nil {
			return nil
		}
		return v
	}
	tested := 0
	for _, form := range specialForms {
		for _, value := range scalars(0) {
			v := "v: " + value + "\n"
			for _, in := range []string{
				"kind: A\n" + v + form + "port: 1\n",
				"kind: A\nport: 1\n" + form + v,
				"kind: A\nport: 1\n" + form + v + "# end\n",
				"kind: A\nport: 1\n" + form + strings.TrimSuffix(v, "\n"),
			} {
				want := decode(in)
				if want == nil {
					continue // no indicator fits a value that is only blank lines
				}
				tested++
				s := mustRead(t, []byte(in))
				if err := s.Objects()[0].Apply([]field.Edit{set("port", 2)}); err != nil {
					t.Errorf("%q: %v", in, err)
					continue
				}
				want["port"] = 2
				out := string(output(t, s))
				if got := decode(out); !reflect.DeepEqual(got, want) {
					t.Errorf("%q gives\n%q\nwhich reads %q, want %q", in, out, got, want)
				}
			}
		}
	}
	if tested < 3000 {
		t.Errorf("only %d texts were tested", tested)
	}
}
