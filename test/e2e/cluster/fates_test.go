package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/verdict"
)

// A variant is a way to run the pods of ../pods.
type variant struct {
	name, title string
	injected    bool
	noRewriting bool // the injector does not rewrite probes
	rewritten   bool // by rewrite-probes
	unseen      bool // the Namespace is not among the manifests, so that injection is open
}

// The variants, in the order of the page's columns.
var (
	noMesh        = variant{name: "no-mesh", title: "without a mesh"}
	istioRewrites = variant{name: "istio", title: "as Istio rewrites it", injected: true}
	asItIs        = variant{name: "as-it-is", title: "as it is, with an injector that does not rewrite", injected: true, noRewriting: true}
	byProbeProxy  = variant{name: "probe-proxy", title: "rewritten, injection unknown", injected: true, rewritten: true, unseen: true}
	byIstiosAgent = variant{name: "auto", title: "rewritten, injection known", injected: true, rewritten: true}
	variants      = []variant{noMesh, istioRewrites, asItIs, byProbeProxy, byIstiosAgent}
)

// A mode is what a namespace demands of connections.
type mode struct {
	name, title string
	policy      string // the spec of its PeerAuthentication; "": the mesh's, STRICT
	clear       string // the same for the pods whose port 8080 has another mode; "": none
	sidecar     string // the spec of its Sidecar, by which the app listens on 127.0.0.1 alone; "": none
}

// localApp has Envoy ask 127.0.0.1 instead of the pod's IP.
const localApp = `{ingress: [{port: {number: 8080, name: http, protocol: HTTP}, defaultEndpoint: "127.0.0.1:8080"}]}`

var (
	strictMode = mode{name: "strict", title: "STRICT"}
	permissive = mode{name: "permissive", title: "PERMISSIVE", policy: "{mtls: {mode: PERMISSIVE}}"}
	portOpen   = mode{name: "port-open", title: "STRICT, port 8080 PERMISSIVE", policy: "{mtls: {mode: STRICT}}",
		clear: `{selector: {matchLabels: {e2e: "true"}}, mtls: {mode: STRICT}, portLevelMtls: {8080: {mode: PERMISSIVE}}}`}
	portClosed = mode{name: "port-closed", title: "PERMISSIVE, port 8080 STRICT", policy: "{mtls: {mode: PERMISSIVE}}",
		clear: `{selector: {matchLabels: {e2e: "true"}}, mtls: {mode: PERMISSIVE}, portLevelMtls: {8080: {mode: STRICT}}}`}
	localStrict = mode{name: "local-strict", title: "STRICT, Sidecar with `defaultEndpoint: 127.0.0.1:8080`",
		sidecar: localApp}
	localPermissive = mode{name: "local-permissive", title: "PERMISSIVE, Sidecar with `defaultEndpoint: 127.0.0.1:8080`",
		policy: "{mtls: {mode: PERMISSIVE}}", sidecar: localApp}
	modes = []mode{strictMode, permissive, portOpen, portClosed, localStrict, localPermissive}
)

// A fate is what must become of a pod, and what check says of it beforehand.
type fate struct {
	is   verdict.Verdict
	lies bool   // a probe passes although nobody answers it
	said string // check's word on the pod's probes; "": nothing
}

const (
	fails         = "fails"
	falselyPasses = "falsely passes"
)

// A row is a pod of ../pods and what becomes of it by variant. A variant that is
// left out is not run.
type row struct {
	pod      string
	mode     mode
	ordinary bool    // Istio's sidecar is a container, and no native sidecar
	setting  setting // what else the pod asks of Istio
	fates    map[string]fate
}

// A setting is an annotation of a pod.
type setting struct{ name, key, value string }

var (
	excluded = setting{"excluded", "traffic.sidecar.istio.io/excludeInboundPorts", "8080"}
	another  = setting{"another-excluded", "traffic.sidecar.istio.io/excludeInboundPorts", "9999"}
	held     = setting{"held", "proxy.istio.io/config", "holdApplicationUntilProxyStarts: true"}
)

func all(is verdict.Verdict) map[string]fate {
	fates := map[string]fate{}
	for _, v := range variants {
		fates[v.name] = fate{is: is}
	}
	return fates
}

// but returns the fates with others for some variants.
func but(fates map[string]fate, others map[string]fate) map[string]fate {
	maps.Copy(fates, others)
	return fates
}

func without(fates map[string]fate, names ...string) map[string]fate {
	for _, name := range names {
		delete(fates, name)
	}
	return fates
}

