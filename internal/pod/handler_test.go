package pod

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/jsonpatch"
)

// Another form of rewritten probes may say something in headers.
func TestHeadersOfARewrittenProbeAreWrittenAndTakenBack(t *testing.T) {
	path := field.NewPath("livenessProbe")
	tcp := &Handler{TCPSocket: &TCPSocket{Port: field.IntOrString{Int: 5}, Host: "h"}}
	bare := &Handler{HTTPGet: &HTTPGet{Path: "/x", Port: field.IntOrString{Int: 6}}}
	full := &Handler{HTTPGet: &HTTPGet{Path: "/x", Port: field.IntOrString{Int: 6}, Scheme: "HTTP", HTTPHeaders: []HTTPHeader{{Name: "Port", Value: "5"}}}}
	headers := field.List{field.Map{{Key: "name", Value: "Port"}, {Key: "value", Value: "5"}}}
	for _, c := range []struct {
		have, want *Handler
		edits      []field.Edit
	}{
		{tcp, full, []field.Edit{{Op: field.Rename, Path: path.Key("tcpSocket"), NewKey: "httpGet", Value: field.Map{
			{Key: "path", Value: "/x"}, {Key: "port", Value: 6}, {Key: "scheme", Value: "HTTP"}, {Key: "httpHeaders", Value: headers}}}}},
		{full, tcp, []field.Edit{{Op: field.Rename, Path: path.Key("httpGet"), NewKey: "tcpSocket", Value: field.Map{{Key: "port", Value: 5}, {Key: "host", Value: "h"}}}}},
		{bare, full, []field.Edit{
			{Op: field.Set, Path: path.Key("httpGet", "scheme"), Value: "HTTP"},
			{Op: field.Set, Path: path.Key("httpGet", "httpHeaders"), Value: headers}}},
		{full, bare, []field.Edit{{Op: field.Delete, Path: path.Key("httpGet", "httpHeaders")}}},
		{tcp, tcp, nil},
	} {
		if d := cmp.Diff(c.edits, HandlerEdits(path, c.have, c.want, nil)); d != "" {
			t.Errorf("%s to %s: -want +got\n%s", c.have, c.want, d)
		}
	}
}

// Whatever headers there are, the edits make those that are wanted of them, in their order.
func TestTheEditsOfHeadersMakeThoseThatAreWanted(t *testing.T) {
	rnd := rand.New(rand.NewPCG(17, 18))
	draw := func() (headers []HTTPHeader) {
		for range rnd.IntN(5) {
			headers = append(headers, HTTPHeader{Name: string(rune('A' + rnd.IntN(3))), Value: string(rune('x' + rnd.IntN(2)))})
		}
		return headers
	}
	kept := 0
	for range 5000 {
		have := &Handler{HTTPGet: &HTTPGet{Path: "/", Port: field.Number(80), HTTPHeaders: draw()}}
		want := &Handler{HTTPGet: &HTTPGet{Path: "/", Port: field.Number(80), HTTPHeaders: draw()}}
		probe := field.Map{{Key: "httpGet", Value: have.Value()}}
		after, err := jsonpatch.Edited(probe, HandlerEdits(nil, have, want, nil))
		if wanted := (field.Map{{Key: "httpGet", Value: want.Value()}}); err != nil || !field.Equal(after, wanted) {
			t.Fatalf("%v to %v: %s %v", have.HTTPGet.HTTPHeaders, want.HTTPGet.HTTPHeaders, field.AppendJSON(nil, after), err)
		}
		if n := len(have.HTTPGet.HTTPHeaders); n > 0 && n < len(want.HTTPGet.HTTPHeaders) {
			kept++
		}
	}
	if kept < 500 {
		t.Errorf("%d lists become longer", kept)
	}
}

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
	entries := reflect.TypeFor[prober.Original]()
	for _, f := range reflect.VisibleFields(entries) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "timeoutSeconds" {
			continue
		}
		if !slices.Contains(DialingHandlers(), name) {
			t.Errorf("the env var's entries have %s, and no row that dials has", name)
			continue
		}
		p := new(prober.Original)
		entry := reflect.New(f.Type.Elem())
		entry.Elem().FieldByName("Port").Set(reflect.ValueOf(field.Number(8080)))
		reflect.ValueOf(p).Elem().FieldByIndex(f.Index).Set(entry)
		h := HandlerOf(p, &HTTPGet{})
		if h.Kind() != name {
			t.Errorf("the entry for %s becomes %s", name, h)
		}
		if port, _ := h.Endpoint(); *port != field.Number(8080) {
			t.Errorf("%s dials %s", name, port)
		}
		if written, _ := h.Value().Get("port"); written != 8080 {
			t.Errorf("%s is written with the port %v", name, written)
		}
		again := h.Entry(field.Number(8080))
		if reflect.ValueOf(again).Elem().FieldByIndex(f.Index).IsNil() {
			t.Errorf("the handler %s becomes the entry %s", name, again)
		}
	}
	if n := entries.NumField() - 1; n != len(DialingHandlers()) {
		t.Errorf("%d handlers are entries of the env var, and %v dial", n, DialingHandlers())
	}
}

func TestAPortNameIsTakenAsItIsWritten(t *testing.T) {
	c := &Container{Name: "app", Ports: []ContainerPort{{Name: "Web", ContainerPort: 1}, {Name: "web", ContainerPort: 2}, {ContainerPort: 3}, {Name: "web", ContainerPort: 4}}}
	for name, want := range map[string]int{"Web": 1, "web": 2, "WEB": 0, "": 0} {
		h := &Handler{TCPSocket: &TCPSocket{Port: field.IntOrString{Str: name, IsString: true}}}
		if got, err := h.Resolve(c); got != want || (err == nil) != (want != 0) {
			t.Errorf("%q is %d: %v", name, got, err)
		}
	}
}
