package policy_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/policy"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
)

// The lines that an option or a field of the functionConfig changes are in testdata/changes.txt,
// without those that are in the default policies too.
func TestPolicy_optionsAndConfig(t *testing.T) {
	text := func(c *config.RewriteProbes, o policy.Options) []string {
		out, notes, err := policy.Make(c, o)
		if err != nil {
			t.Fatal(err)
		}
		return append(notes, strings.Split(string(out), "\n")...)
	}
	var out strings.Builder
	base := text(config.Default(), options(policy.Kubernetes, policy.Warn))
	write := func(name string, c *config.RewriteProbes, o policy.Options) {
		out.WriteString("# " + name + "\n")
		for _, line := range text(c, o) {
			if !slices.Contains(base, line) {
				out.WriteString(line + "\n")
			}
		}
	}
	write("deny and audit", config.Default(), options(policy.Kubernetes, policy.Deny, policy.Audit))
	write("kyverno", config.Default(), options(policy.Kyverno, policy.Deny))
	write("another name", config.Default(), policy.Options{Engine: policy.Kubernetes, Actions: []string{policy.Warn}, Name: "mine"})
	for _, c := range []struct {
		name   string
		change func(*config.Spec)
	}{
		{"probes alone", func(s *config.Spec) { s.Rewrite = []string{"httpGet", "grpc"} }},
		{"hooks alone", func(s *config.Spec) { s.Rewrite = []string{"lifecycle"} }},
		{"another name of probe-proxy", func(s *config.Spec) { s.ProbeProxy.Name = "it's" }},
		{"namespaces that Istio injects", func(s *config.Spec) { s.Istio.InjectedNamespaces = []string{"shop", "t?.*é"} }},
		{"none that Istio injects", func(s *config.Spec) { s.Istio.InjectedNamespaces = []string{} }},
		{"namespaces that are selected", func(s *config.Spec) { s.Select = &config.Selector{Namespaces: []string{"a*", "b"}} }},
		{"namespaces that are excluded", func(s *config.Spec) { s.Exclude = &config.Selector{Namespaces: []string{"x?"}} }},
		{"more that is excluded", func(s *config.Spec) { s.Exclude = &config.Selector{Namespaces: []string{"x"}, Names: []string{"y"}} }},
		{"a selection without namespaces", func(s *config.Spec) { s.Select = &config.Selector{Kinds: []string{"Job"}} }},
		{"an injector that rewrites", func(s *config.Spec) { s.Istio.InjectorRewrites = true }},
		{"an injector that rewrites nothing", func(s *config.Spec) { s.Istio.InjectorRewrites = false }},
	} {
		config := config.Default()
		c.change(&config.Spec)
		write(c.name, config, options(policy.Kubernetes, policy.Warn))
	}
	golden.Compare(t, filepath.Join("testdata", "changes.txt"), []byte(out.String()))
}
