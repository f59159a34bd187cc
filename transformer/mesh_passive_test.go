package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/beside"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

func inMesh(name string) option { return func(o *transformer.Options) { o.Mesh = name } }

// meshes are those whose proxy answers no probes, so that probe-proxy does: how a
// template and a Namespace are marked, and what a rewritten template has.
var meshes = []struct {
	name, title         string
	on, off, unknown    string // metadata of a template
	namespace           string // that injects; "" if the mesh injects by no Namespace
	excluded, rewriter  string // annotations
	turnsOff, sameMeans string // values of rewriter
	proxy               string
	uid, port           int
}{
	{
		name: "linkerd", title: "Linkerd", on: "annotations:\n  linkerd.io/inject: enabled\n", off: "annotations: {linkerd.io/inject: disabled}", unknown: "annotations: {linkerd.io/inject: \"true\"}",
		namespace: namespace("", "linkerd.io/inject: ingress"), excluded: "config.linkerd.io/skip-inbound-ports", proxy: "linkerd-proxy", uid: 2102, port: 4191,
	},
	{
		name: "kuma", title: "Kuma", on: "labels:\n  kuma.io/sidecar-injection: enabled\n", off: "labels: {kuma.io/sidecar-injection: disabled}", unknown: "labels: {kuma.io/sidecar-injection: on}",
		namespace: namespace("kuma.io/sidecar-injection: enabled", ""), excluded: "traffic.kuma.io/exclude-inbound-ports", rewriter: "kuma.io/application-probe-proxy-port", turnsOff: "0", sameMeans: "00", proxy: "kuma-sidecar", uid: 5678, port: 9001,
	},
	{
		name: "consul", title: "Consul", on: "annotations:\n  consul.hashicorp.com/connect-inject: \"true\"\n", off: "annotations: {consul.hashicorp.com/connect-inject: \"false\"}", unknown: "annotations: {consul.hashicorp.com/connect-inject: \"yes\"}",
		excluded: "consul.hashicorp.com/transparent-proxy-exclude-inbound-ports", rewriter: "consul.hashicorp.com/transparent-proxy-overwrite-probes", turnsOff: "false", sameMeans: "F", proxy: "consul-dataplane", uid: 5995, port: 20000,
	},
}

// withNote is a pod's metadata with an annotation more.
func withNote(metadata, key, value string) string {
	note := "  " + key + ": \"" + value + "\"\n"
	if strings.Contains(metadata, "annotations:\n") {
		return metadata + note
	}
	return metadata + "annotations:\n" + note
}

func TestAPodInAMeshGetsItsAnnotationsAndNoOthers(t *testing.T) {
	for _, m := range meshes {
		before := podOf(m.on, threeProbes)
		r := plan(t, before)
		if len(r.Findings) > 0 || r.Answer.By != "probe-proxy" || r.Answer.Mesh != m.title || r.Answer.Port != 15099 {
			t.Errorf("%s: answer %+v, findings %v", m.name, r.Answer, r.Findings)
		}
		for _, x := range meshes {
			if has := strings.Contains(r.text, x.excluded+": \"15099\"\n"); has != (x.name == m.name) {
				t.Errorf("%s: %s is %t in\n%s", m.name, x.excluded, has, r.text)
			}
			if has := x.rewriter != "" && strings.Contains(r.text, x.rewriter+": \""+x.turnsOff+"\"\n"); x.rewriter != "" && has != (x.name == m.name) {
				t.Errorf("%s: %s is %t in\n%s", m.name, x.rewriter, has, r.text)
			}
		}
		if strings.Contains(r.text, "istio.io") || strings.Contains(r.text, "rewrite-probes.io") || !strings.Contains(r.text, "/app-health/app/livez") {
			t.Errorf("%s:\n%s", m.name, r.text)
		}
		if again := plan(t, r.text); len(again.Edits) > 0 {
			t.Errorf("%s: a second run edits %v", m.name, again.Edits)
		}
		wantText(t, restore(t, r.text), before)
		// Asked for by its name it is the same, and so in its namespace.
		wantText(t, plan(t, before, inMesh(m.name)), r.text)
		if m.namespace != "" {
			if r := plan(t, m.namespace+podOf("", threeProbes)); !strings.Contains(r.text, m.excluded) || len(r.Findings) > 0 {
				t.Errorf("%s: findings %v in\n%s", m.name, r.Findings, r.text)
			}
		}
		if r := plan(t, podOf("", threeProbes), inMesh(m.name)); !strings.Contains(r.text, m.excluded) || len(r.Findings) > 0 {
			t.Errorf("%s: findings %v in\n%s", m.name, r.Findings, r.text)
		}
	}
}

