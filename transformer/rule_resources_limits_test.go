package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// limitRange returns a LimitRange with limits in flow style, to be put before a pod.
func limitRange(limits string) string {
	return "apiVersion: v1\nkind: LimitRange\nmetadata: {name: small}\nspec: {limits: [" + limits + "]}\n---\n"
}

func quota(hard string) string {
	return "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: total}\nspec: {hard: " + hard + "}\n---\n"
}

func TestWhatTheNamespaceDoesNotAcceptIsSaid(t *testing.T) {
	const (
		busy   = "resources: {requests: {cpu: 500m, memory: 1Gi}}\n"
		full   = "resources: {limits: {cpu: 500m, memory: 1Gi}}\n"
		silent = ""
	)
	requestOnly := func(o *transformer.Options) {
		o.ProbeProxy.Resources = field.Map{{Key: "limits"}}
	}
	nothing := func(o *transformer.Options) {
		o.ProbeProxy.Resources = field.Map{{Key: "limits"}, {Key: "requests"}}
	}
	for _, c := range []struct {
		name, around, fields string
		opts                 []option
		want                 []string // in the message; none if there is no message
	}{
		{"no LimitRange", "", busy, nil, nil},
		{"a minimum", limitRange("{type: Container, min: {cpu: 100m}}"), busy, nil, []string{
			"LimitRange \"small\": the least cpu of a container is 100m, and the request is 10m",
			"`probeProxy: {resources: {requests: {cpu: 100m, memory: 32Mi}, limits: {cpu: 100m, memory: 32Mi}}}`"}},
		{"a minimum that is met", limitRange("{type: Container, min: {cpu: 1m, memory: 8Mi}}"), busy, nil, nil},
		{"a maximum that fits", limitRange("{type: Container, max: {cpu: 1, memory: 2Gi}}"), busy, nil, nil},
		{"a maximum of memory", limitRange("{type: Container, max: {memory: 24Mi}}"), busy, nil, []string{"the most memory of a container is 24Mi, and the limit is 32Mi", "cpu: 100m, memory: 24Mi"}},
		{"a ratio", limitRange("{type: Container, maxLimitRequestRatio: {memory: 1}}"), busy, nil, []string{"the limit of memory may be 1 times the request of a container, and they are 32Mi and 16Mi", "memory: 32Mi"}},
		{"a ratio in a Guaranteed pod", limitRange("{type: Container, maxLimitRequestRatio: {memory: 1, cpu: 1}}"), full, nil, nil},
		{"a default below the request", limitRange("{type: Container, default: {cpu: 3m}, defaultRequest: {cpu: 1m}}"), "resources: {requests: {cpu: 1m}}\n", []option{requestOnly}, []string{"sets a limit of 3m cpu, below the request of 10m"}},
		{"defaults that fit", limitRange("{type: Container, default: {cpu: 500m, memory: 1Gi}}"), silent, nil, nil},
		{"a pod's maximum", limitRange("{type: Pod, max: {memory: 1Gi}}"), full, nil, []string{"the most memory of a pod is 1024Mi, and the limit is 1056Mi", "Make room in that limit"}},
		{"a pod's maximum that the app does not fit", limitRange("{type: Pod, max: {memory: 1Mi}}"), full, nil, nil},
		{"what the app does not fit, and what only probe-proxy does not", limitRange("{type: Pod, max: {memory: 1Mi}}, {type: Container, min: {cpu: 200m}}"), full, nil, []string{"the least cpu of a container is 200m"}},
		{"a pod's maximum, and the app has no limit", limitRange("{type: Pod, max: {memory: 16Mi}}"), busy, nil, nil},
		{"a ratio, and there is no limit", limitRange("{type: Container, maxLimitRequestRatio: {cpu: 2}}"), busy, []option{requestOnly}, []string{"LimitRange \"small\": the limit of cpu may be 2 times the request of a container, and they are 0 and 10m. Set "}},
		{"a ratio, and there is nothing", limitRange("{type: Container, maxLimitRequestRatio: {cpu: 2}}"), busy, []option{nothing}, []string{"the limit of cpu may be 2 times the request of a container, and they are 0 and 0. Set "}},
		{"a pod's minimum and maximum are not probe-proxy's", limitRange("{type: Pod, min: {cpu: 1}, max: {cpu: 30m}}, {type: Container, min: {cpu: 200m}}"), full, nil, []string{
			"The namespace refuses the pod with probe-proxy. LimitRange \"small\": the least cpu of a container is 200m, and the request is 100m. Set `probeProxy: {resources: {requests: {cpu: 200m, memory: 32Mi}, limits: {cpu: 200m, memory: 32Mi}}}`"}},
		{"a PersistentVolumeClaim's", limitRange("{type: PersistentVolumeClaim, min: {memory: 1Gi}}"), busy, nil, nil},
		{"a quota of limits", quota("{limits.cpu: 1, requests.memory: 2Gi}"), full, nil, nil},
		{"a quota of limits that are configured away", quota("{limits.cpu: 1}"), full, []option{requestOnly}, []string{"ResourceQuota \"total\" has `limits.cpu`, so every container must have it", "limits: {cpu: 100m"}},
		{"a quota of requests that are configured away", quota("{requests.cpu: 1}"), full, []option{nothing}, []string{"ResourceQuota \"total\" has `requests.cpu`, so every container must have it"}},
		{"a quota by the old name of requests", quota("{cpu: 1}"), full, []option{nothing}, []string{"ResourceQuota \"total\" has `cpu`, so every container must have it"}},
		{"a quota that the app does not meet", quota("{limits.cpu: 1}"), busy, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := plan(t, c.around+podOf("", app(httpProbe+c.fields)), c.opts...)
			f, found := r.has("namespace-limits")
			if found != (c.want != nil) {
				t.Fatalf("warned: %t: %s", found, textOf(f))
			}
			for _, want := range c.want {
				if !strings.Contains(textOf(f), want) {
					t.Errorf("message is %q, want %q", textOf(f), want)
				}
			}
		})
	}
	own := plan(t, limitRange("{type: Container, default: {cpu: 500m}}")+podOf("", "resources: {requests: {cpu: 500m}}\n"+app(httpProbe)))
	if f, _ := own.has("namespace-limits"); !strings.Contains(textOf(f), "the containers request more cpu than the pod's own 500m.") {
		t.Errorf("message is %q", textOf(f))
	}
	limited := plan(t, limitRange("{type: Container, default: {cpu: 1}}")+podOf("", "resources: {limits: {cpu: 1}}\n"+app(httpProbe+"resources: {requests: {cpu: 500m}}\n")))
	if f, _ := limited.has("namespace-limits"); !strings.Contains(textOf(f), "the pod's own request of cpu becomes 1500m, over its limit of 1.") {
		t.Errorf("message is %q", textOf(f))
	}
	other := plan(t, limitRange("{type: Container, default: {cpu: 500m}}")+podOf("", "resources: {requests: {memory: 500Mi}}\n"+app(httpProbe+"resources: {requests: {cpu: 0}}\n")))
	if f, found := other.has("namespace-limits"); found {
		t.Errorf("the pod itself requests no CPU: %s", textOf(f))
	}
}

