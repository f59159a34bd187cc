package pipeline_test

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// optionalFields lists, by a key that only such a mapping has, the optional
// fields that the API server takes as null.
var optionalFields = []struct {
	has    []string // one of these keys
	fields []string
}{
	{[]string{"httpGet", "tcpSocket", "grpc", "exec"}, []string{"httpGet", "tcpSocket", "grpc", "exec", "sleep", "timeoutSeconds", "periodSeconds"}},
	{[]string{"postStart", "preStop"}, []string{"postStart", "preStop", "stopSignal"}},
	{[]string{"image"}, []string{"args", "command", "env", "envFrom", "ports", "resources", "securityContext", "lifecycle",
		"livenessProbe", "readinessProbe", "startupProbe", "restartPolicy", "volumeMounts", "imagePullPolicy"}},
	{[]string{"containers"}, []string{"initContainers", "hostNetwork", "os", "nodeSelector", "securityContext", "volumes",
		"restartPolicy", "ephemeralContainers", "serviceAccountName"}},
	{[]string{"template"}, []string{"replicas", "strategy", "minReadySeconds"}},
	{[]string{"kind"}, []string{"metadata", "status"}},
	{[]string{"labels", "annotations", "generateName"}, []string{"labels", "annotations", "namespace", "finalizers", "ownerReferences"}},
	{[]string{"port"}, []string{"host", "scheme", "path", "httpHeaders", "service"}},
}

var lineNumbers = regexp.MustCompile(`^[Ll]ines? [\d to]+|\(in:\d+\)`)

// addNulls puts nulls into places that lack an optional field, and counts them.
func addNulls(rnd *rand.Rand, n *yaml.Node) int {
	count := 0
	if n.Kind == yaml.MappingNode {
		keys := make(map[string]bool)
		for i := 0; i+1 < len(n.Content); i += 2 {
			keys[n.Content[i].Value] = true
		}
		for _, o := range optionalFields {
			if !slices.ContainsFunc(o.has, func(k string) bool { return keys[k] }) {
				continue
			}
			for _, f := range o.fields {
				if keys[f] || rnd.IntN(2) == 0 {
					continue
				}
				null := []*yaml.Node{
					{Kind: yaml.ScalarNode, Value: f},
					{Kind: yaml.ScalarNode, Tag: "!!null", Value: []string{"null", "~", "Null"}[rnd.IntN(3)]},
				}
				n.Content = slices.Insert(n.Content, 2*rnd.IntN(len(n.Content)/2+1), null...)
				keys[f] = true
				count++
			}
		}
	}
	for _, c := range n.Content {
		count += addNulls(rnd, c)
	}
	return count
}

// withoutNulls returns a decoded value without its null fields, and without
// mappings that are empty then.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if x = withoutNulls(x); x == nil {
				delete(v, k)
			} else {
				v[k] = x
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}

// withoutOriginals removes the annotation from which restore takes the nulls,
// and collections that nothing else fills.
func withoutOriginals(v any) any {
	m, isMap := v.(map[string]any)
	list, _ := v.([]any)
	for i := range list {
		list[i] = withoutOriginals(list[i])
	}
	if !isMap {
		return v
	}
	for key, value := range m {
		m[key] = withoutOriginals(value)
		if inner, ok := m[key].(map[string]any); ok && len(inner) == 0 && (key == "annotations" || key == "metadata") {
			delete(m, key)
		}
	}
	delete(m, "rewrite-probes.io/originals")
	return m
}

// runOn runs the pipeline over a text. It returns the output, decoded and
// without nulls, the templates and the messages, both without lines.
func runOn(t *testing.T, text []byte, c *config.RewriteProbes, mode pipeline.Wants) (out []byte, docs []any, found report.Report) {
	t.Helper()
	s, r := runWith(t, c, "in", text, mode)
	out = written(t, s)
	docs, err := testutil.Documents(out)
	if err != nil {
		t.Fatalf("the output is no YAML: %v\n%s\nfrom\n%s", err, out, text)
	}
	for i := range docs {
		docs[i] = withoutOriginals(withoutNulls(docs[i]))
	}
	found = report.Report{Changed: r.Changed}
	for _, m := range r.Messages {
		m.Line = 0
		if m.Object != nil {
			o := *m.Object
			o.Line = 0
			m.Object = &o
		}
		m.Text.What = lineNumbers.ReplaceAllString(m.Text.What, "")
		found.Messages = append(found.Messages, m)
	}
	return out, docs, found
}

