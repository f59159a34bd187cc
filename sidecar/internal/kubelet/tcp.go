package kubelet

import (
	"context"
	"strconv"
)

// probeTCP opens a connection, which is closed with the call.
func (t *Target) probeTCP(ctx context.Context, call *Call) *Answer {
	_, stop, err := call.dial(ctx, t.app, strconv.Itoa(int(t.prober.TCPSocket.Port)))
	if err != nil {
		return t.failed(ctx, err)
	}
	stop()
	return &Answer{Status: 200}
}
