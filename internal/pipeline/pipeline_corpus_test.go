package pipeline_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

const root = "../.." // the repository

// realWorld lists what each file of the corpus holds, as counted when it was collected:
// handlers of probes that can be rewritten, and workloads.
var realWorld = []struct {
	file              string
	workloads, probes int
}{
	{"argocd.yaml", 7, 6},
	{"kubeflow.yaml", 34, 45},
	{"kubeprom.yaml", 6, 4},
	{"msdemo.yaml", 12, 22},
}

// run runs the pipeline with the default config.
func run(t testing.TB, name string, input []byte, mode pipeline.Wants) (*manifest.Stream, *report.Report) {
	t.Helper()
	return runWith(t, config.Default(), name, input, mode)
}

// runWith runs the pipeline over one stream.
func runWith(t testing.TB, c *config.RewriteProbes, name string, input []byte, mode pipeline.Wants) (*manifest.Stream, *report.Report) {
	t.Helper()
	s, err := manifest.Read(name, input)
	if err != nil {
		t.Fatalf("%v\n%s", err, input)
	}
	r := pipeline.Run([]*manifest.Stream{s}, c, mode)
	return s, r
}

func written(t testing.TB, s *manifest.Stream) []byte {
	t.Helper()
	text, err := s.Text()
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(text)
}

func TestRealWorldManifestsAreRewrittenInPlace(t *testing.T) {
	for _, c := range realWorld {
		t.Run(c.file, func(t *testing.T) {
			input := testutil.CorpusFile(t, root, c.file)
			s, r := run(t, c.file, input, pipeline.Rewrite)
			if n := report.Count(r.Messages, transformer.Error); n > 0 {
				t.Fatalf("%d errors, the first: %s", n, r.Messages[0])
			}
			_, r = run(t, c.file, input, pipeline.Inspect)
			if len(r.Templates) != c.workloads {
				t.Errorf("%d pod templates were found, must be %d", len(r.Templates), c.workloads)
			}
			accounted, noticed := 0, 0
			for _, tmpl := range r.Templates {
				for _, p := range tmpl.Probes {
					if !strings.HasPrefix(p.Before, "exec") && !p.ProbeType.IsHook() {
						accounted++
					}
					if p.State != transformer.WouldRewrite && p.Reason.String() == "" {
						t.Errorf("%s %s: %s without a reason", tmpl.Object, p.Field, p.State)
					}
				}
			}
			for _, o := range s.Objects() {
				noticed += len(o.Notices())
			}
			if accounted != c.probes {
				t.Errorf("%d probes were found, must be %d", accounted, c.probes)
			}
			if noticed > 0 {
				t.Errorf("%d times lines were changed that no edit names, must be none", noticed)
			}
			once := written(t, s)
			if removed := removedLines(input, once); removed > 4*c.probes {
				t.Errorf("%d lines of the input are gone: more than the handlers of %d probes", removed, c.probes)
			}
			again, _ := run(t, c.file, once, pipeline.Rewrite)
			if twice := written(t, again); !bytes.Equal(once, twice) {
				t.Errorf("the second run changed the text: %s", firstDifference(once, twice))
			}
			restored, rr := run(t, c.file, once, pipeline.Restore)
			if n := report.Count(rr.Messages, transformer.Error); n > 0 {
				t.Errorf("restore: %d errors, the first: %s", n, rr.Messages[0])
			}
			_, fresh := run(t, c.file, written(t, restored), pipeline.Inspect)
			if got, want := probesOf(fresh), probesOf(r); got != want {
				t.Errorf("after restore the probes are not the original ones:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// probesOf lists the original probes.
func probesOf(r *report.Report) string {
	var b bytes.Buffer
	for _, t := range r.Templates {
		for _, p := range t.Probes {
			fmt.Fprintf(&b, "%s %s %s %s\n", t.Object.String(), p.Container, p.ProbeType, p.Before)
		}
	}
	return b.String()
}

// removedLines counts lines of a that b lacks, as a multiset.
func removedLines(a, b []byte) int {
	have := make(map[string]int)
	for line := range bytes.Lines(b) {
		have[string(line)]++
	}
	removed := 0
	for line := range bytes.Lines(a) {
		if have[string(line)]--; have[string(line)] < 0 {
			removed++
		}
	}
	return removed
}

func firstDifference(a, b []byte) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	from := max(0, n-80)
	return fmt.Sprintf("byte %d: %q, now %q", n, a[from:min(len(a), n+80)], b[from:min(len(b), n+80)])
}
