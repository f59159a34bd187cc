package worlds

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/generator"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/istio"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/kubernetes"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/worlds/model"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// templates is how many random pod templates there are, with seeds 1, 2, 3...;
// each comes with as many random knowledges.
// REWRITE_PROBES_WORLDS changes the first.
const knowledges = 20

func templates() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("REWRITE_PROBES_WORLDS"), 10, 32); err == nil {
		return n
	}
	if testing.Short() {
		return 100
	}
	return 400
}

// maxReported bounds how many failures of a property are printed.
const maxReported = 3

// A setting is what decides in Istio's control plane how pods are injected. If it has a lifecycle for
// istio-proxy, nobody waits, whatever a pod asks for.
type setting struct{ hold, rewrites, moved, lifecycle bool }

// A cluster injects.
type cluster struct {
	injectors map[setting]*istio.Injector
	injected  map[string]arrival // of the current template
}

// An arrival is a pod as it gets to the kubelet, or the reason why it does not.
type arrival struct {
	pod     *corev1.Pod
	refused string
	calls   bool // the injector put its sidecar in
}

func newCluster(t testing.TB) *cluster {
	c := &cluster{injectors: make(map[setting]*istio.Injector)}
	for i := range 16 {
		s := setting{hold: i&1 > 0, rewrites: i&2 > 0, moved: i&4 > 0, lifecycle: i&8 > 0}
		if s.hold && s.lifecycle {
			continue
		}
		c.injectors[s] = istio.New(t, s.values()...)
	}
	return c
}

// values returns the setting as values of Istio's charts.
func (s setting) values() []string {
	values := []string{
		fmt.Sprintf("values.global.proxy.holdApplicationUntilProxyStarts=%t", s.hold),
		fmt.Sprintf("values.sidecarInjectorWebhook.rewriteAppHTTPProbe=%t", s.rewrites),
	}
	if s.moved {
		values = append(values, fmt.Sprintf("meshConfig.defaultConfig.statusPort=%d", movedPort), fmt.Sprintf("values.global.proxy.statusPort=%d", movedPort))
	}
	if s.lifecycle {
		values = append(values, "values.global.proxy.lifecycle.preStop.exec.command[0]=/bin/true")
	}
	return values
}

// arrive creates a pod in a world.
func (c *cluster) arrive(pod *corev1.Pod, key string, w world) arrival {
	w = world{injected: w.injected, native: w.native, hold: w.hold, rewrites: w.rewrites, moved: w.moved} // the rest is nothing to the injector
	key = fmt.Sprint(w, key)
	if a, seen := c.injected[key]; seen {
		return a
	}
	var a arrival
	pod = withDapr(pod)
	if err := kubernetes.Validate(pod); err != nil {
		a.refused = "the API server: " + err.Error()
	} else if a.pod = pod; w.injected {
		if a.pod, err = c.injectors[setting{w.hold, w.rewrites, w.moved, !w.hold && asksToHold(pod)}].Inject(pod, w.mode()); err != nil {
			a.refused = "the webhook: " + err.Error()
		} else if err = kubernetes.Validate(a.pod); err != nil {
			a.refused = "the API server, of the injected pod: " + err.Error()
		} else {
			a.calls = len(a.pod.Annotations["sidecar.istio.io/status"]) > 0
		}
	}
	c.injected[key] = a
	return a
}

// A side is a workload as it is, or as rewrite-probes makes it.
type side struct {
	text   []byte
	object kubernetes.Object
	pod    *corev1.Pod
	key    string // of the pod
	sites  map[model.Site]corev1.ProbeHandler
	asked  map[model.Site]corev1.ProbeHandler
	checks map[string]map[string]transformer.Severity // what check says, by field and reason
	unless map[string]string                          // on what it says that depends, by field
}

func newSide(text []byte) (*side, error) {
	s := &side{text: text}
	all, err := kubernetes.Objects(firstObject(s))
	if err != nil {
		return nil, err
	}
	s.object = all[0]
	s.pod = kubernetes.Default(kubernetes.Pod(s.object.Template, s.object.Namespace))
	key, err := json.Marshal(s.pod)
	s.key, s.sites = string(key), model.Sites(s.pod)
	s.asked = model.Sites(withDapr(s.pod))
	return s, err
}

// order returns the probes and hooks, in an order that is always the same.
func (s *side) order() []model.Site { return slices.SortedFunc(maps.Keys(s.sites), model.Compare) }

