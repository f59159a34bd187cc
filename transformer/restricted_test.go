package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/transformer"
)

const (
	podContext  = "securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}\n"
	dropAll     = "securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}\n"
	fullContext = "securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}, runAsNonRoot: true, seccompProfile: {type: Localhost, localhostProfile: x}}\n"
)

func unrestricted(o *transformer.Options) { o.IstioProxy.Restricted = false }

// declaredContext returns the securityContext of the declared istio-proxy, as
// lines without indentation.
func declaredContext(t *testing.T, text string) string {
	t.Helper()
	_, proxy, found := strings.Cut(text, "- name: istio-proxy\n")
	if !found {
		t.Fatalf("istio-proxy must be declared:\n%s", text)
	}
	_, context, _ := strings.Cut(proxy, "securityContext:\n")
	context, _, _ = strings.Cut(context, "        env:")
	return strings.Join(strings.Fields(context), " ")
}

func TestDeclared_asRestrictedAsOthers(t *testing.T) {
	const (
		short = "allowPrivilegeEscalation: false capabilities: drop: - ALL"
		whole = "runAsNonRoot: true " + short + " seccompProfile: type: RuntimeDefault"
	)
	second := func(fields string) string { return "- name: second\n  image: s\n  " + fields }
	for _, c := range []struct{ name, metadata, spec, want string }{
		{"nothing is requested", "", app(httpProbe), ""},
		{"the pod says the rest", "", podContext + app(httpProbe+dropAll), short},
		{"every container for itself", "", app(httpProbe + fullContext), whole},
		{"one has it from the pod, one itself", "", podContext + app(httpProbe+dropAll) + second(fullContext), short},
		{"one of two does not", "", podContext + app(httpProbe+dropAll) + second("securityContext: {}\n"), ""},
		{"an init container does not", "", podContext + "initContainers:\n- {name: i, image: i}\n" + app(httpProbe+dropAll), ""},
		{"the pod alone", "", podContext + app(httpProbe), ""},
		{"no seccomp profile", "", "securityContext: {runAsNonRoot: true}\n" + app(httpProbe+dropAll), ""},
		{"an unconfined one", "", podContext + app(httpProbe+"securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, seccompProfile: {type: Unconfined}}\n"), ""},
		{"root in one container", "", podContext + app(httpProbe+"securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, runAsNonRoot: false}\n"), ""},
		{"root for the pod", "", "securityContext: {runAsNonRoot: false}\n" + app(httpProbe+fullContext), ""},
		{"a capability", "", podContext + app(httpProbe+"securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL], add: [NET_RAW]}}\n"), ""},
		{"some capabilities dropped", "", podContext + app(httpProbe+"securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [KILL]}}\n"), ""},
		{"root in a user namespace", "", "hostUsers: false\nsecurityContext: {seccompProfile: {type: RuntimeDefault}}\n" + app(httpProbe+dropAll), short},
		{"TPROXY", "annotations: {sidecar.istio.io/interceptionMode: TPROXY}\n", podContext + app(httpProbe+dropAll), ""},
		{"REDIRECT", "annotations: {sidecar.istio.io/interceptionMode: REDIRECT}\n", podContext + app(httpProbe+dropAll), short},
		{"low ports", "annotations: {sidecar.istio.io/capNetBindService: \"true\"}\n", podContext + app(httpProbe+dropAll), ""},
		{"TPROXY in the proxy's config", "annotations: {proxy.istio.io/config: \"interceptionMode: TPROXY\"}\n", podContext + app(httpProbe+dropAll), ""},
		{"tracing of packets", "annotations: {proxy.istio.io/config: \"{proxyMetadata: {IPTABLES_TRACE_LOGGING: 'true'}}\"}\n", podContext + app(httpProbe+dropAll), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := podOf(c.metadata, c.spec)
			r := plan(t, before, answeredBy("istio-proxy"))
			if got := declaredContext(t, r.text); got != c.want {
				t.Errorf("securityContext is %q, want %q", got, c.want)
			}
			wantNoEdits(t, plan(t, r.text, answeredBy("istio-proxy")))
			off := plan(t, before, answeredBy("istio-proxy"), unrestricted)
			if got := declaredContext(t, off.text); got != "" {
				t.Errorf("it is switched off, and yet %q", got)
			}
			wantText(t, plan(t, r.text, answeredBy("istio-proxy"), unrestricted), off.text)
			wantText(t, plan(t, off.text, answeredBy("istio-proxy")), r.text)
			wantText(t, restore(t, r.text, unrestricted), before)
		})
	}
}

func TestTheContextOfADeclaredIstioProxyFollowsThePod(t *testing.T) {
	r := plan(t, podOf("", podContext+app(httpProbe+dropAll)), answeredBy("istio-proxy"))
	changed := strings.Replace(r.text, strings.TrimSpace(dropAll), strings.TrimSpace(fullContext), 1)
	changed = strings.Replace(changed, strings.TrimSpace(podContext), "securityContext: {}", 1)
	want := plan(t, podOf("", "securityContext: {}\n"+app(httpProbe+fullContext)), answeredBy("istio-proxy"))
	if got := plan(t, changed, answeredBy("istio-proxy")); sortedLines(got.text) != sortedLines(want.text) {
		t.Errorf("is\n%s\nwant\n%s", got.text, want.text)
	}
}

