package pipeline_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/patches"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/jsonpatch"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

func everything(*manifest.Object) bool { return true }

// patchesFor returns the patches for manifests.
func patchesFor(t *testing.T, text []byte, c *config.RewriteProbes) *patches.Set {
	t.Helper()
	s, err := manifest.Read("in.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	set, r := pipeline.Patches([]*manifest.Stream{s}, c, everything, patches.Destination{})
	if r.Failed() {
		t.Fatalf("%v\n%s", r.Messages, text)
	}
	return set
}

func targetOf(o *manifest.Object) patches.Target {
	version := o.APIVersion()
	return patches.Target{Group: o.Group(), Version: version[strings.LastIndexByte(version, '/')+1:], Kind: o.Kind(), Namespace: o.Namespace(), Name: o.Name()}
}

// build applies a set to manifests as kustomize does, and returns the objects.
func build(t testing.TB, set *patches.Set, text []byte) (out []field.Value, err error) {
	t.Helper()
	s, err := manifest.Read("in.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	missing := slices.Clone(set.Required)
	for _, o := range s.Objects() {
		at := targetOf(o)
		missing = slices.DeleteFunc(missing, func(m patches.Target) bool { return m == at })
		isLocal := o.Annotations().Get("config.kubernetes.io/local-config") == "true"
		if isLocal {
			continue
		}
		kind := surroundings.GroupKind{Group: at.Group, Kind: at.Kind}
		isGuarded := slices.Contains(slices.Concat(set.Guarded...), kind) && !patches.IsTest(o)
		if isGuarded && !slices.Contains(set.Known, at) {
			return nil, fmt.Errorf("%s is new", o)
		}
		v := decode(t, o)
		for _, p := range set.Patches {
			if p.Target != at {
				continue
			}
			v = patches.Built(v)
			if v, err = jsonpatch.Apply(v, p.Operations...); err != nil {
				return nil, fmt.Errorf("%s: %w", o, err)
			}
		}
		out = append(out, v)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%s is missing", missing[0])
	}
	return out, nil
}

// rewritten returns the objects as the function writes them.
func rewritten(t testing.TB, text []byte, c *config.RewriteProbes) (out []field.Value, err error) {
	t.Helper()
	s, err := manifest.Read("in.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	if r := pipeline.Run([]*manifest.Stream{s}, c, pipeline.Rewrite); r.Failed() {
		return nil, errors.New(r.Messages[0].String())
	}
	after, err := s.Text()
	if err != nil {
		t.Fatal(err)
	}
	if s, err = manifest.Read("out.yaml", after); err != nil {
		t.Fatal(err)
	}
	for _, o := range s.Objects() {
		if o.Annotations().Get("config.kubernetes.io/local-config") != "true" {
			out = append(out, decode(t, o))
		}
	}
	return out, nil
}

func decode(t testing.TB, o *manifest.Object) (v field.Value) {
	t.Helper()
	if _, err := o.Decode(nil, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// plain returns an object without the record, which patches do not write, and without mappings of
// metadata that are empty.
func plain(v field.Value) field.Value {
	m, ok := v.(field.Map)
	if !ok {
		if l, isList := v.(field.List); isList {
			v = slices.Clone(l)
			for i := range l {
				v.(field.List)[i] = plain(l[i])
			}
		}
		return v
	}
	out := field.Map{}
	for _, e := range m {
		e.Value = plain(e.Value)
		if inner, isMap := e.Value.(field.Map); isMap && e.Key == "annotations" {
			e.Value = slices.DeleteFunc(slices.Clone(inner), func(e field.Entry) bool { return e.Key == transformer.OriginalsAnnotation })
		}
		if inner, isMap := e.Value.(field.Map); isMap && len(inner) == 0 && (e.Key == "annotations" || e.Key == "metadata") {
			continue
		}
		out = append(out, e)
	}
	return out
}

func same(a, b []field.Value) bool {
	return slices.EqualFunc(a, b, func(v, w field.Value) bool { return field.Equal(plain(v), plain(w)) })
}

func show(values []field.Value) string {
	var all []field.Map
	for _, v := range values {
		m, _ := plain(v).(field.Map)
		all = append(all, m)
	}
	return string(manifest.Documents(all...))
}

func configOf(t *testing.T, spec string) *config.RewriteProbes {
	t.Helper()
	o, err := manifest.Read("config", []byte("apiVersion: rewrite-probes.io/v1alpha1\nkind: RewriteProbes\nmetadata: {name: c}\nspec: {"+spec+"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Decode(o.Objects()[0])
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPatchesGiveWhatTheFunctionWrites(t *testing.T) {
	c := configOf(t, "exclude: {kinds: [WorkloadGroup]}")
	changes := 0
	for _, file := range testutil.Manifests(t, "../..") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := rewritten(t, text, c)
		if err != nil {
			continue // the function refuses an object
		}
		set := patchesFor(t, text, c)
		changes += set.Changes()
		got, err := build(t, set, text)
		if err != nil || !same(got, want) {
			t.Errorf("%s: %v", file, err)
		}
	}
	if changes < 10 {
		t.Errorf("only %d patches change something", changes)
	}
}

// bases are manifests of many sorts, which the mutations below change.
const bases = `
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: a}, annotations: {note: x}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  template:
    metadata: {labels: {app: web}, annotations: {checksum: abc}}
    spec:
      securityContext: {fsGroup: 1}
      nodeSelector: {disk: ssd}
      initContainers:
      - {name: setup, image: i}
      - name: logs
        image: i
        restartPolicy: Always
        startupProbe: {httpGet: {path: /up, port: 9001}}
      containers:
      - name: web
        image: shop/web:1
        ports: [{name: http, containerPort: 8080}, {name: admin, containerPort: 8081}]
        resources: {requests: {cpu: 100m, memory: 64Mi}}
        readinessProbe: {httpGet: {path: /ready, port: http, httpHeaders: [{name: Host, value: a}]}, timeoutSeconds: 2}
        livenessProbe: {tcpSocket: {port: 8080}, periodSeconds: 3}
        lifecycle: {preStop: {httpGet: {path: /stop, port: 8081}}, postStart: {exec: {command: [a]}}}
      - {name: side, image: i}
---
apiVersion: v1
kind: Pod
metadata: {name: bare, namespace: shop}
spec:
  containers:
  - name: c
    image: i
    readinessProbe: {grpc: {port: 9000}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: sure, namespace: db}
spec:
  template:
    spec:
      containers:
      - name: db
        image: i
        resources: {limits: {cpu: 1, memory: 1Gi}}
        startupProbe: {httpGet: {path: /up, port: 8080, scheme: HTTPS}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: job, namespace: db}
spec:
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - {name: job, image: i, livenessProbe: {exec: {command: [x]}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: off, namespace: shop}
spec:
  template:
    metadata: {annotations: {rewrite-probes.io/rewrite: "false"}}
    spec:
      containers:
      - {name: agent, image: i, livenessProbe: {httpGet: {port: 1}}}
---
apiVersion: networking.istio.io/v1
kind: Sidecar
metadata: {name: local, namespace: local}
spec:
  workloadSelector: {labels: {app: local}}
  ingress: [{port: {number: 8080, protocol: HTTP, name: http}, defaultEndpoint: "127.0.0.1:8080"}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: local, namespace: local}
spec:
  template:
    metadata: {labels: {app: local}}
    spec:
      containers:
      - {name: local, image: i, readinessProbe: {httpGet: {path: /ready, port: 8080}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: linked, namespace: far}
spec:
  template:
    metadata: {labels: {kuma.io/sidecar-injection: enabled}}
    spec:
      containers:
      - {name: a, image: i, ports: [{containerPort: 1}], livenessProbe: {httpGet: {path: /a, port: 1}}}
`

// rare are manifests of the sorts that few bases have.
const rare = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: jobs, namespace: shop}
spec:
  replicatedJobs:
  - name: a
    template: {spec: {template: {spec: {containers: [{name: c, image: i, readinessProbe: {httpGet: {path: /a, port: 80}}}]}}}}
---
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: lws, namespace: shop}
spec:
  leaderWorkerTemplate:
    workerTemplate: {spec: {containers: [{name: c, image: i, readinessProbe: {httpGet: {path: /a, port: 80}}}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: local, namespace: shop, annotations: {config.kubernetes.io/local-config: "true"}}
spec: {template: {spec: {containers: [{name: c, image: i, readinessProbe: {httpGet: {path: /a, port: 80}}}]}}}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: made, namespace: shop, ownerReferences: [{kind: Deployment, name: local, controller: false}]}
spec: {template: {spec: {containers: [{name: c, image: i, readinessProbe: {httpGet: {path: /a, port: 80}}}]}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: excluded, namespace: shop, labels: {probes: mine}}
spec: {template: {spec: {containers: [{name: c, image: i, readinessProbe: {httpGet: {path: /a, port: 80}}}]}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: done, namespace: shop}
spec:
  template:
    metadata:
      annotations: {sidecar.istio.io/rewriteAppHTTPProbers: "false", traffic.sidecar.istio.io/excludeInboundPorts: "15099"}
    spec:
      initContainers:
      - name: probe-proxy
        image: ghcr.io/rewrite-probes/probe-proxy:v0.1.0
        restartPolicy: Always
        env:
        - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
        - name: ISTIO_KUBE_APP_PROBERS
          value: '{"/app-health/c/readyz":{"httpGet":{"path":"/a","port":80,"scheme":"HTTP"},"timeoutSeconds":1}}'
        lifecycle: {postStart: {exec: {command: [/probe-proxy, wait, --port=15099]}}}
        securityContext:
          runAsUser: 65532
          runAsGroup: 65532
          runAsNonRoot: true
          readOnlyRootFilesystem: true
          allowPrivilegeEscalation: false
          capabilities: {drop: [ALL]}
          seccompProfile: {type: RuntimeDefault}
      containers:
      - {name: c, image: i, readinessProbe: {httpGet: {path: /app-health/c/readyz, port: 15099}}}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: app}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8081}]}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: web, namespace: app}
spec: {workloadSelector: {labels: {app: web}}, ports: [{number: 8082, name: http, protocol: HTTP}]}
---
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: strict, namespace: app}
spec: {mtls: {mode: STRICT}}
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: deny, namespace: app}
spec: {action: DENY, rules: [{to: [{operation: {paths: [/b]}}]}]}
---
apiVersion: networking.istio.io/v1
kind: WorkloadGroup
metadata: {name: machines, namespace: app}
spec: {template: {serviceAccount: a}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: app}
spec:
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: i, ports: [{containerPort: 9000}], readinessProbe: {httpGet: {path: /a, port: 9000}}, livenessProbe: {httpGet: {path: /a, port: 8080}}}]}
---
apiVersion: v1
kind: LimitRange
metadata: {name: small, namespace: app}
spec: {limits: [{type: Container, default: {cpu: 1, memory: 1Gi}}]}
---
apiVersion: example.com/v1
kind: Fleet
metadata: {name: fleet, namespace: app}
spec:
  parts:
  - {name: a, pod: {spec: {containers: [{name: c, image: i, readinessProbe: {httpGet: {path: /a, port: 80}}}]}}}
