package wire_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/wire"
)

func TestAVersionIsTwoDigits(t *testing.T) {
	for s, want := range map[string][2]int{"HTTP/0.0": {0, 0}, "HTTP/1.0": {1, 0}, "HTTP/1.1": {1, 1}, "HTTP/9.9": {9, 9}} {
		if major, minor, ok := wire.ParseVersion(s); !ok || [2]int{major, minor} != want {
			t.Errorf("%s is read as %d.%d, %v", s, major, minor, ok)
		}
	}
	for _, s := range []string{"", "HTTP/1", "HTTP/1.", "HTTP/11.1", "HTTP/1.10", "http/1.1", "HTTP/a.1", "HTTP/1.a", "HTTP/1,1", "HTTP/:.1", "HTTP/1.:", "HTTP//.1", "HTTP/1./"} {
		if _, _, ok := wire.ParseVersion(s); ok {
			t.Errorf("%q was taken for a version", s)
		}
	}
}

// What the body's end depends on has to be understood, or a body would be cut
// or taken for the next answer.
func TestATransferEncodingThatIsNotChunkedIsRefused(t *testing.T) {
	const head, body = "HTTP/1.1 200 OK\r\n", "\r\n2\r\nok\r\n0\r\n\r\n"
	for headers, want := range map[string]outcome{
		"Transfer-Encoding: chunked\r\n":                                {200, "ok", false},
		"Transfer-Encoding: CHUNKED\r\n":                                {200, "ok", false},
		"Transfer-Encoding: gzip\r\n":                                   {},
		"Transfer-Encoding: gzip, chunked\r\n":                          {},
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n":  {},
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n": {},
	} {
		data := []byte(head + headers + body)
		if got := ours(data); got != want {
			t.Errorf("%s: got %+v, want %+v", strings.TrimSpace(headers), got, want)
		}
		if got := netHTTP(data); got != want {
			t.Errorf("%s: net/http gets %+v, want %+v", strings.TrimSpace(headers), got, want)
		}
	}
}
