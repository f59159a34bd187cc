package kubelet_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	_ "google.golang.org/grpc/encoding/gzip" // which the kubelet links too, by k8s.io/component-base/tracing
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
)

// A scenario is one app with one probe. The port and the pod's IP come when
// it runs.
type scenario struct {
	axis    string
	name    string
	ip      string
	app     behaviour
	http    *v1.HTTPGetAction
	grpc    *v1.GRPCAction
	timeout int // seconds; the default 5 never decides
	hook    bool
}

// A suite collects scenarios; its random numbers have a fixed seed.
type suite struct {
	rnd *mathrand.Rand
	all []*scenario
}

func (s *suite) add(axis, name string, b behaviour, change ...func(*scenario)) {
	sc := &scenario{axis: axis, name: name, app: b, ip: "127.0.0.1", timeout: 5, http: &v1.HTTPGetAction{Path: "/", Scheme: "HTTP"}}
	if s.rnd.IntN(4) == 0 {
		sc.ip = "::1"
	}
	for _, c := range change {
		c(sc)
	}
	s.all = append(s.all, sc)
}

func timeout(n int) func(*scenario) { return func(sc *scenario) { sc.timeout = n } }
func path(p string) func(*scenario) { return func(sc *scenario) { sc.http.Path = p } }
func https(sc *scenario)            { sc.http.Scheme = "HTTPS" }
func hook(sc *scenario)             { sc.hook = true }
func tcp(sc *scenario)              { sc.http = nil }
func header(nv ...string) func(*scenario) {
	return func(sc *scenario) {
		for i := 0; i < len(nv); i += 2 {
			sc.http.HTTPHeaders = append(sc.http.HTTPHeaders, v1.HTTPHeader{Name: nv[i], Value: nv[i+1]})
		}
	}
}

func protocol(p v1.HTTPProtocol) func(*scenario) { return func(sc *scenario) { sc.http.Protocol = &p } }
func mode(m v1.GRPCProbeMode) func(*scenario)    { return func(sc *scenario) { sc.grpc.Mode = &m } }

// h2c asks for HTTP/2 without TLS, by prior knowledge.
func h2c(sc *scenario) { protocol(v1.HTTPProtocolHTTP2)(sc) }

func health1(service string) func(*scenario) {
	return func(sc *scenario) { sc.http, sc.grpc = nil, &v1.GRPCAction{Service: &service} }
}

func pick[T any](s *suite, values ...T) T { return values[s.rnd.IntN(len(values))] }

func generate() []*scenario {
	s := &suite{rnd: mathrand.New(mathrand.NewPCG(3, 1976))}
	s.statuses()
	s.redirects()
	s.malformed()
	s.bodies()
	s.headers()
	s.paths()
	s.connections()
	s.tls()
	s.http2()
	s.grpcScenarios()
	s.compressedScenarios()
	s.grpcTLSScenarios()
	s.hooks()
	s.details()
	return s.all
}

// statuses: every code from 199 to 599 and some beyond, framed at random, on
// plain HTTP, HTTPS and HTTP/2 with and without TLS.
func (s *suite) statuses() {
	codes := []int{0, 99, 100, 101, 102, 103, 198, 600, 999}
	for c := 199; c <= 599; c++ {
		codes = append(codes, c)
	}
	for _, code := range codes {
		frame := pick(s, contentLength, chunked, untilClose)
		body := pick(s, "", "ok", strings.Repeat("x", 3000))
		b := text(frame(code, body))
		switch s.rnd.IntN(5) {
		case 0:
			s.add("status", fmt.Sprint("https ", code), secure(serverTLS(), b), https)
		case 2:
			if code >= 200 {
				s.add("status", fmt.Sprint("h2c ", code), handler(nil, priorKnowledge, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }), h2c)
				break
			}
			s.add("status", fmt.Sprint("HTTP1 ", code), b, protocol(v1.HTTPProtocolHTTP1))
		case 1:
			if code >= 200 {
				s.add("status", fmt.Sprint("h2 ", code), handler(serverTLS(), nil, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }), https)
				break
			}
			fallthrough
		default:
			s.add("status", fmt.Sprint(code), b)
		}
	}
}

// redirect answers hops requests with a redirect and the rest with code.
func redirect(hops, code, final int, location string) behaviour {
	return counted(func(conn net.Conn, _ *http.Request, before int) {
		if before < hops {
			_, port, _ := net.SplitHostPort(conn.LocalAddr().String())
			to := strings.NewReplacer("SELF", conn.LocalAddr().String(), "PORT", port).Replace(location)
			fmt.Fprintf(conn, "HTTP/1.1 %d Redirect\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", code, to)
		} else {
			io.WriteString(conn, contentLength(final, "end"))
		}
		lingerClose(conn)
	})
}

