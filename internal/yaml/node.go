package yaml

// A Kind is what a node is.
type Kind uint8

const (
	Scalar Kind = iota + 1
	Mapping
	Sequence
)

// String returns what a node of the kind is, for messages.
func (k Kind) String() string {
	switch k {
	case Mapping:
		return "a mapping"
	case Sequence:
		return "a list"
	}
	return "a single value"
}

// A Style is how a node is written.
type Style uint8

const (
	Absent  Style = iota // no text at all: null
	Plain                // scalars, here and below
	Single               // '...'
	Double               // "..."
	Literal              // |
	Folded               // >
	Block                // collections, here and below
	Flow                 // {...}, [...]
)

// StyleOf returns the style of the text of a scalar.
func StyleOf(text string) Style {
	if text == "" {
		return Absent
	}
	switch text[0] {
	case '"':
		return Double
	case '\'':
		return Single
	case '|':
		return Literal
	case '>':
		return Folded
	}
	return Plain
}

// A Node is a value, together with the key or the dash before it.
// Offsets count from the start of the tree's text.
type Node struct {
	Kind  Kind
	Style Style
	Marks Marks
	// Col is, for a block collection, the column of its keys or dashes; for a
	// block scalar, the column of its lines; for other scalars, that of the
	// block collection it is in.
	Col         int32
	Key, KeyEnd int32 // the key with its quotes, or the dash
	Start, End  int32 // the value, without comments and line end
	Child, Next int32 // first child and next sibling; 0 is none
}

// fill sets what a value is, and where.
func (v *Node) fill(k Kind, how Style, col, start, end int) {
	v.Kind = k
	v.Style = how
	v.Col = int32(col)
	v.Start = int32(start)
	v.End = int32(end)
}

// Marks say what is special about a node.
type Marks uint8

const (
	HasProperties Marks = 1 << iota // its text starts with an anchor or a tag
	IsAlias                         // its text is an alias; kind, style and children are those of its anchor
	isMergeKey                      // the entry of a merge key (<<)
	IsMerged                        // an entry that a merge key brings, as a copy
	HasMergeKey                     // a mapping with merge keys, which are not among its children
	specialKey                      // its key has an anchor or a tag, or is an alias
	isExplicit                      // the node of an explicit key (?), or its value
	Overrides                       // an entry that a merge key would bring, with another value or the same
)
