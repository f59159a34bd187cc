package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
)

// A fieldCase sets one field of the functionConfig and names what its effect
// is: a text that the output, the messages and the exit code have with it and
// do not have without it.
type fieldCase struct {
	spec string // the spec of the typed form, in flow style
	data string // the data of the ConfigMap, in flow style; "" if it has no such key
	with string // the rest of a spec that both runs have, so that the field matters
	want string
	gone string // what only the run without the field has; instead of want
	file string // of workloads below; the Deployment where empty
	args string // the command; the function itself where empty
}

// fieldCases has a case for every field. A field that is not here fails the
// test, and so does one whose value is the default's.
var fieldCases = map[string]fieldCase{
	"spec.mesh":                                              {spec: "mesh: kuma", data: "mesh: kuma", want: "traffic.kuma.io/exclude-inbound-ports: \"15099\""},
	"spec.answeredBy":                                        {spec: "answeredBy: istio-proxy", data: "answered-by: istio-proxy", want: "- name: istio-proxy"},
	"spec.port":                                              {spec: "port: 15098", data: `port: "15098"`, want: "port: 15098"},
	"spec.rewrite":                                           {spec: "rewrite: [tcpSocket, lifecycle]", data: "rewrite: 'tcpSocket, lifecycle'", gone: "/app-health/web/readyz"},
	"spec.probeProxy.image":                                  {spec: "probeProxy: {image: 'example/p:v9@sha256:" + digest + "'}", data: "image: 'example/p:v9@sha256:" + digest + "'", want: "image: example/p:v9@sha256:" + digest},
	"spec.probeProxy.registry":                               {spec: "probeProxy: {registry: 'example.com:5000/mesh'}", data: "registry: 'example.com:5000/mesh'", want: "image: example.com:5000/mesh/probe-proxy:v"},
	"spec.probeProxy.name":                                   {spec: "probeProxy: {name: prober}", data: "name: prober", want: "- name: prober\n"},
	"spec.probeProxy.placement":                              {spec: "probeProxy: {placement: container}", data: "placement: container", gone: "restartPolicy: Always"},
	"spec.probeProxy.imagePullPolicy":                        {spec: "probeProxy: {imagePullPolicy: Never}", data: "image-pull-policy: Never", want: "imagePullPolicy: Never"},
	"spec.probeProxy.resources":                              {spec: "probeProxy: {resources: {limits: {memory: 48Mi}}}", want: "memory: 48Mi"},
	"spec.probeProxy.securityContext":                        {spec: "probeProxy: {securityContext: {runAsUser: null}}", gone: "runAsUser: 65532"},
	"spec.probeProxy.env":                                    {spec: "probeProxy: {env: [{name: PROBE_PROXY_LOG, value: all}]}", want: "- name: PROBE_PROXY_LOG"},
	"spec.probeProxy.body":                                   {spec: "probeProxy: {body: none}", want: "- \"--body=none\"\n"},
	"spec.probeProxy.livenessProbe":                          {spec: "probeProxy: {livenessProbe: true}", want: "livenessProbe:", file: "ready"},
	"spec.probeProxy.readinessProbe":                         {spec: "probeProxy: {readinessProbe: true}", want: "readinessProbe:", file: "live"},
	"spec.istioProxy.image":                                  {spec: "istioProxy: {image: 'example/istio@sha256:" + digest + "'}", with: "answeredBy: istio-proxy", want: "image: example/istio@sha256:" + digest},
	"spec.istioProxy.restricted":                             {spec: "istioProxy: {restricted: false}", with: "answeredBy: istio-proxy", gone: "seccompProfile:\n", file: "restricted"},
	"spec.istioProxy.resources":                              {spec: "istioProxy: {resources: {limits: {cpu: 2}}}", with: "answeredBy: istio-proxy", want: "cpu: 2\n"},
	"spec.istio.injectorRewrites":                            {spec: "istio: {injectorRewrites: true}", data: `injector-rewrites: "true"`, gone: "/app-health/", file: "injected"},
	"spec.istio.injectedNamespaces":                          {spec: "istio: {injectedNamespaces: ['sh*']}", data: "injected-namespaces: 'other, sh*'", want: "- name: istio-proxy"},
	"spec.platform":                                          {spec: "platform: openshift", data: "platform: openshift", gone: "runAsUser: 65532"},
	"spec.podTemplates[].group":                              {spec: "podTemplates: [{group: example.com, kind: Thing, path: spec.worker}]", want: "/app-health/web/readyz", file: "custom"},
	"spec.podTemplates[].kind":                               {spec: "podTemplates: [{group: example.com, kind: Thing, path: spec.worker}]", want: "/app-health/web/readyz", file: "custom"},
	"spec.podTemplates[].path":                               {spec: "podTemplates: [{group: example.com, kind: Thing, path: spec.worker}]", want: "/app-health/web/readyz", file: "custom"},
	"spec.podTemplates[].metadata":                           {spec: "podTemplates: [{group: example.com, kind: Bare, path: spec.pod, metadata: spec.podMetadata}]", want: "podMetadata:\n", file: "bare"},
	"spec.select.kinds":                                      {spec: "select: {kinds: [Job]}", gone: "/app-health/"},
	"spec.select.names":                                      {spec: "select: {names: ['d?']}", gone: "/app-health/"},
	"spec.select.namespaces":                                 {spec: "select: {namespaces: [other]}", gone: "/app-health/"},
	"spec.select.labelSelector":                              {spec: "select: {labelSelector: '!app'}", gone: "/app-health/"},
	"spec.exclude.kinds":                                     {spec: "exclude: {kinds: [Deployment]}", gone: "/app-health/"},
	"spec.exclude.names":                                     {spec: "exclude: {names: ['w*']}", gone: "/app-health/"},
	"spec.exclude.namespaces":                                {spec: "exclude: {namespaces: [shop]}", gone: "/app-health/"},
	"spec.exclude.labelSelector":                             {spec: "exclude: {labelSelector: app=web}", gone: "/app-health/"},
	"spec.strict":                                            {spec: "strict: true", data: `strict: "true"`, want: "exit 1", file: "warned"},
	"spec.istio.version":                                     {spec: "istio: {version: '1.24'}", data: `istio-version: "1.24"`, want: "- name: probe-proxy", file: "hooked"},
	"spec.istio.nativeSidecars":                              {spec: "istio: {nativeSidecars: true}", data: `native-sidecars: "true"`, want: "- name: istio-proxy", file: "sidecar"},
	"spec.istio.holdApplicationUntilProxyStarts":             {spec: "istio: {holdApplicationUntilProxyStarts: true}", want: "- name: istio-proxy", file: "impatient"},
	"spec.istio.rootNamespace":                               {spec: "istio: {rootNamespace: mesh-root}", gone: "[injector-unknown]", file: "permissive", args: "check"},
	"spec.istio.revisions[].name":                            {spec: "istio: {revisions: [{name: default, injectorRewrites: true}]}", gone: "/app-health/", file: "impatient"},
	"spec.istio.revisions[].injectorRewrites":                {spec: "istio: {revisions: [{name: default, injectorRewrites: true}]}", gone: "/app-health/", file: "impatient"},
	"spec.istio.revisions[].nativeSidecars":                  {spec: "istio: {revisions: [{name: default, nativeSidecars: true}]}", want: "- name: istio-proxy", file: "sidecar"},
	"spec.istio.revisions[].holdApplicationUntilProxyStarts": {spec: "istio: {revisions: [{name: default, holdApplicationUntilProxyStarts: true}]}", want: "- name: istio-proxy", file: "impatient"},
	"spec.istio.tags[].name":                                 {spec: "istio: {revisions: [{name: canary, injectorRewrites: true}], tags: [{name: default, revision: canary}]}", gone: "/app-health/", file: "impatient"},
	"spec.istio.tags[].revision":                             {spec: "istio: {revisions: [{name: canary, injectorRewrites: true}], tags: [{name: default, revision: canary}]}", gone: "/app-health/", file: "impatient"},
	"spec.istio.mtls":                                        {spec: "istio: {mtls: PERMISSIVE}", data: "mtls: PERMISSIVE", gone: "[injector-unknown]", file: "injected", args: "check"},
}