// life returns what becomes of the pod in a world.
func (s *side) life(c *cluster, k *knowledge, w world) (model.Life, arrival) {
	a := c.arrive(s.pod, s.key, w)
	if a.refused != "" {
		return model.Life{Down: a.refused}, a
	}
	return model.Judge(a.pod, s.asked, k.model(s.pod, s.object.Namespace, w)), a
}

// A trial is one case.
type trial struct {
	*result
	*cluster
	k             knowledge
	seed          uint64 // of the workload
	input, output *side
	messages      []report.Message               // of the rewriting
	verdicts      map[string]transformer.Verdict // of the input, by field
	config        string
	plain         model.Life // of the input, without a mesh
}

// A result counts what happened, and keeps what must not.
type result struct {
	n        map[string]int
	problems map[string][]problem // by property
}

// A problem is a case of a property that does not hold.
type problem struct {
	seed  uint64
	words string
}

func newResult() *result {
	return &result{n: make(map[string]int), problems: make(map[string][]problem)}
}

// merged returns what all results come to, which does not depend on who judged which case.
func merged(all []*result) *result {
	sum := newResult()
	for _, r := range all {
		for what, n := range r.n {
			sum.n[what] += n
		}
		for property, problems := range r.problems {
			sum.problems[property] = append(sum.problems[property], problems...)
		}
	}
	for _, problems := range sum.problems {
		slices.SortStableFunc(problems, func(a, b problem) int { return cmp.Compare(a.seed, b.seed) })
	}
	return sum
}

func (t *trial) count(what string) { t.n[what]++ }

// problem notes that a property does not hold. Of each only the first are kept.
func (t *trial) problem(property, format string, args ...any) {
	t.n["FAILED: "+property]++
	if len(t.problems[property]) < maxReported {
		words := fmt.Sprintf("%s (seed %d)\n%s\nconfig: %s\nfiles around it: %v %v\ninput:\n%s\noutput:\n%s", property, t.seed,
			fmt.Sprintf(format, args...), t.config, t.k.files, t.k.branch.text, t.input.text, firstObject(t.output))
		t.problems[property] = append(t.problems[property], problem{t.seed, words})
	}
}

func firstObject(s *side) []byte {
	if s == nil {
		return nil
	}
	text, _, _ := bytes.Cut(s.text, []byte("\n---"))
	return text
}

// run takes the case's manifests through rewrite-probes.
func (t *trial) run(text []byte) error {
	config, err := json.Marshal(t.k.config)
	if err != nil {
		return err
	}
	t.config = string(config)
	c, err := rewriting.Config(t.k.config)
	if err != nil {
		return err
	}
	if t.input, err = newSide(text); err != nil {
		return err
	}
	checked, inspected, err := check(text, t.k.files, t.k.checked())
	if err != nil {
		return err
	}
	t.input.hear(checked)
	t.verdicts = make(map[string]transformer.Verdict)
	for _, template := range inspected.Templates {
		for _, p := range template.Probes {
			t.verdicts[p.Field.String()] = p
		}
	}
	output, r, err := rewriting.RunIn(rewriting.Folder{Name: here, Others: t.k.files}, text, c, pipeline.Rewrite)
	if err != nil {
		return err
	}
	t.messages = r.Messages
	if t.output, err = newSide(output); err != nil {
		return err
	}
	t.plain = model.Judge(t.input.pod, t.input.asked, model.World{})
	t.output.asked = asked(t.input, t.output)
	checked, _, err = check(output, t.k.files, t.k.checked())
	t.output.hear(checked)
	return err
}

// asked returns what the authors of the app wrote, and those of an added container.
func asked(input, output *side) map[model.Site]corev1.ProbeHandler {
	all := maps.Clone(output.asked)
	maps.Copy(all, input.sites)
	return all
}

// hear notes what check says.
func (s *side) hear(messages []report.Message) {
	s.checks, s.unless = make(map[string]map[string]transformer.Severity), make(map[string]string)
	for _, m := range messages {
		if s.checks[m.Field.String()] == nil {
			s.checks[m.Field.String()] = make(map[string]transformer.Severity)
		}
		severity := m.Severity
		if m.Reason == reason.InjectorUnknown {
			severity = transformer.Warning // that is an error of the run, and open for the probe
		}
		s.checks[m.Field.String()][m.Reason.String()] = severity
		if m.Doubt != nil && m.Doubt.If != "" && isOfCheck(m.Reason.String()) {
			s.unless[m.Field.String()] = m.Doubt.If
		}
	}
}

