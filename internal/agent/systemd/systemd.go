// Package systemd tells the service manager how a program is doing
// (sd_notify). Without one it does nothing.
package systemd

import (
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// A Notifier sends to the socket that the service manager named in the
// environment. Its zero value sends nothing.
type Notifier struct{ socket string }

// New returns the notifier for NOTIFY_SOCKET.
func New() Notifier {
	socket := os.Getenv("NOTIFY_SOCKET")
	if strings.HasPrefix(socket, "@") { // an abstract one
		socket = "\x00" + socket[1:]
	}
	return Notifier{socket}
}

// Ready says that the program has started.
func (n Notifier) Ready() { n.send("READY=1") }

// Stopping says that the program is about to end.
func (n Notifier) Stopping() { n.send("STOPPING=1") }

// Status says in a line how the program is doing.
func (n Notifier) Status(line string) { n.send("STATUS=" + strings.ReplaceAll(line, "\n", " ")) }

// Alive says that the program is not stuck.
func (n Notifier) Alive() { n.send("WATCHDOG=1") }

// AliveEvery returns how often the service manager wants to hear [Notifier.Alive]:
// twice in the time of WATCHDOG_USEC. It is 0 if the manager does not ask.
func (n Notifier) AliveEvery() time.Duration {
	pid := os.Getenv("WATCHDOG_PID")
	usec, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if err != nil || pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0
	}
	return time.Duration(usec) * time.Microsecond / 2
}

// send ignores errors: the program works without the service manager too.
func (n Notifier) send(state string) {
	if n.socket == "" {
		return
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: n.socket, Net: "unixgram"})
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = conn.Write([]byte(state))
}
