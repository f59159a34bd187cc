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
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// envoyConfigs are the configurations of the workloads of a run, and why others need none.
type envoyConfigs struct {
	*inputs
	texts  []string
	left   [][]report.Message // with each text: what is wrong with probes that it leaves out
	owners []string           // of each text: NAMESPACE/NAME
	why    string             // nothing of a workload is rewritten, as far as the plan says it
}

// EnvoyConfig returns the configuration with which an Envoy in the pods of a workload answers
// their probes, in Open Service Mesh's form. The workload is given as NAME or NAMESPACE/NAME, or
// as "" for the only one that has such probes. The routes are those of the probes that are
// rewritten with `mesh: osm` and `answeredBy: envoy`, which the configuration c need not have. It also returns
// messages about the probes that Envoy does not answer.
func EnvoyConfig(
	streams []*manifest.Stream, c *config.RewriteProbes, name string,
) (text string, left []report.Message, err error) {
	own := *c
	own.Spec.Options = transformer.Defaults()
	own.Spec.Options.Mesh = "osm"
	own.Spec.Options.AnsweredBy = transformer.AnsweredByEnvoy
	own.Spec.Options.Rewrite = c.Spec.Options.Rewrite
	all := envoyConfigs{inputs: newInputs(streams, &own)}
	for s := range all.subjects() {
		full := strings.TrimPrefix(s.Namespace()+"/"+s.Name(), "/")
		if name != "" && name != full && name != s.Name() {
			continue
		}
		if err := all.add(s, full); err != nil {
			return "", nil, fmt.Errorf("%s: %w", s.Object, err)
		}
	}
	return all.only(name)
}

// only returns the one configuration that there is.
func (all *envoyConfigs) only(name string) (text string, left []report.Message, err error) {
	switch {
	case len(all.texts) == 1:
		return all.texts[0], all.left[0], nil
	case len(all.texts) > 1:
		slices.Sort(all.owners)
		names := strings.Join(slices.Compact(all.owners), ", ")
		return "", nil, fmt.Errorf("several workloads have such probes: %s. Choose one with --workload", names)
	}
	which := "no workload in the input"
	if name != "" {
		which = fmt.Sprintf("no workload %q in the input", name)
	}
	text = which + " has an httpGet probe that an Envoy can answer"
	if all.why != "" {
		text += ". " + all.why
	}
	return "", nil, errors.New(text)
}

// add adds the configuration for each pod template of an object that needs one.
func (all *envoyConfigs) add(s *subject, name string) error {
	if workload.Classify(s.Object, all.custom) != workload.Known {
		return nil
	}
	templates, err := all.podTemplates(s.Object)
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
			left := make([]report.Message, len(findings))
			for i, f := range findings {
				left[i] = s.message(f)
			}
			all.left = append(all.left, left)
		} else if len(findings) > 0 {
			all.why = cmp.Or(all.why, s.String()+": "+findings[0].Text.String())
		}
	}
	return nil
}
