package config_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

func decode(t *testing.T, text string) (*config.RewriteProbes, error) {
	t.Helper()
	s, err := manifest.Read("config.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Decode(s.Objects()[0])
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			said.Say("error", strings.TrimSpace(line))
		}
	}
	return c, err
}

const typed = "apiVersion: rewrite-probes.io/v1alpha1\nkind: RewriteProbes\nmetadata: {name: x}\n"

func TestNoFunctionConfigGivesTheDefaults(t *testing.T) {
	c, err := config.Decode(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := c.Spec
	if s.Mesh != "auto" || s.AnsweredBy != "auto" || s.Port != 15099 || s.Strict ||
		!reflect.DeepEqual(s.Istio, transformer.Istio{InjectorRewrites: "auto", NativeSidecars: "auto", RootNamespace: "istio-system", MTLS: "STRICT"}) ||
		!reflect.DeepEqual(s.Rewrite, []string{"httpGet", "tcpSocket", "grpc", "lifecycle"}) ||
		s.ProbeProxy.Name != "probe-proxy" || s.ProbeProxy.Placement != "native" {
		t.Errorf("defaults are %+v", s)
	}
}

func TestANullIsAsGoodAsNothing(t *testing.T) {
	for _, spec := range []string{"spec:\n", "spec:\n  port: null\n  rewrite:\n  probeProxy: ~\n  istio: {injectorRewrites: null, nativeSidecars: ~}\n"} {
		c, err := decode(t, typed+spec)
		if err != nil {
			t.Errorf("%q: %v", spec, err)
		} else if !reflect.DeepEqual(c.Spec, config.Default().Spec) {
			t.Errorf("%q gives %+v", spec, c.Spec)
		}
	}
}

func TestBothFormsSayTheSame(t *testing.T) {
	a, err := decode(t, typed+`spec:
  answeredBy: probe-proxy
  port: 15022
  rewrite: [httpGet, grpc]
  strict: true
  probeProxy: {image: "example/p:v1", name: prober, placement: container, imagePullPolicy: Always}
`)
	if err != nil {
		t.Fatal(err)
	}
	b, err := decode(t, `apiVersion: v1
kind: ConfigMap
metadata: {name: function-input}
data: {answered-by: probe-proxy, port: "15022", rewrite: "httpGet, grpc", strict: "true",
  image: "example/p:v1", name: prober, placement: container, image-pull-policy: Always}
`)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a.Spec, b.Spec) {
		t.Errorf("typed form gives %+v\nConfigMap gives  %+v", a.Spec, b.Spec)
	}
}