func TestWhatTheUserHasOfAMeshsAnnotationsComesBack(t *testing.T) {
	for _, m := range meshes {
		for value, want := range map[string]string{
			"8080": "8080,15099", "8080, 9090": "8080, 9090,15099", "8080,": "8080,15099", "15099": "15099", " 15099 ,7": " 15099 ,7", "": "15099",
		} {
			before := podOf(withNote(m.on, m.excluded, value), threeProbes)
			r := plan(t, before)
			if !strings.Contains(r.text, m.excluded+": \""+want+"\"\n") && !strings.Contains(r.text, m.excluded+": "+want+"\n") {
				t.Errorf("%s, %q:\n%s", m.name, value, r.text)
			}
			if again := plan(t, r.text); len(again.Edits) > 0 || len(again.Findings) > 0 {
				t.Errorf("%s, %q: a second run edits %v and finds %v", m.name, value, again.Edits, again.Findings)
			}
			wantText(t, restore(t, r.text), before)
			other := plan(t, r.text, port(15098))
			if strings.Contains(other.text, ",15099") || !strings.Contains(other.text, "15098\"") {
				t.Errorf("%s, %q, on another port:\n%s", m.name, value, other.text)
			}
			wantText(t, restore(t, other.text), before)
		}
		if m.rewriter == "" {
			continue
		}
		for _, value := range []string{m.sameMeans, m.turnsOff, "1"} {
			before := podOf(withNote(m.on, m.rewriter, value), threeProbes)
			r := plan(t, before)
			want := value
			if value == "1" {
				want = m.turnsOff
			}
			if !strings.Contains(r.text, m.rewriter+": \""+want+"\"\n") && !strings.Contains(r.text, m.rewriter+": "+want+"\n") {
				t.Errorf("%s, %q:\n%s", m.name, value, r.text)
			}
			if again := plan(t, r.text); len(again.Edits) > 0 {
				t.Errorf("%s, %q: a second run edits %v", m.name, value, again.Edits)
			}
			wantText(t, restore(t, r.text), before)
		}
	}
}

// TestEveryMeshFollowsEveryOther: what was rewritten for one mesh and is moved
// to another has what it would have had at first, and nothing of the one before.
func TestEveryMeshFollowsEveryOther(t *testing.T) {
	before := podOf("annotations: {a: b}", threeProbes)
	for _, first := range transformer.Meshes() {
		for _, second := range transformer.Meshes() {
			got := plan(t, plan(t, before, inMesh(first)).text, inMesh(second))
			want := plan(t, before, inMesh(second))
			if first != second && sortedLines(got.text) != sortedLines(want.text) {
				t.Errorf("%s after %s gives\n%s\nwant\n%s", second, first, got.text, want.text)
			}
			wantText(t, restore(t, got.text), before)
			wantText(t, restore(t, got.text, inMesh(first)), before)
		}
	}
}

func TestAListOfPortsThatCannotBeReadIsAnError(t *testing.T) {
	for _, m := range meshes {
		for _, value := range []string{"80,http", "80;90", "0", "65536", "90-80", "80-65536", "0-1", "-"} {
			before := podOf(withNote(m.on, m.excluded, value), app(httpProbe))
			r := plan(t, before)
			f := wantReason(t, r, "port-list-unreadable")
			if !strings.Contains(textOf(f), m.excluded) || !strings.Contains(textOf(f), value) {
				t.Errorf("%s, %q: %s", m.name, value, textOf(f))
			}
			wantText(t, r, before)
		}
		for _, value := range []string{"1", "65535", " 80 ,90"} {
			if f, bad := plan(t, podOf(withNote(m.on, m.excluded, value), app(httpProbe))).has("port-list-unreadable"); bad {
				t.Errorf("%s, %q: %s", m.name, value, textOf(f))
			}
		}
		// Only Linkerd reads ranges.
		r := plan(t, podOf(withNote(m.on, m.excluded, "8000-8100"), app(httpProbe+"readinessProbe: {tcpSocket: {port: 70}}")))
		if _, bad := r.has("port-list-unreadable"); bad == (m.name == "linkerd") {
			t.Errorf("%s: findings %v", m.name, r.Findings)
		}
		if m.name == "linkerd" && (r.Probes[1].Reason.String() != "port-not-captured" || r.Probes[0].State != transformer.WouldRewrite) {
			t.Errorf("%+v", r.Probes)
		}
	}
}

