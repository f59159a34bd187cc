// Package kubelet probes an app as the kubelet would have probed it, and
// gives back what the kubelet is to be told.
//
// The behaviour is that of Kubernetes 1.35, pkg/probe/{http,tcp,grpc} and, for
// hooks, pkg/kubelet/lifecycle.
package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/sidecar/socket"
)

// A Call is one request of the kubelet to us.
type Call struct {
	Host   string // the Host header
	Port   string // the port on which it came
	Header textproto.MIMEHeader
	Start  time.Time // when its connection was accepted
	// Early, where it is not nil, is called when the app's status has come and
	// its body is slow: a caller that has the status while it waits for the
	// body makes of a timeout what the kubelet makes of it. It is called at
	// most once, from another goroutine.
	Early func(status int)
	// Caller, where it is not nil, gives a context that is done when the caller
	// has gone away. It is called at most once, and not where there was nothing
	// to wait for.
	Caller func() context.Context

	deadline time.Time       // none where it is zero
	ctx      context.Context // nil before there is something to wait for
	cancel   context.CancelFunc
	open     []io.Closer // connections to the app
}

// context gives the context that bounds all waiting of the call. It is made
// when it is first asked for: with the watching of the caller it costs more
// than the rest of a TCP probe's own work.
func (c *Call) context() context.Context {
	if c.ctx != nil {
		return c.ctx
	}
	c.ctx = context.Background()
	if c.Caller != nil {
		c.ctx = c.Caller()
	}
	if !c.deadline.IsZero() {
		c.ctx, c.cancel = context.WithDeadline(c.ctx, c.deadline)
	}
	return c.ctx
}

// late tells whether the call's deadline has passed.
func (c *Call) late() bool { return !c.deadline.IsZero() && !time.Now().Before(c.deadline) }

// dial opens a connection that is closed with the call, and on which nobody
// waits longer than ctx until stop is called.
func (c *Call) dial(ctx context.Context, app App, port string) (conn net.Conn, stop func() bool, err error) {
	conn, stop, err = app.Dial(ctx, port)
	if err == nil {
		c.open = append(c.open, conn)
	}
	return conn, stop, err
}

// Close closes the connections that probing left open. It comes after the
// answer has been sent: a system call that the caller need not wait for.
func (c *Call) Close() {
	if c.cancel != nil {
		c.cancel()
	}
	for _, conn := range c.open {
		_ = conn.Close() // the kubelet does not mind either
	}
}

// earlyAfter is how long a body may take before the status is passed on alone.
const earlyAfter = 50 * time.Millisecond

// An Answer is what the caller is told.
type Answer struct {
	Status int
	Body   []byte
	// Cut says that the app's body broke off: the caller's must break off too,
	// because the kubelet throws the result of such a probe away.
	Cut bool
	// Drop says that the connection must be closed without an answer: the
	// kubelet ignores the status of a hook, and counts only that as a failure.
	Drop bool
	// Reason is why it is no success; "" where it is one.
	Reason string
}

// A Verdict is what the kubelet makes of an answer.
type Verdict int

// The verdicts, in the order in which metrics list them.
const (
	Success Verdict = iota
	Warning
	Failure
)

func (v Verdict) String() string { return [...]string{"success", "warning", "failure"}[v] }

// Verdict gives what the kubelet makes of the answer to a probe or hook.
func (a *Answer) Verdict(hook bool) Verdict {
	switch {
	case a.Drop || a.Cut && !hook:
		return Failure
	case hook || a.Status >= 200 && a.Status < 300:
		return Success
	case a.Status >= 300 && a.Status < 400:
		return Warning
	}
	return Failure
}

// margin is how much earlier than the kubelet a probe gives up, so that our
// answer, which says why, is there before the kubelet hangs up.
const margin = 10 * time.Millisecond

// maxBody is how much of a body the kubelet reads.
const maxBody = 10 << 10

// A Target is a prober and the app that it probes. It may be used by several
// goroutines at once.
type Target struct {
	app     App
	prober  *prober.Prober
	hook    bool
	http    *httpTarget
	timeout time.Duration // 0 for hooks: the caller alone decides
}

