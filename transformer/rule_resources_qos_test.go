package transformer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// The same amount in each unit, and one more, which is another.
func TestQuantitiesAreComparedByAmount(t *testing.T) {
	for unit, amount := range map[string]string{
		"000m": "1", "": "1", "k": "1000", "M": "1000000", "G": "1000000000", "T": "1000000000000", "P": "1000000000000000", "e3": "1000", "E3": "1000", "e+3": "1000", ".5k": "1500", "000000u": "1", "000000000n": "1",
		"Ki": "1024", "Mi": "1048576", "Gi": "1073741824", "Ti": "1099511627776", "Pi": "1125899906842624", ".5Ki": "1536",
	} {
		for limit, want := range map[string]string{amount: asGuaranteed, amount + "001m": "requests: cpu: 10m memory: 16Mi limits: cpu: 100m memory: 32Mi"} {
			fields := fmt.Sprintf("resources: {requests: {cpu: 1, memory: \"1%s\"}, limits: {cpu: 1, memory: \"%s\"}}\n", unit, limit)
			if got := resourcesOf(t, plan(t, podOf("", app(httpProbe+fields))).text); got != want {
				t.Errorf("1%s and %s: %q, want %q", unit, limit, got, want)
			}
		}
	}
}

// resourcesOf returns the resources of probe-proxy in a manifest, in one line; "" if it
// has none.
func resourcesOf(t *testing.T, text string) string {
	t.Helper()
	_, c, found := strings.Cut(text, "- name: probe-proxy\n")
	if !found {
		t.Fatalf("probe-proxy must have been added:\n%s", text)
	}
	c, _, _ = strings.Cut(c, "securityContext:\n")
	_, c, _ = strings.Cut(c, "resources:\n")
	return strings.Join(strings.Fields(c), " ")
}

const (
	asGuaranteed   = "requests: cpu: 100m memory: 32Mi limits: cpu: 100m memory: 32Mi"
	asBurstable    = "requests: cpu: 10m memory: 16Mi limits: memory: 32Mi"
	asLimited      = "requests: cpu: 10m memory: 16Mi limits: cpu: 100m memory: 32Mi" // every container has a CPU limit
	asBurstableTLS = "requests: cpu: 20m memory: 16Mi limits: memory: 32Mi"
)

func TestProbeProxyKeepsThePodsClass(t *testing.T) {
	const (
		full  = "resources: {limits: {cpu: 1, memory: 1Gi}}\n"
		tls   = "livenessProbe: {httpGet: {port: 8443, scheme: HTTPS}}\n"
		plain = httpProbe
	)
	second := func(fields string) string { return "- name: second\n  image: s\n  " + fields }
	four := second("livenessProbe: {httpGet: {port: 1, scheme: HTTPS}}\n  readinessProbe: {httpGet: {port: 1, scheme: HTTPS}}\n  startupProbe: {grpc: {port: 1, mode: TLS}}\n  " + full)
	for _, c := range []struct{ name, spec, want string }{
		{"BestEffort", app(plain), ""},
		{"BestEffort by zeros", app(plain + "resources: {limits: {cpu: 0}, requests: {memory: \"0\"}}\n"), ""},
		{"BestEffort with another resource", app(plain + "resources: {limits: {example.com/gpu: 1}}\n"), ""},
		{"Guaranteed by limits alone", app(plain + full), asGuaranteed},
		{"Guaranteed in other units", app(plain + "resources: {limits: {cpu: 500m, memory: 1Gi}, requests: {cpu: 0.5, memory: 1024Mi}}\n"), asGuaranteed},
		{"Guaranteed with init containers", "initContainers:\n- {name: i, image: i, resources: {limits: {cpu: 1, memory: 1Mi}}}\n" + app(plain+full), asGuaranteed},
		{"Guaranteed with one HTTPS probe", app(tls + full), asGuaranteed},
		{"Guaranteed with four HTTPS probes", app(tls+full) + four, asGuaranteed},
		{"an init container without", "initContainers:\n- {name: i, image: i}\n" + app(plain+full), asBurstable},
		{"a second container without", app(plain+full) + second("env: []\n"), asBurstable},
		{"no limit of memory", app(plain + "resources: {limits: {cpu: 1}, requests: {memory: 1Gi}}\n"), asLimited},
		{"a request below its limit", app(plain + "resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 500m}}\n"), asLimited},
		{"HTTPS and no CPU limit", app(tls + "resources: {requests: {cpu: 2}}\n"), asBurstableTLS},
		{"HTTPS and a CPU limit", app(tls + "resources: {limits: {cpu: 2}}\n"), asLimited},
		{"an istio-proxy that the injector fills in", app(plain+full) + "- {name: istio-proxy, image: auto}\n", asGuaranteed},
		{"the pod's own requests", "resources: {requests: {cpu: 1, memory: 1Gi}}\n" + app(plain), ""},
		{"the pod's own limits", "resources: {limits: {cpu: 1, memory: 1Gi}}\n" + app(plain), ""},
		{"the pod's own hugepages", "resources: {limits: {hugepages-2Mi: 4Mi}}\n" + app(plain), ""},
		{"the pod's empty resources", "resources: {}\n" + app(plain+full), asGuaranteed},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := podOf("", c.spec)
			for _, placement := range [][]option{{answeredBy("probe-proxy"), port(15099)}, {answeredBy("probe-proxy"), port(15099), asContainer}} {
				r := plan(t, before, placement...)
				if got := resourcesOf(t, r.text); got != c.want {
					t.Errorf("resources are %q, want %q", got, c.want)
				}
				for _, reason := range []string{"qos-class", "pod-level-resources", "resources-unreadable"} {
					if f, found := r.has(reason); found {
						t.Errorf("unexpected: %s", textOf(f))
					}
				}
				wantNoEdits(t, plan(t, r.text, placement...))
				wantText(t, restore(t, r.text, placement...), before)
			}
		})
	}
}