// Fates of pods as they are.
var (
	refused = fate{is: verdict.NeverReadyAndRestarted, said: fails}
	liar    = fate{is: verdict.Ready, lies: true, said: falselyPasses}
)

var rows = []row{
	{pod: "http", mode: strictMode, fates: but(all(verdict.Ready), map[string]fate{"as-it-is": refused})},
	{pod: "https", mode: strictMode, fates: but(all(verdict.Ready), map[string]fate{"as-it-is": refused})},
	{pod: "grpc", mode: strictMode, fates: but(all(verdict.Ready), map[string]fate{"as-it-is": refused})},
	{pod: "grpc-tls", mode: strictMode, fates: but(all(verdict.Ready), map[string]fate{"istio": refused, "as-it-is": refused})},
	{pod: "h2c", mode: strictMode, fates: but(all(verdict.Ready), map[string]fate{"istio": refused, "as-it-is": refused})},
	{pod: "tcp", mode: strictMode, fates: but(all(verdict.Ready), map[string]fate{"as-it-is": {is: verdict.Ready, said: falselyPasses}})},
	{pod: "tcp-dead", mode: strictMode, fates: but(all(verdict.NeverReady), map[string]fate{"as-it-is": liar})},
	{pod: "hooks", mode: strictMode, fates: but(all(verdict.Ready), map[string]fate{"as-it-is": {is: verdict.HookFails, said: fails}})},
	{pod: "job", mode: strictMode, fates: but(all(verdict.Succeeded), map[string]fate{"as-it-is": {is: verdict.SucceededUnready, said: fails}})},

	{pod: "http", mode: strictMode, ordinary: true, fates: without(
		but(all(verdict.Ready), map[string]fate{"as-it-is": refused, "istio": {is: verdict.ReadyInTheEnd}}), "no-mesh")},
	{pod: "tcp-dead", mode: strictMode, ordinary: true, fates: without(
		but(all(verdict.NeverReady), map[string]fate{"as-it-is": liar}), "no-mesh")},
	{pod: "hooks", mode: strictMode, ordinary: true, fates: without(
		but(all(verdict.Ready), map[string]fate{"as-it-is": {is: verdict.HookFails, said: fails}, "istio": {is: verdict.ReadyInTheEnd, said: fails}}), "no-mesh")},
	{pod: "job", mode: strictMode, ordinary: true, fates: without(
		but(all(verdict.NeverEnds), map[string]fate{"as-it-is": {is: verdict.NeverEnds, said: fails}}), "no-mesh")},

	{pod: "http", mode: strictMode, setting: excluded, fates: without(all(verdict.Ready), "no-mesh", "auto")},
	{pod: "http", mode: strictMode, setting: another, fates: without(
		but(all(verdict.Ready), map[string]fate{"as-it-is": refused}), "no-mesh", "istio", "auto")},
	{pod: "http", mode: strictMode, ordinary: true, setting: held, fates: without(
		but(all(verdict.Ready), map[string]fate{"as-it-is": refused}), "no-mesh")},

	{pod: "http", mode: permissive, fates: without(all(verdict.Ready), "no-mesh", "istio", "auto")},
	{pod: "https", mode: permissive, fates: without(all(verdict.Ready), "no-mesh", "istio", "auto")},
	{pod: "grpc", mode: permissive, fates: without(all(verdict.Ready), "no-mesh", "istio", "auto")},
	{pod: "tcp-dead", mode: permissive, fates: without(
		but(all(verdict.NeverReady), map[string]fate{"as-it-is": liar}), "no-mesh", "istio", "auto")},
	{pod: "http", mode: portOpen, fates: without(all(verdict.Ready), "no-mesh", "istio", "auto")},
	{pod: "https", mode: portOpen, fates: without(
		but(all(verdict.Ready), map[string]fate{"as-it-is": refused}), "no-mesh", "istio", "auto")},
	{pod: "http", mode: portClosed, fates: without(
		but(all(verdict.Ready), map[string]fate{"as-it-is": refused}), "no-mesh", "istio", "auto")},
	{pod: "https", mode: portClosed, fates: without(all(verdict.Ready), "no-mesh", "istio", "auto")},
	{pod: "http", mode: localStrict, fates: without(
		but(all(verdict.Ready), map[string]fate{"istio": refused, "as-it-is": refused}), "no-mesh")},
	{pod: "http", mode: localPermissive, fates: without(
		but(all(verdict.Ready), map[string]fate{"istio": refused}), "no-mesh")},
}

