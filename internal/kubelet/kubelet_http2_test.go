package kubelet

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// rawFrame returns an HTTP/2 frame.
func rawFrame(kind, flags byte, id uint32, payload ...byte) []byte {
	n := len(payload)
	b := []byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags}
	return append(binary.BigEndian.AppendUint32(b, id), payload...)
}

func u32(values ...uint32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}

// fields returns a header block of literals without an index, so that blocks
// do not depend on each other.
func fields(nv ...string) []byte {
	var b bytes.Buffer
	enc := hpack.NewEncoder(&b)
	for i := 0; i < len(nv); i += 2 {
		enc.WriteField(hpack.HeaderField{Name: nv[i], Value: nv[i+1], Sensitive: true})
	}
	return b.Bytes()
}

const (
	fData, fHeaders, fPriority, fReset, fSettings, fPush, fPing, fGoAway, fWindow, fContinuation = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
	endStream, ack, endHeaders, padded, priority                                                 = 0x1, 0x1, 0x4, 0x8, 0x20
)

// pieces are frames, right and wrong, by name.
var pieces = map[string][]byte{
	"settings":                      rawFrame(fSettings, 0, 0),
	"settings ack":                  rawFrame(fSettings, ack, 0),
	"settings ack with payload":     rawFrame(fSettings, ack, 0, 0, 3, 0, 0, 0, 1),
	"settings on a stream":          rawFrame(fSettings, 0, 1),
	"settings of 5 bytes":           rawFrame(fSettings, 0, 0, 0, 3, 0, 0, 0),
	"settings push 2":               rawFrame(fSettings, 0, 0, append([]byte{0, 2}, u32(2)...)...),
	"settings window too large":     rawFrame(fSettings, 0, 0, append([]byte{0, 4}, u32(1<<31)...)...),
	"settings window 0":             rawFrame(fSettings, 0, 0, append([]byte{0, 4}, u32(0)...)...),
	"settings frame size too small": rawFrame(fSettings, 0, 0, append([]byte{0, 5}, u32(100)...)...),
	"settings frame size too large": rawFrame(fSettings, 0, 0, append([]byte{0, 5}, u32(1<<24)...)...),
	"settings frame size":           rawFrame(fSettings, 0, 0, append([]byte{0, 5}, u32(1<<20)...)...),
	"settings connect 1":            rawFrame(fSettings, 0, 0, append([]byte{0, 8}, u32(1)...)...),
	"settings connect 2":            rawFrame(fSettings, 0, 0, append([]byte{0, 8}, u32(2)...)...),
	"settings unknown":              rawFrame(fSettings, 0, 0, append([]byte{0, 99}, u32(7)...)...),
	"200":                           rawFrame(fHeaders, endHeaders, 1, fields(":status", "200")...),
	"200 end":                       rawFrame(fHeaders, endHeaders|endStream, 1, fields(":status", "200")...),
	"0200 end":                      rawFrame(fHeaders, endHeaders|endStream, 1, fields(":status", "0200")...),
	"20 end":                        rawFrame(fHeaders, endHeaders|endStream, 1, fields(":status", "20")...),
	"5000 end":                      rawFrame(fHeaders, endHeaders|endStream, 1, fields(":status", "5000")...),
	"302 end":                       rawFrame(fHeaders, endHeaders|endStream, 1, fields(":status", "302")...),
	"503":                           rawFrame(fHeaders, endHeaders, 1, fields(":status", "503")...),
	"103":                           rawFrame(fHeaders, endHeaders, 1, fields(":status", "103", "x", "y")...),
	"100":                           rawFrame(fHeaders, endHeaders, 1, fields(":status", "100")...),
	"101":                           rawFrame(fHeaders, endHeaders, 1, fields(":status", "101")...),
	"103 end":                       rawFrame(fHeaders, endHeaders|endStream, 1, fields(":status", "103")...),
	"no status":                     rawFrame(fHeaders, endHeaders|endStream, 1, fields("x", "y")...),
	"status no number":              rawFrame(fHeaders, endHeaders|endStream, 1, fields(":status", "ok")...),
	"status twice":                  rawFrame(fHeaders, endHeaders|endStream, 1, fields(":status", "200", ":status", "200")...),
	"status late":                   rawFrame(fHeaders, endHeaders|endStream, 1, fields("x", "y", ":status", "200")...),
	"path in a response":            rawFrame(fHeaders, endHeaders|endStream, 1, fields(":status", "200", ":path", "/")...),
	"unknown pseudo":                rawFrame(fHeaders, endHeaders|endStream, 1, fields(":status", "200", ":x", "/")...),
	"upper case name":               rawFrame(fHeaders, endHeaders|endStream, 1, fields(":status", "200", "X", "/")...),
	"name with space":               rawFrame(fHeaders, endHeaders|endStream, 1, fields(":status", "200", "a b", "/")...),
	"empty name":                    rawFrame(fHeaders, endHeaders|endStream, 1, fields(":status", "200", "", "/")...),
	"value with newline":            rawFrame(fHeaders, endHeaders|endStream, 1, fields(":status", "200", "x", "a\nb")...),
	"length 2":                      rawFrame(fHeaders, endHeaders, 1, fields(":status", "200", "content-length", "2")...),
	"length 1":                      rawFrame(fHeaders, endHeaders, 1, fields(":status", "200", "content-length", "1")...),
	"length 5 end":                  rawFrame(fHeaders, endHeaders|endStream, 1, fields(":status", "200", "content-length", "5")...),
	"length no number":              rawFrame(fHeaders, endHeaders|endStream, 1, fields(":status", "200", "content-length", "x")...),
	"lengths differ":                rawFrame(fHeaders, endHeaders|endStream, 1, fields(":status", "200", "content-length", "1", "content-length", "2")...),
	"headers padded":                rawFrame(fHeaders, endHeaders|endStream|padded, 1, append(append([]byte{2}, fields(":status", "200")...), 0, 0)...),
	"headers padded too much":       rawFrame(fHeaders, endHeaders|endStream|padded, 1, 9, 0),
	"headers padded, empty":         rawFrame(fHeaders, endHeaders|endStream|padded, 1),
	"headers with priority":         rawFrame(fHeaders, endHeaders|endStream|priority, 1, append([]byte{0, 0, 0, 0, 1}, fields(":status", "200")...)...),
	"headers with short priority":   rawFrame(fHeaders, endHeaders|endStream|priority, 1, 0, 0, 0),
	"headers begin":                 rawFrame(fHeaders, endStream, 1, fields(":status", "200")...),
	"headers on 0":                  rawFrame(fHeaders, endHeaders, 0, fields(":status", "200")...),
	"headers on 2":                  rawFrame(fHeaders, endHeaders, 2, fields(":status", "200")...),
	"headers on 3":                  rawFrame(fHeaders, endHeaders|endStream, 3, fields(":status", "200")...),
	"bad headers on 3":              rawFrame(fHeaders, endHeaders|endStream, 3, fields(":status", "200", "X", "y")...),
	"bad compression on 3":          rawFrame(fHeaders, endHeaders|endStream, 3, 0xff),
	"bad compression":               rawFrame(fHeaders, endHeaders|endStream, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
	"headers empty":                 rawFrame(fHeaders, endHeaders|endStream, 1),
	"trailers":                      rawFrame(fHeaders, endHeaders|endStream, 1, fields("x", "y")...),
	"trailers, not the end":         rawFrame(fHeaders, endHeaders, 1, fields("x", "y")...),
	"continuation":                  rawFrame(fContinuation, endHeaders, 1, fields("x", "y")...),
	"continuation, not the end":     rawFrame(fContinuation, 0, 1, fields("x", "y")...),
	"continuation on 3":             rawFrame(fContinuation, endHeaders, 3, fields("x", "y")...),
	"data":                          rawFrame(fData, 0, 1, 'o', 'k'),
	"data end":                      rawFrame(fData, endStream, 1, 'o', 'k'),
	"data empty end":                rawFrame(fData, endStream, 1),
	"data padded":                   rawFrame(fData, padded, 1, 1, 'o', 0),
	"data padded too much":          rawFrame(fData, padded, 1, 9, 'o'),
	"data padded, empty":            rawFrame(fData, padded, 1),
	"data on 0":                     rawFrame(fData, 0, 0, 'x'),
	"data on 2":                     rawFrame(fData, 0, 2, 'x'),
	"data on 3":                     rawFrame(fData, 0, 3, 'x'),
	"data too large":                rawFrame(fData, endStream, 1, make([]byte, 16<<10+1)...),
	"data large":                    rawFrame(fData, 0, 1, make([]byte, 16<<10)...),
	"priority":                      rawFrame(fPriority, 0, 1, 0, 0, 0, 0, 1),
	"priority on 0":                 rawFrame(fPriority, 0, 0, 0, 0, 0, 0, 1),
	"priority of 4 bytes":           rawFrame(fPriority, 0, 1, 0, 0, 0, 0),
	"reset":                         rawFrame(fReset, 0, 1, u32(8)...),
	"reset without error":           rawFrame(fReset, 0, 1, u32(0)...),
	"reset refused":                 rawFrame(fReset, 0, 1, u32(7)...),
	"reset protocol error":          rawFrame(fReset, 0, 1, u32(1)...),
	"reset on 0":                    rawFrame(fReset, 0, 0, u32(8)...),
	"reset on 3":                    rawFrame(fReset, 0, 3, u32(8)...),
	"reset of 3 bytes":              rawFrame(fReset, 0, 1, 0, 0, 0),
	"push":                          rawFrame(fPush, endHeaders, 1, append(u32(2), fields(":method", "GET")...)...),
	"ping":                          rawFrame(fPing, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8),
	"ping ack":                      rawFrame(fPing, ack, 0, 1, 2, 3, 4, 5, 6, 7, 8),
	"ping of 7 bytes":               rawFrame(fPing, 0, 0, 1, 2, 3, 4, 5, 6, 7),
	"ping on a stream":              rawFrame(fPing, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8),
	"goaway 0":                      rawFrame(fGoAway, 0, 0, u32(0, 0)...),
	"goaway 0 with error":           rawFrame(fGoAway, 0, 0, u32(0, 2)...),
	"goaway 1":                      rawFrame(fGoAway, 0, 0, u32(1, 0)...),
	"goaway 1 with error":           rawFrame(fGoAway, 0, 0, u32(1, 2)...),
	"goaway all":                    rawFrame(fGoAway, 0, 0, append(u32(1<<31-1, 0), "debug"...)...),
	"goaway of 7 bytes":             rawFrame(fGoAway, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	"goaway on a stream":            rawFrame(fGoAway, 0, 1, u32(0, 0)...),
	"window":                        rawFrame(fWindow, 0, 0, u32(100)...),
	"window 0":                      rawFrame(fWindow, 0, 0, u32(0)...),
	"window 0 of the stream":        rawFrame(fWindow, 0, 1, u32(0)...),
	"window 0 of stream 3":          rawFrame(fWindow, 0, 3, u32(0)...),
	"window overflows":              rawFrame(fWindow, 0, 0, u32(1<<31-1)...),
	"window of stream 3 overflows":  rawFrame(fWindow, 0, 3, u32(1<<31-1)...),
	"window of 3 bytes":             rawFrame(fWindow, 0, 0, 0, 0, 1),
	"unknown frame":                 rawFrame(0xbe, 0xff, 5, 1, 2, 3),
	"unknown frame too large":       rawFrame(0xbe, 0, 0, make([]byte, 16<<10+1)...),
	"text":                          []byte("HTTP/1.1 400 Bad Request\r\n\r\n"),
	"half a frame":                  rawFrame(fData, endStream, 1, 'o', 'k')[:10],
}

// readRequest reads up to the head of a request.
func readRequest(conn net.Conn) {
	io.ReadFull(conn, make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")))
	head := make([]byte, 9)
	for kind := byte(0xff); kind != fHeaders; kind = head[3] {
		if _, err := io.ReadFull(conn, head); err != nil {
			return
		}
		io.CopyN(io.Discard, conn, int64(head[0])<<16|int64(head[1])<<8|int64(head[2]))
	}
}

// h2Script lets an app answer the first connection of each probe with pieces,
// and the others well.
type h2Script struct {
	net.Listener
	first [][]byte
	conns atomic.Int32
	open  []net.Conn
	calls sync.WaitGroup
}

// end ends what is open.
func (s *h2Script) end() {
	_ = s.Close()
	for _, conn := range s.open {
		_ = conn.Close()
	}
	s.calls.Wait()
}

func (s *h2Script) serve() {
	for {
		conn, err := s.Accept()
		if err != nil {
			return
		}
		s.open = append(s.open, conn)
		answer := s.first
		if s.conns.Add(1) > 1 {
			answer = [][]byte{pieces["settings"], pieces["200 end"]}
		}
		s.calls.Go(func() {
			defer conn.Close()
			readRequest(conn)
			for _, b := range answer {
				conn.Write(b)
				// net/http reads ahead, and a head that it has read wins over a
				// reset that came before.
				time.Sleep(2 * time.Millisecond)
			}
			conn.(interface{ CloseWrite() error }).CloseWrite()
			io.Copy(io.Discard, conn)
		})
	}
}

// kubeletProbe probes an app in memory as the kubelet does, with net/http.
func kubeletProbe(m *testutil.InMemory, timeout time.Duration) string {
	transport := &http.Transport{DialContext: m.Dial, DisableKeepAlives: true, DisableCompression: true, Protocols: new(http.Protocols)}
	defer transport.CloseIdleConnections()
	transport.Protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Timeout: timeout, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Get("http://" + m.Addr().String())
	if err != nil {
		return "failure"
	}
	defer res.Body.Close()
	if _, err := io.ReadAll(io.LimitReader(res.Body, maxBody)); err != nil {
		return "thrown away"
	}
	return (&Answer{Status: res.StatusCode}).Verdict(false).String()
}

// ourProbe probes an app in memory as we do.
func ourProbe(t *testing.T, m *testutil.InMemory) *Answer {
	t.Helper()
	p := &prober.Original{HTTPGet: &prober.HTTPGet{Scheme: "HTTP", Path: "/", Port: field.Number(1), Protocol: prober.HTTP2}, TimeoutSeconds: 2}
	target, err := NewTarget("127.0.0.1", live, p)
	if err != nil {
		t.Fatal(err)
	}
	target.connect = m.Dial
	a, _ := probeTarget(t, target)
	return a
}

// ourVerdict is what the kubelet makes of our answer.
func ourVerdict(a *Answer) string {
	if a.Cut {
		return "thrown away"
	}
	return a.Verdict(false).String()
}

// compareScript compares the verdicts on a sequence of pieces, on a clock that does not wait
// (testing/synctest). A difference counts when it shows three times: net/http reads and judges
// at the same time.
func compareScript(t *testing.T, names ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { compareScriptNow(t, names) })
}

func compareScriptNow(t *testing.T, names []string) {
	m := testutil.NewInMemory()
	s := &h2Script{Listener: m}
	defer s.end()
	for _, name := range names {
		b, ok := pieces[name]
		if !ok {
			t.Fatalf("there is no piece %q", name)
		}
		s.first = append(s.first, b)
	}
	go s.serve()
	var want, got string
	for range 3 {
		s.conns.Store(0)
		want = kubeletProbe(m, 2*time.Second)
		s.conns.Store(0)
		if got = ourVerdict(ourProbe(t, m)); got == want {
			return
		}
	}
	t.Errorf("%s: the kubelet's verdict is %s, ours %s", strings.Join(names, ", "), want, got)
}

func TestPeersThatViolateHTTP2GetTheKubeletsVerdict(t *testing.T) {
	for name := range pieces {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compareScript(t, name)
			compareScript(t, name, "settings", "200 end")
			compareScript(t, "settings", name)
			compareScript(t, "settings", name, "200 end")
			compareScript(t, "settings", "settings ack", "200", name, "data end")
			compareScript(t, "settings", "200", "data", name)
			compareScript(t, "settings", "200 end", name)
			compareScript(t, "settings", name, "data end")
			compareScript(t, "settings", "headers begin", name)
		})
	}
}