func (s *suite) redirects() {
	locations := []string{"/next", "next", "http://SELF/x", "?q=1", "#f", "", "http://example.invalid/", "//example.invalid/x",
		"http://127.0.0.1:1/refused", "http://localhost:PORT/", "http://[::1", "ftp://SELF/", "http:///x", "HTTP://SELF/up", "/%zz", "http://user:pw@SELF/", "https://SELF/", "mailto:x", " /space", "/a b", ":", "http://SELF:bad/"}
	for _, location := range locations {
		for _, code := range []int{301, 302, 303, 307, 308, 300, 304, 305} {
			final := pick(s, 200, 200, 404, 302)
			headers := pick(s, header(), header("Host", "example.com"), header("Authorization", "Bearer x", "Referer", "me"), header("Cookie", "a=b"))
			if strings.Contains(location, "127.0.0.1:1/") {
				headers = header() // to another port no request is redirected that has headers of its own
			}
			s.add("redirect", fmt.Sprintf("%d to %q", code, location), redirect(1, code, final, location), headers)
		}
	}
	for _, hops := range []int{2, 5, 8, 9} {
		s.add("redirect", fmt.Sprint(hops, " hops"), redirect(hops, 302, 200, "/again"))
	}
	for _, location := range []string{"/", "/loop", "http://SELF/"} {
		s.add("redirect", "loop "+location, redirect(1<<30, 302, 200, location))
	}
	for _, code := range []int{301, 302, 303, 307, 308} {
		s.add("redirect", fmt.Sprint(code, " without Location"), text(contentLength(code, "")))
		s.add("redirect", fmt.Sprint(code, " with hanging body"), hang(fmt.Sprintf("HTTP/1.1 %d R\r\nLocation: /x\r\nContent-Length: 5\r\n\r\n", code)), timeout(1))
		s.add("redirect", fmt.Sprint(code, " elsewhere with hanging body"), hang(fmt.Sprintf("HTTP/1.1 %d R\r\nLocation: http://example.invalid/x\r\nContent-Length: 5\r\n\r\n", code)), timeout(1))
	}
	var turn sync.Mutex // of an app that serves one connection at a time, until its client ends it
	s.add("redirect", "one connection at a time", counted(func(conn net.Conn, _ *http.Request, before int) {
		turn.Lock()
		defer turn.Unlock()
		answer := contentLength(200, "ok")
		if before == 0 {
			answer = "HTTP/1.1 302 Redirect\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n"
		}
		io.WriteString(conn, answer)
		io.Copy(io.Discard, conn)
	}))
	h2 := handler(serverTLS(), nil, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/done", http.StatusFound)
		}
	})
	s.add("redirect", "over h2", h2, https)
}

func (s *suite) malformed() {
	for _, line := range []string{"HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 200", "HTTP/1.1 200 ", "HTTP/1.1  200 OK", "HTTP/2.0 200 OK", "HTTP/1.0 200 OK", "HTTP/0.9 200 OK",
		"http/1.1 200 OK", "ICY 200 OK", "HTTP/1.1 -10 OK", "HTTP/1.1 abc OK", "HTTP/1.1 +20 OK", "HTTP/1.1", "HTTP/1.10 200 OK", "HTTP/1 200 OK", "HTTP/1.1\t200 OK", "", " HTTP/1.1 200 OK", "200 OK", "HTTP/1.1 200\tOK", "HTTP/3.1 404 X"} {
		s.add("status line", fmt.Sprintf("%q", line), text(line+"\r\nContent-Length: 2\r\n\r\nok"))
		s.add("status line", fmt.Sprintf("%q and LF", line), text(line+"\nContent-Length: 2\n\nok"))
		s.add("status line", fmt.Sprintf("%q alone", line), text(line))
	}
	for _, h := range []string{"no colon", " leading: space", "Key : v", "Key: a\r\n folded", "K\x00: v", "Key: a\x00b", "K\xff: v", "Key: \xff", ": empty", "", "X: " + strings.Repeat("y", 100<<10), "a b: c", "Location: /x", "Key:v", "K(: v", "\r: v", "X: a\rb",
		"Content-Length: 5", "Content-Length: 1", "Content-Length: abc", "Content-Length: -1", "Content-Length: +2", "Content-Length: 2, 2", "Content-Length:", "Content-Length:  2 ", "Content-Length: 2\r\nContent-Length: 2", "Content-Length: 2\r\nContent-Length: 3",
		"Content-Length: 99999999999999999999", "Content-Length: 0x2", "Content-Length: 02",
		"Transfer-Encoding: gzip", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: identity", "Transfer-Encoding: Chunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 3", "Transfer-Encoding: chunked\r\nContent-Length: x", "Transfer-Encoding:", "Transfer-Encoding: chunked, chunked",
		"Content-Encoding: gzip", "Connection: keep-alive", "Trailer: X", "Upgrade: foo\r\nConnection: upgrade"} {
		for _, version := range []string{"1.1", "1.0"} {
			name := h
			if len(name) > 60 {
				name = name[:60]
			}
			s.add("header line", fmt.Sprintf("%q in %s", name, version), text("HTTP/"+version+" 200 OK\r\n"+h+"\r\n\r\nok"))
		}
	}
	for _, c := range []string{"2\r\nok\r\n0\r\n\r\n", "2\nok\n0\n\n", "2;ext=1\r\nok\r\n0\r\n\r\n", "02\r\nok\r\n0\r\n\r\n", "2 \r\nok\r\n0\r\n\r\n", " 2\r\nok\r\n0\r\n\r\n", "2\r\nokX\r\n0\r\n\r\n", "3\r\nok\r\n0\r\n\r\n", "g\r\nok\r\n", "-2\r\nok\r\n", "\r\n", "", "2\r\nok\r\n", "2\r\nok\r\n0\r\n", "2\r\nok\r\n0\r\nX: y\r\n\r\n", "2\r\nok\r\n0\r\nX y\r\n\r\n",
		"00000000000000002\r\nok\r\n0\r\n\r\n", "ffffffffffffffff\r\nok", "2\r\nok\r\n0\r\n\r\ngarbage", "0\r\n\r\n", "+2\r\nok\r\n0\r\n\r\n", "0x2\r\nok\r\n0\r\n\r\n", "2\r\r\nok\r\n0\r\n\r\n", "A\r\n0123456789\r\n0\r\n\r\n", "2;" + strings.Repeat("e", 5000) + "\r\nok\r\n0\r\n\r\n",
		strings.Repeat("1;"+strings.Repeat("e", 300)+"\r\nx\r\n", 100) + "0\r\n\r\n", strings.Repeat("1\r\nx\r\n", 2000) + "0\r\n\r\n"} {
		name := c
		if len(name) > 40 {
			name = name[:40]
		}
		s.add("chunks", fmt.Sprintf("%q", name), text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"+c))
		s.add("chunks", fmt.Sprintf("%q with 500", name), text("HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n"+c))
	}
	for n := 1; n <= 7; n++ {
		for _, info := range []string{"100 Continue", "103 Early Hints", "199 What"} {
			s.add("1xx", fmt.Sprintf("%d times %s", n, info), text(strings.Repeat("HTTP/1.1 "+info+"\r\nX: y\r\n\r\n", n)+contentLength(200, "ok")))
		}
	}
	for range 60 { // bytes changed at random
		b := []byte(pick(s, contentLength, chunked, untilClose)(pick(s, 200, 302, 404, 500), "some body"))
		for range 1 + s.rnd.IntN(2) {
			b[s.rnd.IntN(len(b))] = byte(pick(s, 0, ' ', '\r', '\n', ':', 'x', '1', 0xff))
		}
		s.add("mutated", fmt.Sprintf("%q", b), text(string(b)))
	}
}

func (s *suite) bodies() {
	for _, size := range []int{0, 1, 4096, 10239, 10240, 10241, 20000, 1 << 20} {
		for _, code := range []int{200, 302, 503} {
			body := strings.Repeat("b", size)
			s.add("body", fmt.Sprint(code, " length ", size), text(contentLength(code, body)))
			s.add("body", fmt.Sprint(code, " chunked ", size), text(chunked(code, body)))
			s.add("body", fmt.Sprint(code, " until close ", size), text(untilClose(code, body)))
			s.add("body", fmt.Sprint(code, " https ", size), secure(serverTLS(), text(contentLength(code, body))), https)
			s.add("body", fmt.Sprint(code, " h2 ", size), handler(serverTLS(), nil, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(code)
				io.WriteString(w, body)
			}), https)
		}
	}
	for _, code := range []int{200, 204, 304, 302, 500} {
		for _, frame := range []func(int, string) string{contentLength, chunked, untilClose} {
			whole := frame(code, strings.Repeat("b", 9000))
			for range 2 {
				part := whole[:len(whole)-1-s.rnd.IntN(8000)]
				s.add("body", fmt.Sprint(code, " cut off"), text(part))
				s.add("body", fmt.Sprint(code, " reset"), reset(part))
				s.add("body", fmt.Sprint(code, " hangs"), hang(part), timeout(1))
			}
			s.add("body", fmt.Sprint(code, " hangs after 10 KiB"), hang(whole[:20]+frame(code, strings.Repeat("b", 10300))[20:]), timeout(1))
			s.add("body", fmt.Sprint(code, " slow but in time"), withPauses(100*time.Millisecond, whole[:30], whole[30:8000], whole[8000:]))
			s.add("body", fmt.Sprint(code, " too slow"), withPauses(700*time.Millisecond, whole[:100], whole[100:8000], whole[8000:]), timeout(1))
		}
	}
}

