package sidecar

import (
	"bytes"
	"cmp"
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/kubelet"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// A conn carries one request.
type conn struct {
	net.Conn
	server  *Server
	view    *view // of the port on which it came
	start   time.Time
	buf     *[smallHead]byte
	first   int           // bytes in buf that came with the connection
	whole   *request      // the request, if all of it and nothing else came with the connection
	evicted chan struct{} // closed with the eviction

	// Guarded by the budget's mu.
	queue   *queue // nil if it may not be evicted
	element *list.Element
	gone    bool // it was evicted

	mu       sync.Mutex
	headSent bool // guarded by mu: early sent the head, and the body is chunked
	answered bool // guarded by mu
}

// newConn returns an accepted connection, with what has come on it.
func newConn(s *Server, v *view, nc net.Conn) *conn {
	c := accepted(s, v, nc, time.Now())
	if raw, ok := nc.(syscall.Conn); ok {
		c.first = readNow(raw, c.buf[:])
	}
	return c.enter()
}

// newConnWith returns a connection that was accepted at start, on which first came, at most
// smallHead bytes.
func newConnWith(s *Server, v *view, nc net.Conn, first []byte, start time.Time) *conn {
	c := accepted(s, v, nc, start)
	c.first = copy(c.buf[:], first)
	return c.enter()
}

func accepted(s *Server, v *view, nc net.Conn, start time.Time) *conn {
	c := &conn{Conn: nc, server: s, view: v, start: start, evicted: make(chan struct{})}
	c.buf = buffers.Get().(*[smallHead]byte)
	_ = c.SetReadDeadline(c.start.Add(headTime))
	return c
}

// enter makes the connection evictable unless its head has come with it.
func (c *conn) enter() *conn {
	switch head := c.buf[:c.first]; bytes.Index(head, endOfHead) {
	case -1:
		c.server.budget.enter(c, &c.server.budget.heads)
	case len(head) - len(endOfHead):
		req, err := parseHead(head[:len(head)-len(endOfHead)])
		if err == nil && !req.hasBody() { // readRequest has the error
			c.whole = req
		}
	}
	return c
}

// answeredAtOnce answers a request that has come whole and calls no probe, before the next
// connection is accepted: whoever floods the port with such requests is kept shorter than the
// kubelet. The answer fits into the buffer of a fresh connection.
func (c *conn) answeredAtOnce() bool {
	answer, _ := c.view.atOnce(c.server, c.buf[:c.first])
	if answer == nil {
		return false
	}
	c.flush(answer)
	if n := kubelet.Unsent(c.Conn); n > 0 && !c.server.budget.leaveBehind(n) {
		reset(c.Conn)
	}
	c.Close()
	buffers.Put(c.buf)
	return true
}

func (c *conn) serve() {
	defer c.end()
	// A fault in one call must not end the others; the caller sees the
	// connection close, which is a failure.
	defer func() {
		if r := recover(); r != nil {
			c.server.log.Error("call panicked", "panic", r)
		}
	}()
	req, err := c.whole, error(nil)
	if req == nil {
		req, err = c.readRequest()
	}
	var passed []byte
	if errors.Is(err, errTLS) {
		passed = bytes.Clone(c.buf[:c.first])
	}
	buffers.Put(c.buf)
	if !c.server.budget.leave(c) {
		return
	}
	var bad *badRequest
	switch {
	case passed != nil:
		c.passOn(passed)
	case errors.As(err, &bad):
		c.refuse(bad)
	case err != nil:
	default:
		c.answer(req)
	}
}

func (c *conn) answer(req *request) {
	e := c.view.find(c.server, req)
	page := c.server.ownPage(req.target)
	switch {
	case e == nil && page == nil:
		c.refuse(errNoProbe)
	case req.method != "GET":
		c.refuse(&badRequest{405, "only GET is allowed"})
	case page != nil:
		c.page(page())
	case e.bad != nil:
		c.sendAnswer(e.disabled())
	default:
		c.call(e, req)
	}
}

const metricsPath = "/metrics"

var (
	healthy       = []byte("ok\n")
	healthyAnswer = appendAnswer(200, len(healthy), healthy)
	noProbeAnswer = errNoProbe.answer()
)

// atOnce returns the answer to a request that has come whole, has no body and needs nobody
// but us. For any other it returns nil, and the entry that is probably called.
func (v *view) atOnce(s *Server, head []byte) (answer []byte, called *entry) {
	target, ok := plainTarget(head)
	if !ok {
		return nil, nil
	}
	if e, may := v.mayFind(s, target); may {
		return nil, e
	}
	switch string(target) {
	case metricsPath:
		return nil, nil
	case prober.HealthPath, prober.ReadyPath:
		return healthyAnswer, nil
	}
	return noProbeAnswer, nil
}

// ownPage returns the page of the server's own at a path, nil if there is none.
func (s *Server) ownPage(path string) func() []byte {
	switch path {
	case prober.HealthPath, prober.ReadyPath:
		return func() []byte { return healthy }
	case metricsPath:
		return s.metrics
	}
	return nil
}

// takePlace takes one of the entry's places, and before it one of those for large heads, if the
// request has one. While the call waits, its fields are not kept apart.
func (c *conn) takePlace(e *entry, req *request) bool {
	if req.large && !c.take(e, e.share.large, &c.server.budget.large, req) {
		return false
	}
	if c.take(e, e.share.places, &c.server.budget.waiting, req) {
		return true
	}
	if req.large {
		<-e.share.large
	}
	return false
}

// take takes one of the entry's places. If all are taken, the call of a probe waits in a queue.
// That of a hook is closed: the kubelet would take a hook that waits for one that runs, and
// ignores its status.
func (c *conn) take(e *entry, places chan struct{}, q *queue, req *request) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
	}
	if e.probeType.IsHook() {
		return false
	}
	req.header = nil
	if !c.waitFor(e, places, q) {
		return false
	}
	req.header, _ = parseFields(req.fields) // as before
	delete(req.header, "Host")
	return true
}