func TestRandomFramesGetTheKubeletsVerdict(t *testing.T) {
	names := make([]string, 0, len(pieces))
	for name := range pieces {
		names = append(names, name)
	}
	slices.Sort(names)
	rnd := rand.New(rand.NewPCG(7, 1937))
	for i := range 150 {
		script := []string{"settings"}
		for range 1 + rnd.IntN(6) {
			script = append(script, names[rnd.IntN(len(names))])
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			compareScript(t, script...)
		})
	}
}

func TestTheProtocolHTTP2IsSpokenWithoutTLSByProbesAlone(t *testing.T) {
	for _, test := range []struct {
		probeType prober.ProbeType
		protocol  string
		want      string
	}{
		{live, prober.HTTP2, "HTTP/2.0"},
		{live, prober.HTTP1, "HTTP/1.1"},
		{live, "", "HTTP/1.1"},
		{stop, prober.HTTP2, "HTTP/1.1"}, // the kubelet ignores it in hooks
	} {
		var got *http.Request
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r }))
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetHTTP1(true)
		s.Config.Protocols.SetUnencryptedHTTP2(true)
		s.Start()
		a := probeOnce(t, test.probeType, s.URL, &prober.Original{HTTPGet: &prober.HTTPGet{Scheme: "HTTP", Path: "/a?b", Protocol: test.protocol}})
		s.Close()
		if a.Status != 200 || got.Proto != test.want || got.RequestURI != "/a?b" || got.UserAgent() != "kube-probe/1.35" {
			t.Errorf("%+v: %+v, app saw %+v", test, a, got)
		}
	}
}

