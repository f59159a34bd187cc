package pipeline_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// verdict is what became of one input.
type verdict int

const (
	refused verdict = iota // an error, nothing written
	kept                   // a result that keeps every object
	broken                 // a result that lost or changed what it must not
)

// process runs the function over any bytes and checks what holds for every
// input that is not refused: it keeps every object, changes only objects with a
// pod template, and does not change again on a second run.
func process(input []byte) (v verdict, why string) {
	s, err := manifest.Read("input", bytes.Clone(input))
	if err != nil {
		return refused, err.Error()
	}
	r := pipeline.Run([]*manifest.Stream{s}, config.Default(), pipeline.Rewrite)
	if changed := changedObjects(s); r.Changed != changed {
		return broken, fmt.Sprintf("%d objects are said to be changed, and %d are", r.Changed, changed)
	}
	if report.Count(r.Messages, transformer.Error) > 0 {
		return refused, "an error was reported"
	}
	once, err := s.Text()
	if err != nil {
		return refused, err.Error()
	}
	if why := objectsKept(input, once, s); why != "" {
		return broken, why
	}
	again, err := manifest.Read("output", bytes.Clone(once))
	if err != nil {
		return broken, "the result cannot be read: " + err.Error()
	}
	pipeline.Run([]*manifest.Stream{again}, config.Default(), pipeline.Rewrite)
	twice, err := again.Text()
	if err != nil || !bytes.Equal(once, twice) {
		return broken, "the second run changed the text: " + firstDifference(once, twice)
	}
	return kept, ""
}

// changedObjects counts the objects of a stream that were edited.
func changedObjects(s *manifest.Stream) int {
	n := 0
	for _, o := range s.Objects() {
		if o.Changed() {
			n++
		}
	}
	return n
}

// objectsKept compares the documents before and after, read by a parser that the
// function does not use for plain input. It returns what is wrong, or "".
func objectsKept(before, after []byte, s *manifest.Stream) string {
	a, errA := testutil.Documents(before)
	b, errB := testutil.Documents(after)
	if errA != nil {
		return "" // only the function's own parser takes the input; the fuzz test of manifest compares the two
	}
	if errB != nil {
		return "the result is not YAML: " + errB.Error()
	}
	if len(a) != len(b) {
		return fmt.Sprintf("%d documents went in, %d came out", len(a), len(b))
	}
	edited := 0
	for _, o := range s.Objects() {
		if o.Changed() {
			edited++
			if class := workload.Classify(o, nil); class != workload.Known && class != workload.WorkloadGroup {
				return o.String() + " was changed, and its kind has no pod template and no probe"
			}
		}
	}
	differing := 0
	for i := range a {
		if !reflect.DeepEqual(a[i], b[i]) {
			differing++
		}
	}
	if differing > edited {
		return fmt.Sprintf("%d documents differ, %d objects were edited", differing, edited)
	}
	return ""
}

// sources returns documents to mutate: real-world workloads where the corpus is
// there, and the manifests of this repository.
func sources(t testing.TB) [][]byte {
	t.Helper()
	var docs [][]byte
	for _, f := range testutil.Manifests(t, root) {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for doc := range bytes.SplitSeq(text, []byte("\n---\n")) {
			if len(doc) < 20_000 && (bytes.Contains(doc, []byte("Probe:")) || len(doc) < 2_000) {
				docs = append(docs, append(bytes.Clone(doc), '\n'))
			}
		}
	}
	if len(docs) < 20 {
		t.Fatalf("only %d documents to mutate", len(docs))
	}
	return docs
}

