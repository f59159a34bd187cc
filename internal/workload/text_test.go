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
		{"{apiVersion: helm.cattle.io/v1, kind: HelmChart, spec: {chartContent: H4sI}}", workload.Release{}, true},
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