// Defaults that a LimitRange fills in make a class too.
func TestTheClassIsThatOfTheNamespacesDefaults(t *testing.T) {
	around := limitRange("{type: Container, default: {cpu: 500m, memory: 1Gi}}")
	r := plan(t, around+podOf("", app(httpProbe)))
	if got := resourcesOf(t, r.text); got != asGuaranteed {
		t.Errorf("resources are %q, want %q", got, asGuaranteed)
	}
	only := plan(t, limitRange("{type: Container, defaultRequest: {cpu: 500m}}")+podOf("", app(httpProbe)))
	if got := resourcesOf(t, only.text); got != asBurstable {
		t.Errorf("resources are %q, want %q", got, asBurstable)
	}
}

func TestADeclaredIstioProxyHasTheConfiguredResources(t *testing.T) {
	around := limitRange("{type: Container, default: {cpu: 500m, memory: 1Gi}}")
	own := func(o *transformer.Options) {
		o.IstioProxy.Resources = field.Map{{Key: "limits", Value: field.Map{{Key: "cpu", Value: 2}}}}
	}
	bare := podOf("", app(httpProbe))
	before := around + bare
	silent := plan(t, before, answeredBy("istio-proxy"))
	if f, _ := silent.has("proxy-limits"); !strings.Contains(textOf(f), "LimitRange \"small\" gives its defaults to the declared istio-proxy") {
		t.Errorf("message is %q", textOf(f))
	}
	given := plan(t, before, answeredBy("istio-proxy"), own)
	if _, found := given.has("proxy-limits"); found || !strings.Contains(given.text, "resources:\n          limits:\n            cpu: 2\n") {
		t.Errorf("warned: %t:\n%s", found, given.text)
	}
	if _, found := plan(t, limitRange("{type: Container, defaultRequest: {cpu: 500m}}")+bare, answeredBy("istio-proxy")).has("proxy-limits"); !found {
		t.Error("a default of requests alone replaces those of the injector too")
	}
	if _, found := plan(t, bare, answeredBy("istio-proxy")).has("proxy-limits"); found {
		t.Error("nothing fills in defaults")
	}
	wantNoEdits(t, plan(t, given.text, answeredBy("istio-proxy"), own))
	wantText(t, plan(t, given.text, answeredBy("istio-proxy")), silent.text)
	if later := plan(t, silent.text, answeredBy("istio-proxy"), own); sortedLines(later.text) != sortedLines(given.text) {
		t.Errorf("is\n%s\nwant\n%s", later.text, given.text)
	}
	wantText(t, restore(t, given.text), before)
}

// Any of the LimitRanges may fill in the declared proxy.
func TestEveryLimitRangeCountsForADeclaredProxy(t *testing.T) {
	ofPods, ofContainers := limitRange("{type: Pod, max: {memory: 100Gi}}"), limitRange("{type: Container, default: {memory: 1Gi}}")
	for ranges, warned := range map[string]bool{"": false, ofPods: false, ofContainers: true, ofPods + ofContainers: true, ofContainers + ofPods: true} {
		r := plan(t, ranges+podOf("", app(httpProbe)), answeredBy("istio-proxy"))
		if _, got := r.has("proxy-limits"); got != warned {
			t.Errorf("%s: %v", ranges, r.Findings)
		}
	}
}