// Over HTTP/2 a status may be any number; probe-proxy answers over HTTP/1, with three digits.
func TestAStatusOfMoreThanThreeDigitsIsAFailure(t *testing.T) {
	for status, want := range map[string]string{
		"999":  "999 app answered with status 999",
		"1000": "502 app answered with status 1000",
		"0":    "0 app answered with status 0",
		"-1":   "502 app answered with status -1",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		s := &h2Script{Listener: l, first: [][]byte{pieces["settings"], rawFrame(fHeaders, endHeaders|endStream, 1, fields(":status", status)...)}}
		go s.serve()
		a := probeOnce(t, live, "http://"+l.Addr().String(), &prober.Original{HTTPGet: &prober.HTTPGet{Scheme: "HTTP", Path: "/", Protocol: prober.HTTP2}})
		if got := fmt.Sprint(a.Status, " ", a.Reason); got != want {
			t.Errorf("%s: %q, want %q", status, got, want)
		}
	}
}

// TestAConnectionIsClosedBeforeTheNextAttempt: the app waits for that.
func TestAConnectionIsClosedBeforeTheNextAttempt(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for i := 0; ; i++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			answer := pieces["settings"]
			if i < 3 {
				answer = append(bytes.Clone(answer), rawFrame(7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)...) // GOAWAY of all streams
			} else {
				answer = append(bytes.Clone(answer), rawFrame(fHeaders, endHeaders|endStream, 1, fields(":status", "299")...)...)
			}
			conn.Write(answer)
			io.Copy(io.Discard, conn)
			conn.Close()
		}
	}()
	a := probeOnce(t, live, "http://"+l.Addr().String(), &prober.Original{HTTPGet: &prober.HTTPGet{Scheme: "HTTP", Path: "/", Protocol: prober.HTTP2}})
	if a.Status != 299 {
		t.Errorf("%d %s", a.Status, a.Reason)
	}
}

