package config

import (
	"fmt"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
)

func read(t *testing.T, text string) *manifest.Object {
	t.Helper()
	if text == "" {
		return nil
	}
	s, err := manifest.Read("config.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Objects()[0]
}

const (
	typedHead = "apiVersion: rewrite-probes.io/v1alpha1\nkind: RewriteProbes\nmetadata: {name: x}\n"
	mapHead   = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
)

// Of a functionConfig in a Go value neither file nor line are named.
func TestATextOfNoFileIsDecodedWithErrorsThatNameNone(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""}, {" \n", ""}, {"null", ""}, {" null\n", ""}, {typedHead, ""}, {`{"apiVersion":"rewrite-probes.io/v1alpha1","kind":"RewriteProbes","spec":{"port":1}}`, ""}, {mapHead, ""},
		{typedHead + "spec: {port: 0, mesh: x, prot: 1}\n", "functionConfig: `spec.prot`: unknown field \"prot\": did you mean port?\n" +
			"functionConfig: `spec.mesh`: \"x\" must be auto, istio, linkerd, kuma, consul, osm or fsm\nfunctionConfig: `spec.port`: \"0\" must be a number from 1 to 65535"},
		{mapHead + "data: {port: x, y: z}\n", "functionConfig: `data.port`: \"x\" must be a number from 1 to 65535\n" +
			"functionConfig: `data.y`: unknown key; allowed are answered-by, image, image-pull-policy, injected-namespaces, injector-rewrites, mesh, mtls, name, native-sidecars, placement, platform, port, registry, rewrite, strict"},
		{mapHead + "data: [a]\n", "functionConfig: `data`: must be a mapping, not a list"},
		{"apiVersion: v1\nkind: Secret\n", "functionConfig: must be a ConfigMap (v1) or a RewriteProbes (rewrite-probes.io/v1alpha1), and is kind \"Secret\" of apiVersion \"v1\""},
		{"apiVersion: v2\nkind: ConfigMap\n", "functionConfig: must be a ConfigMap (v1) or a RewriteProbes (rewrite-probes.io/v1alpha1), and is kind \"ConfigMap\" of apiVersion \"v2\"; did you mean `apiVersion: v1`?"},
		{"apiVersion: v1\nkind: Configmap\n", "functionConfig: must be a ConfigMap (v1) or a RewriteProbes (rewrite-probes.io/v1alpha1), and is kind \"Configmap\" of apiVersion \"v1\"; did you mean `kind: ConfigMap`?"},
		{"apiVersion: rewrite-probes.io/v1alpha1\nkind: RewriteProbe\n", "functionConfig: must be a ConfigMap (v1) or a RewriteProbes (rewrite-probes.io/v1alpha1), and is kind \"RewriteProbe\" of apiVersion \"rewrite-probes.io/v1alpha1\"; did you mean `kind: RewriteProbes`?"},
		{"apiVersion: rewriteprobes.io/v1alpha1\nkind: RewriteProbes\n", "functionConfig: must be a ConfigMap (v1) or a RewriteProbes (rewrite-probes.io/v1alpha1), and is kind \"RewriteProbes\" of apiVersion \"rewriteprobes.io/v1alpha1\"; did you mean `apiVersion: rewrite-probes.io/v1alpha1`?"},
	} {
		conf, err := DecodeText([]byte(c.text))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want || (conf == nil) == (err == nil) {
			t.Errorf("%q: %s\nwant\n%s", c.text, got, c.want)
		}
	}
	if _, err := DecodeText([]byte("a: [")); err == nil {
		t.Error("what is no YAML is decoded")
	}
}