// check returns what `rewrite-probes check` says, and what it found.
func check(text []byte, others map[string]string, spec rewriting.Settings) ([]report.Message, *report.Report, error) {
	c, err := rewriting.Config(spec)
	if err != nil {
		return nil, nil, err
	}
	_, r, err := rewriting.RunIn(rewriting.Folder{Name: here, Others: others}, text, c, pipeline.Judge)
	if err != nil {
		return nil, nil, err
	}
	return r.Messages, r, nil
}

// judge holds a case against its worlds. g draws the patches of its output: what is known of the next
// case must not depend on what becomes of this one.
func (t *trial) judge(g *source) {
	errors := refused(t.messages)
	changed := !bytes.Equal(t.input.text, t.output.text)
	rest := func(s *side) []byte { return s.text[len(firstObject(s)):] }
	switch {
	case errors && changed:
		t.problem("a template with an error is left as it is", "%v", t.messages)
	case !bytes.Equal(rest(t.input), rest(t.output)):
		t.problem("what has no pod template is left as it is", "%s", rest(t.output))
	case errors:
		t.count("refused templates")
		t.judgeRefused()
	case changed:
		t.count("rewritten templates")
		t.judgeExposed()
	default:
		t.count("templates left as they are")
	}
	t.countDrawn()
	t.count(fmt.Sprintf("injected: %v", t.k.injection(t.input.pod, t.input.object.Namespace)))
	before, after := make(map[model.Site]bool), make(map[model.Site]bool)
	for _, w := range t.plansWorlds() {
		t.count("worlds of plans")
		for word := range strings.SplitSeq(w.String(), ", ") {
			t.count("worlds: " + word)
		}
		t.compare(w, before, after)
	}
	for at := range before {
		if t.plain.Fates[at] == model.Answered && !slices.Contains(onPurpose, t.verdicts[fieldOf(t.input.pod, at, t.input.object.Kind)].Reason.String()) {
			t.count("probes bad in some world")
			if after[at] {
				t.count("probes bad in some world afterwards too")
			}
		}
	}
	t.judgeCheck("input", t.input)
	if err := t.judgeBranch(); err != nil {
		t.problem("another branch can be judged", "%v", err)
	}
	if changed {
		t.k.rules = nil // they are about what the input says
		t.judgeCheck("output", t.output)
		if err := t.judgePatched(g); err != nil {
			t.problem("a patched output can be judged", "%v", err)
		}
	}
}

// judgeRefused: where nobody says who answers, nothing is refused that probe-proxy could do,
// unless it is the app that takes a port of Istio's, or Istio's agent that listens nowhere:
// whoever says so is asked what is meant.
func (t *trial) judgeRefused() {
	nowhere := t.input.pod.Annotations["status.sidecar.istio.io/port"] == "0"
	if by := t.k.config["answeredBy"]; by != nil && by != "auto" || nowhere || strings.Contains(t.input.key, oddPort) {
		return
	}
	t.count("refused, whoever answers")
	spec := maps.Clone(t.k.config)
	spec["answeredBy"] = "probe-proxy"
	if c, err := rewriting.Config(spec); err != nil {
		t.problem("nothing is refused that probe-proxy could do", "%v", err)
	} else if _, r, err := rewriting.RunIn(rewriting.Folder{Name: here, Others: t.k.files}, t.input.text, c, pipeline.Rewrite); err != nil || !refused(r.Messages) {
		t.problem("nothing is refused that probe-proxy could do", "%v, and %v", t.messages, err)
	}
}

// judgeExposed: no plan takes a port out of the mesh to which a Service may lead.
func (t *trial) judgeExposed() {
	ports := func(s *side) []string {
		return strings.FieldsFunc(s.pod.Annotations[excludeInboundPorts], func(r rune) bool { return r == ',' || r == ' ' })
	}
	for _, port := range ports(t.output) {
		n, _ := strconv.Atoi(port)
		if isOwn := n == model.OwnPort || n == t.k.config["port"]; isOwn || slices.Contains(ports(t.input), port) {
			continue
		}
		t.count("a port leaves the mesh")
		for _, s := range t.k.services {
			leads := slices.ContainsFunc(s.ports(), func(p service) bool { return p.leadsTo(t.input.pod, n) })
			if leads && t.k.selects(s.selector, world{labelled: true}) {
				t.problem("no port leaves the mesh to which a Service may lead", "port %d: %v", n, s)
			}
		}
	}
}

func refused(messages []report.Message) bool {
	return slices.ContainsFunc(messages, func(m report.Message) bool { return m.Severity == transformer.Error })
}

