package fn_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	sdk "github.com/kptdev/krm-functions-sdk/go/fn"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/rewrite-probes/rewrite-probes/fn"
	"github.com/rewrite-probes/rewrite-probes/fn/findings"
	"github.com/rewrite-probes/rewrite-probes/fn/krm"
	"github.com/rewrite-probes/rewrite-probes/fn/kyaml"
	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
)

// inputs returns the manifests of testdata, and the real-world ones.
func inputs(t *testing.T) map[string][]byte {
	t.Helper()
	files := testutil.Manifests(t, "..")
	for _, pattern := range []string{"../testdata/manifests/*.json", "../kustomization-example/*/*.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	all := make(map[string][]byte)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > 1<<20 { // kyaml needs seconds for the definitions, which nobody changes
			docs := strings.SplitAfter(string(text), "\n---\n")
			text = []byte(strings.Join(slices.DeleteFunc(docs, func(d string) bool { return strings.Contains(d, "\nkind: CustomResourceDefinition\n") }), ""))
		}
		all[file] = text
	}
	if len(all) < 8 {
		t.Fatalf("only %d files", len(all))
	}
	return all
}

// configs are functionConfigs for Go programs, which the tests also give to the
// command.
var configs = map[string]*fn.RewriteProbes{
	"defaults":    nil,
	"istio-proxy": {Spec: fn.RewriteProbesSpec{AnsweredBy: fn.AnsweredByIstioProxy}},
	"osm":         {Spec: fn.RewriteProbesSpec{Mesh: "osm"}},
	"own": {Spec: fn.RewriteProbesSpec{AnsweredBy: fn.AnsweredByProbeProxy, Port: 15098, ProbeProxy: fn.ProbeProxy{
		Placement: fn.PlacementContainer, Env: []corev1.EnvVar{{Name: "A", Value: "b"}}, SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(1000))},
	}}},
}

// command does with a text what the command does.
func command(t *testing.T, text []byte, c *fn.RewriteProbes) ([]byte, *report.Report) {
	t.Helper()
	decoded := config.Default()
	if c != nil {
		with := *c
		with.TypeMeta = metav1.TypeMeta{APIVersion: fn.APIVersion, Kind: fn.Kind}
		text, err := json.Marshal(with)
		if err != nil {
			t.Fatal(err)
		}
		s, err := manifest.Read("config", text)
		if err != nil {
			t.Fatal(err)
		}
		if decoded, err = config.Decode(s.Objects()[0]); err != nil {
			t.Fatal(err)
		}
	}
	s, err := manifest.Read("input", text)
	if err != nil {
		t.Fatal(err)
	}
	r := pipeline.Run([]*manifest.Stream{s}, decoded, pipeline.Rewrite)
	out, err := s.Text()
	if err != nil {
		t.Fatal(err)
	}
	return out, r
}

// findingsOf returns the findings of a Go program, and messagesOf those of the command,
// in lines. Which lines had to be written anew depends on the form of the text.
func findingsOf(found []findings.Finding) (lines []string) {
	for _, f := range found {
		if f.Reason != "written-anew" {
			lines = append(lines, f.String())
		}
	}
	return lines
}

func messagesOf(r *report.Report) (lines []string) {
	for _, m := range r.Messages {
		if m.Reason.String() != "written-anew" {
			lines = append(lines, string(m.Severity)+": "+places.ReplaceAllString(m.Sentence(), ""))
		}
	}
	return lines
}

// inList returns nodes as a ResourceList: only that is told what was rewritten.
func inList(t *testing.T, nodes []*yaml.RNode) []byte {
	t.Helper()
	items := make([]string, len(nodes))
	for i, n := range nodes {
		value, err := yaml.MustParse(n.MustString()).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		items[i] = string(value)
	}
	return []byte(`{"apiVersion":"config.kubernetes.io/v1","kind":"ResourceList","items":[` + strings.Join(items, ",") + "]}\n")
}

