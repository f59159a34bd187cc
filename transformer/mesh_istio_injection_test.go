package transformer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil/beside"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// injects declares the namespaces that Istio injects.
func injects(patterns ...string) option {
	return func(o *transformer.Options) { o.Istio.InjectedNamespaces = append([]string{}, patterns...) }
}

func TestWhoAnswersFollowsWhatIsKnownOfTheNamespace(t *testing.T) {
	own := podOf("", app(httpProbe))
	inShop := strings.Replace(own, "  name: web\n", "  name: web\n  namespace: shop\n", 1)
	for _, c := range []struct {
		name, yaml string
		opts       []option
		by         string
	}{
		{name: "nothing is known", yaml: inShop, by: "probe-proxy"},
		{name: "the port is another", yaml: podOf(injected, app(httpProbe)), opts: []option{port(15098)}, by: "probe-proxy"},
		{name: "it is said who answers", yaml: inShop, opts: []option{answeredBy("istio-proxy")}, by: "istio-proxy"},
		{name: "it is said who answers in an injected pod", yaml: podOf(injected, app(httpProbe)), opts: []option{answeredBy("probe-proxy")}, by: "probe-proxy"},
		{name: "the template asks for injection", yaml: podOf(injected, app(httpProbe)), by: "istio-proxy"},
		{name: "the annotation alone opens nothing", yaml: podOf("annotations: {sidecar.istio.io/inject: \"true\"}", app(httpProbe)), by: "probe-proxy"},
		{name: "the Namespace asks for injection", yaml: namespace("istio-injection: enabled", "") + inShop, by: "istio-proxy"},
		{name: "the Namespace has a revision", yaml: namespace("istio.io/rev: canary", "") + inShop, by: "istio-proxy"},
		{name: "the Namespace does not ask for it", yaml: namespace("", "") + inShop, by: "probe-proxy"},
		{name: "the Namespace asks for it in other words", yaml: namespace("istio-injection: \"true\"", "") + inShop},
		{name: "the Namespace wins over the template's label", yaml: namespace("istio-injection: disabled", "") + inNamespace(podOf(injected, app(httpProbe)))},
		{name: "another proxy captures what Istio does not inject", yaml: namespace("istio-injection: disabled", "") + inShop, opts: []option{answeredBy("probe-proxy")}, by: "probe-proxy"},
		{name: "the namespace is declared", yaml: inShop, opts: []option{injects("sh*")}, by: "istio-proxy"},
		{name: "the namespace is declared, and its Namespace says nothing", yaml: namespace("", "") + inShop, opts: []option{injects("shop")}, by: "istio-proxy"},
		{name: "the namespace is not among those declared", yaml: inShop, opts: []option{injects("other")}},
		{name: "no namespace is injected", yaml: inShop, opts: []option{injects()}},
		{name: "no namespace is injected, and the object's is not known", yaml: own, opts: []option{injects()}},
		{name: "some are injected, and the object's is not known", yaml: own, opts: []option{injects("shop")}, by: "probe-proxy"},
		{name: "some are injected, and the object's is a variable", yaml: strings.Replace(inShop, "shop", "${NS}", 1), opts: []option{injects("shop")}, by: "probe-proxy"},
		{name: "some are injected, and the object's is a placeholder", yaml: strings.Replace(inShop, "shop", "$(NS)", 1), opts: []option{injects("shop")}, by: "probe-proxy"},
		{name: "the template's label is a variable", yaml: namespace("istio-injection: enabled", "") + inNamespace(podOf("labels: {sidecar.istio.io/inject: \"${INJECT}\"}", app(httpProbe))), by: "probe-proxy"},
		{name: "the Namespace's label is a variable", yaml: namespace("istio-injection: ${INJECTION}", "") + inNamespace(podOf(injected, app(httpProbe))), by: "probe-proxy"},
		{name: "all are injected", yaml: own, opts: []option{injects("*")}, by: "istio-proxy"},
	} {
		r := plan(t, c.yaml, c.opts...)
		if r.Answer.By != c.by || (r.Answer.Port == 0) != (c.by == "") {
			t.Errorf("%s: the answer is %+v, findings %v", c.name, r.Answer, r.Findings)
		}
	}
}

