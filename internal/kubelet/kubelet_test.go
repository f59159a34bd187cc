package kubelet

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

const (
	live = prober.Liveness
	stop = prober.PreStop
)

// probeOnce probes a server as the entry says, with the port filled in.
func probeOnce(t *testing.T, probeType prober.ProbeType, server string, p *prober.Original) *Answer {
	t.Helper()
	a, _ := probeMetered(t, probeType, server, p)
	return a
}

// probeMetered also returns the bytes that the meter granted.
func probeMetered(t *testing.T, probeType prober.ProbeType, server string, p *prober.Original) (a *Answer, granted int) {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	port := field.Number(n)
	switch {
	case p.HTTPGet != nil:
		p.HTTPGet.Port = port
	case p.TCPSocket != nil:
		p.TCPSocket.Port = port
	case p.GRPC != nil:
		p.GRPC.Port, p.GRPC.Service = port, cmp.Or(p.GRPC.Service, new(string))
	}
	p.TimeoutSeconds = 2
	target, err := NewTarget("127.0.0.1", probeType, p)
	if err != nil {
		t.Fatal(err)
	}
	return probeTarget(t, target)
}

func probeTarget(t *testing.T, target *Target) (a *Answer, granted int) {
	t.Helper()
	header := textproto.MIMEHeader{"User-Agent": {"kube-probe/1.35"}, "Authorization": {"secret"}}
	call := &Call{Host: "127.0.0.1:15020", Port: "15020", Header: header, Start: time.Now()}
	call.Meter.More = func(n int) bool { granted += n; return true }
	defer call.Close()
	return probed(t.Context(), t, target, call), granted
}

// probed probes once. It fails the test if that takes much longer than the target's timeout, instead of waiting with it.
func probed(ctx context.Context, t *testing.T, target *Target, call *Call) *Answer {
	t.Helper()
	const late = 5 * time.Second
	answer := make(chan *Answer, 1)
	go func() { answer <- target.Probe(ctx, call) }()
	select {
	case a := <-answer:
		return a
	case <-time.After(target.Timeout + late):
		t.Fatalf("a probe with a timeout of %s has not ended %s after it", target.Timeout, late)
		return nil
	}
}

// TestEveryAnswerToACallIsMetered, whichever request of the call it is to.
func TestEveryAnswerToACallIsMetered(t *testing.T) {
	large := func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 30<<10)) }
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/redirect" {
			http.Redirect(w, r, "/large", http.StatusFound)
			return
		}
		large(w, r)
	}))
	defer plain.Close()
	grpc := startGRPC(t, nil, func(w http.ResponseWriter, r *http.Request) {
		large(w, r)
		serving(w, r)
	})
	for name, test := range map[string]struct {
		probeType prober.ProbeType
		server    string
		p         *prober.Original
	}{
		"the first":          {live, plain.URL, httpGet("HTTP", "/large")},
		"after a redirect":   {live, plain.URL, httpGet("HTTP", "/redirect")},
		"a hook without TLS": {prober.PreStop, plain.URL, httpGet("HTTPS", "/large")},
		"gRPC":               {live, grpc, &prober.Original{GRPC: &prober.GRPC{}}},
	} {
		if a, granted := probeMetered(t, test.probeType, test.server, test.p); a.Status != 200 || granted < 30<<10 {
			t.Errorf("%s: %d %s, %d bytes", name, a.Status, a.Reason, granted)
		}
	}
}

func httpGet(scheme, path string) *prober.Original {
	return &prober.Original{HTTPGet: &prober.HTTPGet{Scheme: scheme, Path: path}}
}

func TestTheAppSeesItsOwnPortInTheHostAndTheCallersHeaders(t *testing.T) {
	var got *http.Request
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r }))
	a := probeOnce(t, live, s.URL, httpGet("HTTP", "/a b?c=d"))
	s.Close() // waits for the handler
	if a.Status != 200 || a.Reason != "" {
		t.Fatalf("answer %+v", a)
	}
	if got.Host != s.Listener.Addr().String() || got.RequestURI != "/a%20b?c=d" || got.UserAgent() != "kube-probe/1.35" || got.Header.Get("Accept-Encoding") != "" {
		t.Errorf("app saw %s %s %v", got.Host, got.RequestURI, got.Header)
	}
}