// countDrawn counts what is drawn for a pod that may be injected.
func (t *trial) countDrawn() {
	pod := t.input.pod
	if !slices.Contains(t.k.injection(pod, t.input.object.Namespace), true) {
		return
	}
	for key, v := range pod.Annotations {
		if strings.Contains(key, "istio.io/") {
			t.count("drawn: " + key + ": " + v)
		}
	}
	if list := pod.Annotations[includeInboundPorts]; list != "" && list == pod.Annotations[excludeInboundPorts] {
		t.count("drawn: ports that are included and excluded")
	}
	t.count(fmt.Sprintf("drawn: answeredBy: %v", t.k.config["answeredBy"]))
}

// plansWorlds returns the worlds that a plan must be right in. Who says that
// istio-proxy answers says that it is injected.
func (t *trial) plansWorlds() []world {
	all := t.k.worlds(t.input.pod, t.input.object.Namespace, false)
	if t.k.config["answeredBy"] == "istio-proxy" && len(all) > 1 {
		all = slices.DeleteFunc(all, func(w world) bool { return !w.injected })
	}
	return all
}

// compare holds what becomes of the output in a world against what becomes of the
// input, and notes which probes are bad.
func (t *trial) compare(w world, badBefore, badAfter map[model.Site]bool) {
	before, came := t.input.life(t.cluster, &t.k, w)
	after, _ := t.output.life(t.cluster, &t.k, w)
	if w.injected && came.refused == "" && !came.calls {
		t.problem("the test's own table of injection is right", "%s: Istio's injector leaves the pod alone", w)
	}
	for _, at := range t.input.order() {
		if before.Down == "" && before.Fates[at] != model.Answered {
			badBefore[at] = true
		}
		if before.Down == "" && after.Bad(at) {
			badAfter[at] = true
		}
		if after.Down == "" {
			t.compareSite(w, at, before, after)
		}
	}
	t.compareServed(w, before, after)
	if after.Down != "" && before.Down == "" {
		t.problem("the pod starts in every world in which it started before", "%s: %s", w, after.Down)
	}
}

// compareServed: where a plan turns Istio's rewriter off, every probe and hook that this served
// is served afterwards, also those of containers that other webhooks add and those that go to a
// host, which only Istio sends to the pod.
func (t *trial) compareServed(w world, before, after model.Life) {
	if !w.rewrites || rewriterOff(t.input.pod) || !rewriterOff(t.output.pod) || before.Down != "" || after.Down != "" {
		return
	}
	t.count("Istio's rewriter is turned off in a world in which it rewrites")
	for at, fate := range before.Fates {
		isServed := after.Fates[at] == model.Answered && after.Why[at] != model.Elsewhere
		if fate == model.Answered && before.Why[at] == model.ThroughIstio && !isServed {
			t.problem("what Istio's rewriter served is served where a plan turns it off", "%s: %v %s, since %s", w, at, after.Fates[at], after.Why[at])
		}
	}
}

// rewriterOff reports whether a pod's annotation turns Istio's rewriter off.
func rewriterOff(pod *corev1.Pod) bool {
	on, err := strconv.ParseBool(pod.Annotations["sidecar.istio.io/rewriteAppHTTPProbers"])
	return err == nil && !on
}

func (t *trial) compareSite(w world, at model.Site, before, after model.Life) {
	now, there := t.output.sites[at]
	was, is := before.Fates[at], after.Fates[at]
	why, _, _ := strings.Cut(before.Why[at], " /") // a path
	t.count("fate: " + strings.TrimRight(why, " 0123456789"))
	words := fmt.Sprintf("%s: %v %s, since %s; before it %s, since %s", w, at, is, after.Why[at], was, before.Why[at])
	switch {
	case !there:
		t.problem("every probe is still there", "%s", words)
	case is != model.Answered && t.leftToTheApp(at) && !w.rewrites && !w.uncaptured:
		t.problem("a probe that is left to the app is answered by it", "%s", words)
	case reflect.DeepEqual(now, t.input.sites[at]):
		if before.Down == "" && is > was {
			t.problem("a probe left alone is no worse", "%s", words)
		}
		if is != model.Answered && w.injected {
			t.count("left alone, and bad: " + is.String())
		}
	case is != model.Answered:
		t.problem("a rewritten probe is answered by the app", "%s", words)
	default:
		t.count("rewritten, and answered " + after.Why[at])
		if before.Bad(at) {
			t.count("rewritten, and cured")
		}
	}
}

// leftToTheApp reports whether the template is written so that the app gets the probe itself.
func (t *trial) leftToTheApp(at model.Site) bool {
	return t.verdicts[fieldOf(t.input.pod, at, t.input.object.Kind)].Reason.String() == "excluded-port" && !refused(t.messages)
}

