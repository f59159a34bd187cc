package xds

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/wire"
)

// method is the call that stays open.
const method = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"

const (
	// pingEvery is how often istiod is asked for a sign of life. It refuses
	// clients that ask more than every 15 s.
	pingEvery = 30 * time.Second
	// silence is how long istiod may be silent.
	silence = 45 * time.Second
	// writeTimeout is how long a message may wait for room in the connection, and
	// for istiod's permission to send it.
	writeTimeout = 10 * time.Second
)

// A session is one stream to istiod. Without a connection it is none.
type session struct {
	conn   net.Conn
	stream *wire.Stream
	began  time.Time
	out    chan error    // the state to send next, if there is one
	stall  atomic.Bool   // istiod takes no message
	going  chan struct{} // closed when istiod says that it is going away; nil once another session is on its way
	ended  chan struct{}
	err    error // why it ended, or is none; read it after ended is closed
}

// newSession makes the call on conn and introduces the node.
func newSession(conn net.Conn, call *wire.Request, node *Node) *session {
	stream, err := wire.OpenStream(&timedConn{conn}, call)
	if err == nil {
		err = stream.Send(firstRequest(node))
	}
	if err != nil {
		_ = conn.Close()
		return &session{err: err}
	}
	s := &session{
		conn:   conn,
		stream: stream,
		began:  time.Now(),
		out:    make(chan error, 1),
		going:  make(chan struct{}),
		ended:  make(chan struct{}),
	}
	go s.read()
	go s.send()
	return s
}

// read reads until the session ends.
func (s *session) read() {
	defer close(s.ended)
	for told := false; ; {
		goingAway, err := s.stream.Next()
		if err != nil {
			s.err = err
			if errors.Is(err, io.EOF) {
				s.err = errors.New("istiod ended the stream")
			}
			if s.stall.Load() {
				s.err = fmt.Errorf("istiod takes no message for %s", writeTimeout)
			}
			_ = s.conn.Close()
			return
		}
		if goingAway && !told {
			told = true
			close(s.going)
		}
	}
}

// report sends a state, in the background: nobody waits for istiod. A later state
// replaces one that was not sent yet. Only one goroutine may call it.
func (s *session) report(unhealthy error) {
	select {
	case <-s.out:
	default:
	}
	s.out <- unhealthy
}

// send sends the states, and pings. If a state takes too long or cannot be sent, the
// session ends, and the next one reports.
func (s *session) send() {
	for ticks := time.Tick(pingEvery); ; {
		select {
		case <-s.ended:
			return
		case <-ticks:
			_ = s.stream.Ping() // if it fails, reading fails too
		case unhealthy := <-s.out:
			late := time.AfterFunc(writeTimeout, func() {
				s.stall.Store(true)
				_ = s.conn.Close()
			})
			err := s.stream.Send(healthRequest(unhealthy))
			late.Stop()
			if err != nil {
				_ = s.conn.Close()
				return
			}
		}
	}
}

// leave ends the session properly, so that istiod reads what was sent before, or
// closes the connection.
func (s *session) leave() {
	defer time.AfterFunc(closing, func() {
		_ = s.conn.Close()
	}).Stop()
	_ = s.stream.CloseSend()
	<-s.ended
}

// A timedConn fails instead of waiting forever.
type timedConn struct{ conn net.Conn }

func (c *timedConn) Read(p []byte) (int, error) {
	_ = c.conn.SetReadDeadline(time.Now().Add(silence))
	n, err := c.conn.Read(p)
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		err = errors.New("istiod is silent")
	}
	return n, err
}

func (c *timedConn) Write(p []byte) (int, error) {
	_ = c.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	return c.conn.Write(p)
}
