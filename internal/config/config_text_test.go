package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
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
			"functionConfig: `spec.mesh`: \"x\" must be auto, istio, linkerd, kuma, consul, osm, fsm or none\nfunctionConfig: `spec.port`: \"0\" must be a number from 1 to 65535"},
		{mapHead + "data: {port: x, y: z}\n", "functionConfig: `data.port`: \"x\" must be a number from 1 to 65535\n" +
			"functionConfig: `data.y`: unknown key; allowed are answered-by, image, image-pull-policy, injected-namespaces, injector-rewrites, istio-version, mesh, mtls, name, native-sidecars, placement, platform, port, registry, rewrite, strict"},
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
		{"", []Setting{{"port", "65536"}, {"mesh", "x"}}, "--mesh: \"x\" must be auto, istio, linkerd, kuma, consul, osm, fsm or none\n--port: \"65536\" must be a number from 1 to 65535"},
		{"", []Setting{{"rewrite", ""}}, "--rewrite: must name at least one of httpGet, tcpSocket, grpc, lifecycle"},
		{"", []Setting{{"rewrite", "grpc,x"}}, "--rewrite: \"x\" must be httpGet, tcpSocket, grpc or lifecycle"},
		{"", []Setting{{"strict", "x"}}, "--strict: \"x\" must be \"true\" or \"false\""},
		{"", []Setting{{"injected-namespaces", "a,["}}, "--injected-namespaces: \"[\" must be a name, where * and ? match as in a shell"},
		{typedHead + "spec:\n  port: 0\n", []Setting{{"name", "A"}}, "--name: \"A\" must be a container name: lower-case letters, digits and dashes, at most 63\nconfig.yaml:5: functionConfig: `spec.port`: \"0\" must be a number from 1 to 65535"},
		{mapHead + "data: {mesh: x}\n", []Setting{{"mesh", "y"}}, "--mesh: \"y\" must be auto, istio, linkerd, kuma, consul, osm, fsm or none"},
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
		{"", "", true}, {"apps/v1", "", true},
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