// onPurpose are the reasons of people who want a probe as it is.
var onPurpose = []string{"opt-out", "istio-opt-out", "skipped-container", "not-selected"}

// judgeCheck: an error is a probe that is bad in every world, a warning one that is
// bad in some, and nothing is said of one that is good in all.
func (t *trial) judgeCheck(what string, s *side) {
	all := t.k.worlds(s.pod, s.object.Namespace, true)
	if t.k.config["answeredBy"] == "istio-proxy" && len(t.k.injection(s.pod, s.object.Namespace)) > 1 {
		t.count("check not judged: answeredBy says what the manifests do not")
		return
	}
	lives := make([]model.Life, len(all))
	for i, w := range all {
		lives[i], _ = s.life(t.cluster, &t.k, w)
	}
	t.judgePodChecked(what, s, all, lives)
	if t.plain.Down != "" && !slices.ContainsFunc(lives, func(l model.Life) bool { return l.Down == "" }) {
		return // it starts nowhere, with or without a mesh
	}
	for _, at := range s.order() {
		if fate, ofApp := t.plain.Fates[at]; ofApp && fate == model.Answered {
			t.judgeSiteChecked(what, s, at, all, lives)
		}
	}
}

// judgePodChecked: of a pod that does not start check says something, unless it is
// the app that takes a port of Istio's, a probe that somebody wants as it is, or the pod
// does not start without a mesh either.
func (t *trial) judgePodChecked(what string, s *side, all []world, lives []model.Life) {
	if t.plain.Down != "" {
		return
	}
	for _, v := range t.verdicts {
		if slices.Contains(onPurpose, v.Reason.String()) {
			return
		}
	}
	var down []string
	for i, l := range lives {
		if l.Down != "" && !strings.Contains(s.key, oddPort) {
			down = append(down, fmt.Sprintf("%s: %s", all[i], l.Down))
		}
	}
	worst := transformer.Severity("")
	for _, found := range s.checks {
		for key, severity := range found {
			if key == reason.InjectorUnknown.String() {
				severity = transformer.Error // of the run
			}
			worst = worse(worst, severity)
		}
	}
	if expected := severityOf(len(down), len(all)); expected != "" && worse(worst, expected) != worst {
		t.problem(fmt.Sprintf("check over the %s: of a pod that does not start it says an %q", what, expected), "what check says: %v\n%s", s.checks, strings.Join(down, "\n"))
	}
}

// severityOf returns what check must say of what is bad in so many worlds.
func severityOf(bad, all int) transformer.Severity {
	switch bad {
	case 0:
		return ""
	case all:
		return transformer.Error
	}
	return transformer.Warning
}

// judgeSiteChecked: in a world in which the pod does not start because of something
// else, check may count the probe as bad or not.
func (t *trial) judgeSiteChecked(what string, s *side, at model.Site, all []world, lives []model.Life) {
	var bad []string
	withDown := 0
	for i, l := range lives {
		if l.Fates[at] != model.Answered {
			bad = append(bad, fmt.Sprintf("%s: %s", all[i], l.Why[at]))
		}
		if l.Down != "" || l.Fates[at] != model.Answered {
			withDown++
		}
	}
	expected, perhaps := severityOf(len(bad), len(all)), severityOf(withDown, len(all))
	field := fieldOf(s.pod, at, s.object.Kind)
	said := severest(s.checks[field])
	t.count(fmt.Sprintf("check over the %s: expected %q", what, expected))
	purpose := slices.Contains(onPurpose, t.verdicts[fieldOf(t.input.pod, at, s.object.Kind)].Reason.String())
	if said == transformer.Warning && withDown == len(bad) {
		t.judgeUnless(what, s, at, all, lives)
	}
	if said == expected || said == perhaps || purpose && said == "" {
		return
	}
	t.problem(fmt.Sprintf("check over the %s says what is: %q, and not %q", what, expected, said), "%v at %s; what check says: %v\nbad in %d of %d worlds:\n%s",
		at, field, s.checks, len(bad), len(all), strings.Join(bad, "\n"))
}

// A seen world is one with what becomes of a probe in it.
type seen struct {
	world
	isBad, isStrict, isRefused bool
	by                         string // the object that decides the protocol of the port
	isBound                    bool   // Envoy itself may listen on the port
}

// A fact is one that a warning of check may name, and the worlds in which it holds.
type fact struct {
	words string
	holds func(seen) bool
}

