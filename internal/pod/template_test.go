package pod

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A field of the API's types that is not known here leaves its probe as it is; what is known are theirs.
func TestTheFieldsOfProbesAreThoseOfTheAPI(t *testing.T) {
	apiFields := func(typ reflect.Type) (names []string) {
		for _, f := range reflect.VisibleFields(typ) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names
	}
	value := func(names []string, but string) (m field.Map) {
		for _, name := range names {
			if name != but {
				m = append(m, field.Entry{Key: name, Value: "x"})
			}
		}
		return m
	}
	probe := apiFields(reflect.TypeFor[corev1.Probe]())
	if path, _ := UnknownField(value(probe, "")); path != nil {
		t.Errorf("a probe's field %s is not known", path)
	}
	for name, typ := range map[string]reflect.Type{"httpGet": reflect.TypeFor[corev1.HTTPGetAction](), "tcpSocket": reflect.TypeFor[corev1.TCPSocketAction](), "grpc": reflect.TypeFor[corev1.GRPCAction]()} {
		api := value(apiFields(typ), HeadersField)
		if path, _ := UnknownField(field.Map{{Key: name, Value: api}}); path != nil {
			t.Errorf("the field %s is not known", path)
		}
	}
	header := value(apiFields(reflect.TypeFor[corev1.HTTPHeader]()), "")
	if path, _ := UnknownField(field.Map{{Key: "httpGet", Value: field.Map{{Key: HeadersField, Value: field.List{header}}}}}); path != nil {
		t.Errorf("the field %s is not known", path)
	}
}

func TestTheFirstFieldThatIsNotKnownIsNamed(t *testing.T) {
	get := func(m ...field.Entry) field.Entry { return field.Entry{Key: "httpGet", Value: field.Map(m)} }
	known := field.Map{{Key: "name", Value: "a"}, {Key: "value", Value: "b"}}
	odd := field.Map{{Key: "name", Value: "a"}, {Key: "valueFrom", Value: "b"}}
	for _, c := range []struct {
		probe field.Map
		path  string
		known string // one of the fields that are known there, which no other has
	}{
		{nil, "", ""},
		{field.Map{get(field.Entry{Key: "port", Value: 1}, field.Entry{Key: HeadersField, Value: field.List{known, known}}), {Key: "terminationGracePeriodSeconds", Value: 1}}, "", ""},
		{field.Map{get(field.Entry{Key: "method", Value: "GET"}), {Key: "jitter", Value: 1}}, "jitter", "periodSeconds"},
		{field.Map{get(field.Entry{Key: "method", Value: "GET"})}, "httpGet.method", "scheme"},
		{field.Map{get(field.Entry{Key: "method", Value: nil}), {Key: "jitter", Value: nil}}, "", ""},
		{field.Map{{Key: "tcpSocket", Value: field.Map{{Key: "tls", Value: true}}}}, "tcpSocket.tls", "host"},
		{field.Map{{Key: "grpc", Value: field.Map{{Key: "authority", Value: "x"}}}}, "grpc.authority", "service"},
		{field.Map{get(field.Entry{Key: HeadersField, Value: field.List{known, odd, odd}})}, "httpGet.httpHeaders[1].valueFrom", "value"},
		{field.Map{get(field.Entry{Key: HeadersField, Value: field.List{"x", nil, field.Map{{Key: "valueFrom", Value: nil}}}})}, "", ""},
		{field.Map{{Key: "exec", Value: field.Map{{Key: "shell", Value: "x"}}}, {Key: "sleep", Value: field.Map{{Key: "jitter", Value: 1}}}}, "", ""},
		{field.Map{{Key: "httpGet", Value: "text"}, {Key: "grpc", Value: nil}}, "", ""},
	} {
		path, fields := UnknownField(c.probe)
		if path.String() != c.path || (c.known == "") != (fields == nil) || c.known != "" && !slices.Contains(fields, c.known) {
			t.Errorf("%v: %s among %q, want %s", c.probe, path, fields, c.path)
		}
	}
}