func (s *suite) headers() {
	ok := text(contentLength(200, "ok"))
	for _, h := range [][]string{{"Host", "example.com"}, {"Host", "example.com:80"}, {"Host", "example.com:8080"}, {"Host", ""}, {"Host", "a", "Host", "b"}, {"host", "lower.example"}, {"Host", "exa mple"}, {"Host", "bücher.example"}, {"Host", "[::1]"}, {"Host", "a/b"},
		{"User-Agent", "me"}, {"User-Agent", ""}, {"User-Agent", "a", "User-Agent", "b"}, {"user-agent", "x"}, {"Accept", ""}, {"Accept", "text/html"}, {"accept", "a", "Accept", "b"}, {"Accept-Encoding", "gzip"}, {"Accept-Encoding", ""},
		{"X-A", "1", "X-A", "2", "x-a", "3"}, {"X-Empty", ""}, {"X-Long", strings.Repeat("l", 8000)}, {"X-Space", "  a  b "}, {"X-Utf", "äöü"}, {"X-Ctl", "a\x01b"}, {"X-Nl", "a\nb"}, {"Bad Name", "x"}, {"", "x"}, {"X:Y", "z"},
		{"Connection", "close"}, {"Connection", "keep-alive"}, {"Connection", "Upgrade", "Upgrade", "websocket"}, {"Connection", "X-A", "X-A", "1"}, {"Content-Length", "5"}, {"Transfer-Encoding", "chunked"}, {"Trailer", "X"}, {"Te", "trailers"}, {"Keep-Alive", "5"}, {"Proxy-Connection", "x"},
		{"Authorization", "Basic eDp5"}, {"Cookie", "a=b; c=d"}, {"Range", "bytes=0-1"}, {"If-None-Match", "x"}, {"Referer", "x"}, {"Origin", "http://x"}, {"X-Forwarded-For", "1.2.3.4"}, {"Pragma", "no-cache"}, {"Cache-Control", "no-store"}, {"Expect", "100-continue"}, {"Content-Type", "a/b"}} {
		name := fmt.Sprintf("%.60q", h)
		s.add("request header", name, ok, header(h...))
		s.add("request header", name+" https", secure(serverTLS(), ok), header(h...), https)
		if h[0] == "X-Space" {
			continue // HTTP/1 trims what HTTP/2 would have carried, on the way to probe-proxy
		}
		s.add("request header", name+" h2", handler(serverTLS(), nil, func(http.ResponseWriter, *http.Request) {}), header(h...), https)
		s.add("request header", name+" h2c", handler(nil, priorKnowledge, func(http.ResponseWriter, *http.Request) {}), header(h...), h2c)
	}
}

