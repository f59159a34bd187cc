package transformer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// goesTo returns a workload that goes to the namespace.
func goesTo(namespace, workload string) string {
	return strings.Replace(workload, "  name: web\n", "  name: web\n  namespace: "+namespace+"\n", 1)
}

func TestWhereAMeshNeverInjectsNothingIsRewritten(t *testing.T) {
	marks := map[string]string{
		"linkerd": "annotations: {linkerd.io/inject: enabled}",
		"kuma":    "labels: {kuma.io/sidecar-injection: enabled}",
		"consul":  "annotations: {consul.hashicorp.com/connect-inject: \"true\"}",
		"osm":     "annotations: {openservicemesh.io/sidecar-injection: enabled}",
		"fsm":     "annotations: {flomesh.io/sidecar-injection: enabled}",
	}
	for _, c := range []struct{ mesh, namespace, labels string }{
		{"linkerd", "kube-system", ""},
		{"linkerd", "cert-manager", ""},
		{"linkerd", "n", "config.linkerd.io/admission-webhooks: disabled"},
		{"kuma", "kube-system", ""},
		{"consul", "kube-system", ""},
		{"consul", "kube-public", ""},
		{"consul", "local-path-storage", ""},
		{"consul", "gke-managed-cim", ""},
		{"osm", "kube-public", ""},
		{"osm", "n", "openservicemesh.io/ignore: \"true\""},
		{"fsm", "kube-system", ""},
		{"fsm", "n", "control-plane: controller-manager"},
	} {
		ns := ""
		if c.labels != "" {
			ns = namespace(c.labels, "")
		}
		for _, metadata := range []string{"", marks[c.mesh]} {
			before := ns + goesTo(c.namespace, podOf(metadata, app(httpProbe)))
			r := plan(t, before, inMesh(c.mesh))
			wantReason(t, r, "namespace-not-injected")
			wantText(t, r, before)
			if r.Probes[0].Reason.String() != "namespace-not-injected" || r.Probes[0].StrictTLS != world.Unaffected {
				t.Errorf("%+v: %+v", c, r.Probes[0])
			}
			if metadata != "" {
				wantText(t, plan(t, before), before) // it names no other mesh
			}
			// What was rewritten before is restored.
			own := goesTo(c.namespace, podOf("labels: {x: y}", app(httpProbe)))
			rewritten := strings.Replace(own, "namespace: "+c.namespace, "namespace: elsewhere", 1)
			rewritten = strings.Replace(plan(t, rewritten, inMesh("linkerd")).text, "namespace: elsewhere", "namespace: "+c.namespace, 1)
			wantText(t, plan(t, ns+rewritten, inMesh(c.mesh)), ns+own)
		}
	}
	for _, c := range []struct{ mesh, namespace string }{{"linkerd", "kube-public"}, {"kuma", "cert-manager"}, {"fsm", "cert-manager"}} {
		if r := plan(t, goesTo(c.namespace, podOf(marks[c.mesh], app("livenessProbe: {httpGet: {port: 8001}}"))), inMesh(c.mesh)); r.Probes[0].Reason.String() == "namespace-not-injected" {
			t.Errorf("%s in %s: %+v", c.mesh, c.namespace, r.Probes[0])
		}
	}
	if r := plan(t, namespace("config.linkerd.io/admission-webhooks: enabled", "")+goesTo("n", podOf(marks["linkerd"], app(httpProbe))), inMesh("linkerd")); r.Probes[0].State != transformer.WouldRewrite {
		t.Errorf("a label with another value: %+v", r.Probes[0])
	}
	// Another mesh may inject there.
	if r := plan(t, goesTo("cert-manager", podOf(injected, app(httpProbe)))); r.Answer.By != "istio-proxy" {
		t.Errorf("Istio in cert-manager: %+v", r.Answer)
	}
	// A pod that has the proxy needs no injection.
	if r := plan(t, goesTo("cert-manager", podOf("", app(httpProbe)+"- name: linkerd-proxy\n")), inMesh("linkerd")); r.Answer.By != "probe-proxy" {
		t.Errorf("linkerd-proxy in the manifest: %+v, %v", r.Answer, r.Findings)
	}
}

