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
// and writes fail. [Call.Close] closes it.
func (c *Call) Dial(ctx context.Context, app App, port string) (net.Conn, error) {
	ip := app.IP
	if app.Localhost {
		ip = "127.0.0.1"
	}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(ip, port))
	if err != nil && app.Localhost {
		conn, err = dialer.DialContext(ctx, "tcp", net.JoinHostPort("::1", port))
	}
	if err != nil {
		return nil, err
	}
	c.open = append(c.open, conn)
	c.stops = append(c.stops, context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) }))
	return conn, nil
}
