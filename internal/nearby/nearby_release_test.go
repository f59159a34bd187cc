package nearby_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// releaseOf returns a HelmRelease of Flux for a chart, with more fields of its spec.
func releaseOf(chart, version, spec string) string {
	return "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: mesh, namespace: x}\n" +
		"spec: {chart: {spec: {chart: " + chart + ", version: '" + version + "', sourceRef: {kind: HelmRepository, name: x}}}" + spec + "}\n"
}

func factsIn(letters string, facts ...surroundings.Stated) (got string) {
	for i, fact := range facts {
		word := stated(fact)
		if word == "" {
			word = "?"
		}
		got += " " + letters[i:i+1] + word
	}
	return got[1:]
}

func TestAReleaseOfKumaStatesFacts(t *testing.T) {
	const off, env = "{KUMA_RUNTIME_KUBERNETES_APPLICATION_PROBE_PROXY_PORT: 0}", ", values: {controlPlane: {envVars: "
	control := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: kuma-control-plane, namespace: kuma-system}\n" +
		"spec: {template: {spec: {containers: [{name: control-plane, env: [{name: KUMA_EXPERIMENTAL_SIDECAR_CONTAINERS, value: 'false'}]}]}}}\n"
	for _, c := range []struct{ name, objects, want string }{
		{"defaults", releaseOf("kuma", "2.14.3", ""), "r+ v? n+"},
		{"defaults of an older one", releaseOf("kuma", "2.12.0", ""), "r+ v+ n-"},
		{"defaults of one that rewrites nothing like that", releaseOf("kuma", "2.8.0", ""), "r? v+ n-"},
		{"defaults of a newer one", releaseOf("kuma", "3.0.0", ""), "r? v? n?"},
		{"a range of versions", releaseOf("kuma", ">=2.14.0", ""), "r? v? n?"},
		{"rewriting is off", releaseOf("kuma", "2.14.3", env+off+"}}"), "r- v? n+"},
		{"rewriting is off, in quotes", releaseOf("kuma", "2.14.3", env+"{KUMA_RUNTIME_KUBERNETES_APPLICATION_PROBE_PROXY_PORT: '0'}}}"), "r- v? n+"},
		{"an env var is a variable", releaseOf("kuma", "2.14.3", env+"{KUMA_RUNTIME_KUBERNETES_APPLICATION_PROBE_PROXY_PORT: '${PORT}'}}}"), "r? v? n+"},
		{"virtual probes", releaseOf("kuma", "2.14.3", env+"{KUMA_RUNTIME_KUBERNETES_VIRTUAL_PROBES_ENABLED: false}}}"), "r+ v- n+"},
		{"no native sidecars", releaseOf("kuma", "2.14.3", env+"{KUMA_EXPERIMENTAL_SIDECAR_CONTAINERS: 'false'}}}"), "r+ v? n-"},
		{"native sidecars", releaseOf("kuma", "2.12.3", ", values: {experimental: {sidecarContainers: true}}"), "r+ v? n+"},
		{"the chart sets no env var", releaseOf("kuma", "2.14.3", ", values: {experimental: {sidecarContainers: false}}"), "r+ v? n?"},
		{"the file of the control plane", releaseOf("kuma", "2.14.3", ", values: {controlPlane: {config: 'runtime: {kubernetes: {applicationProbeProxyPort: 0}}'}}"), "r- v? n?"},
		{"an env var wins over the file", releaseOf("kuma", "2.14.3",
			", values: {controlPlane: {envVars: {KUMA_RUNTIME_KUBERNETES_APPLICATION_PROBE_PROXY_PORT: 9001}, config: 'runtime: {kubernetes: {applicationProbeProxyPort: 0}}'}}"), "r+ v? n?"},
		{"the file is a variable", releaseOf("kuma", "2.14.3", ", values: {controlPlane: {config: '${CONFIG}'}}"), "r? v? n?"},
		{"other env vars", releaseOf("kuma", "2.14.3", ", values: {controlPlane: {envVarEntries: [{name: A}]}}"), "r? v? n?"},
		{"values elsewhere", releaseOf("kuma", "2.14.3", ", valuesFrom: [{kind: Secret, name: a}]"), "r? v? n?"},
		{"values elsewhere and here", releaseOf("kuma", "2.14.3", ", valuesFrom: [{kind: Secret, name: a}]"+env+off+"}}"), "r- v? n?"},
		{"a control plane for other zones", releaseOf("kuma", "2.14.3", ", values: {controlPlane: {mode: global}}"), "r? v? n?"},
		{"a control plane for virtual machines", releaseOf("kuma", "2.14.3", ", values: {controlPlane: {environment: universal}}"), "r? v? n?"},
		{"Kong Mesh", releaseOf("kong-mesh", "2.14.3", ", values: {kuma: {controlPlane: {envVars: "+off+"}}}"), "r- v? n?"},
		{"Kong Mesh, not below its name", releaseOf("kong-mesh", "2.14.3", env+off+"}}"), "r? v? n?"},
		{"a chart of the user's around it", releaseOf("./charts/kuma", "1.0.0", ", values: {kuma: {controlPlane: {envVars: "+off+"}}}"), "r- v? n?"},
		{"another chart", releaseOf("kuma-gui", "2.14.3", env+off+"}}"), "r? v? n?"},
		{"two that disagree", releaseOf("kuma", "2.14.3", "") + "---\n" + releaseOf("kuma", "2.14.3", env+off+"}}"), "r? v? n+"},
		{"what the release has made is there too", documents(control, releaseOf("kuma", "2.14.3", env+off+"}}")), "r? v? n-"},
	} {
		s := of(t, "shop", "a.yaml", documents(web, c.objects))
		k := surroundings.KumaOf(&s.Surroundings, "default")
		if got := factsIn("rvn", k.Rewrites, k.Virtual, k.Native); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestAReleaseOfConsulStatesFacts(t *testing.T) {
	const values = ", values: {connectInject: "
	argo := func(helm string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: mesh, namespace: x}\n" +
			"spec: {sources: [{path: a}, {chart: consul, targetRevision: 2.0.3, helm: " + helm + "}]}\n"
	}
	injector := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: c-consul-connect-injector}\n" +
		"spec: {template: {spec: {containers: [{name: a, args: [-transparent-proxy-default-overwrite-probes=true]}]}}}\n"
	for _, c := range []struct{ name, objects, want string }{
		{"defaults", releaseOf("consul", "2.0.3", ""), "t+ o+"},
		{"rewriting is off", releaseOf("consul", "2.0.3", values+"{transparentProxy: {defaultOverwriteProbes: false}}}"), "t+ o-"},
		{"capturing is off", releaseOf("consul", "2.0.3", values+"{transparentProxy: {defaultEnabled: false}}}"), "t- o+"},
		{"a variable", releaseOf("consul", "2.0.3", values+"{transparentProxy: {defaultEnabled: '${X}'}}}"), "t? o+"},
		{"no injector", releaseOf("consul", "2.0.3", values+"{enabled: false}}"), "t? o?"},
		{"values elsewhere", releaseOf("consul", "2.0.3", ", valuesFrom: [{kind: ConfigMap, name: a}]"), "t? o?"},
		{"Argo CD", argo("{parameters: [{name: connectInject.transparentProxy.defaultOverwriteProbes, value: 'false'}]}"), "t+ o-"},
		{"Argo CD, a file", argo("{valueFiles: [a.yaml]}"), "t? o?"},
		{"what the release has made is there too", documents(injector, releaseOf("consul", "2.0.3", values+"{transparentProxy: {defaultOverwriteProbes: false}}}")), "t? o+"},
	} {
		s := of(t, "shop", "a.yaml", documents(web, c.objects))
		x := surroundings.ConsulOf(&s.Surroundings)
		if got := factsIn("to", x.Transparent, x.Overwrites); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestAReleaseOfLinkerdStatesSettings(t *testing.T) {
	const policy, ports = "config.linkerd.io/default-inbound-policy", "config.linkerd.io/skip-inbound-ports"
	config := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: linkerd-config, namespace: linkerd}\ndata: {values: 'proxyInit: {ignoreInboundPorts: 25}'}\n"
	values := ", values: {proxy: {defaultInboundPolicy: deny}, proxyInit: {ignoreInboundPorts: 9000}}"
	release := releaseOf("linkerd-control-plane", "2026.8.3", values)
	for _, c := range []struct{ name, objects, policy, ports string }{
		{"defaults", releaseOf("linkerd-control-plane", "2026.8.3", ""), "", ""},
		{"values", release, "deny", "9000"},
		{"another chart", releaseOf("linkerd-viz", "1.0.0", values), "", ""},
		{"a variable", releaseOf("linkerd-control-plane", "1.0.0", ", values: {proxy: {defaultInboundPolicy: '${X}'}}"), "", ""},
		{"two that disagree", documents(release, releaseOf("linkerd-control-plane", "1.0.0", ", values: {proxy: {defaultInboundPolicy: all-authenticated}}")), "", "9000"},
		{"what the release has made is there too", documents(config, release), "", "25"},
	} {
		s := of(t, "shop", "a.yaml", documents(web, c.objects))
		if got := surroundings.Linkerd(&s.Surroundings, policy).Value; got != c.policy {
			t.Errorf("%s: policy %q, want %q", c.name, got, c.policy)
		}
		if got := surroundings.Linkerd(&s.Surroundings, ports).Value; got != c.ports {
			t.Errorf("%s: ports %q, want %q", c.name, got, c.ports)
		}
	}
}

