package workload_test

import (
	"slices"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
)

// A values file of a chart need not be an object of the API.
func TestHasProbe_anyMapping(t *testing.T) {
	for text, want := range map[string]bool{
		"web: {livenessProbe: {httpGet: {path: /}}}\n": true, "web: {health: {httpGet: {port: 80}}}\n": true,
		"web: {livenessProbe: {exec: {command: [a]}}}\n": false, "a: b\n": false,
	} {
		s, err := manifest.Read("values.yaml", []byte("kind: x\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		if got := workload.HasProbe(s.Objects()[0]); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

func TestTextHasProbe(t *testing.T) {
	for text, want := range map[string]bool{
		"livenessProbe: {httpGet: {port: 80}}":                                               true,
		"- op: add\n  path: /a\n  value:\n    tcpSocket: {port: 80}\n":                       true,
		`[{"op": "add", "path": "/a", "value": {"grpc": {"port": 80}, "periodSeconds": 1}}]`: true,
		"a: b\n---\nkind: Pod\nspec: {x: {readinessProbe: {httpGet: {port: 80}}}}\n":         true,
		"livenessProbe: {exec: {command: [httpGet]}}":                                        false,
		"echo httpGet: {port: 80}":                                                           false,
		"httpGet":                                                                            false,
		"":                                                                                   false,
	} {
		if got := workload.TextHasProbe(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

func TestChangesProbe(t *testing.T) {
	for text, want := range map[string]bool{
		"spec: {containers: [{livenessProbe: {httpGet: {path: /x}}}]}":                         true,
		"spec: {containers: [{livenessProbe: {timeoutSeconds: 3}}]}":                           true,
		"spec: {containers: [{lifecycle: {preStop: {httpGet: {port: 80}}}}]}":                  true,
		"spec: {containers: [{livenessProbe: {periodSeconds: 3}}]}":                            false,
		"spec: {containers: [{livenessProbe: {exec: {command: [a]}}}]}":                        false,
		"spec: {containers: [{livenessProbe: {exec: {command: [a]}, httpGet: null}}]}":         false,
		"spec: {grpc: {port: 80}}":                                                             false,
		"p: [{op: replace, path: /spec/containers/0/livenessProbe/httpGet/port, value: 80}]":   true,
		"p: [{op: add, path: /spec/containers/0/livenessProbe, value: {grpc: {port: 80}}}]":    false,
		"p: [{op: add, path: /spec/containers/0/livenessProbe, value: {httpGet: {port: 80}}}]": true,
		"p: [{op: replace, path: /spec/containers/0/livenessProbe/timeoutSeconds, value: 3}]":  true,
		"p: [{op: remove, path: /spec/containers/0/livenessProbe/httpGet}]":                    false,
		"p: [{op: test, path: /a, value: 1}, {op: copy, path: /a/tcpSocket, from: /b}]":        true,
		"spec: {containers: [{name: a}, {readinessProbe: {tcpSocket: {port: 80}}}]}":           true,
		"spec: {containers: [{lifecycle: {postStart: {grpc: {port: 80}}}}]}":                   true,
		"spec: {containers: [{lifecycle: {preStop: {timeoutSeconds: 1}}}]}":                    true,
		"spec: {containers: [{livenessProbe: {timeoutSeconds: null}}]}":                        false,
		"spec: {containers: [{livenessProbe: null}]}":                                          false,
		"spec: {httpGet: null}":     false,
		"spec: {timeoutSeconds: 3}": false,
	} {
		s, err := manifest.Read("patch", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		all, _ := s.Objects()[0].Value(nil)
		if got := workload.ChangesProbe(all); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// Each kind of release says which chart it installs, and one without a chart is none.
func TestReleaseOf(t *testing.T) {
	for _, c := range []struct {
		text string
		want workload.Release
		ok   bool
	}{
		{"{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, spec: {chart: {spec: {chart: a, version: 1.x, sourceRef: {name: r}}}, values: {b: c}}}",
			workload.Release{Chart: "a", Source: "r", Version: "1.x", Values: true}, true},
		{"{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, spec: {values: {b: c}}}", workload.Release{Values: true}, false},
		{"{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {source: {path: a, helm: {}}}}", workload.Release{}, false},
		{"{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {sources: [{ref: v}, {chart: a, repoURL: u}]}}", workload.Release{Chart: "a", Repository: "u"}, true},
		{"{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {source: {chart: a}, sources: [{chart: b}]}}", workload.Release{Chart: "a"}, true},
		{"{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {sources: [{chart: b, helm: {}}, {chart: c}]}}", workload.Release{Chart: "b", Values: true}, true},
		{"{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {sources: [{chart: b}, {chart: c, helm: {}}]}}", workload.Release{Chart: "b"}, true},
		{"{apiVersion: configsync.gke.io/v1beta1, kind: RootSync, spec: {sourceType: helm, helm: {chart: a, repo: u, version: v1, valuesFileRefs: [{name: b}]}}}",
			workload.Release{Chart: "a", Repository: "u", Version: "v1", Values: true}, true},
		{"{apiVersion: configsync.gke.io/v1beta1, kind: RepoSync, spec: {helm: {chart: a}}}", workload.Release{Chart: "a"}, true},
		{"{apiVersion: configsync.gke.io/v1beta1, kind: RootSync, spec: {git: {repo: u}}}", workload.Release{}, false},
		{"{apiVersion: fleet.cattle.io/v1alpha1, kind: Bundle, spec: {helm: {chart: a, repo: u, version: v1, values: {b: c}}}}",
			workload.Release{Chart: "a", Repository: "u", Version: "v1", Values: true}, true},
		{"{apiVersion: fleet.cattle.io/v1alpha1, kind: HelmOp, spec: {helm: {chart: a}}}", workload.Release{Chart: "a"}, true},
		{"{apiVersion: fleet.cattle.io/v1alpha1, kind: Bundle, spec: {helm: {releaseName: a}, resources: [{name: b}]}}", workload.Release{Name: "a"}, false},
		{"{apiVersion: config.projectsveltos.io/v1beta1, kind: ClusterProfile, spec: {helmCharts: [{chartName: r/a, repositoryURL: u, chartVersion: v1, values: b}]}}",
			workload.Release{Chart: "a", Repository: "u", Version: "v1", Values: true}, true},
		{"{apiVersion: config.projectsveltos.io/v1beta1, kind: Profile, spec: {helmCharts: [{chartName: a}]}}", workload.Release{Chart: "a"}, true},
		{"{apiVersion: config.projectsveltos.io/v1beta1, kind: ClusterProfile, spec: {policyRefs: []}}", workload.Release{}, false},
		{"{apiVersion: kappctrl.k14s.io/v1alpha1, kind: App, metadata: {namespace: n}, spec: {fetch: [{git: {url: x}}, {helmChart: {name: a, version: v1, repository: {url: u}}}]}}",
			workload.Release{Chart: "a", Repository: "u", Version: "v1", Namespace: "n"}, true},
		{"{apiVersion: kappctrl.k14s.io/v1alpha1, kind: App, spec: {fetch: [{git: {url: x}}]}}", workload.Release{}, false},
		{"{apiVersion: packaging.carvel.dev/v1alpha1, kind: PackageInstall, metadata: {namespace: n}, spec: {packageRef: {refName: a}}}", workload.Release{Namespace: "n"}, true},
		{"{apiVersion: packaging.carvel.dev/v1alpha1, kind: PackageInstall, spec: {}}", workload.Release{}, false},
		{"{apiVersion: trust.cert-manager.io/v1alpha1, kind: Bundle, spec: {helm: {chart: a}}}", workload.Release{}, false},
		{"{apiVersion: helm.cattle.io/v1, kind: HelmChart, spec: {chart: a, set: {b: c}}}", workload.Release{Chart: "a", Values: true}, true},
		{"{apiVersion: helm.cattle.io/v1, kind: HelmChart, spec: {chart: a, values: {b: c}}}", workload.Release{Chart: "a", Values: true}, true},
		{"{apiVersion: helm.cattle.io/v1, kind: HelmChart, spec: {chart: a, set: null}}", workload.Release{Chart: "a"}, true},
		{"{apiVersion: builtin, kind: HelmChartInflationGenerator, name: a, chartName: b, valuesFile: x}", workload.Release{Chart: "a", Values: true}, true},
		{"{apiVersion: helm.crossplane.io/v1beta1, kind: Release, spec: {forProvider: {chart: {name: a}, valuesFrom: [{name: b}]}}}", workload.Release{Chart: "a", Values: true}, true},
		{"{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, spec: {chart: {spec: {chart: a}}, valuesFrom: [{name: b}]}}", workload.Release{Chart: "a", Values: true}, true},
		{"{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, spec: {template: {spec: {source: {chart: a, targetRevision: v1, helm: {}}}}}}",
			workload.Release{Chart: "a", Version: "v1", Values: true}, true},
		{"{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, spec: {chartRef: {name: r}}}", workload.Release{Source: "r"}, true},
		{"{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, spec: {chartRef: {name: r, namespace: n}}}", workload.Release{Source: "r", SourceNamespace: "n"}, true},
		{"{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, spec: {chart: {spec: {chart: a, sourceRef: {name: r, namespace: n}}}}}",
			workload.Release{Chart: "a", Source: "r", SourceNamespace: "n"}, true},
		{"{apiVersion: helm.fluxcd.io/v1, kind: HelmRelease, spec: {chart: {name: a, repository: u, version: v1}, values: {b: c}}}",
			workload.Release{Chart: "a", Repository: "u", Version: "v1", Values: true}, true},
		{"{apiVersion: helm.fluxcd.io/v1, kind: HelmRelease, spec: {chart: {path: charts/a}}}", workload.Release{Chart: "charts/a"}, true},
		{"{apiVersion: helm.fluxcd.io/v1, kind: HelmRelease, spec: {chart: {repository: u}}}", workload.Release{Repository: "u"}, false},
		{"{apiVersion: builtin, kind: HelmChartInflationGenerator, name: a, repo: u, version: v1, valuesInline: {b: c}}",
			workload.Release{Chart: "a", Repository: "u", Version: "v1", Values: true}, true},
		{"{apiVersion: builtin, kind: HelmChartInflationGenerator, chartName: a}", workload.Release{Chart: "a"}, true},
		{"{apiVersion: builtin, kind: HelmChartInflationGenerator, repo: u}", workload.Release{Repository: "u"}, false},
		{"{apiVersion: helm.crossplane.io/v1beta1, kind: Release, spec: {forProvider: {chart: {name: a, repository: u, version: v1}, set: [{name: b}]}}}",
			workload.Release{Chart: "a", Repository: "u", Version: "v1", Values: true}, true},
		{"{apiVersion: helm.crossplane.io/v1beta1, kind: Release, spec: {forProvider: {values: {b: c}}}}", workload.Release{Values: true}, false},
		{"{apiVersion: addons.cluster.x-k8s.io/v1alpha1, kind: HelmChartProxy, spec: {chartName: a, repoURL: u, version: v1, valuesTemplate: b}}",
			workload.Release{Chart: "a", Repository: "u", Version: "v1", Values: true}, true},
		{"{apiVersion: addons.cluster.x-k8s.io/v1alpha1, kind: HelmChartProxy, spec: {repoURL: u}}", workload.Release{Repository: "u"}, false},
		{"{apiVersion: helm.cattle.io/v1, kind: HelmChart, spec: {chart: a, repo: u, version: v1, valuesContent: b}}",
			workload.Release{Chart: "a", Repository: "u", Version: "v1", Values: true}, true},
		{"{apiVersion: helm.cattle.io/v1, kind: HelmChart, spec: {repo: u}}", workload.Release{Repository: "u"}, false},
		{"{apiVersion: helm.cattle.io/v1, kind: HelmChart, spec: {chartContent: H4sI}}", workload.Release{}, true},
		{"{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: x, namespace: n}, spec: {chartRef: {kind: OCIRepository, name: r}, targetNamespace: t}}",
			workload.Release{Source: "r", SourceKind: "OCIRepository", Name: "t-x", Namespace: "t"}, true},
		{"{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: x, namespace: n}, spec: {chart: {spec: {chart: a}}}}", workload.Release{Chart: "a", Namespace: "n"}, true},
		{"{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {namespace: argocd}, spec: {source: {chart: a, helm: {releaseName: b}}, destination: {namespace: t}}}",
			workload.Release{Chart: "a", Values: true, Name: "b", Namespace: "t"}, true},
		{"{apiVersion: helm.cattle.io/v1, kind: HelmChart, spec: {chart: a, targetNamespace: t}}", workload.Release{Chart: "a", Namespace: "t"}, true},
		{"{apiVersion: builtin, kind: HelmChartInflationGenerator, name: a, releaseName: b, namespace: t}", workload.Release{Chart: "a", Name: "b", Namespace: "t"}, true},
		{"{apiVersion: config.projectsveltos.io/v1beta1, kind: Profile, spec: {helmCharts: [{chartName: a, releaseName: b, releaseNamespace: t}]}}", workload.Release{Chart: "a", Name: "b", Namespace: "t"}, true},
		{"{apiVersion: example.com/v1, kind: HelmRelease, spec: {chart: {spec: {chart: a}}}}", workload.Release{}, false},
	} {
		s, err := manifest.Read("release.yaml", []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := workload.ReleaseOf(s.Objects()[0]); got != c.want || ok != c.ok {
			t.Errorf("%s: %+v, %t", c.text, got, ok)
		}
	}
}

func TestTexts_where(t *testing.T) {
	s, err := manifest.Read("x.yaml", []byte(`kind: ConfigMap
metadata: {annotations: {a: "livenessProbe: {httpGet: {port: 80}}"}}
data: {b: "livenessProbe: {httpGet: {port: 80}}", c: d, e: ["livenessProbe: {tcpSocket: {port: 80}}"]}
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for path := range workload.Texts(s.Objects()[0]) {
		got = append(got, path.String())
	}
	if want := []string{"data.b", "data.e[0]"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