// nodesOf reads the documents of a text; ok is false if it is no YAML stream,
// such as JSON objects one after another.
func nodesOf(text []byte) (nodes []*yaml.RNode, ok bool) {
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var n yaml.Node
		switch err := d.Decode(&n); {
		case errors.Is(err, io.EOF):
			return nodes, true
		case err != nil:
			return nil, false
		}
		if root := yaml.NewRNode(&n); root.YNode().Kind == yaml.MappingNode {
			nodes = append(nodes, root)
		}
	}
}

func textsOf(t *testing.T, nodes []*yaml.RNode) []string {
	t.Helper()
	texts := make([]string, len(nodes))
	for i, n := range nodes {
		text, err := n.String()
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = text
	}
	return texts
}

func valuesOf(t *testing.T, nodes []*yaml.RNode) []any {
	t.Helper()
	values := make([]any, len(nodes))
	for i, n := range nodes {
		if err := n.YNode().Decode(&values[i]); err != nil {
			t.Fatal(err)
		}
	}
	return values
}

const originals = "rewrite-probes.io/originals"

// withoutTexts returns the annotation without the texts that restore puts back: only who
// reads the text of an object has them.
func withoutTexts(annotation string) string {
	before, _, found := strings.Cut(annotation, `"texts":`)
	switch before = strings.TrimSuffix(before, ","); {
	case !found:
		return annotation
	case before == "{":
		return ""
	}
	return before + "}"
}

// withoutAllTexts takes those texts out of all annotations in a value.
func withoutAllTexts(v any) any {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			withoutAllTexts(item)
		}
	case map[string]any:
		if text, has := v[originals].(string); has {
			v[originals] = withoutTexts(text)
		}
		for _, value := range v {
			withoutAllTexts(value)
		}
	}
	return v
}

// each calls f for every input and config.
func each(t *testing.T, f func(t *testing.T, text []byte, c *fn.RewriteProbes)) {
	for file, text := range inputs(t) {
		for name, c := range configs {
			if len(text) > 1<<20 && name != "defaults" {
				continue // the others would take a minute
			}
			t.Run(filepath.Base(file)+"/"+name, func(t *testing.T) { f(t, text, c) })
		}
	}
}

