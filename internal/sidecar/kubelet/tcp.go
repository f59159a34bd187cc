package kubelet

import "os"

// probeTCP opens a connection, which is closed with the call.
func (t *Target) probeTCP(call *Call) *Answer {
	if call.late() {
		return t.failed(call.context(), os.ErrDeadlineExceeded)
	}
	conn, err := t.app.connect(uint16(t.prober.TCPSocket.Port), call.context)
	if err != nil {
		return t.failed(call.context(), err)
	}
	call.open = append(call.open, conn)
	return &Answer{Status: 200}
}
