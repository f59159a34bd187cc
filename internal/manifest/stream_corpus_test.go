package manifest

import (
	"bytes"
	"strings"
	"syscall"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

const root = "../.." // the repository

var corpusNames = []string{"msdemo.yaml", "argocd.yaml", "kubeprom.yaml", "kubeflow.yaml"}

// templateOf returns where one of the common workloads has its pod template;
// nil for other kinds.
func templateOf(t *testing.T, o *Object) field.Path {
	t.Helper()
	var path field.Path
	switch o.Kind() {
	case "Deployment", "StatefulSet", "DaemonSet", "Job":
		path = field.NewPath("spec", "template")
	case "CronJob":
		path = field.NewPath("spec", "jobTemplate", "spec", "template")
	default:
		return nil
	}
	n, err := o.Mapping(path)
	if err != nil {
		t.Fatal(err)
	}
	if !n.Exists() {
		return nil
	}
	return path
}

func mustRead(tb testing.TB, in []byte) *Stream {
	tb.Helper()
	s, err := Read("<stdin>", in)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func output(tb testing.TB, s *Stream) []byte {
	tb.Helper()
	text, err := s.Text()
	if err != nil {
		tb.Fatal(err)
	}
	return bytes.Clone(text)
}

func TestRealManifestsAreRead(t *testing.T) {
	for _, name := range corpusNames {
		t.Run(name, func(t *testing.T) {
			in := testutil.CorpusFile(t, root, name)
			s := mustRead(t, in)
			if !bytes.Equal(output(t, s), in) {
				t.Error("an unchanged stream must come back byte for byte")
			}
			for _, o := range s.Objects() {
				if !s.parser.Parse(o.source(), int(o.col)) {
					t.Errorf("line %d: %v: the scanner refuses to build the tree: %s", o.Line(), o.kind, s.parser.Refused.Why)
				}
				s.treeOf = nil
			}
		})
	}
}

func TestRealWorkloadsAreEditedInPlace(t *testing.T) {
	for _, name := range corpusNames {
		t.Run(name, func(t *testing.T) {
			s := mustRead(t, testutil.CorpusFile(t, root, name))
			edited := 0
			for _, o := range s.Objects() {
				if path := templateOf(t, o); path != nil {
					editWorkload(t, o, path)
					edited++
				}
			}
			if edited == 0 {
				t.Error("no workload was found")
			}
			out := output(t, s)
			again := mustRead(t, out)
			if len(again.Objects()) != len(s.Objects()) {
				t.Errorf("the output has %d objects, want %d", len(again.Objects()), len(s.Objects()))
			}
		})
	}
}

// workloadEdits returns edits of the sort that the function makes.
func workloadEdits(path field.Path) []field.Edit {
	spec := path.Key("spec")
	return []field.Edit{
		{Op: field.Set, Path: path.Key("metadata", "annotations", "sidecar.istio.io/inject"), Value: "true"},
		{Op: field.Set, Path: spec.Key("containers").Index(0).Key("livenessProbe"), Value: field.Map{{Key: "httpGet", Value: field.Map{{Key: "port", Value: 15020}}}}},
		{Op: field.Insert, Path: spec.Key("initContainers").Index(0), Before: "containers", Value: field.Map{{Key: "name", Value: "probe-proxy"}, {Key: "args", Value: field.List{"a b", `{"x":"y"}`}}}},
	}
}

func editWorkload(t *testing.T, o *Object, path field.Path) {
	t.Helper()
	before := bytes.Clone(o.source())
	err := o.Apply(workloadEdits(path))
	if err != nil {
		t.Error(err)
		return
	}
	if !o.Changed() || len(o.Notices()) > 0 {
		t.Errorf("%v: changed %v, with the notices %v", o, o.Changed(), o.Notices())
	}
	if lines := bytes.Count(before, []byte("\n")); bytes.Count(o.source(), []byte("\n")) > lines+20 {
		t.Errorf("%v grew from %d lines:\n%s", o, lines, o.source())
	}
}

func benchmarkRead(b *testing.B, name string) {
	in := testutil.CorpusFile(b, root, name)
	b.SetBytes(int64(len(in)))
	before := cpuTime()
	for b.Loop() {
		mustRead(b, in)
	}
	b.ReportMetric(float64(cpuTime()-before)/float64(b.N)/1e6, "cpu-ms/op")
}

// cpuTime returns the CPU time of the process: on a busy machine the wall clock
// tells little.
func cpuTime() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func BenchmarkReadKubeflow(b *testing.B) { benchmarkRead(b, "kubeflow.yaml") }
func BenchmarkReadKubeprom(b *testing.B) { benchmarkRead(b, "kubeprom.yaml") }
func BenchmarkReadArgocd(b *testing.B)   { benchmarkRead(b, "argocd.yaml") }

func BenchmarkCheck(b *testing.B) {
	in := testutil.CorpusFile(b, root, "kubeflow.yaml")
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if _, err := yaml.Check(in, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTreesOfKubeflowsWorkloads(b *testing.B) {
	s := mustRead(b, testutil.CorpusFile(b, root, "kubeflow.yaml"))
	b.ReportAllocs()
	for b.Loop() {
		for _, o := range s.Objects() {
			if strings.HasPrefix(o.APIVersion(), "apps/") || strings.HasPrefix(o.APIVersion(), "batch/") {
				if !s.parser.Parse(o.source(), int(o.col)) {
					b.Fatal(s.parser.Refused.Why)
				}
			}
		}
	}
}
