package server

import (
	"bufio"
	"container/list"
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/sidecar/kubelet"
)

// watchAfter is how long a call may last before its connection is watched for
// the caller's going away. Most probes are over by then, and the watching
// costs a goroutine.
const watchAfter = 20 * time.Millisecond

var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 2<<10) }}

// A conn carries one request.
type conn struct {
	net.Conn
	server  *Server
	port    string // ours
	osmPort int    // the one for which it stands in the dialect osm
	start   time.Time
	br      *bufio.Reader
	head    *list.Element // of the server's heads; guarded by the server's mu

	mu       sync.Mutex
	headSent bool // guarded by mu: early did it, and the body is chunked
	answered bool // guarded by mu
}

func (c *conn) serve() {
	defer func() { <-c.server.slots }()
	defer c.Close()
	// A fault in one call must not end the others; the caller sees the
	// connection close, which is a failure.
	defer func() {
		if r := recover(); r != nil {
			c.server.log.Error("call panicked", "panic", r)
		}
	}()
	lim := &io.LimitedReader{R: c.Conn, N: maxHead}
	c.br = readers.Get().(*bufio.Reader)
	c.br.Reset(lim)
	defer func() { c.br.Reset(nil); readers.Put(c.br) }()

	if st := c.stream(); st != nil {
		if evicted := c.server.headDone(c); !evicted {
			lim.N = 1 << 62
			c.passThrough(st)
		}
		return
	}
	req, err := readRequest(c.br)
	evicted := c.server.headDone(c)
	var bad *badRequest
	switch {
	case evicted:
	case lim.N <= 0:
		c.refuse(431, "request's head is too large")
	case errors.As(err, &bad):
		c.refuse(bad.status, bad.msg)
	case err == nil:
		_ = c.SetReadDeadline(time.Time{})
		c.answer(req)
	}
}

func (c *conn) answer(req *request) {
	s := c.server
	e, page, bad := s.find(c, req)
	switch {
	case bad != nil:
		c.refuse(bad.status, bad.msg)
	case e == nil && page == nil:
		c.refuse(404, "no such probe")
	case req.method != "GET":
		c.refuse(405, "only GET is allowed")
	case page != nil:
		c.send(200, page())
	case e.bad != nil:
		c.sendAnswer(e.disabled())
	case !e.enter():
		c.refuse(429, "too many calls of this probe at a time")
	default:
		call := &kubelet.Call{Host: req.host, Port: c.port, Header: req.header, Start: c.start}
		if req.http11 && !e.target.Hook() {
			call.Early = c.early
		}
		// The call lasts until its answer is sent: we may end when none is open.
		s.callBegins(e)
		defer s.callEnds(e)
		defer e.leave()
		defer call.Close()
		c.sendAnswer(c.call(e, call))
	}
}

// call probes the app, for as long as the caller waits.
func (c *conn) call(e *entry, call *kubelet.Call) *kubelet.Answer {
	w := &watch{conn: c}
	defer w.stop()
	call.Caller = w.begin
	a := e.target.Probe(call)
	if w.ctx == nil || w.ctx.Err() == nil {
		e.record(c.server.log, a, time.Since(c.start))
	}
	return a
}

// A watch waits for the caller to close the connection.
type watch struct {
	conn  *conn
	ctx   context.Context // nil before begin
	gone  context.CancelFunc
	timer *time.Timer
	wg    sync.WaitGroup
	mu    sync.Mutex
	over  bool // guarded by mu
}

// begin gives a context that is done when the caller has gone away.
func (w *watch) begin() context.Context {
	w.ctx, w.gone = context.WithCancel(context.Background())
	w.timer = time.AfterFunc(watchAfter, w.run)
	return w.ctx
}

func (w *watch) run() {
	w.mu.Lock()
	if w.over {
		w.mu.Unlock()
		return
	}
	w.wg.Add(1)
	w.mu.Unlock()
	defer w.wg.Done()
	var b [1]byte
	if _, err := w.conn.Read(b[:]); err != nil && !isTimeout(err) {
		w.gone()
	}
}

