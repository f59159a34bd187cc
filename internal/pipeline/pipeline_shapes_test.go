package pipeline_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A shape is a form of input that holds a changed object and others.
type shape struct {
	kind     string // "stream", "List" or "ResourceList"
	config   string // where a ResourceList has its functionConfig: "", "before" or "after" the items
	results  string // and its results; "empty" is an empty list after the items
	end      string // what follows the last value
	form     string // "", "CRLF" or "BOM"
	position int    // of the changed object among three
}

// shapes returns every combination.
func shapes() (all []shape) {
	for _, kind := range []string{"stream", "List", "ResourceList"} {
		configs, results := []string{""}, []string{""}
		if kind == "ResourceList" {
			configs, results = []string{"", "before", "after"}, []string{"", "before", "after", "empty"}
		}
		for _, c := range configs {
			for _, r := range results {
				for _, end := range []string{"", "\n", "\n\n", "\n# the end", "\n# the end\n"} {
					for _, form := range []string{"", "CRLF", "BOM"} {
						for position := range 3 {
							all = append(all, shape{kind, c, r, end, form, position})
						}
					}
				}
			}
		}
	}
	return all
}

const oldResults = "results:\n- message: an old one\n  severity: info\n"

// text joins the documents, whose last lines have no line break.
func (s shape) text(docs []string) string {
	body := strings.Join(docs, "\n---\n")
	if s.kind != "stream" {
		var items []string
		for _, d := range docs {
			items = append(items, "- "+strings.ReplaceAll(strings.ReplaceAll(d, "\n", "\n  "), "\n  \n", "\n\n"))
		}
		body = "items:\n" + strings.Join(items, "\n")
	}
	const functionConfig = "functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: function-input}\n"
	before, after := "", ""
	switch s.kind {
	case "List":
		before = "apiVersion: v1\nkind: List\n"
	case "ResourceList":
		before = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
	}
	switch s.config {
	case "before":
		before += functionConfig
	case "after":
		after += "\n" + strings.TrimSuffix(functionConfig, "\n")
	}
	switch s.results {
	case "before":
		before += oldResults
	case "after":
		after += "\n" + strings.TrimSuffix(oldResults, "\n")
	case "empty":
		after += "\nresults: []"
	}
	return s.formed(before + body + after + s.end)
}

// formed returns a text in the shape's form.
func (s shape) formed(text string) string {
	switch s.form {
	case "CRLF":
		return strings.ReplaceAll(text, "\n", "\r\n")
	case "BOM":
		return "\ufeff" + text
	}
	return text
}

// answerers are configs that differ in the text which they make of an object: where a
// container is put, the annotations, and an object beside it.
func answerers() []*config.RewriteProbes {
	return configs("istio probe-proxy native", "istio istio-proxy native", "linkerd auto container", "osm auto native")
}

// configs makes a config of each mesh, answerer and placement.
func configs(all ...string) (made []*config.RewriteProbes) {
	for _, words := range all {
		c := config.Default()
		w := strings.Fields(words)
		c.Spec.Mesh, c.Spec.AnsweredBy, c.Spec.ProbeProxy.Placement = w[0], w[1], w[2]
		c.Spec.ProbeProxy.Image = "example/probe-proxy:v1"
		made = append(made, c)
	}
	return made
}

// A done is what became of a text.
type done struct {
	text    []byte
	refused string // an error, if there is one
	results []any  // of the run, as a parser returns them
}

// do runs a text through the pipeline as the command does.
func do(text []byte, c *config.RewriteProbes, mode pipeline.Wants) (done, error) {
	s, err := manifest.Read("in.yaml", text)
	if err != nil {
		return done{}, err
	}
	r := pipeline.Run([]*manifest.Stream{s}, c, mode)
	var d done
	for _, m := range r.Messages {
		if m.Severity == transformer.Error {
			d.refused = m.String()
		}
	}
	if s.IsResourceList() {
		for m := range r.Results() {
			d.results = append(d.results, plainValue(m))
		}
		if err := s.AddResults(r.Results()); err != nil {
			return done{}, err
		}
	}
	d.text, err = s.Text()
	return d, err
}