// TestTheURLIsTheOneThatTheKubeletMakesOfAPath compares the request with that of
// net/http for the URL that the kubelet makes (pkg/probe/http/request.go, formatURL).
func TestTheURLIsTheOneThatTheKubeletMakesOfAPath(t *testing.T) {
	seen := ""
	app := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen = r.RequestURI + " " + r.Header.Get("Authorization")
	}))
	defer app.Close()
	address, err := url.Parse(app.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(address.Port())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ path, authorization string }{
		{"/", ""},
		{"/a?b=c#d", ""},
		{"a", ""},
		{"/%zz", ""},
		{"1:b", ""},
		{"//me:secret@other/a", ""},
		{"//me@other/a", ""},
		{"//me:secret@other/a", "mine"},
		{"mailto:me", ""},
	} {
		u, err := url.Parse(test.path)
		if err != nil {
			u = &url.URL{Path: test.path}
		}
		u.Scheme, u.Host = "http", address.Host
		seen = ""
		want := ""
		if req, err := http.NewRequest("GET", u.String(), nil); err != nil {
			t.Fatal(err)
		} else {
			if test.authorization != "" {
				req.Header.Set("Authorization", test.authorization)
			}
			if res, err := app.Client().Do(req); err == nil {
				res.Body.Close()
				want = seen
			}
		}
		seen = ""
		target, err := NewTarget(address.Hostname(), live, &prober.Original{HTTPGet: &prober.HTTPGet{Scheme: "HTTP", Path: test.path, Port: field.Number(port)}, TimeoutSeconds: 10})
		if err != nil {
			t.Fatal(err)
		}
		call := &Call{Header: textproto.MIMEHeader{}, Start: time.Now()}
		if test.authorization != "" {
			call.Header.Set("Authorization", test.authorization)
		}
		a := probed(t.Context(), t, target, call)
		call.Close()
		if got := call.Header.Get("Authorization"); got != test.authorization {
			t.Errorf("%s: the caller's header has become %q", test.path, got)
		}
		if seen != want || (want == "") != (a.Reason == "URL has no host") {
			t.Errorf("%s: the app sees %q, and of the kubelet %q; %s", test.path, seen, want, a.Reason)
		}
	}
}

// TestTheSameRedirectsAreFollowedAsByNetHTTP: by their status, and if there is a Location.
func TestTheSameRedirectsAreFollowedAsByNetHTTP(t *testing.T) {
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, err := strconv.Atoi(r.URL.Path[1:])
		if err != nil {
			w.WriteHeader(299) // the end
			return
		}
		if r.URL.RawQuery == "" {
			w.Header().Set("Location", "/end")
		}
		w.WriteHeader(status)
	}))
	defer app.Close()
	for status := 300; status < 310; status++ {
		for _, query := range []string{"", "?none"} {
			path := fmt.Sprintf("/%d%s", status, query)
			res, err := http.Get(app.URL + path)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if a := probeOnce(t, live, app.URL, httpGet("HTTP", path)); a.Status != res.StatusCode {
				t.Errorf("%s: %d %s, want %d", path, a.Status, a.Reason, res.StatusCode)
			}
		}
	}
}

// TestChainsOfRedirectsAreThoseOfNetHTTP draws chains, and compares what an app sees of each request: who asks, for
// whom and from where, as the first request, the last one and the Locations say.
func TestChainsOfRedirectsAreThoseOfNetHTTP(t *testing.T) {
	var seen, locations []string
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, fmt.Sprint(r.RequestURI, " of ", r.Host, r.Header["Referer"], r.Header["Authorization"], r.Header["X"]))
		if n, _ := strconv.Atoi(r.URL.Path[1:]); n < len(locations) {
			w.Header().Set("Location", locations[n])
			w.WriteHeader(http.StatusFound)
		}
	}))
	defer app.Close()
	address := strings.TrimPrefix(app.URL, "http://")
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	to := []string{"/%d", "%d", "//" + address + "/%d", "http://" + address + "/%d", "http://me:secret@" + address + "/%d", "//you@" + address + "/%d", "http://" + address + "/%d#end"}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		locations = nil
		for i := range r.IntN(5) {
			locations = append(locations, fmt.Sprintf(to[r.IntN(len(to))], i+1))
		}
		path := []string{"/0", "//first:secret@other/0"}[r.IntN(2)]
		header := textproto.MIMEHeader{"X": {"1", "2"}}
		for _, name := range []string{"Referer", "Authorization"} {
			if r.IntN(3) == 0 {
				header.Set(name, "mine")
			}
		}
		asked := []string{address, "web"}[r.IntN(2)]

		u, err := url.Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		u.Scheme, u.Host = "http", address
		req, err := http.NewRequest(http.MethodGet, u.String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host, req.Header = asked, http.Header(header).Clone()
		seen = nil
		res, err := app.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		want := strings.Join(seen, "\n")

		get := &prober.HTTPGet{Scheme: "HTTP", Path: path, Port: field.Number(n)}
		target, err := NewTarget(host, live, &prober.Original{HTTPGet: get, TimeoutSeconds: 10})
		if err != nil {
			t.Fatal(err)
		}
		seen = nil
		call := &Call{Host: asked, Port: "15020", Header: header, Start: time.Now(), Own: true}
		a := probed(t.Context(), t, target, call)
		call.Close()
		if got := strings.Join(seen, "\n"); a.Status != 200 || got != want {
			t.Fatalf("%d %s: from %s with %v to %q the app sees\n%s\nand of net/http\n%s", a.Status, a.Reason, path, header, locations, got, want)
		}
	}
}

