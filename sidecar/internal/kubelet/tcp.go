package kubelet

import (
	"context"
	"strconv"
)

// probeTCP opens a connection and closes it.
func (t *Target) probeTCP(ctx context.Context) *Answer {
	conn, stop, err := t.app.dial(ctx, strconv.Itoa(int(t.prober.TCPSocket.Port)))
	if err != nil {
		return t.failed(ctx, err)
	}
	stop()
	_ = conn.Close() // the kubelet does not mind either
	return &Answer{Status: 200}
}
