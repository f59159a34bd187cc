package injector

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"istio.io/istio/pkg/kube/inject"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/generator"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/istio"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// mirrored lists, for each of the planner's types, the types of the API that it
// mirrors.
var mirrored = map[reflect.Type][]reflect.Type{
	reflect.TypeFor[pod.Template]():                {reflect.TypeFor[corev1.PodTemplateSpec](), reflect.TypeFor[corev1.Pod]()},
	reflect.TypeFor[field.Metadata]():              {reflect.TypeFor[metav1.ObjectMeta]()},
	reflect.TypeFor[pod.Spec]():                    {reflect.TypeFor[corev1.PodSpec]()},
	reflect.TypeFor[pod.OS]():                      {reflect.TypeFor[corev1.PodOS]()},
	reflect.TypeFor[pod.Affinity]():                {reflect.TypeFor[corev1.Affinity]()},
	reflect.TypeFor[pod.NodeAffinity]():            {reflect.TypeFor[corev1.NodeAffinity]()},
	reflect.TypeFor[pod.NodeSelector]():            {reflect.TypeFor[corev1.NodeSelector]()},
	reflect.TypeFor[pod.NodeSelectorTerm]():        {reflect.TypeFor[corev1.NodeSelectorTerm]()},
	reflect.TypeFor[pod.NodeSelectorRequirement](): {reflect.TypeFor[corev1.NodeSelectorRequirement]()},
	reflect.TypeFor[pod.SecurityContext]():         {reflect.TypeFor[corev1.PodSecurityContext](), reflect.TypeFor[corev1.SecurityContext]()},
	reflect.TypeFor[pod.Container]():               {reflect.TypeFor[corev1.Container]()},
	reflect.TypeFor[pod.ContainerPort]():           {reflect.TypeFor[corev1.ContainerPort]()},
	reflect.TypeFor[pod.EnvVar]():                  {reflect.TypeFor[corev1.EnvVar]()},
	reflect.TypeFor[pod.Probe]():                   {reflect.TypeFor[corev1.Probe]()},
	reflect.TypeFor[pod.Lifecycle]():               {reflect.TypeFor[corev1.Lifecycle]()},
	reflect.TypeFor[pod.Exec]():                    {reflect.TypeFor[corev1.ExecAction]()},
	reflect.TypeFor[pod.Sleep]():                   {reflect.TypeFor[corev1.SleepAction]()},
	reflect.TypeFor[pod.HTTPGet]():                 {reflect.TypeFor[corev1.HTTPGetAction]()},
	reflect.TypeFor[pod.HTTPHeader]():              {reflect.TypeFor[corev1.HTTPHeader]()},
	reflect.TypeFor[pod.TCPSocket]():               {reflect.TypeFor[corev1.TCPSocketAction]()},
	reflect.TypeFor[pod.GRPC]():                    {reflect.TypeFor[corev1.GRPCAction]()},
}

// jsonFields returns the fields of a struct by their JSON name, those of
// embedded structs among them.
func jsonFields(t reflect.Type) map[string]reflect.StructField {
	fields := make(map[string]reflect.StructField)
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			fields[name] = f
		}
	}
	return fields
}

func TestThePlannersTypesMirrorTheAPI(t *testing.T) {
	seen := make(map[reflect.Type]bool)
	compared := 0
	var walk func(ours reflect.Type)
	walk = func(ours reflect.Type) {
		if seen[ours] {
			return
		}
		seen[ours] = true
		if len(mirrored[ours]) == 0 {
			t.Errorf("%v mirrors no type of the API", ours)
		}
		for _, theirs := range mirrored[ours] {
			api := jsonFields(theirs)
			for name, f := range jsonFields(ours) {
				if ours == reflect.TypeFor[pod.Probe]() && len(f.Index) > 1 {
					continue // a handler: probes and hooks share them
				}
				compared++
				real, ok := api[name]
				switch {
				case !ok:
					t.Errorf("%v has %q, which %v has not", ours, name, theirs)
				case real.Name != f.Name && name != "metadata":
					t.Errorf("%v.%s is %s in %v", ours, f.Name, real.Name, theirs)
				default:
					sameKind(t, ours.Name()+"."+f.Name, f.Type, real.Type)
				}
			}
		}
		for _, f := range jsonFields(ours) {
			if inner := base(f.Type); inner.Kind() == reflect.Struct && inner != reflect.TypeFor[field.IntOrString]() && inner != reflect.TypeFor[pod.Handler]() {
				walk(inner)
			}
		}
	}
	walk(reflect.TypeFor[pod.Template]())
	for ours := range mirrored {
		walk(ours) // those of handlers are left
	}
	t.Logf("%d types, %d fields compared", len(seen), compared)
}