func (s *suite) paths() {
	ok := text(contentLength(200, "ok"))
	list := []string{"", "/", "/a", "a", "/a?b=c", "/a?b=c&d=%20", "?q", "/a%2Fb", "/a b", "/ü", "/%C3%BC", "/#x", "/a#b?c", "//x/y", "///", "/%zz", "http://h/x", "https://h:1/x?y", "/a;b=c", "/../x", "/./a/..", "/a?b=%zz&c= d", "*", "user@h/x", "http://u:p@h/x", "/:x", "a:b", "a:b/c", ":", "/a\\b", "/\"<>", "/a?x=\"<>", "/{x}", "/[x]", "/a|b", "/a\tb", "/a\nb", "/+", "/a?+", "/~a", "/%", "/?", "/??", "/a?#", "mailto:x", "/a%00b", "./a", "../a", "a/b:c", "/%41", "/a%20b%2f"}
	for range 60 {
		p := "/"
		for range 1 + s.rnd.IntN(6) {
			p += pick(s, "a", "/", "?", "#", "%20", "%2F", " ", ":", "@", "ü", "&x=1", ";", "..", "%", "//", "$", "'", "(", "\\", "^")
		}
		list = append(list, p)
	}
	for _, p := range list {
		s.add("path", fmt.Sprintf("%q", p), ok, path(p))
	}
	for _, p := range []string{"/a?b=c", "/ü", "/a b#c"} {
		s.add("path", fmt.Sprintf("h2 %q", p), handler(serverTLS(), nil, func(http.ResponseWriter, *http.Request) {}), path(p), https)
		s.add("path", fmt.Sprintf("h2c %q", p), handler(nil, priorKnowledge, func(http.ResponseWriter, *http.Request) {}), path(p), h2c)
	}
}

// connections: what happens below HTTP, for HTTP and TCP probes.
func (s *suite) connections() {
	garbage := conns(func(_ *app, conn net.Conn) { io.WriteString(conn, "\x00\x01garbage\r\n\r\n"); lingerClose(conn) })
	closes := conns(func(_ *app, conn net.Conn) {})
	resets := conns(func(_ *app, conn net.Conn) { conn.(*net.TCPConn).SetLinger(0) })
	silent := conns(func(_ *app, conn net.Conn) { io.Copy(io.Discard, conn) })
	for _, ip := range []string{"127.0.0.1", "::1"} {
		on := func(sc *scenario) { sc.ip = ip }
		for name, b := range map[string]behaviour{"closed port": closedPort, "garbage": garbage, "closes": closes, "resets": resets, "serves": text(contentLength(200, "ok")), "tls": secure(serverTLS(), text(contentLength(200, "ok")))} {
			s.add("connection", name, b, on)
			s.add("connection", name+" https", b, on, https)
			s.add("connection", name+" h2c", b, on, h2c, timeout(1))
			s.add("connection", name+" grpc TLS", b, on, health1(""), mode(v1.GRPCProbeModeTLS), timeout(1))
			if name != "resets" { // whether connect sees the reset is the kernel's toss-up, directly too
				s.add("connection", name+" tcp", b, on, tcp)
			}
			s.add("connection", name+" grpc", b, on, health1(""), timeout(1))
		}
		s.add("connection", "silent", silent, on, timeout(1))
		s.add("connection", "silent https", silent, on, https, timeout(1))
		s.add("connection", "silent tcp", silent, on, tcp, timeout(1))
		s.add("connection", "silent grpc", silent, on, health1(""), timeout(1))
		s.add("connection", "silent h2c", silent, on, h2c, timeout(1))
		s.add("connection", "silent grpc TLS", silent, on, health1(""), mode(v1.GRPCProbeModeTLS), timeout(1))
		for _, seconds := range []int{1, 2} {
			limit := time.Duration(seconds) * time.Second
			for _, scheme := range []func(*scenario){func(*scenario) {}, https} {
				b := func(pause time.Duration) behaviour {
					plain := withPauses(pause, contentLength(200, "ok"))
					sc := &scenario{http: &v1.HTTPGetAction{}}
					if scheme(sc); sc.http.Scheme == "HTTPS" {
						return secure(serverTLS(), plain)
					}
					return plain
				}
				s.add("timeout", fmt.Sprint("answers 0.5 s before ", limit), b(limit-500*time.Millisecond), on, timeout(seconds), scheme)
				s.add("timeout", fmt.Sprint("answers 0.5 s after ", limit), b(limit+500*time.Millisecond), on, timeout(seconds), scheme)
			}
		}
	}
	for _, pause := range []time.Duration{8 * time.Second, 11 * time.Second} { // the kubelet's client gives up after 10 s
		slow := func(a *app, l net.Listener) {
			secure(serverTLS(), text(contentLength(200, "ok")))(a, lateListener{l, pause})
		}
		s.add("timeout", fmt.Sprint("handshake after ", pause), slow, https, timeout(13))
		s.add("timeout", fmt.Sprint("handshake of a hook after ", pause), slow, https, hook, timeout(13))
	}
	s.add("connection", "answers before the request", conns(func(_ *app, conn net.Conn) {
		http.ReadRequest(bufio.NewReader(conn))
		io.WriteString(conn, contentLength(200, "ok")+contentLength(500, "no"))
		lingerClose(conn)
	}))
}

