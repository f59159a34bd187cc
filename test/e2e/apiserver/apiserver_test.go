// Package apiserver sends manifests to a real API server, as they were and as
// rewrite-probes rewrote them: what was accepted must stay so, without a new
// warning.
package apiserver

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/node"
)

var (
	api  *server
	bin  = os.Getenv("BIN")    // the built programs of the tests
	root = os.Getenv("ROOT")   // the repository
	rows = map[string]*tally{} // of the results page
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir := filepath.Join(node.Dir, "apiserver")
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		api, err = startServer(bin, dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "apiserver:", err)
		return 1
	}
	defer api.Stop()
	return testutil.RunAndProve(m, prove)
}

// complete returns an error that names what the tests must have noted and did
// not, for example after a fatal error.
func complete() error {
	all, err := sources(root)
	if err != nil {
		return err
	}
	want := []string{restrictedRow, harmlessRow}
	for config := range configs {
		for _, s := range all {
			if !isTest(s.name) {
				want = append(want, group(s.name)+config)
			}
		}
	}
	var missing []string
	for _, name := range want {
		if rows[name] == nil && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	if proven.pods == 0 {
		missing = append(missing, "the policy")
	}
	if len(missing) > 0 {
		return fmt.Errorf("docs/proof/apiserver.md: there are no results of %q", missing)
	}
	return nil
}

// prove compares the results page with the run. Results that are missing are an
// error.
func prove() error {
	if err := complete(); err != nil {
		return err
	}
	var own, real strings.Builder
	for _, b := range []*strings.Builder{&own, &real} {
		b.WriteString("| manifests | workloads | accepted before | refused by rewrite-probes | changed by it | accepted after | pods, or the pods that they make, accepted before and after | new warnings | new refusals |\n|---|---|---|---|---|---|---|---|---|\n")
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		b := &own
		if strings.HasPrefix(name, realWorld) {
			b = &real
		}
		b.WriteString(row(name, rows[name]))
	}
	page := testutil.ProofPage(root, "apiserver")
	err := page.Prove("repository", "kube-apiserver "+os.Getenv("KUBERNETES")+".\n\n"+own.String())
	files, corpusErr := testutil.Corpus(root)
	if err = errors.Join(err, corpusErr); len(files) == 0 {
		page.Missing("real-world", "the real-world manifests are not here")
		return err
	}
	return errors.Join(err, page.Prove("real-world", real.String()),
		page.Prove("policy", fmt.Sprintf("Of %d pods of all these manifests, as they are and rewritten, it finds something in %d, and says of %d what `check` says, of %d something else.",
			proven.pods, proven.found, proven.equal, proven.explained)))
}

// function runs rewrite-probes over a text.
func function(text []byte, args ...string) ([]byte, error) {
	cmd := exec.Command(filepath.Join(root, "bin/rewrite-probes"), append(args, "-")...)
	cmd.Stdin = bytes.NewReader(text)
	return testutil.Output(cmd)
}

// A tally counts what happened to the objects of a group of sources.
type tally struct {
	workloads, before, refused, changed, after, pods, newWarnings, newRefusals int
}

// minChanged is how many workloads of the repository's own manifests must at
// least be rewritten.
const minChanged = 70

// isTest reports whether a source is there for its refusals too; notAllowed judges each.
// Of any other manifest nothing may be refused.
func isTest(source string) bool {
	return strings.Contains("/"+source, "/testdata/") || strings.HasPrefix(source, "test/")
}

// configs are the flags with which every manifest is rewritten, by what the results
// page calls them: none, and those that make one sidecar answer in every pod.
var configs = map[string][]string{
	"":                         nil,
	"; probe-proxy everywhere": {"--config", filepath.Join(root, "test/e2e/pods/config/everywhere.yaml")},
	"; istio-proxy everywhere": {"--config", filepath.Join(root, "test/e2e/pods/config/istio-proxy.yaml")},
}

func TestWhatTheAPIServerAcceptsStaysAcceptedWithoutNewWarnings(t *testing.T) {
	all, err := sources(root)
	if err != nil {
		t.Fatal(err)
	}
	for config, args := range configs {
		total, tests := &tally{}, &tally{}
		for _, s := range all {
			t.Run(s.name+config, func(t *testing.T) {
				n := &tally{}
				defer func() { // also after a fatal error
					t.Logf("%+v", *n)
					if !isTest(s.name) { // the page must not change with every new test
						count(group(s.name)+config, n)
					}
					total.add(n)
				}()
				for _, o := range s.objects {
					try(t, o, args, n)
				}
				if isTest(s.name) {
					tests.add(n)
				} else if n.refused > 0 {
					t.Errorf("%d workloads are refused, must be none", n.refused)
				}
			})
		}
		if total.changed < minChanged || total.after < total.before-total.refused || tests.refused > tests.before/5 {
			t.Errorf("config %q: at least %d workloads must be rewritten, all that are not refused accepted, and most of the tests' own not refused: %+v", config, minChanged, *total)
		}
	}
}

// count adds to a row of the results page.
func count(row string, n *tally) {
	if rows[row] == nil {
		rows[row] = &tally{}
	}
	rows[row].add(n)
}

// realWorld begins the name of a source that is not of this repository.
const realWorld = "real-world: "

// group returns the row that a source belongs to: a real-world manifest has one of
// its own, the others that of the first folder of their path.
func group(name string) string {
	if strings.HasPrefix(name, realWorld) {
		return name
	}
	folder, _, _ := strings.Cut(name, "/")
	return folder + "/"
}

// try sends an object and the pod that it would make to the API server, as they are
// and rewritten, and compares the answers.
func try(t *testing.T, o object, config []string, n *tally) {
	if o.kind == namespaceKind {
		if err := api.createNamespace(o.name, o.text); err != nil {
			t.Error(err)
		}
		return
	}
	n.workloads++
	original := o
	if bytes.Contains(o.text, []byte("ISTIO_KUBE_APP_PROBERS")) { // an expected output
		if text, err := function(o.text, "restore"); err == nil {
			original.text = text
		}
	}
	if a, err := api.dryRun(original); err != nil {
		t.Fatal(err)
	} else if !a.Accepted() {
		return // a manifest that is meant to be refused
	}
	n.before++
	rewritten := o
	var err error
	if rewritten.text, err = function(o.text, config...); err != nil {
		n.refused++
		if why := notAllowed(original, err); why != "" {
			t.Errorf("%s %s/%s is refused by rewrite-probes, which %s: %v\n%s", o.kind, o.namespace, o.name, why, err, o.text)
		}
		return
	}
	if !bytes.Equal(rewritten.text, original.text) {
		n.changed++
	}
	if compare(t, original, rewritten, n) {
		n.after++
		if o.kind == "v1/Pod" {
			n.pods++
		}
	}
	podBefore, ok := original.pod()
	podAfter, _ := rewritten.pod()
	podAfter.text = injected(podAfter.text)
	if ok && compare(t, podBefore, podAfter, n) {
		n.pods++
	}
}

// compare reports whether both objects are accepted. A refusal or a warning of the
// second alone is an error.
func compare(t *testing.T, original, rewritten object, n *tally) bool {
	before, err := api.dryRun(original)
	if err != nil {
		t.Fatal(err)
	}
	after, err := api.dryRun(rewritten)
	if err != nil {
		t.Fatal(err)
	}
	if !before.Accepted() {
		return false
	}
	if !after.Accepted() {
		n.newRefusals++
		t.Errorf("%s %s/%s was accepted, and is refused after rewriting: %s\n%s", original.kind, original.namespace, original.name, after.Message, rewritten.text)
		return false
	}
	for _, w := range after.Warnings {
		if !slices.Contains(before.Warnings, w) {
			n.newWarnings++
			t.Errorf("%s %s/%s has a new warning: %s\n%s", original.kind, original.namespace, original.name, w, rewritten.text)
		}
	}
	return true
}

// injected returns a pod whose declared istio-proxy has what Istio's injector adds
// before Pod Security sees it: the image, and under the declared securityContext
// that of Istio's template (with the seccompProfile that meshes in restricted
// namespaces have to configure).
func injected(pod []byte) []byte {
	var tree struct {
		APIVersion string         `yaml:"apiVersion"`
		Kind       string         `yaml:"kind"`
		Metadata   map[string]any `yaml:"metadata"`
		Spec       map[string]any `yaml:"spec"`
	}
	if err := yaml.Unmarshal(pod, &tree); err != nil {
		return pod
	}
	containers, _ := tree.Spec["containers"].([]any)
	for _, c := range containers {
		if c, ok := c.(map[string]any); ok && c["name"] == "istio-proxy" && c["image"] == "auto" {
			c["image"] = "istio/proxyv2"
			template := map[string]any{
				"allowPrivilegeEscalation": false, "privileged": false, "readOnlyRootFilesystem": true,
				"runAsNonRoot": true, "runAsUser": 1337, "runAsGroup": 1337,
				"capabilities": map[string]any{"drop": []any{"ALL"}}, "seccompProfile": map[string]any{"type": "RuntimeDefault"},
			}
			declared, _ := c["securityContext"].(map[string]any)
			maps.Copy(template, declared)
			c["securityContext"] = template
		}
	}
	text, err := yaml.Marshal(tree)
	if err != nil {
		return pod
	}
	return text
}

func (n *tally) add(m *tally) {
	n.workloads += m.workloads
	n.before += m.before
	n.refused += m.refused
	n.changed += m.changed
	n.after += m.after
	n.pods += m.pods
	n.newWarnings += m.newWarnings
	n.newRefusals += m.newRefusals
}

func row(name string, n *tally) string {
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d | %d | %d |\n", name,
		n.workloads, n.before, n.refused, n.changed, n.after, n.pods, n.newWarnings, n.newRefusals)
}