func (w *watch) stop() {
	if w.ctx == nil {
		return
	}
	defer w.gone()
	if w.timer.Stop() {
		return
	}
	w.mu.Lock()
	w.over = true
	w.mu.Unlock()
	_ = w.conn.SetReadDeadline(time.Unix(1, 0))
	w.wg.Wait()
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

func (c *conn) sendAnswer(a *kubelet.Answer) {
	if a.Drop {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answered = true
	switch {
	case c.headSent:
		c.finish(a)
		return
	case !a.Cut:
		c.send(a.Status, a.Body)
		return
	}
	// One byte more is promised than will ever be sent. The status does not
	// matter then, as long as it is one that has a body.
	status := a.Status
	if !hasBody(status) {
		status = 200
	}
	c.write(status, len(a.Body)+1, a.Body)
}

// early sends the head of an answer whose body is still awaited.
func (c *conn) early(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answered || c.headSent || !hasBody(status) {
		return
	}
	c.headSent = true
	c.flush(append(appendHead(nil, status), "Transfer-Encoding: chunked\r\n\r\n"...))
}

// finish sends the body after an early head; one that broke off is not ended.
func (c *conn) finish(a *kubelet.Answer) {
	b := make([]byte, 0, len(a.Body)+16)
	if len(a.Body) > 0 {
		b = strconv.AppendInt(b, int64(len(a.Body)), 16)
		b = append(append(append(b, "\r\n"...), a.Body...), "\r\n"...)
	}
	if !a.Cut {
		b = append(b, "0\r\n\r\n"...)
	}
	c.flush(b)
}

func (c *conn) send(status int, body []byte) { c.write(status, len(body), body) }

// A halfCloser can end its side of a connection and go on reading.
type halfCloser interface{ CloseWrite() error }

// refuse answers a request that may have more to it than was read: closing
// the connection on unread bytes would take the answer with it.
func (c *conn) refuse(status int, msg string) {
	c.send(status, []byte("probe-proxy: "+msg+"\n"))
	if half, ok := c.Conn.(halfCloser); !ok || half.CloseWrite() != nil {
		return
	}
	_ = c.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
	c.server.expendable(c)
	defer c.server.headDone(c)
	_, _ = io.CopyN(io.Discard, c.Conn, 1<<20)
}

func (c *conn) write(status, length int, body []byte) {
	b := appendHead(make([]byte, 0, 256+len(body)), status)
	if !hasBody(status) {
		body = nil
	} else {
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, int64(length), 10)
		b = append(b, "\r\n"...)
	}
	c.flush(append(append(b, "\r\n"...), body...))
}

func appendHead(b []byte, status int) []byte {
	b = append(b, "HTTP/1.1 "...)
	b = append(b, byte('0'+status/100), byte('0'+status/10%10), byte('0'+status%10), ' ')
	b = append(b, statusText(status)...)
	b = append(b, "\r\nConnection: close\r\n"...)
	if status == 405 {
		b = append(b, "Allow: GET\r\n"...)
	}
	if hasBody(status) {
		b = append(b, "Content-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\n"...)
	}
	return b
}

// flush writes; who is gone needs no answer.
func (c *conn) flush(b []byte) {
	_ = c.SetWriteDeadline(time.Now().Add(sendTime))
	_, _ = c.Conn.Write(b)
}

// hasBody tells whether a body follows the head of a response.
func hasBody(status int) bool { return status != 204 && status != 304 && status/100 != 1 }

// statusText names the codes of our own; the app's carry the number alone.
func statusText(status int) string {
	switch status {
	case 200:
		return "OK"
	case 400:
		return "Bad Request"
	case 404:
		return "Not Found"
	case 405:
		return "Method Not Allowed"
	case 429:
		return "Too Many Requests"
	case 431:
		return "Request Header Fields Too Large"
	case 500:
		return "Internal Server Error"
	case 502:
		return "Bad Gateway"
	case 503:
		return "Service Unavailable"
	case 504:
		return "Gateway Timeout"
	case 505:
		return "HTTP Version Not Supported"
	}
	return "Status"
}
