package pod

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

func named(name string) field.IntOrString { return field.IntOrString{Str: name, IsString: true} }

func ptr(s string) *string { return &s }

// A port is a number, or has a name among the ports of its own container. What is wrong says what to do.
func TestAPortIsResolvedAsTheKubeletDoes(t *testing.T) {
	c := &Container{Name: "app", Ports: []ContainerPort{{ContainerPort: 7}, {Name: "web", ContainerPort: 8080}, {Name: "zero"}, {Name: "far", ContainerPort: 65536}, {Name: "dns", ContainerPort: 53, Protocol: "UDP"}}}
	bare := &Container{Name: "bare", Ports: []ContainerPort{{ContainerPort: 7}}}
	const all = "Write `web`, `zero`, `far`, `dns` or a number"
	type want struct {
		port     int
		why, fix string
	}
	for _, tt := range []struct {
		c          *Container
		port       field.IntOrString
		http, grpc want
	}{
		{c, field.Number(1), want{port: 1}, want{port: 1}},
		{c, field.Number(65535), want{port: 65535}, want{port: 65535}},
		{c, field.Number(0), want{why: "the port is missing or 0"}, want{why: "the port is missing or 0"}},
		{c, field.Number(65536), want{why: "the port 65536 is not from 1 to 65535"}, want{why: "the port 65536 is not from 1 to 65535"}},
		{c, field.Number(-1), want{why: "the port -1 is not from 1 to 65535"}, want{why: "the port -1 is not from 1 to 65535"}},
		{c, named("web"), want{port: 8080}, want{why: `the API server refuses the port name "web" in a grpc probe`, fix: "Write the number, 8080"}},
		{c, named("dns"), want{port: 53}, want{why: `the API server refuses the port name "dns" in a grpc probe`, fix: "Write the number, 53"}},
		{c, named("zero"), want{why: "the port is missing or 0"}, want{why: "the port is missing or 0"}},
		{c, named("far"), want{why: "the port 65536 is not from 1 to 65535"}, want{why: "the port 65536 is not from 1 to 65535"}},
		{c, named("8080"), want{why: `the API server refuses the string "8080" as a port`, fix: "Write the number without quotes"}, want{why: `the API server refuses the string "8080" as a port`, fix: "Write the number without quotes"}},
		{c, named("80a"), want{why: `container "app" has no port "80a"`, fix: all + `, or declare "80a" under ` + "`ports`"}, want{why: `container "app" has no port "80a"`, fix: all + `, or declare "80a" under ` + "`ports`"}},
		{c, named(""), want{why: `container "app" has no port ""`, fix: all}, want{why: `container "app" has no port ""`, fix: all}},
		{bare, named("x"), want{why: `container "bare" has no port "x"`, fix: `Write a number, or declare "x" under ` + "`ports`"}, want{why: `container "bare" has no port "x"`, fix: `Write a number, or declare "x" under ` + "`ports`"}},
		{bare, named("${PORT}"), want{why: `the port "${PORT}" looks like it has a variable`, fix: "Run rewrite-probes after the substitution"}, want{why: `the port "${PORT}" looks like it has a variable`, fix: "Run rewrite-probes after the substitution"}},
	} {
		for kind, h := range map[string]*Handler{"httpGet": {HTTPGet: &HTTPGet{Port: tt.port}}, "tcpSocket": {TCPSocket: &TCPSocket{Port: tt.port}}, "grpc": {GRPC: &GRPC{Port: tt.port}}} {
			wanted := tt.http
			if kind == "grpc" {
				wanted = tt.grpc
			}
			n, err := h.Resolve(tt.c)
			got := want{port: n}
			if err != nil {
				got.why = err.Error()
			}
			if u, is := errors.AsType[UnknownPort](err); is {
				got.fix = u.Fix
			} else if _, is := errors.AsType[OutOfRange](err); err != nil && !is {
				t.Errorf("%s %s: the error is a %T", kind, tt.port, err)
			}
			if got != wanted {
				t.Errorf("%s %s of %s: %+v, want %+v", kind, tt.port, tt.c.Name, got, wanted)
			}
		}
	}
	for _, h := range []*Handler{{}, {Exec: &Exec{}}, {Sleep: &Sleep{}}} {
		if n, err := h.Resolve(c); n != 0 || err != nil || h.Dials() {
			t.Errorf("%s dials the port %d, %v", h, n, err)
		}
	}
}