func TestTwoMeshesAreAnErrorThatNamesBoth(t *testing.T) {
	marks := map[string][2]string{"Istio": {"", "sidecar.istio.io/inject: \"true\""}, "Open Service Mesh": {"openservicemesh.io/sidecar-injection: enabled", ""}}
	for _, m := range meshes {
		kind, mark, _ := strings.Cut(strings.TrimSpace(m.on), ":\n")
		if mark = strings.TrimSpace(mark); kind == "labels" {
			marks[m.title] = [2]string{"", mark}
		} else {
			marks[m.title] = [2]string{mark, ""}
		}
	}
	for a, x := range marks {
		for b, y := range marks {
			if a >= b {
				continue
			}
			metadata := "annotations: {q: r}\nlabels: {q: r}\n"
			metadata = strings.Replace(metadata, "annotations: {q: r", "annotations: {q: r, "+strings.Trim(x[0]+", "+y[0], ", "), 1)
			metadata = strings.Replace(metadata, "labels: {q: r", "labels: {q: r, "+strings.Trim(x[1]+", "+y[1], ", "), 1)
			metadata = strings.ReplaceAll(metadata, ", }", "}")
			before := podOf(metadata, app(httpProbe))
			r := plan(t, before)
			wantText(t, r, before)
			if f := wantReason(t, r, "two-meshes"); !strings.Contains(textOf(f), a) || !strings.Contains(textOf(f), b) {
				t.Errorf("%s and %s: %s", a, b, textOf(f))
			}
			// Without a probe there is nothing to decide.
			if r := plan(t, podOf(metadata, app(""))); len(r.Findings) > 0 {
				t.Errorf("%s and %s: findings %v", a, b, r.Findings)
			}
		}
	}
}

func TestAPodOfAnotherMeshThanTheConfigsIsLeftAlone(t *testing.T) {
	for _, m := range meshes {
		before := podOf(m.on, app(httpProbe))
		for _, other := range []string{"istio", "osm", "linkerd", "kuma"} {
			if other == m.name {
				continue
			}
			r := plan(t, before, inMesh(other))
			if f := wantReason(t, r, "other-mesh"); !strings.Contains(textOf(f), m.title) || !strings.Contains(textOf(f), "`mesh: "+other+"`") {
				t.Errorf("%s in %s: %s", m.name, other, textOf(f))
			}
			wantText(t, r, before)
		}
	}
}

func TestWhereAMeshInjectsNothingNothingIsRewritten(t *testing.T) {
	for _, m := range meshes {
		before := podOf(m.off, app(httpProbe))
		for _, config := range []string{m.name, "auto"} {
			r := plan(t, before, inMesh(config))
			wantReason(t, r, "injection-off")
			wantText(t, r, before)
			if r.Probes[0].StrictTLS != world.Unaffected {
				t.Errorf("%s: %+v", m.name, r.Probes[0])
			}
			// What was rewritten before is restored.
			wantText(t, plan(t, strings.Replace(onIstiosPort(t, podOf("labels: {x: y}", app(httpProbe))), "labels: {x: y}", m.off, 1), inMesh(config)), before)
		}
		// What puts the pod into another mesh wins, and so does the config.
		injectedByIstio := namespace("istio-injection: enabled", "") + before
		if r := plan(t, injectedByIstio); !strings.Contains(r.text, "/app-health/") {
			t.Errorf("%s: in Istio's namespace:\n%s", m.name, r.text)
		}
		if r := plan(t, before, inMesh("istio")); !strings.Contains(r.text, "/app-health/") {
			t.Errorf("%s: `mesh: istio`:\n%s", m.name, r.text)
		}
		if f := wantReason(t, plan(t, podOf(m.unknown, app(httpProbe))), "inject-unclear"); !strings.Contains(textOf(f), "must be ") {
			t.Errorf("%s: %s", m.name, textOf(f))
		}
		if r := restore(t, podOf(m.unknown, app(httpProbe))); len(r.Findings) > 0 {
			t.Errorf("%s: restore has nothing to do with that, and finds %v", m.name, r.Findings)
		}
		if m.namespace == "" {
			continue
		}
		off := strings.NewReplacer("ingress", "disabled", "enabled", "disabled").Replace(m.namespace)
		wantReason(t, plan(t, off+podOf("", app(httpProbe)), inMesh(m.name)), "namespace-not-injected")
		wantReason(t, plan(t, off+podOf("", app(httpProbe))), "namespace-not-injected")
		if r := plan(t, off+podOf(m.on, app(httpProbe))); !strings.Contains(r.text, m.excluded) {
			t.Errorf("%s: what the template itself says must win:\n%s", m.name, r.text)
		}
	}
	for _, yaml := range []string{
		podOf("annotations: {consul.hashicorp.com/connect-inject: \"true\", consul.hashicorp.com/transparent-proxy: \"f\"}", app(httpProbe)),
		namespace("consul.hashicorp.com/transparent-proxy: \"false\"", "") + podOf("annotations: {consul.hashicorp.com/connect-inject: \"true\"}", app(httpProbe)),
		podOf("labels: {kuma.io/sidecar-injection: enabled}\nannotations: {kuma.io/gateway: enabled}", app(httpProbe)),
	} {
		if r := plan(t, yaml); r.text != yaml || r.Probes[0].Reason.String() != "port-not-captured" || r.Probes[0].StrictTLS != world.Unaffected {
			t.Errorf("%+v in\n%s", r.Probes, r.text)
		}
	}
	own := podOf("annotations: {consul.hashicorp.com/connect-inject: \"true\", consul.hashicorp.com/transparent-proxy: \"true\"}", app(httpProbe))
	if r := plan(t, namespace("consul.hashicorp.com/transparent-proxy: \"false\"", "")+own); r.Probes[0].State != transformer.WouldRewrite {
		t.Errorf("what the pod says of the transparent proxy must win over its Namespace: %+v", r.Probes)
	}
}

