package config

import (
	"bytes"
	"errors"

	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
)

// DecodeText decodes a functionConfig in YAML or JSON that is in no file, so that its
// errors name neither file nor line. An empty text and null stand for the defaults.
func DecodeText(text []byte) (*RewriteProbes, error) {
	if text = bytes.TrimSpace(text); len(text) == 0 || string(text) == "null" {
		return Default(), nil
	}
	s, err := manifest.Read("functionConfig", text)
	if err != nil {
		return nil, err
	}
	c, err := Decode(s.Objects()[0])
	if err != nil {
		return nil, withoutPlace(err)
	}
	return c, nil
}

// withoutPlace takes file and line off the errors that are joined in err.
func withoutPlace(err error) error {
	var all []error
	for _, e := range unjoin(err) {
		if place, ok := errors.AsType[*manifest.Error](e); ok {
			bare := *place
			bare.File, bare.Line = "", 0
			e = &bare
		}
		all = append(all, e)
	}
	return errors.Join(all...)
}
