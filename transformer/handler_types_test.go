package transformer

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// Every handler of the API's types has its row, and every row that dials is an
// entry of the env var, from which the same handler comes back.
func TestEveryHandlerHasARow(t *testing.T) {
	var rows []string
	for i := range handlerTypes {
		rows = append(rows, handlerTypes[i].name)
	}
	if d := cmp.Diff(fieldsOf[Handler](), rows); d != "" {
		t.Errorf("the fields of Handler (-) and the rows (+):\n%s", d)
	}
	want := []string{"exec", "httpGet", "tcpSocket", "grpc", "sleep"}
	if d := cmp.Diff(want, rows); d != "" {
		t.Errorf("a message names the handlers %s", d)
	}
	entries := reflect.TypeFor[prober.Prober]()
	for _, f := range reflect.VisibleFields(entries) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "timeoutSeconds" {
			continue
		}
		if !slices.Contains(DialingHandlers(), name) {
			t.Errorf("the env var's entries have %s, and no row that dials has", name)
			continue
		}
		p := new(prober.Prober)
		entry := reflect.New(f.Type.Elem())
		entry.Elem().FieldByName("Port").Set(reflect.ValueOf(field.Number(8080)))
		reflect.ValueOf(p).Elem().FieldByIndex(f.Index).Set(entry)
		h := handlerOf(p, &HTTPGet{})
		if h.Kind() != name {
			t.Errorf("the entry for %s becomes %s", name, h)
		}
		if port, _ := h.endpoint(); *port != field.Number(8080) {
			t.Errorf("%s dials %s", name, port)
		}
		if written, _ := h.Value().Get("port"); written != 8080 {
			t.Errorf("%s is written with the port %v", name, written)
		}
		again := h.entry(field.Number(8080))
		if reflect.ValueOf(again).Elem().FieldByIndex(f.Index).IsNil() {
			t.Errorf("the handler %s becomes the entry %s", name, again)
		}
	}
	if n := entries.NumField() - 1; n != len(DialingHandlers()) {
		t.Errorf("%d handlers are entries of the env var, and %v dial", n, DialingHandlers())
	}
}

// Every probe type is a field of a container or its lifecycle, and is planned.
func TestEveryProbeTypeIsPlanned(t *testing.T) {
	c := Container{Lifecycle: new(Lifecycle)}
	fill := func(v reflect.Value) (fields []string) {
		for i := range v.NumField() {
			switch f := v.Field(i).Addr().Interface().(type) {
			case **Probe:
				*f = new(Probe)
			case **Handler:
				*f = new(Handler)
			default:
				continue
			}
			fields = append(fields, v.Type().Field(i).Tag.Get("json"))
		}
		return fields
	}
	fields := append(fill(reflect.ValueOf(&c).Elem()), fill(reflect.ValueOf(c.Lifecycle).Elem())...)
	var planned, known []string
	for _, s := range sitesOf(nil, containerRef{}, &c) {
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