// An app that refuses every attempt is asked about ten times a second, and not less and less often.
func TestPauseBetweenAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := testutil.NewInMemory()
		defer m.Close()
		var attempts atomic.Int64
		go testutil.ServeConns(m, func(c net.Conn) {
			attempts.Add(1)
			c.Write(slices.Concat(pieces["settings"], pieces["goaway 0"]))
			io.Copy(io.Discard, c)
		})
		ourProbe(t, m)
		if n := attempts.Load(); n < 20 || n > 30 {
			t.Errorf("%d attempts in two seconds, want 7 in the first 127 ms and then one each 100 ms", n)
		}
	})
}

// TestACallerThatLeavesEndsTheWaitForAnotherDial: the next one would come after a second, and
// the last one after an hour.
func TestACallerThatLeavesEndsTheWaitForAnotherDial(t *testing.T) {
	service := ""
	target, err := NewTarget("127.0.0.1", live, &prober.Original{GRPC: &prober.GRPC{Port: field.Number(1), Service: &service}, TimeoutSeconds: 3600})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if a := probed(ctx, t, target, &Call{Header: textproto.MIMEHeader{}, Start: time.Now()}); a.Reason != "app refused the connection" {
		t.Errorf("%d %s", a.Status, a.Reason)
	}
	if ctx.Err() == nil {
		t.Error("it did not wait")
	}
}

func TestHTTP2WithoutTLSIsNotRedirectedToHTTPS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://"+r.Host+"/", http.StatusFound)
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	defer s.Close()
	a := probeOnce(t, live, s.URL, &prober.Original{HTTPGet: &prober.HTTPGet{Scheme: "HTTP", Path: "/", Protocol: prober.HTTP2}})
	if a.Status != 502 || a.Reason != "app redirects from HTTP/2 without TLS to https" {
		t.Errorf("%d %s", a.Status, a.Reason)
	}
}

// startGRPC serves a health answer over HTTP/2, with TLS as config says.
func startGRPC(t *testing.T, config *tls.Config, answer http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/grpc.health.v1.Health/Check" || (r.TLS != nil) != (config != nil) {
			http.Error(w, "no", 400)
			return
		}
		answer(w, r)
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(config == nil)
	s.Config.Protocols.SetHTTP2(config != nil && len(config.NextProtos) == 0)
	s.Config.Protocols.SetHTTP1(config != nil && len(config.NextProtos) > 0)
	if config == nil {
		s.Start()
	} else {
		s.TLS = config
		s.EnableHTTP2 = len(config.NextProtos) == 0
		s.StartTLS()
	}
	t.Cleanup(s.Close)
	return s.URL
}

func serving(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/grpc")
	io.WriteString(w, "\x00\x00\x00\x00\x02\x08\x01")
	w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
}

func TestTheModeTLSVerifiesNothingAndDemandsHTTP2(t *testing.T) {
	for name, test := range map[string]struct {
		config *tls.Config
		mode   string
		want   Verdict
	}{
		"TLS to TLS":                  {&tls.Config{}, prober.GRPCTLS, Success},
		"TLS to TLS 1.2":              {&tls.Config{MaxVersion: tls.VersionTLS12}, prober.GRPCTLS, Success},
		"TLS to TLS 1.1":              {&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, prober.GRPCTLS, Failure},
		"TLS without ALPN for h2":     {&tls.Config{NextProtos: []string{"http/1.1"}}, prober.GRPCTLS, Failure},
		"TLS to plaintext":            {nil, prober.GRPCTLS, Failure},
		"Plaintext to plaintext":      {nil, prober.GRPCPlaintext, Success},
		"Plaintext to TLS":            {&tls.Config{}, prober.GRPCPlaintext, Failure},
		"no mode, which is plaintext": {nil, "", Success},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := startGRPC(t, test.config, serving)
			a := probeOnce(t, live, url, &prober.Original{GRPC: &prober.GRPC{Mode: test.mode}})
			if a.Verdict(false) != test.want {
				t.Errorf("%d %s, want %s", a.Status, a.Reason, test.want)
			}
		})
	}
}