func TestWhatIsWrongIsNamedWithWhatIsAllowed(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"unknown field", typed + "spec: {prot: 1}", "`spec.prot`"},
		{"unknown field lists the allowed", typed + "spec: {other: 1}", "allowed are answeredBy, exclude"},
		{"mesh", typed + "spec: {mesh: nomad}", "`spec.mesh`: \"nomad\" must be "},
		{"empty mesh", typed + "spec: {mesh: \"\"}", "`spec.mesh`: \"\" must be "},
		{"port zero", typed + "spec: {port: 0}", "`spec.port`: \"0\" must be a number from 1 to 65535"},
		{"port text", typed + "spec: {port: http}", "spec.port"},
		{"rewrite item", typed + "spec: {rewrite: [http]}", "`spec.rewrite[0]`: \"http\" must be httpGet, tcpSocket, grpc or lifecycle"},
		{"rewrite nothing", typed + "spec: {rewrite: []}", "`spec.rewrite`: must name at least one"},
		{"template without path", typed + "spec: {podTemplates: [{kind: Thing}]}", "`spec.podTemplates[0].path`: must be given"},
		{"metadata of another list", typed + "spec: {podTemplates: [{kind: Thing, path: \"a[].b\", metadata: \"b[].c\"}]}", "`spec.podTemplates[0].metadata`: \"b[].c\" must begin like `path`, up to its last []"},
		{"the object as metadata", typed + "spec: {podTemplates: [{kind: Thing, path: a, metadata: .}]}", "`spec.podTemplates[0].metadata`: must be the path of a mapping in the object, such as metadata"},
		{"template with an index", typed + "spec: {podTemplates: [{kind: Thing, path: \"a[0].b\"}]}", "`spec.podTemplates[0].path`"},
		{"name", typed + "spec: {probeProxy: {name: Probe_Proxy}}", "`spec.probeProxy.name`: \"Probe_Proxy\" must be a container name"},
		{"image with a short digest", typed + "spec: {probeProxy: {image: \"example/p@sha256:0af9\"}}", "`spec.probeProxy.image`: \"example/p@sha256:0af9\" must be an image: a name in lower case, :TAG or @sha256: with 64 hexadecimal digits, or both"},
		{"image with a space", typed + "spec: {istioProxy: {image: \"istio/proxyv2: 1.31\"}}", "`spec.istioProxy.image`: \"istio/proxyv2: 1.31\" must be auto or an image: a name in lower case"},
		{"registry with a scheme", typed + "spec: {probeProxy: {registry: \"https://example.com\"}}", "`spec.probeProxy.registry`: \"https://example.com\" must be a registry, such as registry.example.com"},
		{"registry with a slash", "apiVersion: v1\nkind: ConfigMap\ndata: {registry: example.com/}", "`data.registry`: \"example.com/\" must be a registry"},
		{"a limit of istio-proxy", typed + "spec: {istioProxy: {resources: {limits: {memory: x}}}}", "`spec.istioProxy.resources.limits.memory`: \"x\" must be a quantity"},
		{"empty image of istio-proxy", typed + "spec: {istioProxy: {image: \"\"}}", "`spec.istioProxy.image`: \"\" must be auto or an image"},
		{"ConfigMap image", "apiVersion: v1\nkind: ConfigMap\ndata: {image: \"P:v1\"}", "`data.image`: \"P:v1\" must be an image"},
		{"Istio's name", typed + "spec: {probeProxy: {name: istio-proxy}}", "Istio's own sidecar"},
		{"a limit", typed + "spec: {probeProxy: {resources: {limits: {memory: x}}}}", "`spec.probeProxy.resources.limits.memory`: \"x\" must be a quantity that is not negative, such as 48Mi"},
		{"a request", typed + "spec: {probeProxy: {resources: {requests: {cpu: 5 m}}}}", "`spec.probeProxy.resources.requests.cpu`: \"5 m\" must be a quantity"},
		{"a negative request", typed + "spec: {probeProxy: {resources: {requests: {cpu: -1}}}}", "`spec.probeProxy.resources.requests.cpu`: \"-1\" must be a quantity"},
		{"a unit in the wrong case", typed + "spec: {probeProxy: {resources: {limits: {memory: 48mi}}}}", "\"48mi\" must be a quantity"},
		{"any resource", typed + "spec: {probeProxy: {resources: {limits: {example.com/gpu: [1]}}}}", "`spec.probeProxy.resources.limits[example.com/gpu]`: \"[1]\" must be a quantity"},
		{"limits without a resource", typed + "spec: {probeProxy: {resources: {limits: 48Mi}}}", "`spec.probeProxy.resources.limits`: must be a mapping"},
		{"unknown resources", typed + "spec: {probeProxy: {resources: {limit: {memory: 48Mi}}}}", "`spec.probeProxy.resources.limit`: unknown field; allowed are claims, limits and requests"},
		{"env without name", typed + "spec: {probeProxy: {env: [{value: x}]}}", "`spec.probeProxy.env[0]`"},
		{"our own env", typed + "spec: {probeProxy: {env: [{name: ISTIO_KUBE_APP_PROBERS, value: x}]}}", "written by rewrite-probes itself"},
		{"empty selector", typed + "spec: {select: {}}", "`spec.select`: must have"},
		{"bad label selector", typed + "spec: {select: {labelSelector: \"a in b\"}}", "`spec.select.labelSelector`: \"a in b\" must be made of a=b, a!=b, "},
		{"bad pattern", typed + "spec: {exclude: {names: [\"[\"]}}", "`spec.exclude.names[0]`: \"[\" must be"},
		{"a class in a pattern", typed + "spec: {exclude: {namespaces: [\"[ab]*\"]}}", "`spec.exclude.namespaces[0]`: \"[ab]*\" must be a name, where * and ? match"},
		{"an escape in a pattern", typed + "spec: {select: {names: ['a\\*']}}", `"a\\*" must be`},
		{"a class in a namespace of Istio's", typed + "spec: {istio: {injectedNamespaces: [\"shop]\"]}}", "`spec.istio.injectedNamespaces[0]`: \"shop]\" must be a name, where * and ? match"},
		{"other version", "apiVersion: rewrite-probes.io/v1\nkind: RewriteProbes\n", "must be a ConfigMap (v1) or a RewriteProbes (rewrite-probes.io/v1alpha1)"},
		{"ConfigMap key", "apiVersion: v1\nkind: ConfigMap\ndata: {prot: \"1\"}", "`data.prot`: unknown key; did you mean port?"},
		{"ConfigMap number", "apiVersion: v1\nkind: ConfigMap\ndata: {port: many}", "`data.port`: \"many\" must be a number"},
		{"ConfigMap bool", "apiVersion: v1\nkind: ConfigMap\ndata: {strict: perhaps}", "`data.strict`: \"perhaps\" must be"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := decode(t, c.text)
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error is %q, must be one line with %q", err, c.want)
			}
		})
	}
}