// digest is that of some image.
const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// fixedFields have one value that is allowed, or none that is read.
var fixedFields = []string{"apiVersion", "kind", "metadata"}

var workloads = map[string]string{
	"": `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  labels: {app: web}
spec:
  template:
    spec:
      containers:
      - name: web
        readinessProbe:
          httpGet: {path: /ready, port: 8080}
        livenessProbe:
          tcpSocket: {port: 8080}
`,
	"restricted": `apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: web
    readinessProbe:
      httpGet: {path: /ready, port: 8080}
    securityContext: {runAsNonRoot: true, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}
`,
	"injected": `apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {sidecar.istio.io/inject: "true"}
spec:
  containers:
  - name: web
    readinessProbe:
      httpGet: {path: /ready, port: 8080}
`,
	"sidecar": `apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: shop
spec:
  initContainers:
  - name: database
    restartPolicy: Always
    startupProbe:
      httpGet: {path: /startup, port: 8080}
  containers:
  - name: web
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio-injection: enabled}}
`,
	"hooked": `apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: shop
  annotations: {sidecar.istio.io/nativeSidecar: "true"}
spec:
  containers:
  - name: web
    lifecycle:
      preStop:
        httpGet: {path: /drain, port: 8080}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio-injection: enabled}}
`,
	"impatient": `apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: shop
spec:
  containers:
  - name: web
    livenessProbe:
      httpGet: {path: /started, port: 8080}
      periodSeconds: 1
      failureThreshold: 1
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio-injection: enabled}}
`,
	"permissive": `apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {sidecar.istio.io/inject: "true"}
spec:
  containers:
  - name: web
    readinessProbe:
      httpGet: {path: /ready, port: 8080}
---
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: mesh-root}
spec: {mtls: {mode: PERMISSIVE}}
`,
	"custom": `apiVersion: example.com/v1
kind: Thing
metadata:
  name: web
spec:
  worker:
    spec:
      containers:
      - name: web
        image: web
        readinessProbe:
          httpGet: {path: /ready, port: 8080}
`,
	"bare": `apiVersion: example.com/v1
kind: Bare
metadata:
  name: web
spec:
  pod:
    containers:
    - name: web
      image: web
      readinessProbe:
        httpGet: {path: /ready, port: 8080}
`,
	"ready": `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    readinessProbe: {httpGet: {port: 8080}}
`,
	"live": `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    livenessProbe: {httpGet: {port: 8080}}
`,
	"warned": `apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: web
    readinessProbe:
      httpGet: {path: /ready, port: nowhere}
`,
}