func TestOptionsThatAMeshCannotHaveAreRefused(t *testing.T) {
	for _, m := range meshes {
		for want, opt := range map[string]option{
			"must be auto, probe-proxy or app with `mesh: " + m.name + "`": answeredBy("istio-proxy"),
			"own ports":                        port(m.port),
			"must not be the id of " + m.title: func(o *transformer.Options) { o.ProbeProxy.SecurityContext = mapOf("runAsUser", m.uid) },
			m.title + "'s own sidecar":         func(o *transformer.Options) { o.ProbeProxy.Name = m.proxy },
		} {
			if _, err := transformer.New(options(inMesh(m.name), opt)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v must have %q", m.name, err, want)
			}
		}
		// With auto only the pods of that mesh are in the way.
		for _, opt := range []option{answeredBy("istio-proxy"), port(m.port)} {
			r := plan(t, podOf(m.on, app(httpProbe)), opt)
			if f := wantReason(t, r, "options-unfit"); !strings.Contains(textOf(f), m.title) {
				t.Errorf("%s: %s", m.name, textOf(f))
			}
			if r := plan(t, podOf("", app(httpProbe)), opt); len(r.Findings) > 0 {
				t.Errorf("%s: findings %v", m.name, r.Findings)
			}
		}
		if r := restore(t, plan(t, podOf(m.on, app(httpProbe))).text, answeredBy("istio-proxy")); len(r.Findings) > 0 {
			t.Errorf("%s: restore finds %v", m.name, r.Findings)
		}
	}
}

func TestAProxyInTheTemplateIsAMark(t *testing.T) {
	for _, m := range meshes {
		r := plan(t, podOf("", app(httpProbe)+"- name: "+m.proxy+"\n  image: p\n  readinessProbe: {httpGet: {path: /ready, port: 4191}}\n"))
		if r.Answer.Mesh != m.title || r.Probes[1].Reason.String() != "proxy-container" || !strings.Contains(r.text, "path: /ready, port: 4191") {
			t.Errorf("%s: %+v %+v", m.name, r.Answer, r.Probes)
		}
	}
}

// TestWhatFailsInEachMesh is what a mesh does to handlers that are not
// rewritten, by container, probe type and handler.
func TestWhatFailsInEachMesh(t *testing.T) {
	const fails, falsely, works = world.Fails, world.FalselyPasses, world.Unaffected
	hook := func(scheme string) string {
		return "lifecycle: {preStop: {httpGet: {port: 80, scheme: " + scheme + "}}}"
	}
	handlers := []string{"livenessProbe: {httpGet: {port: 80}}", "livenessProbe: {httpGet: {port: 80, scheme: HTTPS}}", "livenessProbe: {tcpSocket: {port: 80}}", "livenessProbe: {grpc: {port: 80}}", hook("HTTP"), hook("HTTPS")}
	for name, want := range map[string][]world.Outcome{
		"istio":   {fails, fails, falsely, fails, fails, fails},
		"linkerd": {works, fails, falsely, fails, falsely, fails},
		"kuma":    {works, works, works, works, fails, fails},
		"consul":  {works, fails, falsely, fails, fails, fails},
	} {
		for i, h := range handlers {
			v := plan(t, podOf("", app(h)), inMesh(name)).Probes[0]
			if v.StrictTLS != want[i] || (v.Why == "") != (want[i] == works) || v.State != transformer.WouldRewrite {
				t.Errorf("%s, %s: %s %q, want %s", name, h, v.StrictTLS, v.Why, want[i])
			}
		}
	}
	// The meshes' own rewriters may be off. Consul's rewrites no init containers, and Kuma's only if its sidecar is a native one.
	native := "initContainers:\n- name: first\n  restartPolicy: Always\n  livenessProbe: {httpGet: {port: 80}}\n" + app("livenessProbe: {tcpSocket: {port: 80}}\nreadinessProbe: {httpGet: {port: 81}}")
	for _, m := range meshes[1:] {
		for _, v := range plan(t, podOf(withNote(m.on, m.rewriter, m.turnsOff), native)).Probes {
			if v.StrictTLS == works || v.If != "" {
				t.Errorf("%s, rewriter off: %+v", m.name, v)
			}
		}
		// A rewriter that is off is not what a probe fails for.
		for _, h := range handlers[:2] {
			if v := plan(t, podOf(withNote(m.on, m.rewriter, m.turnsOff), app(h))).Probes[0]; v.StrictTLS != fails || strings.Contains(v.Why, "rewrites the probe") {
				t.Errorf("%s, rewriter off, %s: %+v", m.name, h, v)
			}
		}
		if v := plan(t, podOf(m.on, native)).Probes; v[0].StrictTLS != fails || strings.Contains(v[0].If, "2.14") != (m.name == "kuma") || v[1].If != "" {
			t.Errorf("%s: %+v", m.name, v[0])
		}
	}
}