// Each key of a ConfigMap, which is also a flag, sets its field of the typed form, and no other.
func TestEveryKeySetsItsField(t *testing.T) {
	values := map[string]string{
		"answered-by": "probe-proxy", "image": "example.com/p:v1", "image-pull-policy": "Never", "injected-namespaces": "shop*", "injector-rewrites": "true", "istio-version": "1.24", "mesh": "kuma", "mtls": "DISABLE", "name": "prober",
		"native-sidecars": "false", "placement": "container", "platform": "openshift", "port": "15022", "registry": "example.com", "rewrite": "grpc", "strict": "true",
	}
	seen := make(map[string]string)
	for _, key := range Keys {
		value := values[key.Name]
		asMap, err := DecodeText([]byte(mapHead + "data: {" + key.Name + ": '" + value + "'}\n"))
		if err != nil {
			t.Errorf("%s: %v", key.Name, err)
			continue
		}
		typed := "'" + value + "'"
		switch key.Name {
		case "port", "strict":
			typed = value
		case "injected-namespaces", "rewrite":
			typed = "['" + value + "']"
		}
		steps := strings.Split(key.Field, ".")
		text := typedHead + steps[0] + ": {" + strings.Join(steps[1:], ": {") + ": " + typed + strings.Repeat("}", len(steps)-1) + "\n"
		asTyped, err := DecodeText([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if !reflect.DeepEqual(asMap.Spec, asTyped.Spec) || reflect.DeepEqual(asMap.Spec, Default().Spec) {
			t.Errorf("%s sets %+v, want %+v", key.Name, asMap.Spec, asTyped.Spec)
		}
		over, err := Decode(nil, Setting{key.Name, value})
		if err != nil || !reflect.DeepEqual(over.Spec, asMap.Spec) {
			t.Errorf("the flag %s sets %+v, %v", key.Name, over, err)
		}
		if other, taken := seen[key.Field]; taken {
			t.Errorf("%s and %s set %s", key.Name, other, key.Field)
		}
		seen[key.Field] = key.Name
	}
	if len(Keys) != len(values) || !slices.IsSortedFunc(Keys, func(a, b Key) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("the keys are %v", Keys)
	}
}

// Each wrong key, setting or item has its line, and only the first that is wrong with a field is said.
func TestEachProblemOfAFieldIsSaidOnce(t *testing.T) {
	for _, c := range []struct {
		config string
		over   []Setting
		want   string
	}{
		{mapHead + "data: {port: x, strict: y, a: z, b: z}\n", nil, "`data.a`: unknown key; `data.b`: unknown key; `data.port`: \"x\" must; `data.strict`: \"y\" must"},
		{"", []Setting{{"port", "x"}, {"strict", "y"}, {"mesh", "z"}}, "--mesh: \"z\" must; --port: \"x\" must; --strict: \"y\" must"},
		{"", []Setting{{"image", ""}}, "--image: \"\" must be an image; without it, that of the same version is taken"},
		{"", []Setting{{"image", ""}, {"image", "a"}}, "--image: \"\" must be an image; without it, that of the same version is taken"},
		{"", []Setting{{"registry", ""}, {"image", "a"}}, ""},
		{typedHead + "spec: {probeProxy: {image: ''}}\n", nil, ""},
		{"", []Setting{{"rewrite", "a,b"}}, "--rewrite: \"a\" must; --rewrite: \"b\" must"},
		{typedHead + "spec: {rewrite: [grpc, a, b], podTemplates: [{kind: A, path: a}, {kind: B}, {path: a}]}\n", nil, "`spec.podTemplates[1].path`: must be given; `spec.podTemplates[2].kind`: must be given; `spec.rewrite[1]`: \"a\" must; `spec.rewrite[2]`: \"b\" must"},
		{typedHead + "spec: {port: x}\n", nil, "`spec.port`: must be a whole number"},
		{typedHead + "spec: {istioProxy: {resources: {limits: {cpu: x, memory: y}, requests: z}}}\n", nil, "`spec.istioProxy.resources.limits.cpu`: \"x\" must; `spec.istioProxy.resources.limits.memory`: \"y\" must; `spec.istioProxy.resources.requests`: must be a mapping"},
		{typedHead + "spec: {probeProxy: {resources: {limits: ~, requests: {cpu: ~}, claims: [{name: a}]}}}\n", nil, ""},
		{typedHead + "spec: {select: {}, exclude: {}}\n", nil, "`spec.exclude`: must have; `spec.select`: must have"},
		{typedHead + "spec: {istio: {injectorRewrites: perhaps, nativeSidecars: ''}}\n", nil, "`spec.istio.injectorRewrites`: \"perhaps\" must; `spec.istio.nativeSidecars`: \"\" must"},
	} {
		_, err := Decode(read(t, c.config), c.over...)
		var lines []string
		if err != nil {
			lines = strings.Split(err.Error(), "\n")
		}
		slices.SortStableFunc(lines, func(a, b string) int {
			return strings.Compare(strings.TrimPrefix(a, "config.yaml:4: functionConfig: "), strings.TrimPrefix(b, "config.yaml:4: functionConfig: "))
		})
		wants := strings.Split(c.want, "; ")
		if c.want == "" {
			wants = nil
		}
		if strings.Contains(c.want, "; without it") {
			wants = []string{c.want}
		}
		matches := len(lines) == len(wants)
		for i := 0; matches && i < len(lines); i++ {
			matches = strings.HasPrefix(strings.TrimPrefix(lines[i], "config.yaml:4: functionConfig: "), wants[i])
		}
		if !matches {
			t.Errorf("%s%v:\n%s\nwant\n%s", c.config, c.over, strings.Join(lines, "\n"), c.want)
		}
	}
}

// A path is given with its metadata: they are in the same items of the same lists.
func TestTheMetadataOfAPodTemplateIsBesideIt(t *testing.T) {
	for _, c := range []struct {
		path, metadata string
		ok             bool
	}{
		{"spec.template", "", true}, {".", "", true}, {"spec", "metadata", true}, {"spec.a", "b", true}, {".", "metadata", true}, {"a[].b", "a[].c", true}, {"a[].b", "c", true}, {"a[].b[].c", "a[].d", true}, {"a[].b[].c", "a[].b[].d.e", true}, {"a[].b", "a[]", true},
		{"a.b", "a[].c", false}, {"a[].b", "a[].b[].c", false}, {"a[].b", "d[].c", false}, {"a.b", ".", false}, {".", ".", false}, {"a[].b[].c", "a[].x[].d", false}, {"a[][].b", "a[][].c", true}, {"a[].b", "a[][].c", false},
	} {
		_, err := DecodeText([]byte(typedHead + "spec: {podTemplates: [{kind: K, path: '" + c.path + "', metadata: '" + c.metadata + "'}]}\n"))
		if (err == nil) != c.ok || err != nil && !strings.HasPrefix(err.Error(), "functionConfig: `spec.podTemplates[0].metadata`: ") {
			t.Errorf("path %s, metadata %s: %v", c.path, c.metadata, err)
		}
	}
}