// key names a cell of the tables, and the pod.
func (r row) key(v variant) string {
	key := r.pod + "-" + v.name + "-" + r.mode.name
	if r.ordinary {
		key += "-ordinary"
	}
	if r.setting.name != "" {
		key += "-" + r.setting.name
	}
	return key
}

// title names a row of the tables.
func (r row) title() string {
	if r.setting.name == "" {
		return r.pod
	}
	return fmt.Sprintf("%s, `%s: %q`", r.pod, r.setting.key, r.setting.value)
}

func TestPodsFareAsExpected(t *testing.T) {
	t.Parallel()
	for _, r := range rows {
		for _, v := range variants {
			f, found := r.fates[v.name]
			if !found {
				continue
			}
			t.Run(r.key(v), func(t *testing.T) {
				t.Parallel()
				m := manifestsOf(t, r, v)
				if said := m.check(t); said != f.said {
					t.Errorf("check says %q of the probes, and must say %q", said, f.said)
				}
				name := r.key(v)
				if err := applyPod(m.pod(t)); err != nil {
					t.Fatal(err)
				}
				saw, err := f.is.Watch(theNode, name)
				if err != nil {
					t.Error(err)
				}
				noteFate(name, f, saw)
				if err := removePod(m.namespace, name); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// applyPod applies a pod, and again while Istio's webhook is too busy to answer, as a
// controller does.
func applyPod(manifest string) error {
	return testutil.Eventually(2*time.Minute, func() error { return api.apply(manifest) })
}

// removePod deletes a pod and waits until it is gone.
func removePod(namespace, name string) error {
	pods := api.CoreV1().Pods(namespace)
	if err := pods.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return testutil.Eventually(2*time.Minute, func() error {
		_, err := pods.Get(context.Background(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, fmt.Errorf("the pod %s/%s is still there", namespace, name))
	})
}

// manifests are a pod and what is around it in the cluster.
type manifests struct {
	namespace string
	variant   variant
	ordinary  bool   // Istio's sidecar is a container
	around    string // the Namespace, the PeerAuthentications and the Sidecar
	sidecar   string // the Sidecar alone; "": none
	original  string // the pod as it is
}

// manifestsOf makes the namespace of a mode and a variant, and returns the pod for it.
func manifestsOf(t *testing.T, r row, v variant) manifests {
	t.Helper()
	m := manifests{namespace: v.name + "-" + r.mode.name, variant: v, ordinary: r.ordinary}
	m.around = fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: %s\n  labels: {%s}\n---\n%s\n", m.namespace, v.label(), strict)
	for name, spec := range map[string]string{"default": r.mode.policy, "port": r.mode.clear} {
		if spec != "" {
			m.around += fmt.Sprintf("---\n{apiVersion: security.istio.io/v1, kind: PeerAuthentication, metadata: {name: %s, namespace: %s}, spec: %s}\n",
				name, m.namespace, spec)
		}
	}
	if r.mode.sidecar != "" {
		m.sidecar = fmt.Sprintf("---\n{apiVersion: networking.istio.io/v1, kind: Sidecar, metadata: {name: default, namespace: %s}, spec: %s}\n",
			m.namespace, r.mode.sidecar)
		m.around += m.sidecar
	}
	if err := makeOnce(m.namespace, m.around); err != nil {
		t.Fatal(err)
	}
	m.original = podManifest(t, r.pod, r.key(v), m.namespace, r.annotations())
	if m.sidecar != "" {
		m.original = edited(t, m.original, listenLocally)
	}
	return m
}

// label says to Istio's injectors what a namespace wants.
func (v variant) label() string {
	switch {
	case !v.injected:
		return "istio-injection: disabled"
	case v.noRewriting:
		return "istio.io/rev: " + otherRevision
	}
	return "istio-injection: enabled"
}

func (r row) annotations() map[string]string {
	a := map[string]string{}
	if r.ordinary {
		a["sidecar.istio.io/nativeSidecar"] = "false"
	}
	if r.setting.key != "" {
		a[r.setting.key] = r.setting.value
	}
	return a
}

// podManifest returns a pod of ../pods under another name.
func podManifest(t *testing.T, pod, name, namespace string, annotations map[string]string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "test/e2e/pods", pod+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &p.Object); err != nil {
		t.Fatal(err)
	}
	bePatient(p.Object["spec"])
	p.SetName(name)
	p.SetNamespace(namespace)
	p.SetLabels(map[string]string{"app": name, "e2e": "true"})
	if len(annotations) > 0 {
		p.SetAnnotations(annotations)
	}
	out, err := yaml.Marshal(p.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// edited returns a pod's manifest after a change.
func edited(t *testing.T, manifest string, edit func(app, spec map[string]any)) string {
	t.Helper()
	p := map[string]any{}
	if err := yaml.Unmarshal([]byte(manifest), &p); err != nil {
		t.Fatal(err)
	}
	spec := p["spec"].(map[string]any)
	edit(spec["containers"].([]any)[0].(map[string]any), spec)
	out, err := yaml.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// listenLocally has the app serve on 127.0.0.1 alone.
func listenLocally(app, _ map[string]any) {
	app["args"] = []any{"-http=127.0.0.1:8080"}
}

// bePatient lets every probe below a value take five seconds and fail three times, which a
// busy machine needs.
func bePatient(value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			bePatient(item)
		}
	case map[string]any:
		for key, field := range v {
			if probe, ok := field.(map[string]any); ok && strings.HasSuffix(key, "Probe") {
				probe["timeoutSeconds"] = 5
				if threshold, _ := probe["failureThreshold"].(float64); threshold < 3 {
					probe["failureThreshold"] = 3
				}
			}
			bePatient(field)
		}
	}
}

var (
	onceMu sync.Mutex // guards once
	once   = map[string]func() error{}
)

// makeOnce makes a namespace with what is in it, unless another test has.
func makeOnce(namespace, around string) error {
	onceMu.Lock()
	do := once[namespace]
	if do == nil {
		do = sync.OnceValue(func() error {
			if err := api.apply(around); err != nil {
				return err
			}
			return api.namespaceReady(namespace)
		})
		once[namespace] = do
	}
	onceMu.Unlock()
	return do()
}

// pod returns the pod as it is applied.
func (m manifests) pod(t *testing.T) string {
	t.Helper()
	if !m.variant.rewritten {
		return m.original
	}
	input := m.around
	if m.variant.unseen {
		input = m.sidecar
	}
	input += "---\n" + m.original
	out := rewrite(t, input)
	all, err := objects(out)
	if err != nil {
		t.Fatal(err)
	}
	pod, err := all[len(all)-1].MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(pod)
}

// rewrite returns what rewrite-probes makes of manifests.
func rewrite(t *testing.T, input string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(root, "bin/rewrite-probes"), "--config", configFile, "-")
	cmd.Stdin = strings.NewReader(input)
	out, err := testutil.Output(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// check returns what rewrite-probes check says of the fate of the pod's probes under
// the mode of its namespace.
func (m manifests) check(t *testing.T) string {
	t.Helper()
	config := filepath.Join(t.TempDir(), "config.yaml")
	text := fmt.Sprintf("apiVersion: rewrite-probes.io/v1alpha1\nkind: RewriteProbes\nmetadata: {name: check}\n"+
		"spec:\n  istio: {injectorRewrites: %t, nativeSidecars: %t%s}\n", !m.variant.noRewriting, !m.ordinary, versionSetting())
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	words := map[string]bool{}
	for _, said := range checked(t, m.around+"---\n"+m.pod(t), "--config", config) {
		words[said] = true
	}
	delete(words, "unaffected")
	return strings.Join(slices.Sorted(maps.Keys(words)), ", ")
}

// checked returns what rewrite-probes check says of each probe of manifests.
func checked(t *testing.T, input string, flags ...string) (all []string) {
	t.Helper()
	for _, p := range judged(t, input, flags...) {
		all = append(all, p.Today)
	}
	return all
}

// A judgement is what check says of a probe, and on what that depends; "" if it is certain.
type judgement struct {
	Today string `json:"today"`
	If    string `json:"if"`
}

func judged(t *testing.T, input string, flags ...string) []judgement {
	t.Helper()
	cmd := exec.Command(filepath.Join(root, "bin/rewrite-probes"), append([]string{"check", "-o", "json", "-"}, flags...)...)
	cmd.Stdin = strings.NewReader(input)
	return judgements(t, cmd, 1)[0]
}

// judgements runs `rewrite-probes check -o json`, and returns what it says of the probes of so many pod templates.
func judgements(t *testing.T, cmd *exec.Cmd, templates int) (all [][]judgement) {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("%v\n%s%s", err, out, &stderr)
	}
	var report struct {
		Templates []struct {
			Probes []judgement `json:"probes"`
		} `json:"templates"`
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	for _, template := range report.Templates {
		all = append(all, template.Probes)
	}
	if len(all) != templates {
		t.Fatalf("check saw %d pod templates, want %d:\n%s%s", len(all), templates, out, &stderr)
	}
	return all
}
