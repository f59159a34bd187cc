package sidecar

import (
	"net"
	"os"
	"syscall"

	"github.com/rewrite-probes/rewrite-probes/internal/kubelet"
)

const tcpUserTimeout = 18 // TCP_USER_TIMEOUT of linux/tcp.h

// setOptions sets TCP_DEFER_ACCEPT, for a second: its queue is bounded. And
// TCP_USER_TIMEOUT, for answers that nobody takes, also after close. And the buffers, which
// connections inherit. Errors are ignored: without the options the server works too.
func setOptions(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, callerReceives)
		_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF, callerSends)
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_DEFER_ACCEPT, 1)
		_ = syscall.SetsockoptInt(
			int(fd),
			syscall.IPPROTO_TCP,
			tcpUserTimeout,
			int(sendTime.Milliseconds()),
		)
	})
}

// readNow reads what has come already, without waiting.
func readNow(c syscall.Conn, b []byte) (n int) {
	raw, _ := c.SyscallConn() // fails only for no connection at all
	_ = raw.Read(func(fd uintptr) bool {
		n, _ = syscall.Read(int(fd), b)
		return true
	})
	return max(n, 0)
}

// acceptWaiting accepts up to atMost connections that wait already, reads what came with each
// into buf, and passes both to serve. It returns whether more may wait.
//
// The connections are sockets, and nothing more: to register each with the runtime's poller, and
// to start a goroutine for it, takes longer than to answer.
func acceptWaiting(l net.Listener, atMost int, buf []byte, serve func(socket int, first []byte)) (more bool) {
	waits, ok := l.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := waits.SyscallConn()
	if err != nil {
		return false
	}
	for range atMost {
		socket := -1
		_ = raw.Control(func(listener uintptr) {
			socket = acceptNow(int(listener))
		})
		if socket < 0 {
			return false
		}
		n, err := syscall.Read(socket, buf)
		if n <= 0 && err != syscall.EAGAIN {
			drop(socket) // the caller has gone
			continue
		}
		serve(socket, buf[:max(n, 0)])
	}
	return true
}

// answerNow sends an answer that fits into the buffer of a fresh connection, and ends it. Both
// leave in one packet. Where the caller has not taken it, and may says no, it is dropped.
func answerNow(socket int, answer []byte, may func(unsent int) bool) {
	_, _ = syscall.SendmsgN(socket, answer, nil, nil, syscall.MSG_MORE|syscall.MSG_NOSIGNAL)
	_ = syscall.Shutdown(socket, syscall.SHUT_WR)
	if n := kubelet.UnsentOf(socket); n > 0 && !may(n) {
		drop(socket)
		return
	}
	_ = syscall.Close(socket)
}

// drop ends a connection with a reset.
func drop(socket int) {
	_ = syscall.SetsockoptLinger(
		socket,
		syscall.SOL_SOCKET,
		syscall.SO_LINGER,
		&syscall.Linger{Onoff: 1},
	)
	_ = syscall.Close(socket)
}

// openFiles returns how many files the process may have open, at most anyFiles.
func openFiles() int {
	limit := syscall.Rlimit{Cur: anyFiles}
	_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return int(min(limit.Cur, anyFiles))
}

// acceptNow accepts a connection that waits. It returns -1 if none does, or there are no
// file descriptors left: the next Accept says so.
func acceptNow(listener int) int {
	fd, _, err := syscall.Accept4(listener, syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
	if err != nil {
		return -1
	}
	return fd
}

// connOf returns the connection of a socket, nil if there are no file descriptors left.
func connOf(fd int) net.Conn {
	file := os.NewFile(uintptr(fd), "")
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		return nil
	}
	return conn
}
