package manifest

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// CommentLine returns the line, in the stream, of the first comment that begins with a prefix
// such as "#@", in the object or between it and the object before it; 0 if there is none.
func (o *Object) CommentLine(prefix string) int {
	return lineOfComment(o, prefix, func(_, _ []byte) bool { return true })
}

// TokenLine returns the line of the first comment #{NAME} that is in the place of a value, which YAML
// reads as null: a token that a deployment with Azure DevOps or Octopus replaces; 0 if there is none.
func (o *Object) TokenLine() int {
	return lineOfComment(o, "#{", func(before, comment []byte) bool {
		line := bytes.TrimRight(before[bytes.LastIndexByte(before, '\n')+1:], " \t")
		name, _, closed := bytes.Cut(comment[len("#{"):], []byte("}"))
		isPlace := bytes.HasSuffix(line, []byte(":")) || bytes.HasSuffix(line, []byte("-"))
		return isPlace && bytes.IndexByte(line, '#') < 0 && closed && len(name) > 0 && !bytes.ContainsAny(name, " \t\n:,{")
	})
}

// lineOfComment is CommentLine for a comment that is accepted, by the text before it and the one from it on.
func lineOfComment(o *Object, prefix string, accept func(before, comment []byte) bool) int {
	s := o.stream
	start := 0
	byStart := func(a, b *Object) int {
		return cmp.Compare(a.start, b.start)
	}
	if i, _ := slices.BinarySearchFunc(s.objects, o, byStart); i > 0 {
		start = s.objects[i-1].end
	}
	text := s.text.Bytes[start:o.end]
	if !bytes.Contains(text, []byte(prefix)) {
		return 0
	}
	t, err := o.load()
	if err != nil {
		return 0
	}
	for at := 0; ; at += len(prefix) {
		i := bytes.Index(text[at:], []byte(prefix))
		if i < 0 {
			return 0
		}
		at += i
		startsComment := at == 0 ||
			bytes.IndexByte([]byte(" \t\n"), text[at-1]) >= 0
		if startsComment && accept(text[:at], text[at:]) && !isInScalar(t, start+at-s.treeAt) {
			return s.line(start + at)
		}
	}
}

// isInScalar reports whether a place in the text of a tree is in the text of a scalar.
func isInScalar(t *yaml.Tree, at int) bool {
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if n.Kind == yaml.Scalar &&
			int(n.Start) <= at &&
			at < int(n.End) {
			return true
		}
	}
	return false
}
