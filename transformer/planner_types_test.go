package transformer

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// Every probe type is a field of a container or its lifecycle, and is planned.
func TestEveryProbeTypeIsPlanned(t *testing.T) {
	c := pod.Container{Lifecycle: new(pod.Lifecycle)}
	fill := func(v reflect.Value) (fields []string) {
		for i := range v.NumField() {
			switch f := v.Field(i).Addr().Interface().(type) {
			case **pod.Probe:
				*f = new(pod.Probe)
			case **pod.Handler:
				*f = new(pod.Handler)
			default:
				continue
			}
			fields = append(fields, v.Type().Field(i).Tag.Get("json"))
		}
		return fields
	}
	fields := append(fill(reflect.ValueOf(&c).Elem()), fill(reflect.ValueOf(c.Lifecycle).Elem())...)
	var planned, known []string
	for _, s := range sitesOf(nil, pod.Ref{}, &c) {
		planned = append(planned, s.path[len(s.path)-1].Key)
		if hook := s.path[2].Key == "lifecycle"; hook != s.name.IsHook() {
			t.Errorf("%s is a hook: %v", s.path, s.name.IsHook())
		}
	}
	for _, name := range prober.ProbeTypes() {
		known = append(known, name.Field())
	}
	for what, got := range map[string][]string{"the planner": planned, "prober": known} {
		if d := cmp.Diff(slices.Sorted(slices.Values(fields)), slices.Sorted(slices.Values(got))); d != "" {
			t.Errorf("the API's fields (-) and those of %s (+):\n%s", what, d)
		}
	}
}
