package pipeline_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/yamljudge"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// TestRun_styled rewrites and restores Pods that mix all styles: with merge keys in braces, anchors,
// tags and comments. What a full parser reads from the result must not depend on the style.
func TestRun_styled(t *testing.T) {
	total := 400
	if testing.Short() {
		total = 100
	}
	refused := 0
	for seed := range uint64(total) {
		if !rewriteStyled(t, seed) {
			refused++
		}
	}
	if refused > total/8 {
		t.Errorf("%d of %d Pods were refused", refused, total)
	}
}

func FuzzRunOverStyled(f *testing.F) {
	f.Add(uint64(0))
	f.Fuzz(func(t *testing.T, seed uint64) { rewriteStyled(t, seed) })
}

// rewriteStyled rewrites a random Pod and restores it. It returns false if its form was refused.
func rewriteStyled(t *testing.T, seed uint64) bool {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 9))
	in := yamljudge.Styled(r, yamljudge.Pod(r))
	s, found := run(t, "in", bytes.Clone(in), pipeline.Rewrite)
	once := written(t, s)
	if report.Count(found.Messages, transformer.Error) > 0 {
		for _, m := range found.Messages {
			if m.Severity == transformer.Error && m.Reason != reason.InvalidManifest || !bytes.Equal(in, once) {
				t.Fatalf("seed %d: %s\n%s", seed, m.String(), in)
			}
		}
		return false
	}
	if s, _ = run(t, "in", bytes.Clone(once), pipeline.Rewrite); !bytes.Equal(once, written(t, s)) {
		t.Fatalf("seed %d: a second run changes\n%s", seed, cmp.Diff(string(once), string(written(t, s))))
	}
	s, _ = run(t, "in", bytes.Clone(once), pipeline.Restore)
	back := written(t, s)
	if got, want := valueOf(t, back), valueOf(t, in); !cmp.Equal(got, want) {
		t.Fatalf("seed %d: restore gives\n%s", seed, cmp.Diff(want, got))
	}
	return true
}

// valueOf returns what the full parser reads.
func valueOf(t *testing.T, text []byte) any {
	t.Helper()
	root, err := yamljudge.Value(text, 0)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return valueIn(t, root)
}

func valueIn(t *testing.T, n *yaml.Node) (v any) {
	t.Helper()
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			m[n.Content[i].Value] = valueIn(t, n.Content[i+1])
		}
		return m
	case yaml.SequenceNode:
		l := []any{}
		for _, item := range n.Content {
			l = append(l, valueIn(t, item))
		}
		return l
	}
	if err := n.Decode(&v); err != nil {
		t.Fatal(err)
	}
	if number, isFloat := v.(float64); isFloat && number == math.Trunc(number) {
		return int(number) // as it is to the API server
	}
	return v
}
