//go:build !linux

package kubelet

import (
	"context"
	"net"
)

// A socket is a connection of net.Dialer, where there is no faster way.
type socket struct{ net.Conn }

func connect(ctx context.Context, ip, port string) (*socket, error) {
	c, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(ip, port))
	if err != nil {
		return nil, err
	}
	return &socket{c}, nil
}

func (s *socket) conn() net.Conn { return s.Conn }