// What a command line says goes over the functionConfig, and is named by its flag if it is wrong.
func TestSettingsGoOverTheFunctionConfig(t *testing.T) {
	for _, c := range []struct {
		config string
		over   []Setting
		want   string // the error, or some fields
	}{
		{"", []Setting{{"port", "1"}}, "port 1, mesh auto, strict false, rewrite [httpGet tcpSocket grpc lifecycle]"},
		{typedHead + "spec: {port: 2, mesh: osm}\n", []Setting{{"mesh", "istio"}, {"strict", "true"}, {"rewrite", "grpc, httpGet,"}}, "port 2, mesh istio, strict true, rewrite [grpc httpGet]"},
		{mapHead + "data: {port: \"3\", strict: \"true\"}\n", []Setting{{"strict", "false"}}, "port 3, mesh auto, strict false, rewrite [httpGet tcpSocket grpc lifecycle]"},
		{"", []Setting{{"port", "x"}}, "--port: \"x\" must be a number from 1 to 65535"},
		{"", []Setting{{"port", "65536"}, {"mesh", "x"}}, "--mesh: \"x\" must be auto, istio, linkerd, kuma, consul, osm or fsm\n--port: \"65536\" must be a number from 1 to 65535"},
		{"", []Setting{{"rewrite", ""}}, "--rewrite: must name at least one of httpGet, tcpSocket, grpc, lifecycle"},
		{"", []Setting{{"rewrite", "grpc,x"}}, "--rewrite: \"x\" must be httpGet, tcpSocket, grpc or lifecycle"},
		{"", []Setting{{"strict", "x"}}, "--strict: \"x\" must be \"true\" or \"false\""},
		{"", []Setting{{"injected-namespaces", "a,["}}, "--injected-namespaces: \"[\" must be a name, where * and ? match as in a shell"},
		{typedHead + "spec:\n  port: 0\n", []Setting{{"name", "A"}}, "--name: \"A\" must be a container name: lower-case letters, digits and dashes, at most 63\nconfig.yaml:5: functionConfig: `spec.port`: \"0\" must be a number from 1 to 65535"},
		{mapHead + "data: {mesh: x}\n", []Setting{{"mesh", "y"}}, "--mesh: \"y\" must be auto, istio, linkerd, kuma, consul, osm or fsm"},
		{typedHead + "spec: {mesh: osm}\n", []Setting{{"answered-by", "istio-proxy"}}, "--answered-by: \"istio-proxy\" must be auto, probe-proxy, envoy or app with `mesh: osm`"},
	} {
		conf, err := Decode(read(t, c.config), c.over...)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			s := conf.Spec
			got = fmt.Sprintf("port %d, mesh %s, strict %t, rewrite %v", s.Port, s.Mesh, s.Strict, s.Rewrite)
		}
		if got != c.want {
			t.Errorf("%q with %v: %s\nwant\n%s", c.config, c.over, got, c.want)
		}
	}
}

func TestAnyVersionOfAFunctionConfigIsOne(t *testing.T) {
	for _, c := range []struct {
		apiVersion, kind string
		want             bool
	}{
		{"rewrite-probes.io/v1alpha1", "RewriteProbes", true}, {"rewrite-probes.io/v9", "RewriteProbes", true},
		{"rewrite-probes.io/v1alpha1", "Other", false}, {"rewrite-probes.io.evil/v1", "RewriteProbes", false}, {"v1", "RewriteProbes", false}, {"rewrite-probes.io", "RewriteProbes", false},
	} {
		if got := Is(c.apiVersion, c.kind); got != c.want {
			t.Errorf("%s %s: %t", c.apiVersion, c.kind, got)
		}
	}
}

// A kind of another program is none, but a misspelt one is: whoever wrote it must hear of it.
func TestWhatMayBeAFunctionConfig(t *testing.T) {
	for _, c := range []struct {
		apiVersion, kind string
		want             bool
	}{
		{"", "", true},
		{"rewrite-probes.io/v1alpha1", "RewriteProbes", true},
		{"rewrite-probes.io/v2", "Rewriter", true},
		{"rewriteprobes.io/v1", "RewriteProbes", true},
		{"v1", "rewriteprobe", true},
		{"v1", "ConfigMap", true},
		{"v1", "Configmpa", true},
		{"v1", "Config", false},
		{"v1", "Secret", false},
		{"argoproj.io/v1alpha1", "Application", false},
		{"rewrite-probes.io.example.com/v1", "Probes", false},
	} {
		if got := MayBe(c.apiVersion, c.kind); got != c.want {
			t.Errorf("%s %s: %t, want %t", c.apiVersion, c.kind, got, c.want)
		}
	}
}