// A lateListener is late to read from its connections.
type lateListener struct {
	net.Listener
	pause time.Duration
}

func (l lateListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return &lateConn{Conn: conn, pause: l.pause}, err
}

type lateConn struct {
	net.Conn
	pause time.Duration
	once  sync.Once
}

func (c *lateConn) Read(p []byte) (int, error) {
	c.once.Do(func() { time.Sleep(c.pause) })
	return c.Conn.Read(p)
}

// priorKnowledge serves HTTP/2 without TLS, and HTTP/1 not at all.
var priorKnowledge = func() *http.Protocols {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return p
}()

func serverTLS() *tls.Config { return sharedTLS.Clone() }

var sharedTLS = &tls.Config{Certificates: []tls.Certificate{certificate(must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)), nil)}}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func certificate(key crypto.Signer, change func(*x509.Certificate)) tls.Certificate {
	t := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"app"}}
	if change != nil {
		change(t)
	}
	return tls.Certificate{Certificate: [][]byte{must(x509.CreateCertificate(rand.Reader, t, t, key.Public(), key))}, PrivateKey: key}
}

func (s *suite) tls() {
	p256 := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	_, ed, _ := ed25519.GenerateKey(rand.Reader)
	certs := map[string]tls.Certificate{
		"P256":    certificate(p256, nil),
		"P384":    certificate(must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)), nil),
		"P521":    certificate(must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader)), nil),
		"P224":    certificate(must(ecdsa.GenerateKey(elliptic.P224(), rand.Reader)), nil),
		"RSA2048": certificate(must(rsa.GenerateKey(rand.Reader, 2048)), nil),
		"Ed25519": certificate(ed, nil),
		"expired": certificate(p256, func(c *x509.Certificate) { c.NotAfter = time.Unix(1000, 0); c.NotBefore = time.Unix(1, 0) }),
		"not yet": certificate(p256, func(c *x509.Certificate) {
			c.NotBefore = time.Now().Add(24 * time.Hour)
			c.NotAfter = time.Now().Add(48 * time.Hour)
		}),
		"no name": certificate(p256, func(c *x509.Certificate) { c.DNSNames = nil }),
		"CA":      certificate(p256, func(c *x509.Certificate) { c.IsCA = true; c.BasicConstraintsValid = true }),
		"client":  certificate(p256, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }),
		"broken":  {Certificate: [][]byte{[]byte("no certificate")}, PrivateKey: p256},
		"swapped": {Certificate: certificate(must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)), nil).Certificate, PrivateKey: p256},
	}
	versions := map[string][2]uint16{"1.0": {tls.VersionTLS10, tls.VersionTLS10}, "1.1": {tls.VersionTLS11, tls.VersionTLS11}, "1.2": {tls.VersionTLS12, tls.VersionTLS12}, "1.3": {tls.VersionTLS13, tls.VersionTLS13}, "1.0-1.2": {tls.VersionTLS10, tls.VersionTLS12}}
	ok := text(contentLength(200, "ok"))
	for cname, cert := range certs {
		for vname, v := range versions {
			config := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: v[0], MaxVersion: v[1]}
			s.add("tls", cname+" with TLS "+vname, secure(config, ok), https)
		}
	}
	for _, protos := range [][]string{{"h2"}, {"http/1.1"}, {"foo"}, {"h2", "http/1.1"}, {"http/1.1", "h2"}, {"http/1.0"}} {
		config := serverTLS()
		config.NextProtos = protos
		s.add("tls", fmt.Sprintf("ALPN %v answers HTTP/1", protos), secure(config, ok), https)
		s.add("tls", fmt.Sprintf("ALPN %v closes", protos), secure(config, conns(func(_ *app, c net.Conn) { c.(*tls.Conn).Handshake() })), https)
	}
	for _, suite := range tls.CipherSuites() {
		if suite.SupportedVersions[0] == tls.VersionTLS12 {
			for _, cname := range []string{"P256", "RSA2048"} {
				s.add("tls", suite.Name+" "+cname, secure(&tls.Config{Certificates: []tls.Certificate{certs[cname]}, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite.ID}}, ok), https)
			}
		}
	}
	for _, suite := range tls.InsecureCipherSuites() {
		s.add("tls", suite.Name+" insecure", secure(&tls.Config{Certificates: []tls.Certificate{certs["RSA2048"]}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite.ID}}, ok), https)
	}
	for _, curve := range []tls.CurveID{tls.CurveP256, tls.CurveP384, tls.CurveP521, tls.X25519, tls.X25519MLKEM768} {
		config := serverTLS()
		config.CurvePreferences = []tls.CurveID{curve}
		s.add("tls", "curve "+curve.String(), secure(config, ok), https)
	}
	for name, auth := range map[string]tls.ClientAuthType{"asked": tls.RequestClientCert, "any": tls.RequireAnyClientCert, "verified": tls.RequireAndVerifyClientCert} {
		for _, v := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			config := serverTLS()
			config.ClientAuth, config.MaxVersion = auth, v
			s.add("tls", fmt.Sprintf("client certificate %s %x", name, v), secure(config, ok), https)
		}
	}
	for _, junk := range []string{"\x15\x03\x01\x00\x02\x02\x28", "\x16\x03\x03\xff\xff", "HTTP/1.1 400 Bad\r\n\r\n", "SSH-2.0-x\r\n", "\x16\x03\x01\x00\x00"} {
		s.add("tls", fmt.Sprintf("junk %q", junk), conns(func(_ *app, c net.Conn) { io.WriteString(c, junk); lingerClose(c) }), https)
	}
}