func TestEveryQuantityOfTheAPIIsAllowed(t *testing.T) {
	for _, amount := range []string{"48Mi", "100m", "0.5", ".5", "5.", "1e3", "1E+3", "12E", "2Ei", "0", "64", "\"64\"", "+1", "3n", "null"} {
		for _, at := range []string{"limits: {memory: ", "requests: {ephemeral-storage: "} {
			if _, err := decode(t, typed+"spec: {probeProxy: {resources: {"+at+amount+"}, claims: [{name: x}]}}}"); err != nil {
				t.Errorf("%s%s: %v", at, amount, err)
			}
		}
	}
	if _, err := decode(t, typed+"spec: {probeProxy: {resources: {limits: null}}}"); err != nil {
		t.Error(err)
	}
	// Whatever it is made of, it is judged as the API server judges it, which
	// also takes a unit without a number for 0.
	rnd := rand.New(rand.NewPCG(1, 2))
	const letters = "0123456789.+-eEKMGTPinumk "
	for range 5000 {
		amount := make([]byte, 1+rnd.IntN(6))
		for i := range amount {
			amount[i] = letters[rnd.IntN(len(letters))]
			if rnd.IntN(2) == 0 {
				amount[i] = letters[rnd.IntN(11)]
			}
		}
		q, wrong := resource.ParseQuantity(string(amount))
		_, err := decode(t, typed+"spec: {probeProxy: {resources: {limits: {memory: \""+string(amount)+"\"}}}}")
		number := strings.TrimRight(string(amount), "eEKMGTPinumk")
		if i := strings.IndexAny(number, "eE"); i >= 0 {
			number = number[:i]
		}
		if want := wrong == nil && q.Sign() >= 0 && amount[0] != '-' && strings.ContainsAny(number, "0123456789"); want != (err == nil) {
			t.Errorf("%q: %v; the API server says %v", amount, err, wrong)
		}
	}
}

func TestTheFirstAndTheLastPortAreAllowed(t *testing.T) {
	for _, port := range []string{"1", "65535"} {
		if c, err := decode(t, typed+"spec: {port: "+port+"}"); err != nil || strconv.Itoa(c.Spec.Port) != port {
			t.Errorf("port %s: %v", port, err)
		}
	}
	if _, err := decode(t, typed+"spec: {port: 65536}"); err == nil {
		t.Error("port 65536 was taken")
	}
}