var deciding = []fact{
	{"Istio injects its sidecar", func(w seen) bool { return w.injected }},
	{"Istio does not inject its sidecar", func(w seen) bool { return !w.injected }},
	{"Istio's sidecar is native", func(w seen) bool { return w.native }},
	{"Istio's sidecar is not native", func(w seen) bool { return !w.native }},
	{"other containers wait for istio-proxy", func(w seen) bool { return w.native || w.hold }},
	{"other containers do not wait for istio-proxy", func(w seen) bool { return !w.native && !w.hold }},
	{"Istio's injector rewrites the probes", func(w seen) bool { return w.rewrites }},
	{"Istio's injector rewrites no probes", func(w seen) bool { return !w.rewrites }},
	{"Istio's injector rewrites no probes, or istio-proxy starts too late", func(w seen) bool { return !w.rewrites || !w.native }},
	{"Istio's injector rewrites no probes, or istio-proxy starts too late", func(w seen) bool { return !w.rewrites || !w.native && !w.hold }},
	{"Istio's injector rewrites the probes, or its CNI plugin redirects the pod's connections", func(w seen) bool { return w.rewrites || w.early }},
	{"Istio's CNI plugin redirects the pod's connections", func(w seen) bool { return w.early }},
	{"Istio's sidecar is native, or its CNI plugin redirects the pod's connections", func(w seen) bool { return w.native || w.early }},
	{"the kubelet's connections come through no excluded interface", func(w seen) bool { return !w.uncaptured }},
	{"the kubelet's connections come through an excluded interface", func(w seen) bool { return w.uncaptured }},
	{"the app listens only where the Sidecar says", func(w seen) bool { return w.local }},
	{"mTLS is strict for its port", func(w seen) bool { return w.isStrict }},
	{"mTLS is not strict for its port", func(w seen) bool { return !w.isStrict }},
	{"the policy and its rule are about it", func(w seen) bool { return w.isRefused }},
	{"the app does not speak HTTP/2 there", func(w seen) bool { return w.onlyHTTP1 }},
	{"its token is not valid", func(w seen) bool { return !w.valid }},
	{"the Sidecar selects the pod", func(w seen) bool { return w.isBound }},
}

// oneOf returns the fact that one of some facts holds, whose words are joined; false if one of them is not known. Of each it
// may be said which object has to decide.
func oneOf(words string, known []fact) (fact, bool) {
	var any []fact
	of := func(words string) (fact, bool) {
		i := slices.IndexFunc(known, func(f fact) bool { return f.words == words })
		return known[max(i, 0)], i >= 0
	}
	for _, w := range strings.Split(words, ", or ") {
		f, is := of(w)
		if by, also, both := strings.Cut(w, " its port and "); both {
			by, isBy := of(by + " its port")
			with, isWith := of(also)
			f, is = fact{w, func(w seen) bool { return by.holds(w) && with.holds(w) }}, isBy && isWith
		}
		if !is {
			return fact{}, false
		}
		any = append(any, f)
	}
	return fact{words, func(w seen) bool {
		return slices.ContainsFunc(any, func(f fact) bool { return f.holds(w) })
	}}, true
}

// places are the files and lines of objects.
var places = regexp.MustCompile(` at \S+:\d+`)

const rewritesNone = "Istio's injector rewrites no probes"

// inFull undoes how facts that come together are shortened.
var inFull = strings.NewReplacer(
	"sidecar but rewrites no probes", "sidecar, and "+rewritesNone,
	"sidecar and rewrites the probes", "sidecar, and Istio's injector rewrites the probes",
	", but it is neither native nor waited for", ", and Istio's sidecar is not native, and other containers do not wait for istio-proxy",
)

