package transformer_test

import (
	"slices"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/reason/example"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// The example of a reason is a case of a rule that leaves a probe alone for it before the fix, and not after it.
func TestSiteRules_eachHasACaseOrAnExample(t *testing.T) {
	tried := transformer.RulesWithCase()
	for _, d := range reason.Of(reason.Plan) {
		files := example.Of(d.Name)
		if len(files) == 0 {
			continue
		}
		after := rulesThatApply(t, files, func(f example.File) string { return f.After })
		for rule, keys := range rulesThatApply(t, files, func(f example.File) string { return f.Before }) {
			if slices.Equal(keys, []string{d.Name}) && len(after[rule]) == 0 {
				tried = append(tried, rule)
			}
		}
	}
	p, err := transformer.New(options())
	if err != nil {
		t.Fatal(err)
	}
	for rule := range p.LeftAloneBy(transformer.Input{}) {
		if !slices.Contains(tried, rule) {
			t.Errorf("rule %s has no case in siteCases, nor an example of its reason", rule)
		}
	}
}

// rulesThatApply returns why each rule leaves probes of an example's pod alone.
func rulesThatApply(t *testing.T, files []example.File, text func(example.File) string) map[string][]string {
	t.Helper()
	o, manifests := transformer.Defaults(), ""
	for _, f := range files {
		if f.Name != "rewrite-probes.yaml" {
			manifests += "---\n" + text(f)
			continue
		}
		c, err := config.DecodeText([]byte(text(f)))
		if err != nil {
			return nil // the example is of a mistake in it
		}
		o = c.Spec.Options
	}
	in, _, err := scene{own: manifests}.input()
	if err != nil {
		return nil // the example is of a file without a pod
	}
	p, err := transformer.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p.LeftAloneBy(in)
}
