package injector

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/generator"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/istio"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/kubernetes"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

const workloadsEnv = "REWRITE_PROBES_WORKLOADS"

// workloads is how many random workloads there are; their seeds are 1, 2, 3...
// workloadsEnv changes it.
func workloads() uint64 {
	if n, err := strconv.ParseUint(os.Getenv(workloadsEnv), 10, 32); err == nil {
		return n
	}
	if testing.Short() {
		return 500
	}
	return 2000
}

// maxReported bounds how many failures of one test are printed.
const maxReported = 10

// A refusal is an error of rewrite-probes about a pod that Istio accepts.
type refusal struct {
	*mistake      // what Istio does instead
	least    int  // of the random workloads, where each of them may have it
	byIstio  bool // only where istio-proxy answers
	allowed  func(c *comparison) bool
}

// refusals lists the refusals that are allowed, by reason key. The condition on
// the pod is repeated here in terms of the API, independently of the planner:
// the refusal of any other pod is a failure.
var refusals = map[string]*refusal{
	"status-port-invalid": {
		mistake: &mistake{number: 8, what: "a status port of 0, or one of the ports of Istio itself, is accepted, and nothing answers the rewritten probes"},
		least:   25, byIstio: true,
		allowed: func(c *comparison) bool {
			value, set := c.input.Annotations["status.sidecar.istio.io/port"]
			port, err := strconv.ParseUint(value, 10, 16)
			return set && (err != nil || port == 0 || slices.Contains(istiosOwnPorts, int(port)))
		},
	},
	"annotation-invalid": {
		mistake: &mistake{what: "a value of `sidecar.istio.io/rewriteAppHTTPProbers` that is no boolean is taken for true"},
		least:   40,
		allowed: func(c *comparison) bool {
			value, set := c.input.Annotations["sidecar.istio.io/rewriteAppHTTPProbers"]
			_, err := strconv.ParseBool(value)
			return set && err != nil
		},
	},
	"rewriter-needed": {
		mistake: &mistake{what: "nothing is refused for a probe that only Istio's rewriter, which the pod asks for, could serve"},
		allowed: func(c *comparison) bool {
			on, err := strconv.ParseBool(c.input.Annotations["sidecar.istio.io/rewriteAppHTTPProbers"])
			return err == nil && on
		},
	},
	"port-taken": {
		mistake: &mistake{number: 9, what: "an app that listens on the status port is not noticed"},
		least:   25,
		allowed: func(c *comparison) bool {
			ports := []int{c.port, ownPort} // the refused pod does not say who would answer
			if c.port == 0 {                // refused for that too, and the default taken
				ports = append(ports, 15020)
			}
			found := false
			eachContainer(c.input, func(container corev1.Container, _ bool) {
				for _, p := range container.Ports {
					found = found || slices.Contains(ports, int(p.ContainerPort)) && p.Protocol == corev1.ProtocolTCP && container.Name != istio.ProxyName
				}
			})
			all, err := outcomes(c.input, "")
			for at, o := range all {
				port, host, _ := o.target()
				n, _ := c.resolve(at, port)
				found = found || n == ownPort && host == "" // the app listens where its probe goes
			}
			return found && err == nil
		},
	},
}

// istiosOwnPorts are those on which Istio's sidecar itself listens, except for the
// status port.
var istiosOwnPorts = []int{15000, 15001, 15004, 15006, 15008, 15021, 15053, 15090}

// A tally counts the results of comparing pods.
type tally struct {
	pods         int
	invalid      int            // the API server refuses them: not compared
	refusedBoth  int            // Istio's webhook refuses them; we say why, or have nothing to do
	refused      map[string]int // by reason
	leftToIstio  int            // an annotation says that Istio rewrites them: we leave them as they are
	uninjected   int            // in namespaces where nothing is injected: we leave them as they are
	custom       int            // pod templates of kinds that Istio does not see before their pods
	groups       int            // WorkloadGroups, which have a probe and no pods
	places       int
	equal        int
	rewritten    int // of the equal and explained ones: another handler than before, or an entry
	reported     int // rewritten as rewrite-probes reports it, in custom kinds too
	explained    map[*mistake]int
	explainedAll int
	unexplained  []string
}