// What was decided with the Namespace at hand holds without it: which files
// are given does not decide who answers.
func TestTheAnswererStaysUnlessTheInputProvesAnother(t *testing.T) {
	workload := inNamespace(podOf("", app(httpProbe)))
	for _, labels := range []string{"", "istio-injection: enabled", "istio.io/rev: canary"} {
		first := plan(t, namespace(labels, "")+workload)
		if len(first.Edits) == 0 {
			t.Fatalf("%q: nothing is rewritten", labels)
		}
		_, alone, _ := strings.Cut(first.text, "---\n")
		if again := plan(t, alone); len(again.Edits) > 0 || again.Answer.By != first.Answer.By {
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
	rewritten := onIstiosPort(t, podOf("", app(httpProbe)))
	asked := strings.Replace(rewritten, "  template:\n", "  template:\n    metadata:\n      labels:\n        sidecar.istio.io/inject: \"true\"\n", 1)
	r := plan(t, asked)
	if len(r.Repairs) != 1 || r.Repairs[0].Reason.String() != "port-collision" || len(r.Findings) > 0 || r.Answer.By != "istio-proxy" {
		t.Errorf("repairs %v, findings %v, answer %+v", r.Repairs, r.Findings, r.Answer)
	}
	if v := r.Probes[0]; v.StrictTLS != world.Fails || !strings.Contains(v.Why, "15020") || v.If != "" {
		t.Errorf("as it was read: %+v", v)
	}
	for name, in := range map[string]string{"repaired": r.text, "not in the mesh": rewritten, "on a port of its own": plan(t, podOf(injected, app(httpProbe)), port(15098)).text} {
		var opts []option
		if name == "on a port of its own" {
			opts = []option{port(15098)}
		}
		if r := plan(t, in, opts...); len(r.Repairs) > 0 {
			t.Errorf("%s: %v", name, r.Repairs)
		}
	}
	// Where the options insist, it is an error of the plan.
	wantReason(t, plan(t, asked, answeredBy("probe-proxy"), port(15020)), "port-collision")
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
func TestMesh_istioSidecarBesideOtherMarks(t *testing.T) {
	for _, in := range []string{
		namespace("istio.io/dataplane-mode: ambient", "") + podOf(injected, app(httpProbe)),
		namespace("istio-injection: enabled", "linkerd.io/inject: enabled") + podOf("annotations: {linkerd.io/inject: disabled}", app(httpProbe)),
		podOf("labels: {istio.io/dataplane-mode: none}", app(httpProbe)),
	} {
		if r := plan(t, in); len(r.Edits) == 0 {
			t.Errorf("left alone for %v:\n%s", r.Findings, in)
		}
	}
	// An injector that rewrites has nothing to do where the pod is not injected.
	if r := plan(t, podOf("", app(httpProbe)), injectorRewrites); len(r.Edits) == 0 {
		t.Errorf("left alone for %v", r.Findings)
	}
	// What was rewritten before is left to the injector from now on.
	before := podOf(injected, app(httpProbe))
	r := plan(t, plan(t, before).text, injectorRewrites)
	wantReason(t, r, "injector-rewrites")
	wantText(t, r, before)
}

// Every row of Istio's two gates, the webhooks' selectors and the injector's own, in
// their order.
func TestWhetherIstioInjectsIsReadInIstiosOrder(t *testing.T) {
	const (
		in, out, open = "injected: ", "not injected: ", "unknown: whether Istio injects its sidecar"
		placeholder   = "- name: istio-proxy\n  image: auto\n"
		proxy         = "- name: istio-proxy\n  image: istio/proxyv2:1.27\n"
		labelFalse    = "labels: {sidecar.istio.io/inject: \"false\"}\n"
		labelTrue     = "labels: {sidecar.istio.io/inject: \"true\"}\n"
		rev           = "labels: {istio.io/rev: stable}\n"
	)
	enabled, disabled, plain := namespace("istio-injection: enabled", ""), namespace("istio-injection: disabled", ""), namespace("", "")
	own := func(metadata string) string { return inNamespace(podOf(metadata, app(httpProbe))) }
	of := func(name, yaml string) string {
		return strings.Replace(yaml, "namespace: n\n", "namespace: "+name+"\n", 1)
	}
	for _, c := range []struct {
		name, yaml string
		opts       []option
		others     bool // another Namespace has a label of Istio's
		want, at   string
	}{
		{name: "host network", yaml: enabled + inNamespace(podOf(labelTrue, "hostNetwork: true\n"+app(httpProbe))), opts: []option{injects("*")}, want: out, at: "`hostNetwork`"},
		{name: "kube-system", yaml: of("kube-system", own(labelTrue)), opts: []option{injects("*")}, want: out, at: `namespace "kube-system"`},
		{name: "kube-public", yaml: of("kube-public", own(rev)), want: out, at: `namespace "kube-public"`},
		{name: "kube-node-lease", yaml: of("kube-node-lease", own("")), want: out, at: `namespace "kube-node-lease"`},
		{name: "local-path-storage", yaml: of("local-path-storage", own(labelTrue)), want: out, at: `namespace "local-path-storage"`},
		{name: "the label is false", yaml: enabled + own(labelFalse), opts: []option{injects("*")}, want: out, at: "the label `sidecar.istio.io/inject: false`"},
		{name: "the label is false, and there is a revision", yaml: own("labels: {sidecar.istio.io/inject: \"false\", istio.io/rev: stable}\n"), want: out, at: "the label `sidecar.istio.io/inject: false`"},
		{name: "the annotation is false", yaml: enabled + own("annotations: {sidecar.istio.io/inject: \"false\"}\n"), want: out, at: "the annotation `sidecar.istio.io/inject: false`"},
		{name: "the label counts before the annotation", yaml: own(labelTrue + "annotations: {sidecar.istio.io/inject: \"false\"}\n"), want: in, at: "the label `sidecar.istio.io/inject: true`"},
		{name: "an empty label does too", yaml: enabled + own("labels: {sidecar.istio.io/inject: \"\"}\nannotations: {sidecar.istio.io/inject: \"false\"}\n"), want: in, at: "istio-injection: enabled"},
		{name: "only false is false", yaml: enabled + own("labels: {sidecar.istio.io/inject: \"False\"}\n"), want: in, at: "istio-injection: enabled"},
		{name: "the Namespace is disabled", yaml: disabled + own(labelTrue), opts: []option{injects("*")}, want: out, at: "istio-injection: disabled"},
		{name: "the Namespace has another value", yaml: namespace("istio-injection: \"true\"", "") + own(labelTrue), want: out, at: "istio-injection: true"},
		{name: "the Namespace has an empty value, and a revision", yaml: namespace("istio-injection: \"\"\nistio.io/rev: stable", "") + own(rev), want: out, at: "istio-injection: "},

		{name: "the proxy is there", yaml: disabled + inNamespace(podOf("", app(httpProbe)+proxy)), want: in, at: "the container `istio-proxy`"},
		{name: "the proxy is there, and need not be injected again", yaml: inNamespace(podOf(labelFalse, app(httpProbe)+proxy)), want: in, at: "the container `istio-proxy`"},
		{name: "its place is held", yaml: inNamespace(podOf("", app(httpProbe)+placeholder)), want: in, at: "the container `istio-proxy`"},
		{name: "its place is held in vain", yaml: inNamespace(podOf(labelFalse, app(httpProbe)+placeholder)), want: out, at: "the label `sidecar.istio.io/inject: false`"},
		{name: "the Namespace is enabled", yaml: enabled + own(""), opts: []option{injects()}, want: in, at: "the label `istio-injection: enabled` of Namespace \"n\" (there.yaml:7)"},
		{name: "the Namespace is enabled, whatever its revision", yaml: namespace("istio-injection: enabled\nistio.io/rev: x", "") + own(""), want: in, at: "istio-injection: enabled"},
		{name: "the Namespace has a revision", yaml: namespace("istio.io/rev: canary", "") + own(""), opts: []option{injects()}, want: in, at: "istio.io/rev: canary"},
		{name: "the pod has a revision", yaml: own(rev), opts: []option{injects("other")}, want: in, at: "the label `istio.io/rev: stable`"},
		{name: "the pod has a revision in a plain Namespace", yaml: plain + own(rev), others: true, want: in, at: "the label `istio.io/rev: stable`"},
		{name: "the pod says true", yaml: own(labelTrue), opts: []option{injects()}, want: in, at: "the label `sidecar.istio.io/inject: true`"},
		{name: "the pod says true in a plain Namespace", yaml: plain + own(labelTrue), others: true, want: in, at: "the label `sidecar.istio.io/inject: true`"},
		{name: "the config has the namespace", yaml: plain + own(""), opts: []option{injects("x", "[m-o]")}, others: true, want: in, at: "`istio.injectedNamespaces`"},

		{name: "the config lacks the namespace", yaml: own(""), opts: []option{injects("x", "n?")}, want: out, at: "`istio.injectedNamespaces`"},
		{name: "the config lacks the namespace, and the annotation opens nothing", yaml: plain + own("annotations: {sidecar.istio.io/inject: \"true\"}\n"), opts: []option{injects("x")}, want: out, at: "`istio.injectedNamespaces`"},
		{name: "another Namespace has a label", yaml: plain + own(""), others: true, want: out, at: "Namespace \"n\" (there.yaml:7)"},
		{name: "another Namespace has a label, and OpenShift Service Mesh 2 would inject by the annotation", yaml: plain + own("annotations: {sidecar.istio.io/inject: \"true\"}\n"), others: true, want: open},
		{name: "another Namespace has a label, and the pod's is empty", yaml: plain + own("labels: {sidecar.istio.io/inject: \"\"}\nannotations: {sidecar.istio.io/inject: \"true\"}\n"), others: true, want: out, at: "Namespace \"n\""},
		{name: "another Namespace has a label, and an empty revision is none", yaml: namespace("istio.io/rev: \"\"", "") + own("labels: {istio.io/rev: \"\"}\n"), others: true, want: out, at: "istio.io/rev: "},
		{name: "no webhook selects an empty revision, whatever the pod says", yaml: namespace("istio.io/rev: \"\"", "") + own("labels: {sidecar.istio.io/inject: \"true\"}\n"), want: out, at: "istio.io/rev: "},
		{name: "the Namespace is enabled, with an empty revision", yaml: namespace("istio-injection: enabled\nistio.io/rev: \"\"", "") + own(""), want: in, at: "istio-injection: enabled"},

		{name: "nothing is said", yaml: own(""), want: open},
		{name: "the Namespace is not among the manifests", yaml: own(""), others: true, want: open},
		{name: "no Namespace has a label", yaml: plain + own(""), want: open},
		{name: "the annotation opens nothing", yaml: own("annotations: {sidecar.istio.io/inject: \"true\"}\n"), want: open},
		{name: "a value that Istio does not know", yaml: own("labels: {sidecar.istio.io/inject: \"yes\"}\n"), want: open},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := among(t, beside.Source{At: at("there.yaml:7"), Others: c.others}, c.yaml, c.opts...)
			if got := strings.TrimPrefix(r.Known, "known: "); !strings.HasPrefix(got, c.want) || !strings.Contains(got, c.at) {
				t.Errorf("%q, want %s%s", r.Known, c.want, c.at)
			}
			if v := r.Probes[0]; r.Answer.Injected != (c.want == in) || (v.State == transformer.LeftAlone) != (c.want == out) || (v.StrictTLS == world.Unaffected) != (c.want == out) {
				t.Errorf("%+v, %+v", r.Answer, v)
			}
			if c.want != out {
				return
			}
			isUnclear := strings.Contains(c.at, "istio-injection: true") // the only value that people mean as "enabled"
			if isUnclear {
				wantReason(t, r, "inject-unclear")
				r.Findings = r.Findings[1:]
			}
			if len(r.Findings) != 1 || r.Findings[0].Severity != transformer.Info {
				t.Errorf("findings %v", r.Findings)
			}
			// The fix that is named is one, for a pod that another proxy captures.
			if f := r.Findings[0]; strings.Contains(textOf(f), "answeredBy: probe-proxy") {
				r := among(t, beside.Source{Others: c.others}, c.yaml, append([]option{answeredBy("probe-proxy")}, c.opts...)...)
				if r.Answer.By != "probe-proxy" || r.Probes[0].State != transformer.WouldRewrite {
					t.Errorf("%s: with it, %+v, findings %v", textOf(f), r.Answer, r.Findings)
				}
			} else if f.Reason.String() == "namespace-not-injected" && !strings.Contains(textOf(f), "Istio never injects") {
				t.Errorf("%q names no fix", textOf(f))
			}
		})
	}
}

// Only the value "none" takes a pod out of ambient mode.
func TestAmbientModeIsLeftByOneValueAlone(t *testing.T) {
	const key = "istio.io/dataplane-mode"
	ambient := namespace(key+": ambient", "")
	own := func(v string) string {
		if v == "" {
			return inNamespace(podOf("", app(httpProbe)))
		}
		return inNamespace(podOf("labels: {"+key+": "+v+"}", app(httpProbe)))
	}
	for _, c := range []struct {
		name, yaml, says string // says: of the finding; "" if the probe is rewritten
	}{
		{"by the Namespace", ambient + own(""), "of Namespace \"n\" puts its pods into ambient mode"},
		{"by the pod", own("ambient"), "puts the pod into ambient mode"},
		{"by the pod in another Namespace", namespace("a: b", "") + own("ambient"), "puts the pod into ambient mode"},
		{"out of it", ambient + own("none"), "takes the pod out of ambient mode"},
		{"another value takes nothing out", ambient + own("disabled"), "of Namespace \"n\" puts its pods into ambient mode"},
		{"an empty value takes nothing out", ambient + own(`""`), "of Namespace \"n\" puts its pods into ambient mode"},
		{"out of what it is not in", own("none"), ""},
		{"another value puts nothing in", own("on"), ""},
		{"another value of the Namespace puts nothing in", namespace(key+": on", "") + own(""), ""},
		{"a sidecar comes first", namespace(key+": ambient\nistio-injection: enabled", "") + own("ambient"), ""},
	} {
		r := plan(t, c.yaml)
		if c.says == "" {
			if r.Probes[0].State != transformer.WouldRewrite || len(r.Findings) > 0 {
				t.Errorf("%s: %+v, findings %v", c.name, r.Probes[0], r.Findings)
			}
			continue
		}
		f := wantReason(t, r, "ambient")
		v := r.Probes[0] // a label of the Namespace, which is not there, may have a sidecar injected
		if mayFail := v.StrictTLS == world.Fails && strings.HasPrefix(v.If, "Istio injects its sidecar"); mayFail != !strings.Contains(c.yaml, "kind: Namespace") {
			t.Errorf("%s: %+v", c.name, v)
		}
		if !strings.Contains(textOf(f), c.says) || f.Severity != transformer.Info || v.State != transformer.LeftAlone {
			t.Errorf("%s: %s, %+v", c.name, textOf(f), v)
		}
	}
	// The pods of the host's network are in no mesh.
	wantReason(t, plan(t, ambient+inNamespace(podOf("", "hostNetwork: true\n"+app(httpProbe)))), "host-network")
}

func TestWhatIsKnownOfTheMeshIsSaidInOneLine(t *testing.T) {
	for _, c := range []struct {
		name, yaml string
		opts       []option
		want       string
	}{
		{"nothing", podOf("", app(httpProbe)), nil, "unknown: whether Istio injects its sidecar (set `istio.injectedNamespaces: [\"*\"]`, or `metadata.namespace` and its Namespace)"},
		{"no probe", podOf(injected, app("")), nil, ""},
		{"not injected, so that nothing else matters", podOf("", app(httpProbe)), []option{injects(), nativeSidecars(true), holds, injectorRewrites}, "known: not injected: `istio.injectedNamespaces`"},
		{"injected", podOf(injected, app(httpProbe)), nil, "known: injected: the label `sidecar.istio.io/inject: true`"},
		{"by the config", podOf("", app(httpProbe)), []option{answeredBy("istio-proxy"), nativeSidecars(false), holds, injectorRewritesNothing},
			"known: injected: `answeredBy: istio-proxy`; not a native sidecar: `istio.nativeSidecars`; starts first: `istio.holdApplicationUntilProxyStarts`; the injector rewrites no probes: `istio.injectorRewrites`"},
		{"by annotations", podOf(injected+"annotations: {sidecar.istio.io/nativeSidecar: \"true\", proxy.istio.io/config: \"holdApplicationUntilProxyStarts: true\", sidecar.istio.io/rewriteAppHTTPProbers: \"1\"}", app(httpProbe)), nil,
			"known: injected: the label `sidecar.istio.io/inject: true`; native sidecar: the annotation `sidecar.istio.io/nativeSidecar`; starts first: the annotation `proxy.istio.io/config`; the injector rewrites probes: the annotation `sidecar.istio.io/rewriteAppHTTPProbers`"},
		{"an annotation that each version of Istio reads in its own way", podOf(injected+"annotations: {sidecar.istio.io/nativeSidecar: \"yes\"}", app(httpProbe)), nil, "known: injected: the label `sidecar.istio.io/inject: true`"},
		{"a declared proxy with a hook of its own", podOf(injected, app(httpProbe)+"- name: istio-proxy\n  image: auto\n  lifecycle: {postStart: {exec: {command: [x]}}}\n"), nil,
			"known: injected: the container `istio-proxy`; does not start first: the lifecycle of the container `istio-proxy`"},
		{"another mesh", podOf("annotations: {linkerd.io/inject: enabled}", app(httpProbe)), nil, ""},
	} {
		if r := plan(t, c.yaml, c.opts...); r.Known != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, r.Known, c.want)
		}
	}
}

