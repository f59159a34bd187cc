package manifest

import (
	"bytes"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

func (s *splicer) flow(o *editNode, inJSON bool) {
	v := s.t.Nodes[o.node]
	l := s.flowLayout(o.node, inJSON)
	lastKept := o.lastKept()
	if lastKept < 0 {
		indent := s.indentOf(int(v.Start))
		s.putIn(&v, string(l.flow(nil, o.value(s.t), yaml.Absent, indent)))
		return
	}
	childCol := 0 // of the lines of entries, in the pretty form
	separator := l.comma
	if l.pretty {
		childCol = s.indentOf(int(s.t.Nodes[s.t.FirstOwn(v.Child)].Key))
		separator = "," + l.eol + spaces(childCol)
	}
	render := func(k *editNode) string {
		if entry, _, ok := k.asWritten(true); ok {
			return entry
		}
		if v.Kind == yaml.Mapping {
			return string(l.flowEntry(nil, k.key, k.value(s.t), childCol))
		}
		return string(l.flow(nil, k.value(s.t), yaml.Absent, childCol))
	}
	var added []string
	for i, k := range o.children {
		n := &s.t.Nodes[k.node]
		if k.node != 0 && i <= lastKept {
			for _, text := range added {
				s.insert(int(n.Key), text+separator)
			}
			added = nil
		}
		switch {
		case k.node == 0:
			added = append(added, render(k))
		case k.deleted && i < lastKept: // comments on their own lines in front of the next one stay
			next := &s.t.Nodes[s.t.FirstOwn(n.Next)]
			end := s.upToComment(int(n.End), int(next.Key))
			s.put(int(n.Key), end, "")
		case !k.deleted:
			s.changeInFlow(k, &l, childCol)
		}
	}
	at := s.cutFlow(o.children[lastKept:])
	if len(added) > 0 {
		if bytes.HasPrefix(bytes.TrimLeft(s.t.Text[at:], " \t,"), []byte("#")) { // the comment of the last entry stays on its line
			separator = ", "
		}
		s.insert(at, separator+strings.Join(added, separator))
	}
}

// lastKept returns the index of the last original child that is not deleted; -1 if there is
// none.
func (o *editNode) lastKept() int {
	i := len(o.children) - 1
	for i >= 0 &&
		(o.children[i].node == 0 || o.children[i].deleted) {
		i--
	}
	return i
}

func (s *splicer) changeInFlow(k *editNode, l *layout, childCol int) {
	n := &s.t.Nodes[k.node]
	if old := s.keyStyle(n); k.key != k.was {
		keys := *l
		keys.json = l.json && old == yaml.Double
		s.putKey(n, keys.key(nil, k.key, old, true))
	}
	switch {
	case k.set || k.wasLinked():
		v := s.t.Written(k.node)
		if _, text, ok := k.asWritten(true); ok && s.startsBehind(n, int(n.KeyEnd)) {
			s.put(s.t.BehindColon(n), int(n.End), text)
			break
		}
		text := string(l.flow(nil, k.value(s.t), v.Style, childCol))
		if n.Style == yaml.Absent && s.t.Text[n.Start-1] == ':' {
			text = " " + text
		}
		s.putIn(n, text)
	case k.open:
		s.flow(k, l.json)
	}
}

// upToComment returns the start of the first comment behind the line of an offset, and to if
// there is none before that.
func (s *splicer) upToComment(at, to int) int {
	at = min(s.eol(at), to)
	before, _, _ := bytes.Cut(s.t.Text[at:to], []byte("#"))
	return at + len(before)
}

// cutFlow deletes the original entries behind the first of the children, and returns the offset at
// which new ones may come.
func (s *splicer) cutFlow(children []*editNode) (at int) {
	text := s.t.Text
	at = int(s.t.Nodes[children[0].node].End)
	first := at
	end := at
	for _, k := range slices.Backward(children[1:]) {
		if k.node != 0 {
			n := &s.t.Nodes[k.node]
			first = int(n.Key)
			end = max(end, int(n.End))
		}
	}
	if bytes.IndexByte(text[at:first], '#') < 0 {
		s.put(at, end, "")
		return end
	}
	// Comments in front of them stay, with the comma.
	if comma := yaml.SkipBlanks(text, end); text[comma] == ',' {
		end = comma + 1
	}
	if eol := s.eol(end); isBlankText(text[end:eol]) { // nothing else is on their lines
		first, end = len(bytes.TrimRight(text[:first], " \t\r\n")), eol
	}
	s.put(first, end, "")
	return at
}