func TestNullFieldsCountAsAbsent(t *testing.T) {
	rounds := 4
	if testing.Short() {
		rounds = 1
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	nulls, changed := 0, 0
	for _, doc := range nullSources(t) {
		for round := range rounds {
			plain := encoded(t, doc, nil)
			with := encoded(t, doc, func(n *yaml.Node) { nulls += addNulls(rnd, n) })
			c := config.Default()
			c.Spec.AnsweredBy = []string{"probe-proxy", "istio-proxy", "auto"}[round%3]
			if round == 3 {
				c.Spec.Mesh, c.Spec.AnsweredBy = "osm", "auto"
			}
			for _, mode := range []pipeline.Wants{pipeline.Rewrite, pipeline.Inspect} {
				once, want, wantFound := runOn(t, plain, c, mode)
				onceNulls, got, gotFound := runOn(t, with, c, mode)
				changed += wantFound.Changed
				if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(gotFound, wantFound) {
					t.Fatalf("nulls change the result of\n%s\nwhich gives %+v\n%s\nmust be %+v\n%s", with, gotFound, onceNulls, wantFound, once)
				}
				_, want, wantFound = runOn(t, once, c, pipeline.Restore)
				back, got, gotFound := runOn(t, onceNulls, c, pipeline.Restore)
				if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(gotFound, wantFound) {
					t.Fatalf("nulls change what restore makes of\n%s\nwhich gives %+v\n%s\nmust be %+v", onceNulls, gotFound, back, wantFound)
				}
				if _, _, found := runOn(t, with, c, pipeline.Restore); found.Changed > 0 || bytes.Contains(doc, []byte("*")) {
					continue // it was rewritten before, or its aliases are written out
				}
				if got, want := content(t, back), content(t, with); !slices.Equal(got, want) {
					t.Fatalf("restore gives\n%s\nnot\n%s\nfrom\n%s", back, with, onceNulls)
				}
			}
		}
	}
	if nulls < 250*rounds || changed < 12*rounds {
		t.Errorf("only %d nulls were put in, and %d objects changed", nulls, changed)
	}
}

// content returns the keys and values of a document in their order, whatever
// their style.
func content(t *testing.T, doc []byte) []string {
	t.Helper()
	var root yaml.Node
	if err := yaml.Unmarshal(doc, &root); err != nil {
		t.Fatal(err)
	}
	var list []string
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		list = append(list, n.ShortTag())
		if n.ShortTag() != "!!null" {
			list = append(list, n.Value)
		}
		for _, c := range n.Content {
			walk(c)
		}
		list = append(list, "end")
	}
	walk(&root)
	return list
}

// nullSources returns the documents with probes or hooks, one object each.
func nullSources(t *testing.T) [][]byte {
	t.Helper()
	docs := [][]byte{
		[]byte("apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec:\n  containers:\n  - name: a\n    image: i\n    livenessProbe:\n      tcpSocket:\n        port: 80\n    readinessProbe:\n      grpc:\n        port: 81\n    lifecycle:\n      preStop:\n        httpGet:\n          port: 80\n"),
		[]byte("apiVersion: v1\nkind: Pod\nmetadata:\n  labels: {a: b}\n  name: p\nspec:\n  containers:\n  - {name: a, image: i, livenessProbe: {tcpSocket: {port: 80}}, startupProbe: {httpGet: {port: 80}}}\n"),
	}
	for _, doc := range sources(t) {
		if bytes.Contains(doc, []byte("Probe:")) || bytes.Contains(doc, []byte("lifecycle:")) {
			docs = append(docs, doc)
		}
	}
	return docs
}

// encoded returns the document in the encoder's own form, changed by f.
func encoded(t *testing.T, doc []byte, f func(*yaml.Node)) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	var n yaml.Node
	if err := yaml.Unmarshal(doc, &n); err != nil {
		t.Fatal(err)
	}
	if f != nil {
		f(&n)
	}
	if err := enc.Encode(&n); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