func (s *suite) http2() {
	h2 := func(name string, h http.HandlerFunc, change ...func(*scenario)) {
		config := serverTLS()
		config.NextProtos = []string{"h2"}
		s.add("h2", name, handler(config, nil, h), append([]func(*scenario){https}, change...)...)
		s.add("h2c", name, handler(nil, priorKnowledge, h), append([]func(*scenario){h2c}, change...)...)
	}
	for _, code := range []int{200, 204, 206, 301, 302, 304, 400, 404, 500, 503} {
		for _, size := range []int{0, 100, 20000} {
			h2(fmt.Sprint(code, " with ", size), func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(code)
				w.Write(make([]byte, size))
			})
		}
		h2(fmt.Sprint(code, " aborts"), func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			io.WriteString(w, "part")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		})
		h2(fmt.Sprint(code, " hangs in the body"), func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(code)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, timeout(1))
		h2(fmt.Sprint(code, " with a false length"), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "50")
			w.WriteHeader(code)
			io.WriteString(w, "short")
		})
	}
	h2("aborts at once", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	h2("hangs", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, timeout(1))
	h2("trailers", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(http.TrailerPrefix+"X", "y")
		io.WriteString(w, "body")
	})
	h2("large header", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 60000)) })
	for _, status := range []string{"\x88", "\x8d", "\x8e"} { // 200, 404, 500
		s.add("h2c", fmt.Sprintf("frames, answered %x", status), frames("\x00\x00\x01\x01\x05\x00\x00\x00\x01"+status), h2c)
	}
	for n := 1; n <= 6; n++ {
		h2(fmt.Sprint(n, " early hints"), func(w http.ResponseWriter, _ *http.Request) {
			for range n {
				w.WriteHeader(103)
			}
			w.WriteHeader(200)
		})
	}
	for _, loc := range []string{"/next", "https://example.invalid/", "http://example.invalid/", "/loop", ""} {
		h2("redirect to "+loc, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/next" {
				w.Header()["Location"] = []string{loc}
				w.WriteHeader(302)
			}
		})
	}
}

func (s *suite) grpcScenarios() {
	for _, st := range []healthpb.HealthCheckResponse_ServingStatus{0, 1, 2, 3} {
		for _, service := range []string{"", "svc", "unknown", "a.b/C d", "ü", strings.Repeat("s", 300)} {
			s.add("grpc", fmt.Sprintf("%s asked for %.10q", st, service), grpcServer(func(g *grpc.Server) {
				h := health.NewServer()
				h.SetServingStatus("", st)
				h.SetServingStatus("svc", st)
				h.SetServingStatus("ü", st)
				healthpb.RegisterHealthServer(g, h)
			}), health1(service))
		}
	}
	s.add("grpc", "unimplemented", grpcServer(func(*grpc.Server) {}), health1(""))
	for code := codes.Code(0); code <= 20; code++ {
		s.add("grpc", "error "+code.String(), grpcServer(func(g *grpc.Server) {
			healthpb.RegisterHealthServer(g, &checker{err: status.Error(code, "message ü %")})
		}), health1(""))
	}
	for _, st := range []healthpb.HealthCheckResponse_ServingStatus{1, 2, 4, 257, -1} {
		s.add("grpc", fmt.Sprint("status ", int32(st)), grpcServer(func(g *grpc.Server) { healthpb.RegisterHealthServer(g, &checker{status: st}) }), health1(""))
	}
	s.add("grpc", "answers in time", grpcServer(func(g *grpc.Server) {
		healthpb.RegisterHealthServer(g, &checker{status: 1, wait: 500 * time.Millisecond})
	}), health1(""), timeout(1))
	s.add("grpc", "answers late", grpcServer(func(g *grpc.Server) {
		healthpb.RegisterHealthServer(g, &checker{status: 1, wait: 1500 * time.Millisecond})
	}), health1(""), timeout(1))
	s.add("grpc", "hangs", grpcServer(func(g *grpc.Server) { healthpb.RegisterHealthServer(g, &checker{status: 1, wait: time.Minute}) }), health1(""), timeout(1))
	s.add("grpc", "HTTP/1 server", text(contentLength(200, "ok")), health1(""), timeout(1))
	s.add("grpc", "TLS server", secure(serverTLS(), text("")), health1(""), timeout(1))
	s.add("grpc", "settings that are late", frames("\x00\x00\x05\x01\x05\x00\x00\x00\x01\x88\x00\x01x\x00"), health1(""))
	for n := 1; n <= 2; n++ { // the kubelet's client dials again after about 1 s, then 1.6 s
		for _, seconds := range []int{1, 5} {
			s.add("grpc", fmt.Sprint("closes ", n, " connections first, timeout ", seconds), failsFirst(n), health1(""), timeout(seconds))
		}
	}
	message := func(m ...byte) []byte { return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(m))), m...) }
	answer := func(name string, code int, contentType string, body []byte, grpcStatus string) {
		s.add("grpc answer", name, handler(nil, priorKnowledge, func(w http.ResponseWriter, _ *http.Request) {
			if contentType != "" {
				w.Header().Set("Content-Type", contentType)
			}
			w.WriteHeader(code)
			w.Write(body)
			w.(http.Flusher).Flush()
			if grpcStatus != "" {
				w.Header().Set(http.TrailerPrefix+"Grpc-Status", grpcStatus)
			}
		}), health1(""))
	}
	serving := message(8, 1)
	for _, ct := range []string{"application/grpc", "application/grpc+proto", "application/grpc;charset=x", "application/grpcx", "text/plain", "", "Application/GRPC", "application/json"} {
		answer("content type "+ct, 200, ct, serving, "0")
	}
	for _, code := range []int{200, 201, 204, 302, 400, 404, 503} {
		answer(fmt.Sprint("HTTP status ", code), code, "application/grpc", serving, "0")
	}
	for _, st := range []string{"", "0", "1", "5", "12", "14", "x", "00", "-1", "99"} {
		answer("grpc-status "+st, 200, "application/grpc", serving, st)
	}
	for name, body := range map[string][]byte{"empty": nil, "no message": {}, "empty message": message(), "half a head": {0, 0}, "short": {0, 0, 0, 0, 9, 8, 1}, "two": append(append([]byte{}, serving...), serving...), "compressed flag": {1, 0, 0, 0, 2, 8, 1}, "not serving": message(8, 2), "twice, last wins": message(8, 2, 8, 1), "twice, last loses": message(8, 1, 8, 2),
		"unknown varint": message(16, 5, 8, 1), "unknown bytes": message(18, 2, 1, 2, 8, 1), "unknown fixed": message(29, 1, 2, 3, 4, 8, 1), "unknown fixed64": message(25, 1, 2, 3, 4, 5, 6, 7, 8, 8, 1), "long varint": message(8, 0x81, 0x80, 0), "broken varint": message(8, 0x81), "field 0": message(0, 1), "wrong type": message(10, 1, 1), "group": message(11, 12, 8, 1), "end group": message(12, 8, 1), "trailing byte": message(8, 1, 0xff), "64 bits": message(8, 0x81, 0x80, 0x80, 0x80, 0x10)} {
		answer("message "+name, 200, "application/grpc", body, "0")
	}
}

