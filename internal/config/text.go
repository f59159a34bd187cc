package config

import (
	"bytes"

	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
)

// DecodeText decodes a functionConfig in YAML or JSON that is in no file, so that its
// errors name neither file nor line. An empty text and null stand for the defaults.
func DecodeText(text []byte) (*RewriteProbes, error) {
	if text = bytes.TrimSpace(text); len(text) == 0 || string(text) == "null" {
		return Default(), nil
	}
	s, err := manifest.Read("", text)
	if err != nil {
		return nil, InFunctionConfig(err)
	}
	return Decode(s.Objects()[0])
}