// judgeUnless: a warning names facts that all hold wherever the probe is bad. Each of them fails
// to hold somewhere where it is good, and if all such facts together tell the two apart, those that
// are named do.
func (t *trial) judgeUnless(what string, s *side, at model.Site, all []world, lives []model.Life) {
	said := s.unless[fieldOf(s.pod, at, s.object.Kind)]
	var worlds []seen
	known := slices.Clone(deciding)
	for i, l := range lives {
		w := seen{all[i], l.Fates[at] != model.Answered, l.Modes[at] == "STRICT", l.Refused[at], "", false}
		if port, _, ok := model.Target(s.sites[at]); ok {
			w.by = t.k.declared(s.pod, all[i])(port.IntValue()).by
			w.isBound = t.k.bound(all[i])(port.IntValue(), false)
		}
		worlds = append(worlds, w)
		if words := decides(w.by); !slices.ContainsFunc(known, func(f fact) bool { return f.words == words }) {
			known = append(known, fact{words, func(x seen) bool { return x.by == w.by }})
		}
	}
	facts, _, isKnown := strings.Cut(places.ReplaceAllString(said, ""), " (unknown: ")
	var named []string
	if isKnown || facts == rewritesNone {
		named = strings.Split(inFull.Replace(facts), ", and ")
	}
	for _, words := range named {
		if f, is := oneOf(words, known); is && !slices.ContainsFunc(known, func(f fact) bool { return f.words == words }) {
			known = append(known, f)
		}
	}
	separate := separating(known, worlds)
	left, leftByAll := good(worlds), good(worlds)
	for _, d := range separate {
		leftByAll = d.among(leftByAll)
	}
	right := len(named) > 0 || len(separate) == 0
	for _, words := range named {
		isNamed := func(d fact) bool { return d.words == words }
		right = right && slices.ContainsFunc(separate, isNamed)
		for _, d := range separate {
			if isNamed(d) {
				left = d.among(left)
			}
		}
		t.count("a warning depends on: " + words)
		if strings.Contains(words, "decides the protocol") {
			t.count("a warning depends on what decides a protocol")
		}
	}
	if !right || len(left) > len(leftByAll) {
		t.problem(fmt.Sprintf("check over the %s names the facts that decide", what), "%v: %q\nnot bad in %v, nor in %v if all facts are named", at, said, left, leftByAll)
	}
	t.count(fmt.Sprintf("a warning depends on %d facts", len(named)))
}

func good(worlds []seen) []seen {
	return slices.DeleteFunc(slices.Clone(worlds), func(w seen) bool { return w.isBad })
}

// among returns the worlds of some in which a fact holds.
func (f fact) among(some []seen) []seen {
	return slices.DeleteFunc(slices.Clone(some), func(w seen) bool { return !f.holds(w) })
}

// separating returns the facts that hold in all bad worlds, and not in all others.
func separating(known []fact, worlds []seen) (found []fact) {
	for _, d := range known {
		isAgainst := func(w seen) bool { return w.isBad && !d.holds(w) }
		if !slices.ContainsFunc(worlds, isAgainst) && len(d.among(good(worlds))) < len(good(worlds)) {
			found = append(found, d)
		}
	}
	return found
}

// isOfCheck reports whether a reason is one of check about one probe.
func isOfCheck(reason string) bool {
	return slices.Contains([]string{"would-fail", "would-falsely-pass", "may-fail", "may-falsely-pass", "injector-unknown"}, reason)
}

// severest returns the severest of what check says about a probe.
func severest(found map[string]transformer.Severity) (s transformer.Severity) {
	for key, severity := range found {
		if isOfCheck(key) {
			s = worse(s, severity)
		}
	}
	return s
}

func worse(a, b transformer.Severity) transformer.Severity {
	if a == "" || b != "" && b.Rank() < a.Rank() {
		return b
	}
	return a
}

// fieldOf returns the path of a probe.
func fieldOf(pod *corev1.Pod, at model.Site, kind string) string {
	base := "spec.template.spec."
	if kind == "Pod" {
		base = "spec."
	}
	names := map[string]string{"readyz": "readinessProbe", "livez": "livenessProbe", "startupz": "startupProbe", "prestopz": "lifecycle.preStop", "poststartz": "lifecycle.postStart"}
	for list, containers := range map[string][]corev1.Container{"initContainers": pod.Spec.InitContainers, "containers": pod.Spec.Containers} {
		if i := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == at.Container }); i >= 0 {
			return fmt.Sprintf("%s%s[%d].%s", base, list, i, names[at.Type])
		}
	}
	return ""
}

func TestRightInEveryWorld(t *testing.T) {
	rightInEveryWorld(t, templates(), false).report(t, least, true)
}

// In the cases of this test most calls of the kubelet get through the mesh's mutual TLS to the filters behind.
func TestRightInEveryWorldOfACall(t *testing.T) {
	rightInEveryWorld(t, templates()/6, true).report(t, leastOfCalls, false)
}

func rightInEveryWorld(t *testing.T, templates uint64, isCalled bool) *result {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	seeds := make(chan uint64)
	results := make([]*result, runtime.GOMAXPROCS(0))
	var running sync.WaitGroup
	for i := range results {
		r, c := newResult(), newCluster(t)
		results[i] = r
		running.Go(func() {
			for seed := range seeds {
				r.template(t, c, seed, isCalled)
			}
		})
	}
	for seed := range templates {
		seeds <- seed + 1
	}
	close(seeds)
	running.Wait()
	return merged(results)
}

