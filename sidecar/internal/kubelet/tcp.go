package kubelet

import (
	"context"
	"strconv"
)

// probeTCP opens a connection, which is closed with the call.
func (t *Target) probeTCP(ctx context.Context, call *Call) *Answer {
	if err := call.connect(ctx, t.app, strconv.Itoa(int(t.prober.TCPSocket.Port))); err != nil {
		return t.failed(ctx, err)
	}
	return &Answer{Status: 200}
}