// call calls the app in one of the entry's places.
func (c *conn) call(e *entry, req *request) {
	if !c.takePlace(e, req) {
		if !e.probeType.IsHook() {
			c.refuse(&badRequest{429, "too many calls of this probe at a time"})
		}
		return
	}
	// The call lasts until its answer is sent: the program may end when no
	// call is open.
	defer c.server.callEnds(&e.share, req.large)
	call := &kubelet.Call{Host: req.host, Port: c.view.port, Header: req.header, Start: c.start}
	if req.http11 {
		call.Early = c.early
	}
	call.Meter.More = e.share.take
	call.Meter.Turn = e.share.turn
	call.Meter.Worked = e.share.pauseTLS
	call.Meter.Handshake = e.share.takeTLS
	call.Meter.Release = e.share.releaseTLS
	defer func() {
		e.share.release(call.Meter.Granted)
		call.Meter.Forget()
	}()
	defer call.Close()
	c.sendAnswer(c.probe(e, call))
}

// waitFor waits in a queue for one of the entry's places, until the probe's time is over
// or the connection is evicted.
func (c *conn) waitFor(e *entry, places chan struct{}, q *queue) bool {
	c.server.budget.enter(c, q)
	select {
	case places <- struct{}{}:
		if c.server.budget.leave(c) {
			return true
		}
		<-places
		return false
	case <-time.After(time.Until(c.start.Add(e.target.Timeout))):
	case <-c.evicted:
	}
	c.server.budget.leave(c)
	return false
}

// probe probes the app, for as long as the caller waits. A caller that leaves early
// concluded nothing. One that stayed for half of the probe's time or more is a kubelet
// whose own time is over: it began before ours, if we came late.
func (c *conn) probe(e *entry, call *kubelet.Call) *kubelet.Answer {
	ctx, stop := c.watch()
	defer stop()
	a := e.target.Probe(ctx, call)
	took := time.Since(c.start)
	if ctx.Err() != nil {
		if e.target.Hook || took < e.target.Timeout/2 {
			return a
		}
		a.Status = 504
		a.Reason = fmt.Sprintf("caller left after %s, before the app answered", took.Round(time.Millisecond))
	}
	e.record(c.server.log, a, took, c.server.BodiesFrom)
	return a
}

// watchAfter is how long a call lasts before we watch whether its caller goes
// away. Most probes are over by then, and watching costs a goroutine.
const watchAfter = 20 * time.Millisecond

// watch returns a context that is done when the caller has gone away, or has sent maxRest that nobody
// asked for; and what ends the watch.
func (c *conn) watch() (ctx context.Context, stop func()) {
	_ = c.SetReadDeadline(time.Time{}) // that of the head is over
	ctx, gone := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Add(1)
	timer := time.AfterFunc(watchAfter, func() {
		defer watching.Done()
		// A caller that goes on sending does not wait for an answer either.
		if err := c.discardSlowly(); !errors.Is(err, os.ErrDeadlineExceeded) {
			gone()
		}
	})
	return ctx, func() {
		defer gone()
		if timer.Stop() {
			return
		}
		_ = c.SetReadDeadline(time.Now())
		watching.Wait()
	}
}

