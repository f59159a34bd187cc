package prober_test

import (
	"encoding/json"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// FuzzEncodingIsThatOfEncodingJSON holds Encode to the standard library.
func FuzzEncodingIsThatOfEncodingJSON(f *testing.F) {
	f.Add("/app-health/a/livez", "/foo?a=b&c=<d>", "HTTP", "X-A", "", 8080, 1, uint8(0xff))
	f.Add("/app-health/a/livez", "", "", "", "", 0, 0, uint8(0))
	f.Add("a\"\\\x00\x7fé\u2028\xff", "\t", "HTTPS", "h", "v", -1, -1, uint8(0x55))
	f.Fuzz(func(t *testing.T, key, path, scheme, name, service string, port, timeout int, shape uint8) {
		p := &prober.Prober{TimeoutSeconds: timeout}
		if shape&1 != 0 {
			p.HTTPGet = &prober.HTTPGet{Path: path, Port: prober.Port(port), Host: name, Scheme: scheme}
			if shape&2 != 0 {
				p.HTTPGet.HTTPHeaders = []prober.Header{{Name: name, Value: service}, {Name: key}}
			}
		}
		if shape&4 != 0 {
			p.TCPSocket = &prober.TCPSocket{Port: prober.Port(port), Host: path}
		}
		if shape&8 != 0 {
			p.GRPC = &prober.GRPC{Port: prober.Port(port)}
			if shape&16 != 0 {
				p.GRPC.Service = &service
			}
		}
		probers := map[string]*prober.Prober{key: p, path: {TCPSocket: &prober.TCPSocket{Port: 1}}}
		if shape&32 != 0 {
			probers[name] = nil
		}
		want, err := json.Marshal(probers)
		if err != nil {
			t.Fatal(err)
		}
		if got := prober.Encode(probers); got != string(want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}