// Consul takes the ports of the first container for the service's.
func TestProbeProxyIsNeverTheFirstContainerInConsul(t *testing.T) {
	const hook = "lifecycle: {postStart: {httpGet: {port: 80}}}\nlivenessProbe: {httpGet: {port: 80}}"
	r := plan(t, podOf("", app(hook)), inMesh("consul"), asContainer)
	wantReason(t, r, "starts-before-answerer")
	if !strings.Contains(r.text, "containers:\n      - name: app\n") {
		t.Errorf("got\n%s", r.text)
	}
	if r := plan(t, podOf("", app(hook)), inMesh("consul")); len(r.Findings) > 0 {
		t.Errorf("findings %v", r.Findings)
	}
}

// In Linkerd the annotation of a pod replaces that of its Namespace, so that it
// must have what that says.
func TestThePortsThatTheNamespaceExcludesStayExcluded(t *testing.T) {
	const key = "config.linkerd.io/skip-inbound-ports"
	ns := namespace("", "linkerd.io/inject: enabled\n"+key+": 3306,4000-4010")
	before := inNamespace(podOf("", app(httpProbe+"readinessProbe: {tcpSocket: {port: 4005}}")))
	r := plan(t, ns+before)
	if !strings.Contains(r.text, key+": \"3306,4000-4010,15099\"\n") || r.Probes[0].Reason.String() != "port-not-captured" {
		t.Errorf("%+v in\n%s", r.Probes, r.text)
	}
	wantNoEdits(t, plan(t, r.text))
	wantText(t, restore(t, r.text), ns+before)
	_, alone, _ := strings.Cut(r.text, "---\n")
	wantText(t, restore(t, alone), before)
	// The Namespace's list changes.
	changed := plan(t, strings.Replace(r.text, key+": 3306,4000-4010", key+": \"3307\"", 1))
	if !strings.Contains(changed.text, key+": \"3307,15099\"\n") {
		t.Errorf("got\n%s", changed.text)
	}
	// What the owner has added since stays.
	added := restore(t, strings.Replace(alone, "4000-4010,15099", "4000-4010,15099,9090", 1))
	if !strings.Contains(added.text, key+": \"3306,4000-4010,9090\"\n") {
		t.Errorf("got\n%s", added.text)
	}
	// A pod's own list is not joined with it.
	if r := plan(t, ns+podOf(withNote("", key, "70"), app(httpProbe))); !strings.Contains(r.text, key+": \"70,15099\"\n") {
		t.Errorf("got\n%s", r.text)
	}
	// Nor does an empty one leave out what its Namespace excludes.
	if r := plan(t, ns+inNamespace(podOf(withNote("", key, ""), app("livenessProbe: {tcpSocket: {port: 4005}}")))); r.Probes[0].State != transformer.WouldRewrite || !strings.Contains(r.text, key+": \"15099\"\n") {
		t.Errorf("%+v in\n%s", r.Probes, r.text)
	}
	wantReason(t, plan(t, namespace("", "linkerd.io/inject: enabled\n"+key+": x")+before), "port-list-unreadable")
}

