package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/transformer"
)

func injectorRewrites(o *transformer.Options) { o.Istio.InjectorRewrites = true }

// injects declares the namespaces that Istio injects.
func injects(patterns ...string) option {
	return func(o *transformer.Options) { o.Istio.InjectedNamespaces = append([]string{}, patterns...) }
}

func TestWhoAnswersFollowsWhatIsKnownOfTheNamespace(t *testing.T) {
	own := pod("", app(httpProbe))
	inShop := strings.Replace(own, "  name: web\n", "  name: web\n  namespace: shop\n", 1)
	for _, c := range []struct {
		name, yaml string
		opts       []option
		by         string
		assumed    bool
	}{
		{name: "nothing is known", yaml: inShop, by: "probe-proxy", assumed: true},
		{name: "the port is not that of Istio's agent", yaml: inShop, opts: []option{port(15099)}, by: "probe-proxy"},
		{name: "it is said who answers", yaml: inShop, opts: []option{answeredBy("istio-proxy")}, by: "istio-proxy"},
		{name: "the template asks for injection", yaml: pod(injected, app(httpProbe)), by: "istio-proxy"},
		{name: "the Namespace asks for injection", yaml: namespace("istio-injection: enabled", "") + inShop, by: "istio-proxy"},
		{name: "the Namespace has a revision", yaml: namespace("istio.io/rev: canary", "") + inShop, by: "istio-proxy"},
		{name: "the Namespace does not ask for it", yaml: namespace("", "") + inShop, by: "probe-proxy"},
		{name: "the namespace is declared", yaml: inShop, opts: []option{injects("sh*")}, by: "istio-proxy"},
		{name: "the namespace is declared, and its Namespace says nothing", yaml: namespace("", "") + inShop, opts: []option{injects("shop")}, by: "istio-proxy"},
		{name: "the namespace is not among those declared", yaml: inShop, opts: []option{injects("other")}, by: "probe-proxy"},
		{name: "no namespace is injected", yaml: inShop, opts: []option{injects()}, by: "probe-proxy"},
		{name: "no namespace is injected, and the object's is not known", yaml: own, opts: []option{injects()}, by: "probe-proxy"},
		{name: "some are injected, and the object's is not known", yaml: own, opts: []option{injects("shop")}, by: "probe-proxy", assumed: true},
		{name: "all are injected", yaml: own, opts: []option{injects("*")}, by: "istio-proxy"},
	} {
		r := plan(t, c.yaml, c.opts...)
		if r.Answer.By != c.by || r.Answer.Assumed != c.assumed || r.Answer.Port == 0 {
			t.Errorf("%s: the answer is %+v", c.name, r.Answer)
		}
	}
}

// What was decided with the Namespace at hand holds without it: which files
// are given does not decide who answers.
func TestTheAnswererStaysUnlessTheInputProvesAnother(t *testing.T) {
	workload := inNamespace(pod("", app(httpProbe)))
	for _, labels := range []string{"", "istio-injection: enabled", "istio.io/rev: canary"} {
		first := plan(t, namespace(labels, "")+workload)
		if len(first.Edits) == 0 {
			t.Fatalf("%q: nothing is rewritten", labels)
		}
		_, alone, _ := strings.Cut(first.text, "---\n")
		if again := plan(t, alone); len(again.Edits) > 0 || !again.Answer.Assumed || again.Answer.By != first.Answer.By {
			t.Errorf("%q: without the Namespace %+v answers, with edits %v", labels, again.Answer, again.Edits)
		}
	}
	// The input proves another.
	rewritten := plan(t, workload)
	moved := plan(t, namespace("istio-injection: enabled", "")+rewritten.text)
	if moved.Answer.By != "istio-proxy" || len(moved.Edits) == 0 {
		t.Errorf("the answer is %+v", moved.Answer)
	}
	back := plan(t, namespace("", "")+strings.TrimPrefix(moved.text, namespace("istio-injection: enabled", "")))
	if back.Answer.By != "probe-proxy" || len(back.Edits) == 0 {
		t.Errorf("the answer is %+v", back.Answer)
	}
}

// A probe-proxy on the port of Istio's agent is reported, although the plan repairs
// it.
func TestACollisionOfTheTemplateAsItWasReadIsReported(t *testing.T) {
	rewritten := plan(t, pod("", app(httpProbe))).text
	asked := strings.Replace(rewritten, "  template:\n", "  template:\n    metadata:\n      labels:\n        sidecar.istio.io/inject: \"true\"\n", 1)
	r := plan(t, asked)
	if len(r.Repairs) != 1 || r.Repairs[0].Reason != "port-collision" || len(r.Findings) > 0 || r.Answer.By != "istio-proxy" {
		t.Errorf("repairs %v, findings %v, answer %+v", r.Repairs, r.Findings, r.Answer)
	}
	for name, in := range map[string]string{"repaired": r.text, "not in the mesh": rewritten, "on a port of its own": plan(t, pod(injected, app(httpProbe)), port(15099)).text} {
		var opts []option
		if name == "on a port of its own" {
			opts = []option{port(15099)}
		}
		if r := plan(t, in, opts...); len(r.Repairs) > 0 {
			t.Errorf("%s: %v", name, r.Repairs)
		}
	}
	// Where the options insist, it is an error of the plan.
	wantReason(t, plan(t, asked, answeredBy("probe-proxy")), "port-collision")
	// A probe-proxy on that port needs no annotation, so one that is there is the
	// user's, and stays.
	const optOut = "sidecar.istio.io/rewriteAppHTTPProbers: \"false\""
	out := plan(t, strings.Replace(asked, "    metadata:\n", "    metadata:\n      annotations: {"+optOut+"}\n", 1))
	wantReason(t, out, "istio-opt-out")
	if !strings.Contains(out.text, optOut) || strings.Contains(out.text, "/app-health/") {
		t.Errorf("not restored:\n%s", out.text)
	}
}

// A sidecar comes before ambient mode.
func TestASidecarOfIstiosIsRewrittenForWhateverElseIsMarked(t *testing.T) {
	for _, in := range []string{
		namespace("istio.io/dataplane-mode: ambient", "") + pod(injected, app(httpProbe)),
		namespace("istio-injection: enabled", "linkerd.io/inject: enabled") + pod("annotations: {linkerd.io/inject: disabled}", app(httpProbe)),
		pod("labels: {istio.io/dataplane-mode: none}", app(httpProbe)),
	} {
		if r := plan(t, in); len(r.Edits) == 0 {
			t.Errorf("left alone for %v:\n%s", r.Findings, in)
		}
	}
	// An injector that rewrites has nothing to do where the pod is not injected.
	if r := plan(t, pod("", app(httpProbe)), injectorRewrites); len(r.Edits) == 0 {
		t.Errorf("left alone for %v", r.Findings)
	}
	// What was rewritten before is left to the injector from now on.
	before := pod(injected, app(httpProbe))
	r := plan(t, plan(t, before).text, injectorRewrites)
	wantReason(t, r, "injector-rewrites")
	wantText(t, r, before)
}
