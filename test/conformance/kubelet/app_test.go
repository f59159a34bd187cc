package kubelet_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// An app is one scripted server on a port of its own. It remembers the
// requests it saw.
type app struct {
	mu   sync.Mutex
	seen []string // guarded by mu
	hits int      // connections or requests that a script counted; guarded by mu
}

// hit counts a request, and returns how many there were before it since the
// last take.
func (a *app) hit() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hits++
	return a.hits - 1
}

func (a *app) see(req *http.Request) {
	lines := []string{req.Method + " " + req.RequestURI + " " + req.Proto, "Host: " + req.Host}
	a.remember(lines, req.Header)
}

// remember keeps a request's lines and its header, sorted. Of gRPC's calls the
// deadline is never the same twice, and the kubelet's client adds its own name.
func (a *app) remember(lines []string, header map[string][]string) {
	n := len(lines)
	for name, values := range header {
		for _, v := range values {
			switch strings.ToLower(name) {
			case "grpc-timeout":
				v = grpcTimeout(v)
			case "user-agent":
				v, _, _ = strings.Cut(v, " grpc-go/")
			}
			lines = append(lines, name+": "+v)
		}
	}
	slices.Sort(lines[n:])
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = append(a.seen, strings.Join(lines, "\n"))
}

// grpcTimeout rounds a value of grpc-timeout to seconds.
func grpcTimeout(v string) string {
	units := map[byte]time.Duration{'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond}
	n, err := strconv.Atoi(v[:max(len(v)-1, 0)])
	if err != nil || units[v[len(v)-1]] == 0 {
		return v
	}
	return "about " + (time.Duration(n) * units[v[len(v)-1]]).Round(time.Second).String()
}

// frames remembers the frames of HTTP/2 with which a request is made, and whether
// they come before the settings, which are sent late. Then it answers.
func frames(answer string) behaviour {
	return framesWith("\x00\x00\x00\x04\x00\x00\x00\x00\x00", answer)
}

// framesWith is frames with a SETTINGS frame.
func framesWith(settings, answer string) behaviour {
	return conns(func(a *app, conn net.Conn) {
		const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
		conn.SetDeadline(time.Now().Add(5 * time.Second))
		if _, err := io.ReadFull(conn, make([]byte, len(preface))); err != nil {
			return
		}
		when := "before the settings"
		var mu sync.Mutex
		time.AfterFunc(300*time.Millisecond, func() {
			mu.Lock()
			defer mu.Unlock()
			when = "after the settings"
			io.WriteString(conn, settings)
		})
		var lines []string
		for head := make([]byte, 9); ; {
			if _, err := io.ReadFull(conn, head); err != nil {
				return
			}
			io.CopyN(io.Discard, conn, int64(head[0])<<16|int64(head[1])<<8|int64(head[2]))
			if head[8] == 0 {
				continue // of the connection: each client has its own windows
			}
			mu.Lock()
			lines = append(lines, fmt.Sprintf("frame %d, flags %d, stream %d, %s", head[3], head[4], head[8], when))
			mu.Unlock()
			if head[3] <= 1 && head[4]&1 != 0 {
				break
			}
		}
		a.remember(lines, nil)
		time.Sleep(400 * time.Millisecond) // until the settings are sent
		io.WriteString(conn, answer)
		lingerClose(conn)
	})
}

// A callRecorder remembers the calls of a gRPC server.
type callRecorder struct{ app *app }

func (r callRecorder) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (r callRecorder) HandleRPC(ctx context.Context, s stats.RPCStats) {
	in, ok := s.(*stats.InHeader)
	if !ok {
		return
	}
	deadline := "no deadline"
	if d, ok := ctx.Deadline(); ok {
		deadline = "deadline in about " + time.Until(d).Round(time.Second).String()
	}
	r.app.remember([]string{in.FullMethod, deadline, "compression " + in.Compression}, in.Header)
}

func (r callRecorder) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (r callRecorder) HandleConn(context.Context, stats.ConnStats) {}

// take returns the requests since its last call, and resets the count.
func (a *app) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.seen
	a.seen, a.hits = nil, 0
	return s
}

