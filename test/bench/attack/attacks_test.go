package attack

import (
	"bytes"
	"context"
	"crypto/elliptic"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// An attack is what a hostile app answers, or what callers send.
type attack struct {
	name, sent string
	app        func(net.Conn)             // nil: the apps are good
	entry      func(int) *prober.Original // of the hostile app's probe
	entries    int                        // further probes in the env var
	run        func(ctx context.Context, addr string)
	ready      bool // the hostile app has a readiness probe too
	without    scarce

	// What as many callers ask who harm nobody, and what an app answers that is good. A machine that is slow loses
	// some probes then too.
	calm    func(ctx context.Context, addr string)
	calmApp func(net.Conn)
	isCalm  bool

	leaves    bool // the callers go before the SIGTERM
	hooks     bool // the callers go after it; it waits for them, as a hook could be the kubelet's
	strangers bool // it is an ordinary container, and the kubelet calls the hook after the SIGTERM
}

// How much the callers do: less if the attacked program has a limit of the CPU.
var (
	callers       = 40 // of a hostile app's probe
	mostPerSecond = 5000
)

// patient is a probe with a long timeout.
func patient(port int) *prober.Original {
	p := httpGet(port, "")
	p.TimeoutSeconds = 10
	return p
}

// slow is the limit that callers on a slow machine consider.
const slow = 10

// restrain has the callers attack a program with that limit of the CPU, in thousandths.
func restrain(cpu int) {
	switch cpu {
	case 100:
		mostPerSecond = 2000
	case 50:
		callers, mostPerSecond = 20, 500
	case slow:
		callers, mostPerSecond = 10, 100
	}
}

var (
	request     = get(evil)
	hookRequest = get(evilHook)
)

var (
	post  = "POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
	chunk = "4000\r\n" + strings.Repeat("b", 0x4000) + "\r\n"
)

// largeHead is a request with 120 lines and 63 KiB.
func largeHead(path string) string {
	line := strings.Repeat("a", 20) + ": " + strings.Repeat("y", 500) + "\r\n"
	return strings.TrimSuffix(get(path), "\r\n") + strings.Repeat("X-"+line, 120) + "\r\n"
}

func get(path string) string {
	return "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
}

var attacks = []*attack{
	{name: "head of tiny lines", sent: "an app answers with 250 KiB of `a0:`, `a1:`, ...; 40 callers", entry: plain, app: tinyLines, run: callEvil},
	{name: "head of tiny lines, h2c", sent: "the same over HTTP/2, uncompressed", entry: h2c, app: h2(tinyFields()), run: callEvil},
	{name: "HPACK bomb, h2c", sent: "an app repeats one HPACK entry 225,000 times; 40 callers", entry: h2c, app: h2(bomb()), run: callEvil},
	{name: "HPACK bomb, gRPC", sent: "the same for a gRPC probe", entry: grpcProbe, app: h2(bomb()), run: callEvil},
	{name: "endless redirects", sent: "an app redirects to itself with Locations of 100 KB; 40 callers", entry: plain, app: redirects, run: callEvil},
	{name: "endless headers", sent: "an app never ends its head; 40 callers", entry: plain, app: endless("HTTP/1.1 200 OK\r\n", strings.Repeat("x: y\r\n", 2000)), run: callEvil},
	{name: "PING and SETTINGS flood", sent: "an app sends PING and SETTINGS frames without end; 40 callers", entry: h2c, app: endless(settings, strings.Repeat(settings+ping, 500)), run: callEvil},
	{name: "data of another stream", sent: "an app sends a byte of a stream that nobody opened, again and again; 40 callers", entry: h2c, app: endless(settings, strings.Repeat(foreign, 5000)), run: callEvil},
	{name: "half requests, again and again", sent: "5,000 new connections a second, each with half a request", run: flood(5000, "GET /")},
	{name: "calls of a probe that hangs", sent: "2,500 calls a second of an app that never answers", entry: plain, app: hang, run: flood(2500, request)},
	{name: "calls of a tcp probe", sent: "the same for a tcpSocket probe", entry: tcpProbe, app: hang, run: flood(2500, request)},
	{name: "unfinished heads", sent: "5,000 connections, each with half a request, kept open", run: keep(5000, "GET /", nil, 2*time.Second)},
	{name: "slowloris", sent: "3,000 connections, each sends a byte of its head every 0.5 s", run: keep(3000, "GET /", slowly, 500*time.Millisecond)},
	{name: "silent connections", sent: "10,000 connections that send nothing, kept open", run: keep(10000, "", nil, 2*time.Second)},
	{name: "slow readers of /metrics, 39 entries", sent: "150 callers that do not read the answer, again as they are closed", entries: 38, run: slowReaders("/metrics")},
	{name: "slow readers of /metrics, 78 entries", sent: "the same", entries: 77, run: slowReaders("/metrics")},
	{name: "certificate bomb", sent: "an app's certificate has 127,000 empty URIs, 254 KB; 40 callers", entry: overTLS, app: secure(elliptic.P256(), 127_000, hang), run: callEvil},
	{name: "certificate bomb below the bound", sent: "the same with 14,000 empty URIs, 28 KB", entry: overTLS, app: secure(elliptic.P256(), 14_000, hang), run: callEvil},
	{name: "redirects over TLS", sent: "an app with keys of P-521 redirects over TLS without end; 40 callers", entry: overTLS, app: secure(elliptic.P521(), 0, redirectsOn), run: callEvil},
	{name: "slow handshakes", sent: "an app never answers a ClientHello; 40 callers", entry: overTLS, app: hang, run: callEvil},
	{name: "TLS alerts", sent: "an app answers each ClientHello with an alert; 40 callers", entry: overTLS, app: alerts, run: callEvil},
	{name: "an unknown path", sent: "2,000 new connections a second, each asks for a path that no probe has", run: flood(2000, get("/x"))},
	{name: "healthz", sent: "the same for `/healthz`", run: flood(2000, get("/healthz"))},
	{name: "metrics", sent: "the same for `/metrics`", run: flood(2000, get("/metrics"))},
	{name: "a probe", sent: "the same for the probe of another app, which answers", entry: plain, app: answers, run: flood(2000, request)},
	{name: "half requests", sent: "2,000 new connections a second, each with half a request", run: flood(2000, "GET /")},
	{name: "hooks of callers that are gone", sent: "24 calls of a hook that hangs, with one byte after the request; the callers go", entry: plain, app: hang, run: callHooks(time.Second), leaves: true},
	{name: "strangers at a hook", sent: "five calls a second of a preStop hook, before and after the SIGTERM; the kubelet calls it 2 s after the SIGTERM", entry: plain, app: answers, run: strangers, strangers: true},
	{name: "hooks of callers that stay", sent: "the same; the callers go 2 s after the SIGTERM, from when on its end is measured", entry: plain, app: hang, run: callHooks(time.Minute), hooks: true},
}

// Attacks on what the kernel charges for sockets and heads, each with what it needs.
var buffered = []*attack{
	{name: "endless bodies", sent: "280 callers send `POST /x` with a body without end", run: pour(280, post, chunk), calm: repeat(280, get("/x"))},
	{name: "requests and more", sent: "300 callers of a probe that hangs send bytes without end after their request; they go before the SIGTERM", entry: patient, app: hang, leaves: true, run: pour(300, request, chunk), calm: repeat(300, request)},
	{name: "padded DATA, gRPC", sent: "an app sends DATA frames of one byte with 255 of padding; 40 callers", entry: grpcProbe, app: endless(settings+grpcHead, strings.Repeat(padded, 100)), run: callEvil, calm: callEvil, calmApp: answersGRPC},
	{name: "failures that nobody reads", sent: "1,000 calls a second of an app that fails with 10 KiB; nobody reads the answers", entry: plain, app: fails10KiB, run: unread(1000, request), calm: repeat(300, request)},
	{name: "metrics that nobody reads", sent: "the same for `/metrics` of 3 entries", entries: 2, run: unread(1000, get("/metrics")), calm: repeat(300, get("/metrics"))},
	{name: "large heads", sent: "600 callers of two probes that hang and 24 of a hook, with heads of 63 KiB; 300 of slowloris; they go before the SIGTERM", entry: patient, app: hang, ready: true, leaves: true, run: together(
		repeat(300, largeHead(evil)), repeat(300, largeHead(evilReady)), repeat(24, largeHead(evilHook)), keep(300, "GET /", slowly, 500*time.Millisecond),
	), calm: together(
		repeat(300, get(evil)), repeat(300, get(evilReady)), repeat(24, get(evilHook)), keep(300, "GET /", slowly, 500*time.Millisecond),
	)},
	{name: "no PIDs left", sent: "40 callers of an app over TLS; the pod has used up its PIDs", entry: overTLS, app: secure(elliptic.P256(), 0, answers), without: pids, run: callEvil},
	{name: "a log that nobody reads", sent: "200 calls a second of an app that fails every other time; the pipe at stderr is full", entry: plain, app: failsOften(), without: reader, run: flood(200, request)},
	{name: "few files", sent: "300 silent connections and 300 half requests; at most 64 files may be open (RLIMIT_NOFILE)", without: files, run: together(
		keep(300, "", nil, 100*time.Millisecond), keep(300, "GET /", nil, 100*time.Millisecond),
	)},
}

func init() { attacks = append(attacks, buffered...) }

func plain(port int) *prober.Original { return httpGet(port, "") }
func h2c(port int) *prober.Original   { return httpGet(port, prober.HTTP2) }
func grpcProbe(port int) *prober.Original {
	return &prober.Original{GRPC: &prober.GRPC{Port: field.Number(port), Service: new(string)}, TimeoutSeconds: 1}
}

func tcpProbe(port int) *prober.Original {
	return &prober.Original{TCPSocket: &prober.TCPSocket{Port: field.Number(port)}, TimeoutSeconds: 1}
}

// Hostile apps.

func hang(c net.Conn) { io.Copy(io.Discard, c) }

// answers is a good app.
func answers(c net.Conn) {
	c.Read(make([]byte, 4<<10))
	io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
}

// answersGRPC is a good one for gRPC probes.
func answersGRPC(c net.Conn) {
	const (
		serving = "\x00\x00\x07\x00\x00\x00\x00\x00\x01" + "\x00\x00\x00\x00\x02\x08\x01"
		trailer = "\x00\x00\x0f\x01\x05\x00\x00\x00\x01" + "\x00\x0bgrpc-status\x010"
	)
	io.WriteString(c, settings)
	c.Read(make([]byte, 16<<10))
	time.Sleep(5 * time.Millisecond) // until the call has come
	io.WriteString(c, grpcHead+serving+trailer)
	hang(c)
}

func tinyLines(c net.Conn) {
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 200 OK\r\n")
	for i := 0; b.Len() < 250<<10; i++ {
		b.WriteString("a" + string(digits(i)) + ":\r\n")
	}
	c.Write(append(b.Bytes(), "\r\nok"...))
	hang(c)
}

func digits(i int) (b []byte) {
	for ; i > 0 || b == nil; i /= 36 {
		b = append(b, "0123456789abcdefghijklmnopqrstuvwxyz"[i%36])
	}
	return b
}

func redirects(c net.Conn) {
	c.Read(make([]byte, 200<<10))
	io.WriteString(c, "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /"+strings.Repeat("x", 100_000)+"\r\n\r\n")
	hang(c)
}

// endless sends a text without end.
func endless(first, again string) func(net.Conn) {
	return func(c net.Conn) {
		go io.Copy(io.Discard, c)
		for _, err := io.WriteString(c, first); err == nil; {
			_, err = io.WriteString(c, again)
		}
	}
}

const (
	settings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	grpcHead = "\x00\x00\x14\x01\x04\x00\x00\x00\x01" + "\x88\x0f\x10\x10application/grpc"
	ping     = "\x00\x00\x08\x06\x00\x00\x00\x00\x00" + "attacker"
	foreign  = "\x00\x00\x01\x00\x00\x00\x00\x00\x02" + "x"
)

var padded = "\x00\x01\x01\x00\x08\x00\x00\x00\x01" + "\xffx" + strings.Repeat("\x00", 255)

// h2 answers with a header block over HTTP/2.
func h2(block []byte) func(net.Conn) {
	b := []byte(settings)
	kind := byte(1)
	for len(block) > 0 {
		n := min(len(block), 16<<10)
		flags := byte(0)
		if n == len(block) {
			flags = 4
		}
		b = append(b, byte(n>>16), byte(n>>8), byte(n), kind, flags)
		b = append(binary.BigEndian.AppendUint32(b, 1), block[:n]...)
		block, kind = block[n:], 9
	}
	return func(c net.Conn) {
		c.Write([]byte(settings))
		c.Read(make([]byte, 16<<10))
		time.Sleep(5 * time.Millisecond) // until the call has come
		c.Write(b)
		hang(c)
	}
}

// tinyFields is a block of literal fields with new names.
func tinyFields() []byte {
	b := []byte{0x88}
	for i := 0; len(b) < 250<<10; i++ {
		name := append([]byte("a"), digits(i)...)
		b = append(append(append(b, 0, byte(len(name))), name...), 0)
	}
	return b
}

// bomb is a block with one short entry of the dynamic table, repeated.
func bomb() []byte {
	return append([]byte{0x88, 0x40, 1, 'x', 0}, bytes.Repeat([]byte{0xbe}, 225_000)...)
}

// fails10KiB fails with a body as large as callers may get it.
func fails10KiB(c net.Conn) {
	c.Read(make([]byte, 4<<10))
	io.WriteString(c, "HTTP/1.1 500 X\r\nContent-Length: 10240\r\n\r\n"+strings.Repeat("x", 10<<10))
}

// failsOften fails every other time.
func failsOften() func(net.Conn) {
	var n atomic.Uint32
	return func(c net.Conn) {
		if n.Add(1)%2 == 0 {
			answers(c)
			return
		}
		c.Read(make([]byte, 4<<10))
		io.WriteString(c, "HTTP/1.1 500 X\r\nContent-Length: 2\r\n\r\nno")
	}
}

// Callers.

var next atomic.Uint32

// dial connects from one of many addresses, which have ports of their own.
func dial(ctx context.Context, addr string) (net.Conn, error) {
	return dialWith(ctx, addr, nil)
}

// takesLittle makes the buffers of a connection small, at both ends, before it
// is made.
func takesLittle(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 1)
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, 500)
	})
}