// restricted is a pod with every handler that satisfies Pod Security restricted.
const restricted = `apiVersion: v1
kind: Pod
metadata:
  name: restricted
  namespace: restricted
spec:
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    seccompProfile: {type: RuntimeDefault}
  containers:
  - name: app
    image: app
    securityContext:
      allowPrivilegeEscalation: false
      capabilities: {drop: [ALL]}
    ports:
    - {name: web, containerPort: 8080}
    startupProbe:
      tcpSocket: {port: web}
    readinessProbe:
      httpGet: {path: /ready, port: web}
    livenessProbe:
      grpc: {port: 9090}
    lifecycle:
      postStart:
        httpGet: {path: /start, port: web}
      preStop:
        httpGet: {path: /stop, port: web, scheme: HTTPS}
`

const restrictedRow = "restricted, where Pod Security enforces it; five configs, pods not injected"

func TestARestrictedPodStaysAdmissible(t *testing.T) {
	err := api.createNamespace("restricted", []byte(`{apiVersion: v1, kind: Namespace, metadata: {name: restricted, labels: {
  pod-security.kubernetes.io/enforce: restricted, pod-security.kubernetes.io/warn: restricted}}}`))
	if err != nil {
		t.Fatal(err)
	}
	pod := objects([]byte(restricted))[0]
	deployment := object{kind: "apps/v1/Deployment", namespace: "restricted", name: "restricted", text: asDeployment(restricted)}
	control := pod
	control.text = bytes.Replace(pod.text, []byte("runAsNonRoot: true"), []byte("runAsNonRoot: false"), 1)
	if a, err := api.dryRun(control); err != nil || a.Accepted() || !strings.Contains(a.Message, "PodSecurity") {
		t.Fatalf("the namespace must refuse a pod that is not restricted: %+v, %v", a, err)
	}
	for _, o := range []object{pod, deployment} {
		for _, config := range []string{"", "default", "container", "own-port", "istio-proxy"} {
			t.Run(o.kind+" "+config, func(t *testing.T) {
				n := &tally{workloads: 1}
				defer count(restrictedRow, n) // also after a fatal error
				var args []string
				if config != "" {
					args = []string{"--config", filepath.Join(root, "test/e2e/pods/config", config+".yaml")}
				}
				text, err := function(o.text, args...)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Contains(text, []byte("ISTIO_KUBE_APP_PROBERS")) {
					t.Fatalf("not rewritten:\n%s", text)
				}
				n.changed++
				for i, version := range [][]byte{o.text, text} {
					o.text = version
					a, err := api.dryRun(o)
					if err != nil {
						t.Fatal(err)
					}
					switch {
					case !a.Accepted() || len(a.Warnings) > 0:
						n.newRefusals++
						t.Errorf("version %d must be accepted without warnings: %+v\n%s", i, a, version)
					case i == 0:
						n.before++
					default:
						n.after++
					}
				}
			})
		}
	}
}

// asDeployment puts a pod's spec into a Deployment.
func asDeployment(pod string) []byte {
	_, spec, _ := strings.Cut(pod, "\nspec:\n")
	return []byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: restricted, namespace: restricted}\n" +
		"spec:\n  selector: {matchLabels: {app: a}}\n  template:\n    metadata: {labels: {app: a}}\n    spec:\n" +
		"    " + strings.ReplaceAll(strings.TrimRight(spec, "\n"), "\n", "\n    ") + "\n")
}