// A behaviour serves an app on a listener until that is closed.
type behaviour func(a *app, l net.Listener)

// closedPort is a port on which nothing listens.
func closedPort(_ *app, l net.Listener) { l.Close() }

// raw answers each connection by a script, once a request's head has come.
func raw(script func(conn net.Conn, req *http.Request)) behaviour {
	return counted(func(conn net.Conn, req *http.Request, _ int) { script(conn, req) })
}

// counted is raw whose script also gets the number of requests before.
func counted(script func(conn net.Conn, req *http.Request, before int)) behaviour {
	return conns(func(a *app, conn net.Conn) {
		req, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		a.see(req)
		script(conn, req, a.hit())
	})
}

func conns(serve func(a *app, conn net.Conn)) behaviour {
	return func(a *app, l net.Listener) {
		testutil.ServeConns(l, func(conn net.Conn) { serve(a, conn) })
	}
}

// text answers with the text, unchanged.
func text(s string) behaviour {
	return raw(func(conn net.Conn, _ *http.Request) {
		io.WriteString(conn, s)
		lingerClose(conn)
	})
}

// lingerClose ends the sending side and waits for the peer, so that closing
// does not reset what was sent.
func lingerClose(conn net.Conn) {
	if c, ok := conn.(interface{ CloseWrite() error }); ok {
		c.CloseWrite()
	}
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	io.Copy(io.Discard, conn)
}

// hang sends what it has and then nothing until the peer goes.
func hang(s string) behaviour {
	return raw(func(conn net.Conn, _ *http.Request) {
		io.WriteString(conn, s)
		io.Copy(io.Discard, conn)
	})
}

// reset sends what it has and resets the connection.
func reset(s string) behaviour {
	return raw(func(conn net.Conn, _ *http.Request) {
		io.WriteString(conn, s)
		time.Sleep(20 * time.Millisecond)
		if c, ok := conn.(*net.TCPConn); ok {
			c.SetLinger(0)
		}
	})
}

// withPauses sends the parts with a pause before each.
func withPauses(pause time.Duration, parts ...string) behaviour {
	return raw(func(conn net.Conn, _ *http.Request) {
		for _, p := range parts {
			time.Sleep(pause)
			if _, err := io.WriteString(conn, p); err != nil {
				return
			}
		}
		lingerClose(conn)
	})
}

// secure puts TLS in front of a behaviour.
func secure(config *tls.Config, b behaviour) behaviour {
	return func(a *app, l net.Listener) { b(a, tls.NewListener(l, config)) }
}

var quiet = log.New(io.Discard, "", 0)

// handler serves with net/http, HTTP/2 too where the protocols allow it.
func handler(config *tls.Config, protocols *http.Protocols, h http.HandlerFunc) behaviour {
	return func(a *app, l net.Listener) {
		s := &http.Server{ErrorLog: quiet, Protocols: protocols, TLSConfig: config, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			a.see(r)
			h(w, r)
		})}
		if config != nil {
			s.ServeTLS(l, "", "")
			return
		}
		s.Serve(l)
	}
}

// grpcServer serves with grpc-go.
func grpcServer(register func(*grpc.Server), opts ...grpc.ServerOption) behaviour {
	return func(a *app, l net.Listener) {
		s := grpc.NewServer(append(opts, grpc.StatsHandler(callRecorder{a}))...)
		register(s)
		s.Serve(l)
	}
}

func contentLength(code int, body string) string {
	return fmt.Sprintf("HTTP/1.1 %03d Status\r\nContent-Length: %d\r\n\r\n%s", code, len(body), body)
}

func chunked(code int, body string) string {
	s := fmt.Sprintf("HTTP/1.1 %03d Status\r\nTransfer-Encoding: chunked\r\n\r\n", code)
	for len(body) > 0 {
		n := min(len(body), 4000)
		s += fmt.Sprintf("%x\r\n%s\r\n", n, body[:n])
		body = body[n:]
	}
	return s + "0\r\n\r\n"
}

func untilClose(code int, body string) string {
	return fmt.Sprintf("HTTP/1.1 %03d Status\r\n\r\n%s", code, body)
}