// TestACompressedAnswerIsRead: the kubelet's client offers gzip, and some apps compress
// every answer. test/conformance/kubelet compares more of them with that client.
func TestTheSchemeOfACallIsThatOfItsConnection(t *testing.T) {
	app := httptest.NewUnstartedServer(nil)
	app.StartTLS() // for its certificate
	defer app.Close()
	for mode, want := range map[string]string{prober.GRPCPlaintext: "http", prober.GRPCTLS: "https"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		seen := make(chan string, 1)
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if mode == prober.GRPCTLS {
				conn = tls.Server(conn, &tls.Config{Certificates: app.TLS.Certificates, NextProtos: []string{"h2"}})
			}
			defer conn.Close()
			io.ReadFull(conn, make([]byte, len(http2.ClientPreface)))
			conn.Write(pieces["settings"])
			scheme := ""
			decoder := hpack.NewDecoder(4<<10, func(f hpack.HeaderField) {
				if f.Name == ":scheme" {
					scheme = f.Value
				}
			})
			for framer := http2.NewFramer(nil, conn); scheme == ""; {
				f, err := framer.ReadFrame()
				if err != nil {
					break
				}
				if headers, ok := f.(*http2.HeadersFrame); ok {
					decoder.Write(headers.HeaderBlockFragment())
				}
			}
			seen <- scheme
		}()
		probeOnce(t, live, "http://"+l.Addr().String(), &prober.Original{GRPC: &prober.GRPC{Mode: mode}})
		if got := testutil.Received(t, seen); got != want {
			t.Errorf("%s: %q, want %q", mode, got, want)
		}
	}
}

func TestACompressedAnswerIsRead(t *testing.T) {
	zipped := func(message string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		io.WriteString(z, message)
		z.Close()
		return b.String()
	}
	huge := zipped("\x12\x80\x80\x40" + strings.Repeat("x", 1<<20) + "\x08\x01")
	if len(huge) > 4<<10 {
		t.Fatalf("the bomb has %d bytes", len(huge))
	}
	for name, test := range map[string]struct {
		encoding string
		flag     byte
		message  string
		want     Verdict
		reason   string
	}{
		"gzip":                     {"gzip", 1, zipped("\x08\x01"), Success, ""},
		"another field of numbers": {"gzip", 0, "\x08\x02\x10\x01", Failure, "app is not serving: NOT_SERVING"},
		"the field is no number":   {"gzip", 0, "\x0a\x01\x01", Failure, "app is not serving: UNKNOWN"},
		"gzip, not serving":        {"gzip", 1, zipped("\x08\x02"), Failure, "app is not serving: NOT_SERVING"},
		"not compressed at all":    {"gzip", 0, "\x08\x01", Success, ""},
		"an encoding not offered":  {"zstd", 1, "\x08\x01", Failure, `app's gRPC answer is compressed, with grpc-encoding ["zstd"]`},
		"no gzip":                  {"gzip", 1, "\x08\x01", Failure, "app's gRPC answer cannot be decompressed"},
		"a bomb":                   {"gzip", 1, huge, Failure, "app's gRPC answer cannot be decompressed"},
	} {
		t.Run(name, func(t *testing.T) {
			url := startGRPC(t, nil, func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Grpc-Accept-Encoding"); got != "gzip" {
					t.Errorf("%q is offered", got)
				}
				w.Header().Set("Content-Type", "application/grpc")
				w.Header().Set("Grpc-Encoding", test.encoding)
				w.Write(append(binary.BigEndian.AppendUint32([]byte{test.flag}, uint32(len(test.message))), test.message...))
				w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
			})
			a := probeOnce(t, live, url, &prober.Original{GRPC: &prober.GRPC{}})
			if a.Verdict(false) != test.want || a.Reason != test.reason {
				t.Errorf("%s: %s", a.Verdict(false), a.Reason)
			}
		})
	}
}

// grpcScript answers with frames after the settings.
func grpcScript(t *testing.T, first []byte) (url string, conns *atomic.Int32) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	conns = new(atomic.Int32)
	good := slices.Concat(pieces["settings"], grpcAnswer("0", "\x00\x00\x00\x00\x02\x08\x01"))
	go testutil.ServeConns(l, func(conn net.Conn) {
		answer := first
		if conns.Add(1) > 1 {
			answer = good
		}
		// No call is made before the settings have come.
		n := len(answer)
		if answer[3] == fSettings {
			n = 9 + int(answer[2])
		}
		conn.Write(answer[:n])
		readRequest(conn)
		conn.Write(answer[n:])
		conn.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, conn)
	})
	return "http://" + l.Addr().String(), conns
}

func grpcAnswer(status, message string, trailers ...string) []byte {
	return slices.Concat(
		rawFrame(fHeaders, endHeaders, 1, fields(":status", "200", "content-type", "application/grpc")...),
		rawFrame(fData, 0, 1, []byte(message)...),
		rawFrame(fHeaders, endHeaders|endStream, 1, fields(append([]string{"grpc-status", status}, trailers...)...)...))
}

// grpcHead is an answer SERVING with an odd status.
func grpcHead(status ...string) []byte { return grpcOf("application/grpc", status...) }