func dialWith(ctx context.Context, addr string, control func(string, string, syscall.RawConn) error) (net.Conn, error) {
	n := next.Add(1)
	d := net.Dialer{Control: control, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1+byte(n>>8)%100, 1+byte(n)%250)}, Timeout: 5 * time.Second}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err == nil {
		_ = c.(*net.TCPConn).SetLinger(0) // leaves nothing behind
	}
	return c, err
}

// send sends a text, and waits until the connection ends.
func send(ctx context.Context, addr, text string) {
	c, err := dial(ctx, addr)
	if err != nil {
		return
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	io.WriteString(c, text)
	io.Copy(io.Discard, c)
}

func callEvil(ctx context.Context, addr string) {
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for ctx.Err() == nil {
				send(ctx, addr, request)
			}
		})
	}
	wg.Wait()
}

// flood opens so many connections a second, the newest 3,000 of which stay open.
func flood(rate int, text string) func(context.Context, string) {
	return floodWith(rate, 3000, nil, text)
}

// unread asks so often, and reads no answer until the kernel has dropped it.
func unread(rate int, text string) func(context.Context, string) {
	return floodWith(rate, 7*rate, takesLittle, text)
}

func floodWith(rate, kept int, control func(string, string, syscall.RawConn) error, text string) func(context.Context, string) {
	return func(ctx context.Context, addr string) {
		const workers = 10
		rate := min(rate, mostPerSecond)
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				open := make([]net.Conn, kept/workers)
				tick := time.NewTicker(time.Second * workers / time.Duration(rate))
				defer tick.Stop()
				for i := 0; ctx.Err() == nil; i++ {
					<-tick.C
					c, err := dialWith(ctx, addr, control)
					if err != nil {
						continue
					}
					io.WriteString(c, text)
					if old := open[i%len(open)]; old != nil {
						old.Close()
					}
					open[i%len(open)] = c
				}
				for _, c := range open {
					if c != nil {
						c.Close()
					}
				}
			})
		}
		wg.Wait()
	}
}