// TestTheBodyOfARedirectIsReadIfItIsShort, as net/http reads it: these never come.
func TestTheBodyOfARedirectIsReadIfItIsShort(t *testing.T) {
	for length, want := range map[string]int{"2048": 504, "2049": 200, "": 504} {
		t.Run(length, func(t *testing.T) {
			t.Parallel()
			let := make(chan struct{})
			app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/end" {
					return
				}
				w.Header().Set("Location", "/end")
				if length != "" {
					w.Header().Set("Content-Length", length)
				}
				w.WriteHeader(http.StatusFound)
				w.(http.Flusher).Flush()
				<-let
			}))
			defer app.Close()
			defer close(let)
			if a := probeOnce(t, live, app.URL, httpGet("HTTP", "/")); a.Status != want {
				t.Errorf("%d %s, want %d", a.Status, a.Reason, want)
			}
		})
	}
}

// TestABodyThatAHookLeavesUnread: its declared length decides.
func TestABodyThatAHookLeavesUnread(t *testing.T) {
	for length, want := range map[int]int{maxBody: maxBody, maxBody + 1: 0} {
		app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(length))
			io.WriteString(w, strings.Repeat("x", length))
		}))
		if a := probeOnce(t, prober.PreStop, app.URL, httpGet("HTTP", "/")); a.Status != 200 || len(a.Body) != want {
			t.Errorf("of %d bytes %d are read: %d %s", length, len(a.Body), a.Status, a.Reason)
		}
		if a := probeOnce(t, live, app.URL, httpGet("HTTP", "/")); a.Status != 200 || len(a.Body) != maxBody {
			t.Errorf("a probe: of %d bytes %d are read: %d %s", length, len(a.Body), a.Status, a.Reason)
		}
		app.Close()
	}
}

func TestAURLWithoutAPortHasThatOfItsScheme(t *testing.T) {
	for text, want := range map[string]string{"http://a/": "80", "https://a/": "443", "http://a:443/": "443", "https://[::1]:8443/": "8443"} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := port(u); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestRedirectsAreFollowedWithinThePodOnly(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, port, _ := net.SplitHostPort(r.Host)
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "http://example.invalid/", http.StatusFound)
		case "/away-on-this-port":
			http.Redirect(w, r, "http://example.invalid:"+port+"/ok", http.StatusFound)
		case "/scheme":
			http.Redirect(w, r, "ftp://127.0.0.1:"+port+"/ok", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/invalid":
			w.Header().Set("Location", "http://[::1")
			w.WriteHeader(http.StatusFound)
		case "/left/0", "/ok":
		case "/left/" + path.Base(r.URL.Path):
			left, _ := strconv.Atoi(path.Base(r.URL.Path))
			http.Redirect(w, r, "/left/"+strconv.Itoa(left-1), http.StatusFound)
		default:
			w.Header().Set("Location", "/ok")
			status, _ := strconv.Atoi(r.URL.Path[1:])
			w.WriteHeader(status)
		}
	}))
	defer s.Close()
	for path, want := range map[string]struct {
		verdict Verdict
		reason  string
	}{
		"/301": {Success, ""}, "/302": {Success, ""}, "/303": {Success, ""}, "/307": {Success, ""}, "/308": {Success, ""},
		"/300": {Warning, ""}, "/305": {Warning, ""}, "/309": {Warning, ""},
		"/away": {Warning, ""}, "/away-on-this-port": {Warning, ""},
		"/invalid": {Failure, "app redirects to an invalid Location"},
		"/scheme":  {Failure, "app redirects to the unsupported scheme \"ftp\""}, "/loop": {Failure, "stopped after 10 redirects"},
		"/left/9": {Success, ""}, "/left/10": {Failure, "stopped after 10 redirects"},
	} {
		if a := probeOnce(t, live, s.URL, httpGet("HTTP", path)); a.Verdict(false) != want.verdict || a.Reason != want.reason {
			t.Errorf("%s: %s (%s), want %s (%s)", path, a.Verdict(false), a.Reason, want.verdict, want.reason)
		}
	}
}

