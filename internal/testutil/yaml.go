package testutil

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Documents returns the values of the documents of a YAML stream, read by a
// parser that is not the scanner of this module.
func Documents(text []byte) ([]any, error) {
	var all []any
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var v any
		switch err := d.Decode(&v); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		all = append(all, v)
	}
}

// NonEmptyDocuments returns the documents of a YAML stream that are not empty.
// Like kubectl it takes the end of the text for the end of a line.
func NonEmptyDocuments(text []byte) ([]any, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !bytes.HasSuffix(text, []byte("\n")) {
		text = append(bytes.Clone(text), '\n')
	}
	all, err := Documents(text)
	return slices.DeleteFunc(all, func(v any) bool { return v == nil }), err
}