`

// grafts are fields that a mutation adds where a mapping is, by the last key of its path; "" is an item of a list of containers.
var grafts = map[string]field.Map{
	"spec": {
		{Key: "hostNetwork", Value: true}, {Key: "os", Value: field.Map{{Key: "name", Value: "windows"}}}, {Key: "runtimeClassName", Value: "windows-2019"},
		{Key: "nodeSelector", Value: field.Map{{Key: "kubernetes.io/os", Value: "windows"}}},
		{Key: "securityContext", Value: field.Map{{Key: "runAsUser", Value: 1337}}}, {Key: "restartPolicy", Value: "Never"},
		{Key: "resources", Value: field.Map{{Key: "limits", Value: field.Map{{Key: "cpu", Value: "1"}, {Key: "memory", Value: "1Gi"}}}}},
		{Key: "initContainers", Value: field.List{field.Map{{Key: "name", Value: "n"}, {Key: "image", Value: "i"}}}},
		{Key: "affinity", Value: field.Map{{Key: "nodeAffinity", Value: field.Map{{Key: "requiredDuringSchedulingIgnoredDuringExecution", Value: field.Map{{
			Key: "nodeSelectorTerms", Value: field.List{field.Map{{Key: "matchExpressions", Value: field.List{field.Map{
				{Key: "key", Value: "kubernetes.io/os"}, {Key: "operator", Value: "In"}, {Key: "values", Value: field.List{"windows"}},
			}}}}}}}}}}}},
		{Key: "terminationGracePeriodSeconds", Value: 5},
		{Key: "probe", Value: field.Map{{Key: "httpGet", Value: field.Map{{Key: "port", Value: 80}}}}},
	},
	"template": {{Key: "serviceAccount", Value: "x"}},
	"leaderWorkerTemplate": {{Key: "leaderTemplate", Value: field.Map{{Key: "spec", Value: field.Map{{Key: "containers", Value: field.List{field.Map{
		{Key: "name", Value: "l"}, {Key: "image", Value: "i"}, {Key: "livenessProbe", Value: field.Map{{Key: "httpGet", Value: field.Map{{Key: "port", Value: 80}}}}},
	}}}}}}}},
	"annotations":     {{Key: "config.kubernetes.io/local-config", Value: "true"}},
	"metadata":        {{Key: "labels", Value: field.Map{{Key: "sidecar.istio.io/inject", Value: "true"}}}, {Key: "namespace", Value: "kube-system"}},
	"securityContext": {{Key: "runAsUser", Value: 1337}, {Key: "runAsGroup", Value: 1337}, {Key: "appArmorProfile", Value: field.Map{{Key: "type", Value: "Localhost"}}}},
	"nodeSelector":    {{Key: "kubernetes.io/os", Value: "windows"}, {Key: "node.kubernetes.io/windows-build", Value: "10"}},
	"": {
		{Key: "ports", Value: field.List{field.Map{{Key: "containerPort", Value: 15099}}}}, {Key: "restartPolicy", Value: "Always"}, {Key: "name", Value: "probe-proxy"},
		{Key: "readinessProbe", Value: field.Map{{Key: "httpGet", Value: field.Map{{Key: "port", Value: 80}}}}},
		{Key: "startupProbe", Value: field.Map{{Key: "tcpSocket", Value: field.Map{{Key: "port", Value: 80}}}}},
		{Key: "lifecycle", Value: field.Map{{Key: "preStop", Value: field.Map{{Key: "httpGet", Value: field.Map{{Key: "port", Value: 80}}}}}}},
		{Key: "resources", Value: field.Map{{Key: "limits", Value: field.Map{{Key: "cpu", Value: "1"}, {Key: "memory", Value: "1Gi"}}}}},
		{Key: "resources", Value: field.Map{{Key: "requests", Value: field.Map{{Key: "cpu", Value: "1"}}}}}, {Key: "image", Value: "auto"},
		{Key: "name", Value: "istio-proxy"}, {Key: "name", Value: "setup"}, {Key: "workingDir", Value: "/"},
	},
	"lifecycle":      {{Key: "postStart", Value: field.Map{{Key: "httpGet", Value: field.Map{{Key: "port", Value: 80}}}}}},
	"readinessProbe": {{Key: "exec", Value: field.Map{{Key: "command", Value: field.List{"a"}}}}, {Key: "tcpSocket", Value: field.Map{{Key: "port", Value: 80}}}, {Key: "timeoutSeconds", Value: 9}},
	"livenessProbe":  {{Key: "httpGet", Value: field.Map{{Key: "port", Value: 80}}}, {Key: "timeoutSeconds", Value: 9}},
	"httpGet":        {{Key: "scheme", Value: "HTTPS"}, {Key: "host", Value: "example.com"}, {Key: "protocol", Value: "HTTP2"}},
	"tcpSocket":      {{Key: "host", Value: "example.com"}},
	"grpc":           {{Key: "service", Value: "s"}},
	"requests":       {{Key: "cpu", Value: "0"}},
	"limits":         {{Key: "cpu", Value: "2"}},
}

// switches are the values that mutations give to labels and annotations.
var switches = []string{"false", "enabled", "15099"}

// mutations yields what one change makes of a value: everything is once deleted, replaced, doubled
// or moved, and every mapping once gets what may matter there.
func mutations(v field.Value, path field.Path, yield func(mutated field.Value, what string)) {
	switch v := v.(type) {
	case field.Map:
		for i, e := range v {
			with := func(value field.Value, what string) {
				m := slices.Clone(v)
				m[i].Value = value
				yield(m, what)
			}
			yield(slices.Delete(slices.Clone(v), i, i+1), path.Key(e.Key).String()+" goes")
			mutations(e.Value, path.Key(e.Key), with)
		}
		key := ""
		if n := len(path); n > 0 {
			key = path[n-1].Key
		}
		added := grafts[key]
		if key == "annotations" || key == "labels" {
			for _, k := range knownKeys {
				for _, value := range switches {
					added = append(added, field.Entry{Key: k, Value: value})
				}
			}
		}
		for _, e := range added {
			yield(field.Merge(v, field.Map{e}), path.Key(e.Key).String()+" becomes "+show([]field.Value{field.Map{e}}))
		}
	case field.List:
		for i, item := range v {
			yield(slices.Delete(slices.Clone(v), i, i+1), path.Index(i).String()+" goes")
			yield(slices.Insert(slices.Clone(v), i, v[len(v)-1-i]), path.Index(i).String()+" is doubled")
			mutations(item, path.Index(i), func(value field.Value, what string) {
				l := slices.Clone(v)
				l[i] = value
				yield(l, what)
			})
			if m, isMap := item.(field.Map); isMap {
				other := field.Merge(m, field.Map{{Key: "name", Value: "other"}})
				yield(append(slices.Clone(v), other), path.String()+" has one more")
				yield(slices.Insert(slices.Clone(v), 0, field.Value(other)), path.String()+" has another first")
			}
		}
	case string:
		for _, s := range []string{"x", "probe-proxy", "true", "http", "shop", "15099", "0"} {
			yield(s, path.String()+" is "+s)
		}
	case int:
		for _, n := range []int{15099, 15020, 0, v + 1} {
			yield(n, fmt.Sprintf("%s is %d", path, n))
		}
	case bool:
		yield(!v, path.String()+" is the opposite")
	}
}

func TestABaseThatChanges(t *testing.T) {
	t.Parallel()
	const parts = "podTemplates: [{group: example.com, kind: Fleet, path: 'spec.parts[].pod'}], exclude: {labelSelector: probes=mine}"
	for n, spec := range []string{"", "answeredBy: app", "mesh: linkerd", "mesh: kuma", "istio: {injectedNamespaces: [shop]}"} {
		base := bases
		if spec == "answeredBy: app" { // the kubelet cannot reach an app that listens locally
			base = strings.ReplaceAll(bases, "127.0.0.1:8080", "0.0.0.0:8080")
		}
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			changeBase(t, base, configOf(t, spec), n)
		})
		t.Run("rare "+spec, func(t *testing.T) {
			t.Parallel()
			changeBase(t, rare, configOf(t, strings.Trim(parts+","+spec, ",")), n+3)
		})
	}
}

// changeBase judges what patches do to every mutation of a base, or to an eighth of them.
func changeBase(t *testing.T, base string, c *config.RewriteProbes, eighth int) {
	set := patchesFor(t, []byte(base), c)
	if set.Changes() == 0 {
		t.Fatal("nothing is changed")
	}
	var objects []field.Value
	s, err := manifest.Read("in.yaml", []byte(base))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range s.Objects() {
		objects = append(objects, decode(t, o))
	}
	counts := make(map[string]int)
	note := func(changed []field.Value, what string) {
		verdict := judge(t, set, changed, c)
		if counts[verdict]++; verdict == "wrong" {
			t.Errorf("%s: the patches give something else than the function", what)
		}
	}
	all := 0
	for i, v := range objects {
		note(slices.Delete(slices.Clone(objects), i, i+1), fmt.Sprintf("without object %d", i))
		mutations(v, nil, func(mutated field.Value, what string) {
			if all++; eighth > 0 && all%8 != eighth { // each config has its share
				return
			}
			changed := slices.Clone(objects)
			changed[i] = mutated
			note(changed, fmt.Sprintf("object %d, if %s", i, what))
		})
	}
	t.Log(counts)
	if counts["right"] < 50 || counts["loud"] < 15 {
		t.Errorf("the mutations must do both: %v", counts)
	}
}

// judge says what the patches do to a mutated base: right, loud, needless or, which is an error, wrong.
func judge(t testing.TB, set *patches.Set, objects []field.Value, c *config.RewriteProbes) string {
	var all []field.Map
	for _, v := range objects {
		m, _ := v.(field.Map)
		all = append(all, m)
	}
	text := manifest.Documents(all...)
	if s, err := manifest.Read("in.yaml", text); err != nil || len(s.Objects()) != len(objects) || slices.ContainsFunc(objects, namesTwice) {
		return "invalid"
	}
	got, err := build(t, set, text)
	want, refused := rewritten(t, text, c)
	switch {
	case err != nil && refused == nil && isNeedless(t, set, text, want):
		return "needless"
	case err != nil:
		return "loud"
	case refused != nil:
		return "wrong" // the function changes nothing then
	case !same(got, want):
		return "wrong"
	}
	return "right"
}

// namesTwice reports whether a list of containers has a name twice, which the API server refuses.
func namesTwice(v field.Value) bool {
	switch v := v.(type) {
	case field.Map:
		return slices.ContainsFunc(v, func(e field.Entry) bool { return namesTwice(e.Value) })
	case field.List:
		seen := make(map[field.Value]bool)
		return slices.ContainsFunc(v, func(item field.Value) bool {
			m, _ := item.(field.Map)
			name, has := m.Get("name")
			twice := has && seen[name]
			seen[name] = true
			return twice || namesTwice(item)
		})
	}
	return false
}

// isNeedless reports whether the patches without their tests would have given what is wanted.
func isNeedless(t testing.TB, set *patches.Set, text []byte, want []field.Value) bool {
	bold := *set
	bold.Guarded, bold.Required, bold.Patches = nil, nil, slices.Clone(set.Patches)
	for i, p := range bold.Patches {
		bold.Patches[i].Operations = slices.DeleteFunc(slices.Clone(p.Operations), func(o field.Operation) bool { return o.Op == field.OpTest })
	}
	got, err := build(t, &bold, text)
	return err == nil && same(got, want)
}

// A field beside the handler that no API has yet is not tested, on purpose: only a test of the whole probe would see it,
// and each change of periodSeconds would then fail the build. The API server drops or refuses such a field. In the handler
// it is seen.
func TestAFieldThatNobodyKnows(t *testing.T) {
	const known = "livenessProbe: {periodSeconds: 5, httpGet: {path: /live, port: 8080}}"
	const base = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec:\n  template:\n    spec:\n      containers:\n      - name: app\n        image: app\n        " + known + "\n"
	set := patchesFor(t, []byte(base), configOf(t, "answeredBy: probe-proxy"))
	for probe, builds := range map[string]bool{
		known: true,
		"livenessProbe: {periodSeconds: 7, httpGet: {path: /live, port: 8080}}":             true,
		"livenessProbe: {periodSeconds: 5, newer: 1, httpGet: {path: /live, port: 8080}}":   true,
		"livenessProbe: {periodSeconds: 5, httpGet: {path: /live, port: 8080, newer: 1}}":   false,
		"livenessProbe: {periodSeconds: 5, newer: {}, httpGet: {path: /other, port: 8080}}": false,
		"livenessProbe: {periodSeconds: 5, httpGet: {path: /live, port: 8080}, newer: {}}":  true,
	} {
		changed := strings.Replace(base, known, probe, 1)
		if out, err := build(t, set, []byte(changed)); (err == nil) != builds {
			t.Errorf("%s: %v, %v", probe, err, out)
		}
	}
}

// Of ports that have names, the numbers are tested, the names that probes use, and that there are no more: one more may be the port
// of probe-proxy.
func TestPortsThatChange(t *testing.T) {
	const ports = "ports: [{name: http, containerPort: 8080}, {name: admin, containerPort: 8081}]"
	const base = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec:\n  template:\n    spec:\n      containers:\n" +
		"      - name: app\n        image: app\n        livenessProbe: {httpGet: {path: /live, port: http}}\n        " + ports + "\n"
	set := patchesFor(t, []byte(base), configOf(t, "answeredBy: probe-proxy"))
	for changed, builds := range map[string]bool{
		"[{name: http, containerPort: 8080}, {name: admin, containerPort: 8081}]":                                                               true,
		"[{name: http, containerPort: 8080, protocol: TCP, hostPort: 80}, {name: admin, containerPort: 8081}]":                                  true,
		"[{name: http, containerPort: 9090}, {name: admin, containerPort: 8081}]":                                                               false,
		"[{name: web, containerPort: 8080}, {name: admin, containerPort: 8081}]":                                                                false,
		"[{name: http, containerPort: 8080}, {name: admin, containerPort: 15099}]":                                                              false,
		"[{name: http, containerPort: 8080}, {name: admin, containerPort: 8081}, {containerPort: 15099}]":                                       false,
		"[{name: http, containerPort: 8080}, {containerPort: 15099}, {name: admin, containerPort: 8081}]":                                       false,
		"[{name: http, containerPort: 8080}, {name: other, containerPort: 8081}, {containerPort: 15099}, {name: admin, containerPort: 8081}]":   false,
		"[{name: http, containerPort: 8080}, {containerPort: 8081}, {containerPort: 15099}, {name: admin, containerPort: 8081, protocol: UDP}]": false,
	} {
		if _, err := build(t, set, []byte(strings.Replace(base, ports, "ports: "+changed, 1))); (err == nil) != builds {
			t.Errorf("%s: %v", changed, err)
		}
	}
}

// Of a template that is left alone as a whole, neither ports nor what a probe asks decide anything. That a probe was rewritten
// before does: it is restored.
func TestATemplateThatIsLeftAlone(t *testing.T) {
	const (
		ports = "ports: [{name: http, containerPort: 8080}]"
		probe = "httpGet: {path: /live, port: 8080}"
		env   = "env: [{name: A, value: b}]"
		base  = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec:\n  template:\n    metadata:\n" +
			"      labels: {app: web, sidecar.istio.io/inject: \"false\"}\n      annotations: {note: x}\n    spec:\n      containers:\n" +
			"      - name: app\n        image: app\n        " + env + "\n        livenessProbe: {" + probe + "}\n        " + ports + "\n"
		rewritten = "httpGet: {path: /app-health/app/livez, port: 8080}"
		stored    = `env: [{name: ISTIO_KUBE_APP_PROBERS, value: '{"/app-health/app/livez":{"httpGet":{"path":"/live","port":8080}}}'}]`
	)
	c := configOf(t, "")
	set := patchesFor(t, []byte(base), c)
	for _, x := range []struct {
		was, is string
		builds  bool
	}{
		{ports, "ports: [{name: http, containerPort: 15099}, {containerPort: 15020}]", true},
		{probe, "timeoutSeconds: 5, httpGet: {path: /live, port: 8080, scheme: HTTPS, httpHeaders: [{name: A, value: b}]}", true},
		{env, "env: []", true},
		{"containers:", "nodeSelector: {kubernetes.io/os: windows}\n      containers:", true},
		{"name: app\n", "name: other\n", false},
		{probe, "httpGet: {path: /live, port: http}", false},
		{probe, "tcpSocket: {port: 8080}", false},
		{probe + "}", probe + "}\n        readinessProbe: {httpGet: {path: /ready, port: 8080}}", false},
		{"note: x", `note: x, kuma.io/application-probe-proxy-port: "8080"`, false},
		{"note: x", "note: x, consul.hashicorp.com/connect-inject-status: injected", false},
		{`"false"`, `"true"`, false},
	} {
		changed := strings.Replace(base, x.was, x.is, 1)
		if _, err := build(t, set, []byte(changed)); (err == nil) != x.builds {
			t.Errorf("%s: %v", x.is, err)
		}
		if verdict := judge(t, set, objectsOf(t, changed), c); verdict == "wrong" {
			t.Errorf("%s: the patches give something else than the function", x.is)
		}
	}
	restored := strings.Replace(strings.Replace(base, probe, rewritten, 1), env, stored, 1)
	if verdict := judge(t, set, objectsOf(t, restored), c); verdict != "loud" {
		t.Errorf("a probe that was rewritten before: %s", verdict)
	}
	asked := patchesFor(t, []byte(base), configOf(t, "answeredBy: probe-proxy"))
	if _, err := build(t, asked, []byte(strings.Replace(base, "containerPort: 8080", "containerPort: 15099", 1))); err == nil {
		t.Error("probe-proxy is asked for though Istio injects nothing, and the app has its port")
	}
}