// ourStrings is the type of labels and annotations, which are a map in the API.
var ourStrings = reflect.TypeFor[field.KeyValues]()

// base returns the element type of pointers and slices.
func base(t reflect.Type) reflect.Type {
	if t == ourStrings {
		return reflect.TypeFor[map[string]string]()
	}
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// sameKind compares types, except for pointers, with which ours distinguish
// absent from empty, and the width of integers, since ours must hold values
// that the API would refuse.
func sameKind(t *testing.T, name string, ours, theirs reflect.Type) {
	t.Helper()
	for ours.Kind() == reflect.Pointer {
		ours = ours.Elem()
	}
	if ours == ourStrings {
		ours = reflect.TypeFor[map[string]string]()
	}
	for theirs.Kind() == reflect.Pointer {
		theirs = theirs.Elem()
	}
	integer := func(k reflect.Kind) bool { return k == reflect.Int32 || k == reflect.Int64 }
	switch {
	case ours == reflect.TypeFor[field.IntOrString]():
		if theirs != reflect.TypeFor[intstr.IntOrString]() && !integer(theirs.Kind()) {
			t.Errorf("%s is a number or a string, and %v in the API", name, theirs)
		}
	case ours == reflect.TypeFor[pod.Handler]():
		if theirs != reflect.TypeFor[corev1.LifecycleHandler]() {
			t.Errorf("%s is a handler, and %v in the API", name, theirs)
		}
	case integer(ours.Kind()) && integer(theirs.Kind()):
	case ours.Kind() != theirs.Kind():
		t.Errorf("%s is %v, and %v in the API", name, ours, theirs)
	case ours.Kind() == reflect.Slice:
		sameKind(t, name+"[]", ours.Elem(), theirs.Elem())
	case ours.Kind() == reflect.Map:
		sameKind(t, name+"{}", ours.Elem(), theirs.Elem())
	case ours.Kind() == reflect.Struct:
		for _, m := range mirrored[ours] {
			if m == theirs {
				return
			}
		}
		t.Errorf("%s is %v, which is not said to mirror %v", name, ours, theirs)
	}
}

// TestOurTypesHaveEveryFieldOfTheAPIsHandlers wants each field of a handler in the type
// that the planner and the env var's entries have: one that is missing would be lost
// where the handler is rewritten, and again where it is restored.
func TestOurTypesHaveEveryFieldOfTheAPIsHandlers(t *testing.T) {
	compared := 0
	for _, h := range []struct{ api, ours reflect.Type }{
		{reflect.TypeFor[corev1.HTTPGetAction](), reflect.TypeFor[prober.HTTPGet]()},
		{reflect.TypeFor[corev1.HTTPHeader](), reflect.TypeFor[prober.HTTPHeader]()},
		{reflect.TypeFor[corev1.TCPSocketAction](), reflect.TypeFor[prober.TCPSocket]()},
		{reflect.TypeFor[corev1.GRPCAction](), reflect.TypeFor[prober.GRPC]()},
	} {
		known := jsonFields(h.ours)
		for name, f := range jsonFields(h.api) {
			compared++
			if _, ok := known[name]; !ok {
				t.Errorf("%v.%s (%q) of the API is not in %v", h.api, f.Name, name, h.ours)
			}
		}
	}
	if compared < 6+2+2+3 { // what the four types have in Kubernetes 1.37
		t.Errorf("only %d fields were compared", compared)
	}
}

// A handler that the API gains must not be passed over silently.
func TestEveryHandlerOfTheAPIIsKnown(t *testing.T) {
	ours := jsonFields(reflect.TypeFor[pod.Handler]())
	all := make(map[string]bool)
	for _, theirs := range []reflect.Type{reflect.TypeFor[corev1.ProbeHandler](), reflect.TypeFor[corev1.LifecycleHandler]()} {
		for name, f := range jsonFields(theirs) {
			all[name] = true
			if _, ok := ours[name]; !ok {
				t.Errorf("%v.%s is not among the planner's handlers", theirs, f.Name)
				continue
			}
			sameKind(t, name, ours[name].Type, f.Type)
		}
	}
	for name := range ours {
		if !all[name] {
			t.Errorf("the planner's handler %q is none of the API", name)
		}
	}
	fields := jsonFields(reflect.TypeFor[pod.Lifecycle]())
	for name, f := range jsonFields(reflect.TypeFor[corev1.Lifecycle]()) {
		if _, ok := fields[name]; !ok && f.Type == reflect.TypeFor[*corev1.LifecycleHandler]() {
			t.Errorf("Lifecycle.%s is a hook that the planner does not know", f.Name)
		}
	}
	fields = jsonFields(reflect.TypeFor[pod.Container]())
	for name, f := range jsonFields(reflect.TypeFor[corev1.Container]()) {
		if _, ok := fields[name]; !ok && f.Type == reflect.TypeFor[*corev1.Probe]() {
			t.Errorf("Container.%s is a probe that the planner does not know", f.Name)
		}
	}
}

// TestNoFieldOfTheAPIsHandlersIsUnknown: a handler with a field that the
// planner does not know is left alone, so the planner must know all that the
// API has.
func TestNoFieldOfTheAPIsHandlersIsUnknown(t *testing.T) {
	planner, err := transformer.New(transformer.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, c := range []struct {
		field string // under which a value of the type is
		typ   reflect.Type
		wrap  func(field.Map) field.Map
	}{
		{"", reflect.TypeFor[corev1.Probe](), func(m field.Map) field.Map { return m }},
		{"httpGet", reflect.TypeFor[corev1.HTTPGetAction](), nil},
		{"tcpSocket", reflect.TypeFor[corev1.TCPSocketAction](), nil},
		{"grpc", reflect.TypeFor[corev1.GRPCAction](), nil},
		{"httpHeaders", reflect.TypeFor[corev1.HTTPHeader](), func(m field.Map) field.Map {
			return field.Map{{Key: "httpGet", Value: field.Map{{Key: "httpHeaders", Value: field.List{m}}}}}
		}},
	} {
		wrap := c.wrap
		if wrap == nil {
			wrap = func(m field.Map) field.Map { return field.Map{{Key: c.field, Value: m}} }
		}
		names := []string{"novel"}
		for name := range jsonFields(c.typ) {
			names = append(names, name)
		}
		for _, name := range names {
			container := field.Map{{Key: "name", Value: "app"}, {Key: "livenessProbe", Value: wrap(field.Map{{Key: name, Value: ""}})}}
			plan := planner.Plan(transformer.Input{
				Kind: "Deployment", APIVersion: "apps/v1", Path: field.NewPath("spec", "template"),
				Template: pod.Template{Spec: pod.Spec{Containers: []pod.Container{{
					Name:          "app",
					LivenessProbe: &pod.Probe{Handler: pod.Handler{HTTPGet: &pod.HTTPGet{Port: field.IntOrString{Int: 80}}}},
				}}}},
				Source: sourceOf(field.Map{{Key: "spec", Value: field.Map{{Key: "template", Value: field.Map{
					{Key: "spec", Value: field.Map{{Key: "containers", Value: field.List{container}}}}}}}}}),
			})
			if known := plan.Probes[0].Reason.String() != "handler-unknown"; known != (name != "novel") {
				t.Errorf("%v: known is %v for the field %q", c.typ, known, name)
			}
			compared++
		}
	}
	t.Logf("%d fields compared", compared)
}

// sourceOf returns an object as a source of its fields.
func sourceOf(object field.Map) transformer.Source {
	return func(path field.Path) (field.Value, bool) {
		var v field.Value = object
		for _, step := range path {
			switch at := v.(type) {
			case field.List:
				if !step.IsIndex || int(step.Index) >= len(at) {
					return nil, false
				}
				v = at[step.Index]
			case field.Map:
				next, found := at.Get(step.Key)
				if step.IsIndex || !found {
					return nil, false
				}
				v = next
			default:
				return nil, false
			}
		}
		return v, true
	}
}

func TestTheWireFormatIsIstiosByteForByte(t *testing.T) {
	compared := 0
	for seed := range workloads() {
		w := generator.New(seed + 1)
		theirs, ours := entriesOf(&w.Template.Spec)
		want, err := json.Marshal(theirs)
		if err != nil {
			t.Fatal(err)
		}
		got := prober.Encode(ours)
		if len(theirs) > 0 && got != string(want) {
			t.Fatalf("seed %d: we encode\n%s\nand Istio\n%s", w.Seed, got, want)
		}
		compared += len(theirs)
		for key, p := range ours {
			text, err := json.Marshal(map[string]any{key: p})
			if err != nil {
				t.Fatal(err)
			}
			decoded, bad, err := prober.Decode(string(text))
			if err != nil || len(bad) > 0 {
				t.Fatalf("seed %d: %s: %v %v", w.Seed, text, err, bad)
			}
			filled := prober.Encode(decoded)
			if _, err := istio.Probers(filled); err != nil {
				t.Fatalf("seed %d: Istio cannot decode %s: %v", w.Seed, filled, err)
			}
		}
	}
	t.Logf("%d entries compared", compared)
}

// entriesOf writes the handlers of a pod, those with numeric ports, as entries of
// Istio's types and of ours.
func entriesOf(spec *corev1.PodSpec) (inject.KubeAppProbers, map[string]*prober.Original) {
	theirs, ours := make(inject.KubeAppProbers), make(map[string]*prober.Original)
	for _, c := range spec.Containers {
		for probeType, p := range map[prober.ProbeType]*corev1.Probe{prober.Readiness: c.ReadinessProbe, prober.Liveness: c.LivenessProbe, prober.Startup: c.StartupProbe} {
			if p == nil {
				continue
			}
			key := prober.Key(c.Name, probeType)
			mine := &prober.Original{TimeoutSeconds: int(p.TimeoutSeconds)}
			switch {
			case p.HTTPGet != nil && p.HTTPGet.Port.Type == intstr.Int:
				mine.HTTPGet = &prober.HTTPGet{Path: p.HTTPGet.Path, Port: field.Number(p.HTTPGet.Port.IntVal), Host: p.HTTPGet.Host, Scheme: string(p.HTTPGet.Scheme)}
				if p.HTTPGet.Protocol != nil {
					mine.HTTPGet.Protocol = string(*p.HTTPGet.Protocol)
				}
				for _, h := range p.HTTPGet.HTTPHeaders {
					mine.HTTPGet.HTTPHeaders = append(mine.HTTPGet.HTTPHeaders, prober.HTTPHeader{Name: h.Name, Value: h.Value})
				}
			case p.TCPSocket != nil && p.TCPSocket.Port.Type == intstr.Int:
				mine.TCPSocket = &prober.TCPSocket{Port: field.Number(p.TCPSocket.Port.IntVal), Host: p.TCPSocket.Host}
			case p.GRPC != nil:
				mine.GRPC = &prober.GRPC{Port: field.Number(p.GRPC.Port), Service: p.GRPC.Service}
				if p.GRPC.Mode != nil {
					mine.GRPC.Mode = string(*p.GRPC.Mode)
				}
			default:
				continue
			}
			theirs[key] = &inject.Prober{HTTPGet: p.HTTPGet, TCPSocket: p.TCPSocket, GRPC: p.GRPC, TimeoutSeconds: p.TimeoutSeconds}
			ours[key] = mine
		}
	}
	return theirs, ours
}
