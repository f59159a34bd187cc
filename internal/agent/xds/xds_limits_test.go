package xds

import (
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// An erringConn fails in every way.
type erringConn struct {
	net.Conn
	err error
}

func (c erringConn) Read([]byte) (int, error)        { return 0, c.err }
func (c erringConn) SetReadDeadline(time.Time) error { return nil }

func TestOnlyATimeoutIsSilence(t *testing.T) {
	for err, want := range map[error]string{
		os.ErrDeadlineExceeded: "istiod is silent",
		io.EOF:                 "EOF",
		&net.OpError{Op: "read", Err: syscall.ECONNRESET}: "read: connection reset by peer",
	} {
		if _, got := (&timedConn{erringConn{err: err}}).Read(nil); got == nil || got.Error() != want {
			t.Errorf("%v is %v, want %s", err, got, want)
		}
	}
}

// The other tests see most of these times on a clock of their own.
func TestTheTimesAreTheDocumentedOnes(t *testing.T) {
	got := fmt.Sprint(pingEvery, silence, writeTimeout, settle, stable, firstWait, maxWait, linger, closing)
	if want := "30s 45s 10s 2s 10s 250ms 10s 500ms 400ms"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