// The API's types, and so everything that the API server returns, have the field always.
func TestEmptyResourcesOfProbeProxyAreNone(t *testing.T) {
	r := plan(t, podOf("", app(httpProbe)))
	written := strings.Replace(r.text, "        securityContext:\n          runAsUser", "        resources: {}\n        securityContext:\n          runAsUser", 1)
	if written == r.text {
		t.Fatalf("probe-proxy must have no resources:\n%s", r.text)
	}
	wantNoEdits(t, plan(t, written))
}

func TestAClassThatChangesIsReported(t *testing.T) {
	configured := func(o *transformer.Options) {
		o.ProbeProxy.Resources = field.Map{{Key: "limits", Value: field.Map{{Key: "memory", Value: "64Mi"}}}}
	}
	const full = "resources: {limits: {cpu: 1, memory: 1Gi}}\n"
	for _, c := range []struct {
		name, spec   string
		opts         []option
		reason, text string // "" if there is none
	}{
		{"configured for a BestEffort pod", app(httpProbe), []option{configured}, "qos-class", "changes the pod's QoS class from BestEffort to Burstable"},
		{"configured for a Burstable pod", app(httpProbe + "resources: {requests: {cpu: 1}}\n"), []option{configured}, "", ""},
		{"configured for a Guaranteed pod, which fits", app(httpProbe + full), []option{configured}, "", ""},
		{"no limit for a Guaranteed pod", app(httpProbe + full), []option{func(o *transformer.Options) { o.ProbeProxy.Resources = field.Map{{Key: "limits"}} }},
			"qos-class", "`spec.template.spec`: `probeProxy.resources` changes the pod's QoS class from Guaranteed to Burstable"},
		{"a pod-level limit that is filled in", "resources: {requests: {cpu: 1, memory: 1Gi}}\n" + app(httpProbe+full), nil,
			"pod-level-resources", "`spec.template.spec.resources`: With probe-proxy, the pod's own `limits.cpu` would no longer be 1, but missing. Kubernetes 1.37 computes it from the containers. The pod is Guaranteed, and Burstable with it."},
		{"a pod-level limit that is filled in from several", "resources: {requests: {cpu: 2, memory: 3Gi}}\ninitContainers:\n" +
			"- {name: s, image: s, restartPolicy: Always, resources: {limits: {cpu: 1, memory: 1Gi}}}\n- {name: i, image: i, resources: {limits: {cpu: 1, memory: 2Gi}}}\n" + app(httpProbe+full), nil,
			"pod-level-resources", "Guaranteed, and Burstable"},
		{"pod-level requests below the limits", "resources: {requests: {cpu: 100m, memory: 1Gi}}\n" + app(httpProbe+full), nil, "pod-level-resources", "Kubernetes 1.37 computes it from the containers. Write it here."},
		{"pod-level requests and limits", "resources: {requests: {cpu: 1}, limits: {cpu: 1, memory: 1Gi}}\n" + app(httpProbe), nil, "", ""},
		{"pod-level memory from the containers", "resources: {requests: {cpu: 1}}\n" + app(httpProbe+full), nil, "pod-level-resources", "Guaranteed"},
		{"what is no quantity", app(httpProbe + "resources: {limits: {cpu: \"${CPU}\", memory: 1Gi}}\n"), nil,
			"resources-unreadable", "`spec.template.spec.containers[0].resources.limits.cpu`: \"${CPU}\" is not a quantity"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := plan(t, podOf("", c.spec), append(c.opts, answeredBy("probe-proxy"))...)
			for _, reason := range []string{"qos-class", "pod-level-resources", "resources-unreadable"} {
				f, found := r.has(reason)
				if found != (reason == c.reason) || found && !strings.Contains(textOf(f), c.text) {
					t.Errorf("%s: %t: %q, want %q with %q", reason, found, textOf(f), c.reason, c.text)
				}
			}
			if i := slices.IndexFunc(r.Findings, func(f transformer.Finding) bool { return f.Severity == transformer.Error }); i >= 0 {
				t.Errorf("unexpected: %s", textOf(r.Findings[i]))
			}
		})
	}
	r := plan(t, podOf("", app(httpProbe+"resources: {limits: {cpu: \"${CPU}\", memory: 1Gi}}\n")))
	if got := resourcesOf(t, r.text); got != asBurstable {
		t.Errorf("resources are %q, want %q", got, asBurstable)
	}
}