// together runs several attacks.
func together(all ...func(context.Context, string)) func(context.Context, string) {
	return func(ctx context.Context, addr string) {
		var wg sync.WaitGroup
		for _, run := range all {
			wg.Go(func() { run(ctx, addr) })
		}
		wg.Wait()
	}
}

// repeat has so many callers send a text again and again.
func repeat(n int, text string) func(context.Context, string) {
	return each(n, 2*n, func(ctx context.Context, addr string) { send(ctx, addr, text) })
}

// pour has so many callers send a text, and then another one without end.
func pour(n int, first, again string) func(context.Context, string) {
	return each(n, mostPerSecond, func(ctx context.Context, addr string) {
		c, err := dial(ctx, addr)
		if err != nil {
			return
		}
		defer c.Close()
		defer context.AfterFunc(ctx, func() { c.Close() })()
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		for _, err = io.WriteString(c, first); err == nil; {
			_, err = io.WriteString(c, again)
		}
	})
}

// each has n callers call again and again, so often a second at most.
func each(n, rate int, call func(context.Context, string)) func(context.Context, string) {
	return func(ctx context.Context, addr string) {
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				for ctx.Err() == nil {
					call(ctx, addr)
					pause(ctx, time.Second*time.Duration(n)/time.Duration(min(rate, mostPerSecond)))
				}
			})
		}
		wg.Wait()
	}
}