// fieldNames lists the fields that hold a value, in the names of the
// reference page.
func fieldNames(prefix string, t reflect.Type) []string {
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue // its fields are listed too
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		name = prefix + name
		inner := f.Type
		if inner.Kind() == reflect.Slice && inner.Elem().Kind() == reflect.Struct && inner != reflect.TypeFor[field.Map]() {
			inner, name = inner.Elem(), name+"[]"
		}
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			names = append(names, fieldNames(name+".", inner)...)
		} else {
			names = append(names, name)
		}
	}
	return names
}

// valueOf returns the value of a field; of a list, that of its first item.
func valueOf(c *config.RewriteProbes, name string) any {
	v := reflect.ValueOf(c).Elem()
	for part := range strings.SplitSeq(name, ".") {
		key, isList := strings.CutSuffix(part, "[]")
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return nil
			}
			v = v.Elem()
		}
		for _, f := range reflect.VisibleFields(v.Type()) {
			if n, _, _ := strings.Cut(f.Tag.Get("json"), ","); n == key {
				v = v.FieldByIndex(f.Index)
				break
			}
		}
		if isList {
			if v.Len() == 0 {
				return nil
			}
			v = v.Index(0)
		}
	}
	return v.Interface()
}

func indentBy(n int, text string) string {
	return regexp.MustCompile(`(?m)^`).ReplaceAllString(strings.TrimSuffix(text, "\n"), strings.Repeat(" ", n)) + "\n"
}

const typedForm = "apiVersion: rewrite-probes.io/v1alpha1\nkind: RewriteProbes\nmetadata: {name: config}\nspec: {%s}\n"
const configMapForm = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\ndata: {%s}\n"

