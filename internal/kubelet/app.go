package kubelet

import (
	"context"
	"net"
	"time"
)

// An App says where the containers of the pod are reached.
type App struct {
	IP        string // the pod's, which the kubelet dials
	Localhost bool   // dial the loopback addresses instead
}

// dialer differs from the kubelet's in two things. The kubelet sets SO_LINGER
// to one second, which on Linux does not shorten TIME-WAIT (its purpose) and
// makes close wait for the app's acknowledgement. And it sets up TCP
// keep-alives, for connections that live less than any keep-alive interval.
var dialer = net.Dialer{KeepAlive: -1}

// Dial opens a connection to a port of the app. When ctx is done, pending reads
// and writes fail. The caller calls stop, then closes the connection.
func (a App) Dial(ctx context.Context, port string) (conn net.Conn, stop func() bool, err error) {
	ip := a.IP
	if a.Localhost {
		ip = "127.0.0.1"
	}
	conn, err = dialer.DialContext(ctx, "tcp", net.JoinHostPort(ip, port))
	if err != nil && a.Localhost {
		conn, err = dialer.DialContext(ctx, "tcp", net.JoinHostPort("::1", port))
	}
	if err != nil {
		return nil, nil, err
	}
	stop = context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	return conn, stop, nil
}

// dial opens a connection as [App.Dial] does, for as long as the probe lasts.
// [Call.Close] closes it.
func (c *Call) dial(ctx context.Context, app App, port string) (net.Conn, error) {
	conn, stop, err := app.Dial(ctx, port)
	if err == nil {
		c.open = append(c.open, conn)
		c.stops = append(c.stops, stop)
	}
	return conn, err
}
