package injector

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/rewrite-probes/rewrite-probes/conformance/injector/generator"
	"github.com/rewrite-probes/rewrite-probes/conformance/injector/istio"
	"github.com/rewrite-probes/rewrite-probes/conformance/injector/kubernetes"
	"github.com/rewrite-probes/rewrite-probes/fn/report"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// workloads is how many random workloads there are; their seeds are 1, 2, 3...
// REWRITE_PROBES_WORKLOADS changes it.
func workloads() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("REWRITE_PROBES_WORKLOADS"), 10, 32); err == nil {
		return n
	}
	if testing.Short() {
		return 500
	}
	return 3000
}

// maxReported bounds how many failures of one test are printed.
const maxReported = 10

// refusals are the errors of ours on a pod that Istio takes, by reason key,
// with what Istio does instead and the number of that mistake.
var refusals = map[string]*mistake{
	"status-port-invalid": {number: 8, what: "a status port of 0, or one of the ports of Istio itself, is accepted, and nothing answers the rewritten probes"},
	"annotation-invalid":  {number: 8, what: "a value of `sidecar.istio.io/rewriteAppHTTPProbers` that is no boolean is taken for true"},
	"port-taken":          {number: 9, what: "an app that listens on the status port is not noticed"},
}

// A tally counts what came of comparing pods.
type tally struct {
	pods         int
	invalid      int // the API server refuses them: not compared
	refusedBoth  int // Istio's webhook refuses them; we say why, or have nothing to do
	refused      map[*mistake]int
	places       int
	equal        int
	rewritten    int // of the equal and explained ones, rewritten by us
	explained    map[*mistake]int
	explainedAll int
	unexplained  []string
}

func newTally() *tally {
	return &tally{refused: make(map[*mistake]int), explained: make(map[*mistake]int)}
}

func (s *tally) problem(format string, args ...any) {
	s.unexplained = append(s.unexplained, fmt.Sprintf(format, args...))
}

func (s *tally) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "pods %d (refused by the API server, so not compared: %d more)\n", s.pods, s.invalid)
	fmt.Fprintf(&b, "probes and hooks %d: equal %d, explained %d, unexplained %d; %d of them rewritten\n", s.places, s.equal, s.explainedAll, len(s.unexplained), s.rewritten)
	for _, m := range mistakes {
		fmt.Fprintf(&b, "  %5d  mistake %d: %s\n", s.explained[m], m.number, m.what)
	}
	fmt.Fprintf(&b, "pods that the webhook refuses, of which we say why or change nothing: %d\n", s.refusedBoth)
	for _, reason := range slices.Sorted(maps.Keys(refusals)) {
		m := refusals[reason]
		fmt.Fprintf(&b, "  %5d  refused by us alone (%s), mistake %d: %s\n", s.refused[m], reason, m.number, m.what)
	}
	return b.String()
}

func (s *tally) check(t *testing.T) {
	t.Helper()
	t.Logf("\n%s", s)
	for i, p := range s.unexplained {
		if i == maxReported {
			t.Errorf("and %d more", len(s.unexplained)-i)
			break
		}
		t.Error(p)
	}
	if s.places == 0 {
		t.Error("nothing was compared")
	}
}

// against compares what Istio makes of a pod with what rewrite-probes makes
// of the manifest that it comes from.
func (s *tally) against(i *istio.Injector, o object, manifest []byte, spec settings) {
	input := kubernetes.Default(kubernetes.Pod(o.template, o.namespace))
	if kubernetes.Validate(input) != nil {
		s.invalid++
		return
	}
	s.pods++
	mode, port := istio.Native, 15020
	c := &comparison{input: input}
	if spec["answeredBy"] == "istio-proxy" || asksForIstio(input) {
		mode, port, c.byIstio = istio.Ordinary, c.statusPort(), true
	}
	injected, refusal := i.Inject(input, mode)
	output, r, err := rewrite(manifest, spec)
	if err != nil {
		s.problem("%s: %v\n%s", o, err, manifest)
		return
	}
	failures := reasons(r, transformer.Error)
	switch {
	case refusal != nil:
		s.refusedBoth++
		if len(failures)+len(reasons(r, transformer.Warning)) == 0 && !bytes.Equal(manifest, output) {
			s.problem("%s: %v; we rewrite it and say nothing\n%s", o, refusal, output)
		}
		return
	case len(failures) > 0:
		s.refusedByUs(o, manifest, output, r, failures)
		return
	}
	after, err := objects(output)
	if err != nil || len(after) != 1 || after[0].template == nil {
		s.problem("%s: cannot decode our output: %v\n%s", o, err, output)
		return
	}
	ours := kubernetes.Pod(after[0].template, o.namespace)
	if err := kubernetes.Validate(ours); err != nil {
		s.problem("%s: the API server refuses our output: %v\n%s", o, err, output)
		return
	}
	c.istio, c.port = injected, port
	verdicts, err := c.compare(ours)
	if err != nil {
		s.problem("%s: %v\n%s", o, err, output)
		return
	}
	for _, v := range verdicts {
		s.places++
		switch {
		case v.problem != "":
			s.problem("%s, %s injection: %s\nmanifest:\n%s", o, mode, v.problem, manifest)
		case len(v.explained) == 0:
			s.equal++
		default:
			s.explainedAll++
			for _, m := range v.explained {
				s.explained[m]++
			}
		}
	}
	for _, tmpl := range r.Templates {
		for _, p := range tmpl.Probes {
			if p.State == transformer.WouldRewrite {
				s.rewritten++
			}
		}
	}
}