// The annotation of a pod replaces the mesh's default, 4567 and 4568.
func TestThePortsThatLinkerdSkipsByDefaultStaySkipped(t *testing.T) {
	const key = "config.linkerd.io/skip-inbound-ports"
	const galera = "ports: [{containerPort: 3306}, {containerPort: 4568}]\n"
	const on = "annotations:\n  linkerd.io/inject: enabled\n"
	for _, c := range []struct{ namespace, metadata, fields, want string }{
		{"", on, galera + httpProbe, "4567,4568,15099"},
		{"", on, galera + "livenessProbe: {tcpSocket: {port: 4567}}", "4567,4568,15099"},
		{"", on, httpProbe, "15099"},
		{"", withNote(on, key, ""), galera + httpProbe, "15099"},
		{"", withNote(on, key, "70"), galera + httpProbe, "70,15099"},
		{"", withNote(on, key, "4567,4568"), galera + httpProbe, "4567,4568,15099"},
		{namespace("", "linkerd.io/inject: enabled\n"+key+": \"3306\""), "", galera + httpProbe, "3306,15099"},
	} {
		before := c.namespace + inNamespace(podOf(c.metadata, app(c.fields)))
		r := plan(t, before)
		if !strings.Contains(r.text, key+": \""+c.want+"\"\n") || len(r.Findings) > 0 {
			t.Errorf("%+v: findings %v in\n%s", c, r.Findings, r.text)
		}
		if v := r.Probes[0]; strings.Contains(c.fields, "port: 4567") != (v.If != "") || v.If != "" && (v.StrictTLS != world.FalselyPasses || !strings.Contains(v.If, "port 4567")) {
			t.Errorf("%+v: check says %+v", c, v)
		}
		wantNoEdits(t, plan(t, r.text))
		wantText(t, restore(t, r.text), before)
		moved := plan(t, r.text, port(15098))
		if want := strings.TrimSuffix(c.want, "15099") + "15098"; !strings.Contains(moved.text, key+": \""+want+"\"\n") {
			t.Errorf("%+v: on another port\n%s", c, moved.text)
		}
		wantText(t, restore(t, moved.text), before)
		// Another mesh has no such default.
		if kuma := plan(t, podOf("labels: {kuma.io/sidecar-injection: enabled}\n", app(c.fields))); !strings.Contains(kuma.text, "exclude-inbound-ports: \"15099\"") {
			t.Errorf("%+v: in Kuma\n%s", c, kuma.text)
		}
	}
}

// In Kuma 2.13 and 2.14 the annotation that we write makes Envoy listen on port 9000, which Keycloak
// and MinIO have too.
func TestThePortOfKumasVirtualProbesIsNoneOfTheApps(t *testing.T) {
	const key = "kuma.io/virtual-probes-port"
	const on = "labels: {kuma.io/sidecar-injection: enabled, app: web}\n"
	const keycloak = "ports: [{containerPort: 8443}, {containerPort: 9000}]\n"
	service := &surroundings.Service{Neighbour: surroundings.Neighbour{Name: "web"}, Selector: field.KeyValues{{Key: "app", Value: "web"}}, Ports: []surroundings.ServicePort{{Port: 9000}}}
	for _, c := range []struct {
		metadata, fields, want string
		opts                   []option
		services               []any
	}{
		{on, keycloak + httpProbe, "15098", nil, nil},
		{on, "ports: [{containerPort: 15098}, {containerPort: 9000}]\n" + httpProbe, "15097", nil, nil},
		{on, keycloak + httpProbe, "15097", []option{port(15098)}, nil},
		{on, httpProbe, "15098", nil, []any{service}},
		{on, "ports: [{containerPort: 8443}]\n" + httpProbe, "", nil, nil},
		{withNote(on, key, "9090"), keycloak + httpProbe, "9090", nil, nil},
		{on, keycloak + httpProbe, "", []option{answeredBy("app")}, nil},
	} {
		around := beside.With(c.services...)
		before := podOf(c.metadata, app(c.fields))
		r := among(t, around, before, c.opts...)
		has := strings.Contains(r.text, key+": \""+c.want+"\"\n")
		if has != (c.want != "") || !has && strings.Contains(r.text, key) || len(r.Edits) == 0 {
			t.Errorf("%+v: findings %v in\n%s", c, r.Findings, r.text)
		}
		wantNoEdits(t, among(t, around, r.text, c.opts...))
		wantText(t, restore(t, r.text), before)
	}
}

// inNamespace returns the workload in the namespace n.
func inNamespace(workload string) string {
	return strings.Replace(workload, "  name: web\n", "  name: web\n  namespace: n\n", 1)
}

// Kuma 2.13 and 2.14 redirect the kubelet to the host that the probe names.
func TestAHostHeaderIsWarnedOfInKuma(t *testing.T) {
	probe := func(header string) string {
		return app("livenessProbe: {httpGet: {port: 80, httpHeaders: [{name: " + header + ", value: shop}]}}")
	}
	for _, mesh := range []string{"kuma", "linkerd"} {
		r := plan(t, podOf("", probe("host")), inMesh(mesh))
		if _, warned := r.has("kuma-host"); warned != (mesh == "kuma") || r.Probes[0].State != transformer.WouldRewrite {
			t.Errorf("%s: %v", mesh, r.Findings)
		}
	}
	if r := plan(t, podOf("", probe("X-Host")), inMesh("kuma")); len(r.Findings) > 0 {
		t.Errorf("findings %v", r.Findings)
	}
	if again := plan(t, plan(t, podOf("", probe("Host")), inMesh("kuma")).text, inMesh("kuma")); len(again.Edits) > 0 || len(again.Findings) != 1 {
		t.Errorf("%v %v", again.Edits, again.Findings)
	}
}

