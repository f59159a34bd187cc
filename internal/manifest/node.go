package manifest

import (
	"bytes"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// A Node is a part of a parsed object, for reading, or stands for what is
// missing there. Nodes are valid until another object of the stream is
// read or one is changed.
type Node struct {
	t *yaml.Tree
	n int32
}

// Root returns the object's root, a mapping.
func (o *Object) Root() (Node, error) {
	t, err := o.load()
	if err != nil {
		return Node{}, err
	}
	return Node{t, 1}, nil
}

// Missing reports whether the node is missing or null, which is the same to
// the API server.
func (n Node) Missing() bool {
	return n.t.IsNull(n.n)
}

// IsEmpty reports whether the value is null, absent or an empty string.
func (n Node) IsEmpty() bool {
	return n.Missing() || !n.First().Exists() && n.t.Str(n.n) == ""
}

// IsMapping reports whether the node is a mapping.
func (n Node) IsMapping() bool {
	return n.t.Nodes[n.n].Kind == yaml.Mapping
}

// IsList reports whether the node is a list.
func (n Node) IsList() bool {
	return n.t.Nodes[n.n].Kind == yaml.Sequence
}

// Get returns the value of a key of a mapping.
func (n Node) Get(key string) Node {
	if !n.IsMapping() {
		return Node{n.t, 0}
	}
	return Node{n.t, n.t.Get(n.n, key)}
}

// First returns the first entry of a mapping or item of a list, and Next the
// one after it: both are plain steps, since whole objects are walked.
func (n Node) First() Node {
	return Node{n.t, n.t.Nodes[n.n].Child}
}

// Next returns the entry or item after the node.
func (n Node) Next() Node {
	return Node{n.t, n.t.Nodes[n.n].Next}
}

// Exists reports whether the node is there, if only as a null.
func (n Node) Exists() bool { return n.n != 0 }

// Key returns the key of an entry of a mapping. It is valid as long as the
// text of its object.
func (n Node) Key() string {
	return n.t.KeyOf(n.n)
}

// MayMention reports, without parsing, whether the object can have a key that
// contains one of the words.
func (o *Object) MayMention(words ...string) bool {
	if o.stream.shared[o] != "" {
		return true // parts of it are in other objects
	}
	text := o.source()
	for _, word := range words {
		if bytes.Contains(text, []byte(word)) {
			return true
		}
	}
	// In a quoted key any letter may be escaped.
	for {
		i := bytes.IndexByte(text, '\\') + 1
		if i == 0 || i == len(text) {
			return false
		}
		if c := text[i]; c == 'x' || c == 'u' || c == 'U' {
			return true
		}
		text = text[i:]
	}
}

// Value returns the value at path as written, and whether there is one, if
// only a null.
func (o *Object) Value(path field.Path) (v field.Value, found bool) {
	t, err := o.load()
	if err != nil {
		return nil, false
	}
	n, found := t.At(path)
	if !found {
		return nil, false
	}
	return t.Any(n), true
}

// CheckKeys returns an *Error if a mapping in the value at path has a key
// twice.
func (o *Object) CheckKeys(path field.Path) error {
	t, err := o.load()
	if err != nil {
		return err
	}
	return located(o, t, t.CheckKeys(path))
}

// Mapping returns the mapping at path, a Node that does not exist if it is missing. A
// value of another type, there or on the way, is an *Error.
func (o *Object) Mapping(path field.Path) (Node, error) {
	return find(o, path, yaml.Mapping)
}

// List returns the list at path, as Mapping does.
func (o *Object) List(path field.Path) (Node, error) {
	return find(o, path, yaml.Sequence)
}

func find(o *Object, path field.Path, want yaml.Kind) (Node, error) {
	t, err := o.load()
	if err != nil {
		return Node{}, err
	}
	n, errs := t.FindKind(path, want)
	return Node{t, n}, located(o, t, errs)
}