// grpcOf is an answer SERVING of a content type.
func grpcOf(contentType string, status ...string) []byte {
	return slices.Concat(
		rawFrame(fHeaders, endHeaders, 1, fields(append(status, "content-type", contentType)...)...),
		rawFrame(fData, 0, 1, []byte("\x00\x00\x00\x00\x02\x08\x01")...),
		rawFrame(fHeaders, endHeaders|endStream, 1, fields("grpc-status", "0")...))
}

// TestACallWaitsUntilTheAppAllowsOne: no streams at first, some 200 ms later.
func TestACallWaitsUntilTheAppAllowsOne(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	allow := func(n uint32) []byte { return rawFrame(fSettings, 0, 0, append([]byte{0, 3}, u32(n)...)...) }
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		conn.Write(allow(0))
		io.ReadFull(conn, make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")+15+9)) // with settings and an acknowledgement
		conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		if n, _ := conn.Read(make([]byte, 1)); n > 0 {
			t.Error("the call comes before it is allowed")
			return
		}
		conn.SetReadDeadline(time.Time{})
		conn.Write(slices.Concat(allow(1), grpcHead(":status", "200")))
		io.Copy(io.Discard, conn)
	}()
	if a := probeOnce(t, live, "http://"+l.Addr().String(), &prober.Original{GRPC: &prober.GRPC{}}); a.Status != 200 {
		t.Errorf("%d %s, want 200", a.Status, a.Reason)
	}
}

// TestGRPCAnswersGetTheVerdictOfGRPCsClient has the verdicts of grpc-go 1.82,
// the kubelet's client.
func TestGRPCAnswersGetTheVerdictOfGRPCsClient(t *testing.T) {
	const ok = "\x00\x00\x00\x00\x02\x08\x01"
	p := func(names ...string) []byte {
		b := bytes.Clone(pieces["settings"])
		for _, n := range names {
			b = append(b, pieces[n]...)
		}
		return b
	}
	for name, test := range map[string]struct {
		frames []byte
		want   Verdict
		conns  int32
	}{
		"serving":                          {append(p(), grpcAnswer("0", ok)...), Success, 1},
		"junk after the message":           {append(p(), grpcAnswer("0", ok+"junk!")...), Failure, 1},
		"too little for another message":   {append(p(), grpcAnswer("0", ok+"junk")...), Success, 1}, // grpc-go takes its io.EOF for the end
		"status twice, the last is 0":      {append(p(), grpcAnswer("14", ok, "grpc-status", "0")...), Success, 1},
		"status twice, the last is not 0":  {append(p(), grpcAnswer("0", ok, "grpc-status", "14")...), Failure, 1},
		"status twice, one is no number":   {append(p(), grpcAnswer("x", ok, "grpc-status", "0")...), Failure, 1},
		"binary metadata":                  {append(p(), grpcAnswer("0", ok, "x-bin", "YQ", "y-bin", "%")...), Success, 1}, // grpc-go refuses the second
		"went away before the call":        {p("goaway 0"), Success, 2},
		"went away with an error":          {p("goaway 0 with error"), Success, 2},
		"refused":                          {p("reset refused"), Success, 2},
		"reset":                            {p("reset"), Failure, 1},
		"reset with a protocol error":      {p("reset protocol error"), Failure, 1},
		"no connection for calls at first": {pieces["text"], Success, 2},
		"goes away, and answers":           {append(p("goaway 1"), grpcAnswer("0", ok)...), Success, 1},
		"goes away to an even stream":      {append(p("goaway all"), append(rawFrame(fGoAway, 0, 0, u32(2, 0)...), grpcAnswer("0", ok)...)...), Failure, 1},
		"pushes":                           {append(p("push"), grpcAnswer("0", ok)...), Success, 1},
		"data of another stream":           {append(p("data on 3"), grpcAnswer("0", ok)...), Success, 1},
		"the window overflows":             {append(p("window overflows"), grpcAnswer("0", ok)...), Success, 1},
		"a window update of nothing":       {append(p("window 0"), grpcAnswer("0", ok)...), Failure, 1},
		"acknowledges twice":               {append(p("settings ack", "settings ack"), grpcAnswer("0", ok)...), Success, 1},
		"status 3":                         {append(p(), grpcAnswer("0", "\x00\x00\x00\x00\x02\x08\x03")...), Failure, 1},
		"status -1":                        {append(p(), grpcAnswer("0", "\x00\x00\x00\x00\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")...), Failure, 1},
		"content type with a parameter":    {append(p(), grpcOf("application/grpc;charset=x")...), Success, 1},
		"content type of a format":         {append(p(), grpcOf("application/grpc+proto")...), Success, 1},
		"another content type":             {append(p(), grpcOf("application/grpcx")...), Failure, 1},
		"allows no calls":                  {rawFrame(fSettings, 0, 0, append([]byte{0, 3}, u32(0)...)...), Failure, 1},
		"no status, but gRPC":              {append(p(), grpcHead()...), Success, 1},
		"a status that is no number":       {append(p(), grpcHead(":status", "ok")...), Success, 1},
		"status 100, but gRPC":             {append(p(), grpcHead(":status", "100")...), Success, 1},
		"status 100 before the answer":     {append(p("100"), grpcAnswer("0", ok)...), Success, 1},
		"a status that is no number alone": {append(p("status no number"), grpcAnswer("0", ok)...), Failure, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, conns := grpcScript(t, test.frames)
			a := probeOnce(t, live, url, &prober.Original{GRPC: &prober.GRPC{}})
			if a.Verdict(false) != test.want || conns.Load() != test.conns {
				t.Errorf("%s (%s) after %d connections, want %s after %d", a.Verdict(false), a.Reason, conns.Load(), test.want, test.conns)
			}
		})
	}
}