// output runs the command and returns everything that its caller sees.
func output(t *testing.T, input string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(args, strings.NewReader(input), &out, &errs)
	return fmt.Sprintf("%s%sexit %d\n", &out, &errs, code)
}

// TestEveryFieldOfTheConfigHasItsEffect sets every field to a value that is
// not its default, in each way to give a functionConfig, and
// looks for the effect in the output.
func TestEveryFieldOfTheConfigHasItsEffect(t *testing.T) {
	inConfigMap := make(map[string]bool)
	for _, k := range config.Keys {
		inConfigMap[k.Field] = true
	}
	names := fieldNames("", reflect.TypeFor[config.RewriteProbes]())
	for name := range fieldCases {
		if !slices.Contains(names, name) {
			t.Errorf("there is no field %s any more", name)
		}
	}
	for _, name := range names {
		if slices.Contains(fixedFields, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			c, ok := fieldCases[name]
			if !ok {
				t.Fatal("the field has no case: add one to fieldCases")
			}
			if inConfigMap[name] != (c.data != "") {
				t.Fatalf("the ConfigMap has a key for the field: %t; the case has data %q", inConfigMap[name], c.data)
			}
			testField(t, name, c)
		})
	}
}

func testField(t *testing.T, name string, c fieldCase) {
	both := func(a, b string) string { return strings.TrimPrefix(a+", "+b, ", ") }
	forms := map[string]string{"typed": fmt.Sprintf(typedForm, both(c.with, c.spec))}
	if c.data != "" {
		forms["ConfigMap"] = fmt.Sprintf(configMapForm, c.data)
	}
	without := fmt.Sprintf(typedForm, c.with)
	command := strings.Fields(c.args)
	for form, text := range forms {
		s, err := manifest.Read(form, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := config.Decode(s.Objects()[0])
		if err != nil {
			t.Fatal(err)
		}
		if reflect.DeepEqual(valueOf(decoded, name), valueOf(config.Default(), name)) {
			t.Errorf("%s: the field has its default: %v", form, valueOf(decoded, name))
		}
		for way, runWith := range map[string]func(string) string{
			"ResourceList": func(cfg string) string { return output(t, resourceList(workloads[c.file], cfg), command...) },
			"--config": func(cfg string) string {
				path := filepath.Join(t.TempDir(), "config.yaml")
				if err := os.WriteFile(path, []byte(cfg), 0o600); err != nil {
					t.Fatal(err)
				}
				return output(t, workloads[c.file], append(command, "--config", path, "-")...)
			},
		} {
			has, lacks := runWith(text), runWith(without)
			look := c.want
			if c.gone != "" {
				look, has, lacks = c.gone, lacks, has
			}
			if !strings.Contains(has, look) || strings.Contains(lacks, look) {
				t.Errorf("%s by %s: %q must be in the first and not in the second:\n%s\n----\n%s", form, way, look, has, lacks)
			}
		}
	}
}

func resourceList(item, functionConfig string) string {
	list := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
	for one := range strings.SplitSeq(item, "---\n") {
		list += "- " + strings.TrimPrefix(indentBy(2, one), "  ")
	}
	return list + "functionConfig:\n" + indentBy(2, functionConfig)
}

// What has one allowed value is refused with another; metadata is not read.
func TestTheFixedFieldsOfTheConfig(t *testing.T) {
	cfg := fmt.Sprintf(typedForm, "")
	for from, to := range map[string]string{"v1alpha1": "v2", "kind: RewriteProbes": "kind: Rewriter"} {
		if got := output(t, resourceList(workloads[""], strings.Replace(cfg, from, to, 1))); !strings.Contains(got, "functionConfig: must be") {
			t.Errorf("%s: %s", to, got)
		}
	}
	named := strings.Replace(cfg, "{name: config}", "{name: other, annotations: {a: b}}", 1)
	cut := func(s string) string { before, _, _ := strings.Cut(s, "functionConfig:"); return before }
	if a, b := output(t, resourceList(workloads[""], cfg)), output(t, resourceList(workloads[""], named)); cut(a) != cut(b) {
		t.Errorf("metadata changes the output:\n%s\n----\n%s", a, b)
	}
}
