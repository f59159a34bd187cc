package server

import (
	"context"
	"io"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/kubelet"
)

// startOfTLS is the first byte of any TLS connection (RFC 8446, section 5.1), and
// of no HTTP request.
var startOfTLS = []byte{0x16}

// A stream says where TLS that comes in on one port is passed on to.
type stream struct {
	port    int // of the app
	timeout time.Duration
	share   share
	down    atomic.Bool // the last connection could not be passed on
}

// passThrough copies the bytes of each side to the other, until both have ended
// or the longest timeout of the stream's probes is over. first is what has been
// read already.
func (c *conn) passThrough(to *stream, first []byte) {
	select {
	case to.share.places <- struct{}{}:
		defer c.server.callEnds(&to.share)
	default:
		return
	}
	ctx, cancel := context.WithDeadline(context.Background(), c.start.Add(to.timeout))
	defer cancel()
	call := new(kubelet.Call)
	defer call.Close()
	app, err := call.Dial(ctx, c.server.app, strconv.Itoa(to.port))
	if err != nil {
		if !to.down.Swap(true) {
			c.server.log.Warn("TLS cannot be passed on", "port", c.port, "to", to.port, "reason", err.Error())
		}
		return
	}
	if to.down.Swap(false) {
		c.server.log.Info("TLS is passed on again", "port", c.port, "to", to.port)
	}
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

// pass copies src to dst, and ends dst's side where src ends. If dst takes no
// more, pass ends the other direction too.
func pass(dst net.Conn, src io.Reader) {
	_, err := io.Copy(dst, src)
	if half, ok := dst.(halfCloser); ok && err == nil {
		_ = half.CloseWrite()
		return
	}
	_ = dst.SetDeadline(time.Now())
}
