package prober_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

func TestAPublishedValueIsReproducedByteForByte(t *testing.T) {
	// Istio's documentation of application probes, for its liveness-http sample.
	const want = `{"/app-health/liveness-http/livez":{"httpGet":{"path":"/foo","port":8001,"scheme":"HTTP"},"timeoutSeconds":1}}`
	got := prober.Encode(map[string]*prober.Prober{
		prober.Key("liveness-http", prober.Liveness): {
			HTTPGet: &prober.HTTPGet{Path: "/foo", Port: 8001, Scheme: "HTTP"}, TimeoutSeconds: 1,
		},
	})
	if got != want {
		t.Errorf("Encode gives %s\nmust be   %s", got, want)
	}
}

func TestNoProberGivesNoValue(t *testing.T) {
	if got := prober.Encode(nil); got != "" {
		t.Errorf("Encode gives %q", got)
	}
}

func TestKeysGoThereAndBack(t *testing.T) {
	for _, s := range []prober.Slot{prober.Readiness, prober.Liveness, prober.Startup, prober.PreStop, prober.PostStart} {
		key := prober.Key("web", s)
		if c, got, ok := prober.ParseKey(key); c != "web" || got != s || !ok {
			t.Errorf("ParseKey(%q) gives %q, %q, %v", key, c, got, ok)
		}
	}
	for _, key := range []string{"", "/", "/app-health/web", "/app-health//livez", "/app-health/web/livez/", "/app-health/a/b/livez",
		"/app-lifecycle/web/livez", "/app-health/web/prestopz", "app-health/web/livez", "/app-health/web/LIVEZ"} {
		if _, _, ok := prober.ParseKey(key); ok {
			t.Errorf("ParseKey takes %q", key)
		}
	}
}

func TestDecodingFillsInTheDefaultsOfTheAPI(t *testing.T) {
	empty := ""
	for _, c := range []struct {
		name, value string
		want        *prober.Prober
	}{
		{"/app-health/a/livez", `{"httpGet":{"port":80}}`, &prober.Prober{HTTPGet: &prober.HTTPGet{Path: "/", Port: 80, Scheme: "HTTP"}, TimeoutSeconds: 1}},
		{"/app-health/a/livez", `{"HTTPGET":{"PORT":"80","Scheme":"https"},"unknown":1}`, &prober.Prober{HTTPGet: &prober.HTTPGet{Path: "/", Port: 80, Scheme: "HTTPS"}, TimeoutSeconds: 1}},
		{"/app-health/a/livez", `{"path":"/old","port":80}`, &prober.Prober{HTTPGet: &prober.HTTPGet{Path: "/old", Port: 80, Scheme: "HTTP"}, TimeoutSeconds: 1}},
		{"/app-health/a/livez", `{"tcpSocket":{"port":80},"timeoutSeconds":3}`, &prober.Prober{TCPSocket: &prober.TCPSocket{Port: 80}, TimeoutSeconds: 3}},
		{"/app-health/a/livez", `{"grpc":{"port":80,"service":null}}`, &prober.Prober{GRPC: &prober.GRPC{Port: 80, Service: &empty}, TimeoutSeconds: 1}},
		{"/app-lifecycle/a/prestopz", `{"httpGet":{"port":80}}`, &prober.Prober{HTTPGet: &prober.HTTPGet{Path: "/", Port: 80, Scheme: "HTTP"}}},
	} {
		got, bad, err := prober.Decode(`{"` + c.name + `":` + c.value + `}`)
		if err != nil || len(bad) > 0 {
			t.Errorf("%s: %v %v", c.value, bad, err)
			continue
		}
		if d := cmp.Diff(c.want, got[c.name]); d != "" {
			t.Errorf("%s: want(-) got(+):\n%s", c.value, d)
		}
	}
}

func TestOneBadEntryLeavesTheOthersStanding(t *testing.T) {
	const good = `"/app-health/good/livez":{"httpGet":{"port":80}}`
	for _, c := range []struct{ entry, want string }{
		{`"/somewhere":{"httpGet":{"port":80}}`, "path must be"},
		{`"/app-health/a/livez":null`, "not null"},
		{`"/app-health/a/livez":{}`, "exactly one of"},
		{`"/app-health/a/livez":{"httpGet":{"port":80},"tcpSocket":{"port":80}}`, "exactly one of"},
		{`"/app-health/a/livez":{"httpGet":{"port":"http"}}`, "port \"http\" must be a number"},
		{`"/app-health/a/livez":{"httpGet":{"port":0}}`, "from 1 to 65535"},
		{`"/app-health/a/livez":{"httpGet":{"path":"/"}}`, "httpGet.port must be"},
		{`"/app-health/a/livez":{"httpGet":{"port":80,"scheme":"ftp"}}`, "must be HTTP or HTTPS"},
		{`"/app-health/a/livez":{"httpGet":{"port":80},"timeoutSeconds":-1}`, "must not be negative"},
	} {
		got, bad, err := prober.Decode("{" + good + "," + c.entry + "}")
		if err != nil || len(got) != 1 || len(bad) != 1 || !strings.Contains(bad[0].Error(), c.want) {
			t.Errorf("%s: got %d good, bad %v, %v; want %q", c.entry, len(got), bad, err, c.want)
		}
	}
	for _, value := range []string{"", "[]", "null true", `{"a":`, "{} {}"} {
		if _, _, err := prober.Decode(value); err == nil {
			t.Errorf("Decode takes %q", value)
		}
	}
}