// Both forms show everything that is wrong at once, a line for each, in the order of the
// file, with the file, the line in it and the key that the user wrote.
func TestEverythingThatIsWrongIsShownAtOnce(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"typed": {typed + "spec:\n  prot: 1\n  strict: perhaps\n  probeProxy:\n    name: X\n    nmae: x\n  istio:\n    injectedNamespaces: ['[']\n    rootNamespace: ''\n    version: latest\n", `config.yaml:5: functionConfig: ` + "`spec.prot`" + `: unknown field "prot": did you mean port?
config.yaml:6: functionConfig: ` + "`spec.strict`" + `: must be true or false, not the string "perhaps"
config.yaml:8: functionConfig: ` + "`spec.probeProxy.name`" + `: "X" must be a container name: lower-case letters, digits and dashes, at most 63
config.yaml:9: functionConfig: ` + "`spec.probeProxy.nmae`" + `: unknown field "nmae": did you mean name?
config.yaml:11: functionConfig: ` + "`spec.istio.injectedNamespaces[0]`" + `: "[" must be a name, where * and ? match as in a shell
config.yaml:12: functionConfig: ` + "`spec.istio.rootNamespace`" + `: "" must be the name of a namespace: lower-case letters, digits and dashes, at most 63
config.yaml:13: functionConfig: ` + "`spec.istio.version`" + `: "latest" must be a version of Istio in quotes, such as "1.24"`},
		"fields above spec": {typed + "answeredBy: app\nmseh: istio\nspce: {}\n", `config.yaml:4: functionConfig: ` + "`answeredBy`" + `: unknown field "answeredBy": write it under ` + "`spec`" + `
config.yaml:5: functionConfig: ` + "`mseh`" + `: unknown field "mseh": write ` + "`mesh` under `spec`" + `
config.yaml:6: functionConfig: ` + "`spce`" + `: unknown field "spce": did you mean spec?`},
		"fields that do not fit each other": {typed + "spec:\n  mesh: linkerd\n  answeredBy: istio\n  port: 4143\n  probeProxy:\n    image: A\n", `config.yaml:6: functionConfig: ` + "`spec.answeredBy`" + `: "istio" must be ` + field.Enumerate(config.Answerers(), "or") + `; did you mean istio-proxy?
config.yaml:7: functionConfig: ` + "`spec.port`" + `: "4143" is one of Linkerd's own ports (4140, 4143, 4190, 4191) and must be another
config.yaml:9: functionConfig: ` + "`spec.probeProxy.image`" + `: "A" must be an image: a name in lower case, :TAG or @sha256: with 64 hexadecimal digits, or both`},
		"ConfigMap": {"apiVersion: v1\nkind: ConfigMap\ndata:\n  port: many\n  mesh: nomad\n  rewrite: httpGet,http\n  injected-namespaces: 'a,['\n", `config.yaml:4: functionConfig: ` + "`data.port`" + `: "many" must be a number from 1 to 65535
config.yaml:5: functionConfig: ` + "`data.mesh`" + `: "nomad" must be auto, istio, linkerd, kuma, consul, osm, fsm or none
config.yaml:6: functionConfig: ` + "`data.rewrite`" + `: "http" must be httpGet, tcpSocket, grpc or lifecycle; did you mean httpGet?
config.yaml:7: functionConfig: ` + "`data.injected-namespaces`" + `: "[" must be a name, where * and ? match as in a shell`},
	} {
		if _, err := decode(t, c.text); err == nil || err.Error() != c.want {
			t.Errorf("%s: error is\n%v\nwant\n%s", name, err, c.want)
		}
	}
}

func TestSelectorsMatchAsKubectlDoes(t *testing.T) {
	web := &field.Metadata{Name: "web", Namespace: "shop", Labels: field.KeyValues{{Key: "app", Value: "web"}, {Key: "tier", Value: "front"}}}
	for _, c := range []struct {
		selector string
		want     bool
	}{
		{"kinds: [Deployment]", true},
		{"kinds: [Pod]", false},
		{"names: ['we*']", true},
		{"names: ['we?', db]", true},
		{"namespaces: [shop]", true},
		{"namespaces: [other]", false},
		{"labelSelector: app=web", true},
		{"labelSelector: app==web", true},
		{"labelSelector: app!=web", false},
		{"labelSelector: other!=x", true},
		{"labelSelector: 'app in (web, db),tier'", true},
		{"labelSelector: app notin (web)", false},
		{"labelSelector: other notin (web)", true},
		{"labelSelector: '!app'", false},
		{"labelSelector: '!other'", true},
		{"kinds: [Deployment], names: [db]", false},
		{"kinds: [Deployment], names: [db, web]", true},
		{"kinds: [Pod], namespaces: [shop]", false},
		{"names: [web], namespaces: [other]", false},
		{"namespaces: [shop], labelSelector: app=db", false},
		{"namespaces: [shop], labelSelector: app=web", true},
	} {
		s, err := decode(t, typed+"spec: {select: {"+c.selector+"}}")
		if err != nil {
			t.Fatalf("%s: %v", c.selector, err)
		}
		if got := s.Spec.Selection()("Deployment", web); got != c.want {
			t.Errorf("select {%s} gives %v", c.selector, got)
		}
		e, _ := decode(t, typed+"spec: {exclude: {"+c.selector+"}}")
		if got := e.Spec.Selection()("Deployment", web); got == c.want {
			t.Errorf("exclude {%s} gives %v", c.selector, got)
		}
	}
}