// A pod is for Windows if it can run on no other node.
func TestAPodIsForWindowsIfNoOtherNodeFits(t *testing.T) {
	is := func(key, operator string, values ...string) NodeSelectorRequirement {
		return NodeSelectorRequirement{Key: key, Operator: operator, Values: values}
	}
	term := func(all ...NodeSelectorRequirement) NodeSelectorTerm {
		return NodeSelectorTerm{MatchExpressions: all}
	}
	const os, beta = "kubernetes.io/os", "beta.kubernetes.io/os"
	windows, linux, both := term(is(os, "In", "windows")), term(is(os, "In", "linux")), term(is(os, "In", "windows", "linux"))
	for _, c := range []struct {
		want  bool
		terms []NodeSelectorTerm
	}{
		{false, nil}, {true, []NodeSelectorTerm{windows}}, {false, []NodeSelectorTerm{linux}}, {false, []NodeSelectorTerm{both}}, {false, []NodeSelectorTerm{windows, linux}}, {false, []NodeSelectorTerm{linux, windows}}, {true, []NodeSelectorTerm{windows, windows}},
		{true, []NodeSelectorTerm{term(is("zone", "In", "a"), is(beta, "In", "windows"))}}, {false, []NodeSelectorTerm{term(is(os, "NotIn", "windows"))}}, {false, []NodeSelectorTerm{term(is("zone", "In", "windows"))}}, {false, []NodeSelectorTerm{term()}}, {false, []NodeSelectorTerm{term(is(os, "Exists"))}},
		{true, []NodeSelectorTerm{term(is(os, "In", "linux", "windows"), is(os, "In", "windows"))}},
	} {
		spec := Spec{Affinity: Affinity{NodeAffinity{NodeSelector{c.terms}}}}
		if got := IsWindows(&spec); got != c.want {
			t.Errorf("%v: %t", c.terms, got)
		}
	}
	for _, c := range []struct {
		want bool
		spec Spec
	}{
		{false, Spec{}}, {true, Spec{OS: &OS{"windows"}}}, {false, Spec{OS: &OS{"linux"}}}, {true, Spec{RuntimeClassName: "windows"}}, {true, Spec{RuntimeClassName: "windows-2019"}}, {false, Spec{RuntimeClassName: "not-windows"}},
		{true, Spec{NodeSelector: field.KeyValues{{Key: "a", Value: "b"}, {Key: os, Value: "windows"}}}}, {true, Spec{NodeSelector: field.KeyValues{{Key: beta, Value: "windows"}}}}, {false, Spec{NodeSelector: field.KeyValues{{Key: os, Value: "linux"}}}},
		{true, Spec{NodeSelector: field.KeyValues{{Key: "node.kubernetes.io/windows-build", Value: "10.0.17763"}}}}, {false, Spec{NodeSelector: field.KeyValues{{Key: "node.kubernetes.io/windows-build", Value: ""}}}}, {false, Spec{NodeSelector: field.KeyValues{{Key: "zone", Value: "windows"}}}},
		{true, Spec{OS: &OS{"linux"}, NodeSelector: field.KeyValues{{Key: os, Value: "windows"}}}},
	} {
		if got := IsWindows(&c.spec); got != c.want {
			t.Errorf("%+v: %t", c.spec, got)
		}
	}
	if got := WindowsLabels(); !slices.Equal(slices.Sorted(slices.Values(got)), []string{beta, os, "node.kubernetes.io/windows-build"}) {
		t.Errorf("the labels are %q", got)
	}
	WindowsLabels()[1] = "changed"
	if spec := (Spec{NodeSelector: field.KeyValues{{Key: os, Value: "windows"}}}); !IsWindows(&spec) || slices.Contains(WindowsLabels(), "changed") {
		t.Error("who changes the labels changes what they mean")
	}
}

