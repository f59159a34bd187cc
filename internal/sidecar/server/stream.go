package server

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"sync/atomic"
	"time"
)

// recordHandshake is the first byte of any TLS connection (RFC 8446, section
// 5.1), and of no HTTP request.
const recordHandshake = 0x16

// A stream is the app's port to which TLS is passed on that comes in on one
// port.
type stream struct {
	port    int // of the app
	timeout time.Duration
	places  chan struct{} // one for each open connection
	down    atomic.Bool   // the last could not be passed on
}

// passThrough passes the bytes of both sides on, until both have ended, or the
// time of the slowest probe is over. first is what has been read already.
func (c *conn) passThrough(st *stream, first []byte) {
	select {
	case st.places <- struct{}{}:
		defer func() { <-st.places }()
	default:
		return
	}
	c.server.callBegins(nil)
	defer c.server.callEnds(nil)
	ctx, cancel := context.WithDeadline(context.Background(), c.start.Add(st.timeout))
	defer cancel()
	app, stop, err := c.server.app.Dial(ctx, strconv.Itoa(st.port))
	if down := err != nil; st.down.Swap(down) != down {
		c.server.logStream(c.port, st.port, err)
	}
	if err != nil {
		return
	}
	defer app.Close()
	defer stop()
	deadline, _ := ctx.Deadline()
	_ = c.SetDeadline(deadline)
	back := make(chan struct{})
	go func() {
		defer close(back)
		pass(c.Conn, app)
	}()
	if _, err := app.Write(first); err == nil {
		pass(app, c.Conn)
	}
	<-back
}

func (s *Server) logStream(port, to int, err error) {
	if err == nil {
		s.log.Info("TLS is passed on again", "port", port, "to", to)
		return
	}
	s.log.Warn("TLS cannot be passed on", "port", port, "to", to, "reason", err.Error())
}

// pass copies what src says to dst, and its end. If dst takes no more, the end
// of the other direction tells src.
func pass(dst net.Conn, src io.Reader) {
	_, err := io.Copy(dst, src)
	if half, ok := dst.(halfCloser); ok && (err == nil || errors.Is(err, io.EOF)) {
		_ = half.CloseWrite()
		return
	}
	_ = dst.SetDeadline(time.Unix(1, 0))
}
