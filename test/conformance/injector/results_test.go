package injector

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/kio"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/generator"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
)

// resourceList wraps a stream of documents as kpt does: by kyaml.
func resourceList(t *testing.T, stream []byte) (list []byte, items int) {
	t.Helper()
	nodes, err := (&kio.ByteReader{Reader: bytes.NewReader(stream), OmitReaderAnnotations: false}).Read()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := kio.ByteWriter{Writer: &b, KeepReaderAnnotations: true, WrappingKind: kio.ResourceListKind, WrappingAPIVersion: kio.ResourceListAPIVersion}
	if err := w.Write(nodes); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), len(nodes)
}

// lists returns ResourceLists of the manifests of the real world and of random
// workloads, a hundred in each, with how many items each has.
func lists(t *testing.T) (names []string, texts [][]byte, items []int) {
	add := func(name string, stream []byte) {
		text, n := resourceList(t, stream)
		names, texts, items = append(names, name), append(texts, text), append(items, n)
	}
	for _, f := range corpus(t) {
		add(f.name, f.text)
	}
	for first := uint64(1); first <= 500; first += 100 {
		var stream []byte
		for seed := range uint64(100) {
			text, err := generator.New(first + seed).YAML()
			if err != nil {
				t.Fatal(err)
			}
			stream = append(append(stream, "---\n"...), text...)
		}
		add(fmt.Sprintf("seeds %d to %d", first, first+99), stream)
	}
	return names, texts, items
}

func TestResultsAreThoseOfTheFunctionSDK(t *testing.T) {
	names, texts, _ := lists(t)
	total := 0
	for i, text := range texts {
		output, r, err := rewrite(text, rewriting.Settings{})
		if err != nil {
			t.Errorf("%s: %v", names[i], err)
			continue
		}
		list, err := fn.ParseResourceList(output)
		if err != nil {
			t.Errorf("%s: the SDK refuses our output: %v", names[i], err)
			continue
		}
		if len(list.Results) != len(r.Messages) {
			t.Errorf("%s: %d messages are %d results in the SDK", names[i], len(r.Messages), len(list.Results))
			continue
		}
		for j, result := range list.Results {
			total++
			if err := sameAs(result, r.Messages[j]); err != nil {
				t.Errorf("%s: %s: %v", names[i], result, err)
			}
		}
	}
	t.Logf("%d results decoded", total)
	if total == 0 {
		t.Error("there was no result to decode")
	}
}

// sameAs reports whether a decoded result says what the message said.
func sameAs(r *fn.Result, m report.Message) error {
	severities := []fn.Severity{fn.Error, fn.Warning, fn.Info}
	switch {
	case !slices.Contains(severities, r.Severity) || string(r.Severity) != string(m.Severity):
		return fmt.Errorf("severity %q of %q", r.Severity, m.Severity)
	case r.Message == "" || strings.Contains(r.Message, "\n"):
		return fmt.Errorf("message %q must be one line", r.Message)
	case (r.ResourceRef != nil) != (m.Object != nil): // nil if it is about several objects
		return fmt.Errorf("resourceRef %+v of %q", r.ResourceRef, m.Object)
	case r.ResourceRef != nil && (r.ResourceRef.Kind != m.Object.Kind || r.ResourceRef.Name != m.Object.Name || r.ResourceRef.Namespace != m.Object.Namespace || r.ResourceRef.APIVersion != m.Object.APIVersion):
		return fmt.Errorf("resourceRef %+v of %s", r.ResourceRef, m.Object)
	case (r.Field != nil) != (len(m.Field) > 0) || r.Field != nil && r.Field.Path != m.Field.String():
		return fmt.Errorf("field %+v of %s", r.Field, m.Field)
	case len(r.Tags) == 0:
		return fmt.Errorf("no tags; the reason is %q", m.Reason.String())
	}
	return nil
}

func TestTheOutputIsAcceptedByKyaml(t *testing.T) {
	names, texts, items := lists(t)
	objects := 0
	for i, text := range texts {
		output, _, err := rewrite(text, rewriting.Settings{})
		if err != nil {
			t.Errorf("%s: %v", names[i], err)
			continue
		}
		before, _ := read(t, names[i], text)
		after, w := read(t, names[i], output)
		if len(after) != items[i] {
			t.Errorf("%s: %d items have become %d", names[i], items[i], len(after))
			continue
		}
		objects += len(after)
		for j := range after {
			if before[j].GetKind() != after[j].GetKind() || before[j].GetName() != after[j].GetName() || before[j].GetNamespace() != after[j].GetNamespace() {
				t.Errorf("%s: item %d was %s %s and is %s %s", names[i], j, before[j].GetKind(), before[j].GetName(), after[j].GetKind(), after[j].GetName())
			}
		}
		if err := w.Write(after); err != nil {
			t.Errorf("%s: kyaml cannot write what it read: %v", names[i], err)
		}
	}
	t.Logf("%d objects read", objects)
}

func read(t *testing.T, name string, list []byte) ([]*kyaml.RNode, *kio.ByteReadWriter) {
	t.Helper()
	rw := &kio.ByteReadWriter{Reader: bytes.NewReader(list), Writer: new(bytes.Buffer), KeepReaderAnnotations: true}
	nodes, err := rw.Read()
	if err != nil {
		t.Fatalf("%s: kyaml refuses it: %v", name, err)
	}
	return nodes, rw
}