// An app that serves one connection at a time, and leaves the end of each to its client,
// waits for that before it takes the next one. It speaks plain HTTP.
func TestAConnectionEndsBeforeTheNextRequest(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	serve := func(conn net.Conn) {
		defer conn.Close()
		_ = conn.SetReadDeadline(time.Now().Add(time.Second))
		switch r, err := http.ReadRequest(bufio.NewReader(conn)); {
		case err != nil:
			io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
		case r.URL.Path == "/end":
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		default:
			fmt.Fprintf(conn, "HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", r.URL.Path[:len(r.URL.Path)-1])
		}
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("the connection is left open")
		}
	}
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			serve(conn)
		}
	}()
	for scheme, probeType := range map[string]prober.ProbeType{"HTTP": live, "HTTPS": stop} {
		if a := probeOnce(t, probeType, "http://"+l.Addr().String(), httpGet(scheme, "/end12345")); a.Status != 200 {
			t.Errorf("%s: %d %s", scheme, a.Status, a.Reason)
		}
	}
}

// A redirect to a path keeps the Host of the probe; one to a URL does not, and
// what follows has the URL's.
func TestARedirectHasTheHostThatTheKubeletSends(t *testing.T) {
	var hosts []string
	record := func(_ http.ResponseWriter, r *http.Request) { hosts = append(hosts, r.Host+r.URL.Path) }
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		record(w, r)
		if r.URL.Path == "/step" {
			http.Redirect(w, r, "/end", http.StatusFound)
		}
	}))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		record(w, r)
		switch r.URL.Path {
		case "/path":
			http.Redirect(w, r, "/end", http.StatusFound)
		case "/url":
			http.Redirect(w, r, "http://"+r.Context().Value(http.LocalAddrContextKey).(net.Addr).String()+"/end", http.StatusFound)
		case "/far":
			http.Redirect(w, r, far.URL+"/step", http.StatusFound)
		case "/no-scheme":
			w.Header().Set("Location", "//"+r.Context().Value(http.LocalAddrContextKey).(net.Addr).String()+"/end")
			w.WriteHeader(http.StatusFound)
		}
	}))
	own, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	own += ":" + port
	n, _ := strconv.Atoi(port)
	for _, c := range []struct{ path, host, want string }{
		{"/path", "web", "web/path web/end"},
		{"/url", "web", "web/url " + own + "/end"},
		{"/no-scheme", "web", "web/no-scheme web/end"},
		{"/far", "127.0.0.1:15020", own + "/far " + strings.TrimPrefix(far.URL, "http://") + "/step " + strings.TrimPrefix(far.URL, "http://") + "/end"},
	} {
		hosts = nil
		target, err := NewTarget("127.0.0.1", live, &prober.Original{HTTPGet: &prober.HTTPGet{Scheme: "HTTP", Path: c.path, Port: field.Number(n)}, TimeoutSeconds: 5})
		if err != nil {
			t.Fatal(err)
		}
		call := &Call{Host: c.host, Port: "15020", Header: textproto.MIMEHeader{"User-Agent": {"kube-probe/1.37"}, "Connection": {"close"}}, Start: time.Now()}
		a := probed(t.Context(), t, target, call)
		call.Close()
		if got := strings.Join(hosts, " "); a.Status != 200 || got != c.want {
			t.Errorf("%s: %d (%s) after %s, want 200 after %s", c.path, a.Status, a.Reason, got, c.want)
		}
	}
	s.Close()
	far.Close()
}

func TestHTTPSNeedsNoTrustAndMaySpeakHTTP2(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		var proto string
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			proto = r.Proto
			io.WriteString(w, strings.Repeat("x", 20000))
		}))
		s.EnableHTTP2 = h2
		s.StartTLS()
		a := probeOnce(t, live, s.URL, httpGet("HTTPS", "/"))
		s.Close()
		if a.Status != 200 || len(a.Body) != maxBody || (proto == "HTTP/2.0") != h2 {
			t.Errorf("HTTP/2 %t: status %d, %d bytes over %s: %s", h2, a.Status, len(a.Body), proto, a.Reason)
		}
	}
}