// An app that goes on saying so is called twice, and not until the timeout.
func TestACallThatIsNotProcessedIsRepeatedOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var conns atomic.Int32
	go testutil.ServeConns(l, func(conn net.Conn) {
		conns.Add(1)
		conn.Write(pieces["settings"])
		readRequest(conn)
		conn.Write(pieces["reset refused"])
		conn.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, conn)
	})
	a := probeOnce(t, live, "http://"+l.Addr().String(), &prober.Original{GRPC: &prober.GRPC{}, TimeoutSeconds: 2})
	if a.Verdict(false) != Failure || conns.Load() != 2 || !strings.Contains(a.Reason, "reset with code 7") {
		t.Errorf("%s (%s) after %d connections, want a failure after 2", a.Verdict(false), a.Reason, conns.Load())
	}
}

func TestTheMessageOfAGRPCStatusIsDecoded(t *testing.T) {
	for status, want := range map[string]string{
		"5":  `app does not know the service: "no service café"`,
		"12": `app does not implement grpc.health.v1.Health: "no service café"`,
		"7":  `app answered with gRPC status 7: "no service café"`,
		"x":  "app's gRPC answer has no valid grpc-status",
	} {
		url, _ := grpcScript(t, slices.Concat(pieces["settings"], grpcAnswer(status, "", "grpc-message", "no service caf%C3%A9")))
		a := probeOnce(t, live, url, &prober.Original{GRPC: &prober.GRPC{}})
		if a.Status != 503 || a.Reason != want {
			t.Errorf("%d %s, want 503 %s", a.Status, a.Reason, want)
		}
	}
}

// TestARedirectLeavesThePortOnlyForTheKubelet: the app redirects to wherever
// the caller's headers say.
func TestARedirectLeavesThePortOnlyForTheKubelet(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }))
	defer other.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := map[string]string{"/host": "http://" + r.Host + "/secret", "/other": other.URL, "/forwarded": "http://127.0.0.1:" + r.Header.Get("X-Forwarded-Port"), "/here": "/ok", "/agent": "http://" + strings.TrimPrefix(r.UserAgent(), "kube-probe/")}[r.URL.Path]
		if to != "" {
			http.Redirect(w, r, to, http.StatusFound)
		}
	}))
	defer s.Close()
	otherHost := strings.TrimPrefix(other.URL, "http://")
	_, otherPort, _ := net.SplitHostPort(otherHost)
	agent := textproto.MIMEHeader{"User-Agent": {"kube-probe/1.37"}, "Accept": {"*/*"}, "Connection": {"close"}}
	for name, test := range map[string]struct {
		path, host string
		header     textproto.MIMEHeader
		want       int
	}{
		"the kubelet, to another port":         {"/other", "127.0.0.1:15020", agent, 500},
		"the kubelet, to its own Host":         {"/host", "127.0.0.1:15020", agent, 200},
		"a Host with another port":             {"/host", otherHost, agent, 302},
		"a Host, to a fixed port":              {"/other", "example.com", agent, 302},
		"a header of the caller":               {"/forwarded", "127.0.0.1:15020", textproto.MIMEHeader{"X-Forwarded-Port": {otherPort}}, 302},
		"a User-Agent that is a place":         {"/agent", "127.0.0.1:15020", textproto.MIMEHeader{"User-Agent": {otherHost}}, 302},
		"a place as the kubelet's version":     {"/agent", "127.0.0.1:15020", textproto.MIMEHeader{"User-Agent": {"kube-probe/" + otherHost}}, 302},
		"a version that is too long":           {"/other", "127.0.0.1:15020", textproto.MIMEHeader{"User-Agent": {"kube-probe/1.37.1234"}}, 302},
		"no version of a kubelet":              {"/other", "127.0.0.1:15020", textproto.MIMEHeader{"User-Agent": {"kube-probe/x"}}, 302},
		"a header that comes twice":            {"/other", "127.0.0.1:15020", textproto.MIMEHeader{"Accept": {"*/*", "*/*"}}, 302},
		"another value of a usual header":      {"/other", "127.0.0.1:15020", textproto.MIMEHeader{"Accept": {"text/html"}}, 302},
		"the kubelet of a fork, to a port":     {"/other", "127.0.0.1:15020", textproto.MIMEHeader{"User-Agent": {"kube-probe/1.37+"}, "Accept": {"*/*"}}, 500},
		"a hook of the kubelet, to a port":     {"/other", "127.0.0.1:15020", textproto.MIMEHeader{"User-Agent": {"kube-lifecycle/1.37"}, "Accept-Encoding": {"gzip"}}, 500},
		"a header of the caller, to this port": {"/here", "127.0.0.1:15020", textproto.MIMEHeader{"X-Forwarded-Port": {otherPort}}, 200},
	} {
		port := s.Listener.Addr().(*net.TCPAddr).Port
		target, err := NewTarget("127.0.0.1", live, &prober.Original{HTTPGet: &prober.HTTPGet{Scheme: "HTTP", Path: test.path, Port: field.Number(port)}, TimeoutSeconds: 5})
		if err != nil {
			t.Fatal(err)
		}
		call := &Call{Host: test.host, Port: "15020", Header: test.header, Start: time.Now()}
		if a := probed(t.Context(), t, target, call); a.Status != test.want {
			t.Errorf("%s: %d %s, want %d", name, a.Status, a.Reason, test.want)
		}
		call.Close()
	}
}

// TestTheAppKnowsTheDeadlineOfAGRPCCall: gRPC's client tells it.
func TestTheAppKnowsTheDeadlineOfAGRPCCall(t *testing.T) {
	var got string
	url := startGRPC(t, nil, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Grpc-Timeout")
		serving(w, r)
	})
	if a := probeOnce(t, live, url, &prober.Original{GRPC: &prober.GRPC{}}); a.Status != 200 {
		t.Fatalf("%+v", a)
	}
	millis, err := strconv.Atoi(strings.TrimSuffix(got, "m"))
	if err != nil || !strings.HasSuffix(got, "m") || millis < 1 || millis > 2000 {
		t.Errorf("grpc-timeout is %q, want up to 2000m", got)
	}
}

func TestTheDeadlineThatIsToldIsNeverZero(t *testing.T) {
	for left, want := range map[time.Duration]string{
		2 * time.Second: "2000m", 1999 * time.Microsecond: "2m", time.Microsecond: "1m", 0: "1m", -time.Second: "1m",
	} {
		if got := grpcTimeout(left); got != want {
			t.Errorf("%s left: %s, want %s", left, got, want)
		}
	}
	// An app that answers at its deadline that it serves must not answer before ours.
	for range 1000 {
		left := 1 + rand.N(time.Minute)
		told, err := strconv.Atoi(strings.TrimSuffix(grpcTimeout(left), "m"))
		if late := time.Duration(told)*time.Millisecond - left; err != nil || late < 0 || late >= time.Millisecond {
			t.Errorf("%s left: %d ms are told (%v)", left, told, err)
		}
	}
}

// TestTLSWithoutALPNIsNoConnectionForGRPC, though the app speaks HTTP/2.
func TestTLSWithoutALPNIsNoConnectionForGRPC(t *testing.T) {
	good := httptest.NewTLSServer(nil)
	good.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: good.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go testutil.ServeConns(l, func(conn net.Conn) {
		conn.Write(slices.Concat(pieces["settings"], grpcHead(":status", "200")))
		io.Copy(io.Discard, conn)
	})
	a := probeOnce(t, live, "https://"+l.Addr().String(), &prober.Original{GRPC: &prober.GRPC{Mode: prober.GRPCTLS}})
	if want := "no connection: app's TLS does not offer HTTP/2 (ALPN)"; a.Status != 502 || a.Reason != want {
		t.Errorf("%d %s, want 502 %s", a.Status, a.Reason, want)
	}
}

// TestAHookSpeaksHTTP1, as the kubelet's client for hooks does, though the app has HTTP/2.
func TestAHookSpeaksHTTP1(t *testing.T) {
	var got string
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Proto }))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	if a := probeOnce(t, prober.PreStop, s.URL, httpGet("HTTPS", "/")); a.Status != 200 || got != "HTTP/1.1" {
		t.Errorf("%d over %s", a.Status, got)
	}
}

// TestAWebSocketIsAskedForOverHTTP1: as net/http does, though the app has HTTP/2.
func TestAWebSocketIsAskedForOverHTTP1(t *testing.T) {
	type header = textproto.MIMEHeader
	for _, test := range []struct {
		header header
		want   string
	}{
		{header{"Upgrade": {"WebSocket"}, "Connection": {"keep-alive", "Upgrade"}}, "HTTP/1.1"},
		{header{"Upgrade": {"websocket"}}, ""}, // HTTP/2 has no such headers, so it is not asked at all
		{header{"Connection": {"Upgrade"}}, ""},
		{header{}, "HTTP/2.0"},
	} {
		var got string
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Proto }))
		s.EnableHTTP2 = true
		s.StartTLS()
		port := s.Listener.Addr().(*net.TCPAddr).Port
		target, err := NewTarget("127.0.0.1", live, &prober.Original{HTTPGet: &prober.HTTPGet{Scheme: "HTTPS", Path: "/", Port: field.Number(port)}, TimeoutSeconds: 5})
		if err != nil {
			t.Fatal(err)
		}
		call := &Call{Host: "x", Port: "15020", Header: test.header, Start: time.Now()}
		a := probed(t.Context(), t, target, call)
		call.Close()
		s.Close()
		if got != test.want || (a.Status == 200) != (got != "") {
			t.Errorf("%v: %d over %s, want %s", test.header, a.Status, got, test.want)
		}
	}
}

// Anyone who reads the log of probe-proxy finds there what is wrong with the app; the texts are wire's.
func TestTheReasonSaysHowAPeerViolatesHTTP2(t *testing.T) {
	m := testutil.NewInMemory()
	s := &h2Script{Listener: m, first: [][]byte{pieces["settings"], pieces["push"]}}
	defer s.end()
	go s.serve()
	if a := ourProbe(t, m); a.Status != 502 || a.Reason != "peer pushes though it was told not to" {
		t.Errorf("%d %q", a.Status, a.Reason)
	}
}

// What is wrong with a gRPC app's answer is in the log of probe-proxy.
func TestTheReasonSaysHowAGRPCAnswerIsWrong(t *testing.T) {
	const ok = "\x00\x00\x00\x00\x02\x08\x01"
	for name, test := range map[string]struct {
		answer []byte
		want   string
	}{
		"no trailers": {slices.Concat(
			rawFrame(fHeaders, endHeaders, 1, fields(":status", "200", "content-type", "application/grpc")...),
			rawFrame(fData, endStream, 1, []byte(ok)...)), "app's gRPC answer has no trailers"},
		"no message":   {grpcAnswer("0", ""), "app's gRPC answer is not one message"},
		"two messages": {grpcAnswer("0", ok+ok), "app's gRPC answer is not one message"},
		"no protobuf":  {grpcAnswer("0", "\x00\x00\x00\x00\x02\x08\xff"), "app's HealthCheckResponse is malformed"},
		"a web page": {rawFrame(fHeaders, endHeaders|endStream, 1, fields(":status", "200", "content-type", "text/html")...),
			`app's answer is not gRPC: Content-Type ["text/html"]`},
		"no page": {rawFrame(fHeaders, endHeaders|endStream, 1, fields(":status", "404", "content-type", "text/html")...),
			"app's answer to the gRPC call has HTTP status 404"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := grpcScript(t, slices.Concat(pieces["settings"], test.answer))
			a := probeOnce(t, live, url, &prober.Original{GRPC: &prober.GRPC{}})
			if a.Verdict(false) != Failure || a.Reason != test.want {
				t.Errorf("%s %q, want %q", a.Verdict(false), a.Reason, test.want)
			}
		})
	}
}