func newTally() *tally {
	return &tally{refused: make(map[string]int), explained: make(map[*mistake]int)}
}

func (s *tally) problem(format string, args ...any) {
	s.unexplained = append(s.unexplained, fmt.Sprintf(format, args...))
}

func (s *tally) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "pods %d (refused by the API server, so not compared: %d more)\n", s.pods, s.invalid)
	fmt.Fprintf(&b, "probes and hooks %d: equal %d, explained %d, unexplained %d; %d of them rewritten\n", s.places, s.equal, s.explainedAll, len(s.unexplained), s.rewritten)
	for _, m := range mistakes {
		fmt.Fprintf(&b, "  %5d  %s\n", s.explained[m], m)
	}
	fmt.Fprintf(&b, "pods that the webhook refuses, of which we say why or change nothing: %d\n", s.refusedBoth)
	for _, reason := range slices.Sorted(maps.Keys(refusals)) {
		fmt.Fprintf(&b, "  %5d  refused by us alone (%s): %s\n", s.refused[reason], reason, refusals[reason])
	}
	return b.String()
}

// A floor is the least that must have been compared, so that no test passes
// because pods were refused, skipped or equal by chance.
type floor struct {
	pods, places, rewritten int
	everyMistake            bool // each as often as it says
	byIstio                 bool
}

