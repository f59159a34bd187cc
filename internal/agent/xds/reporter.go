package xds

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/agent"
	"github.com/rewrite-probes/rewrite-probes/internal/wire"
)

const (
	// settle is how long after the connection the state is sent again: istiod
	// drops a state that comes before it has seen the entry that it just wrote.
	settle = 2 * time.Second
	// stable is how long a session must last to count as a success.
	stable = 10 * time.Second
	// firstWait and maxWait bound the wait before another attempt to connect.
	firstWait = 250 * time.Millisecond
	maxWait   = 10 * time.Second
	// linger is how long istiod gets to act on a message before a stream ends:
	// it forgets what it has not acted on.
	linger = 500 * time.Millisecond
	// closing is how long istiod gets to end a stream. With linger it is less than a
	// second: the agent ends within that after a SIGTERM, whatever istiod does.
	closing = 400 * time.Millisecond
)

// A Reporter tells istiod the state of the app.
type Reporter struct {
	Connect   func(context.Context) (net.Conn, error) // HTTP/2 is agreed on
	Scheme    string                                  // http or https
	Authority string
	Node      *Node
	Repeat    time.Duration // how often the state is sent again, with jitter
	Log       *slog.Logger
	Status    func(string) // told about the connection, for the service manager

	// If AliveEvery is set, Alive is called so often, unless the reporter is stuck.
	Alive      func()
	AliveEvery time.Duration

	current *session // without a connection if there is none
	state   error    // of the app, if it is known: nil is healthy
	known   bool
	opened  chan *session // or why there is none
	wait    time.Duration // before the next attempt
	retry   *time.Timer
	again   *time.Timer
	told    agent.LastError // what the log says last of the connection
}

// Run reports the states, of which nil is healthy, until ctx is done. Then it reports
// that the app is unhealthy and ends the stream.
func (r *Reporter) Run(ctx context.Context, states <-chan error) {
	r.current = &session{}
	r.opened = make(chan *session)
	r.retry, r.again = time.NewTimer(0), time.NewTimer(r.Repeat)
	alive := time.Tick(r.AliveEvery) // none if it is 0
	for {
		select {
		case <-ctx.Done():
			r.leave()
			return
		case <-alive:
			r.Alive()
		case r.state = <-states:
			r.known = true
			r.send()
		case <-r.retry.C:
			r.dial(ctx)
		case s := <-r.opened:
			r.change(s)
		case <-r.current.going:
			r.current.going = nil // connect anew while it lasts
			r.after(r.current)
		case <-r.current.ended:
			s := r.current
			r.current = &session{}
			if s.going != nil {
				r.logOnce(s.err)
				r.after(s)
			}
		case <-r.again.C:
			r.connected()
			r.send()
			r.again.Reset(jitter(r.Repeat))
		}
	}
}

func (r *Reporter) send() {
	if r.current.conn != nil && r.known {
		r.current.report(r.state)
	}
}

// dial opens a session in the background, so that states are taken meanwhile.
func (r *Reporter) dial(ctx context.Context) {
	go func() {
		conn, err := r.Connect(ctx)
		s := &session{err: err}
		if err == nil {
			s = newSession(conn, wire.NewCall(r.Scheme, r.Authority, method), r.Node)
		}
		select {
		case r.opened <- s:
		case <-ctx.Done():
			if s.conn != nil {
				_ = s.conn.Close()
			}
		}
	}()
}

// change makes an opened session the current one. The one before ends only
// after istiod knows of this one, so that it does not count as a disconnection.
func (r *Reporter) change(s *session) {
	if s.conn == nil {
		r.logOnce(s.err)
		r.after(s)
		return
	}
	before := r.current
	r.current = s
	r.send()
	r.again.Reset(settle)
	if before.conn != nil {
		time.AfterFunc(linger, before.leave)
	}
}

// after plans the next attempt after a session: at once if the session was a
// success.
func (r *Reporter) after(s *session) {
	if s.conn != nil && time.Since(s.began) >= stable {
		r.wait = 0
	} else {
		r.wait = min(max(2*r.wait, firstWait), maxWait)
	}
	r.retry.Reset(jitter(r.wait))
}

// jitter returns a time from 3/4 of d to d.
func jitter(d time.Duration) time.Duration {
	return d - rand.N(d/4+1)
}

// logOnce logs an error once, verbatim, until there is another or none.
func (r *Reporter) logOnce(err error) {
	text := err.Error()
	if r.told.Another(text) {
		r.Log.Warn("istiod does not take the reports; trying again until it does", "reason", text)
		r.Status("no connection to istiod: " + text)
	}
}

// connected logs that a session has come to stay.
func (r *Reporter) connected() {
	const text = "connected to istiod"
	if r.current.conn != nil && r.told.Another(text) {
		r.Log.Info(text, "address", r.current.conn.RemoteAddr().String())
		r.Status(text)
	}
}

// leave reports that the app is unhealthy and ends the stream.
func (r *Reporter) leave() {
	if r.current.conn == nil {
		return
	}
	r.current.report(errors.New("probe-agent was stopped"))
	time.Sleep(linger)
	r.current.leave()
}