// Schema, Go types and reference page are made from the same tags; this keeps
// the page in the tree in step, and shows that the schema is what it claims.
func TestSchemaAndDocsFollowTheTypes(t *testing.T) {
	var schema struct {
		Properties struct {
			Spec struct {
				Properties map[string]struct {
					Default any      `json:"default"`
					Enum    []string `json:"enum"`
				} `json:"properties"`
				Closed *bool `json:"additionalProperties"`
			} `json:"spec"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(config.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	spec := schema.Properties.Spec
	types := slices.DeleteFunc(reflect.VisibleFields(reflect.TypeFor[config.Spec]()), func(f reflect.StructField) bool { return f.Anonymous })
	if len(spec.Properties) != len(types) || spec.Closed == nil || *spec.Closed {
		t.Errorf("schema has %d properties of spec, the type %d fields", len(spec.Properties), len(types))
	}
	for _, f := range types {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if _, ok := spec.Properties[name]; !ok || f.Tag.Get("doc") == "" {
			t.Errorf("field %s has no property or no doc", f.Name)
		}
	}
	if got := spec.Properties["port"].Default; got != 15099.0 {
		t.Errorf("default of port is %v", got)
	}

	golden.Compare(t, "../../docs/functionConfig.schema.json", config.Schema())

	const page = "../../docs/functionConfig.md"
	old, err := testutil.Section(page, "reference")
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(old) == strings.TrimSpace(config.Reference()) {
		return
	}
	if !*golden.Update {
		t.Fatalf("%s is not what the types say; run go test ./internal/config -update", page)
	}
	if err := testutil.ReplaceSection(page, "reference", config.Reference()); err != nil {
		t.Fatal(err)
	}
}

// The prose of the reference names meshes and answerers by hand: the same ones
// as the list of meshes has.
func TestTheProseOfTheReferenceFollowsTheListOfMeshes(t *testing.T) {
	doc := func(name string) string {
		f, _ := reflect.TypeFor[config.Spec]().FieldByName(name)
		return f.Tag.Get("doc")
	}
	named := func(text string) []string {
		words := strings.FieldsFunc(text, func(r rune) bool { return (r < 'a' || r > 'z') && r != '-' })
		return slices.DeleteFunc(transformer.Meshes(), func(m string) bool { return !slices.Contains(words, m) })
	}
	for _, a := range transformer.Answerers() {
		if !strings.Contains(doc("AnsweredBy"), a) {
			t.Errorf("answeredBy: %q does not name %s", doc("AnsweredBy"), a)
		}
	}
	var others, fixed []string
	for _, m := range transformer.Meshes() {
		if m == transformer.AnsweredByAuto {
			continue
		}
		_, err := decode(t, typed+"spec: {mesh: "+m+", port: 15098}")
		if err != nil {
			fixed = append(fixed, m)
		}
		if err != nil && !strings.Contains(err.Error(), "always 15904") {
			t.Errorf("mesh %s: %v; the reference of port says that it is always 15904", m, err)
		}
		for _, a := range transformer.Answerers() {
			_, err := decode(t, typed+"spec: {mesh: "+m+", answeredBy: "+a+"}")
			if err == nil && a != transformer.AnsweredByAuto && a != transformer.AnsweredByProbeProxy && a != transformer.AnsweredByApp {
				others = append(others, m)
			}
		}
	}
	_, last, found := strings.Cut(doc("Port"), "With mesh ")
	if got := named(last); !found || !slices.Equal(got, fixed) {
		t.Errorf("the reference of port names %v, and the ports of %v are fixed", got, fixed)
	}
	_, last, found = strings.Cut(doc("AnsweredBy"), "other meshes than ")
	if got := named(last); !found || !slices.Equal(got, others) {
		t.Errorf("the reference of answeredBy names %v, and another than probe-proxy answers in %v", got, others)
	}
}

// What the schema requires is what Decode refuses to do without.
func TestTheSchemaRequiresWhatDecodeDoes(t *testing.T) {
	type object struct {
		Required   []string `json:"required"`
		Properties map[string]json.RawMessage
		Items      json.RawMessage
	}
	at := func(text json.RawMessage) (o object) {
		if err := json.Unmarshal(text, &o); err != nil {
			t.Fatal(err)
		}
		return o
	}
	root := at(config.Schema())
	spec := at(root.Properties["spec"])
	item := at(at(spec.Properties["podTemplates"]).Items)
	for _, c := range []struct {
		name     string
		required []string
		format   string
		values   map[string]string
	}{
		{"the root", root.Required, "%s", map[string]string{"apiVersion": "apiVersion: rewrite-probes.io/v1alpha1\n", "kind": "kind: RewriteProbes\n"}},
		{"an item of podTemplates", item.Required, typed + "spec: {podTemplates: [{%s}]}", map[string]string{"kind": "kind: Thing, ", "path": "path: spec.x, "}},
	} {
		if !slices.Equal(c.required, slices.Sorted(maps.Keys(c.values))) {
			t.Errorf("%s requires %q", c.name, c.required)
		}
		whole := strings.Join(slices.Sorted(maps.Values(c.values)), "")
		if _, err := decode(t, fmt.Sprintf(c.format, whole)); err != nil {
			t.Errorf("%s with all that is required: %v", c.name, err)
		}
		for _, key := range c.required {
			if _, err := decode(t, fmt.Sprintf(c.format, strings.Replace(whole, c.values[key], "", 1))); err == nil {
				t.Errorf("%s without %s is taken", c.name, key)
			}
		}
	}
	if len(spec.Required) > 0 {
		t.Errorf("spec requires %q", spec.Required)
	}
}

func TestWhatTheMeshOSMCannotHaveIsRefused(t *testing.T) {
	for spec, want := range map[string]string{
		"{mesh: osm, port: 15098}":                                        "`spec.port`: \"15098\" must not be given: in this mesh it is always 15904",
		"{mesh: osm, answeredBy: istio-proxy}":                            "`spec.answeredBy`: \"istio-proxy\" must be auto, probe-proxy, envoy or app with `mesh: osm`",
		"{answeredBy: envoy}":                                             "`spec.answeredBy`: \"envoy\" must be auto, probe-proxy, istio-proxy or app in Istio; an Envoy answers only with `mesh: osm`\n",
		"{mesh: osm, probeProxy: {name: envoy}}":                          "`spec.probeProxy.name`: \"envoy\"",
		"{probeProxy: {env: [{name: ISTIO_KUBE_APP_PROBERS, value: x}]}}": "is written by rewrite-probes itself",
		"{probeProxy: {securityContext: {runAsGroup: 1337}}}":             "`spec.probeProxy.securityContext.runAsGroup`: \"1337\" must not be the id of Istio's own proxy",
		"{mesh: nomad}": "must be auto, istio, linkerd",
	} {
		if _, err := decode(t, typed+"spec: "+spec+"\n"); err == nil || !strings.Contains(err.Error()+"\n", want) {
			t.Errorf("%s: %v", spec, err)
		}
	}
	for _, spec := range []string{"{mesh: osm}", "{mesh: osm, answeredBy: envoy}", "{mesh: osm, port: 15099, answeredBy: probe-proxy}"} {
		if _, err := decode(t, typed+"spec: "+spec+"\n"); err != nil {
			t.Errorf("%s: %v", spec, err)
		}
	}
}
