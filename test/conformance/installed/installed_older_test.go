package installed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"

	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/istio"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/kubernetes"
)

// An older is what is recorded of a release of Istio: the objects of its charts, cut to what states facts, and what its
// injector made of the pods.
type older struct {
	// Auto is set if istiod chooses the sidecar by its nodes where nobody has set ENABLE_NATIVE_SIDECARS.
	Auto     bool              `json:"auto"`
	Objects  []json.RawMessage `json:"objects"` // with the charts' defaults
	Settings []olderSetting    `json:"settings"`
}

type olderSetting struct {
	Name   string       `json:"name"`
	Planes []olderPlane `json:"planes"`
}

type olderPlane struct {
	// Changes are merge patches (RFC 7396) of the objects. Those of further objects have all of them.
	Changes []json.RawMessage `json:"changes"`
	// Ends has a word for each of [everyPod].
	Ends map[istio.Mode]string `json:"ends"`
}

// everyPod returns the pods with each of the labels and annotations, as the API server completes them.
func everyPod(t *testing.T) (all []*corev1.Pod) {
	t.Helper()
	for _, label := range podLabels {
		for _, note := range podNotes {
			all = append(all, kubernetes.Default(read[corev1.Pod](t, podWith(label, note))))
		}
	}
	return all
}

// keyOf returns what the pods of everyPod differ in.
func keyOf(pod *corev1.Pod) string { return fmt.Sprint(pod.Labels, pod.Annotations) }

// Letters of the words for an end.
var (
	fateLetters = map[string]string{works: "w", fails: "f", falselyPasses: "p"}
	factLetters = []struct {
		letter string
		of     func(e *end) *bool
	}{
		{"i", func(e *end) *bool { return &e.injected }},
		{"n", func(e *end) *bool { return &e.native }},
		{"h", func(e *end) *bool { return &e.holds }},
		{"r", func(e *end) *bool { return &e.rewrites }},
	}
)

// word returns an end as its facts, a colon, and the fates of the two probes and the hook.
func (e end) word() (word string) {
	for _, f := range factLetters {
		if *f.of(&e) {
			word += f.letter
		}
	}
	return word + ":" + fateLetters[e.liveness] + fateLetters[e.readiness] + fateLetters[e.hook]
}

// endIn returns the end that a word is for.
func endIn(t *testing.T, word string) (e end) {
	t.Helper()
	facts, fates, _ := strings.Cut(word, ":")
	for _, f := range factLetters {
		*f.of(&e) = strings.Contains(facts, f.letter)
	}
	for fate, letter := range fateLetters {
		for i, to := range []*string{&e.liveness, &e.readiness, &e.hook} {
			if fates[i:i+1] == letter {
				*to = fate
			}
		}
	}
	if e.word() != word {
		t.Fatalf("%q is no end", word)
	}
	return e
}

// cut returns what an object of the charts states; nil if that is nothing. What ConfigMaps have as text is then a
// value. The injection templates state nothing.
func cut(t *testing.T, object map[string]any) map[string]any {
	t.Helper()
	m, _ := object["metadata"].(map[string]any)
	small := map[string]any{"kind": object["kind"], "apiVersion": object["apiVersion"]}
	small["metadata"] = map[string]any{"name": m["name"], "namespace": m["namespace"], "labels": m["labels"]}
	switch object["kind"] {
	case "ConfigMap":
		data := make(map[string]any)
		for key, text := range object["data"].(map[string]any) {
			if key == "values" || key == "config" || key == "mesh" {
				data[key] = *read[map[string]any](t, text.(string))
			}
		}
		if config, has := data["config"].(map[string]any); has {
			delete(config, "templates")
		}
		if len(data) == 0 {
			return nil
		}
		small["data"] = data
	case "Deployment":
		spec := object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
		var containers []any
		for _, c := range spec["containers"].([]any) {
			c := c.(map[string]any)
			containers = append(containers, map[string]any{"name": c["name"], "image": c["image"], "env": c["env"]})
		}
		small["spec"] = map[string]any{"template": map[string]any{"spec": map[string]any{"containers": containers}}}
	case "MutatingWebhookConfiguration":
		for _, w := range object["webhooks"].([]any) {
			for _, field := range []string{"admissionReviewVersions", "clientConfig", "failurePolicy", "reinvocationPolicy", "sideEffects"} {
				delete(w.(map[string]any), field)
			}
		}
		small["webhooks"] = object["webhooks"]
	default:
		return nil
	}
	return small
}

