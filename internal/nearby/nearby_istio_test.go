package nearby_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/nearby"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// injectorOf returns the injector's ConfigMap of a revision, "" for the default one.
func injectorOf(revision, values string, config ...string) string {
	name, label := "istio-sidecar-injector", "default"
	if revision != "" {
		name, label = name+"-"+revision, revision
	}
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n  namespace: istio-system\n  labels: {istio.io/rev: %s}\ndata:\n  values: |\n    %s\n%s", name, label, values, strings.Join(config, ""))
}

const (
	rewrites = `{"sidecarInjectorWebhook": {"rewriteAppHTTPProbe": true}}`
	leaves   = `{"sidecarInjectorWebhook": {"rewriteAppHTTPProbe": false}}`
)

func meshOf(mesh string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio, namespace: istio-system}\ndata:\n  mesh: |\n    " + strings.ReplaceAll(mesh, "\n", "\n    ") + "\n"
}

func istiodOf(image, env string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: istiod, namespace: istio-system}\nspec: {template: {spec: {containers: [{name: discovery, image: '" + image + "', env: [" + env + "]}]}}}\n"
}

const native = "{name: ENABLE_NATIVE_SIDECARS, value: '%s'}"

// hooksOf returns the webhooks of a revision as Istio's charts write them, or those of a tag.
func hooksOf(revision, tag string, isDefault bool) string {
	of, tagged := tag, ", istio.io/tag: "+tag
	if tag == "" {
		of, tagged = revision, ""
	}
	text := "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata:\n  name: hooks-" + of + "\n  labels: {istio.io/rev: " + revision + tagged + "}\nwebhooks:\n"
	hook := func(name, namespace, object string) {
		text += "- name: " + name + ".sidecar-injector.istio.io\n  rules: [{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [pods]}]\n" +
			"  namespaceSelector: {matchExpressions: [" + namespace + "]}\n  objectSelector: {matchExpressions: [" + object + "]}\n"
	}
	const notOff, noRev, noInjection = "{key: sidecar.istio.io/inject, operator: NotIn, values: ['false']}", "{key: istio.io/rev, operator: DoesNotExist}", "{key: istio-injection, operator: DoesNotExist}"
	isOf := "{key: istio.io/rev, operator: In, values: [" + of + "]}"
	hook("rev.namespace", isOf+", "+noInjection, notOff)
	hook("rev.object", noRev+", "+noInjection, notOff+", "+isOf)
	if isDefault {
		hook("namespace", "{key: istio-injection, operator: In, values: [enabled]}", notOff)
		hook("object", noRev+", "+noInjection, "{key: sidecar.istio.io/inject, operator: In, values: ['true']}, "+noRev)
	}
	return text
}

// A stated is what objects state, in words: + is true, - is false, and ? is not known.
func stated(s surroundings.Stated) string {
	return map[certain.Certainty]string{certain.Always: "+", certain.Never: "-"}[s.Is]
}