func TestLinkerdsSwitchOfInjection(t *testing.T) {
	for _, c := range []struct {
		namespace, pod string // values; "" if there is no annotation
		reason         string // "" if it is injected
		unclear        bool
	}{
		{"", "enabled", "", false},
		{"enabled", "", "", false},
		{"disabled", "ingress", "", false},
		{"enabled", "disabled", "injection-off", false},
		{"enable", "disabled", "injection-off", false},
		{"enabled", "on", "injection-off", true},
		{"", "true", "injection-off", true},
		{"disabled", "", "namespace-not-injected", false},
		{"enable", "", "namespace-not-injected", true},
		{"enable", "enabled", "namespace-not-injected", true},
	} {
		note := func(v string) string {
			if v == "" {
				return ""
			}
			return "linkerd.io/inject: \"" + v + "\""
		}
		metadata := ""
		if c.pod != "" {
			metadata = "annotations: {" + note(c.pod) + "}"
		}
		before := namespace("", note(c.namespace)) + inNamespace(podOf(metadata, app(httpProbe)))
		r := plan(t, before, inMesh("linkerd"))
		if v := r.Probes[0]; v.Reason.String() != c.reason || (c.reason != "") != (v.State == transformer.LeftAlone) {
			t.Errorf("%+v: %+v", c, v)
		}
		if _, unclear := r.has("inject-unclear"); unclear != c.unclear {
			t.Errorf("%+v: findings %v", c, r.Findings)
		}
		if c.reason != "" {
			wantText(t, r, before)
		}
	}
}

func TestLinkerdsPolicyDecidesWhatFails(t *testing.T) {
	spec := app("readinessProbe: {grpc: {port: 8001}}\nlivenessProbe: {httpGet: {port: 8001, scheme: HTTPS}}\nstartupProbe: {tcpSocket: {port: 8001}}\n" +
		"lifecycle: {preStop: {httpGet: {port: 8001}}}")
	for _, c := range []struct {
		namespace, pod string
		letsIn, unless bool
	}{
		{"", "", false, true},
		{"", "all-unauthenticated", true, false},
		{"all-unauthenticated", "", true, false},
		{"deny", "audit", true, false},
		{"cluster-unauthenticated", "cluster-authenticated", false, false},
		{"", "cluster-unauthenticated", true, false},
		{"all-authenticated", "cluster-unauthenticated", true, false},
		{"audit", "all-authenticated", false, false},
		{"", "unauthenticated", false, true},
		{"deny", "", false, false},
	} {
		ns, metadata := "", "linkerd.io/inject: enabled"
		if c.namespace != "" {
			ns = namespace("", "config.linkerd.io/default-inbound-policy: "+c.namespace)
		}
		if c.pod != "" {
			metadata += ", config.linkerd.io/default-inbound-policy: " + c.pod
		}
		r := plan(t, ns+inNamespace(podOf("annotations: {"+metadata+"}", spec)))
		want := []world.Outcome{world.Fails, world.Fails, world.FalselyPasses, world.FalselyPasses}
		if c.letsIn {
			want = []world.Outcome{world.Unaffected, world.Unaffected, world.FalselyPasses, world.Unaffected}
		}
		for i, v := range r.Probes {
			if v.State != transformer.WouldRewrite || v.StrictTLS != want[i] {
				t.Errorf("%+v: %+v, want %s", c, v, want[i])
			}
			if has := strings.Contains(v.If, "Linkerd's default policy"); has != (c.unless && i != 2) || !has && v.If != "" {
				t.Errorf("%+v: %s since %s, if %s", c, v.Before, v.Why, v.If)
			}
		}
	}
}

// What Linkerd cannot see, it does not let in.
func TestWhichHTTPProbesLinkerdLetsIn(t *testing.T) {
	const deny, open = "config.linkerd.io/default-inbound-policy: deny", "config.linkerd.io/default-inbound-policy: all-unauthenticated"
	probes := func(path string, port int) string {
		return fmt.Sprintf("ports: [{containerPort: 6379}]\nreadinessProbe: {httpGet: {path: %s, port: %d}}\nlifecycle: {preStop: {httpGet: {path: %[1]s, port: %[2]d}}}\n", path, port)
	}
	const works, fails, passes = world.Unaffected, world.Fails, world.FalselyPasses
	for _, c := range []struct {
		namespace, pod, path string // annotations
		port                 int
		probe, hook          world.Outcome
	}{
		{"", deny, "/x", 8080, works, passes},
		{"", deny, "\"/x?y=z\"", 8080, works, passes},
		{"", deny, "x", 8080, fails, passes},
		{"", deny, "\"\"", 8080, works, passes},
		{"", deny, "/x", 6379, fails, fails},                                                         // the mesh's default
		{"", deny, "/x", 3306, works, passes},                                                        // also, and no container declares it
		{"", deny + ", config.linkerd.io/opaque-ports: \"\"", "/x", 6379, works, passes},             // not here
		{"", deny + ", config.linkerd.io/opaque-ports: \"25, 8000-8080\"", "/x", 8080, fails, fails}, // nor these
		{"config.linkerd.io/opaque-ports: \"8080\"", deny, "/x", 8080, fails, fails},                 // from the Namespace
		{"config.linkerd.io/opaque-ports: \"8080\"", deny + ", config.linkerd.io/opaque-ports: \"1\"", "/x", 8080, works, passes},
		{"", open, "x", 6379, works, works},
		{"", open + ", config.linkerd.io/proxy-require-identity-inbound-ports: \"8080,6379\"", "/x", 8080, works, passes},
		{"", open + ", config.linkerd.io/proxy-require-identity-inbound-ports: \"8080,6379\"", "/x", 6379, fails, fails},
		{"", open + ", config.linkerd.io/proxy-require-identity-inbound-ports: \"80\"", "/x", 8080, works, works},
		{"config.linkerd.io/proxy-require-identity-inbound-ports: \"8080\"", open, "/x", 8080, works, passes},
		{"", "config.linkerd.io/default-inbound-policy: audit, config.linkerd.io/proxy-require-identity-inbound-ports: \"6379\"", "/x", 6379, works, works},
	} {
		ns := ""
		if c.namespace != "" {
			ns = namespace("", c.namespace)
		}
		before := ns + inNamespace(podOf("annotations: {linkerd.io/inject: enabled, "+c.pod+"}", app(probes(c.path, c.port))))
		r := plan(t, before)
		for i, want := range []world.Outcome{c.probe, c.hook} {
			if v := r.Probes[i]; v.State != transformer.WouldRewrite || v.StrictTLS != want {
				t.Errorf("%+v: %+v, want %s", c, v, want)
			}
		}
		for _, v := range plan(t, ns+r.text).Probes {
			if v.StrictTLS != works {
				t.Errorf("%+v, rewritten: %+v", c, v)
			}
		}
	}
}