// Who follows a fix must be rid of the question.
func TestWhatWouldSayWhetherIstioInjectsDoesSayIt(t *testing.T) {
	own := podOf("", app(httpProbe))
	inShop := strings.Replace(own, "  name: web\n", "  name: web\n  namespace: n\n", 1)
	variable := strings.Replace(podOf(`labels: {sidecar.istio.io/inject: "${INJECT}"}`, app(httpProbe)), "  name: web\n", "  name: web\n  namespace: n\n", 1)
	label := namespace("istio-injection: enabled", "")
	type cured struct {
		yaml string
		opts []option
	}
	for _, c := range []struct {
		yaml, fix string
		cured     []cured
	}{
		{own, "set `istio.injectedNamespaces: [\"*\"]`, or `metadata.namespace` and its Namespace", []cured{{own, []option{injects("*")}}, {label + inShop, nil}}},
		{inShop, "add its Namespace, or set `istio.injectedNamespaces`", []cured{{label + inShop, nil}, {inShop, []option{injects("n")}}}},
		{namespace("", "") + inShop, "set the label `istio-injection` of its Namespace, or `istio.injectedNamespaces`", []cured{{label + inShop, nil}, {namespace("", "") + inShop, []option{injects("n")}}}},
		{variable, "substitute the variables first", []cured{{strings.Replace(variable, "${INJECT}", "true", 1), nil}}},
	} {
		r := plan(t, c.yaml)
		if want := "unknown: whether Istio injects its sidecar (" + c.fix + ")"; r.Known != want {
			t.Errorf("got %s, want %s", r.Known, want)
		}
		if len(r.Findings) > 0 {
			t.Errorf("%s: found %v", c.fix, r.Findings)
		}
		for _, then := range c.cured {
			if r := plan(t, then.yaml, then.opts...); !strings.HasPrefix(r.Known, "known: injected") {
				t.Errorf("%s: then it is %s", c.fix, r.Known)
			}
		}
	}
}