func TestObjectsOfAnInstallationStateFacts(t *testing.T) {
	const on, none = "istio-injection: enabled", "a: b"
	for _, c := range []struct {
		name      string
		namespace string // labels; "" if they are not known
		pod       field.KeyValues
		objects   []string
		want      string // injected, rewrites, native, holds
	}{
		{"nothing is there", on, nil, nil, "i? r? n? h?"},
		{"the injector rewrites", on, nil, []string{injectorOf("", rewrites)}, "i? r+ n? h?"},
		{"the injector leaves probes", on, nil, []string{injectorOf("", leaves)}, "i? r- n? h?"},
		{"the injector's default is to leave probes", on, nil, []string{injectorOf("", "{}")}, "i? r- n? h?"},
		{"a variable says nothing", on, nil, []string{injectorOf("", `{"sidecarInjectorWebhook": {"rewriteAppHTTPProbe": "${X}"}}`)}, "i? r? n? h?"},
		{"the values are no mapping", on, nil, []string{injectorOf("", "[]")}, "i? r? n? h?"},
		{"another revision says nothing", on, nil, []string{injectorOf("", rewrites), injectorOf("canary", leaves)}, "i? r+ n? h?"},
		{"the Namespace names a revision", "istio.io/rev: canary", nil, []string{injectorOf("", rewrites), injectorOf("canary", leaves)}, "i? r- n? h?"},
		{"the Namespace names the default revision", "istio.io/rev: default", nil, []string{injectorOf("", rewrites), injectorOf("canary", leaves)}, "i? r+ n? h?"},
		{"the Namespace names a revision that is elsewhere", "istio.io/rev: prod", nil, []string{injectorOf("", rewrites)}, "i? r? n? h?"},
		{"the pod names a revision", none, field.KeyValues{{Key: "istio.io/rev", Value: "canary"}}, []string{injectorOf("", rewrites), injectorOf("canary", leaves)}, "i? r- n? h?"},
		{"only a named revision is there, which a tag may make the default", on, nil, []string{injectorOf("canary", rewrites)}, "i? r+ n? h?"},
		{"nothing is known of the Namespace, and all agree", "", nil, []string{injectorOf("", rewrites), injectorOf("canary", rewrites)}, "i? r+ n? h?"},
		{"nothing is known of the Namespace, and they differ", "", nil, []string{injectorOf("", rewrites), injectorOf("canary", leaves)}, "i? r? n? h?"},
		{"two of one name contradict each other", on, nil, []string{injectorOf("", rewrites), injectorOf("", leaves)}, "i? r? n? h?"},

		{"a webhook injects", on, nil, []string{hooksOf("default", "", true)}, "i+ r? n? h?"},
		{"a webhook injects if the pod has no switch", on, field.KeyValues{{Key: "sidecar.istio.io/inject", Value: "false"}}, []string{hooksOf("default", "", true)}, "i? r? n? h?"},
		{"no webhook selects a pod that asks for nothing", none, nil, []string{hooksOf("default", "", true)}, "i- r? n? h?"},
		{"no webhook selects a pod that asks for a revision which may be elsewhere", "istio.io/rev: prod", nil, []string{hooksOf("default", "", true)}, "i? r? n? h?"},
		{"the pod asks", none, field.KeyValues{{Key: "sidecar.istio.io/inject", Value: "true"}}, []string{hooksOf("default", "", true)}, "i+ r? n? h?"},
		{"the pod asks for a revision", none, field.KeyValues{{Key: "istio.io/rev", Value: "canary"}}, []string{hooksOf("canary", "", false), injectorOf("canary", leaves), injectorOf("", rewrites)}, "i+ r- n? h?"},
		{"a tag names the revision", "istio.io/rev: prod", nil, []string{hooksOf("canary", "prod", false), injectorOf("canary", leaves), injectorOf("prod", rewrites)}, "i+ r- n? h?"},
		{"the default tag names the revision", on, nil, []string{hooksOf("canary", "default", true), injectorOf("canary", leaves), injectorOf("", rewrites)}, "i+ r- n? h?"},
		{"two revisions inject", on, nil, []string{hooksOf("canary", "x", true), hooksOf("default", "", true), injectorOf("canary", leaves), injectorOf("", rewrites)}, "i+ r? n? h?"},
		{"the Namespace is not known", "", nil, []string{hooksOf("default", "", true), injectorOf("", rewrites)}, "i? r+ n? h?"},
		{"the injector leaves some pods", on, field.KeyValues{{Key: "a", Value: "b"}}, []string{hooksOf("default", "", true), injectorOf("", rewrites, "  config: 'neverInjectSelector: [{matchLabels: {a: b}}]'\n")}, "i- r+ n? h?"},
		{"the injector leaves other pods", on, nil, []string{hooksOf("default", "", true), injectorOf("", rewrites, "  config: 'neverInjectSelector: [{matchLabels: {a: b}}]'\n")}, "i+ r+ n? h?"},
		{"the injector's policy is disabled", on, nil, []string{hooksOf("default", "", true), injectorOf("", rewrites, "  config: 'policy: disabled'\n")}, "i- r+ n? h?"},
		{"the injector's policy is disabled, and the pod asks", on, field.KeyValues{{Key: "sidecar.istio.io/inject", Value: "true"}}, []string{hooksOf("default", "", true), injectorOf("", rewrites, "  config: 'policy: disabled'\n")}, "i+ r+ n? h?"},
		{"a webhook has conditions", on, nil, []string{strings.ReplaceAll(hooksOf("default", "", true), "  rules:", "  matchConditions: [{name: x, expression: 'true'}]\n  rules:")}, "i? r? n? h?"},

		{"a webhook without a label is of any revision", on, nil, []string{strings.Replace(hooksOf("default", "", true), "  labels: {istio.io/rev: default}\n", "", 1), injectorOf("", rewrites), injectorOf("canary", leaves)}, "i+ r? n? h?"},
		{"a webhook of somebody else's says nothing", on, nil, []string{"apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: a}\nwebhooks: [{name: a.example.com}]\n"}, "i? r? n? h?"},

		{"istiod has native sidecars", on, nil, []string{istiodOf("pilot:1.31.0", fmt.Sprintf(native, "true"))}, "i? r? n+ h?"},
		{"istiod has none", on, nil, []string{istiodOf("pilot:1.31.0", fmt.Sprintf(native, "false"))}, "i? r? n- h?"},
		{"istiod has them by a word that it does not know", on, nil, []string{istiodOf("pilot:1.31.0", fmt.Sprintf(native, "sometimes"))}, "i? r? n- h?"},
		{"istiod chooses by the nodes", on, nil, []string{istiodOf("pilot:1.31.0", "")}, "i? r? n? h?"},
		{"an old istiod has none", on, nil, []string{istiodOf("r.io:5000/pilot:1.26.3-distroless", "")}, "i? r? n- h?"},
		{"an istiod of no known version", on, nil, []string{istiodOf("pilot@sha256:0", "")}, "i? r? n? h?"},
		{"the env var comes from elsewhere", on, nil, []string{istiodOf("pilot:1.24.0", "{name: ENABLE_NATIVE_SIDECARS, valueFrom: {configMapKeyRef: {name: x, key: y}}}")}, "i? r? n? h?"},
		{"the values have the env var", on, nil, []string{injectorOf("", `{"pilot": {"env": {"ENABLE_NATIVE_SIDECARS": true}}}`)}, "i? r- n+ h?"},
		{"istiod's own env var counts more than the values", on, nil, []string{injectorOf("", `{"pilot": {"env": {"ENABLE_NATIVE_SIDECARS": "true"}}}`), istiodOf("pilot:1.31.0", fmt.Sprintf(native, "false"))}, "i? r- n- h?"},

		{"the mesh has containers wait", on, nil, []string{injectorOf("", "{}"), meshOf("defaultConfig:\n  holdApplicationUntilProxyStarts: true")}, "i? r- n? h+"},
		{"the values have containers wait", on, nil, []string{injectorOf("", `{"global": {"proxy": {"holdApplicationUntilProxyStarts": true}}}`), meshOf("{}")}, "i? r- n? h+"},
		{"nobody has containers wait", on, nil, []string{injectorOf("", "{}"), meshOf("defaultConfig: {statusPort: 15020}")}, "i? r- n? h-"},
		{"another hook replaces the one that waits", on, nil, []string{injectorOf("", `{"global": {"proxy": {"holdApplicationUntilProxyStarts": true, "lifecycle": {"preStop": {}}}}}`), meshOf("{}")}, "i? r- n? h-"},
		{"only the mesh is known", on, nil, []string{meshOf("defaultConfig:\n  holdApplicationUntilProxyStarts: true")}, "i? r? n? h?"},
	} {
		s := of(t, "shop", "a.yaml", documents(append([]string{web}, c.objects...)...))
		var labels field.KeyValues
		if key, value, set := strings.Cut(c.namespace, ": "); set {
			labels = field.KeyValues{{Key: key, Value: value}}
		}
		if c.pod == nil {
			c.pod = field.KeyValues{}
		}
		pods := &surroundings.Pods{Namespace: "shop", Kind: "Deployment", Name: "web", Labels: c.pod, Spec: &pod.Spec{}}
		x := s.Istio(pods, c.pod.Get("sidecar.istio.io/inject"), labels, c.namespace != "")
		got := ""
		for i, fact := range []surroundings.Stated{x.Injected, x.Rewrites, x.Native, x.Holds(certain.Maybe)} {
			word := stated(fact)
			if word == "" {
				word = "?"
			}
			got += " " + "irnh"[i:i+1] + word
		}
		if got = got[1:]; got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// What another program installs Istio with states the same: what its values lack has the chart's default, if no other
// file may set it.
func TestWhatIstioIsInstalledWithStatesFacts(t *testing.T) {
	object := func(apiVersion, kind, name, spec string) string {
		return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: x}\nspec: " + spec + "\n"
	}
	flux := func(chart, spec string) string {
		return object("helm.toolkit.fluxcd.io/v2", "HelmRelease", "mesh", "{chart: {spec: {chart: "+chart+", version: 1.26.1}}"+spec+"}")
	}
	argo := func(helm string) string {
		return object("argoproj.io/v1alpha1", "Application", "mesh", "{source: {chart: istiod, targetRevision: 1.26.1, helm: "+helm+"}}")
	}
	k3s := func(spec string) string {
		return object("helm.cattle.io/v1", "HelmChart", "mesh", "{chart: oci://x/istiod"+spec+"}")
	}
	kustomize := func(chart string) string {
		return "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nhelmCharts:\n- {name: base}\n- {name: istiod, repo: https://example.com, version: 1.26.1" + chart + "}\n"
	}
	istioctl := func(spec string) string {
		return object("install.istio.io/v1alpha1", "IstioOperator", "mesh", "{"+spec+"}")
	}
	sail := func(name, spec string) string {
		return object("sailoperator.io/v1", "Istio", name, "{version: v1.26.1"+spec+"}")
	}
	const leaves, hold = "{sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}}", "{meshConfig: {defaultConfig: {holdApplicationUntilProxyStarts: true}}}"
	for _, c := range []struct{ name, object, want string }{
		{"Flux, defaults", flux("istiod", ""), "r+ n- h-"},
		{"Flux, values", flux("istiod", ", values: "+leaves), "r- n- h-"},
		{"Flux, the mesh's values", flux("istiod", ", values: "+hold), "r+ n- h+"},
		{"Flux, another chart", flux("gateway", ", values: "+leaves), "r? n? h?"},
		{"Flux, an external control plane", flux("istiod", ", values: {profile: remote}"), "r? n? h?"},
		{"Flux, a variable", flux("istiod", ", values: {sidecarInjectorWebhook: {rewriteAppHTTPProbe: \"${X}\"}}"), "r? n- h-"},
		{"Flux, native", flux("istiod", ", values: {pilot: {env: {ENABLE_NATIVE_SIDECARS: 'true'}}}"), "r+ n+ h-"},
		{"Flux, an older behaviour", flux("istiod", ", values: {compatibilityVersion: '1.24'}"), "r+ n? h-"},
		{"Flux, values elsewhere", flux("istiod", ", valuesFrom: [{kind: Secret, name: a}]"), "r? n? h?"},
		{"Flux, values elsewhere and here", flux("istiod", ", valuesFrom: [{kind: Secret, name: a}], values: "+leaves), "r- n? h?"},
		{"Flux, rendered again", flux("istiod", ", postRenderers: []"), "r? n? h?"},
		{"Flux, an artifact", object("helm.toolkit.fluxcd.io/v2", "HelmRelease", "mesh", "{chartRef: {kind: OCIRepository, name: istiod}, values: "+leaves+"}"), "r- n? h?"},
		{"Flux, a patch of another object", object("helm.toolkit.fluxcd.io/v2", "HelmRelease", "istiod", "{values: "+leaves+"}"), "r- n? h?"},
		{"Flux, a patch that contradicts", flux("istiod", "") + "---\n" + object("helm.toolkit.fluxcd.io/v2", "HelmRelease", "istiod", "{values: "+leaves+"}"), "r? n- h-"},
		{"Argo CD, defaults", argo("{}"), "r+ n- h-"},
		{"Argo CD, values", argo("{values: '" + leaves + "'}"), "r- n- h-"},
		{"Argo CD, values that are an object count more", argo("{values: '" + leaves + "', valuesObject: {a: b}}"), "r+ n- h-"},
		{"Argo CD, parameters count most", argo("{valuesObject: {sidecarInjectorWebhook: {rewriteAppHTTPProbe: true}, a: b}, parameters: [{name: sidecarInjectorWebhook.rewriteAppHTTPProbe, value: 'false'}]}"), "r- n- h-"},
		{"Argo CD, a file of values", argo("{valueFiles: [a.yaml]}"), "r? n? h?"},
		{"Argo CD, text that is none", argo("{values: '[]'}"), "r? n? h?"},
		{"Argo CD, several sources", object("argoproj.io/v1alpha1", "Application", "mesh", "{sources: [{path: a}, {chart: istiod, targetRevision: 1.26.1, helm: {valuesObject: "+leaves+"}}]}"), "r- n- h-"},
		{"Argo CD, another chart", object("argoproj.io/v1alpha1", "Application", "mesh", "{source: {chart: x}}"), "r? n? h?"},
		{"k3s, defaults of the newest", k3s(""), "r+ n? h-"},
		{"k3s, values", k3s(", version: 1.26.1, valuesContent: '" + leaves + "'"), "r- n- h-"},
		{"k3s, set counts more", k3s(", valuesContent: 'sidecarInjectorWebhook: {rewriteAppHTTPProbe: true}', set: {sidecarInjectorWebhook.rewriteAppHTTPProbe: 'false', global.proxy.holdApplicationUntilProxyStarts: 'true'}"), "r- n? h+"},
		{"kustomize, defaults", kustomize(""), "r+ n- h-"},
		{"kustomize, values", kustomize(", valuesInline: " + leaves), "r- n- h-"},
		{"kustomize, a file", kustomize(", valuesFile: a.yaml"), "r? n? h?"},
		{"kustomize, a file and values", kustomize(", valuesFile: a.yaml, valuesInline: " + leaves), "r- n? h?"},
		{"kustomize, a file that counts more", kustomize(", valuesFile: a.yaml, valuesMerge: merge, valuesInline: " + leaves), "r? n? h?"},
		{"kustomize, other charts", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nhelmCharts: [{name: base}]\n", "r? n? h?"},
		{"istioctl, defaults", istioctl(""), "r+ n? h-"},
		{"istioctl", istioctl("tag: 1.31.0, values: " + leaves + ", meshConfig: {defaultConfig: {holdApplicationUntilProxyStarts: true}}, components: {pilot: {k8s: {env: [{name: ENABLE_NATIVE_SIDECARS, value: 'true'}]}}}"), "r- n+ h+"},
		{"istioctl, another revision", istioctl("revision: canary, values: " + leaves), "r? n? h?"},
		{"istioctl, overlays", istioctl("components: {pilot: {k8s: {overlays: []}}}"), "r? n? h?"},
		{"Sail", sail("default", ", values: "+leaves), "r- n- h-"},
		{"Sail, another revision", sail("canary", ", values: "+leaves), "r? n? h?"},
		{"Sail, the object of a revision", object("sailoperator.io/v1", "IstioRevision", "default", "{version: v1.26.1, values: "+leaves+"}"), "r- n- h-"},
		{"Sail, a revision of each version", sail("default", ", updateStrategy: {type: RevisionBased}, values: "+leaves), "r? n? h?"},
		{"a revision in the values", flux("istiod", ", values: {revision: canary, sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}}"), "r? n? h?"},
	} {
		// The Namespace asks for the default revision, which the second object installs.
		text := documents(web, c.object)
		if strings.Contains(c.want, "r? n? h?") {
			text = documents(web, c.object, injectorOf("", "{\"sidecarInjectorWebhook\": {\"rewriteAppHTTPProbe\": \"${X}\"}}"))
		}
		s := of(t, "shop", "a.yaml", text)
		pods := &surroundings.Pods{Namespace: "shop", Kind: "Deployment", Name: "web", Labels: field.KeyValues{}, Spec: &pod.Spec{}}
		x := s.Istio(pods, "", field.KeyValues{{Key: "istio-injection", Value: "enabled"}}, true)
		got := ""
		for i, fact := range []surroundings.Stated{x.Rewrites, x.Native, x.Holds(certain.Maybe)} {
			word := stated(fact)
			if word == "" {
				word = "?"
			}
			got += " " + "rnh"[i:i+1] + word
		}
		if got = got[1:]; got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A tag of the Sail operator's leads to a revision, which the object that it names may show.
func TestATagOfSailMeansARevision(t *testing.T) {
	object := func(kind, name, spec string) string {
		return "apiVersion: sailoperator.io/v1\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec: {" + spec + "}\n"
	}
	const off = "values: {sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}}"
	tag := func(name, kind, target string) string {
		return object("IstioRevisionTag", name, "targetRef: {kind: "+kind+", name: "+target+"}")
	}
	blue := object("Istio", "blue", "version: v1.30.3, "+off)
	versioned := object("Istio", "blue", "updateStrategy: {type: RevisionBased}, version: v1.30.3, "+off)
	other := object("Istio", "green", "version: v1.30.3")
	for _, c := range []struct {
		name, label string // of the Namespace
		objects     []string
		want        string // whether the injector rewrites
	}{
		{"a tag of an Istio", "istio.io/rev: prod", []string{tag("prod", "Istio", "blue"), blue, other}, "-"},
		{"the default tag", "istio-injection: enabled", []string{tag("default", "Istio", "blue"), blue, other}, "-"},
		{"a tag of a revision", "istio.io/rev: prod", []string{tag("prod", "IstioRevision", "blue"), blue, other}, "-"},
		{"a revision of each version", "istio.io/rev: prod", []string{tag("prod", "Istio", "blue"), versioned, other}, "-"},
		{"the revision of a version", "istio.io/rev: blue-v1-30-3", []string{versioned, other}, "-"},
		{"a version that stands for another", "istio.io/rev: prod", []string{tag("prod", "Istio", "blue"), strings.Replace(versioned, "v1.30.3", "v1.30-latest", 1), other}, "+"},
		{"what the operator has found", "istio.io/rev: prod", []string{tag("prod", "Istio", "blue") + "status: {istioRevision: green}\n", blue, other}, "+"},
		{"a tag of an Istio that is elsewhere", "istio.io/rev: prod", []string{tag("prod", "Istio", "red"), blue, other}, ""},
		{"no such tag", "istio.io/rev: prod", []string{tag("test", "Istio", "blue"), blue, other}, ""},
		{"two tags of one name", "istio.io/rev: prod", []string{tag("prod", "Istio", "blue"), tag("prod", "Istio", "green"), blue, other}, ""},
	} {
		s := of(t, "shop", "a.yaml", documents(append([]string{web}, c.objects...)...))
		key, value, _ := strings.Cut(c.label, ": ")
		pods := &surroundings.Pods{Namespace: "shop", Kind: "Deployment", Name: "web", Labels: field.KeyValues{}, Spec: &pod.Spec{}}
		x := s.Istio(pods, "", field.KeyValues{{Key: key, Value: value}}, true)
		if got := stated(x.Rewrites); got != c.want {
			t.Errorf("%s: %q, want %q (%s)", c.name, got, c.want, x.Rewrites.At)
		}
	}
	s := of(t, "shop", "a.yaml", documents(web, tag("prod", "Istio", "blue"), tag("test", "IstioRevision", "test"), blue))
	if tags := surroundings.Tags(&s.Surroundings); len(tags) != 1 || tags[0].Name != "prod" || tags[0].Revision != "blue" {
		t.Errorf("the tags are %+v", tags)
	}
}

// Far tags count only where no control plane is near.
func TestAFarTagOfSailDecidesNothingNear(t *testing.T) {
	tag := "apiVersion: sailoperator.io/v1\nkind: IstioRevisionTag\nmetadata: {name: default}\nspec: {targetRef: {kind: IstioRevision, name: canary}}\n"
	pods := &surroundings.Pods{Namespace: "shop", Kind: "Deployment", Name: "web", Labels: field.KeyValues{}, Spec: &pod.Spec{}}
	ask := func(files ...string) surroundings.Installed {
		s := of(t, "shop", files...)
		return s.Istio(pods, "", field.KeyValues{{Key: "istio-injection", Value: "enabled"}}, true)
	}
	near := ask("apps/a.yaml", documents(web, injectorOf("", rewrites), injectorOf("canary", leaves)), "infra/tag.yaml", tag)
	if stated(near.Rewrites) != "+" {
		t.Errorf("near: %+v", near.Rewrites)
	}
	far := ask("apps/a.yaml", web, "infra/a.yaml", documents(tag, injectorOf("", leaves), injectorOf("canary", rewrites)))
	if !strings.Contains(far.FarRewrites, "istio-sidecar-injector-canary") {
		t.Errorf("far: %q", far.FarRewrites)
	}
}

// Only a whole cluster says that there is no webhook.
func TestAWholeClusterSaysWhatIsNotThere(t *testing.T) {
	for _, whole := range []bool{true, false} {
		files, err := manifest.Read("web.yaml", []byte(web))
		if err != nil {
			t.Fatal(err)
		}
		cluster, err := manifest.Read("cluster", []byte(ns("shop", "istio-injection: enabled")))
		if err != nil {
			t.Fatal(err)
		}
		cluster.FromCluster = true
		cluster.All = func(_, kind string) bool { return whole || kind != "MutatingWebhookConfiguration" }
		s := nearby.Collect([]*manifest.Stream{files, cluster}, root).Of(files.Objects()[0], "shop")
		if _, known := s.Namespaced(); !known {
			t.Error("a cluster is not near")
		}
		pods := &surroundings.Pods{Namespace: "shop", Labels: field.KeyValues{}}
		x := s.Istio(pods, "", field.KeyValues{{Key: "istio-injection", Value: "enabled"}}, true)
		want := surroundings.Stated{}
		if whole {
			want = surroundings.Stated{Is: certain.Never, At: "no webhook of Istio's selects the pod"}
		}
		if x.Injected != want {
			t.Errorf("%v: %+v, want %+v", whole, x.Injected, want)
		}
	}
}