// compressedScenarios: answers that are compressed, or say so.
func (s *suite) compressedScenarios() {
	const axis = "grpc compression"
	for _, st := range []healthpb.HealthCheckResponse_ServingStatus{1, 2} {
		serve := func(g *grpc.Server) { healthpb.RegisterHealthServer(g, &checker{status: st}) }
		//lint:ignore SA1019 apps that were written with it are out there, and it alone compresses without being asked
		s.add(axis, fmt.Sprint("compresses every answer, status ", int32(st)), grpcServer(serve, grpc.RPCCompressor(grpc.NewGZIPCompressor())), health1(""))
		s.add(axis, fmt.Sprint("compresses if the caller can read it, status ", int32(st)), grpcServer(serve, grpc.UnaryInterceptor(
			func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
				if err := grpc.SetSendCompressor(ctx, "gzip"); err != nil {
					return nil, err
				}
				return handle(ctx, req)
			})), health1(""))
	}
	zipped := func(parts ...[]byte) []byte {
		var b bytes.Buffer
		for _, p := range parts {
			z := gzip.NewWriter(&b)
			z.Write(p)
			z.Close()
		}
		return b.Bytes()
	}
	serving, not := []byte{8, 1}, []byte{8, 2}
	broken := zipped(serving)
	broken[len(broken)-5]++
	for name, message := range map[string][]byte{"serving": zipped(serving), "not serving": zipped(not), "two members": zipped(not, serving), "empty": zipped(), "nothing": {}, "plain": serving, "wrong checksum": broken, "cut off": zipped(serving)[:15], "garbage behind": append(zipped(serving), 1, 2), "twice compressed": zipped(zipped(serving)),
		"unknown field of 15 KB": zipped(append(append([]byte{18, 0x98, 0x75}, make([]byte, 15000)...), serving...))} {
		for _, flag := range []byte{0, 1, 2, 255} {
			body := append(binary.BigEndian.AppendUint32([]byte{flag}, uint32(len(message))), message...)
			for _, encodings := range [][]string{nil, {"gzip"}, {"identity"}, {""}, {"GZIP"}, {"deflate"}, {"identity", "gzip"}, {"gzip", "identity"}, {"gzip, identity"}} {
				s.add(axis, fmt.Sprintf("%s with flag %d and encodings %q", name, flag, encodings), handler(nil, priorKnowledge, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/grpc")
					if encodings != nil {
						w.Header()["Grpc-Encoding"] = encodings
					}
					w.Write(body)
					w.(http.Flusher).Flush()
					w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
				}), health1(""))
			}
		}
	}
}