// missing returns what is below the floor.
func (s *tally) missing(f floor) []string {
	var below []string
	atLeast := func(what string, n, least int) {
		if n < least {
			below = append(below, fmt.Sprintf("%s: %d, must be at least %d", what, n, least))
		}
	}
	refused := 0
	for _, n := range s.refused {
		refused += n
	}
	atLeast("pods compared in full", s.pods-s.refusedBoth-refused, f.pods)
	atLeast("probes and hooks compared", s.places, f.places)
	atLeast("probes and hooks reported as rewritten", s.reported, f.rewritten)
	if !f.everyMistake {
		return below
	}
	for _, m := range mistakes {
		if m.by == "" || f.byIstio == (m.by == istio.ProxyName) {
			atLeast(m.String(), s.explained[m], m.least)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(refusals)) {
		if r := refusals[reason]; f.byIstio || !r.byIstio {
			atLeast("refused with "+reason, s.refused[reason], r.least)
		}
	}
	return below
}

func (s *tally) check(t *testing.T, f floor) {
	t.Helper()
	t.Logf("\n%s", s)
	for i, p := range s.unexplained {
		if i == maxReported {
			t.Errorf("and %d more", len(s.unexplained)-i)
			break
		}
		t.Error(p)
	}
	for _, below := range s.missing(f) {
		t.Error(below)
	}
}

// one compares what Istio makes of the pod of a manifest with what rewrite-probes
// makes of the manifest, which has one object.
func (s *tally) one(t *testing.T, i *istio.Injector, manifest []byte, spec rewriting.Settings) {
	output, r, err := rewrite(manifest, spec)
	if err != nil {
		s.problem("%v\n%s", err, manifest)
		return
	}
	before, after := decoded(t, "input", manifest), decoded(t, "output", output)
	if len(before) != 1 || len(after) != 1 {
		s.problem("%d objects have become %d\n%s", len(before), len(after), output)
		return
	}
	o := before[0]
	if again, _, err := rewrite(output, spec); err != nil || !bytes.Equal(again, output) {
		s.problem("%s: a second run gives (%v)\n%s", o, err, again)
	}
	s.reported += rewrittenIn(r)
	s.against(i, o, after[0], r.Messages, spec["answeredBy"] == "istio-proxy" || asksForIstio(o.Template) && !hasContainer(after[0].Template, proxyName))
}

// against compares what Istio makes of a pod with what rewrite-probes made of
// it. byIstio is set if istio-proxy answers our rewritten probes.
func (s *tally) against(i *istio.Injector, o, after kubernetes.Object, messages []report.Message, byIstio bool) {
	input := kubernetes.Default(kubernetes.Pod(o.Template, o.Namespace))
	if kubernetes.Validate(input) != nil {
		s.invalid++
		return
	}
	s.pods++
	c := &comparison{input: input, port: ownPort, byIstio: byIstio}
	mode := istio.Native
	if byIstio {
		mode, c.port = istio.Ordinary, c.statusPort()
	}
	injected, refusal := i.Inject(input, mode)
	same := reflect.DeepEqual(o, after)
	failures := reasons(messages, transformer.Error)
	switch {
	case refusal != nil:
		s.refusedBoth++
		if len(failures)+len(reasons(messages, transformer.Warning)) == 0 && !same {
			s.problem("%s: %v; we rewrite it and say nothing", o, refusal)
		}
		return
	case len(failures) > 0 && !same:
		s.problem("%s: an error, and yet the object was changed", o)
		return
	case same && slices.Contains(reasons(messages, transformer.Info), "injector-rewrites"):
		s.leftToIstio++
		return
	case len(failures) > 0:
		s.refusedByUs(o, c, messages, failures)
		return
	}
	ours := kubernetes.Pod(after.Template, o.Namespace)
	if err := kubernetes.Validate(ours); err != nil {
		s.problem("%s: the API server refuses what we make of it: %v", o, err)
		return
	}
	c.istio = injected
	verdicts, err := c.compare(ours)
	if err != nil {
		s.problem("%s: %v", o, err)
		return
	}
	for _, v := range verdicts {
		s.places++
		if v.rewritten {
			s.rewritten++
		}
		switch {
		case v.problem != "":
			s.problem("%s, %s mode: %s\nlabels %q, annotations %q", o, mode, v.problem, input.Labels, input.Annotations)
		case len(v.explained) == 0:
			s.equal++
		default:
			s.explainedAll++
			for _, m := range v.explained {
				s.explained[m]++
			}
		}
	}
}

func rewrittenIn(r *report.Report) int {
	n := 0
	for _, t := range r.Templates {
		for _, p := range t.Probes {
			if p.State == transformer.WouldRewrite {
				n++
			}
		}
	}
	return n
}

// refusedByUs counts the reasons of a refusal and checks that each is allowed.
func (s *tally) refusedByUs(o kubernetes.Object, c *comparison, messages []report.Message, failures []string) {
	for _, reason := range failures {
		if r := refusals[reason]; r == nil || !r.allowed(c) {
			s.problem("%s: Istio takes the pod, and we refuse it, which is not allowed for the reason %s: %s", o, reason, messages[0])
			return
		}
	}
	s.refused[failures[0]]++ // a pod counts once
}

// asksForIstio reports whether a pod template itself requests Istio's sidecar.
func asksForIstio(t *corev1.PodTemplateSpec) bool {
	const key = "sidecar.istio.io/inject"
	value, labelled := t.Labels[key]
	if !labelled {
		value = t.Annotations[key]
	}
	found := value == "true"
	return found || hasContainer(t, istio.ProxyName)
}

func hasContainer(t *corev1.PodTemplateSpec, name string) bool {
	return container(&corev1.Pod{Spec: t.Spec}, name) != nil
}

func workload(w generator.Workload) kubernetes.Object {
	return kubernetes.Object{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name, Template: &w.Template}
}

// random compares the random workloads, after change.
func random(t *testing.T, spec rewriting.Settings, change func(*generator.Workload)) *tally {
	i, s := istio.New(t), newTally()
	for seed := range workloads() {
		w := generator.New(seed + 1)
		change(&w)
		text, err := w.YAML()
		if err != nil {
			t.Fatal(err)
		}
		s.one(t, i, text, spec)
	}
	return s
}

// randomFloor is what the random workloads must reach: nine in ten are compared
// in full, with nearly four handlers each, half of which are rewritten.
func randomFloor(byIstio bool) floor {
	n := int(workloads())
	return floor{pods: n * 9 / 10 * 9 / 10, places: n * 35 / 10, rewritten: n * 18 / 10, everyMistake: n >= 2000, byIstio: byIstio}
}

func TestRewritingForIstioProxyIsIstiosWithoutItsMistakes(t *testing.T) {
	s := random(t, rewriting.Settings{"answeredBy": "istio-proxy", "istio": certain}, func(*generator.Workload) {})
	s.check(t, randomFloor(true))
	comparisons = append(comparisons, column{"random workloads, `answeredBy: istio-proxy`", false, s})
}

func TestRewritingForProbeProxyIsIstiosWithoutItsMistakes(t *testing.T) {
	s := random(t, rewriting.Settings{"answeredBy": "auto", "istio": certain}, func(w *generator.Workload) {
		// Where Istio's status server listens is nothing to probe-proxy.
		delete(w.Template.Annotations, "status.sidecar.istio.io/port")
	})
	s.check(t, randomFloor(false))
	comparisons = append(comparisons, column{"random workloads, `answeredBy: auto`", false, s})
}

// A file of manifests from the real world.
type file struct {
	name string
	text []byte
}

const root = "../../.." // the repository

// corpus returns the manifests of the real world and of the repository.
func corpus(t *testing.T) []file {
	t.Helper()
	var files []file
	for _, name := range testutil.Manifests(t, root) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file{filepath.Base(name), text})
	}
	return files
}

