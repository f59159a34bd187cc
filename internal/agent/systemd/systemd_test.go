//go:build linux

package systemd_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/agent/systemd"
)

func TestTheServiceManagerIsTold(t *testing.T) {
	for _, name := range []string{filepath.Join(t.TempDir(), "s"), "@probe-agent-" + strconv.Itoa(os.Getpid())} {
		l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("NOTIFY_SOCKET", name)
		systemd.Ready()
		systemd.Status("a\nb")
		systemd.Alive()
		systemd.Stopping()
		for _, want := range []string{"READY=1", "STATUS=a b", "WATCHDOG=1", "STOPPING=1"} {
			b := make([]byte, 64)
			_ = l.SetReadDeadline(time.Now().Add(10 * time.Second))
			length, err := l.Read(b)
			if err != nil || string(b[:length]) != want {
				t.Errorf("got %q, %v, want %s", b[:length], err, want)
			}
		}
		_ = l.Close()
		systemd.Ready() // to nobody
	}
	t.Setenv("NOTIFY_SOCKET", "")
	systemd.Ready()
}

func TestTheWatchdogIsServedTwiceInItsTime(t *testing.T) {
	for _, test := range []struct {
		usec, pid string
		want      time.Duration
	}{
		{"30000000", "", 15 * time.Second},
		{"30000000", strconv.Itoa(os.Getpid()), 15 * time.Second},
		{"30000000", "1", 0},
		{"", "", 0},
		{"0", "", 0},
		{"7200000000", "", time.Hour},
		{"x", "", 0},
	} {
		t.Setenv("WATCHDOG_USEC", test.usec)
		t.Setenv("WATCHDOG_PID", test.pid)
		if got := systemd.AliveEvery(); got != test.want {
			t.Errorf("%+v: got %s", test, got)
		}
	}
}