func TestADeclaredIstioProxyIsOursWhateverItsImage(t *testing.T) {
	signed := func(o *transformer.Options) { o.IstioProxy.Image = "example/istio@sha256:1" }
	before := podOf("labels: {a: b}", app(httpProbe))
	r := plan(t, before, answeredBy("istio-proxy"), signed)
	if !strings.Contains(r.text, "image: example/istio@sha256:1\n") {
		t.Fatalf("must have the image:\n%s", r.text)
	}
	// Another program may write a newer image into rendered manifests.
	newer := strings.Replace(r.text, "istio@sha256:1\n", "istio@sha256:2\n", 1)
	wantText(t, plan(t, newer, answeredBy("istio-proxy"), signed), r.text)
	wantText(t, restore(t, newer), before)
	wantText(t, plan(t, newer, answeredBy("istio-proxy")), plan(t, before, answeredBy("istio-proxy")).text)
	// One that the user declares, in the same words, stays.
	theirs := podOf("", app(httpProbe)+"- name: istio-proxy\n  image: example/istio@sha256:1\n  imagePullPolicy: IfNotPresent\n")
	wantText(t, restore(t, plan(t, theirs, answeredBy("istio-proxy"), signed).text), theirs)
}

func TestTheContextOfAUsersIstioProxyIsTheirs(t *testing.T) {
	for _, context := range []string{
		"", "  securityContext: {runAsUser: 1500}\n", "  securityContext: {}\n",
		"  securityContext: {runAsUser: 1500, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}\n",
	} {
		proxy := "- name: istio-proxy\n  image: auto\n" + context + "  resources: {}\n"
		before := podOf("", podContext+app(httpProbe+dropAll)+proxy)
		r := plan(t, before)
		if !strings.Contains(strings.ReplaceAll(r.text, "\n      ", "\n"), proxy) {
			t.Errorf("must stay as it is:\n%s", r.text)
		}
		wantText(t, restore(t, r.text), before)
	}
	kept := "- name: istio-proxy\n  image: auto\n  imagePullPolicy: IfNotPresent\n  securityContext: {runAsUser: 1500}\n"
	before := podOf("", app(httpProbe)+kept)
	wantText(t, restore(t, plan(t, before).text), before)
}

// What the API server fills in is in every manifest that was read from the cluster.
func TestDeclared_withDefaultsOfTheAPIServer(t *testing.T) {
	const path, policy, empty = "        terminationMessagePath: /dev/termination-log\n", "        terminationMessagePolicy: File\n", "        resources: {}\n"
	ofTheUsers := func(o *transformer.Options) { o.IstioProxy.Image = "example.com/proxy:1" }
	for _, c := range []struct {
		name, spec string
		opts       []option
		added      string
		ours       bool
	}{
		{"all defaults", app(httpProbe), nil, empty + path + policy, true},
		{"with a securityContext", podContext + app(httpProbe+dropAll), nil, empty + path + policy, true},
		{"with an image of the user's", app(httpProbe), []option{ofTheUsers}, empty + path + policy, true},
		{"another path", app(httpProbe), nil, empty + "        terminationMessagePath: /dev/x\n" + policy, false},
		{"another policy", app(httpProbe), nil, empty + path + "        terminationMessagePolicy: FallbackToLogsOnError\n", false},
		{"resources alone, as the API's types write them", app(httpProbe), nil, empty, true},
		{"resources of the user's", app(httpProbe), nil, "        resources: {limits: {cpu: 1}}\n" + path + policy, false},
	} {
		before := podOf("", c.spec)
		r := plan(t, before, append(c.opts, answeredBy("istio-proxy"))...)
		read := strings.Replace(r.text, "        env:\n        - name: ISTIO", c.added+"        env:\n        - name: ISTIO", 1)
		if again := plan(t, read, append(c.opts, answeredBy("istio-proxy"))...); len(again.Edits) > 0 {
			t.Errorf("%s: a second run edits %v", c.name, again.Edits)
		}
		switch back := restore(t, read); {
		case c.ours:
			wantText(t, back, before)
		case !strings.Contains(back.text, "- name: istio-proxy\n"):
			t.Errorf("%s: the user's field is lost:\n%s", c.name, back.text)
		}
	}
	changed := strings.Replace(plan(t, podOf("", app(httpProbe)), ofTheUsers, answeredBy("istio-proxy")).text, "imagePullPolicy: IfNotPresent", "imagePullPolicy: Always", 1)
	if back := restore(t, changed); !strings.Contains(back.text, "- name: istio-proxy\n") {
		t.Errorf("the user's imagePullPolicy is lost:\n%s", back.text)
	}
}
