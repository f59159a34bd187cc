package pipeline_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// take runs one mode over a text and returns the result with its count of
// objects; ok is false if the text was refused.
func take(t *testing.T, text []byte, c *config.RewriteProbes, mode pipeline.Mode) (out []byte, objects, configMaps int, ok bool) {
	t.Helper()
	s, err := manifest.Read("input", bytes.Clone(text))
	if err != nil {
		return nil, 0, 0, false
	}
	r, err := pipeline.Run([]*manifest.Stream{s}, c, mode)
	if err != nil {
		t.Fatal(err)
	}
	if report.Count(r.Messages, transformer.Error) > 0 {
		return nil, 0, 0, false
	}
	var b bytes.Buffer
	if _, err := s.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	again, err := manifest.Read("output", b.Bytes())
	if err != nil {
		t.Fatalf("the result cannot be read: %v\n%s", err, &b)
	}
	for _, o := range again.Objects() {
		if o.Kind() == "ConfigMap" && o.Labels().Get("app.kubernetes.io/managed-by") == "rewrite-probes" {
			configMaps++
		}
	}
	return b.Bytes(), len(again.Objects()), configMaps, true
}

func TestCompanionsComeAndGoInAnyManifest(t *testing.T) {
	c := config.Default()
	c.Spec.Mesh, c.Spec.AnsweredBy = "osm", "envoy"
	added := 0
	for _, f := range append(testutil.Manifests(t, root), root+"/testdata/manifests/objects.json") {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		before, err := manifest.Read(f, bytes.Clone(text))
		if err != nil {
			continue
		}
		once, n, configMaps, ok := take(t, text, c, pipeline.Rewrite)
		if !ok {
			continue
		}
		added += configMaps
		if n != len(before.Objects())+configMaps {
			t.Errorf("%s: %d objects and %d ConfigMaps became %d", f, len(before.Objects()), configMaps, n)
		}
		if twice, _, _, _ := take(t, once, c, pipeline.Rewrite); !bytes.Equal(once, twice) {
			t.Errorf("%s: the second run changed the text: %s", f, firstDifference(once, twice))
		}
		back, n, configMaps, _ := take(t, once, c, pipeline.Restore)
		if n != len(before.Objects()) || configMaps != 0 || bytes.Contains(back, []byte("osm-")) && !bytes.Contains(text, []byte("osm-")) {
			t.Errorf("%s: restored to %d objects, want %d", f, n, len(before.Objects()))
		}
	}
	if added == 0 {
		t.Error("nothing was added anywhere")
	}
	t.Logf("%d ConfigMaps", added)
}
