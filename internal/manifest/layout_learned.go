package manifest

import (
	"bytes"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// isWide reports whether most lists of the tree are indented under their key.
func isWide(t *yaml.Tree) bool {
	wide := 0
	compact := 0
	for i := range t.Nodes {
		p := &t.Nodes[i]
		if p.Kind != yaml.Mapping || p.Style != yaml.Block {
			continue
		}
		for c := p.Child; c != 0; c = t.Nodes[c].Next {
			if v := &t.Nodes[c]; v.Kind == yaml.Sequence && v.Style == yaml.Block {
				if v.Col > p.Col {
					wide++
				} else {
					compact++
				}
			}
		}
	}
	return wide > compact
}

// indentOf returns the indentation of the line that contains the offset.
func (s *splicer) indentOf(at int) int {
	ls := s.lineStart(at)
	if ls == 0 {
		return s.t.Col
	}
	return yaml.SkipSpaces(s.t.Text, ls) - ls
}

// flowLayout returns the layout of a flow collection, or of those around it if
// it is empty.
func (s *splicer) flowLayout(n int32, inJSON bool) layout {
	l := s.l
	l.colon = ": "
	l.comma = ", "
	l.json = inJSON
	for _, n := range []int32{1, n} { // the root too: an empty collection or one of scalars says little
		v := s.t.Nodes[n]
		first := s.t.FirstOwn(v.Child)
		if v.Style != yaml.Flow || first == 0 {
			continue
		}
		k := s.t.Nodes[first]
		if v.Kind == yaml.Mapping {
			l.json = s.t.Text[k.Key] == '"'
			l.colon = ":"
			if k.Start > k.KeyEnd+1 || k.Style == yaml.Absent {
				l.colon = ": "
			}
			if l.json && l.colon == ":" {
				l.comma = ","
			}
		}
		if k.Next != 0 && v.Marks&yaml.HasMergeKey == 0 { // which may be between the two
			between := s.t.Text[k.End:s.t.Nodes[k.Next].Key]
			if bytes.IndexByte(between, '\n') < 0 {
				l.comma = string(bytes.TrimLeft(between, " \t"))
			}
		}
	}
	l.json = l.json || inJSON
	s.learnPretty(n, &l)
	return l
}

// learnPretty notes in the layout how the lines of a flow collection are indented, or those
// of the root if the collection is empty.
func (s *splicer) learnPretty(n int32, l *layout) {
	v := s.t.Nodes[n]
	if v.Child == 0 && s.t.Nodes[1].Style == yaml.Flow {
		v = s.t.Nodes[1]
	}
	child := s.t.FirstOwn(v.Child)
	first := int(s.t.Nodes[child].Key)
	if child == 0 ||
		bytes.IndexByte(s.t.Text[v.Start:first], '\n') < 0 {
		return
	}
	l.pretty = true
	from := int(v.Start)
	if from == 0 { // the root, on whose first line the text does not start
		from = int(v.End) - 1
	}
	l.step = max(s.indentOf(first)-s.indentOf(from), 0)
	if strings.TrimSpace(l.comma) != "," {
		l.comma = ", "
	}
}