// plainValue returns a value as a parser returns it.
func plainValue(v field.Value) any {
	switch v := v.(type) {
	case field.Map:
		m := make(map[string]any)
		for _, e := range v {
			m[e.Key] = plainValue(e.Value)
		}
		return m
	case field.List:
		l := []any{}
		for _, e := range v {
			l = append(l, plainValue(e))
		}
		return l
	}
	return v
}

// A subject is a document to be changed, and what becomes of it alone in a
// stream.
type subject struct {
	doc       string
	rewritten []any
	restored  []any
	exact     bool // restored byte for byte
}

// alone returns what becomes of a document by itself; ok is false if it is
// refused or nothing changes.
func alone(doc string, c *config.RewriteProbes) (s subject, ok bool, err error) {
	text := []byte(doc + "\n")
	once, err := do(text, c, pipeline.Rewrite)
	if err != nil || once.refused != "" || bytes.Equal(once.text, text) {
		return s, false, err
	}
	back, err := do(once.text, c, pipeline.Restore)
	if err != nil || back.refused != "" {
		return s, false, err
	}
	// A merge key is written out for good.
	s = subject{doc: doc, exact: !strings.Contains(doc, "<<:")}
	if s.exact && !bytes.Equal(back.text, text) {
		return s, false, fmt.Errorf("restore is not exact: %s", firstDifference(text, back.text))
	}
	if s.rewritten, err = testutil.NonEmptyDocuments(once.text); err != nil {
		return s, false, err
	}
	s.restored, err = testutil.NonEmptyDocuments(back.text)
	return s, true, err
}

// TestEveryShapeGivesWhatOneDocumentGives puts documents into every shape that
// a manifest may have. In each, the changed object must become what it becomes
// alone, and nothing else may change.
func TestEveryShapeGivesWhatOneDocumentGives(t *testing.T) {
	docs, others := shapeDocuments(t)
	configs := answerers()
	all := shapes()
	subjects := make([][]subject, len(configs))
	for i, c := range configs {
		for _, doc := range docs {
			s, ok, err := alone(doc, c)
			if err != nil {
				t.Fatalf("%v in\n%s", err, doc)
			}
			if ok {
				subjects[i] = append(subjects[i], s)
			}
			if ok && !s.exact && !strings.Contains(doc, "<<:") {
				t.Errorf("only a merge key may not come back:\n%s", doc)
			}
		}
	}
	tested, exact, bad := 0, 0, 0
	for i, sh := range all {
		for j, c := range configs {
			if (i+j)%stride(sh) != 0 {
				continue
			}
			// Each document comes in each kind of shape: the strides are prime.
			s := subjects[j][(i*31+j*7)%len(subjects[j])]
			around := []string{others[(i*37+j)%len(others)], others[(i*41+j*3)%len(others)]}
			tested++
			if s.exact {
				exact++
			}
			if err := sh.check(s, around, c); err != nil {
				t.Errorf("%+v, %s answered by %s, %s: %v", sh, c.Spec.Mesh, c.Spec.AnsweredBy, c.Spec.ProbeProxy.Placement, err)
				if bad++; bad > 5 {
					t.Fatal("giving up")
				}
			}
		}
	}
	t.Logf("%d documents in %d shapes with %d configs: %d texts, %d of them restored byte for byte", len(docs), len(all), len(configs), tested, exact)
	if len(docs) < 15 || len(others) < 5 || exact < tested*4/5 {
		t.Errorf("%d documents, %d others, %d of %d restored byte for byte: too few", len(docs), len(others), exact, tested)
	}
}