// keep keeps so many connections open, and opens those anew that are closed,
// after a while.
func keep(n int, text string, more func(context.Context, net.Conn), again time.Duration) func(context.Context, string) {
	return func(ctx context.Context, addr string) {
		all := time.Second * time.Duration(n) / time.Duration(mostPerSecond) // how long opening them takes
		again := max(again, all)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				pause(ctx, all*time.Duration(i)/time.Duration(n))
				for ctx.Err() == nil {
					if c, err := dial(ctx, addr); err == nil {
						stop := context.AfterFunc(ctx, func() { c.Close() })
						io.WriteString(c, text)
						if more != nil {
							more(ctx, c)
						}
						io.Copy(io.Discard, c)
						stop()
						c.Close()
					}
					pause(ctx, again)
				}
			})
		}
		wg.Wait()
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func slowly(ctx context.Context, c net.Conn) {
	for ctx.Err() == nil {
		pause(ctx, 500*time.Millisecond)
		if _, err := io.WriteString(c, "x"); err != nil {
			return
		}
	}
}

func slowReaders(path string) func(context.Context, string) {
	return func(ctx context.Context, addr string) {
		var wg sync.WaitGroup
		for range 150 {
			wg.Go(func() {
				for ctx.Err() == nil {
					c, err := dialWith(ctx, addr, takesLittle)
					if err != nil {
						pause(ctx, 100*time.Millisecond)
						continue
					}
					io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
					pause(ctx, 300*time.Millisecond)
					// Reads only whether it was closed: one byte a while.
					for one := make([]byte, 1); ctx.Err() == nil; pause(ctx, 100*time.Millisecond) {
						_ = c.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
						if _, err := c.Read(one); err != nil {
							break
						}
					}
					c.Close()
				}
			})
		}
		wg.Wait()
	}
}

// strangers call a hook again and again.
func strangers(ctx context.Context, addr string) {
	for ctx.Err() == nil {
		send(ctx, addr, hookRequest)
		pause(ctx, 200*time.Millisecond)
	}
}

// callHooks calls a hook with a byte more, and goes after a while.
func callHooks(stay time.Duration) func(context.Context, string) {
	return func(ctx context.Context, addr string) {
		var wg sync.WaitGroup
		for range 24 {
			wg.Go(func() {
				c, err := net.Dial("tcp", addr)
				if err != nil {
					return
				}
				defer c.Close()
				io.WriteString(c, hookRequest)
				pause(ctx, 200*time.Millisecond)
				io.WriteString(c, "x")
				pause(ctx, stay)
			})
		}
		wg.Wait()
	}
}
