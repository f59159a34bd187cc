package sidecar

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
)

// A failing listener fails as often as errs has errors, and is closed then.
type failingListener struct {
	net.Listener
	errs []error
}

func (l *failingListener) Accept() (net.Conn, error) {
	if len(l.errs) == 0 {
		return nil, net.ErrClosed
	}
	err := l.errs[0]
	l.errs = l.errs[1:]
	return nil, err
}

// Without file descriptors, the server says so and goes on: they come back.
func TestWhatCannotBeAcceptedIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := New(slog.New(slog.NewTextHandler(&log, nil)), "127.0.0.1", 15099, nil, nil)
		l := &failingListener{errs: []error{errors.New("too many open files"), errors.New("too many open files")}}
		s.serve(l, &view{port: s.port, common: true})
		if n := strings.Count(log.String(), `level=WARN msg="cannot accept a connection" reason="too many open files"`); n != 2 || len(l.errs) > 0 {
			t.Errorf("%d times, %d errors left:\n%s", n, len(l.errs), &log)
		}
	})
}