func TestWhatWillBeSubstitutedIsKnown(t *testing.T) {
	for text, want := range map[string]bool{"": false, "${A}": true, "a-${B:-c}d": true, "$A": false, "$(A)": false, "${A": false, "}${A": false, "$ {A}": false, "{A}": false, "${}": true} {
		if got := IsVariable(text); got != want {
			t.Errorf("%q has a variable: %t", text, got)
		}
	}
	for text, want := range map[string]bool{"": false, "shop": false, "shop-1": false, "0": false, "az09-": false, "${NS}": true, "$(NS)": true, "<ns>": true, "REPLACE_ME": true, "Shop": true, "shop.a": true, "shop_a": true, "é": true, " ": true} {
		if got := IsPlaceholder(text); got != want {
			t.Errorf("%q is a placeholder: %t", text, got)
		}
	}
}

func TestAHandlerIsDescribedInAFewWords(t *testing.T) {
	for want, h := range map[string]*Handler{
		"no handler":             {},
		"several handlers":       {Exec: &Exec{}, HTTPGet: &HTTPGet{Port: field.Number(1)}},
		"exec":                   {Exec: &Exec{Command: []string{"a"}}},
		"sleep":                  {Sleep: &Sleep{Seconds: 3}},
		"httpGet :80/":           {HTTPGet: &HTTPGet{Port: field.Number(80)}},
		"httpGet https h:443/a":  {HTTPGet: &HTTPGet{Port: field.Number(443), Path: "a", Host: "h", Scheme: "https"}},
		"httpGet https :web//a":  {HTTPGet: &HTTPGet{Port: named("web"), Path: "//a", Scheme: "HTTPS"}},
		"httpGet :<no port>/a?b": {HTTPGet: &HTTPGet{Path: "/a?b", Scheme: "HTTP"}},
		"tcpSocket h:http":       {TCPSocket: &TCPSocket{Port: named("http"), Host: "h"}},
		"tcpSocket :":            {TCPSocket: &TCPSocket{Port: named("")}},
		"tcpSocket :<no port>":   {TCPSocket: &TCPSocket{}},
		"grpc :9090":             {GRPC: &GRPC{Port: field.Number(9090), Service: ptr("")}},
		"grpc :9090 shop":        {GRPC: &GRPC{Port: field.Number(9090), Service: ptr("shop"), Mode: "TLS"}},
	} {
		if got := h.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What a handler is becomes an entry with the API's defaults, and a value without them.
func TestAHandlerIsAnEntryAndAValue(t *testing.T) {
	headers := []HTTPHeader{{Name: "B", Value: "x"}, {Name: "A", Value: ""}}
	list := field.List{field.Map{{Key: "name", Value: "B"}, {Key: "value", Value: "x"}}, field.Map{{Key: "name", Value: "A"}, {Key: "value", Value: ""}}}
	port := field.Number(7)
	for _, c := range []struct {
		h         *Handler
		entry     *prober.Original
		value     field.Map
		key, text string
	}{
		{&Handler{HTTPGet: &HTTPGet{Port: named("web"), Host: "h", HTTPHeaders: headers}}, &prober.Original{HTTPGet: &HTTPGet{Path: "/", Port: port, Scheme: "HTTP"}},
			field.Map{{Key: "path", Value: ""}, {Key: "port", Value: "web"}, {Key: "host", Value: "h"}, {Key: "httpHeaders", Value: list}}, "path", ""},
		{&Handler{HTTPGet: &HTTPGet{Port: field.Number(80), Path: "/a", Scheme: "HTTPS", Protocol: "HTTP1"}}, &prober.Original{HTTPGet: &HTTPGet{Path: "/a", Port: port, Scheme: "HTTPS", Protocol: "HTTP1"}},
			field.Map{{Key: "path", Value: "/a"}, {Key: "port", Value: 80}, {Key: "scheme", Value: "HTTPS"}, {Key: "protocol", Value: "HTTP1"}}, "path", "/a"},
		{&Handler{TCPSocket: &TCPSocket{Port: named("db"), Host: "h"}}, &prober.Original{TCPSocket: &TCPSocket{Port: port}}, field.Map{{Key: "port", Value: "db"}, {Key: "host", Value: "h"}}, "", ""},
		{&Handler{GRPC: &GRPC{Port: field.Number(9)}}, &prober.Original{GRPC: &GRPC{Port: port, Service: ptr("")}}, field.Map{{Key: "port", Value: 9}}, "", ""},
		{&Handler{GRPC: &GRPC{Port: field.Number(9), Service: ptr("s"), Mode: "TLS"}}, &prober.Original{GRPC: &GRPC{Port: port, Service: ptr("s"), Mode: "TLS"}},
			field.Map{{Key: "port", Value: 9}, {Key: "service", Value: "s"}, {Key: "mode", Value: "TLS"}}, "service", "s"},
	} {
		if d := cmp.Diff(c.entry, c.h.Entry(port)); d != "" {
			t.Errorf("%s as an entry, -want +got\n%s", c.h, d)
		}
		if d := cmp.Diff(c.value, c.h.Value()); d != "" {
			t.Errorf("%s as a value, -want +got\n%s", c.h, d)
		}
		if key, text := c.h.Carried(); key != c.key || text != c.text {
			t.Errorf("%s carries %q %q", c.h, key, text)
		}
	}
	exec := &Handler{Exec: &Exec{Command: []string{"a", "b c"}}}
	if d := cmp.Diff(field.Map{{Key: "command", Value: field.List{"a", "b c"}}}, exec.Value()); d != "" {
		t.Errorf("exec as a value, -want +got\n%s", d)
	}
	if h := (&HTTPGet{HTTPHeaders: []HTTPHeader{{Name: "a", Value: "1"}, {Name: "X-b", Value: "2"}, {Name: "x-B", Value: "3"}}}); HeaderIn(h, "x-B") != "2" || HeaderIn(h, "A") != "1" || HeaderIn(h, "c") != "" {
		t.Errorf("headers are %q, %q, %q", HeaderIn(h, "x-B"), HeaderIn(h, "A"), HeaderIn(h, "c"))
	}
}

// A handler comes back from its entry. Its headers and host, and whether it says what is a default, are those of
// the rewritten request, which stays as it is.
func TestAnEntryAndTheRequestMakeTheHandler(t *testing.T) {
	headers := []HTTPHeader{{Name: "A", Value: "x"}}
	for _, c := range []struct {
		entry           prober.Original
		rewritten, want HTTPGet
	}{
		{prober.Original{HTTPGet: &HTTPGet{Path: "/", Port: field.Number(80), Scheme: "HTTP"}}, HTTPGet{Port: field.Number(15099)}, HTTPGet{Port: field.Number(80)}},
		{prober.Original{HTTPGet: &HTTPGet{Path: "/", Port: field.Number(80), Scheme: "HTTP"}}, HTTPGet{Path: "/app", Port: field.Number(15099), Scheme: "HTTP", Host: "h", HTTPHeaders: headers}, HTTPGet{Path: "/", Port: field.Number(80), Scheme: "HTTP", Host: "h", HTTPHeaders: headers}},
		{prober.Original{HTTPGet: &HTTPGet{Path: "/x", Port: field.Number(80), Scheme: "HTTPS", Protocol: "HTTP1"}}, HTTPGet{Port: field.Number(15099)}, HTTPGet{Path: "/x", Port: field.Number(80), Scheme: "HTTPS", Protocol: "HTTP1"}},
		{prober.Original{HTTPGet: &HTTPGet{Path: "/x", Port: named("web"), Scheme: "HTTP"}}, HTTPGet{Path: "/app", Port: field.Number(15099), Protocol: "HTTP2"}, HTTPGet{Path: "/x", Port: named("web"), Protocol: "HTTP2"}},
		{prober.Original{HTTPGet: &HTTPGet{Path: "/x", Port: field.Number(80), Scheme: "HTTP", Protocol: "HTTP1"}}, HTTPGet{Protocol: "HTTP2"}, HTTPGet{Path: "/x", Port: field.Number(80), Protocol: "HTTP1"}},
	} {
		rewritten := c.rewritten
		got := HandlerOf(&c.entry, &rewritten)
		if d := cmp.Diff(&Handler{HTTPGet: &c.want}, got); d != "" {
			t.Errorf("%s and %+v, -want +got\n%s", &c.entry, c.rewritten, d)
		}
		got.HTTPGet.Path, got.HTTPGet.Port = "/changed", field.Number(1)
		if d := cmp.Diff(c.rewritten, rewritten); d != "" {
			t.Errorf("the request has changed, -want +got\n%s", d)
		}
	}
	tcp, grpc := &TCPSocket{Port: field.Number(5)}, &GRPC{Port: field.Number(6), Service: ptr("s"), Mode: "TLS"}
	h, g := HandlerOf(&prober.Original{TCPSocket: tcp}, &HTTPGet{Path: "/x"}), HandlerOf(&prober.Original{GRPC: grpc}, &HTTPGet{Path: "/x"})
	if d := cmp.Diff([]*Handler{{TCPSocket: &TCPSocket{Port: field.Number(5)}}, {GRPC: &GRPC{Port: field.Number(6), Service: ptr("s"), Mode: "TLS"}}}, []*Handler{h, g}); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	h.TCPSocket.Port, g.GRPC.Port, g.GRPC.Mode = field.Number(1), field.Number(1), ""
	if tcp.Port != field.Number(5) || grpc.Port != field.Number(6) || grpc.Mode != "TLS" {
		t.Errorf("the entries have become %v and %v", tcp, grpc)
	}
}

// A form belongs to a handler if it means the same. Then an absent path is absent again.
func TestAFormIsAdoptedIfItMeansTheHandler(t *testing.T) {
	form := func(entries ...any) (m field.Map) {
		for i := 0; i < len(entries); i += 2 {
			m = append(m, field.Entry{Key: entries[i].(string), Value: entries[i+1]})
		}
		return m
	}
	get := func(path, scheme, protocol string) *Handler {
		return &Handler{HTTPGet: &HTTPGet{Path: path, Port: field.Number(80), Scheme: scheme, Protocol: protocol, Host: "h"}}
	}
	for _, c := range []struct {
		h    *Handler
		form field.Map
		ok   bool
		path string
	}{
		{get("/", "", ""), form("port", 80), true, ""},
		{get("/", "HTTP", ""), form("port", 80), true, ""},
		{get("/", "", ""), form("path", "", "scheme", nil, "protocol", nil), true, ""},
		{get("/", "", ""), form("path", nil), true, ""},
		{get("/", "", ""), form("path", "/"), true, "/"},
		{get("/x", "HTTPS", "HTTP1"), form("path", "/x", "scheme", "HTTPS", "protocol", "HTTP1", "port", "web"), true, "/x"},
		{get("/x", "HTTPS", ""), form("path", "/x"), true, "/x"},
		{get("/x", "", ""), form("path", "/x", "scheme", "HTTP"), true, "/x"},
		{get("/x", "", ""), form("port", 80), false, "/x"},
		{get("/x", "", ""), form("path", "/y"), false, "/x"},
		{get("/x", "", ""), form("path", "/x", "scheme", "HTTPS"), false, "/x"},
		{get("/x", "HTTPS", ""), form("path", "/x", "scheme", "HTTP"), false, "/x"},
		{get("/x", "", "HTTP2"), form("path", "/x"), false, "/x"},
		{get("/x", "", ""), form("path", "/x", "protocol", "HTTP1"), false, "/x"},
	} {
		before := *c.h.HTTPGet
		before.Path = c.path
		if ok := c.h.Adopt(c.form); ok != c.ok || !cmp.Equal(*c.h.HTTPGet, before) {
			t.Errorf("%v: adopted %t, the path is %q, want %t and %q", c.form, ok, c.h.HTTPGet.Path, c.ok, c.path)
		}
	}
	for _, c := range []struct {
		h    *Handler
		form field.Map
		ok   bool
	}{
		{&Handler{GRPC: &GRPC{}}, nil, true}, {&Handler{GRPC: &GRPC{Service: ptr("s"), Mode: "TLS"}}, form("service", "s", "mode", "TLS", "port", 1), true}, {&Handler{GRPC: &GRPC{Service: ptr("")}}, form("service", nil, "mode", ""), true},
		{&Handler{GRPC: &GRPC{Service: ptr("s")}}, form("service", "t"), false}, {&Handler{GRPC: &GRPC{Service: ptr("s")}}, nil, false}, {&Handler{GRPC: &GRPC{Mode: "TLS"}}, nil, false}, {&Handler{GRPC: &GRPC{}}, form("mode", "TLS"), false}, {&Handler{GRPC: &GRPC{}}, form("service", "s"), false},
		{&Handler{TCPSocket: &TCPSocket{}}, form("host", "h"), true},
	} {
		if ok := c.h.Adopt(c.form); ok != c.ok {
			t.Errorf("%s adopts %v: %t", c.h, c.form, ok)
		}
	}
}

// Of a newer Kubernetes there may be values that nobody here knows.
func TestWhatIsNotSupportedIsSaid(t *testing.T) {
	for _, c := range []struct {
		h                             *Handler
		field, problem, probe, onHook string
	}{
		{&Handler{HTTPGet: &HTTPGet{}}, "", "", "", ""},
		{&Handler{HTTPGet: &HTTPGet{Protocol: "HTTP1", Scheme: "HTTPS"}}, "", "", "", ""},
		{&Handler{HTTPGet: &HTTPGet{Protocol: "HTTP2", Scheme: "HTTP"}}, "", "", "protocol", ""},
		{&Handler{HTTPGet: &HTTPGet{Protocol: "HTTP2"}}, "", "", "protocol", ""},
		{&Handler{HTTPGet: &HTTPGet{Protocol: "HTTP2", Scheme: "HTTPS"}}, "protocol", "the API server refuses the protocol HTTP2 with the scheme HTTPS", "protocol", ""},
		{&Handler{HTTPGet: &HTTPGet{Protocol: "HTTP3"}}, "protocol", `the protocol "HTTP3" is neither HTTP1 nor HTTP2`, "", ""},
		{&Handler{GRPC: &GRPC{}}, "", "", "", ""},
		{&Handler{GRPC: &GRPC{Mode: "Plaintext"}}, "", "", "", ""},
		{&Handler{GRPC: &GRPC{Mode: "TLS"}}, "", "", "mode", "mode"},
		{&Handler{GRPC: &GRPC{Mode: "tls"}}, "mode", `the mode "tls" is neither Plaintext nor TLS`, "", ""},
		{&Handler{TCPSocket: &TCPSocket{}}, "", "", "", ""},
		{&Handler{Exec: &Exec{}}, "", "", "", ""},
	} {
		if name, problem := c.h.Unsupported(); name != c.field || problem != c.problem {
			t.Errorf("%s: %q %q, want %q %q", c.h, name, problem, c.field, c.problem)
		}
		if probe, hook := c.h.Newer(false), c.h.Newer(true); probe != c.probe || hook != c.onHook {
			t.Errorf("%s: newer is %q, of a hook %q", c.h, probe, hook)
		}
	}
}
