// Package rewriting runs rewrite-probes in the process of a test, as its command
// does.
package rewriting

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

// Settings are the spec of a functionConfig.
type Settings map[string]any

// Config returns the functionConfig with a spec.
func Config(spec Settings) (*config.RewriteProbes, error) {
	text, err := yaml.Marshal(map[string]any{"apiVersion": config.APIVersion, "kind": config.Kind, "spec": spec})
	if err != nil {
		return nil, err
	}
	return Decode(text)
}

// Decode reads a functionConfig.
func Decode(text []byte) (*config.RewriteProbes, error) {
	s, err := manifest.Read("functionConfig", text)
	if err != nil {
		return nil, err
	}
	return config.Decode(s.Objects()[0])
}

// Run takes manifests through the pipeline. A ResourceList comes out with its
// results.
func Run(input []byte, c *config.RewriteProbes, mode pipeline.Wants) (output []byte, r *report.Report, err error) {
	return RunIn(Folder{Name: "input"}, input, c, mode)
}

// A Folder has a file with the name, and other files by theirs, next to it.
type Folder struct {
	Name   string
	Others map[string]string
}

// RunIn takes the file of a folder through the pipeline, with all others around it.
// These must not change.
func RunIn(in Folder, input []byte, c *config.RewriteProbes, mode pipeline.Wants) (output []byte, r *report.Report, err error) {
	s, err := manifest.Read(in.Name, bytes.Clone(input))
	if err != nil {
		return nil, nil, err
	}
	streams := []*manifest.Stream{s}
	for _, name := range slices.Sorted(maps.Keys(in.Others)) {
		other, err := manifest.Read(name, []byte(in.Others[name]))
		if err != nil {
			return nil, nil, err
		}
		streams = append(streams, other)
	}
	r = pipeline.Run(streams, c, mode)
	if s.IsResourceList() {
		if err := s.AddResults(r.Results()); err != nil {
			return nil, nil, err
		}
	}
	for _, other := range streams[1:] {
		if text, err := other.Text(); err != nil || string(text) != in.Others[other.Name()] {
			return nil, nil, fmt.Errorf("%s is changed: %w", other.Name(), err)
		}
	}
	output, err = s.Text()
	return output, r, err
}
