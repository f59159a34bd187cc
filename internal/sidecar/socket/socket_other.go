//go:build !linux || 386

package socket

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// A Conn is a TCP connection.
type Conn struct{ *net.TCPConn }

// No keep-alives: connections live less than any keep-alive interval.
var dialer = net.Dialer{KeepAlive: -1}

// Dial connects to an address, for as long as the context allows that
// patience gives.
func Dial(addr netip.AddrPort, patience func() context.Context) (*Conn, error) {
	c, err := dialer.DialContext(patience(), "tcp", addr.String())
	if err != nil {
		return nil, err
	}
	return &Conn{c.(*net.TCPConn)}, nil
}

// NoDelay does nothing: it is the net package's default.
func (c *Conn) NoDelay() {}

// Listen listens on a port of all addresses, IPv4 and IPv6. How long a caller
// may say nothing is left to the caller.
func Listen(port int, _ time.Duration) (net.Listener, error) {
	config := net.ListenConfig{KeepAlive: -1}
	return config.Listen(context.Background(), "tcp", ":"+strconv.Itoa(port))
}
