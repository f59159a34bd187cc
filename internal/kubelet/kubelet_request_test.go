package kubelet

import (
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/wire"
)

// The bytes are those of grpc-go for grpc.health.v1.HealthCheckRequest. The last of the
// messages takes several frames.
func TestTheHealthRequestNamesTheService(t *testing.T) {
	long := strings.Repeat("shop", 10<<10)
	for service, want := range map[string]string{
		"":     "\x00\x00\x00\x00\x00",
		"shop": "\x00\x00\x00\x00\x06\x0a\x04shop",
		long:   "\x00\x00\x00\xa0\x04\x0a\x80\xc0\x02" + long,
	} {
		got := make(chan string, 1)
		url := startGRPC(t, nil, func(_ http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got <- string(body)
		})
		probeOnce(t, live, url, &prober.Original{GRPC: &prober.GRPC{Service: &service}})
		if got := testutil.Received(t, got); got != want {
			t.Errorf("service %.10q: got %d bytes %.20q, want %d bytes %.20q", service, len(got), got, len(want), want)
		}
	}
}

func TestAReasonIsOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"a\x00b\x1fc d~e\x7ff\u0080":   "a b c d~e f\u0080",
		"a\nb\r\nc\xffd":               "a b  c?d",
		strings.Repeat("x", 201):       strings.Repeat("x", 200),
		strings.Repeat("x", 199) + "é": strings.Repeat("x", 199),
		strings.Repeat("x", 198) + "é": strings.Repeat("x", 198) + "é",
	} {
		if got := OneLine(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestTheHostHasTheAppsPortInPlaceOfOurs(t *testing.T) {
	for _, test := range []struct{ host, ours, want string }{
		{"10.0.0.1:15099", "15099", "10.0.0.1:80"},
		{"[::1]:15099", "15099", "[::1]:80"},
		{"web:15098", "15099", "web:15098"},
		{"web", "15099", "web"},
		{"web", "", "web"},
		{"", "15099", ""},
	} {
		if got := cleanHost(&Call{Host: test.host, Port: test.ours}, "80"); got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

func TestTheKubeletsOwnHeadersAreKnown(t *testing.T) {
	for _, test := range []struct {
		name, value string
		want        bool
	}{
		{"Accept", "*/*", true}, {"Accept", "text/html", false}, {"Accept", "", false},
		{"Accept-Encoding", "gzip", true}, {"Accept-Encoding", "br", false},
		{"Connection", "close", true}, {"Connection", "upgrade", false},
		{"User-Agent", "kube-probe/1.37", true}, {"User-Agent", "kube-lifecycle/1.37+", true}, {"User-Agent", "kube-probe/", true},
		{"User-Agent", "kube-probe/123.456+", true}, {"User-Agent", "kube-probe/1234.456+", false}, {"User-Agent", "kube-probe/1.37-a", false},
		{"User-Agent", "curl/1.37", false}, {"User-Agent", "1.37", false},
		{"X", "*/*", false}, {"", "", false},
	} {
		if got := kubeletSends(test.name, test.value); got != test.want {
			t.Errorf("%+v: %t", test, got)
		}
	}
}

// TestTheRefererOfARedirectIsThatOfNetHTTP takes the same redirects through the
// client that the kubelet has.
func TestTheRefererOfARedirectIsThatOfNetHTTP(t *testing.T) {
	for _, from := range []string{"http://pod/a?b=c", "https://pod/", "http://user:password@pod/"} {
		for _, to := range []string{"http://pod/next", "https://pod/next"} {
			for _, own := range []string{"", "me"} {
				var want []string
				client := http.Client{Transport: roundTripper(func(r *http.Request) *http.Response {
					if r.URL.String() == to {
						want = r.Header["Referer"]
						return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}
					}
					return &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {to}}, Body: http.NoBody}
				})}
				req, err := http.NewRequest(http.MethodGet, from, nil)
				if err != nil {
					t.Fatal(err)
				}
				next := &wire.Request{Header: textproto.MIMEHeader{}}
				if own != "" {
					req.Header.Set("Referer", own)
					next.Header["Referer"] = []string{own}
				}
				if _, err := client.Do(req); err != nil {
					t.Fatal(err)
				}
				if next.URL, err = url.Parse(to); err != nil {
					t.Fatal(err)
				}
				setReferer(next, &wire.Request{URL: req.URL})
				if got := next.Header["Referer"]; !slices.Equal(got, want) {
					t.Errorf("from %s to %s, own Referer %q: got %q, want %q", from, to, own, got, want)
				}
			}
		}
	}
}

type roundTripper func(*http.Request) *http.Response

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }
