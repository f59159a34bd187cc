// Package kubelet probes an app as the kubelet would have probed it, and
// returns what to tell the kubelet.
//
// The behaviour is that of Kubernetes 1.37, pkg/probe/{http,tcp,grpc} and, for
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
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/wire"
)

// A Call is one request of the kubelet to us, or a probe of our own.
type Call struct {
	Host   string // the Host header
	Port   string // the port on which the call came
	Header textproto.MIMEHeader
	Start  time.Time // when its connection was accepted
	// Own says that we probe by ourselves: no caller chose the headers, so that
	// redirects to other ports may be followed.
	Own bool
	// Early, if set, is called when the app's status has come but its body is
	// slow, so that the caller too has the status when its time is over: it
	// then discards the result, as it would without us. Early is called at most
	// once, from another goroutine.
	Early func(status int)
	Meter wire.Meter // of what the app's answers take

	open   io.Closer   // the connection to the app
	closes *closes     // of the target of open
	stop   func() bool // ends the watch of the context for it
}

// Close closes the connection that probing left open. Call it after the
// answer has been sent, so that the caller does not wait for it.
func (c *Call) Close() {
	c.unwatch()
	if c.open == nil {
		return
	}
	tcp, ok := c.open.(interface{ SetLinger(seconds int) error })
	// What the app has not taken of the request is dropped: the kernel would keep it for minutes.
	if ok && (Unsent(c.open) > 0 || !c.closes.usual(time.Now())) {
		_ = tcp.SetLinger(0)
	}
	_ = c.open.Close() // the kubelet ignores such errors too
	c.open = nil
}

// usualCloses is how many connections of a target are closed in the usual way in a second. A
// kubelet opens fewer. Each is a minute in TIME-WAIT on Linux, and of all ports of a pod, 28,000,
// callers could so use those to one port of the app: further connections are reset.
const usualCloses = 50

// closes counts the connections that were closed in the present second.
type closes struct {
	mu     sync.Mutex
	second int64
	n      int
}

// usual reports whether a connection may be closed in the usual way.
func (c *closes) usual(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if second := now.Unix(); second != c.second {
		c.second, c.n = second, 0
	}
	c.n++
	return c.n <= usualCloses
}

func (c *Call) unwatch() {
	if c.stop != nil {
		c.stop()
	}
}

// dialer differs from the kubelet's in two things. The kubelet sets SO_LINGER
// to one second, which on Linux does not shorten TIME-WAIT (its purpose) and
// makes close wait for the app's acknowledgement. And it sets up TCP
// keep-alives, for connections that live less than any keep-alive interval.
var dialer = net.Dialer{KeepAlive: -1, Control: setBuffers}

// Dial connects with an app.
func Dial(ctx context.Context, address string) (net.Conn, error) {
	return dialer.DialContext(ctx, "tcp", address)
}

// dial opens a connection to a port of the app, and closes the one before, since an
// app may serve one connection at a time. When ctx is done, pending reads and writes
// fail.
func (t *Target) dial(ctx context.Context, call *Call, port string) (net.Conn, error) {
	call.Close()
	call.Meter.Forget()
	conn, err := t.connect(ctx, "tcp", net.JoinHostPort(t.host, port))
	if err != nil {
		return nil, err
	}
	call.open, call.closes = conn, &t.closes
	call.stop = context.AfterFunc(ctx, func() {
		_ = conn.SetDeadline(time.Now())
	})
	return conn, nil
}

// reach opens a connection to a port of the app, to send nothing.
func (t *Target) reach(ctx context.Context, call *Call, port string) error {
	call.Close()
	address, err := netip.ParseAddrPort(net.JoinHostPort(t.host, port))
	if err == nil && address.Addr().Zone() == "" && ctx.Err() == nil {
		if conn, ok := connectNow(address); ok {
			call.open, call.closes = conn, &t.closes
			return nil
		}
	}
	_, err = t.dial(ctx, call, port)
	return err
}

// earlyAfter is how long a body may take before the status is passed on alone.
const earlyAfter = 50 * time.Millisecond

// An Answer is what the caller is told.
type Answer struct {
	Status int
	Body   []byte
	// Ours says that the body is our own line of text, not the app's.
	Ours bool
	// Cut says that the app's body broke off. So must the caller's, because the
	// kubelet discards the result of such a probe.
	Cut bool
	// Drop says that the connection must be closed without an answer. The
	// kubelet ignores the status of a hook, and takes only this for a failure.
	Drop bool
	// Reason says why the answer is not a success; "" if it is one.
	Reason string
}

// A Verdict is what the kubelet concludes from an answer.
type Verdict int

// The verdicts, in the order in which metrics list them.
const (
	Success Verdict = iota
	Warning
	Failure
)

func (v Verdict) String() string {
	return [...]string{"success", "warning", "failure"}[v]
}

// Verdict returns what the kubelet concludes from the answer to a probe or hook.
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
// answer with the reason arrives before the kubelet hangs up.
const margin = 10 * time.Millisecond

// maxBody is how much of a body the kubelet reads.
const maxBody = 10 << 10

// A Target probes an app in one way. Several goroutines may use it at the same
// time.
type Target struct {
	host    string // at which the app is dialled
	connect func(ctx context.Context, network, address string) (net.Conn, error)
	probe   func(ctx context.Context, call *Call) *Answer
	closes  closes
	Hook    bool          // it is a lifecycle hook
	Timeout time.Duration // how long a probe may take; 0 for hooks: the caller alone decides
}

// NewTarget returns the target of a prober. The app is dialled at host, the pod's IP.
// A prober from which the kubelet could not even make a request is an error.
func NewTarget(host string, probeType prober.ProbeType, p *prober.Original) (*Target, error) {
	t := &Target{host: host, connect: dialer.DialContext, Hook: probeType.IsHook()}
	if !t.Hook {
		t.Timeout = time.Duration(p.TimeoutSeconds)*time.Second - margin
	}
	switch {
	case p.HTTPGet != nil:
		h, err := newHTTPTarget(t, p.HTTPGet)
		if err != nil {
			return nil, err
		}
		t.probe = h.probe
	case t.Hook:
		return nil, errors.New("hook must be httpGet: the kubelet supports no other")
	case p.TCPSocket != nil:
		t.probe = func(ctx context.Context, call *Call) *Answer {
			if err := t.reach(ctx, call, p.TCPSocket.Port.String()); err != nil {
				return t.failed(ctx, err)
			}
			return &Answer{Status: 200}
		}
	default:
		request := wire.AppendString(nil, 1, *p.GRPC.Service)
		g := &grpcTarget{t, p.GRPC.Port.String(), p.GRPC.Mode == prober.GRPCTLS, request}
		t.probe = g.probe
	}
	return t, nil
}

// Probe probes the app once. It returns when the app has answered, the probe's
// timeout has passed or ctx is done, whichever comes first. The caller then
// closes the call.
func (t *Target) Probe(ctx context.Context, call *Call) *Answer {
	if !t.Hook {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, call.Start.Add(t.Timeout))
		defer cancel()
	}
	defer call.unwatch()
	return t.probe(ctx, call)
}

// failed returns the answer of a probe to which the app gave none.
func (t *Target) failed(ctx context.Context, err error) *Answer {
	status := 502
	why := OneLine(err.Error())
	timeout, _ := errors.AsType[net.Error](err)
	switch {
	case ctx.Err() == context.DeadlineExceeded, timeout != nil && timeout.Timeout():
		status = 504
		why = fmt.Sprintf("app did not answer within %s", t.Timeout+margin)
	case errors.Is(err, syscall.ECONNREFUSED):
		why = "app refused the connection"
	case errors.Is(err, syscall.ECONNRESET):
		why = "app reset the connection"
	}
	a := Says(status, why)
	a.Drop = t.Hook
	return a
}

// Says returns an answer of our own, whose body is the reason.
func Says(status int, why string) *Answer {
	return &Answer{
		Status: status,
		Reason: why,
		Ours:   true,
		Body:   []byte("probe-proxy: " + why + "\n"),
	}
}

// OneLine puts a text on one line of bounded length.
func OneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return strings.ToValidUTF8(s[:min(len(s), 200)], "")
}
