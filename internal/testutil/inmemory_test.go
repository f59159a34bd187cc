package testutil

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

func TestAConnectionInMemoryBehavesAsOneOfTCP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewInMemory()
		accepted := make(chan net.Conn)
		go func() {
			conn, _ := m.Accept()
			accepted <- conn
		}()
		ours, err := m.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		theirs := <-accepted
		if _, err := io.WriteString(ours, "hello"); err != nil { // nobody reads yet
			t.Error(err)
		}
		_ = ours.(interface{ CloseWrite() error }).CloseWrite()
		if b, err := io.ReadAll(theirs); string(b) != "hello" || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		began := time.Now()
		_ = ours.SetReadDeadline(began.Add(time.Hour))
		if _, err := ours.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != time.Hour {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		_ = ours.SetReadDeadline(time.Time{})
		if _, err := io.WriteString(theirs, "x"); err != nil {
			t.Error(err)
		}
		_ = ours.Close()
		if _, err := io.WriteString(theirs, "y"); !errors.Is(err, errReset) {
			t.Errorf("a write to a closed connection: %v", err)
		}
		_, err = ours.Read(make([]byte, 1))
		if _, writeErr := io.WriteString(ours, "z"); !errors.Is(err, net.ErrClosed) || !errors.Is(writeErr, net.ErrClosed) {
			t.Errorf("a closed connection: %v, %v", err, writeErr)
		}
		_ = m.Close()
		_, err = m.Accept()
		if _, dialErr := m.Dial(t.Context(), "", ""); !errors.Is(err, net.ErrClosed) || !errors.Is(dialErr, net.ErrClosed) {
			t.Errorf("a closed listener: %v, %v", err, dialErr)
		}
	})
}