// template draws a workload, and judges it with each of what may be known of it.
func (r *result) template(t *testing.T, c *cluster, seed uint64, isCalled bool) {
	g := newSource(seed)
	w := g.workload(seed)
	if isCalled {
		call(&w)
	}
	c.injected = make(map[string]arrival)
	for i := range knowledges {
		if err := r.one(c, g, w, uint64(i), isCalled); err != nil {
			t.Errorf("seed %d, knowledge %d: %v", seed, i, err)
			return
		}
	}
}

// one draws what is known of a workload, and judges the case.
func (r *result) one(c *cluster, g *source, w generator.Workload, number uint64, isCalled bool) error {
	k := g.knowledge(&w)
	often := 5
	if isCalled {
		k.call()
		often = 2
	}
	(&source{rand.New(rand.NewPCG(w.Seed, 4000+number))}).sidecars(&k, &w)
	w.Template = *w.Template.DeepCopy()
	(&source{rand.New(rand.NewPCG(w.Seed, 6000+number))}).inbound(&k, &w, often)
	text, err := manifests(&w, &k)
	if isCalled && number%4 == 0 && err == nil { // it is known what is older
		k.disagrees, k.twice = false, false
		text, err = timed(text)
	}
	if err != nil {
		return err
	}
	trial := &trial{result: r, cluster: c, k: k, seed: w.Seed}
	trial.count("cases")
	if err := trial.run(text); err != nil {
		return fmt.Errorf("%w\nconfig: %s\n%s", err, trial.config, text)
	}
	trial.judge(&source{rand.New(rand.NewPCG(w.Seed, 21+number))})
	for words := range k.rules {
		trial.count("rule: " + words)
	}
	return nil
}

// least is how often each must come up in 20,000 cases, so that the test does not
// pass by drawing nothing interesting, or by a program that does nothing.
var least = map[string]int{
	"cases":             20000,
	"injected: [false]": 2500,
	"injected: [true]":  4000,
	"another branch":    2000,
	"another branch leaves open what was certain":                    40,
	"a port leaves the mesh":                                         500,
	"Istio's rewriter is turned off in a world in which it rewrites": 10000,
	"injected: [false true]":                                         4000,
	"worlds of plans":                                                50000,
	"worlds: not injected":                                           7000,
	"worlds: container":                                              20000,
	"worlds: native":                                                 10000,
	"worlds: held":                                                   10000,
	"worlds: the app listens locally":                                4000,
	"worlds: injector rewrites":                                      15000,
	"worlds: interface not captured":                                 1000,
	"worlds: the second PeerAuthentication is older":                 1500,
	"check over the input: expected \"\"":                            15000,
	"check over the input: expected \"error\"":                       5000,
	"check over the input: expected \"warning\"":                     5000,
	"check over the output: expected \"\"":                           10000,
	"rewritten templates":                                            7000,
	"rewritten, and answered through istio-proxy":                    5000,
	"rewritten, and answered through probe-proxy":                    15000,
	"rewritten, and cured":                                           10000,
	"patched: an init container in front":                            150,
	"patched: a container in front":                                  150,
	"patched: another port of a probe":                               150,
	"patched: another scheme of a probe":                             150,
	"patched: another list of excluded ports":                        150,
	"patched: another port of the status":                            150,
	"patched: a sidecar that is no longer one":                       150,
}

// most is the greatest share, in percent, of one count in another.
var most = []struct {
	what, of string
	percent  int
}{
	{"refused templates", "cases", 15},
	{"probes bad in some world afterwards too", "probes bad in some world", 30},
}

func (r *result) report(t *testing.T, least map[string]int, isWhole bool) {
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(r.n)) {
		fmt.Fprintf(&b, "%8d  %s\n", r.n[what], what)
	}
	t.Logf("\n%s", &b)
	for _, property := range slices.Sorted(maps.Keys(r.problems)) {
		for _, p := range r.problems[property][:min(maxReported, len(r.problems[property]))] {
			t.Error(p.words)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(least)) {
		if n := least[what] * r.n["cases"] / 20000; r.n[what] < n {
			t.Errorf("%s: %d, must be at least %d", what, r.n[what], n)
		}
	}
	if !isWhole {
		return
	}
	if r.n["cases"] >= 8000 { // fewer templates do not have every annotation
		for _, what := range slices.Sorted(maps.Keys(rules)) {
			if r.n[what] < rules[what] {
				t.Errorf("%s: %d, must be at least %d", what, r.n[what], rules[what])
			}
		}
	}
	for _, m := range most {
		if r.n[m.what]*100 > r.n[m.of]*m.percent {
			t.Errorf("%s: %d of %d, must be at most %d %%", m.what, r.n[m.what], r.n[m.of], m.percent)
		}
	}
}