func (c *conn) sendAnswer(a *kubelet.Answer) {
	if a.Drop {
		return
	}
	if a.Status < c.server.BodiesFrom && !a.Ours {
		a.Body = nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answered = true
	if c.headSent {
		c.finish(a)
		return
	}
	status := a.Status
	length := len(a.Body)
	if a.Cut {
		// The head declares one byte more than is sent. The status does not matter
		// then, as long as it is one that has a body.
		length++
		if !hasBody(status) {
			status = 200
		}
	}
	c.flush(appendAnswer(status, length, a.Body))
}

// early sends the head of an answer whose body has not come yet.
func (c *conn) early(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answered || c.headSent || !hasBody(status) {
		return
	}
	c.headSent = true
	c.flush(append(appendHead(nil, status), "Transfer-Encoding: chunked\r\n\r\n"...))
}

// finish sends the body after an early head. A body that broke off is not
// ended.
func (c *conn) finish(a *kubelet.Answer) {
	var b []byte
	if len(a.Body) > 0 {
		b = fmt.Appendf(b, "%x\r\n%s\r\n", len(a.Body), a.Body)
	}
	if !a.Cut {
		b = append(b, "0\r\n\r\n"...)
	}
	c.flush(b)
}

// page sends a page of the server's own. If the caller takes it slowly, others
// may evict it.
func (c *conn) page(text []byte) {
	_ = c.SetWriteDeadline(time.Now().Add(sendTime))
	c.server.budget.enter(c, &c.server.budget.pages)
	_, _ = c.Conn.Write(appendAnswer(200, len(text), text))
	c.server.budget.leave(c)
}

// maxRest bounds what is read after the head of a request.
const maxRest = maxHead

// restPause is the time after each part of what a caller sends while its call lasts.
const restPause = 20 * time.Millisecond

// discardSlowly reads what follows a request, about maxRest at most, and returns why there is no
// more. The caller has no right to the processor for what nobody asked for.
func (c *conn) discardSlowly() error {
	buf := buffers.Get().(*[smallHead]byte)
	defer buffers.Put(buf)
	for left := maxRest; left > 0; time.Sleep(restPause) {
		n, err := c.Read(buf[:])
		if err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// refuse answers a request. If that may have more bytes than were read, it reads
// them: closing a connection with unread bytes resets it, and the answer is lost.
func (c *conn) refuse(bad *badRequest) {
	c.flush(bad.answer())
	if c.whole != nil {
		return
	}
	closeWrite(c.Conn)
	_ = c.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
	if c.server.budget.enter(c, &c.server.budget.heads) {
		_, _ = io.CopyN(io.Discard, c.Conn, maxRest)
	}
	c.server.budget.leave(c)
}

// end closes the connection. The kernel keeps what the caller has not taken yet, and the container
// is charged for it. If closed connections have left it too much, this one stays open for sendTime,
// or until newer ones evict it. What the caller has not taken then is dropped.
func (c *conn) end() {
	defer c.Close()
	n := kubelet.Unsent(c.Conn)
	if n == 0 || c.server.budget.leaveBehind(n) {
		return
	}
	closeWrite(c.Conn)
	c.server.budget.enter(c, &c.server.budget.unread)
	select {
	case <-time.After(sendTime):
	case <-c.evicted:
	}
	c.server.budget.leave(c)
	if kubelet.Unsent(c.Conn) > 0 {
		reset(c.Conn)
	}
}

// reset has the end of a connection drop what was not sent.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

func appendAnswer(status, length int, body []byte) []byte {
	b := appendHead(make([]byte, 0, 256+len(body)), status)
	if !hasBody(status) {
		return append(b, "\r\n"...)
	}
	return append(fmt.Appendf(b, "Content-Length: %d\r\n\r\n", length), body...)
}

func appendHead(b []byte, status int) []byte {
	b = fmt.Appendf(b, "HTTP/1.1 %03d %s\r\nConnection: close\r\n", status, cmp.Or(statusTexts[status], "Status"))
	if status == 405 {
		b = append(b, "Allow: GET\r\n"...)
	}
	if hasBody(status) {
		b = append(b, "Content-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\n"...)
	}
	return b
}

// flush writes b. Errors are ignored: the caller has gone.
func (c *conn) flush(b []byte) {
	_ = c.SetWriteDeadline(time.Now().Add(sendTime))
	_, _ = c.Conn.Write(b)
}

// hasBody reports whether a body follows the head of a response.
func hasBody(status int) bool {
	return status != 204 && status != 304 && status/100 != 1
}

// statusTexts are the names of the statuses that the server sends by itself. The
// app's other statuses have none.
var statusTexts = map[int]string{
	200: "OK",
	400: "Bad Request",
	404: "Not Found",
	405: "Method Not Allowed",
	429: "Too Many Requests",
	431: "Request Header Fields Too Large",
	500: "Internal Server Error",
	502: "Bad Gateway",
	503: "Service Unavailable",
	504: "Gateway Timeout",
	505: "HTTP Version Not Supported",
}