func TestAReleaseOfOpenServiceMeshStatesPorts(t *testing.T) {
	release := releaseOf("osm", "1.2.4", ", values: {osm: {inboundPortExclusionList: [9000]}}")
	config := "apiVersion: config.openservicemesh.io/v1alpha2\nkind: MeshConfig\nmetadata: {name: osm-mesh-config}\nspec: {traffic: {inboundPortExclusionList: [8080]}}\n"
	for _, c := range []struct {
		name, objects string
		port          int
		want          bool
	}{
		{"its list", release, 9000, true},
		{"another port", release, 8080, false},
		{"the MeshConfig has changed since", documents(config, release), 9000, false},
		{"the MeshConfig's list", documents(config, release), 8080, true},
	} {
		s := of(t, "shop", "a.yaml", documents(web, c.objects))
		if _, got := surroundings.OSMExcludes(&s.Surroundings, c.port); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// A chart of the user's can have istiod's name and wrap it. Then its own values are not istiod's, and its file of values
// may set what is not in the release.
func TestAChartAroundIstiodStatesOnlyWhatItSets(t *testing.T) {
	const leaves = "{sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}}"
	git := func(chart, values string) string {
		return "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: mesh, namespace: x}\n" +
			"spec: {chart: {spec: {chart: " + chart + ", sourceRef: {kind: GitRepository, name: x}}}, values: " + values + "}\n"
	}
	kustomize := func(chart string) string {
		return "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nhelmCharts:\n- {name: istiod, version: 1.26.1" + chart + "}\n"
	}
	for _, c := range []struct{ name, object, want string }{
		{"a folder of git", git("./charts/istiod", "{}"), "?"},
		{"a folder of git, values", git("./charts/istiod", leaves), "-"},
		{"values of the chart in it", git("./charts/istiod", "{istiod: "+leaves+"}"), "-"},
		{"other values of the chart in it", git("./charts/istiod", "{istiod: {pilot: {cpu: 1}}}"), "?"},
		{"a chart in a registry", releaseOf("istiod", "1.31.0", ", values: {istiod: {pilot: {cpu: 1}}}"), "?"},
		{"a chart of another name", git("./charts/platform", "{istiod: "+leaves+"}"), "?"},
		{"a folder of kustomize's", kustomize(""), "?"},
		{"a folder of kustomize's, values", kustomize(", valuesInline: " + leaves), "-"},
		{"two charts of one kustomization", kustomize(", repo: https://example.com}\n- {name: istiod, repo: https://example.com, valuesInline: " + leaves), "?"},
	} {
		s := of(t, "shop", "a.yaml", documents(web, c.object))
		revisions, _ := s.Revisions()
		got := certain.Maybe
		for _, r := range revisions {
			got = r.Rewrites.Is
		}
		if word := map[certain.Certainty]string{certain.Always: "+", certain.Never: "-", certain.Maybe: "?"}[got]; word != c.want {
			t.Errorf("%s: %s, want %s", c.name, word, c.want)
		}
	}
}

// A ServiceMeshControlPlane makes a PeerAuthentication of its namespace, if it demands mTLS.
func TestAServiceMeshControlPlaneDemandsMTLS(t *testing.T) {
	plane := func(spec string) string {
		return "apiVersion: maistra.io/v2\nkind: ServiceMeshControlPlane\nmetadata: {name: basic, namespace: istio-system}\nspec: {" + spec + "}\n"
	}
	const demands = "security: {dataPlane: {mtls: true}}"
	open := "apiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata: {name: default, namespace: shop}\nspec: {mtls: {mode: PERMISSIVE}}\n"
	for _, c := range []struct {
		name, objects string
		want          string // modes where the mesh's is said to be PERMISSIVE
	}{
		{"it demands mTLS", plane(demands), "STRICT ServiceMeshControlPlane istio-system/basic at a.yaml:6"},
		{"it does not", plane("security: {dataPlane: {mtls: false}}"), "PERMISSIVE "},
		{"it says nothing", plane("version: v2.6"), "PERMISSIVE "},
		{"only the control plane", plane("security: {controlPlane: {mtls: true}}"), "PERMISSIVE "},
		{"in another namespace", strings.Replace(plane(demands), "istio-system", "mesh", 1), "PERMISSIVE "},
		{"the namespace of the pods wins", documents(plane(demands), open), "PERMISSIVE PeerAuthentication shop/default at a.yaml:11"},
	} {
		s := of(t, "shop", "a.yaml", documents(web, c.objects))
		pods := &surroundings.Pods{Namespace: "shop", Kind: "Deployment", Name: "web", Labels: field.KeyValues{}}
		got := ""
		for _, m := range s.MTLS(root, pods, 8080, surroundings.MTLSPermissive) {
			got += m.Mode + " " + m.At
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