// TestAHandshakeHasATimeoutOfItsOwn: test/conformance/kubelet has the real one.
func TestAHandshakeHasATimeoutOfItsOwn(t *testing.T) {
	defer func(was time.Duration) { handshakeTimeout = was }(handshakeTimeout)
	handshakeTimeout = 100 * time.Millisecond
	app := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	app.Listener = slowListener{app.Listener, 300 * time.Millisecond}
	app.StartTLS()
	defer app.Close()
	p := httpGet("HTTPS", "/")
	p.TimeoutSeconds = 5
	if a := probeOnce(t, live, app.URL, p); a.Status != 502 || a.Reason != "app's TLS handshake took longer than 100ms" {
		t.Errorf("a probe gets %d: %s", a.Status, a.Reason)
	}
	if a := probeOnce(t, prober.PreStop, app.URL, httpGet("HTTPS", "/")); a.Verdict(true) != Success {
		t.Errorf("a hook gets %d: %s", a.Status, a.Reason)
	}
}

// A slowListener is late to read from its connections.
type slowListener struct {
	net.Listener
	pause time.Duration
}

func (l slowListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return &slowConn{Conn: conn, pause: l.pause}, err
}

type slowConn struct {
	net.Conn
	pause time.Duration
	once  sync.Once
}

func (c *slowConn) Read(p []byte) (int, error) {
	c.once.Do(func() { time.Sleep(c.pause) })
	return c.Conn.Read(p)
}

// The kubelet takes the header of the hook out, and its client puts the URL's user in again.
func TestAnHTTPSHookFallsBackToHTTPWithoutItsCredentials(t *testing.T) {
	for path, want := range map[string]string{"/": "[]", "//me:secret@other/": "[Basic bWU6c2VjcmV0]"} {
		var auth []string
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			auth = r.Header["Authorization"]
			w.WriteHeader(500)
		}))
		a := probeOnce(t, stop, s.URL, httpGet("HTTPS", path))
		s.Close() // waits for the handler
		if a.Drop || a.Verdict(true) != Success || fmt.Sprint(auth) != want {
			t.Errorf("%s: answer %+v, app saw Authorization %q, want %s", path, a, auth, want)
		}
	}
}

func TestAnHTTPSProbeOfAPlainAppFails(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	if a := probeOnce(t, live, s.URL, httpGet("HTTPS", "/")); a.Status != 502 || a.Reason != "tls: first record does not look like a TLS handshake" {
		t.Errorf("%d %s", a.Status, a.Reason)
	}
}

// Callers must not learn from a reason what the app's headers say, even if they are malformed.
func TestAReasonHasNothingOfAHeadersValue(t *testing.T) {
	var answer string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = conn.Write([]byte(answer))
	}))
	defer s.Close()
	for _, line := range []string{"Set-Cookie secret", " Set-Cookie: secret", "Set-Cookie: secret\x00", ": secret", "Location: http://[::1/secret", "Location: /%zz?secret"} {
		for _, head := range []string{"HTTP/1.1 302 Found\r\n", "HTTP/1.1 302 Found\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"} {
			answer = head + line + "\r\n\r\n"
			a := probeOnce(t, live, s.URL, httpGet("HTTP", "/"))
			if strings.Contains(a.Reason+string(a.Body), "secret") {
				t.Errorf("%q: the reason is %q, the body %q", answer, a.Reason, a.Body)
			}
			if a.Reason == "" && !strings.Contains(answer, "chunked") {
				t.Errorf("%q: the probe does not fail", answer)
			}
		}
	}
}

func TestAFailureOfTheTransportDropsAHookAndFailsAProbe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	nobody := "http://" + l.Addr().String()
	if a := probeOnce(t, stop, nobody, httpGet("HTTP", "/")); !a.Drop {
		t.Errorf("hook: %+v, want it dropped", a)
	}
	for name, p := range map[string]*prober.Original{"httpGet": httpGet("HTTP", "/"), "tcpSocket": {TCPSocket: &prober.TCPSocket{}}} {
		if a := probeOnce(t, live, nobody, p); a.Status != 502 || a.Reason != "app refused the connection" {
			t.Errorf("%s: %+v, want 502 refused", name, a)
		}
	}
	l, err = net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if conn, err := l.Accept(); err == nil {
			_, _ = conn.Read(make([]byte, 1<<10))
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		}
	}()
	if a := probeOnce(t, live, "http://"+l.Addr().String(), httpGet("HTTP", "/")); a.Status != 502 || a.Reason != "app reset the connection" {
		t.Errorf("%+v, want 502 reset", a)
	}
}