// whole returns the object of which cut made one: the values of ConfigMaps are texts again.
func whole(t *testing.T, small map[string]any) map[string]any {
	t.Helper()
	data, _ := small["data"].(map[string]any)
	for key, value := range data {
		data[key] = string(encode(t, value))
	}
	return small
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// objectsOf returns the objects of a plane.
func (o *older) objectsOf(t *testing.T, p olderPlane) (all []map[string]any) {
	t.Helper()
	for i, change := range p.Changes {
		text := []byte("{}")
		if i < len(o.Objects) {
			text = o.Objects[i]
		}
		text, err := jsonpatch.MergePatch(text, change)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, whole(t, *read[map[string]any](t, string(text))))
	}
	return all
}

// planes returns the control planes of a setting, with the recorded answers of their injectors, and the text of their
// objects.
func (o *older) planes(t *testing.T, s olderSetting) (all []plane, installed string) {
	t.Helper()
	pods := everyPod(t)
	for _, recorded := range s.Planes {
		ends := make(map[istio.Mode]map[string]end)
		for _, mode := range istio.Modes {
			ends[mode] = make(map[string]end)
			for i, word := range strings.Fields(recorded.Ends[mode]) {
				ends[mode][keyOf(pods[i])] = endIn(t, word)
			}
		}
		p := plane{native: istio.Modes}
		if !o.Auto {
			p.native = []istio.Mode{istio.Ordinary}
		}
		p.end = func(t *testing.T, pod *corev1.Pod, mode istio.Mode) end {
			t.Helper()
			e, isRecorded := ends[mode][keyOf(pod)]
			if !isRecorded {
				t.Fatalf("nothing is recorded of %v %v", pod.Labels, pod.Annotations)
			}
			return e
		}
		for _, object := range o.objectsOf(t, recorded) {
			p.read(t, object)
			installed += string(encode(t, object)) + "\n---\n"
		}
		all = append(all, p)
	}
	return all, installed
}

// text returns the record as JSON, with a line for each object and each control plane.
func (o *older) text() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"auto\":%t,\"objects\":[", o.Auto)
	for i, object := range o.Objects {
		fmt.Fprintf(&b, "%s\n%s", strings.Repeat(",", min(i, 1)), object)
	}
	b.WriteString("\n],\"settings\":[")
	for i, s := range o.Settings {
		fmt.Fprintf(&b, "%s\n{\"name\":%q,\"planes\":[", strings.Repeat(",", min(i, 1)), s.Name)
		for j, p := range s.Planes {
			line, err := json.Marshal(p)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&b, "%s\n%s", strings.Repeat(",", min(j, 1)), line)
		}
		b.WriteString("\n]}")
	}
	b.WriteString("\n]}\n")
	return b.Bytes(), nil
}

// An answer is what the program of testdata/older writes for a control plane.
type answer struct {
	Auto    bool
	Objects []map[string]any
	Pods    []*corev1.Pod
}

// ask runs the program of a release.
func ask(t *testing.T, program string, mode istio.Mode) []answer {
	t.Helper()
	type question struct {
		Settings []string
		Pods     []*corev1.Pod
	}
	var questions []question
	for _, s := range settings {
		for _, set := range s.planes {
			questions = append(questions, question{set, everyPod(t)})
		}
	}
	command := exec.Command(program)
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%t", nativeSidecars, mode == istio.Native))
	command.Stdin, command.Stderr = bytes.NewReader(encode(t, questions)), os.Stderr
	text, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	return *read[[]answer](t, string(text))
}

