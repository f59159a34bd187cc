package sidecar

import (
	"context"
	"net"
	"strconv"
)

// Listen listens on a port of all addresses, IPv4 and IPv6. On Linux, Accept
// returns a connection when there is something to read, or after a while, so that
// most requests are there when their connection is accepted. Connections have no
// keep-alives: they live less than any keep-alive interval.
func Listen(port int) (net.Listener, error) {
	config := net.ListenConfig{KeepAlive: -1, Control: setOptions}
	config.SetMultipathTCP(false) // its sockets have not all of the options
	return config.Listen(context.Background(), "tcp", ":"+strconv.Itoa(port))
}
