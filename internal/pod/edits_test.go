package pod

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/jsonpatch"
)

// httpGetOf returns the httpGet that fields in any form stand for.
func httpGetOf(form field.Map) *HTTPGet {
	h := &HTTPGet{Path: field.As[string](form, "path"), Scheme: field.As[string](form, "scheme"), Protocol: field.As[string](form, "protocol"), Host: field.As[string](form, "host")}
	if n, isNumber := form.Get("port"); isNumber {
		h.Port = field.IntOrString{Str: field.As[string](form, "port"), IsString: true}
		if n, ok := n.(int); ok {
			h.Port = field.Number(n)
		}
	}
	for _, v := range field.As[field.List](form, HeadersField) {
		h.HTTPHeaders = append(h.HTTPHeaders, HTTPHeader{Name: field.As[string](v.(field.Map), "name"), Value: field.As[string](v.(field.Map), "value")})
	}
	return h
}

// with returns a mapping with another value for a key; a nil removes it.
func with(m field.Map, key string, v field.Value) field.Map {
	return field.Merge(field.Merge(m, field.Map{{Key: key}}), field.Map{{Key: key, Value: v}})
}

// Whatever fields a request has, empty and null ones too, the edits bring each back as its author wrote it.
func TestTheEditsOfARequestBringBackWhatWasWritten(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	pick := func(values ...field.Value) field.Value { return values[rnd.IntN(len(values))] }
	absent := struct{}{}
	empty := 0
	for range 20000 {
		var form field.Map
		for _, i := range rnd.Perm(5) {
			key := []string{"path", "port", "scheme", "protocol", HeadersField}[i]
			v := []field.Value{
				pick(absent, "", nil, "/", "/x"), pick(80, "web"), pick(absent, "", nil, "HTTP", "HTTPS"), pick(absent, "", nil, "HTTP1", "HTTP2"),
				pick(absent, nil, field.List{}, headerList([]HTTPHeader{{Name: "A", Value: "x"}, {Name: "B"}})),
			}[i]
			if v != absent {
				form = append(form, field.Entry{Key: key, Value: v})
			}
			if v == nil || v == "" {
				empty++
			}
		}
		rewritten := with(with(form, "path", pick("/app", "/other")), "port", 15099)
		if field.As[string](form, "scheme") == "HTTPS" {
			rewritten = with(rewritten, "scheme", "HTTP")
		}
		if rnd.IntN(2) == 0 {
			rewritten = with(rewritten, "protocol", pick(nil, "HTTP1"))
		}
		if rnd.IntN(2) == 0 {
			rewritten = with(rewritten, HeadersField, headerList([]HTTPHeader{{Name: "Port", Value: "1"}}))
		}
		have, want := &Handler{HTTPGet: httpGetOf(rewritten)}, &Handler{HTTPGet: httpGetOf(form)}
		after, err := jsonpatch.Edited(field.Map{{Key: "httpGet", Value: rewritten}}, HandlerEdits(nil, have, want, form))
		if err != nil {
			t.Fatalf("%v to %v: %v", rewritten, form, err)
		}
		got := field.As[field.Map](after.(field.Map), "httpGet")
		// A null or an empty text that the rewriting has not touched stays as it was then.
		for _, e := range form {
			if old, _ := rewritten.Get(e.Key); e.Value == nil && old == nil || e.Value == "" && old == nil {
				got, form = with(got, e.Key, nil), with(form, e.Key, nil)
			}
		}
		if !field.Equal(got, form) {
			t.Fatalf("%v becomes %v, want %v", rewritten, got, form)
		}
	}
	if empty < 1000 {
		t.Errorf("only %d fields are empty", empty)
	}
}

// A field that is added comes to its place: a path before the port, a protocol before what followed it.
func TestHandlerEdits_places(t *testing.T) {
	at := field.NewPath("p", "httpGet")
	form := field.Map{{Key: "protocol", Value: "HTTP2"}, {Key: "port", Value: 80}, {Key: "path", Value: "/x"}, {Key: "scheme", Value: "HTTP"}}
	have := &Handler{HTTPGet: &HTTPGet{Port: field.Number(15099)}}
	want := &Handler{HTTPGet: &HTTPGet{Path: "/x", Port: field.Number(80), Scheme: "HTTP", Protocol: "HTTP2"}}
	edits := func(before string) []field.Edit {
		return []field.Edit{
			{Op: field.Set, Path: at.Key("port"), Value: 80}, {Op: field.Set, Path: at.Key("path"), Before: "port", Value: "/x"},
			{Op: field.Set, Path: at.Key("scheme"), Value: "HTTP"}, {Op: field.Set, Path: at.Key("protocol"), Before: before, Value: "HTTP2"},
		}
	}
	for before, form := range map[string]field.Map{"port": form, "": nil, "scheme": {form[1], form[0], form[3], form[2]}} {
		if d := cmp.Diff(edits(before), HandlerEdits(field.NewPath("p"), have, want, form)); d != "" {
			t.Errorf("%v: -want +got\n%s", form, d)
		}
	}
	// A handler of another type is written in its form.
	for _, form := range []field.Map{nil, form} {
		value := form
		if form == nil {
			value = want.Value()
		}
		rename := []field.Edit{{Op: field.Rename, Path: field.NewPath("p", "tcpSocket"), NewKey: "httpGet", Value: value}}
		if d := cmp.Diff(rename, HandlerEdits(field.NewPath("p"), &Handler{TCPSocket: &TCPSocket{}}, want, form)); d != "" {
			t.Errorf("%v: -want +got\n%s", form, d)
		}
	}
	for _, c := range [][2]string{{"protocol", "port"}, {"port", "path"}, {"path", "scheme"}, {"scheme", ""}, {"host", ""}} {
		if got := Following(form, c[0]); got != c[1] {
			t.Errorf("%s follows %s, want %s", got, c[0], c[1])
		}
	}
	if got := Following(nil, "a"); got != "" {
		t.Errorf("%s follows in nothing", got)
	}
}
