package prober

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// FuzzTheUsualForm compares our reader and writer of the usual form with encoding/json: what
// the reader takes is what encoding/json reads, and written again the same text.
func FuzzTheUsualForm(f *testing.F) {
	for _, value := range usualValues {
		f.Add(value)
	}
	for _, value := range otherValues {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got := decodeUsual(value)
		if got == nil {
			return
		}
		var want map[string]*Original
		if err := DecodeStrictly([]byte(value), &want); err != nil {
			t.Fatalf("the usual form takes %s, and encoding/json does not: %v", value, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%s: encoding/json(-) the usual form(+):\n%s", value, d)
		}
	})
}

var usualValues = []string{
	`{"/app-health/a/livez":{"httpGet":{"path":"/a?b","port":80,"host":"h","scheme":"HTTP","httpHeaders":[{"name":"a","value":""},{"name":"b","value":"c"}],"protocol":"HTTP2"},"timeoutSeconds":10}}`,
	`{"/app-health/a/livez":{"httpGet":{"port":65535}}}`,
	`{"/app-health/a/livez":{"tcpSocket":{"port":0}},"/app-health/a/readyz":{"tcpSocket":{"port":1,"host":"h"},"timeoutSeconds":0}}`,
	`{"/app-health/a/livez":{"grpc":{"port":123456789,"service":null}},"/app-health/b/livez":{"grpc":{"port":1,"service":"","mode":"TLS"},"timeoutSeconds":2}}`,
	`{"a":{"tcpSocket":{"port":1}},"a ":{"tcpSocket":{"port":1}},"b":{"tcpSocket":{"port":1}}}`,
}

// otherValues are left to encoding/json: each differs from the usual form in one place.
var otherValues = []string{
	"", "{", "{}", "null", "[]",
	` {"a":{"tcpSocket":{"port":1}}}`,
	`{"a":{"tcpSocket":{"port":1}}} `,
	`{"a":{"tcpSocket":{"port":1}}}}`,
	`{"a":{"tcpSocket":{"port":1}},}`,
	`{"a":{"tcpSocket":{"port":1}}`,
	`{"a":{"tcpSocket":{"port":1}}"b":{"tcpSocket":{"port":1}}}`,
	`{"":{"tcpSocket":{"port":1}}}`,
	`{"a":{"tcpSocket":{"port":1}},"a":{"tcpSocket":{"port":2}}}`,
	`{"b":{"tcpSocket":{"port":1}},"a":{"tcpSocket":{"port":2}}}`,
	`{"a":null}`, `{"a":{}}`, `{"a":{"timeoutSeconds":1}}`,
	`{"a":{"exec":{"port":1}}}`,
	`{"a":{"tcpSocket":{"port":01}}}`,
	`{"a":{"tcpSocket":{"port":-1}}}`,
	`{"a":{"tcpSocket":{"port":1.5}}}`,
	`{"a":{"tcpSocket":{"port":1e3}}}`,
	`{"a":{"tcpSocket":{"port":"1"}}}`,
	`{"a":{"tcpSocket":{"port":}}}`,
	`{"a":{"tcpSocket":{"port":1234567890}}}`,
	`{"a":{"tcpSocket":{"port":1},"timeoutSeconds":}}`,
	`{"a":{"tcpSocket":{"port":1},"timeoutSeconds":1`,
	`{"a":{"tcpSocket":{"port":1},"httpGet":{"port":1}}}`,
	`{"a":{"tcpSocket":{"host":"h","port":1}}}`,
	`{"a":{"tcpSocket":{"port":1,"host":"h}}}`,
	`{"a":{"tcpSocket":{"port":1,"host":"\u0061"}}}`,
	`{"a":{"tcpSocket":{"port":1,"host":"ä"}}}`,
	`{"a":{"tcpSocket":{"port":1,"host":"&"}}}`,
	"{\"a\":{\"tcpSocket\":{\"port\":1,\"host\":\"\t\"}}}",
	"{\"a\":{\"tcpSocket\":{\"port\":1,\"host\":\"\xff\"}}}",
	`{"a":{"tcpSocket":{"port":1,"more":2}}}`,
	`{"a":{"grpc":{"port":1}}}`,
	`{"a":{"grpc":{"port":1,"service":nul}}}`,
	`{"a":{"httpGet":{"port":1,"httpHeaders":[]}}}`,
	`{"a":{"httpGet":{"port":1,"httpHeaders":[{"name":"a"}]}}}`,
	`{"a":{"httpGet":{"port":1,"httpHeaders":[{"name":"a","value":"b"},]}}}`,
	`{"a":{"httpGet":{"port":1,"httpHeaders":[{"name":"a","value":"b"}}}}`,
	`{"a":{"httpGet":{"path":"/""port":1}}}`,
	`{"a":{"httpGet":{"port":1,"protocol":"HTTP2","scheme":"HTTP"}}}`,
}