// released returns an object as the charts of a release make it: those of a source are of version 1.0.0.
func released(object map[string]any, version string) {
	m, _ := object["metadata"].(map[string]any)
	if l, has := m["labels"].(map[string]any); has && l["app.kubernetes.io/version"] != nil {
		l["app.kubernetes.io/version"] = version
		delete(l, "helm.sh/chart")
	}
}

// record asks the injector of a release, compares what check says beside all objects of its charts, and returns what is
// recorded of it.
func record(t *testing.T, program, version string) *older {
	t.Helper()
	ordinary, native := ask(t, program, istio.Ordinary), ask(t, program, istio.Native)
	o := &older{Auto: ordinary[0].Auto}
	next := 0
	for _, s := range settings {
		recorded := olderSetting{Name: s.name}
		for range s.planes {
			p := olderPlane{Ends: make(map[istio.Mode]string)}
			for mode, a := range map[istio.Mode]answer{istio.Ordinary: ordinary[next], istio.Native: native[next]} {
				var words []string
				for _, pod := range a.Pods {
					words = append(words, endOf(pod).word())
				}
				p.Ends[mode] = strings.Join(words, " ")
			}
			p.Changes = o.changes(t, ordinary[next].Objects, version)
			recorded.Planes = append(recorded.Planes, p)
			next++
		}
		o.Settings = append(o.Settings, recorded)
	}
	next = 0
	for i, s := range o.Settings {
		planes, _ := o.planes(t, s)
		text := ""
		for range settings[i].planes {
			for _, object := range ordinary[next].Objects {
				text += string(encode(t, object)) + "\n---\n"
			}
			next++
		}
		t.Run("all objects, "+s.Name, func(t *testing.T) { compareAll(t, planes, text, make(map[string]int)) })
	}
	return o
}

// changes returns objects as changes of the first ones, which are those of the defaults.
func (o *older) changes(t *testing.T, objects []map[string]any, version string) (all []json.RawMessage) {
	t.Helper()
	var small []map[string]any
	for _, object := range objects {
		released(object, version)
		if s := cut(t, *read[map[string]any](t, string(encode(t, object)))); s != nil {
			small = append(small, s)
		}
	}
	slices.SortStableFunc(small, func(a, b map[string]any) int {
		return strings.Compare(fmt.Sprint(a["kind"], len(fmt.Sprint(a["data"])) > 1000), fmt.Sprint(b["kind"], len(fmt.Sprint(b["data"])) > 1000))
	})
	isFirst := o.Objects == nil
	for i, s := range small {
		if isFirst {
			o.Objects = append(o.Objects, encode(t, s))
		}
		before := []byte("{}")
		if i < len(o.Objects) {
			before = o.Objects[i]
		}
		change, err := jsonpatch.CreateMergePatch(before, encode(t, s))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, change)
	}
	return all
}

// TestOlderChartsSayWhatTheirInjectorsDid compares with what is recorded of older releases. The env var OLDER_ISTIO names a
// folder that build/older-istio.sh has filled: then its programs ask their injectors, and the answers are recorded.
func TestOlderChartsSayWhatTheirInjectorsDid(t *testing.T) {
	programs, _ := filepath.Glob(filepath.Join(os.Getenv("OLDER_ISTIO"), "1.*", "injector"))
	for _, program := range programs {
		version := filepath.Base(filepath.Dir(program))
		o := record(t, program, version)
		text, err := o.text()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join("testdata", version+".json"), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	records, _ := filepath.Glob("testdata/1.*.json")
	if len(records) == 0 {
		t.Fatal("nothing is recorded")
	}
	for _, path := range records {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		o, compared := *read[older](t, string(text)), make(map[string]int)
		for i, s := range o.Settings {
			if s.Name != settings[i].name || len(o.Settings) != len(settings) {
				t.Fatalf("%s has other settings than the test: record it again", path)
			}
			t.Run(filepath.Base(path)+", "+s.Name, func(t *testing.T) {
				planes, installed := o.planes(t, s)
				compareAll(t, planes, installed, compared)
			})
		}
		t.Log(path, slices.Sorted(maps.Keys(compared)), compared)
		if compared[works] < 400 || compared[fails] < 100 {
			t.Errorf("%s: %v", path, compared)
		}
	}
}
