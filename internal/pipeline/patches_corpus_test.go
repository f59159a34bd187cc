package pipeline_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/patches"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// The sizes of a run: of every one, and of the one that docs/proof/patches.md has.
const fewChanges, manyChanges = 400, 10000

var changes = flag.Int("changes", fewChanges, "how many changes of the real-world manifests are drawn")

// realBase returns the objects of a real-world file of which patches may know something, and the patches for them. A change of
// any other builds.
func realBase(t *testing.T, file string, c *config.RewriteProbes) (objects []field.Value, set *patches.Set) {
	s, err := manifest.Read(file, testutil.CorpusFile(t, root, file))
	if err != nil {
		t.Fatal(err)
	}
	all := patchesFor(t, testutil.CorpusFile(t, root, file), c)
	guarded := slices.Concat(all.Guarded...)
	for _, o := range s.Objects() {
		if slices.Contains(guarded, surroundings.GroupKind{Group: o.Group(), Kind: o.Kind()}) {
			objects = append(objects, decode(t, o))
		}
	}
	return objects, patchesFor(t, textOf(objects), c)
}

func textOf(objects []field.Value) []byte {
	var all []field.Map
	for _, v := range objects {
		m, _ := v.(field.Map)
		all = append(all, m)
	}
	return manifest.Documents(all...)
}

// isValid reports whether the API server would accept the labels of an object and, of a Deployment or one of its kind, the
// template: by ValidateDeployment and what it calls (pkg/apis/apps/validation and pkg/apis/core/validation).
func isValid(v field.Value) bool {
	var object metav1.PartialObjectMetadata
	if json.Unmarshal(field.AppendJSON(nil, v), &object) != nil || !areLabels(object.Labels) {
		return false
	}
	if !slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"}, object.Kind) {
		return true
	}
	var workload struct {
		Spec struct {
			Selector *metav1.LabelSelector
			Template corev1.PodTemplateSpec
		}
	}
	if json.Unmarshal(field.AppendJSON(nil, v), &workload) != nil {
		return false
	}
	template := &workload.Spec.Template
	selector, err := metav1.LabelSelectorAsSelector(workload.Spec.Selector)
	spec := &template.Spec
	return err == nil && !selector.Empty() && selector.Matches(labels.Set(template.Labels)) && areLabels(template.Labels) &&
		areLabels(spec.NodeSelector) && (spec.RestartPolicy == "" || spec.RestartPolicy == corev1.RestartPolicyAlways) &&
		!slices.ContainsFunc(spec.Containers, func(c corev1.Container) bool { return !isContainer(&c) }) &&
		!slices.ContainsFunc(spec.InitContainers, func(c corev1.Container) bool { return !isContainer(&c) })
}

func areLabels(all map[string]string) bool {
	for key, value := range all {
		if len(validation.IsQualifiedName(key)) > 0 || len(validation.IsValidLabelValue(value)) > 0 {
			return false
		}
	}
	return true
}

// isContainer reports whether a container has an image, valid names of ports and variables, requests within its limits, and probes
// with one handler.
func isContainer(c *corev1.Container) bool {
	if c.Image == "" {
		return false
	}
	for _, p := range c.Ports {
		if p.Name != "" && len(validation.IsValidPortName(p.Name)) > 0 {
			return false
		}
	}
	for _, e := range c.Env {
		if len(validation.IsRelaxedEnvVarName(e.Name)) > 0 {
			return false
		}
	}
	for name, request := range c.Resources.Requests {
		if limit, isLimited := c.Resources.Limits[name]; isLimited && request.Cmp(limit) > 0 {
			return false
		}
	}
	for _, p := range []*corev1.Probe{c.ReadinessProbe, c.LivenessProbe, c.StartupProbe} {
		if p != nil && !isProbe(p) {
			return false
		}
	}
	return c.LivenessProbe == nil || c.LivenessProbe.SuccessThreshold <= 1
}

func isProbe(p *corev1.Probe) bool {
	handlers := 0
	for _, is := range []bool{p.Exec != nil, p.HTTPGet != nil, p.TCPSocket != nil, p.GRPC != nil} {
		if is {
			handlers++
		}
	}
	if h := p.HTTPGet; h != nil {
		isHeader := func(x corev1.HTTPHeader) bool { return len(validation.IsHTTPHeaderName(x.Name)) == 0 }
		if !isPort(h.Port) || !slices.Contains([]corev1.URIScheme{"", "HTTP", "HTTPS"}, h.Scheme) || len(h.HTTPHeaders) > 0 && !isHeader(h.HTTPHeaders[0]) {
			return false
		}
	}
	return handlers == 1 && (p.TCPSocket == nil || isPort(p.TCPSocket.Port)) && (p.GRPC == nil || isPort(intstr.FromInt32(p.GRPC.Port)))
}

func isPort(p intstr.IntOrString) bool {
	if p.Type == intstr.String {
		return len(validation.IsValidPortName(p.StrVal)) == 0
	}
	return len(validation.IsValidPortNum(p.IntValue())) == 0
}

// A real base that changes at any place fails to build with old patches, or gives what the function gives. Every place of its
// workloads, and of what their plans ask about, is as likely as any other.
func TestARealBaseThatChangesAnywhere(t *testing.T) {
	c := configOf(t, "")
	counts := make(map[string]int)
	for n, file := range realWorld {
		objects, set := realBase(t, file.file, c)
		d := &drawing{Rand: rand.New(rand.NewPCG(uint64(n), 2)), values: make(map[string][]field.Value)}
		total := 0
		for _, v := range slices.Concat(objects, objectsOf(t, strings.Join([]string{bases, rare, selecting}, "---\n"))) {
			d.gather(v)
		}
		for i, v := range objects {
			if total += places(v); !isValid(v) {
				t.Fatalf("%s: object %d is taken for one that the API server refuses", file.file, i)
			}
		}
		for made := 0; made < *changes/len(realWorld); {
			index, i := d.IntN(total), 0
			for ; index >= places(objects[i]); i++ {
				index -= places(objects[i])
			}
			changed := slices.Clone(objects)
			var what string
			if changed[i], what = d.at(objects[i], &index, nil); what == "" || !isAccepted(changed[i]) || !isValid(changed[i]) {
				continue
			}
			verdict := judge(t, set, changed, c)
			if verdict == "invalid" || field.Equal(changed[i], objects[i]) {
				continue
			}
			made++
			if counts[verdict]++; verdict == "wrong" && counts[verdict] < 10 {
				t.Errorf("%s: object %d: %s: the patches give something else than the function", file.file, i, what)
			}
		}
	}
	t.Log(counts)
	table := "| what | how many |\n|---|---|\n"
	for _, x := range []struct{ what, verdict string }{
		{"right builds", "right"}, {"failed builds", "loud"}, {"needless failures", "needless"}, {"silently wrong", "wrong"},
	} {
		table += fmt.Sprintf("| %s | %d |\n", x.what, counts[x.verdict])
	}
	if *changes == manyChanges {
		if err := testutil.ProofPage(root, "patches").Prove("drawn", table); err != nil {
			t.Error(err)
		}
	}
}