// grpcTLSScenarios: the mode of a gRPC probe. With TLS no certificate is
// verified, and the server must agree on HTTP/2.
func (s *suite) grpcTLSScenarios() {
	const axis = "grpc TLS"
	serving := func(g *grpc.Server) { healthpb.RegisterHealthServer(g, &checker{status: 1}) }
	withTLS := func(config *tls.Config) grpc.ServerOption { return grpc.Creds(credentials.NewTLS(config)) }
	useTLS := mode(v1.GRPCProbeModeTLS)
	for _, st := range []healthpb.HealthCheckResponse_ServingStatus{0, 1, 2, 3, 4} {
		for _, service := range []string{"", "svc", strings.Repeat("s", 300)} {
			s.add(axis, fmt.Sprintf("status %d asked for %.10q", st, service), grpcServer(func(g *grpc.Server) {
				healthpb.RegisterHealthServer(g, &checker{status: st})
			}, withTLS(serverTLS())), health1(service), useTLS)
		}
	}
	for code := codes.Code(0); code <= 16; code++ {
		s.add(axis, "error "+code.String(), grpcServer(func(g *grpc.Server) {
			healthpb.RegisterHealthServer(g, &checker{err: status.Error(code, "message")})
		}, withTLS(serverTLS())), health1(""), useTLS)
	}
	for _, v := range []uint16{tls.VersionTLS10, tls.VersionTLS11, tls.VersionTLS12, tls.VersionTLS13} {
		config := serverTLS()
		config.MinVersion, config.MaxVersion = v, v
		s.add(axis, tls.VersionName(v), grpcServer(serving, withTLS(config)), health1(""), useTLS, timeout(1))
	}
	for name, auth := range map[string]tls.ClientAuthType{"asked": tls.RequestClientCert, "any": tls.RequireAnyClientCert} {
		config := serverTLS()
		config.ClientAuth = auth
		s.add(axis, "client certificate "+name, grpcServer(serving, withTLS(config)), health1(""), useTLS, timeout(1))
	}
	expired := &tls.Config{Certificates: []tls.Certificate{certificate(must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)), func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter, c.DNSNames = time.Unix(1, 0), time.Unix(1000, 0), nil
	})}}
	s.add(axis, "expired certificate without a name", grpcServer(serving, withTLS(expired)), health1(""), useTLS)
	for _, protocols := range [][]string{nil, {"http/1.1"}, {"foo"}, {"h2"}} {
		config := serverTLS()
		config.NextProtos = protocols
		s.add(axis, fmt.Sprintf("ALPN %q", protocols), secure(config, grpcServer(serving)), health1(""), useTLS, timeout(1))
	}
	s.add(axis, "to a plaintext server", grpcServer(serving), health1(""), useTLS, timeout(1))
	s.add(axis, "unimplemented", grpcServer(func(*grpc.Server) {}, withTLS(serverTLS())), health1(""), useTLS)
	s.add(axis, "answers late", grpcServer(func(g *grpc.Server) {
		healthpb.RegisterHealthServer(g, &checker{status: 1, wait: 1500 * time.Millisecond})
	}, withTLS(serverTLS())), health1(""), useTLS, timeout(1))
	for _, server := range []struct {
		name string
		behaviour
	}{{"plaintext", grpcServer(serving)}, {"TLS", grpcServer(serving, withTLS(serverTLS()))}} {
		s.add("grpc", "mode Plaintext to a server of "+server.name, server.behaviour, health1(""), mode(v1.GRPCProbeModePlaintext), timeout(1))
	}
}

// checker is a health service with one answer.
type checker struct {
	healthpb.UnimplementedHealthServer
	status healthpb.HealthCheckResponse_ServingStatus
	err    error
	wait   time.Duration
}

func (c *checker) Check(ctx context.Context, _ *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	select {
	case <-time.After(c.wait):
	case <-ctx.Done():
	}
	return &healthpb.HealthCheckResponse{Status: c.status}, c.err
}

// failsFirst closes the first n connections of each probe and serves the next.
func failsFirst(n int) behaviour {
	return func(a *app, l net.Listener) {
		g := grpc.NewServer()
		healthpb.RegisterHealthServer(g, &checker{status: 1})
		g.Serve(&failingListener{l, a, n})
	}
}

type failingListener struct {
	net.Listener
	app *app
	n   int
}

func (l *failingListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil || l.app.hit() >= l.n {
			return c, err
		}
		c.Close()
	}
}

// hooks: the verdict is whether the kubelet's client got any answer.
func (s *suite) hooks() {
	ok := text(contentLength(200, "ok"))
	for name, b := range map[string]behaviour{"200": ok, "404": text(contentLength(404, "")), "500": text(contentLength(500, "x")), "302 elsewhere": redirect(1, 302, 200, "http://example.invalid/"), "302": redirect(1, 302, 200, "/x"), "loop": redirect(1<<30, 302, 200, "/x"), "closed port": closedPort, "reset": reset(""), "garbage": text("garbage\r\n\r\n"),
		"body cut off": text("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx"), "slow": withPauses(1500*time.Millisecond, contentLength(200, "ok")), "100": text("HTTP/1.1 100 Continue\r\n\r\n"), "bad location": redirect(1, 302, 200, "http://[::1")} {
		s.add("hook", name, b, hook)
		s.add("hook", name+" https", secure(serverTLS(), b), hook, https)
		s.add("hook", name+" https to plain HTTP", b, hook, https, header("Authorization", "x"))
	}
	s.add("hook", "h2 only", handler(&tls.Config{Certificates: sharedTLS.Certificates, NextProtos: []string{"h2"}}, nil, func(http.ResponseWriter, *http.Request) {}), hook, https)
	for name, b := range map[string]behaviour{"HTTP/1": ok, "h2c only": handler(nil, priorKnowledge, func(http.ResponseWriter, *http.Request) {})} {
		s.add("hook", "protocol HTTP2, which the kubelet ignores in hooks, to "+name, b, hook, h2c)
	}
	s.add("hook", "plain HTTP to TLS", secure(serverTLS(), ok), hook)
	// The kubelet leaves a declared body of more than 10 KiB unread, and drains others.
	for _, length := range []string{"", "Content-Length: 10240\r\n", "Content-Length: 10241\r\n", "Transfer-Encoding: chunked\r\n"} {
		s.add("hook", "body hangs, "+length, hang("HTTP/1.1 200 OK\r\n"+length+"\r\n"), hook, timeout(1))
		s.add("hook", "body is slow, "+length, withPauses(300*time.Millisecond, "HTTP/1.1 200 OK\r\n"+length+"\r\n", "2\r\n", "ok\r\n0\r\n\r\n"), hook)
		s.add("hook", "much body, then hangs, "+length, hang("HTTP/1.1 200 OK\r\n"+length+"\r\n2800\r\n"+strings.Repeat("x", 10<<10)), hook, timeout(1))
	}
	s.add("hook", "never answers", hang(""), hook, timeout(1))
}