// stride returns n if one of n texts in a shape is tested.
func stride(sh shape) int {
	switch {
	case testing.Short():
		return 11
	case sh.kind == "ResourceList":
		return 4 // one of the configs
	}
	return 1
}

// check puts the subject between two other documents.
func (s shape) check(sub subject, others []string, c *config.RewriteProbes) error {
	docs := slices.Insert(slices.Clone(others), s.position, sub.doc)
	in := []byte(s.text(docs))
	before, err := testutil.NonEmptyDocuments(in)
	if err != nil {
		return fmt.Errorf("the test's own text: %w\n%s", err, in)
	}
	once, err := do(in, c, pipeline.Rewrite)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, in)
	}
	if once.refused != "" {
		return fmt.Errorf("refused: %s\n%s", once.refused, in)
	}
	if err := s.compare(before, once, sub.rewritten); err != nil {
		return fmt.Errorf("%w in\n%s\nwhich became\n%s", err, in, once.text)
	}
	for _, o := range others {
		if whole := s.indented(o); !bytes.Contains(once.text, []byte(whole)) {
			return fmt.Errorf("the text of an untouched object has changed:\n%s\nin\n%s", whole, once.text)
		}
	}
	twice, err := do(bytes.Clone(once.text), c, pipeline.Rewrite)
	if err != nil || !bytes.Equal(twice.text, once.text) {
		return fmt.Errorf("a second run: %v, %s", err, firstDifference(once.text, twice.text))
	}
	back, err := do(bytes.Clone(once.text), c, pipeline.Restore)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	after, err := testutil.NonEmptyDocuments(once.text)
	if err != nil {
		return err
	}
	if err := s.compareRestored(after, back, sub.restored, before); err != nil {
		return fmt.Errorf("restore: %w of\n%s\nwhich became\n%s", err, once.text, back.text)
	}
	if sub.exact && s.kind != "ResourceList" && !bytes.Equal(back.text, in) {
		return fmt.Errorf("restore is not exact: %s", firstDifference(in, back.text))
	}
	if whole := s.indented(sub.doc); sub.exact && !bytes.Contains(back.text, []byte(whole)) {
		return fmt.Errorf("restore is not exact:\n%s\nin\n%s", whole, back.text)
	}
	return nil
}

// indented returns a document as the shape holds it.
func (s shape) indented(doc string) string {
	if s.kind != "stream" {
		doc = strings.ReplaceAll(strings.ReplaceAll(doc, "\n", "\n  "), "\n  \n", "\n\n")
	}
	if s.form == "CRLF" {
		doc = strings.ReplaceAll(doc, "\n", "\r\n")
	}
	return doc
}

// compare checks a run by value: before is the input, and changed must have
// replaced the object that was to be changed.
func (s shape) compare(before []any, d done, changed []any) error {
	after, err := testutil.NonEmptyDocuments(d.text)
	if err != nil {
		return err
	}
	return s.compareValues(before, after, d.results, changed)
}

// compareRestored checks a restored output.
func (s shape) compareRestored(rewritten []any, d done, changed, original []any) error {
	after, err := testutil.NonEmptyDocuments(d.text)
	if err != nil {
		return err
	}
	if s.kind == "ResourceList" { // whose results stay
		root := maps.Clone(original[0].(map[string]any))
		root["results"] = rewritten[0].(map[string]any)["results"]
		original = []any{root}
	}
	return s.compareValues(original, after, d.results, changed)
}

func (s shape) compareValues(before, after, results, changed []any) error {
	if s.kind != "stream" {
		if len(before) != 1 || len(after) != 1 {
			return fmt.Errorf("%d documents became %d", len(before), len(after))
		}
		want, got := maps.Clone(before[0].(map[string]any)), maps.Clone(after[0].(map[string]any))
		before, after = want["items"].([]any), got["items"].([]any)
		if s.kind == "ResourceList" {
			if err := compareResults(want["results"], got["results"], results); err != nil {
				return err
			}
		}
		for _, key := range []string{"items", "results"} {
			delete(want, key)
			delete(got, key)
		}
		if !reflect.DeepEqual(want, got) {
			return fmt.Errorf("the root %v became %v", want, got)
		}
	}
	want := slices.Replace(slices.Clone(before), s.position, s.position+1, changed...)
	if !reflect.DeepEqual(want, after) {
		return fmt.Errorf("%d objects instead of %d, or they differ", len(after), len(want))
	}
	return nil
}

