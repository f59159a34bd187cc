package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/envoy"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
)

// EnvoyConfig returns the configuration with which an Envoy in the pods of a workload answers
// their probes, in Open Service Mesh's form. The workload is given as NAME or NAMESPACE/NAME, or
// as "" for the only one that has such probes.
func EnvoyConfig(streams []*manifest.Stream, c *config.RewriteProbes, name string) (string, error) {
	r := newRun(streams, c, Inspect)
	var found, names []string
	for _, s := range streams {
		for _, o := range s.Objects() {
			full := strings.TrimPrefix(o.Namespace()+"/"+o.Name(), "/")
			if name != "" && name != full && name != o.Name() {
				continue
			}
			texts, err := r.envoyConfigs(o)
			if err != nil {
				return "", fmt.Errorf("%s: %w", o, err)
			}
			for _, text := range texts {
				found, names = append(found, text), append(names, full)
			}
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		slices.Sort(names)
		return "", fmt.Errorf("several workloads have such probes: %s. Choose one with --workload", strings.Join(slices.Compact(names), ", "))
	case name != "":
		return "", fmt.Errorf("no workload %q in the input has an httpGet probe, which an Envoy can answer", name)
	}
	return "", errors.New("no workload in the input has an httpGet probe, which an Envoy can answer")
}

// envoyConfigs returns the configuration for each pod template of an object that needs one.
func (r *run) envoyConfigs(o *manifest.Object) (texts []string, err error) {
	if workload.Classify(o, r.custom) != workload.Known {
		return nil, nil
	}
	meta, err := o.Metadata()
	if err != nil {
		return nil, err
	}
	templates, err := workload.Templates(o, r.custom)
	if err != nil {
		return nil, err
	}
	for _, ref := range templates {
		in, err := r.input(o, meta, ref)
		if err != nil {
			return nil, err
		}
		originals, err := r.planner.Originals(in)
		if err != nil {
			return nil, err
		}
		if text := envoy.Config(originals); text != "" {
			texts = append(texts, text)
		}
	}
	return texts, nil
}