// Consul redirects connections to the pod's own IP too, unless they come from a
// uid that it leaves alone.
func TestInConsulProbeProxyHasAUserThatIsNotRedirected(t *testing.T) {
	const on = "annotations:\n  consul.hashicorp.com/connect-inject: \"true\"\n"
	user := func(v any) option {
		return func(o *transformer.Options) { o.ProbeProxy.SecurityContext = mapOf("runAsUser", v) }
	}
	r := plan(t, podOf(on, threeProbes))
	if len(r.Findings) > 0 || !strings.Contains(r.text, "runAsUser: 5996\n") {
		t.Errorf("findings %v in\n%s", r.Findings, r.text)
	}
	if again := plan(t, r.text); len(again.Edits) > 0 || len(again.Findings) > 0 {
		t.Errorf("%v %v", again.Edits, again.Findings)
	}
	moved := plan(t, plan(t, podOf("", threeProbes), inMesh("consul")).text, inMesh("istio"))
	if !strings.Contains(moved.text, "runAsUser: 65532\n") {
		t.Errorf("not in Consul any more:\n%s", moved.text)
	}
	listed := withNote(on, "consul.hashicorp.com/transparent-proxy-exclude-uids", "77, 1000")
	for _, c := range []struct {
		metadata string
		opt      option
		uid      string // that the warning names
	}{
		{on, user(1000), "its uid (1000)"},
		{on, user(nil), "its uid (its image's)"},
		{listed, user(1000), ""},
		{listed, user(100), "its uid (100)"},
		{on, user(5996), ""},
	} {
		r := plan(t, podOf(c.metadata, threeProbes), c.opt)
		if c.uid == "" {
			if len(r.Findings) > 0 {
				t.Errorf("findings %v", r.Findings)
			}
			continue
		}
		if f := wantReason(t, r, "consul-uid"); !strings.Contains(textOf(f), c.uid) || r.Probes[0].State != transformer.WouldRewrite {
			t.Errorf("%q must have %q", textOf(f), c.uid)
		}
	}
	for uid, warned := range map[string]bool{"5996": false, "7": true} { // of the pod, if probe-proxy has none
		r := plan(t, podOf(on, "securityContext: {runAsUser: "+uid+"}\n"+threeProbes), user(nil))
		if f, found := r.has("consul-uid"); found != warned || found && !strings.Contains(textOf(f), "its uid ("+uid+")") {
			t.Errorf("%s: %s", uid, textOf(f))
		}
	}
	if r := plan(t, podOf(on, "    image: app\n"), user(1000)); len(r.Findings) > 0 {
		t.Errorf("nothing to rewrite: findings %v", r.Findings)
	}
}

// Linkerd alone gives a pod the list of its Namespace.
func TestPortList_ofTheNamespace(t *testing.T) {
	for _, m := range meshes {
		in := namespace("", m.excluded+": \"8001\"") + podOf(m.on, app(httpProbe))
		r := plan(t, in, inMesh(m.name))
		if inherits := m.name == "linkerd"; strings.Contains(r.text, "/app-health/") == inherits {
			t.Errorf("%s: %v\n%s", m.name, r.Findings, r.text)
		}
	}
}