func TestContainersAreWalkedInTheirOrder(t *testing.T) {
	spec := &Spec{InitContainers: []Container{{Name: "a", RestartPolicy: "Always"}, {Name: "b"}}, Containers: []Container{{Name: "c", RestartPolicy: "Always"}, {Name: "d"}}}
	for stop := range 5 {
		var got []string
		for at, c := range spec.All() {
			got = append(got, fmt.Sprintf("%s[%d]%s %t", at.List(), at.Index, c.Name, IsSidecar(at, c)))
			if c.Image = "seen"; len(got) == stop {
				break
			}
		}
		want := []string{"initContainers[0]a true", "initContainers[1]b false", "containers[0]c false", "containers[1]d false"}
		if stop > 0 {
			want = want[:stop]
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if spec.Containers[1].Image != "seen" || !slices.Equal(Names(spec.All()), []string{"a", "b", "c", "d"}) {
		t.Errorf("the containers are copies, or %q", Names(spec.All()))
	}
	c := &Container{Ports: []ContainerPort{{ContainerPort: 80}, {Name: "x", ContainerPort: 81}}, Env: []EnvVar{{Name: "A"}, {Name: "B"}, {Name: "A", Value: ptr("x")}}}
	if !c.Declares(80) || !c.Declares(81) || c.Declares(0) || c.Declares(82) || !slices.Equal(c.EnvVars("A"), []int{0, 2}) || c.EnvVars("C") != nil {
		t.Errorf("%+v declares other ports, or has other env vars: %v", c, c.EnvVars("A"))
	}
}

// The types mirror those of the API: each field has the name of one there, in the same place, and reads what that reads.
func TestTheTypesMirrorThoseOfTheAPI(t *testing.T) {
	fields := 0
	var compare func(at string, ours, theirs reflect.Type)
	compare = func(at string, ours, theirs reflect.Type) {
		for ours != reflect.TypeFor[field.KeyValues]() && (ours.Kind() == reflect.Pointer || ours.Kind() == reflect.Slice) {
			isList := ours.Kind() == reflect.Slice
			ours = ours.Elem()
			if theirs.Kind() == reflect.Pointer && !isList || theirs.Kind() == reflect.Slice && isList {
				theirs = theirs.Elem()
			} else if isList {
				t.Errorf("%s is a list here, and %s in the API", at, theirs)
				return
			}
		}
		if theirs.Kind() == reflect.Pointer {
			theirs = theirs.Elem()
		}
		switch {
		case ours == reflect.TypeFor[field.KeyValues](): // labels and the like
			if theirs.Kind() != reflect.Map {
				t.Errorf("%s is a mapping here, and %s in the API", at, theirs)
			}
			return
		case ours == reflect.TypeFor[field.IntOrString]() || ours.Kind() != reflect.Struct:
			isText := ours.Kind() == reflect.String
			if isText != (theirs.Kind() == reflect.String) || (ours.Kind() == reflect.Bool) != (theirs.Kind() == reflect.Bool) {
				t.Errorf("%s is a %s here, and %s in the API", at, ours, theirs)
			}
			return
		}
		named := make(map[string]reflect.Type)
		for _, f := range reflect.VisibleFields(theirs) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			named[name] = f.Type
		}
		seen := make(map[string]bool)
		for _, f := range reflect.VisibleFields(ours) {
			if f.Anonymous {
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			api, known := named[name]
			isNewer := name == "protocol" && f.Name == "Protocol" || name == "mode" && f.Name == "Mode"
			isOther := theirs == reflect.TypeFor[corev1.Probe]() && name == "sleep" || theirs == reflect.TypeFor[corev1.LifecycleHandler]() && name == "grpc"
			if !known && (isNewer || isOther) { // probes and hooks have one type here
				continue
			}
			if !known || name == "" || seen[name] || !strings.EqualFold(name, f.Name) {
				t.Errorf("%s.%s has the name %q, which the API's %s has not, or twice", at, f.Name, name, theirs)
				continue
			}
			seen[name] = true
			fields++
			compare(at+"."+name, f.Type, api)
		}
	}
	compare("template", reflect.TypeFor[Template](), reflect.TypeFor[corev1.PodTemplateSpec]())
	if fields < 60 {
		t.Errorf("only %d fields are compared", fields)
	}
}