// compareResults checks that the results of a run were appended to those before,
// but for equal ones.
func compareResults(before, after any, said []any) error {
	want, _ := before.([]any)
	want = slices.Clone(want)
	for _, r := range said {
		if !slices.ContainsFunc(want, func(v any) bool { return reflect.DeepEqual(v, r) }) {
			want = append(want, r)
		}
	}
	got, _ := after.([]any)
	if len(want)+len(got) > 0 && !reflect.DeepEqual(got, want) {
		return fmt.Errorf("the results are\n%v, want\n%v", got, want)
	}
	return nil
}

// shapeDocuments returns documents that a run may change, and others: those of
// testdata and, where it is there, of the corpus.
func shapeDocuments(t *testing.T) (docs, others []string) {
	t.Helper()
	const most = 12_000 // bytes of a document
	for _, f := range testutil.Manifests(t, root) {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Split(strings.ReplaceAll(strings.TrimPrefix(string(text), "\ufeff"), "\r\n", "\n"), "\n---\n")
		for _, doc := range all {
			doc = strings.TrimRight(strings.TrimPrefix(doc, "---\n"), "\n.")
			var o struct {
				Kind  string
				Items []any
			}
			if err := yaml.Unmarshal([]byte(doc), &o); err != nil || o.Kind == "" || o.Items != nil || len(doc) > most {
				continue
			}
			switch hasProbe := strings.Contains(doc, "Probe:") || o.Kind == "WorkloadGroup"; {
			case hasProbe:
				docs = append(docs, doc)
			case len(doc) < most/10 && o.Kind != "Namespace": // which says who answers
				others = append(others, doc)
			}
		}
	}
	return docs, others
}

// TestASecondRunOverAResourceListSaysNothingTwice has warnings about fields
// whose place changes when the sidecar is put before them, or taken out.
func TestASecondRunOverAResourceListSaysNothingTwice(t *testing.T) {
	const list = `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: Pod
  metadata:
    name: p
  spec:
    initContainers:
    - name: first
      restartPolicy: Always
      readinessProbe:
        httpGet: {port: nope}
    - name: second
      restartPolicy: Always
      readinessProbe:
        httpGet: {port: nope}
    containers:
    - name: a
      readinessProbe:
        httpGet: {port: none}
      livenessProbe:
        httpGet: {port: 80}
`
	for _, c := range answerers() {
		once, err := do([]byte(list), c, pipeline.Rewrite)
		if err != nil || once.refused != "" {
			t.Fatal(err, once.refused)
		}
		twice, err := do(bytes.Clone(once.text), c, pipeline.Rewrite)
		if err != nil || !bytes.Equal(once.text, twice.text) {
			t.Errorf("%s, %s: %v: %s", c.Spec.AnsweredBy, c.Spec.ProbeProxy.Placement, err, firstDifference(once.text, twice.text))
		}
		if n := bytes.Count(once.text, []byte("reason: port-unresolved")); n != 3 {
			t.Errorf("%s, %s: %d warnings, want 3:\n%s", c.Spec.AnsweredBy, c.Spec.ProbeProxy.Placement, n, once.text)
		}
		if c.Spec.AnsweredBy == "probe-proxy" && c.Spec.ProbeProxy.Placement == "native" &&
			!bytes.Contains(once.text, []byte(`path: "spec.initContainers[2].readinessProbe.httpGet.port"`)) {
			t.Errorf("no result names the field where it is now:\n%s", once.text)
		}
	}
}