// with returns the floor raised by what a file of the corpus holds.
func (f floor) with(name string) floor {
	holds := map[string]floor{
		"argocd.yaml":   {pods: 7, places: 6, rewritten: 6},
		"kubeflow.yaml": {pods: 30, places: 45, rewritten: 38},
		"kubeprom.yaml": {pods: 6, places: 4, rewritten: 3},
		"msdemo.yaml":   {pods: 12, places: 22, rewritten: 22},
	}[name]
	return floor{pods: f.pods + holds.pods, places: f.places + holds.places, rewritten: f.rewritten + holds.rewritten}
}

func TestManifestsOfTheRealWorldAreRewrittenAsIstioDoesWithoutItsMistakes(t *testing.T) {
	i := istio.New(t)
	for _, answeredBy := range []string{"istio-proxy", "auto"} {
		s := newTally()
		// The real world's pods are not random: all of them are compared.
		least := floor{pods: 10, places: 15, rewritten: 10}
		files := corpus(t)
		for _, f := range files {
			s.file(t, i, f, answeredBy)
			least = least.with(f.name)
		}
		s.check(t, least)
		comparisons = append(comparisons, column{"manifests of the real world, `answeredBy: " + answeredBy + "`", true, s})
	}
}

// file compares all pods of a file, which is rewritten as it is.
func (s *tally) file(t *testing.T, i *istio.Injector, f file, answeredBy string) {
	output, r, err := rewrite(f.text, rewriting.Settings{"answeredBy": answeredBy, "istio": certain})
	if err != nil {
		t.Fatalf("%s: %v", f.name, err)
	}
	before, after := decoded(t, f.name, f.text), decoded(t, f.name, output)
	if len(before) != len(after) {
		t.Fatalf("%s: %d objects have become %d", f.name, len(before), len(after))
	}
	s.reported += rewrittenIn(r)
	injection, anyInjected := make(map[string]string), false
	for _, o := range before {
		if o.Kind == "Namespace" {
			injection[o.Name] = o.Labels["istio-injection"]
			anyInjected = anyInjected || injection[o.Name] == "enabled"
		}
	}
	compared := 0
	for n, o := range before {
		if o.Template == nil {
			continue
		}
		compared++
		own, known := injection[o.Namespace]
		if own == "disabled" || known && own == "" && anyInjected && !asksForIstio(o.Template) {
			// The API server asks no webhook there.
			s.uninjected++
			if !reflect.DeepEqual(o, after[n]) {
				s.problem("%s: is never injected, and yet it was changed", o)
			}
			continue
		}
		about := slices.DeleteFunc(slices.Clone(r.Messages), func(m report.Message) bool {
			return m.Object == nil || m.Object.Kind != o.Kind || m.Object.Name != o.Name || m.Object.Namespace != o.Namespace
		})
		byIstio := answeredBy == "istio-proxy" || (asksForIstio(o.Template) || injection[o.Namespace] == "enabled") && !hasContainer(after[n].Template, proxyName)
		s.against(i, o, after[n], about, byIstio)
	}
	groups := 0
	for _, t := range r.Templates {
		if t.IsWorkloadGroup {
			groups++
		}
	}
	s.groups += groups
	s.custom += len(r.Templates) - compared - groups
}

func decoded(t *testing.T, name string, stream []byte) []kubernetes.Object {
	t.Helper()
	all, err := kubernetes.Objects(stream)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return all
}