func TestOtherFormsAreLeftToEncodingJSON(t *testing.T) {
	for _, value := range otherValues {
		if got := decodeUsual(value); got != nil {
			t.Errorf("%s is taken for the usual form: %v", value, got)
		}
	}
	for _, value := range usualValues {
		if decodeUsual(value) == nil {
			t.Errorf("%s is not taken for the usual form", value)
		}
	}
}

// A value that was cut off or changed in one byte is read as encoding/json reads it.
func TestEveryByteOfTheUsualFormCounts(t *testing.T) {
	for _, value := range usualValues {
		for i := range len(value) {
			changed := []string{value[:i], value[:i] + value[i+1:]}
			for _, c := range "\"{}[],:0 \\&aé" {
				changed = append(changed, value[:i]+string(c)+value[i+1:], value[:i]+string(c)+value[i:])
			}
			for _, changed := range changed {
				got := decodeUsual(changed)
				if got == nil {
					continue
				}
				var want map[string]*Original
				err := DecodeStrictly([]byte(changed), &want)
				if d := cmp.Diff(want, got); d != "" || err != nil {
					t.Fatalf("%s: %v; encoding/json(-) the usual form(+):\n%s", changed, err, d)
				}
			}
		}
	}
}

// Whatever the originals are, the text is that of encoding/json. It is read again by our own
// reader unless it has an escape or an original that no plan writes.
func TestOriginalsAreWrittenAsEncodingJSONWritesThem(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	read := 0
	for range 5000 {
		probers := make(map[string]*Original)
		for range 1 + random.IntN(3) {
			probers[randomText(random)] = randomOriginal(random)
		}
		want, err := json.Marshal(probers)
		if err != nil {
			t.Fatal(err)
		}
		got := Encode(probers)
		if got != string(want) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
		if again := decodeUsual(got); again != nil {
			read++
			if d := cmp.Diff(probers, again); d != "" {
				t.Fatalf("%s: written(-) read(+):\n%s", got, d)
			}
		}
	}
	if read < 100 {
		t.Errorf("of 5000 values, %d are read by the reader of the usual form", read)
	}
}

func randomText(random *rand.Rand) string {
	texts := []string{"", "/", "a", "/app-health/a/livez", "HTTP", "a b~!", "ä", "\u2028", "<", ">", "&", `"`, `\`, "\n", "\x7f", "\xff", "$(A)"}
	n := 6
	if random.IntN(4) == 0 {
		n = len(texts)
	}
	return texts[random.IntN(n)]
}

func randomOriginal(random *rand.Rand) *Original {
	if random.IntN(20) == 0 {
		return nil
	}
	port := field.Number(random.IntN(70000))
	if random.IntN(20) == 0 {
		port = field.IntOrString{Str: randomText(random), IsString: true}
	}
	p := &Original{TimeoutSeconds: random.IntN(12) - 1}
	handlers := 1 << random.IntN(3)
	if random.IntN(20) == 0 {
		handlers = random.IntN(8)
	}
	if handlers&1 != 0 {
		p.HTTPGet = &HTTPGet{
			Path: randomText(random), Port: port, Host: randomText(random), Scheme: randomText(random), Protocol: randomText(random),
		}
		for range random.IntN(3) {
			p.HTTPGet.HTTPHeaders = append(p.HTTPGet.HTTPHeaders, HTTPHeader{Name: randomText(random), Value: randomText(random)})
		}
	}
	if handlers&2 != 0 {
		p.TCPSocket = &TCPSocket{Port: port, Host: randomText(random)}
	}
	if handlers&4 != 0 {
		p.GRPC = &GRPC{Port: port, Mode: randomText(random)}
		if random.IntN(2) == 0 {
			service := randomText(random)
			p.GRPC.Service = &service
		}
	}
	return p
}