func (s *tally) refusedByUs(o object, manifest, output []byte, r *report.Report, failures []string) {
	if !bytes.Equal(manifest, output) {
		s.problem("%s: an error, and yet the object was changed:\n%s", o, output)
		return
	}
	for _, reason := range failures {
		m := refusals[reason]
		if m == nil {
			s.problem("%s: Istio takes the pod, we do not: %s\n%s", o, r.Messages[0], manifest)
			return
		}
		s.refused[m]++
	}
}

// asksForIstio tells whether a pod template says itself that it is to have
// Istio's sidecar.
func asksForIstio(pod *corev1.Pod) bool {
	const key = "sidecar.istio.io/inject"
	value, labelled := pod.Labels[key]
	if !labelled {
		value = pod.Annotations[key]
	}
	found := value == "true"
	eachContainer(pod, func(c corev1.Container, _ bool) { found = found || c.Name == istio.ProxyName })
	return found
}

func newInjector(t *testing.T) *istio.Injector {
	t.Helper()
	i, err := istio.New()
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// random compares the random workloads, after change.
func random(t *testing.T, spec settings, change func(*generator.Workload)) *tally {
	i, s := newInjector(t), newTally()
	for seed := range workloads() {
		w := generator.New(seed + 1)
		change(&w)
		text, err := w.YAML()
		if err != nil {
			t.Fatal(err)
		}
		s.against(i, object{w.Kind, w.Namespace, w.Name, &w.Template}, text, spec)
	}
	return s
}

func TestRewritingForIstioProxyIsIstiosWithoutItsMistakes(t *testing.T) {
	s := random(t, settings{"answeredBy": "istio-proxy"}, func(*generator.Workload) {})
	s.check(t)
	note("random workloads, answeredBy: istio-proxy", s)
}

func TestRewritingForProbeProxyIsIstiosWithoutItsMistakes(t *testing.T) {
	s := random(t, settings{"answeredBy": "auto"}, func(w *generator.Workload) {
		// Where Istio's status server listens is nothing to probe-proxy.
		delete(w.Template.Annotations, "status.sidecar.istio.io/port")
	})
	s.check(t)
	note("random workloads, answeredBy: auto", s)
}

// A file of manifests from the real world.
type file struct {
	name string
	text []byte
}

// corpus gives the manifests of the corpus beside the repository; where that
// is missing, it says so and gives those of the repository.
func corpus(t *testing.T) []file {
	t.Helper()
	files := glob(t, "../../../shared/corpus/*.yaml")
	if len(files) == 0 {
		t.Log("MISSING: the corpus of real-world manifests does not lie beside the repository; only testdata/manifests is compared")
	}
	return append(files, glob(t, "../../testdata/manifests/*.yaml")...)
}

func glob(t *testing.T, pattern string) []file {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var files []file
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file{filepath.Base(name), text})
	}
	return files
}

func TestManifestsOfTheRealWorldAreRewrittenAsIstioDoesWithoutItsMistakes(t *testing.T) {
	i := newInjector(t)
	for _, answeredBy := range []string{"istio-proxy", "auto"} {
		s := newTally()
		for _, f := range corpus(t) {
			for _, o := range templates(t, f) {
				w := generator.Workload{Kind: o.kind, Name: o.name, Namespace: o.namespace, Template: *o.template}
				text, err := w.YAML()
				if err != nil {
					t.Fatal(err)
				}
				s.against(i, o, text, settings{"answeredBy": answeredBy})
			}
		}
		s.check(t)
		note("manifests of the real world, answeredBy: "+answeredBy, s)
	}
}

// templates gives the objects of a file that hold a pod template.
func templates(t *testing.T, f file) []object {
	t.Helper()
	all, err := objects(f.text)
	if err != nil {
		t.Fatalf("%s: %v", f.name, err)
	}
	return slices.DeleteFunc(all, func(o object) bool { return o.template == nil })
}