// mutate removes, repeats, swaps or indents lines of a document, or of two that it
// joins.
func mutate(rnd *rand.Rand, docs [][]byte) []byte {
	text := bytes.Clone(docs[rnd.IntN(len(docs))])
	if rnd.IntN(2) == 0 {
		text = append(append(text, "---\n"...), docs[rnd.IntN(len(docs))]...)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	for range 1 + rnd.IntN(3) {
		i, j := rnd.IntN(len(lines)), rnd.IntN(len(lines))
		switch rnd.IntN(6) {
		case 0:
			lines = append(lines[:i], lines[min(i+1+rnd.IntN(3), len(lines)):]...)
		case 1:
			lines = append(lines[:i], append([][]byte{lines[j]}, lines[i:]...)...)
		case 2:
			lines[i], lines[j] = lines[j], lines[i]
		case 3:
			lines[i] = append([]byte("  "), lines[i]...)
		case 4:
			lines[i] = bytes.TrimPrefix(lines[i], []byte("  "))
		case 5:
			if n := len(lines[i]); n > 1 {
				cut := rnd.IntN(n)
				lines[i] = append(bytes.Clone(lines[i][:cut]), lines[i][min(cut+1, n):]...)
			}
		}
		if len(lines) == 0 {
			return nil
		}
	}
	return bytes.Join(lines, nil)
}

func TestTenThousandMutatedManifestsAreRefusedOrKept(t *testing.T) {
	docs := sources(t)
	total := 10_000
	if testing.Short() {
		total = 500
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	counts := make(map[verdict]int)
	for i := range total {
		input := mutate(rnd, docs)
		v, why := process(input)
		counts[v]++
		if v == broken {
			t.Errorf("input %d: %s\n%s", i, why, input)
			if counts[broken] > 3 {
				t.Fatal("giving up")
			}
		}
	}
	t.Logf("%d mutated inputs: %d written with every object kept, %d refused, %d broken, 0 panics",
		total, counts[kept], counts[refused], counts[broken])
	if counts[kept] < total/10 || counts[refused] < total/10 {
		t.Error("the mutations must give both good and bad input")
	}
}

func FuzzFunctionOverBytes(f *testing.F) {
	for _, doc := range sources(f)[:20] {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if v, why := process(input); v == broken {
			t.Error(why)
		}
	})
}

// FuzzFunctionConfig runs the function with any text as its functionConfig: a
// second run changes nothing, and restore returns the original text.
func FuzzFunctionConfig(f *testing.F) {
	for _, seed := range []string{
		"{apiVersion: v1, kind: ConfigMap, data: {port: '15021', rewrite: 'httpGet'}}",
		"{apiVersion: rewrite-probes.io/v1alpha1, kind: RewriteProbes, spec: {port: 15021, probeProxy: {resources: {limits: null}}}}",
		"{apiVersion: rewrite-probes.io/v1alpha1, kind: RewriteProbes, spec: {podTemplates: [{kind: T, path: spec}], select: {labelSelector: 'a in (b)'}}}",
	} {
		f.Add(seed)
	}
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: b, livenessProbe: {httpGet: {port: 80}}}]}\n"
	f.Fuzz(func(t *testing.T, text string) {
		c, err := manifest.Read("config", []byte(text))
		if err != nil || len(c.Objects()) != 1 {
			return
		}
		decoded, err := config.Decode(c.Objects()[0])
		if err != nil {
			// All problems are reported at once: each line is a message with
			// its place.
			for line := range strings.Lines(err.Error()) {
				if !strings.HasPrefix(line, "config:") || !strings.Contains(line, ": functionConfig: ") {
					t.Errorf("a line of the message names no place: %q of %q", line, err)
				}
			}
			return
		}
		once, err := do([]byte(pod), decoded, pipeline.Rewrite)
		if errors.Is(err, manifest.ErrUnplanned) {
			t.Fatal(err)
		}
		if err != nil || once.refused != "" {
			return
		}
		if twice, err := do(bytes.Clone(once.text), decoded, pipeline.Rewrite); err != nil || !bytes.Equal(twice.text, once.text) {
			t.Errorf("a second run: %v: %s", err, firstDifference(once.text, twice.text))
		}
		if back, err := do(once.text, decoded, pipeline.Restore); err != nil || string(back.text) != pod {
			t.Errorf("restore: %v: %s", err, firstDifference([]byte(pod), back.text))
		}
	})
}
