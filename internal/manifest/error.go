package manifest

import (
	"errors"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// What a text that holds no manifest is refused for; an [Error] wraps them.
var (
	// ErrEmpty: the text is empty, or has comments only.
	ErrEmpty = errors.New("input must have at least one object, and is empty")
	// ErrNotObject: a document is a list or a single value.
	ErrNotObject = errors.New("a document must be a Kubernetes object, which is a mapping")
	// ErrNotKey: a key is a mapping or a list, such as in {{ x }}, which is a
	// template more often than YAML.
	ErrNotKey = errors.New("a key of a mapping must be a string")
)

// An Error describes what is wrong with the input and where. Every error of
// this package is one, except those of the reader and the writer.
type Error struct {
	File   string     // the name given to Read, or the file an item came from
	Object string     // such as "Deployment default/web"; "" where none is known
	Path   field.Path // the field of the object; nil if it is about the whole
	Line   int        // in the input, from 1; 0 where unknown
	Err    error      // what is wrong, without the place
}

// Error returns place and message in one line: `<stdin>:12: Deployment
// default/web: `spec.replicas`: must be a number`.
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			b.WriteString(":" + strconv.Itoa(e.Line))
		}
		b.WriteString(": ")
	} else if e.Line > 0 {
		b.WriteString("line " + strconv.Itoa(e.Line) + ": ")
	}
	if e.Object != "" {
		b.WriteString(e.Object + ": ")
	}
	if len(e.Path) > 0 {
		b.WriteString("`" + e.Path.String() + "`: ")
	}
	b.WriteString(e.Message())
	return b.String()
}

// Message returns what is wrong, without the place, in one line.
func (e *Error) Message() string {
	return strings.Join(strings.Fields(e.Err.Error()), " ")
}

// Unwrap returns the error without the place.
func (e *Error) Unwrap() error { return e.Err }