// In a Burstable pod any probe over TLS needs more CPU than those without.
func TestProbesOverTLSNeedMoreCPU(t *testing.T) {
	const guaranteed, burstable = "resources: {limits: {cpu: 1, memory: 1Gi}}\n", "resources: {requests: {cpu: 1, memory: 1Gi}}\n"
	tls := []string{"livenessProbe: {httpGet: {port: 1, scheme: HTTPS}}\n", "readinessProbe: {grpc: {port: 2, mode: TLS}}\n", "startupProbe: {httpGet: {port: 3, scheme: HTTPS}}\n", "lifecycle: {preStop: {httpGet: {port: 4, scheme: HTTPS}}}\n"}
	for _, c := range []struct {
		resources, want string
		probes          int
	}{
		{guaranteed, "cpu: 100m\n", 0}, {guaranteed, "cpu: 100m\n", 4}, {burstable, "cpu: 20m\n", 1}, {burstable, "cpu: 20m\n", 4}, {burstable, "cpu: 10m\n", 0},
	} {
		probes := strings.Join(tls[:c.probes], "")
		if c.probes == 0 {
			probes = httpProbe
		}
		if r := plan(t, podOf("", app(probes+c.resources)), answeredBy("probe-proxy")); !strings.Contains(r.text, c.want) {
			t.Errorf("%d probes with %s: want %s in\n%s", c.probes, c.resources, c.want, r.text)
		}
	}
}

// A securityContext of which nothing is left is none.
func TestProbeProxyMayHaveNoSecurityContext(t *testing.T) {
	none := func(o *transformer.Options) {
		for _, key := range []string{"runAsUser", "runAsGroup", "runAsNonRoot", "readOnlyRootFilesystem", "allowPrivilegeEscalation", "capabilities", "seccompProfile"} {
			o.ProbeProxy.SecurityContext = append(o.ProbeProxy.SecurityContext, field.Entry{Key: key})
		}
	}
	if r := plan(t, podOf("", app(httpProbe)), none); strings.Contains(r.text, "securityContext") || len(r.Edits) == 0 {
		t.Errorf("got\n%s", r.text)
	}
}
