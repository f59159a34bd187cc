package transformer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// However often a user's container has the env var, and whatever else, one with the originals is left, and none after restore.
func TestAnyNumberOfEnvVarsBecomesOne(t *testing.T) {
	const name, one = "ISTIO_KUBE_APP_PROBERS", `'{"/app-health/app/livez":{"httpGet":{"path":"/foo","port":8001}}}'`
	for n := 1; n <= 4; n++ {
		for _, others := range [][]int{nil, {0}, {2}, {0, 1, 9}} {
			env, left := "", ""
			add := func(name, value string) string { return "  - name: " + name + "\n    value: " + value + "\n" }
			for i := range n + 1 {
				if slices.Contains(others, i) {
					env += add(fmt.Sprint("A", i), "b")
					left += add(fmt.Sprint("A", i), "b")
				}
				switch {
				case i < n-1:
					env += add(name, "'{}'")
				case i == n-1:
					env += add(name, one)
				}
			}
			text := podOf("", app("livenessProbe:\n  httpGet:\n    path: /app-health/app/livez\n    port: 15020\n")+"- name: istio-proxy\n  image: auto\n  env:\n"+env)
			r := plan(t, text)
			if strings.Count(r.text, name) != 1 || !strings.Contains(r.env(), `"port":8001`) || strings.Count(r.text, "value: b\n") != strings.Count(left, "value: b\n") {
				t.Errorf("%d env vars, others %v:\n%s", n, others, r.text)
			}
			wantNoEdits(t, plan(t, r.text))
			for _, written := range []string{text, r.text} {
				back := restore(t, written).text
				if strings.Contains(back, name) || strings.Contains(back, "env:") != (left != "") || strings.Count(back, "value: b\n") != strings.Count(left, "value: b\n") || !strings.Contains(back, "port: 8001") {
					t.Errorf("%d env vars, others %v: restored\n%s", n, others, back)
				}
			}
		}
	}
}

// What the API server refuses to change in a Job stays, field by field; in a Deployment it is brought to the options.
func TestEachFieldOfAJobsProbeProxyThatMustStayDoes(t *testing.T) {
	for what, next := range map[string]option{
		"image":           func(o *transformer.Options) { o.ProbeProxy.Image = "example/probe-proxy:v2" },
		"imagePullPolicy": func(o *transformer.Options) { o.ProbeProxy.ImagePullPolicy = "Never" },
		"resources":       func(o *transformer.Options) { o.ProbeProxy.Resources = mapOf("limits", mapOf("memory", "64Mi")) },
		"securityContext": func(o *transformer.Options) { o.ProbeProxy.SecurityContext = mapOf("runAsUser", 7) },
	} {
		for _, first := range [][]option{nil, {func(o *transformer.Options) { o.ProbeProxy.ImagePullPolicy = "Always" }}} {
			job := plan(t, jobWith("backoffLimit: 1\n", "restartPolicy: Never\n"), first...).text
			wantNoEdits(t, plan(t, job, next))
			deployment := plan(t, podOf("", app(httpProbe)), first...).text
			if r := plan(t, deployment, next); !strings.Contains(fmt.Sprint(r.Edits), what) {
				t.Errorf("%s of a Deployment: %v", what, r.Edits)
			}
		}
	}
}

// Each value that the API server fills in below a container is no difference, and any other is.
func TestEachDefaultOfTheAPIServerIsNoDifference(t *testing.T) {
	opts := func(o *transformer.Options) {
		o.ProbeProxy.ReadinessProbe = true
		o.ProbeProxy.Env = listOf(field.Map{{Key: "name", Value: "CPUS"}, {Key: "valueFrom", Value: mapOf("resourceFieldRef", mapOf("resource", "limits.cpu"))}})
	}
	text := plan(t, podOf("", app(httpProbe)), opts).text
	for _, c := range []struct{ after, line, other string }{
		{"resource: limits.cpu\n", "divisor: \"0\"", "divisor: \"1\""},
		{"fieldPath: status.podIP\n", "apiVersion: v1", "apiVersion: v2"},
		{"path: /readyz\n", "scheme: HTTP", "scheme: HTTPS"},
	} {
		at := strings.Index(text, c.after)
		if at < 0 {
			t.Fatalf("%q is not in\n%s", c.after, text)
		}
		start := strings.LastIndexByte(text[:at], '\n') + 1
		for line, stays := range map[string]bool{c.line: true, c.other: false} {
			read := text[:at+len(c.after)] + text[start:at] + line + "\n" + text[at+len(c.after):]
			if r := plan(t, read, opts); (len(r.Edits) == 0) != stays {
				t.Errorf("%s: edits %v", line, r.Edits)
			}
		}
	}
	for line, stays := range map[string]bool{
		"failureThreshold: 3": true, "failureThreshold: 4": false, "periodSeconds: 10": true, "periodSeconds: 11": false, "successThreshold: 1": true, "successThreshold: 2": false, "timeoutSeconds: 1": true, "timeoutSeconds: 2": false,
	} {
		const at = "        readinessProbe:\n"
		if r := plan(t, strings.Replace(text, at, at+"          "+line+"\n", 1), opts); (len(r.Edits) == 0) != stays {
			t.Errorf("%s: edits %v", line, r.Edits)
		}
	}
}

// Resources that only take defaults away are none, neither for the declared istio-proxy nor for restore.
func TestResourcesOfNothingAreNone(t *testing.T) {
	before := podOf("", app(httpProbe))
	none := func(o *transformer.Options) { o.IstioProxy.Resources = field.Map{{Key: "limits", Value: nil}} }
	r := plan(t, before, answeredBy("istio-proxy"), none)
	wantText(t, r, plan(t, before, answeredBy("istio-proxy")).text)
	some := plan(t, before, answeredBy("istio-proxy"), func(o *transformer.Options) { o.IstioProxy.Resources = mapOf("limits", mapOf("cpu", "2")) })
	for _, next := range []option{none, func(*transformer.Options) {}} {
		wantText(t, restore(t, some.text, answeredBy("istio-proxy"), next), before)
		wantText(t, plan(t, some.text, answeredBy("istio-proxy"), next), r.text)
	}
}

// Of a probe that a mesh's own injector has rewritten, the fields that it left come back as they were written.
func TestWhatAnInjectorLeftOfAProbeKeepsItsText(t *testing.T) {
	const metadata = "annotations:\n  consul.hashicorp.com/connect-inject: \"true\"\n  consul.hashicorp.com/connect-inject-status: injected\n" +
		"  consul.hashicorp.com/original-pod: '{\"spec\":{\"containers\":[{\"name\":\"app\",\"livenessProbe\":{\"httpGet\":{\"path\":\"/a\",\"port\":8080}}}]}}'\n"
	for _, path := range []string{"/a", `"/a"`, "'/a'", ">-\n      /a"} {
		in := podOf(metadata, app("livenessProbe:\n  httpGet:\n    path: "+path+"\n    port: \"20300\"\n"))
		in = strings.Replace(in, `"20300"`, "20300", 1)
		r := plan(t, in)
		if r.Probes[0].State != transformer.WouldRewrite {
			t.Fatalf("%+v", r.Probes)
		}
		wantText(t, restore(t, r.text), strings.Replace(in, "port: 20300", "port: 8080", 1))
		again := plan(t, r.text)
		wantNoEdits(t, again)
	}
}
