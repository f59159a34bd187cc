package kubelet

import (
	"context"
	"net"
	"time"
)

// Dial opens a connection to a port of the app. It ends, whatever is waiting
// on it, when ctx is done; the caller calls stop, then closes it.
func (a App) Dial(ctx context.Context, port string) (conn net.Conn, stop func() bool, err error) {
	return a.dial(ctx, port)
}

// Timeout gives how long a probe may take, 0 for hooks.
func (t *Target) Timeout() time.Duration { return t.timeout }
