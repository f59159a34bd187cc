package manifest

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// A splicer turns an edited tree into changes to the original text.
type splicer struct {
	t   *yaml.Tree
	l   layout
	mem *scratch
}

// A scratch is memory that is used for one edited object after another.
type scratch struct {
	text     []byte // the edited object, as it was read again
	rendered []byte // its new entries
	out      []splice
	original original
	kept     textMemory
	fault    func([]splice) // makes changes wrong, for tests of what catches that
}

// newSplicer returns a splicer for the tree's text, whose lines end with eol.
func newSplicer(t *yaml.Tree, eol string, mem *scratch) *splicer {
	mem.rendered, mem.out = mem.rendered[:0], mem.out[:0]
	return &splicer{
		t:   t,
		l:   layout{eol: eol, wide: isWide(t)},
		mem: mem,
	}
}

// rewrite returns the changes that make the edited tree of the text, as few as
// possible, in memory that the next splicer uses again, and what they do besides
// the edits; ok is false if the result would not read as the edited tree.
func (s *splicer) rewrite(root *editNode, check *yaml.Parser) (changes []splice, notices []Notice, ok bool) {
	edited := root
	why := map[int32]string(nil)
	if s.t.Special {
		edited, why = editText(s.t, root)
	}
	if !s.splice(edited) {
		return nil, nil, false
	}
	for n, text := range why {
		v := &s.t.Nodes[n]
		first := lineIn(s.t.In, int(v.Start))
		last := lineIn(s.t.In, int(v.End))
		notices = append(notices, Notice{first, last, text})
	}
	slices.SortFunc(notices, Notice.compare)
	s.mem.text = applySplices(s.mem.text[:0], s.t.In, s.mem.out)
	ok = check.Parse(s.mem.text, s.t.Col) &&
		check.ReadOnly.Why != yaml.NotKey
	return s.mem.out, notices, ok && root.isIn(&check.Tree, 1, s.t)
}

func (n Notice) compare(m Notice) int {
	return cmp.Or(n.Line-m.Line, n.End-m.End, strings.Compare(n.Text, m.Text))
}

func lineIn(text []byte, at int) int {
	return 1 + bytes.Count(text[:at], []byte("\n"))
}

// splice collects the changes in order; ok is false if some overlap.
func (s *splicer) splice(root *editNode) (ok bool) {
	if s.t.Nodes[1].Style == yaml.Flow {
		s.flow(root, false)
	} else {
		s.block(root)
	}
	slices.SortStableFunc(
		s.mem.out,
		func(a, b splice) int {
			return cmp.Compare(a.start, b.start)
		},
	)
	if s.mem.fault != nil {
		s.mem.fault(s.mem.out)
	}
	at := 0
	for _, c := range s.mem.out {
		if c.start < at || c.end < c.start {
			return false
		}
		at = c.end
	}
	return true
}

// applySplices appends the text with the changes made, which must be sorted.
func applySplices(b, text []byte, changes []splice) []byte {
	at := 0
	for _, c := range changes {
		b = append(b, text[at:c.start]...)
		b = append(b, c.text...)
		at = c.end
	}
	return append(b, text[at:]...)
}

func (s *splicer) put(start, end int, text string) {
	s.mem.out = append(s.mem.out, splice{start, end, text})
}

func (s *splicer) insert(at int, text string) {
	s.put(at, at, text)
}

// putKey replaces the key of a node, and putIn its value.
func (s *splicer) putKey(v *yaml.Node, text []byte) {
	s.put(int(v.Key), int(v.KeyEnd), string(text))
}

func (s *splicer) putIn(v *yaml.Node, text string) {
	s.put(int(v.Start), int(v.End), text)
}

func (s *splicer) lineStart(at int) int {
	return yaml.LineStart(s.t.Text, at)
}

// eol returns the end of the line that contains the offset: the offset of its
// line break.
func (s *splicer) eol(at int) int {
	return max(at, yaml.BreakBefore(s.t.Text, yaml.LineEnd(s.t.Text, at)))
}

// next returns the start of the line behind the one that contains the offset.
func (s *splicer) next(at int) int {
	return min(yaml.LineEnd(s.t.Text, at)+1, len(s.t.Text))
}

func (s *splicer) keyStyle(n *yaml.Node) yaml.Style {
	return yaml.StyleOf(yaml.View(s.t.Text[n.Key:n.KeyEnd]))
}

// onOwnLine reports whether only spaces precede the node's key or dash on its
// line.
func (s *splicer) onOwnLine(n int32, col int) bool {
	at := int(s.t.Nodes[n].Key)
	ls := s.lineStart(at)
	return at-ls == col && yaml.SkipSpaces(s.t.Text, ls) == at
}

// startsBehind reports whether a value starts on the line of its key or dash, which
// ends at the offset behind.
func (s *splicer) startsBehind(v *yaml.Node, behind int) bool {
	return v.Style == yaml.Absent ||
		bytes.IndexByte(s.t.Text[behind:v.Start], '\n') < 0
}
