package xds

import (
	"errors"
	"io"
	"net"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/agent/schedule"
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
	// writeTimeout is how long a message may wait for room in the connection.
	writeTimeout = 10 * time.Second
)

// A session is one stream to istiod.
type session struct {
	conn   net.Conn
	stream *wire.Stream
	began  time.Time
	ended  chan struct{}
	err    error // why it ended; read it after ended is closed
	leaves bool  // istiod said so, and another session is on its way
}

// newSession makes the call on conn and introduces the node. The session is
// sent to going when istiod says that it is going away.
func newSession(conn net.Conn, call *wire.Request, node *Node, going chan<- *session) (*session, error) {
	stream, err := wire.OpenStream(&timedConn{conn}, call)
	if err == nil {
		err = stream.Send(firstRequest(node))
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	s := &session{conn: conn, stream: stream, began: time.Now(), ended: make(chan struct{})}
	go s.read(going)
	go s.ping()
	return s, nil
}

// read reads until the session ends.
func (s *session) read(going chan<- *session) {
	defer close(s.ended)
	for told := false; ; {
		goingAway, err := s.stream.Next()
		if err != nil {
			s.err = err
			if errors.Is(err, io.EOF) {
				s.err = errors.New("istiod ended the stream")
			}
			_ = s.conn.Close()
			s.stream.Close()
			return
		}
		if goingAway && !told {
			told = true
			going <- s
		}
	}
}

func (s *session) ping() {
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.ended:
			return
		case <-ticker.C:
			_ = s.stream.Ping() // if it fails, reading fails too
		}
	}
}

// report sends a state. If it fails, the session ends, and the next one
// reports.
func (s *session) report(state *schedule.State) {
	if state == nil {
		return
	}
	if err := s.stream.Send(healthRequest(state.Healthy, state.Reason)); err != nil {
		_ = s.conn.Close()
	}
}

// leave ends the session properly: istiod reads what was sent before.
func (s *session) leave(within time.Duration) {
	_ = s.stream.CloseSend()
	select {
	case <-s.ended:
	case <-time.After(within):
		_ = s.conn.Close()
	}
}

// A timedConn fails instead of waiting forever.
type timedConn struct{ conn net.Conn }

func (c *timedConn) Read(p []byte) (int, error) {
	_ = c.conn.SetReadDeadline(time.Now().Add(silence))
	n, err := c.conn.Read(p)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		err = errors.New("istiod is silent")
	}
	return n, err
}

func (c *timedConn) Write(p []byte) (int, error) {
	_ = c.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	return c.conn.Write(p)
}