// The nodes are written by kyaml, given to the command, and its output is read and
// written by kyaml again: Filter returns nodes with the same text. Of the original
// text, in which kyaml may change the style, the command makes the same values.
func TestFilterGivesWhatTheCommandGives(t *testing.T) {
	changed := 0
	each(t, func(t *testing.T, text []byte, c *fn.RewriteProbes) {
		nodes, ok := nodesOf(text)
		if !ok {
			t.Skip("SKIPPED: kyaml cannot read it")
		}
		before := textsOf(t, nodes)
		out, r := command(t, []byte(strings.Join(before, "---\n")), c)
		wantNodes, _ := nodesOf(out)
		want := textsOf(t, wantNodes)
		rewritten, _ := nodesOf([]byte(strings.Join(before, "---\n")))
		faithful := cmp.Equal(valuesOf(t, nodes), valuesOf(t, rewritten)) // kyaml breaks some folded scalars
		_, listed := command(t, inList(t, nodes), c)
		var found []findings.Finding
		got, err := kyaml.Filter{Config: c, Found: func(f findings.Finding) { found = append(found, f) }}.Filter(nodes)
		if d := cmp.Diff(messagesOf(listed), findingsOf(found)); d != "" && faithful {
			t.Errorf("-messages +findings\n%s", d)
		}
		if r.Failed() {
			if failed := (*findings.RunError)(nil); !errors.As(err, &failed) || !cmp.Equal(found, failed.Findings) || !slices.Equal(textsOf(t, nodes), before) {
				t.Errorf("got %v, and the command fails; a node may be changed", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, textsOf(t, got)); d != "" && faithful {
			t.Errorf("-command +Filter\n%s", d)
		}
		if out, r := command(t, text, c); !r.Failed() {
			wantNodes, _ := nodesOf(out)
			if d := cmp.Diff(withoutAllTexts(valuesOf(t, wantNodes)), withoutAllTexts(valuesOf(t, got))); d != "" {
				t.Errorf("-command on the text itself +Filter\n%s", d)
			}
		}
		changed += r.Changed
		again, err := kyaml.Filter{Config: c}.Filter(got)
		if err != nil || faithful && !slices.Equal(want, textsOf(t, again)) {
			t.Errorf("a second time changes something: %v", err)
		}
	})
	least := 100
	if files, err := testutil.Corpus(".."); err == nil && len(files) == 0 {
		least = 60
	}
	if changed < least {
		t.Errorf("only %d objects were changed", changed)
	}
}

func TestProcessGivesWhatTheCommandGives(t *testing.T) {
	each(t, func(t *testing.T, text []byte, c *fn.RewriteProbes) {
		nodes, ok := nodesOf(text)
		if !ok {
			t.Skip("SKIPPED: kyaml cannot read it")
		}
		rl := &sdk.ResourceList{FunctionConfig: sdk.NewEmptyKubeObject()}
		var docs []string
		for _, one := range textsOf(t, nodes) {
			o, err := sdk.ParseKubeObject([]byte(one))
			if err != nil {
				t.Fatal(err)
			}
			rl.Items = append(rl.Items, o)
			docs = append(docs, o.String())
		}
		if c != nil {
			with := *c
			with.TypeMeta = metav1.TypeMeta{APIVersion: fn.APIVersion, Kind: fn.Kind}
			var err error
			if rl.FunctionConfig, err = sdk.NewFromTypedObject(with); err != nil {
				t.Fatal(err)
			}
		}
		out, _ := command(t, []byte(strings.Join(docs, "---\n")), c)
		asSDK := make([]*yaml.RNode, len(docs))
		for i := range docs {
			asSDK[i] = yaml.MustParse(docs[i])
		}
		_, r := command(t, inList(t, asSDK), c)
		ok, err := krm.Process(rl)
		if err != nil || ok == r.Failed() {
			t.Fatalf("success %v, %v; the command fails: %v", ok, err, r.Failed())
		}
		want, err := sdk.ParseKubeObjects(out)
		if err != nil {
			t.Fatal(err)
		}
		if len(want) != len(rl.Items) {
			t.Fatalf("%d items, want %d", len(rl.Items), len(want))
		}
		for i := range want {
			if again, err := sdk.ParseKubeObject(want[i].Bytes()); err != nil || again.String() != want[i].String() {
				continue // the SDK itself breaks some folded scalars whenever it writes them
			}
			if d := cmp.Diff(want[i].String(), rl.Items[i].String()); d != "" {
				t.Errorf("-command +Process\n%s", d)
			}
		}
		var messages, results []string
		for _, m := range r.Messages {
			if text := m.Sentence(); !slices.Contains(messages, text) {
				messages = append(messages, text)
			}
		}
		for _, result := range rl.Results {
			// JSON has no form that is lost.
			if !slices.Contains(results, result.Message) && !strings.Contains(result.Message, "[written-anew]") {
				results = append(results, result.Message)
			}
		}
		if d := cmp.Diff(messages, results); d != "" {
			t.Errorf("-messages +results\n%s", d)
		}
	})
}

// typed reads an object's one pod template and metadata; ok is false for kinds
// that have none, or one that is no PodTemplateSpec.
func typed(t *testing.T, n *yaml.RNode) (template corev1.PodTemplateSpec, owner fn.Owner, ok bool) {
	t.Helper()
	owner.APIVersion, owner.Kind = n.GetApiVersion(), n.GetKind()
	group := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).Group
	kind := workload.KindOf(group, owner.Kind)
	if kind == nil || kind.Shape.WorkloadMetadata || len(kind.Templates) > 1 || len(kind.Templates[0]) == 0 || slices.Contains(kind.Templates[0], field.EveryItem) {
		return template, owner, false
	}
	read := func(from *yaml.RNode, into any) {
		var value any
		err := from.YNode().Decode(&value) // MarshalJSON knows no anchors from outside
		var text []byte
		if err == nil {
			text, err = json.Marshal(value)
		}
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var keys []string
	for _, step := range kind.Templates[0] {
		keys = append(keys, step.Key)
	}
	at, err := n.Pipe(yaml.Lookup(keys...))
	if err != nil || at == nil {
		return template, owner, false
	}
	read(at, &template)
	if meta := n.Field("metadata"); meta != nil {
		read(meta.Value, &owner.Metadata)
	}
	return template, owner, true
}

// places are where the command found an object; a Go value has no place.
var places = regexp.MustCompile(` \(input:\d+\)| at input:\d+`)

func TestMutateGivesWhatTheCommandGives(t *testing.T) {
	mutated := 0
	each(t, func(t *testing.T, text []byte, c *fn.RewriteProbes) {
		nodes, ok := nodesOf(text)
		if !ok {
			t.Skip("SKIPPED: kyaml cannot read it")
		}
		namespaces := map[string]*corev1.Namespace{}
		for _, n := range nodes {
			if n.GetKind() == "Namespace" {
				ns := &corev1.Namespace{}
				text, _ := n.MarshalJSON()
				if err := json.Unmarshal(text, ns); err != nil {
					t.Fatal(err)
				}
				namespaces[ns.Name] = ns
			}
		}
		for i, n := range nodes {
			template, owner, ok := typed(t, n)
			if !ok {
				continue
			}
			owner.Namespace = namespaces[owner.Metadata.Namespace]
			alone := textsOf(t, nodes[i:i+1])[0]
			for _, other := range nodes { // Mutate is given no other object
				if other.GetKind() == "Namespace" && owner.Namespace != nil && other.GetName() == owner.Namespace.Name {
					alone += "---\n" + textsOf(t, []*yaml.RNode{other})[0]
				}
			}
			out, r := command(t, []byte(alone), c)
			wantNodes, _ := nodesOf(out)
			want, _, _ := typed(t, wantNodes[0])
			if text := withoutTexts(want.Annotations[originals]); text != "" {
				want.Annotations[originals] = text
			} else {
				delete(want.Annotations, originals)
			}

			explained, err := fn.Explain(&template, owner, c)
			if err != nil {
				t.Fatal(err)
			}
			if original, _, _ := typed(t, n); !cmp.Equal(template, original) {
				t.Errorf("Explain has changed %s", owner.Metadata.Name)
			}
			got, err := fn.Mutate(&template, owner, c)
			if failed := (*findings.RunError)(nil); (err != nil) != r.Failed() || err != nil && !errors.As(err, &failed) {
				t.Fatalf("got %v, the command fails: %v", err, r.Failed())
			}
			if d := cmp.Diff(want, template, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("%s: -command +Mutate\n%s", owner.Metadata.Name, d)
			}
			if got.Changed != (r.Changed > 0) || explained.Changed != got.Changed {
				t.Errorf("%s: changed %v, explained %v, the command changes %d", owner.Metadata.Name, got.Changed, explained.Changed, r.Changed)
			}
			for i, p := range explained.Probes {
				if failed := err != nil; !failed && p.State == fn.WouldRewrite {
					explained.Probes[i].State = fn.Rewritten
				}
			}
			if d := cmp.Diff(explained.Probes, got.Probes); d != "" {
				t.Errorf("-Explain +Mutate\n%s", d)
			}
			messages := messagesOf(r)
			if d := cmp.Diff(messages, findingsOf(got.Findings)); d != "" {
				t.Errorf("-messages +findings of Mutate\n%s", d)
			}
			if d := cmp.Diff(messages, findingsOf(explained.Findings)); d != "" {
				t.Errorf("-messages +findings of Explain\n%s", d)
			}
			if got.Changed {
				mutated++
			}
			if again, err := fn.Mutate(&template, owner, c); err == nil && again.Changed {
				t.Errorf("%s: a second time there is something to change", owner.Metadata.Name)
			}
		}
	})
	if mutated < 50 {
		t.Errorf("only %d templates were changed", mutated)
	}
}
