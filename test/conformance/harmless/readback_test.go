package harmless

import (
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	v1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/generator"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
)

// readBack returns a manifest as `kubectl get -o yaml` prints it after it was applied: with
// the API server's defaults, and all keys sorted.
func readBack(t *testing.T, manifest []byte) (*corev1.PodTemplate, []byte) {
	t.Helper()
	object := new(corev1.PodTemplate)
	if err := yaml.Unmarshal(manifest, object); err != nil {
		t.Fatal(err)
	}
	v1.SetObjectDefaults_PodTemplate(object)
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return object, text
}

// What was rewritten, applied, and read back from the cluster is rewritten as before, and
// comes back as it was when it is restored.
func TestWhatIsReadBackFromTheClusterIsKnownAgain(t *testing.T) {
	total := 3000
	if testing.Short() {
		total = 300
	}
	rewritten := make(map[string]int)
	for i := range total {
		seed := uint64(i + 1)
		d := drawn{rand.New(rand.NewPCG(seed, 22))}
		w := generator.New(seed)
		w.Kind = "PodTemplate"
		restricted := d.one(3)
		if restricted {
			each(&w.Template.Spec, func(c *corev1.Container) {
				c.SecurityContext = &corev1.SecurityContext{
					RunAsNonRoot: new(true), AllowPrivilegeEscalation: new(false),
					Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
					SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				}
			})
		}
		by := d.pick("istio-proxy", "istio-proxy", "probe-proxy", "auto")
		settings := rewriting.Settings{"mesh": "istio", "answeredBy": by}
		if d.one(3) {
			by = d.pick("linkerd", "kuma", "consul", "fsm")
			settings = rewriting.Settings{"mesh": by}
		}
		switch d.IntN(4) {
		case 0:
			settings["probeProxy"] = map[string]any{"placement": "container", "livenessProbe": true}
		case 1:
			if settings["answeredBy"] == nil {
				break
			}
			settings["istioProxy"] = map[string]any{"image": "example.com/proxy:1", "resources": map[string]any{"limits": map[string]any{"cpu": "1"}}}
		}
		c, err := rewriting.Config(settings)
		if err != nil {
			t.Fatal(err)
		}
		text, err := w.YAML()
		if err != nil {
			t.Fatal(err)
		}
		before, _ := readBack(t, text)
		run := func(text []byte, mode pipeline.Wants) []byte {
			out, r, err := rewriting.Run(text, c, mode)
			if err != nil {
				t.Fatalf("seed %d: %v in\n%s", seed, err, text)
			}
			if r.Changed == 0 {
				return nil
			}
			return out
		}
		out := run(text, pipeline.Rewrite)
		if out == nil {
			continue
		}
		rewritten[by]++
		if restricted {
			rewritten["restricted"]++
		}
		_, read := readBack(t, out)
		if again := run(read, pipeline.Rewrite); again != nil {
			t.Errorf("seed %d, %v: a second run makes\n%s\nof\n%s", seed, settings, again, read)
		}
		restored := run(read, pipeline.Restore)
		if object, got := readBack(t, restored); !equality.Semantic.DeepEqual(object, before) {
			_, want := readBack(t, text)
			t.Fatalf("seed %d, %v: restore makes\n%s\nof\n%s\nand it was\n%s", seed, settings, got, read, want)
		}
	}
	t.Log(rewritten)
	for _, what := range []string{"istio-proxy", "probe-proxy", "auto", "restricted", "linkerd", "kuma", "consul", "fsm"} {
		if rewritten[what] < total/50 {
			t.Errorf("only %d templates are %s", rewritten[what], what)
		}
	}
}