func TestKumasSwitchOfInjection(t *testing.T) {
	for _, c := range []struct {
		namespace, pod string // values; "-" if there is no label
		off            bool
		unless         bool
	}{
		{"enabled", "-", false, false},
		{"true", "yes", false, false},
		{"-", "enabled", false, true},
		{"disabled", "enabled", false, false},
		{"-", "true", true, false},
		{"disabled", "yes", true, false},
		{"yes", "-", true, false},
	} {
		label := func(v string) string {
			if v == "-" {
				return "x: \"y\""
			}
			return "kuma.io/sidecar-injection: \"" + v + "\""
		}
		workload := inNamespace(podOf("labels: {"+label(c.pod)+"}", app("lifecycle: {preStop: {httpGet: {port: 8001}}}\n"+httpProbe)))
		before := namespace(label(c.namespace), "") + workload
		for _, opt := range []option{inMesh("auto"), inMesh("kuma")} {
			r := plan(t, before, opt)
			if (r.Probes[0].Reason.String() == "namespace-not-injected") != c.off {
				t.Errorf("%+v: %+v", c, r.Probes[0])
			}
			if c.off {
				wantText(t, r, before)
			}
			hook := r.Probes[1]
			if (hook.StrictTLS == world.Fails) == c.off || (hook.If != "") != c.unless || c.unless && !strings.Contains(hook.If, "2.11") {
				t.Errorf("%+v: the hook %+v", c, hook)
			}
		}
		if r := plan(t, workload, inMesh("kuma")); r.Probes[0].State != transformer.WouldRewrite || r.Probes[1].If != "" {
			t.Errorf("%+v without its Namespace: %+v", c, r.Probes)
		}
	}
}

// A mark in the wrong place injects nothing, and is no reason to speak of Istio.
func TestAMarkInTheWrongPlaceIsNamed(t *testing.T) {
	const label, annotation = "labels: {%s: %q}", "annotations: {%s: %q}"
	for _, c := range []struct {
		title, key, value string
		pod, space        string // the wrong places
	}{
		{"Kuma", "kuma.io/sidecar-injection", "enabled", annotation, annotation},
		{"Kuma", "kuma.io/sidecar-injection", "true", annotation, annotation},
		{"Linkerd", "linkerd.io/inject", "enabled", label, label},
		{"Linkerd", "linkerd.io/inject", "ingress", label, label},
		{"Consul", "consul.hashicorp.com/connect-inject", "true", label, label},
	} {
		onSpace := fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: n\n  "+c.space+"\n---\n", c.key, c.value)
		for _, before := range []string{podOf(fmt.Sprintf(c.pod, c.key, c.value), app(httpProbe)), onSpace + inNamespace(podOf("", app(httpProbe)))} {
			r := plan(t, before)
			f := wantReason(t, r, "mark-misplaced")
			if text := textOf(f); f.Severity != transformer.Warning || !strings.Contains(text, c.title+" does not inject this pod") || len(r.Findings) != 1 {
				t.Errorf("%s: %v", c.title, r.Findings)
			}
			wantText(t, r, before)
			if v := r.Probes[0]; v.StrictTLS != world.Unaffected || v.If != "" || v.State != transformer.LeftAlone {
				t.Errorf("%s: %+v", c.title, v)
			}
			if r := plan(t, before, inMesh("istio")); r.Probes[0].State != transformer.WouldRewrite {
				t.Errorf("%s, in Istio by the options: %+v", c.title, r.Probes[0])
			}
		}
		off := podOf(fmt.Sprintf(c.pod, c.key, "disabled"), app(httpProbe))
		if _, named := plan(t, off).has("mark-misplaced"); named {
			t.Errorf("%s: a mark that would switch injection off", c.title)
		}
	}
	// Whatever else says that the pod is in a mesh counts.
	both := "annotations: {kuma.io/sidecar-injection: enabled}\n"
	if r := plan(t, podOf(injected+both, app(httpProbe))); r.Answer.By != "istio-proxy" {
		t.Errorf("%+v, %v", r.Answer, r.Findings)
	}
}