// at is a place among the manifests.
type at string

func (a at) String() string { return string(a) }

// What the functionConfig declares of injection wins over every webhook near, whichever pods that one selects.
func TestADeclaredInjectionWinsOverEveryWebhook(t *testing.T) {
	const hook = "---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: hooks, labels: {istio.io/rev: default}}\nwebhooks:\n" +
		"- name: a.sidecar-injector.istio.io\n  rules: [{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [pods]}]\n  namespaceSelector: %s\n  objectSelector: %s\n"
	own := strings.Replace(podOf("labels: {app: web}", app(httpProbe)), "  name: web\n", "  name: web\n  namespace: n\n", 1)
	answers := map[string]bool{}
	for _, namespaced := range []string{"{}", "{matchLabels: {istio-injection: enabled}}", "{matchLabels: {kubernetes.io/metadata.name: other}}"} {
		for _, selected := range []string{"{}", "{matchLabels: {app: web}}", "{matchLabels: {app: other}}"} {
			hooks := fmt.Sprintf(hook, namespaced, selected)
			for _, ns := range []string{"", namespace("istio-injection: enabled", ""), namespace("a: b", "")} {
				if ns != "" {
					ns = "---\n" + strings.TrimSuffix(ns, "---\n")
				}
				for _, opts := range [][]option{{injects("*")}, {injects("other")}} {
					opts = append(opts, injectorRewritesNothing)
					want, got := planNear(t, own+ns, opts...), planNear(t, own+ns+hooks, opts...)
					if got.Known != want.Known || got.Probes[0].StrictTLS != want.Probes[0].StrictTLS {
						t.Errorf("%s%s: %s, %s, and without a webhook %s, %s", ns, hooks, got.Known, got.Probes[0].StrictTLS, want.Known, want.Probes[0].StrictTLS)
					}
					answers[string(got.Probes[0].StrictTLS)] = true
				}
				answers["undeclared: "+planNear(t, own+ns+hooks, injectorRewritesNothing).Known] = true
			}
		}
	}
	if len(answers) < 4 {
		t.Errorf("the webhooks change nothing: %v", answers)
	}
}
