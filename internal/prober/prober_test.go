package prober_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

func TestAPublishedValueIsReproducedByteForByte(t *testing.T) {
	// Istio's documentation of application probes, for its liveness-http sample.
	const want = `{"/app-health/liveness-http/livez":{"httpGet":{"path":"/foo","port":8001,"scheme":"HTTP"},"timeoutSeconds":1}}`
	got := prober.Encode(map[string]*prober.Original{
		prober.Key("liveness-http", prober.Liveness): {
			HTTPGet: &prober.HTTPGet{Path: "/foo", Port: field.Number(8001), Scheme: "HTTP"}, TimeoutSeconds: 1,
		},
	})
	if got != want {
		t.Errorf("Encode returns %s\nmust be        %s", got, want)
	}
}

func TestEncode_fieldsOfNewerKubernetes(t *testing.T) {
	service := "s"
	for want, p := range map[string]*prober.Original{
		`{"k":{"grpc":{"port":80,"service":"s"}}}`:                             {GRPC: &prober.GRPC{Port: field.Number(80), Service: &service}},
		`{"k":{"grpc":{"port":80,"service":null,"mode":"TLS"}}}`:               {GRPC: &prober.GRPC{Port: field.Number(80), Mode: prober.GRPCTLS}},
		`{"k":{"httpGet":{"path":"/a?b\u0026c","port":80}}}`:                   {HTTPGet: &prober.HTTPGet{Path: "/a?b&c", Port: field.Number(80)}},
		`{"k":{"httpGet":{"port":80,"scheme":"HTTP","protocol":"HTTP2"}}}`:     {HTTPGet: &prober.HTTPGet{Port: field.Number(80), Scheme: "HTTP", Protocol: prober.HTTP2}},
		`{"k":{"tcpSocket":{"port":80,"host":"h"},"timeoutSeconds":3}}`:        {TCPSocket: &prober.TCPSocket{Port: field.Number(80), Host: "h"}, TimeoutSeconds: 3},
		`{"k":{"httpGet":{"port":1,"httpHeaders":[{"name":"a","value":""}]}}}`: {HTTPGet: &prober.HTTPGet{Port: field.Number(1), HTTPHeaders: []prober.HTTPHeader{{Name: "a"}}}},
		`{"k":null}`: nil,
	} {
		if got := prober.Encode(map[string]*prober.Original{"k": p}); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestNoProberGivesNoValue(t *testing.T) {
	if got := prober.Encode(nil); got != "" {
		t.Errorf("Encode returns %q", got)
	}
}

func TestKeysGoThereAndBack(t *testing.T) {
	for _, s := range prober.ProbeTypes() {
		key := prober.Key("web", s)
		if c, got, ok := prober.ParseKey(key); c != "web" || got != s || !ok {
			t.Errorf("ParseKey(%q) returns %q, %q, %v", key, c, got, ok)
		}
	}
	for _, key := range []string{"", "/", "/app-health/web", "/app-health//livez", "/app-health/web/livez/", "/app-health/a/b/livez",
		"/app-lifecycle/web/livez", "/app-health/web/prestopz", "app-health/web/livez", "/app-health/web/LIVEZ", "/app-health//app-lifecycle/web/livez", "/app-health//app-lifecycle/web/prestopz", "/app-lifecycle//prestopz"} {
		if container, probeType, ok := prober.ParseKey(key); ok || container != "" || probeType != "" {
			t.Errorf("ParseKey(%q) returns %q, %q, %v", key, container, probeType, ok)
		}
	}
}

func TestDecodingFillsInTheDefaultsOfTheAPI(t *testing.T) {
	empty := ""
	for _, c := range []struct {
		name, value string
		want        *prober.Original
	}{
		{"/app-health/a/livez", `{"httpGet":{"port":80}}`, &prober.Original{HTTPGet: &prober.HTTPGet{Path: "/", Port: field.Number(80), Scheme: "HTTP"}, TimeoutSeconds: 1}},
		{"/app-health/a/livez", `{"HTTPGET":{"PORT":"80","Scheme":"https"}}`, &prober.Original{HTTPGet: &prober.HTTPGet{Path: "/", Port: field.Number(80), Scheme: "HTTPS"}, TimeoutSeconds: 1}},
		{"/app-health/a/livez", `{"tcpSocket":{"port":80},"timeoutSeconds":3}`, &prober.Original{TCPSocket: &prober.TCPSocket{Port: field.Number(80)}, TimeoutSeconds: 3}},
		{"/app-health/a/livez", `{"grpc":{"port":80,"service":null}}`, &prober.Original{GRPC: &prober.GRPC{Port: field.Number(80), Service: &empty}, TimeoutSeconds: 1}},
		{"/app-health/a/livez", `{"grpc":{"port":80,"mode":"TLS"}}`, &prober.Original{GRPC: &prober.GRPC{Port: field.Number(80), Service: &empty, Mode: prober.GRPCTLS}, TimeoutSeconds: 1}},
		{"/app-health/a/livez", `{"grpc":{"port":80,"mode":"Plaintext"}}`, &prober.Original{GRPC: &prober.GRPC{Port: field.Number(80), Service: &empty, Mode: prober.GRPCPlaintext}, TimeoutSeconds: 1}},
		{"/app-health/a/livez", `{"httpGet":{"port":80,"protocol":"HTTP2"}}`, &prober.Original{HTTPGet: &prober.HTTPGet{Path: "/", Port: field.Number(80), Scheme: "HTTP", Protocol: prober.HTTP2}, TimeoutSeconds: 1}},
		{"/app-health/a/livez", `{"httpGet":{"port":80,"scheme":"HTTPS","protocol":"HTTP1"}}`, &prober.Original{HTTPGet: &prober.HTTPGet{Path: "/", Port: field.Number(80), Scheme: "HTTPS", Protocol: prober.HTTP1}, TimeoutSeconds: 1}},
		{"/app-health/a/livez", `{"tcpSocket":{"port":80},"timeoutSeconds":2147483647}`, &prober.Original{TCPSocket: &prober.TCPSocket{Port: field.Number(80)}, TimeoutSeconds: 2147483647}},
		{"/app-lifecycle/a/prestopz", `{"httpGet":{"port":80}}`, &prober.Original{HTTPGet: &prober.HTTPGet{Path: "/", Port: field.Number(80), Scheme: "HTTP"}}},
	} {
		got, bad, err := prober.Decode(`{"` + c.name + `":` + c.value + `}`)
		if err != nil || len(bad) > 0 {
			t.Errorf("%s: %v %v", c.value, bad, err)
			continue
		}
		if d := cmp.Diff(c.want, got[c.name]); d != "" {
			t.Errorf("%s: want(-) got(+):\n%s", c.value, d)
		}
		// Beside a bad entry, each is read by itself.
		beside, bad, err := prober.Decode(`{"/bad":null,"` + c.name + `":` + c.value + `}`)
		if d := cmp.Diff(got, beside); d != "" || len(bad) != 1 || err != nil {
			t.Errorf("%s beside a bad entry: %v %v\n%s", c.value, bad, err, d)
		}
	}
}

func TestAProberIsDescribedInWords(t *testing.T) {
	for value, want := range map[string]string{
		`{"httpGet":{"port":80}}`:                                  "HTTP GET :80 /",
		`{"httpGet":{"port":80,"path":"/a?b","scheme":"HTTPS"}}`:   "HTTPS GET :80 /a?b",
		`{"httpGet":{"port":80,"protocol":"HTTP1"}}`:               "HTTP GET :80 /",
		`{"httpGet":{"port":80,"protocol":"HTTP2"}}`:               "HTTP/2 GET :80 /",
		`{"tcpSocket":{"port":80}}`:                                "TCP :80",
		`{"grpc":{"port":80}}`:                                     "gRPC :80 ",
		`{"grpc":{"port":80,"service":"shop","mode":"Plaintext"}}`: "gRPC :80 shop",
		`{"grpc":{"port":80,"service":"shop","mode":"TLS"}}`:       "gRPC TLS :80 shop",
	} {
		got, bad, err := prober.Decode(`{"/app-health/a/livez":` + value + `}`)
		if err != nil || len(bad) > 0 || got["/app-health/a/livez"].String() != want {
			t.Errorf("%s: %v, %v, %v; want %q", value, got, bad, err, want)
		}
	}
}

func TestOneBadEntryLeavesTheOthersStanding(t *testing.T) {
	const good = `"/app-health/good/livez":{"httpGet":{"port":80}}`
	for _, c := range []struct{ entry, want string }{
		{`"/somewhere":{"httpGet":{"port":80}}`, "path must be /app-health/<container>/{readyz,livez,startupz} or /app-lifecycle/<container>/{prestopz,poststartz}"},
		{`"/app-health/a/livez":null`, "entry must be an object, not null"},
		{`"/app-health/a/livez":{}`, "entry must have exactly one of httpGet, tcpSocket and grpc, and has 0"},
		{`"/app-health/a/livez":{"httpGet":{"port":80},"tcpSocket":{"port":80}}`, "entry must have exactly one of httpGet, tcpSocket and grpc, and has 2"},
		{`"/app-health/a/livez":{"httpGet":{"port":"http"}}`, `httpGet.port "http" must be a number from 1 to 65535`},
		{`"/app-health/a/livez":{"httpGet":{"port":0}}`, `httpGet.port "0" must be a number from 1 to 65535`},
		{`"/app-health/a/livez":{"httpGet":{"path":"/"}}`, `httpGet.port "0" must be a number from 1 to 65535`},
		{`"/app-health/a/livez":{"httpGet":{"port":80,"scheme":"ftp"}}`, `httpGet.scheme "FTP" must be HTTP or HTTPS`},
		{`"/app-health/a/livez":{"httpGet":{"port":80},"timeoutSeconds":-1}`, "timeoutSeconds -1 must be a number from 0 to 2147483647"},
		{`"/app-health/a/livez":{"httpGet":{"port":80},"timeoutSeconds":2147483648}`, "timeoutSeconds 2147483648 must be a number from 0 to 2147483647"},
		{`"/app-health/a/livez":{"httpGet":{"port":80,"protocol":"HTTP3"}}`, `httpGet.protocol "HTTP3" must be HTTP1 or HTTP2`},
		{`"/app-health/a/livez":{"httpGet":{"port":80,"scheme":"HTTPS","protocol":"HTTP2"}}`, "httpGet.protocol HTTP2 needs the scheme HTTP, and it is HTTPS"},
		{`"/app-health/a/livez":{"grpc":{"port":80,"mode":"tls"}}`, `grpc.mode "tls" must be TLS or Plaintext`},
		{`"/app-health/a/livez":{"grpc":{"port":80,"authority":"x"}}`, `field "authority" is not known to this version, which could not probe as the kubelet does`},
		{`"/app-health/a/livez":{"httpGet":{"port":80,"method":"POST"}}`, `field "method" is not known to this version, which could not probe as the kubelet does`},
		{`"/app-health/a/livez":{"httpGet":{"port":80,"httpHeaders":[{"name":"a","valueFrom":"b"}]}}`, `field "valueFrom" is not known to this version, which could not probe as the kubelet does`},
		{`"/app-health/a/livez":{"udpSocket":{"port":80}}`, `field "udpSocket" is not known to this version, which could not probe as the kubelet does`},
		{`"/app-health/a/livez":{"path":"/old","port":80}`, `field "path" is not known to this version, which could not probe as the kubelet does`},
		{`"/app-health/a/livez":{"tcpSocket":{"port":65536}}`, `tcpSocket.port "65536" must be a number from 1 to 65535`},
		{`"/app-health/a/livez":{"grpc":{"port":""}}`, `grpc.port "" must be a number from 1 to 65535`},
		{`"/app-health/a/livez":{"timeoutSeconds":3}`, "entry must have exactly one of httpGet, tcpSocket and grpc, and has 0"},
	} {
		got, bad, err := prober.Decode("{" + good + "," + c.entry + "}")
		if err != nil || len(got) != 1 || len(bad) != 1 || bad[0].Err.Error() != c.want {
			t.Errorf("%s: got %d good, bad %v, %v; want %q", c.entry, len(got), bad, err, c.want)
		}
	}
	// The words are those of encoding/json.
	const overflow = `{"/app-health/a/livez":{"httpGet":{"port":80},"timeoutSeconds":9223372036854775808}}`
	if _, bad, err := prober.Decode(overflow); err != nil || len(bad) != 1 || !strings.Contains(bad[0].Error(), "timeoutSeconds") {
		t.Errorf("bad %v, %v; want the field timeoutSeconds", bad, err)
	}
	for _, value := range []string{"", "[]", "null true", `{"a":`, "{} {}", "{}}"} {
		if _, _, err := prober.Decode(value); err == nil {
			t.Errorf("Decode takes %q", value)
		}
	}
}

// The five fields of a container, in the order in which they are read and listed.
func TestProbeTypesHaveTheNamesOfTheAPI(t *testing.T) {
	var got []string
	for _, p := range prober.ProbeTypes() {
		got = append(got, fmt.Sprint(string(p), " ", p.Field(), " ", p.Name(), " ", p.IsHook()))
	}
	want := []string{"readyz readinessProbe readiness false", "livez livenessProbe liveness false", "startupz startupProbe startup false", "poststartz postStart postStart true", "prestopz preStop preStop true"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if p := prober.ProbeType("other"); p.Field() != "" || p.Name() != "" || p.IsHook() {
		t.Errorf("another type has the field %q", p.Field())
	}
}

// Entries that cannot be used are reported by their keys.
func TestBadEntriesAreSorted(t *testing.T) {
	got, bad, err := prober.Decode(`{"/z":{},"/app-health/good/livez":{"grpc":{"port":1}},"/c":null,"/a":1,"/b":[],"/app-health/y/readyz":{}}`)
	var keys []string
	for _, e := range bad {
		keys = append(keys, e.Key)
		if want := fmt.Sprintf("%q: %v", e.Key, e.Err); e.Error() != want {
			t.Errorf("%s, want %s", e, want)
		}
	}
	if d := cmp.Diff([]string{"/a", "/app-health/y/readyz", "/b", "/c", "/z"}, keys); d != "" || err != nil || len(got) != 1 {
		t.Errorf("%v, %v: -want +got\n%s", got, err, d)
	}
}
