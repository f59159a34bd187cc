package server

import (
	"errors"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// A sink notes what is done to it.
type sink struct {
	net.Conn
	fails error
	done  []string
}

func (s *sink) Write(p []byte) (int, error) {
	s.done = append(s.done, "write "+string(p))
	return len(p), s.fails
}

func (s *sink) CloseWrite() error {
	s.done = append(s.done, "close")
	return nil
}

func (s *sink) SetDeadline(time.Time) error {
	s.done = append(s.done, "stop")
	return nil
}

func TestASideThatTakesNoMoreStopsTheOtherDirection(t *testing.T) {
	broken := errors.New("broken pipe")
	for name, test := range map[string]struct {
		fails error
		src   interface{ Read([]byte) (int, error) }
		want  string
	}{
		"the source ends":        {nil, strings.NewReader("a"), "write a, close"},
		"the source breaks":      {nil, iotest.ErrReader(broken), "stop"},
		"nothing more is taken":  {broken, strings.NewReader("a"), "write a, stop"},
		"the source has nothing": {nil, strings.NewReader(""), "close"},
	} {
		dst := &sink{fails: test.fails}
		pass(dst, test.src)
		if got := strings.Join(dst.done, ", "); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	// A connection that cannot end one side alone, such as TLS over a pipe, is stopped.
	dst := &sink{}
	pass(struct{ net.Conn }{dst}, strings.NewReader("a"))
	if got := strings.Join(dst.done, ", "); got != "write a, stop" {
		t.Error(got)
	}
}
