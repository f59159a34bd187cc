package manifest

import (
	"io"

	"github.com/rewrite-probes/rewrite-probes/field"
)

// A Stream is a whole input: a ResourceList, a stream of documents or a List.
type Stream struct {
	name string
}

// ReadInput reads all of r. It needs at most twice the memory of what it reads.
func ReadInput(r io.Reader) ([]byte, error) { panic("todo") }

// Read splits the input into its objects. The name ("<stdin>" or a path)
// stands in messages. The input must not be changed while the stream is in
// use. Input without any object is an error; an empty list is not.
func Read(name string, input []byte) (*Stream, error) { panic("todo") }

// Objects gives all objects in order, those of nested Lists too, without the
// functionConfig.
func (s *Stream) Objects() []*Object { panic("todo") }

// IsResourceList tells whether the input is a KRM function's.
func (s *Stream) IsResourceList() bool { panic("todo") }

// FunctionConfig gives the ResourceList's functionConfig; nil where it has none.
func (s *Stream) FunctionConfig() *Object { panic("todo") }

// AddResults appends to the results of the ResourceList; those that came in
// stay. It must be called on a ResourceList only, and once.
func (s *Stream) AddResults(results []field.Map) error { panic("todo") }

// Changed tells whether WriteTo would write something else than the input.
func (s *Stream) Changed() bool { panic("todo") }

// WriteTo writes the stream in the shape in which it came: what was not
// changed straight from the input.
func (s *Stream) WriteTo(w io.Writer) (int64, error) { panic("todo") }
