package pipeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/patches"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
)

// TestThePatchesForABase has every patch, mark, guard and message for some bases. In the file the functionConfig's spec may
// be above a base, and the patches are below it; -update writes them. What has the label `sent: "no"` is not in the build.
func TestThePatchesForABase(t *testing.T) {
	compareAnswers(t, "testdata/patches.txtar", "patches", func(c *config.RewriteProbes, f txtar.File) string {
		return patched(t, c, f)
	})
}

func patched(t *testing.T, c *config.RewriteProbes, f txtar.File) string {
	t.Helper()
	c.Spec.ProbeProxy.Image = "example.com/probe-proxy:v1"
	s, err := manifest.Read(f.Name, slices.Clone(f.Data))
	if err != nil {
		t.Fatal(err)
	}
	set, r := pipeline.Patches([]*manifest.Stream{s}, c, func(o *manifest.Object) bool { return o.Labels().Get("sent") != "no" }, patches.Destination{})
	var b strings.Builder
	for _, m := range r.Messages {
		fmt.Fprintln(&b, words(m))
	}
	fmt.Fprintln(&b, r.Summary(true))
	if s.Changed() {
		t.Errorf("%s has changed", f.Name)
	}
	b.Write(set.Text(patches.Component, ""))
	return b.String()
}
