// Package systemd tells the service manager how a program is doing
// (sd_notify), on the socket that it named in the environment. Without one the
// package does nothing.
package systemd

import (
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// Ready says that the program has started.
func Ready() { send("READY=1") }

// Stopping says that the program is about to end.
func Stopping() { send("STOPPING=1") }

// Status says in a line how the program is doing.
func Status(line string) {
	send("STATUS=" + strings.ReplaceAll(line, "\n", " "))
}

// Alive says that the program is not stuck.
func Alive() { send("WATCHDOG=1") }

// AliveEvery returns how often the service manager wants to hear [Alive]:
// twice in the time of WATCHDOG_USEC. It is 0 if the manager does not ask.
func AliveEvery() time.Duration {
	pid := os.Getenv("WATCHDOG_PID")
	usec, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if err != nil || pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0
	}
	return time.Duration(usec) * time.Microsecond / 2
}

// send ignores errors: the program works without the service manager too.
func send(state string) {
	socket := os.Getenv("NOTIFY_SOCKET") // with an @ in front if it is abstract, as Go has it
	if socket == "" {
		return
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = conn.Write([]byte(state))
}