// A switch without effect changes nothing, and its author is told: each key of ours with a slip of the
// hand, in each place, and Istio's where Istio does not read them.
func TestASwitchWithoutEffectIsNamed(t *testing.T) {
	onWorkload := func(metadata string) string {
		return strings.Replace(podOf("", app(httpProbe)), "  name: web\n", "  name: web\n  "+metadata+"\n", 1)
	}
	onPods := func(metadata string) string { return podOf(metadata, app(httpProbe)) }
	onSpace := func(metadata string) string {
		return "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: n\n  " + metadata + "\n---\n" + inNamespace(onPods(""))
	}
	type place func(metadata string) string
	type given struct {
		kind, key, reason, want string
		places                  []place
	}
	anywhere := []place{onWorkload, onPods, onSpace}
	cases := []given{
		{"annotations", "rewrite-probes.io/x", "annotation-misspelt", "no annotation of this name. Write `rewrite-probes.io/rewrite` or `rewrite-probes.io/skip-containers`, or remove it", anywhere},
		{"annotations", "rewrite-probes.io/skip-containers", "annotation-misplaced", "does not read it on a Namespace. Move it to the pod templates", []place{onSpace}},
		{"labels", "istio-injection", "annotation-misplaced", "Istio reads it only as a label of a Namespace. Write the label `sidecar.istio.io/inject: \"true\"` or \"false\" instead", []place{onPods}},
		{"annotations", "istio-injection", "annotation-misplaced", "only as a label of a Namespace", []place{onPods}},
		{"annotations", "istio-injection", "annotation-misplaced", "only as a label. Make it a label", []place{onSpace}},
		{"annotations", "istio.io/rev", "annotation-misplaced", "only as a label. Make it a label", []place{onSpace}},
		{"labels", "sidecar.istio.io/inject", "annotation-misplaced", "only on the pod template. Set the label `istio-injection` of the Namespace", []place{onSpace}},
		{"annotations", "sidecar.istio.io/inject", "annotation-misplaced", "only on the pod template. Move it to the pod template's labels", []place{onWorkload}},
	}
	for _, key := range []string{"rewrite-probes.io/rewrite", "rewrite-probes.io/skip-containers"} {
		cases = append(cases, given{"labels", key, "annotation-misplaced", "rewrite-probes reads annotations, not labels. Move it to the annotations", anywhere})
		for i := len("rewrite-probes.io/"); i < len(key); i++ {
			slip := key[:i] + key[i+1:]
			cases = append(cases, given{"annotations", slip, "annotation-misspelt", "Write `" + key + "`", anywhere})
		}
	}
	for _, c := range cases {
		for i, put := range c.places {
			r := plan(t, put(fmt.Sprintf("%s: {%s: \"false\"}", c.kind, c.key)))
			f := wantReason(t, r, c.reason)
			if text := textOf(f); f.Severity != transformer.Warning || !strings.Contains(text, "has no effect") || !strings.Contains(text, c.want) || len(r.Findings) != 1 {
				t.Errorf("%+v in place %d: %v", c, i, r.Findings)
			}
			if r.Probes[0].State != transformer.WouldRewrite {
				t.Errorf("%+v in place %d: %+v", c, i, r.Probes[0])
			}
		}
	}
	for _, fine := range []string{
		onPods("labels: {sidecar.istio.io/inject: \"true\"}\nannotations: {istio.io/rev: default}"),
		strings.Replace(onPods("labels: {sidecar.istio.io/inject: \"true\"}"), "  name: web\n", "  name: web\n  labels: {sidecar.istio.io/inject: \"true\"}\n", 1),
		onSpace("labels: {istio.io/rev: default}"), onSpace("labels: {istio-injection: enabled}"),
	} {
		if r := plan(t, fine); len(r.Findings) > 0 {
			t.Errorf("%s\n%v", fine, r.Findings)
		}
	}
}
