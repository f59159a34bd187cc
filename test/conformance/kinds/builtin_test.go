package kinds

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
)

// templatesIn returns the paths of the pod templates that a type holds.
func templatesIn(typ reflect.Type, path string, seen []reflect.Type) []string {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch {
	case typ == reflect.TypeFor[corev1.PodTemplateSpec](), typ == reflect.TypeFor[corev1.Pod]():
		return []string{strings.TrimPrefix(path, ".")}
	case typ == reflect.TypeFor[corev1.Container](), typ == reflect.TypeFor[corev1.PodSpec]():
		return []string{"none, but a pod spec or container at " + path}
	case typ.Kind() == reflect.Slice:
		return templatesIn(typ.Elem(), path+"[]", seen)
	case typ.Kind() == reflect.Map:
		return templatesIn(typ.Elem(), path+"{}", seen)
	case typ.Kind() != reflect.Struct || slices.Contains(seen, typ):
		return nil
	}
	var found []string
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		at := path
		if name != "" {
			at += "." + name
		}
		found = append(found, templatesIn(f.Type, at, append(seen[:len(seen):len(seen)], typ))...)
	}
	return found
}

// TestEveryKindOfTheAPIServerIsInTheTable also keeps the list of those that make no pods, with
// which the tests of internal/workload compare the table.
func TestEveryKindOfTheAPIServerIsInTheTable(t *testing.T) {
	compared := 0
	var noPods []string
	for gvk, typ := range scheme.Scheme.AllKnownTypes() {
		object := reflect.New(typ).Interface()
		if _, ok := object.(runtime.Object); !ok || gvk.Version == runtime.APIVersionInternal || strings.HasSuffix(gvk.Kind, "List") ||
			strings.HasSuffix(gvk.Kind, "Options") || gvk.Group == "meta.k8s.io" || gvk.Kind == "WatchEvent" || gvk.Kind == "Status" || gvk.Version == "v1" && gvk.Group == "" && strings.HasPrefix(gvk.Kind, "API") {
			continue
		}
		compared++
		apiVersion := gvk.GroupVersion().String()
		want := templatesIn(typ, "", nil)
		s, err := manifest.Read("x", []byte("apiVersion: "+apiVersion+"\nkind: "+gvk.Kind+"\nspec:\n  x: [{livenessProbe: {httpGet: {}}}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		class := workload.Classify(s.Objects()[0], nil)
		kind := workload.KindOf(gvk.Group, gvk.Kind)
		if len(want) == 0 {
			noPods = append(noPods, apiVersion+" "+gvk.Kind+"\n")
			if class != workload.NoPods || kind != nil {
				t.Errorf("%s %s makes no pods, and its class is %v", apiVersion, gvk.Kind, class)
			}
			continue
		}
		if kind == nil || class != workload.Known {
			t.Errorf("%s %s has templates at %q, and its class is %v", apiVersion, gvk.Kind, want, class)
			continue
		}
		var have []string
		for _, p := range kind.Templates {
			have = append(have, p.String())
		}
		if !slices.Equal(have, want) || kind.Shape != (workload.Kind{}).Shape {
			t.Errorf("%s %s: templates at %q, want %q", apiVersion, gvk.Kind, have, want)
		}
	}
	if compared < 100 {
		t.Errorf("only %d kinds were compared", compared)
	}
	slices.Sort(noPods)
	golden.Compare(t, "../../../internal/workload/testdata/kinds_without_pods.txt", []byte(strings.Join(noPods, "")))
}
