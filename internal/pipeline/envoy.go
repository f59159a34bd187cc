package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/envoy"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// envoyConfigs are the configurations of the workloads of a run, and why others need none.
type envoyConfigs struct {
	*inputs
	texts  []string
	owners []string // of each text: NAMESPACE/NAME
	why    string   // nothing of a workload is rewritten, as far as the plan says it
}

// EnvoyConfig returns the configuration with which an Envoy in the pods of a workload answers
// their probes, in Open Service Mesh's form. The workload is given as NAME or NAMESPACE/NAME, or
// as "" for the only one that has such probes. The routes are those of the probes that are
// rewritten with `mesh: osm` and `answeredBy: envoy`, which the configuration c need not have.
func EnvoyConfig(streams []*manifest.Stream, c *config.RewriteProbes, name string) (string, error) {
	own := *c
	own.Spec.Options = transformer.Defaults()
	own.Spec.Options.Mesh = "osm"
	own.Spec.Options.AnsweredBy = transformer.AnsweredByEnvoy
	own.Spec.Options.Rewrite = c.Spec.Options.Rewrite
	all := envoyConfigs{inputs: newInputs(streams, &own)}
	for o := range objectsOf(streams) {
		full := strings.TrimPrefix(o.Namespace()+"/"+o.Name(), "/")
		if name != "" && name != full && name != o.Name() {
			continue
		}
		if err := all.add(o, full); err != nil {
			return "", fmt.Errorf("%s: %w", o, err)
		}
	}
	return all.only(name)
}

// only returns the one configuration that there is.
func (all *envoyConfigs) only(name string) (string, error) {
	switch {
	case len(all.texts) == 1:
		return all.texts[0], nil
	case len(all.texts) > 1:
		slices.Sort(all.owners)
		names := strings.Join(slices.Compact(all.owners), ", ")
		return "", fmt.Errorf("several workloads have such probes: %s. Choose one with --workload", names)
	}
	which := "no workload in the input"
	if name != "" {
		which = fmt.Sprintf("no workload %q in the input", name)
	}
	text := which + " has an httpGet probe that an Envoy can answer"
	if all.why != "" {
		text += ". " + all.why
	}
	return "", errors.New(text)
}

// add adds the configuration for each pod template of an object that needs one.
func (all *envoyConfigs) add(o *manifest.Object, name string) error {
	if workload.Classify(o, all.custom) != workload.Known {
		return nil
	}
	templates, err := all.podTemplates(o)
	if err != nil {
		return err
	}
	for _, in := range templates {
		originals, findings := all.planner.Rewritten(in)
		if f := transformer.FirstError(findings); f != nil {
			return errors.New(f.Text.String())
		}
		if text := envoy.Config(originals); text != "" {
			all.texts, all.owners = append(all.texts, text), append(all.owners, name)
		} else if len(findings) > 0 {
			all.why = cmp.Or(all.why, o.String()+": "+findings[0].Text.String())
		}
	}
	return nil
}