// What a mesh does to a probe is said with the reason, for each that the mesh treats in its own way.
func TestWhatAMeshDoesToAProbeIsSaidInFull(t *testing.T) {
	const noCertificate = "fails: the kubelet has no client certificate"
	sidecar := func(probe string) string {
		return "initContainers:\n- name: app\n  image: app\n  restartPolicy: Always\n  livenessProbe: {" + probe + "}\ncontainers:\n- name: x\n  image: x\n"
	}
	probe := func(p string) string { return app("livenessProbe: {" + p + "}") }
	opaque := func(port string) string {
		return "fails: Linkerd's policy lets in no request from the kubelet on port " + port + ", since the port is opaque and its proxy cannot see the path"
	}
	type row struct{ mesh, metadata, spec, want string }
	rows := []row{
		{"consul", "", sidecar("httpGet: {port: 8443, scheme: HTTPS}"), noCertificate},
		{"consul", "", probe("httpGet: {port: 8443, scheme: HTTPS}"), "fails: Consul rewrites the probe to a port where its proxy speaks no TLS"},
		{"consul", "annotations: {consul.hashicorp.com/transparent-proxy: \"true\"}", probe("grpc: {port: 80}"), "fails: Consul rewrites no grpc probes, and the kubelet has no client certificate"},
		{"consul", "", probe("httpGet: {port: 20200}"), "unaffected: "},
		{"kuma", "", sidecar("httpGet: {port: 80}"), noCertificate},
		{"kuma", "annotations: {kuma.io/application-probe-proxy-port: \"0\"}", probe("httpGet: {port: 80}"), noCertificate},
		{"kuma", "", probe("httpGet: {port: 80}"), "unaffected: "},
		{"kuma", "", probe("tcpSocket: {port: 80, host: 10.0.0.1}"), "unaffected: "},
		{"linkerd", "", probe("tcpSocket: {port: 80, host: 10.0.0.1}"), "unaffected: "},
		{"linkerd", "", probe("tcpSocket: {port: 80}"), "falsely passes: Linkerd's proxy accepts the connection before it knows whether the app does"},
		{"linkerd", "annotations: {config.linkerd.io/opaque-ports: 80-90}", probe("httpGet: {port: 85}"), opaque("85")},
		{"linkerd", "annotations: {config.linkerd.io/opaque-ports: \"80\"}", app("ports: [{containerPort: 3306}]\nlivenessProbe: {httpGet: {port: 3306}}"), "unaffected: "},
	}
	for _, port := range []string{"25", "587", "3306", "4444", "5432", "6379", "9300", "11211"} {
		rows = append(rows, row{"linkerd", "", app("ports: [{containerPort: " + port + "}]\nlivenessProbe: {httpGet: {port: " + port + "}}"), opaque(port)},
			row{"linkerd", "", probe("httpGet: {port: " + port + "}"), "unaffected: "})
	}
	for _, r := range rows {
		v := plan(t, podOf(r.metadata, r.spec), inMesh(r.mesh)).Probes[0]
		if got := string(v.StrictTLS) + ": " + v.Why; got != r.want {
			t.Errorf("%s, %s, %s:\ngot  %s\nwant %s", r.mesh, r.metadata, r.spec, got, r.want)
		}
	}
}

// An overlay may replace the list of ports that the mesh does not capture.
func TestOutcome_annotationReplaced(t *testing.T) {
	hooked := app("livenessProbe: {httpGet: {port: 1}}\nlifecycle: {preStop: {httpGet: {port: 1}}}")
	for mesh, want := range map[string][]world.Outcome{
		"linkerd": {world.Unaffected, world.FalselyPasses}, // it lets in what looks like a probe of the pod
		"kuma":    {world.Fails, world.Fails},
		"consul":  {world.Fails, world.Fails},
	} {
		rewritten := plan(t, podOf("", hooked), inMesh(mesh)).text
		replaced := strings.Replace(rewritten, `-inbound-ports: "15099"`, `-inbound-ports: "9090"`, 1)
		r := plan(t, replaced, inMesh(mesh))
		again := plan(t, r.text, inMesh(mesh))
		for i, v := range r.Probes {
			if replaced == rewritten || v.StrictTLS != want[i] || v.StrictTLS == world.Fails && !strings.Contains(v.Why, "15099") {
				t.Errorf("%s: %+v, want %s", mesh, v, want[i])
			}
			if again.Probes[i].StrictTLS != world.Unaffected {
				t.Errorf("%s, rewritten again: %+v", mesh, again.Probes[i])
			}
		}
	}
}

// A switch without a value is not one that is absent: the Namespace's does not take its place.
func TestAnEmptySwitchIsNotThatOfTheNamespace(t *testing.T) {
	for _, c := range []struct{ mesh, labels, annotations, pod string }{
		{"Linkerd", "", "linkerd.io/inject: enabled", "annotations: {linkerd.io/inject: \"\"}"},
		{"Kuma", "kuma.io/sidecar-injection: enabled", "", "labels: {kuma.io/sidecar-injection: \"\"}"},
		{"Open Service Mesh", "", "openservicemesh.io/sidecar-injection: enabled", "annotations: {openservicemesh.io/sidecar-injection: \"\"}"},
	} {
		ns := namespace(c.labels, c.annotations)
		r := plan(t, ns+inNamespace(podOf(c.pod, app(httpProbe))))
		if f := wantReason(t, r, "inject-unclear"); r.Answer.Mesh == c.mesh || !strings.Contains(textOf(f), "must be ") {
			t.Errorf("%s: %+v, %s", c.mesh, r.Answer, textOf(f))
		}
	}
}

// Kuma's proxy in the template needs no injection, so that the version of the injector does not matter.
func TestKumasProxyInTheTemplateIsCertain(t *testing.T) {
	const on = "labels: {kuma.io/sidecar-injection: enabled}"
	for container, open := range map[string]bool{"": true, "- name: kuma-sidecar\n  image: kuma\n": false} {
		r := plan(t, namespace("a: b", "")+inNamespace(podOf(on, app("lifecycle: {preStop: {httpGet: {path: /stop, port: 80}}}")+container)))
		if v := r.Probes[0]; v.StrictTLS != world.Fails || strings.Contains(v.If, "Kuma is older than 2.11") != open || !open && v.If != "" {
			t.Errorf("%q: %+v", container, v)
		}
	}
}