// NewTarget prepares the probing of one entry. An entry for which the kubelet
// could not even make a request is an error.
func NewTarget(app App, key string, p *prober.Prober) (*Target, error) {
	_, slot, _ := prober.ParseKey(key)
	t := &Target{app: app, prober: p, hook: slot.IsHook()}
	if !t.hook {
		t.timeout = time.Duration(p.TimeoutSeconds)*time.Second - margin
	}
	switch {
	case p.HTTPGet != nil:
		h, err := newHTTPTarget(app, p.HTTPGet)
		if err != nil {
			return nil, err
		}
		t.http = h
	case t.hook:
		return nil, errors.New("hook must be httpGet: the kubelet supports no other")
	}
	return t, nil
}

// Hook tells whether the target is a lifecycle hook.
func (t *Target) Hook() bool { return t.hook }

// Timeout gives how long a probe may take, 0 for hooks.
func (t *Target) Timeout() time.Duration { return t.timeout }

// Probe probes the app once. It returns when the app has answered, the
// probe's timeout has passed or the caller has gone away, whichever is first.
// Whoever made the call closes it.
func (t *Target) Probe(call *Call) *Answer {
	if t.timeout > 0 {
		call.deadline = call.Start.Add(t.timeout)
	}
	switch {
	case t.http != nil:
		return t.probeHTTP(call.context(), call)
	case t.prober.TCPSocket != nil:
		return t.probeTCP(call)
	default:
		return t.probeGRPC(call.context(), call)
	}
}

// failed gives the answer to a probe that got none from the app.
func (t *Target) failed(ctx context.Context, err error) *Answer {
	var timeout interface{ Timeout() bool }
	a := &Answer{Status: 502, Reason: reason(err), Drop: t.hook}
	switch {
	case ctx.Err() == context.DeadlineExceeded,
		errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		a.Status, a.Reason = 504, fmt.Sprintf("app did not answer within %s", t.timeout+margin)
	case errors.Is(err, syscall.ECONNREFUSED):
		a.Reason = "app refused the connection"
	case errors.Is(err, syscall.ECONNRESET):
		a.Reason = "app reset the connection"
	}
	a.Body = []byte("probe-proxy: " + a.Reason + "\n")
	return a
}

// reason puts an error on one line of bounded length.
func reason(err error) string {
	s := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, err.Error())
	if len(s) > 200 {
		s = s[:200]
	}
	return s
}

// An App says where the containers of the pod are dialled.
type App struct {
	IP        string // the pod's, which the kubelet dials
	Localhost bool   // dial the loopback addresses instead
}

// Dial opens a connection to a port of the app. It ends, whatever is waiting
// on it, when ctx is done; the caller calls stop, then closes it.
func (a App) Dial(ctx context.Context, port string) (conn net.Conn, stop func() bool, err error) {
	n, err := strconv.ParseUint(port, 10, 16)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, nil, err
	}
	c, err := a.connect(uint16(n), func() context.Context { return ctx })
	if err != nil {
		return nil, nil, err
	}
	c.NoDelay()
	stop = context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	return c, stop, nil
}

// connect opens a connection to the app; patience bounds how long that may
// take, where it is not there at once. It differs from the kubelet's in two
// things. That sets SO_LINGER to one second, which on Linux does not shorten
// TIME-WAIT (its purpose), and makes close wait for the app's acknowledgement,
// up to 40 ms when it is delayed. And it sets up TCP keep-alives, four system
// calls for a connection that lives less than any keep-alive interval.
func (a App) connect(port uint16, patience func() context.Context) (*socket.Conn, error) {
	if !a.Localhost {
		return connect(a.IP, port, patience)
	}
	c, err := connect("127.0.0.1", port, patience)
	if err != nil && patience().Err() == nil {
		c, err = connect("::1", port, patience)
	}
	return c, err
}

func connect(ip string, port uint16, patience func() context.Context) (*socket.Conn, error) {
	target, err := netip.ParseAddr(ip)
	if err != nil {
		return nil, err
	}
	addr := netip.AddrPortFrom(target, port)
	c, err := socket.Dial(addr, patience)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(addr), Err: err}
	}
	return c, nil
}