func TestATCPSocketHookIsAnError(t *testing.T) {
	if _, err := NewTarget("127.0.0.1", stop, &prober.Original{TCPSocket: &prober.TCPSocket{Port: field.Number(80)}}); err == nil || err.Error() != "hook must be httpGet: the kubelet supports no other" {
		t.Errorf("a tcpSocket hook must be an error, as it always is for the kubelet: %v", err)
	}
}

func TestGRPCPassesOnlyWhenServing(t *testing.T) {
	for name, test := range map[string]struct {
		body   string
		status string
		want   int
	}{
		"serving":       {"\x00\x00\x00\x00\x02\x08\x01", "0", 200},
		"not serving":   {"\x00\x00\x00\x00\x02\x08\x02", "0", 503},
		"unimplemented": {"", "12", 503},
		"two messages":  {"\x00\x00\x00\x00\x02\x08\x01\x00\x00\x00\x00\x02\x08\x01", "0", 503},
	} {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			io.WriteString(w, test.body)
			w.Header().Set(http.TrailerPrefix+"Grpc-Status", test.status)
		}))
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetUnencryptedHTTP2(true)
		s.Start()
		a := probeOnce(t, live, s.URL, &prober.Original{GRPC: &prober.GRPC{}})
		if a.Status != test.want || test.want == 503 && string(a.Body) != "probe-proxy: "+a.Reason+"\n" {
			t.Errorf("%s: %d %s with %q, want %d", name, a.Status, a.Reason, a.Body, test.want)
		}
		s.Close()
	}
}

func FuzzHealthStatusNeverPanics(f *testing.F) {
	f.Add([]byte{8, 1})
	f.Add([]byte{11, 12, 8, 1})
	f.Fuzz(func(t *testing.T, m []byte) { healthStatus(m) })
}

func TestVerdictsOfStatuses(t *testing.T) {
	for status, want := range map[int]Verdict{0: Failure, 199: Failure, 200: Success, 299: Success, 300: Warning, 399: Warning, 400: Failure, 999: Failure} {
		if got := (&Answer{Status: status}).Verdict(false); got != want {
			t.Errorf("%d: %s, want %s", status, got, want)
		}
		if got := (&Answer{Status: status}).Verdict(true); got != Success {
			t.Errorf("a hook's %d: %s", status, got)
		}
	}
	if (&Answer{Status: 200, Cut: true}).Verdict(false) != Failure || (&Answer{Status: 200, Cut: true}).Verdict(true) != Success || (&Answer{Status: 200, Drop: true}).Verdict(true) != Failure {
		t.Error("what breaks off fails a probe, what is dropped fails both")
	}
}

func TestHealthStatuses(t *testing.T) {
	for message, want := range map[string]int32{
		"":                         0,
		"\x08\x01":                 1,
		"\x08\x01\x08\x02":         2,
		"\x10\x05\x08\x01":         1,
		"\x12\x02ab\x08\x01":       1,
		"\x0a\x01a\x08\x01":        1,
		"\x08\x01\x0a\x01a":        1,
		"\x0b\x0c\x08\x01":         1,
		"\x1d\x01\x02\x03\x04":     0,
		"\x08\x81\x80\x80\x80\x10": 1,
		"\x08\x04":                 4,
		"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01": -1,
	} {
		if got, ok := healthStatus([]byte(message)); got != want || !ok {
			t.Errorf("%q: %d %t, want %d", message, got, ok, want)
		}
	}
	for status, want := range map[int32]string{-1: "-1", 0: "UNKNOWN", 1: "SERVING", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN", 4: "4"} {
		if got := healthName(status); got != want {
			t.Errorf("%d: %s, want %s", status, got, want)
		}
	}
	for _, message := range []string{"\x08", "\x08\x81", "\x00\x01", "\x0c\x08\x01", "\x0b\x08\x01", "\x12\x05ab", "\x1d\x01", "\x08\x01\xff"} {
		if _, ok := healthStatus([]byte(message)); ok {
			t.Errorf("%q is malformed", message)
		}
	}
}
